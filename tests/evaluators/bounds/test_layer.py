"""No mapping goes below its bounds, and some come as near as it gets."""

from dataclasses import replace
from functools import cache
from itertools import pairwise, permutations, product
from math import inf, prod, sqrt

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from archloom.evaluators.bounds.compulsory import demand
from archloom.evaluators.bounds.layer import (
    design_and_prices,
    layer_bound,
    least_costs,
    problem_bound,
)
from archloom.evaluators.bounds.level_capacity import design_of
from archloom.evaluators.bounds.word_prices import prices_of
from archloom.evaluators.hardware import access_costs
from archloom.evaluators.loopnest.imperfect.kernel import imperfect_cost
from archloom.evaluators.loopnest.kernel import VALID, evaluate_batch
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.evaluators.loopnest.vector_unit import vector_cost
from archloom.space.design_space.presets import preset
from archloom.space.hardware.effects import AccessEnergy
from archloom.space.hardware.hardware import Hardware, StorageLevel
from archloom.space.workload.dims import TENSORS
from archloom.space.workload.layer import Layer, Sparsity
from archloom.space.workload.network import Network

from ...cases.bound_cases import annealed, random_mappings, random_problem, run_of, runs
from ...cases.designs import edge, tpu_like
from ...cases.mapped_layers import drawn
from ...cases.sweeps import sweep

#: more than rounding takes off a layer on up to four levels, and off its leakage
ROUNDED_PJ = 0.04

#: what is bounded, as (what a run has, what the bound says)
FIGURES = ("energy", "cycles", "edp", "moved", "crossing")


def figures(problem, run):
    """Return for each of FIGURES what a mapping takes and what it takes at the least."""
    bound, (least_pj, least_cycles) = problem_bound(problem), least_costs(problem)
    assert bound.latency_cycles == least_cycles
    # of energies that are not rounded yet
    assert bound.dynamic_pj <= least_pj <= bound.dynamic_pj * (1 + 1e-9) + 0.05
    cycles = max(run.chip_cycles, run.dram_cycles)
    leakage = problem.setup.leakage_pj
    least = least_pj + leakage * bound.latency_cycles
    edp = (run.energy_pj + leakage * cycles) * cycles
    return {
        "energy": (run.energy_pj, least_pj),
        "cycles": (cycles, bound.latency_cycles),
        "edp": (edp, least * bound.latency_cycles),
        "moved": (run.words[:, 0], bound.moved_words),
        "crossing": (run.words[:, 1], bound.crossing_words),
    }


def check(problem, run):
    for name, (taken, least) in figures(problem, run).items():
        assert np.all(taken >= least), name


@pytest.mark.parametrize("part", sweep(range(6), 1))
def test_no_random_mapping_is_below_its_bounds(part):
    """9,594 mappings of 360 layers, each on a hardware of its own."""
    checked = 0
    for seed in range(part * 60, part * 60 + 60):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng)
        for run in runs(problem, rng, 60):
            check(problem, run)
            checked += 1
    assert checked > 1200


@settings(max_examples=200)
@given(st.integers(0, 10**6))
def test_no_case_of_any_operator_is_below_its_bounds(number):
    """All operators on MACs, mesh networks and addresses: the cases of the walked nest."""
    case = drawn(11, number)
    arrays = case.mapping.arrays()
    if evaluate_batch(case.problem.setup, arrays[0][None], arrays[1][None])[0][0] == VALID:
        check(case.problem, run_of(case.problem, *arrays))


@settings(max_examples=60)
@given(st.integers(0, 10**6))
def test_no_mapping_that_is_cut_at_its_edges_is_below_the_bounds(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    wider = [int(b + rng.integers(0, 3)) if b > 1 else 1 for b in problem.bounds]
    padded = replace(problem, loop_bounds=tuple(wider))
    loops, keep = random_mappings(replace(problem, bounds=tuple(wider)), rng, 8)
    bound, setup = problem_bound(padded), problem.setup
    for i in np.flatnonzero(evaluate_batch(setup, loops, keep)[0] == VALID):
        cost = imperfect_cost(setup, loops[i], keep[i])
        assert cost.dynamic_pj >= least_costs(padded)[0] >= bound.dynamic_pj
        assert max(cost.chip_cycles, cost.dram_cycles) >= bound.latency_cycles
        assert (cost.totals.sum(axis=(1, 2)) >= bound.moved_words).all()


@cache
def searched():
    """Figures of the best mappings that a search finds for each goal, on 60 random cases."""
    found = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng)
        level = int(rng.integers(len(problem.hardware.levels)))
        for goal in ("energy", "cycles", "edp", "moved", "crossing"):
            run = annealed(problem, goal, level, seed, 1500)
            if run is not None:
                found.append((goal, level, figures(problem, run)))
    return found


def test_no_search_gets_below_the_bounds():
    assert len(searched()) > 250
    for goal, _, all_figures in searched():
        for name, (taken, least) in all_figures.items():
            assert np.all(taken >= least), f"{name}, searching for {goal}"


@pytest.mark.parametrize(
    ("goal", "tight"), [("energy", 6), ("cycles", 20), ("edp", 3), ("moved", 20), ("crossing", 9)]
)
def test_a_bound_one_percent_higher_would_be_wrong(goal, tight):
    """Mappings exist that are less than 1% above their bound, for each figure."""
    broken = 0
    for name, level, all_figures in searched():
        if name == goal:
            taken, least = all_figures[goal]
            if goal in ("moved", "crossing"):
                taken, least = taken[level], least[level]
            broken += bool(taken < 1.01 * least)
    assert broken >= tight


def test_searches_come_near_the_bounds():
    """On random hardware half of all searches end within 15% of the least energy."""
    gaps = [f["energy"][0] / f["energy"][1] for goal, _, f in searched() if goal == "energy"]
    assert np.median(gaps) < 1.15
    assert np.quantile(gaps, 0.9) < 1.8


def two_levels(words, private=False, buffer_pj=1.0, **changes):
    """Return a buffer of so many words and a MAC below DRAM, every access there 1 pJ."""
    sizes = tuple((t, float(words)) for t in TENSORS) if private else float(words)
    one, inner = AccessEnergy(1.0, 1.0, 1.0), AccessEnergy(buffer_pj, buffer_pj, buffer_pj)
    buffer = StorageLevel("buffer", "sram", TENSORS, (1, 1), sizes, inf, energy=inner)
    dram = StorageLevel("dram", "dram", TENSORS, (1, 1), None, inf, energy=one)
    hardware = Hardware(
        "two", "cacti_45nm", 100, 8, (1, 1), (1, 1), (buffer, dram), "lpddr4", 1, mac_pj=1.0
    )
    return replace(hardware, **changes)


def gemm(m, n, k):
    return Layer("gemm", "gemm", n=m, k=n, c=k)


@pytest.mark.parametrize("words", [15, 99, 1023, 65535])
def test_a_large_product_moves_two_words_for_root_s_macs(words):
    """Smith et al., arXiv:1702.02017: 2 M / sqrt(S), here with a row and a column beside."""
    layer = gemm(8192, 8192, 8192)
    bound = layer_bound(layer, two_levels(words))
    side = sqrt(words + 1) - 1
    expected = 2 * layer.macs / side + 8192**2
    assert expected * 0.995 < bound.moved_words[-1] <= expected
    assert bound.moved_words[-1] > 2 * layer.macs / sqrt(words)


def test_a_product_in_a_buffer_that_holds_it_moves_each_word_once():
    layer = gemm(16, 16, 16)
    bound = layer_bound(layer, two_levels(3 * 256))
    assert bound.moved_words[-1] == pytest.approx(3 * 256)
    assert bound.compulsory_words == (256, 256, 256)
    # a MAC reads two operands and updates a sum, which it reads first but for the first time
    assert bound.moved_words[0] == pytest.approx(4 * 4096 - 256 + 2 * 256)
    exactly = 4096 + 4 * 4096 - 256 + 2 * 256 + 3 * 256
    assert 0 < exactly - bound.dynamic_pj < ROUNDED_PJ


def test_private_buffers_hold_more_than_a_shared_one_of_the_same_words():
    layer = gemm(512, 512, 512)
    shared = layer_bound(layer, two_levels(300)).moved_words[-1]
    private = layer_bound(layer, two_levels(100, private=True)).moved_words[-1]
    assert private == pytest.approx(2 * 512**3 / 10 + 512**2, rel=0.005)
    assert shared < private


@pytest.mark.parametrize(
    ("layer", "inputs"),
    [
        # one row of a depthwise window of 3: 2 words of overlap between tiles of outputs
        (Layer("d", "conv", g=64, p=32, q=32, r=3, s=3, input_size=(34, 34)), 64 * 34 * 34),
        # a stride beyond the kernel reads no more than the windows
        (Layer("h", "conv", k=8, c=8, p=8, q=8, stride=(4, 4), input_size=(32, 32)), 8 * 64),
        # a dilated window of 3 reads rows 0 to 11 of 12, stride 1
        (Layer("a", "conv", k=4, c=4, p=8, q=1, r=3, dilation=(2, 1), input_size=(12, 1)), 48),
    ],
)
def test_compulsory_inputs_are_those_that_windows_read(layer, inputs):
    bound = layer_bound(layer, edge(1 << 20))
    assert bound.compulsory_words == (layer.weight_words, inputs, layer.output_words)
    network = Network("one", (layer,), (("input",),))
    assert sum(bound.compulsory_words) == demand(network).dram_words


def test_a_staged_operand_leaves_dram_alone():
    layer = gemm(16, 16, 16)
    problem = replace(MappingProblem.of_layer(layer, edge()), staged=(False, True, True))
    bound = problem_bound(problem)
    assert bound.compulsory_words == (256, 0, 0)
    assert bound.moved_words[-1] == pytest.approx(256)


def test_operands_that_no_level_holds_are_asked_for_by_macs():
    """TPU v1 latches weights; inputs serve 256 columns at most, sums come from 256 rows."""
    layer = gemm(1024, 512, 512)
    bound, macs = layer_bound(layer, tpu_like()), 1024 * 512 * 512
    reads = macs / 256 + 2 * macs / 256
    assert bound.moved_words[1] >= reads
    assert bound.compute_cycles == macs / 65536


def all_nests(bounds, levels):
    """Yield every split of bounds over the temporal loops of levels, and every order outside."""

    def splits(n, parts):
        if parts == 1:
            yield (n,)
            return
        for f in (d for d in range(1, n + 1) if n % d == 0):
            for rest in splits(n // f, parts - 1):
                yield (f, *rest)

    dims = [d for d in range(8) if bounds[d] > 1]
    rest = [d for d in range(8) if bounds[d] == 1]
    for factors in product(*(tuple(splits(bounds[d], levels)) for d in dims)):
        loops = np.ones((levels, 4, 8), np.int64)
        loops[:, 3] = np.arange(8)
        for d, split in zip(dims, factors, strict=True):
            loops[:, 0, d] = split
        for order in permutations(dims):
            nest = loops.copy()
            nest[-1, 3] = [*order, *rest]
            yield nest


SMALL = [
    ((4, 1, 4, 4, 1, 1, 1, 1), 12),
    ((8, 1, 4, 2, 1, 1, 1, 1), 20),
    ((1, 1, 4, 2, 6, 1, 3, 1), 16),
    ((1, 1, 1, 1, 6, 4, 3, 2), 14),
    ((1, 4, 1, 1, 8, 1, 3, 1), 10),
    ((1, 2, 3, 3, 4, 1, 1, 1), 30),
]


@pytest.mark.parametrize(("bounds", "words"), SMALL)
@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize(("buffer_pj", "most"), [(0.0, 1.35), (1.0, 1.1)])
def test_the_best_of_all_mappings_is_near_the_bound(bounds, words, private, buffer_pj, most):
    """Everything enumerated. First DRAM words alone have a price, then all words."""
    size = tuple(bounds[4 + a] + bounds[6 + a] - 1 for a in (0, 1))
    room = words // 3 if private else words
    hardware = two_levels(room, private, buffer_pj, mac_pj=0.0)
    problem = MappingProblem(bounds, (1, 1), (1, 1), (0, 0), size, hardware)
    nests = np.array(list(all_nests(bounds, 2)))
    status, energy, _, _ = evaluate_batch(
        problem.setup, nests, np.ones((len(nests), 2, 3), np.uint8)
    )
    best, least = energy[status == VALID].min(), least_costs(problem)[0]
    assert least <= best <= most * least


def test_an_operator_of_the_vector_unit_has_its_cost_as_bound():
    pool = Layer("pool", "maxpool", g=64, p=8, q=8, r=2, s=2, stride=(2, 2), input_size=(16, 16))
    hardware = edge()
    bound, cost = layer_bound(pool, hardware), vector_cost(pool, hardware, 8, 8, staged=False)
    assert bound.dynamic_pj == cost.dynamic_pj
    assert bound.latency_cycles == cost.latency_cycles
    assert bound.moved_words.tolist() == cost.words.sum(axis=1).tolist()
    assert bound.dram_bytes == 64 * (256 + 64)
    assert bound.crossing_words.tolist() == [0, 64 * (256 + 64), 0]


def test_energy_adds_leakage_over_the_least_time():
    layer, hardware = gemm(64, 64, 64), preset("eyeriss")
    bound = layer_bound(layer, hardware)
    leakage = access_costs(hardware).leakage_pj_per_cycle * bound.latency_cycles
    assert 0 < bound.dynamic_pj + leakage - bound.energy_pj < ROUNDED_PJ
    seconds = bound.latency_cycles / (hardware.frequency_mhz * 1e6)
    assert bound.edp_js == pytest.approx(bound.energy_pj * 1e-12 * seconds)


def test_bytes_over_dram_follow_the_width_of_words_there():
    layer, hardware = gemm(16, 16, 16), edge()
    wide = replace(hardware.levels[-1], tensor_bits=(("outputs", 32),))
    mixed = replace(hardware, levels=(*hardware.levels[:-1], wide))
    assert layer_bound(layer, hardware).dram_bytes == pytest.approx(768)
    assert layer_bound(layer, mixed).dram_bytes == pytest.approx(256 + 256 + 4 * 256)


def test_bounds_never_fall_with_the_layer_and_never_rise_with_the_buffer():
    layers = [gemm(64, 64, 2**i) for i in range(3, 9)]
    costs = [layer_bound(layer, edge()).dynamic_pj for layer in layers]
    assert costs == sorted(costs)
    sizes = [layer_bound(gemm(256, 256, 256), edge(1 << i)) for i in range(10, 18)]
    moved = [b.moved_words[-1] for b in sizes]
    assert all(a >= b * 0.99 for a, b in pairwise(moved))


def test_huge_layers_do_not_overflow():
    """10**15 multiply-accumulates: 100,000 positions, channels and taps each."""
    layer = Layer("huge", "gemm", n=10**5, k=10**5, c=10**5)
    bound = layer_bound(layer, two_levels(10**6))
    assert bound.operations == 10**15
    assert bound.moved_words[-1] == pytest.approx(2 * 1e15 / 999 + 1e10, rel=0.01)
    assert bound.compute_cycles == 1e15


def test_one_mapping_by_hand_meets_its_bound():
    """Outputs stay while a column and a row pass: nothing moves more often than it must."""
    problem = MappingProblem.of_layer(gemm(4, 4, 32), two_levels(24))
    loops = np.ones((2, 4, 8), np.int64)
    loops[:, 3] = np.arange(8)
    loops[0, 0, [0, 2]] = 4
    loops[1, 0, 3] = 32
    run = run_of(problem, loops, np.ones((2, 3), np.uint8))
    bound = problem_bound(problem)
    assert run.words[-1, 0] == 2 * 4 * 32 + 16
    assert run.words[-1, 0] == pytest.approx(bound.moved_words[-1], rel=1e-9)
    assert 0 < run.energy_pj - bound.dynamic_pj < ROUNDED_PJ
    assert prod(problem.bounds) == bound.latency_cycles


@pytest.mark.parametrize("staged", [(False, False, False), (False, True, True)])
@pytest.mark.parametrize("density", [(1.0, 1.0), (0.5, 0.25)])
def test_what_designs_have_in_common_is_that_of_a_problem(staged, density):
    """Designs share what their template decides; a problem works all of it out for itself."""
    window = ((1, 1), (1, 1), (0, 0), (1, 1))
    for hardware in (edge(), edge(8 << 10), edge(channels=4)):
        setup = MappingProblem((1,) * 8, *window, hardware, staged, density=density).setup
        for found, whole in zip(
            design_and_prices(hardware, Sparsity(*density), staged),
            (design_of(setup), prices_of(setup)),
            strict=True,
        ):
            for name, ours, theirs in zip(found._fields, found, whole, strict=True):
                assert np.array_equal(ours, theirs), name


def test_hardware_with_more_levels_than_kernels_has_no_bound():
    hardware = edge()
    inner = [replace(hardware.levels[0], name=f"more{i}") for i in range(8)]
    deep = replace(hardware, levels=(*inner, *hardware.levels))
    with pytest.raises(ValueError, match="levels, must have at most 8"):
        design_and_prices(deep, (1.0, 1.0))
