"""DRAM with rows and banks: runs of words against addresses, costs against bounds and formulas."""

from dataclasses import replace
from itertools import product
from math import inf

import numpy as np
import pytest

from archloom.evaluators.bounds.layer import layer_bound, least_costs
from archloom.evaluators.hardware import access_costs, hardware_cost
from archloom.evaluators.loopnest.data_reuse import dram_runs, innermost_move
from archloom.evaluators.loopnest.imperfect.kernel import imperfect_cost
from archloom.evaluators.loopnest.kernel import VALID, evaluate_batch
from archloom.evaluators.loopnest.kernel_inputs import new_workspace
from archloom.evaluators.loopnest.layer_cost import mapped_cost
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.evaluators.loopnest.vector_unit import vector_cost
from archloom.evaluators.technology.dram.device import dram_channel, dram_names
from archloom.evaluators.technology.dram.energy import channel_energy
from archloom.search.mapping.exact.search import prove
from archloom.search.mapping.simd.draws import draw_candidates
from archloom.space.design_space.presets import preset
from archloom.space.hardware.cores import fusion_cores
from archloom.space.hardware.dram import DRAM_DEVICES, DramTiming
from archloom.space.hardware.hardware import Hardware, StorageLevel
from archloom.space.workload.dims import INPUTS, TENSORS, WEIGHTS, C, G, K, N, P, Q, R, S
from archloom.space.workload.layer_builders import conv2d, linear
from archloom.space.workload.vector_layer_builders import elementwise

LAYERS = (
    conv2d("3x3", 16, 32, 14, 3, 1, 1),
    conv2d("grouped", 32, 32, 14, 3, 2, 1, 1, 4),
    linear("product", 96, 64),
)


def timed(hardware: Hardware, **fields: object) -> Hardware:
    timing = DramTiming(**({"device": "ddr4_3200_x8"} | fields))
    return replace(
        hardware, levels=(*hardware.levels[:-1], replace(hardware.levels[-1], timing=timing))
    )


def test_devices_are_those_that_have_a_model() -> None:
    assert sorted(DRAM_DEVICES) == dram_names()
    for name in DRAM_DEVICES:
        costs = channel_energy(dram_channel(name))
        # lemma 7 of docs/explanation/bounds_proofs.md needs that nothing gives energy back
        assert min(costs.activate_pj, costs.read_pj, costs.write_pj, costs.refresh_pj) > 0
        assert costs.open_mw >= costs.closed_mw > 0


def addresses(tensor, sizes, last, width):
    """Addresses of the words of a tile at the origin, by the orders that the docstring says."""
    if tensor == INPUTS:
        order = {False: (N, G, C, P, Q), True: (N, P, Q, G, C)}[last]
    elif tensor == WEIGHTS:
        order = {False: (G, K, C, R, S), True: (G, K, R, S, C)}[last]
    else:
        order = {False: (N, G, K, P, Q), True: (N, P, Q, G, K)}[last]
    found = []
    for index in product(*(range(sizes[d]) for d in order)):
        at = 0
        for d, i in zip(order, index, strict=True):
            at = at * width[d] + i
        found.append(at)
    return sorted(found)


def runs_of(setup, nest, keep, last=False):
    """Runs of weights, inputs and outputs, with what kernels find before they ask for them."""
    levels = len(nest)
    found = new_workspace(levels)
    found.spread[:] = nest[:, 1] * nest[:, 2]
    found.cum[1:] = np.cumprod(nest[:, 0] * found.spread, axis=0)
    children = found.spread.prod(axis=1)
    found.used[:] = [children[level + 1 :].prod() for level in range(levels)]
    found.moves[:] = [innermost_move(nest, row) for row in range(levels + 1)]
    return dram_runs(setup, keep, found, last)


@pytest.mark.parametrize(
    ("layer", "last", "kept"), [*product(LAYERS, (False, True), ("buffer", "array", "mixed"))]
)
def test_runs_are_those_of_the_addresses_of_a_tile(layer, last, kept):
    problem = MappingProblem.of_layer(layer, preset("simba"))
    setup, checked = problem.setup, 0
    loops, _ = draw_candidates(setup, 3, 0, 3000)
    outermost = loops.shape[1] - 1
    keep = np.ones((outermost + 1, 3), np.uint8)
    if kept != "buffer":
        # tiles of several instances are filled at once
        keep[1:outermost, : 3 if kept == "array" else 1] = 0
    for nest in loops[:100]:
        width = dict(enumerate(setup.bounds.tolist()))
        found = runs_of(setup, nest, keep, last)
        for tensor, run in enumerate(found):
            level = np.flatnonzero(keep[:outermost, tensor])[-1]
            held = nest[: level + 1, 0].prod(axis=0) * nest[:, 1:3].prod(axis=(0, 1))
            sizes = dict(enumerate(held.tolist()))
            own, whole = dict(sizes), dict(width)
            if tensor == INPUTS:
                for axis, d in ((0, P), (1, Q)):
                    stride, dilation, _, size = setup.window[axis].tolist()
                    reach = (sizes[d] - 1) * stride + (sizes[R + axis] - 1) * dilation + 1
                    own[d], whole[d] = min(reach, size), size
                # a window that slides fetches less, which the next test looks at
                if (nest[level + 1 :, 0, [P, Q, R, S]] > 1).any():
                    continue
            at = addresses(tensor, own, last, whole)
            runs = 1 + int((np.diff(at) > 1).sum())
            assert run.words * runs == len(at), (tensor, own)
            checked += 1
    assert checked > 100


def test_a_window_that_slides_fetches_new_columns_alone():
    problem = MappingProblem.of_layer(conv2d("c", 1, 1, 16, 3, 1, 1), preset("edgetpu"))
    setup = problem.setup
    levels = len(setup.fanout)
    loops = np.ones((levels, 4, 8), np.int64)
    loops[:, 3] = np.arange(8)
    loops[0, 0, [P, Q, R, S]] = 4, 4, 3, 3
    loops[-1, 0, [P, Q]] = 4, 4
    keep = np.ones((levels, 3), np.uint8)
    # columns are innermost, so a tile of 6 x 6 goes on by 4 columns
    loops[-1, 3] = [Q, P, N, G, K, C, R, S]
    assert runs_of(setup, loops, keep).inputs.words == 4
    loops[-1, 3] = [P, Q, N, G, K, C, R, S]
    found = runs_of(setup, loops, keep)
    assert found.inputs.words == 6
    assert found.outputs.words == 4


def valid(problem, count=20000, seed=5):
    loops, keep = draw_candidates(problem.setup, seed, 0, count)
    status, energy, chip, dram = evaluate_batch(problem.setup, loops, keep)
    fits = status == VALID
    return loops[fits], keep[fits], energy[fits], chip[fits], dram[fits]


@pytest.mark.parametrize("device", DRAM_DEVICES)
@pytest.mark.parametrize("name", ["eyeriss", "edgetpu", "simba"])
def test_no_mapping_is_below_a_bound(name, device):
    checked = 0
    for layer, layout in product(LAYERS, ("channels_first", "channels_last")):
        hardware = timed(preset(name), device=device, channels=2, ranks=2, layout=layout)
        problem = MappingProblem.of_layer(layer, hardware)
        _, _, energy, chip, dram = valid(problem, 40000)
        cycles, leakage = np.maximum(chip, dram), problem.setup.leakage_pj
        least_pj, least_cycles = least_costs(problem)
        assert energy.min() >= least_pj
        assert cycles.min() >= least_cycles
        bound = layer_bound(layer, hardware)
        assert (energy + leakage * cycles).min() >= bound.energy_pj
        checked += len(energy)
    assert checked > 1000


def test_dram_is_never_faster_nor_moves_words_for_less_than_at_its_best():
    plain = preset("edgetpu")
    hardware = timed(plain, device="hbm2_2000", channels=1)
    channel = dram_channel("hbm2_2000")
    costs = channel_energy(channel)
    problem = MappingProblem.of_layer(LAYERS[0], hardware)
    loops, keep, energy, chip, dram = valid(problem)
    off = problem.setup._replace(extras=None)
    _, energy_off, chip_off, dram_off = evaluate_batch(off, loops, keep)
    assert (chip == chip_off).all()
    assert (dram >= dram_off).all()
    assert (dram > 1.5 * dram_off).any()
    assert (energy > energy_off).all()
    best = channel.peak_gbytes_per_s * (1 - channel.refresh_share)
    rate = problem.setup.bandwidth[-1].min() * hardware.frequency_mhz * 1e-3
    assert rate == pytest.approx(min(best, plain.dram_gbytes_per_s), rel=1e-9)
    # standby and refresh count in every cycle
    more = access_costs(hardware).leakage_pj_per_cycle - access_costs(plain).leakage_pj_per_cycle
    always_mw = costs.closed_mw + costs.refresh_mw
    assert more == pytest.approx(always_mw / hardware.frequency_mhz * 1e3, rel=1e-6)
    assert hardware_cost(hardware).tdp_breakdown_w["dram"] > 0


def test_long_runs_come_to_the_energy_and_time_of_a_sequential_stream():
    """Whole tensors in one tile: the closed form of the docs page."""
    layer = linear("l", 512, 512)
    levels = (
        StorageLevel("buffer", "sram", TENSORS, (1, 1), 2**21, inf),
        StorageLevel("dram", "dram", TENSORS, (1, 1), None, 1e9, timing=DramTiming("ddr4_3200_x8")),
    )
    hardware = Hardware("chip", "cacti_45nm", 1000, 8, (1, 1), (1, 1), levels, "ddr4", 1)
    problem = MappingProblem.of_layer(layer, hardware)
    loops = np.ones((1, 2, 4, 8), np.int64)
    loops[0, :, 3] = np.arange(8)
    loops[0, 0, 0] = problem.bounds
    keep = np.ones((1, 2, 3), np.uint8)
    _, _, _, dram = evaluate_batch(problem.setup, loops, keep)
    channel = dram_channel("ddr4_3200_x8")
    sequential_ns = (layer.weights + 1024) / channel.peak_gbytes_per_s / (1 - channel.refresh_share)
    assert sequential_ns <= dram[0] <= 1.05 * sequential_ns


def test_kernels_agree_and_reports_add_up():
    hardware = timed(preset("eyeriss"), device="lpddr4_2400_x16", channels=4)
    problem = MappingProblem.of_layer(LAYERS[0], hardware)
    loops, keep, energy, chip, dram = valid(problem)
    assert len(loops) > 20
    for i in range(20):
        cut = imperfect_cost(problem.setup, loops[i], keep[i])
        assert (cut.chip_cycles, cut.dram_cycles) == (chip[i], dram[i])
        assert cut.dynamic_pj == pytest.approx(energy[i], rel=1e-12)
    found = prove(problem, 3000)
    assert found.best is not None
    assert not found.proven
    assert 0 < found.gap_percent < inf
    cost = mapped_cost(problem, found.best.mapping)
    assert cost.dynamic_pj == pytest.approx(found.best.energy_pj, abs=1)
    assert cost.latency_cycles == found.best.cycles


def test_the_exact_search_still_proves_without_it():
    problem = MappingProblem.of_layer(LAYERS[2], preset("edgetpu"))
    assert prove(problem, 10**6).proven


def test_vector_operators_stream_at_most_at_the_rate_of_a_sequential_stream():
    layer = elementwise("add", "add", 64, 56)
    plain = preset("eyeriss")
    hardware = timed(plain, device="lpddr3_1600_x32")
    cost = vector_cost(layer, hardware, layer.p, layer.q, staged=False)
    channel = dram_channel("lpddr3_1600_x32")
    words = cost.dram_reads + cost.dram_writes
    peak = channel.peak_gbytes_per_s * (1 - channel.refresh_share)
    least = words * hardware.word_bits / 8 / peak * hardware.frequency_mhz * 1e-3
    assert least <= cost.dram_cycles < 1.3 * least


def test_fusion_says_why_not():
    hardware = timed(preset("edgetpu"))
    assert hardware.fusion_level is None
    assert "rows and banks" in fusion_cores(hardware).hint


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"device": "ddr4_3200"}, "did you mean ddr4_3200_x8"),
        ({"channels": 0}, "channels"),
        ({"ranks": 99}, "ranks"),
        ({"layout": "channel_last"}, "did you mean channels_last"),
    ],
)
def test_faults_name_the_nearest_choice(change, says):
    with pytest.raises(ValueError, match="timing: ") as caught:
        DramTiming(**({"device": "ddr4_3200_x8"} | change))
    assert says in str(caught.value)


def test_a_level_on_the_chip_has_no_timing():
    with pytest.raises(ValueError, match="timing is for the level with storage dram"):
        StorageLevel("b", "sram", TENSORS, (1, 1), 8, 1, timing=DramTiming("hbm2_2000"))
