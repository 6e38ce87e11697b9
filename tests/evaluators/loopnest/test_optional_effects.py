"""Each switch of a hardware: closed forms, properties on random cases, recorded figures."""

from dataclasses import replace
from itertools import pairwise, product
from math import ceil
from random import Random

import pytest

from archloom.evaluators.loopnest.kernel import OVER_CAPACITY, VALID
from archloom.evaluators.loopnest.layer_cost import mapped_cost, whole_pj
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.space.design_space.presets import preset
from archloom.space.design_space.shipped import PRESETS
from archloom.space.hardware.effects import AccessEnergy, Effects
from archloom.space.hardware.hardware import Hardware, StorageLevel
from archloom.space.mapping.mapping import Mapping
from archloom.space.workload.dims import TENSORS
from archloom.space.workload.layer_builders import conv2d, linear

from ...cases.mapped_layers import draw_mapping, fitted
from ...oracles.compared import closed
from ...oracles.walked_nest import WEIGHTS

ZEROS = ("computed", "gated", "skipped")
FREE = AccessEnergy(0, 0, 0)


def result(case, *, density=None, level=None, **effects):
    """Evaluate a case with other effects of the chip, other zeros, or other fields of levels."""
    hardware = case.problem.hardware
    hardware = replace(hardware, effects=replace(hardware.effects, **effects))
    if level:
        levels = tuple(replace(v, **level) for v in hardware.levels)
        hardware = replace(hardware, levels=levels)
    problem = replace(case.problem, hardware=hardware, density=density or case.problem.density)
    return closed(problem, case.mapping)


def figures(found):
    return found.energy, found.chip, found.dram, found.counts.tolist(), found.by_level.tolist()


def chip(*levels, array=(1, 1), pe_mesh=(1, 1), effects=None, mac_pj=0.0):
    """Storage below a DRAM without limits or prices, unless the last level is one."""
    if not levels or levels[-1].storage != "dram":
        levels = (*levels, StorageLevel("dram", "dram", TENSORS, (1, 1), None, 1e9, energy=FREE))
    return Hardware(
        name="chip",
        technology="cacti_45nm",
        frequency_mhz=1000,
        word_bits=8,
        pe_mesh=pe_mesh,
        array=array,
        levels=levels,
        dram="lpddr4",
        vector_lanes=1,
        mac_pj=mac_pj,
        effects=effects or Effects(),
    )


def buffer(name="buffer", mesh=(1, 1), keeps=TENSORS, **fields):
    given = {"capacity_bytes": 1 << 20, "bandwidth_words": 1e9, "energy": FREE, **fields}
    return StorageLevel(name, "sram", keeps, mesh, optional=True, **given)


def loops(text):
    """A mapping as ``Mapping.to_text`` writes it."""
    return Mapping.from_text(text)


def evaluated(hardware, layer, text, **changes):
    return closed(replace(MappingProblem.of_layer(layer, hardware), **changes), loops(text))


# zeros


@pytest.mark.parametrize(("weights", "inputs"), list(product(ZEROS, ZEROS)))
def test_without_zeros_their_switches_change_nothing(cases, weights, inputs):
    for case in cases:
        plain = result(case, weight_zeros="computed", input_zeros="computed")
        dense = result(case, weight_zeros=weights, input_zeros=inputs, density=(1.0, 1.0))
        assert figures(plain) == figures(dense)


def test_zeros_change_nothing_where_they_are_computed(cases):
    for case in cases:
        few, many = (
            result(case, weight_zeros="computed", input_zeros="computed", density=(d, d))
            for d in (0.25, 1.0)
        )
        assert figures(few) == figures(many)


@pytest.mark.parametrize(("weights", "inputs"), list(product(ZEROS, ZEROS)))
def test_more_zeros_never_cost_more(cases, weights, inputs):
    for case in cases[::2]:
        zeros = {"weight_zeros": weights, "input_zeros": inputs}
        for fixed in (0.5, 1.0):
            for at in (0, 1):
                ladder = [
                    result(case, density=(d, fixed) if at == 0 else (fixed, d), **zeros)
                    for d in (0.125, 0.5, 1.0)
                ]
                for sparse, dense in pairwise(ladder):
                    assert sparse.energy <= dense.energy
                    assert (sparse.chip, sparse.dram) <= (dense.chip, dense.dram)
                    assert sparse.counts.tolist() == dense.counts.tolist()


@pytest.mark.parametrize("which", ["weight_zeros", "input_zeros"])
def test_skipping_never_costs_more_than_gating_nor_gating_than_computing(cases, which):
    for case in cases[::2]:
        computed, gated, skipped = (
            result(case, density=(0.5, 0.5), **{which: zeros}) for zeros in ZEROS
        )
        assert skipped.energy <= gated.energy <= computed.energy
        assert skipped.cycles <= gated.cycles <= computed.cycles


def test_shares_of_zeros_are_exact():
    # 16 x 8 x 4 steps out of registers that hold everything; half of the weights are zero
    layer = linear("fc", 8, 16, 4)
    prices = AccessEnergy(read_pj=1.0, fill_pj=0.0, update_pj=0.0)

    def spent(density, **zeros):
        rf = buffer("rf", energy=prices)
        found = evaluated(
            chip(rf, mac_pj=1.0, effects=Effects(**zeros)),
            layer,
            "WIO:C8.K16.P4// WIO://",
            density=density,
        )
        rows = found.by_level[0].tolist()
        return found.energy - sum(rows), *rows, found.chip

    macs, sums = 512, 512 - 64
    assert spent((0.5, 1.0)) == (macs, macs, macs, sums, macs)
    # a gated weight is read to be known, its input and its sum are left alone
    gated = spent((0.5, 1.0), weight_zeros="gated")
    assert gated == (macs / 2, macs, macs / 2, sums / 2, macs)
    skipped = spent((0.5, 1.0), weight_zeros="skipped")
    assert skipped == (macs / 2, macs / 2, macs / 2, sums / 2, macs / 2)
    both = spent((0.5, 0.25), weight_zeros="skipped", input_zeros="gated")
    assert both == (macs / 8, macs / 8, macs / 2, sums / 8, macs / 2)


def test_zeros_spare_nothing_outside_the_level_that_serves_the_macs(cases):
    for case in cases:
        sparse = result(case, density=(0.5, 0.5), weight_zeros="skipped", input_zeros="skipped")
        dense = result(case, density=(1.0, 1.0))
        seen = [False] * 3
        leaks = [v.energy.leakage_pj for v in case.problem.hardware.levels]
        for level, rows in enumerate(case.mapping.levels):
            for t in range(3):
                # leakage follows the cycles, which are fewer
                idle = leaks[level] * dense.used[level] * (dense.cycles - sparse.cycles) / 3
                ours, theirs = sparse.by_level[level][t] + idle, dense.by_level[level][t]
                assert ours == theirs if seen[t] else ours <= theirs
            seen = [a or b for a, b in zip(seen, rows.keeps, strict=True)]


# fill and drain

LATCHED = {"keeps": ("weights",), "bandwidth_words": 1e9}


def systolic(rows, columns, fill_drain):
    latch = buffer("latch", mesh=(columns, rows), capacity_bytes=2, **LATCHED)
    return chip(latch, buffer(), array=(columns, rows), effects=Effects(fill_drain=fill_drain))


@pytest.mark.parametrize(
    ("rows", "columns", "steps"), [(4, 3, 9), (2, 8, 1), (5, 5, 40), (6, 2, 3)]
)
@pytest.mark.parametrize("folds", [(1, 1), (2, 3)])
def test_a_weight_stationary_array_takes_the_cycles_of_scale_sim(rows, columns, steps, folds):
    """SCALE-Sim (Samajdar et al., ISPASS 2020): 2 r + c + T - 2 for each fold of the weights."""
    down, across = folds
    layer = linear("fc", rows * down, columns * across, steps)
    mapping = f"W--:// -I-:P{steps}/K{columns}/C{rows} WIO:C{down}.K{across}//"
    count = down * across

    def cycles(fill_drain):
        return evaluated(systolic(rows, columns, fill_drain), layer, mapping).chip

    assert cycles("none") == count * steps
    assert cycles("exposed") == count * (2 * rows + columns + steps - 2)
    # cells that latch the next tile while they work wait only for what takes longer than the work
    hidden = 2 * rows + columns - 2 + (count - 1) * max(rows - steps, 0)
    assert cycles("overlapped") == count * steps + hidden


def test_an_array_used_in_part_fills_that_part_alone():
    layer = linear("fc", 2, 3, 7)
    mapping = "W--:// -I-:P7/K3/C2 WIO://"
    assert evaluated(systolic(8, 8, "exposed"), layer, mapping).chip == 2 * 2 + 3 + 7 - 2


def test_what_stands_still_is_the_tensor_that_changes_least():
    # results stay in registers while 6 channels go by; weights and inputs change in every step
    registers = buffer("rf", mesh=(3, 2), keeps=TENSORS)
    hardware = chip(registers, buffer(), array=(3, 2), effects=Effects(fill_drain="exposed"))
    layer = linear("fc", 6, 3, 10)
    found = evaluated(hardware, layer, "WIO:// WIO:C6/K3/P2 WIO:P5//")
    assert found.chip == 30 + 5 * (2 * 2 + 3 - 2)


def test_a_buffer_of_several_pes_fills_no_more_than_one_array():
    # 2 x 1 PEs of 4 x 4 cells below one buffer, with latches in every cell
    latch = buffer("latch", mesh=(8, 4), capacity_bytes=2, **LATCHED)
    effects = Effects(fill_drain="exposed")
    hardware = chip(latch, buffer(), array=(4, 4), pe_mesh=(2, 1), effects=effects)
    found = evaluated(hardware, linear("fc", 4, 8, 5), "W--:// -I-:P5/K8/C4 WIO://")
    assert found.chip == 2 * 4 + 4 + 5 - 2


def test_overlapped_filling_hides_some_of_what_is_exposed(cases):
    for case in cases:
        none, hidden, shown = (
            result(case, fill_drain=kind) for kind in ("none", "overlapped", "exposed")
        )
        assert none.chip <= hidden.chip <= shown.chip
        assert none.dram == hidden.dram == shown.dram
        if case.problem.hardware.array == (1, 1):
            # one MAC takes one cycle to load a tile and none to fill
            assert hidden.chip == none.chip + 1


# buffers and ports


@pytest.mark.parametrize(
    ("words", "copies", "room"), [(10, 3.0, 3), (10, 1.5, 6), (7, 2.0, 3), (9, 1.0, 9)]
)
def test_copies_of_a_tile_share_the_capacity(words, copies, room):
    def status(tile, private):
        size = tuple((t, words) for t in TENSORS) if private else words
        rf = buffer(capacity_bytes=size, multiple_buffering=copies)
        return evaluated(chip(rf), linear("fc", 1, tile), f"W--:K{tile}// WIO://").status

    for private in (False, True):
        assert status(room, private) == VALID
        assert status(room + 1, private) == OVER_CAPACITY


def test_copies_count_all_tensors_of_a_shared_buffer():
    # 4 weights, 1 input and 4 results, each twice
    layer = linear("fc", 1, 4)
    for words, status in ((18, VALID), (17, OVER_CAPACITY)):
        rf = buffer(capacity_bytes=words, multiple_buffering=2.0)
        assert evaluated(chip(rf), layer, "WIO:K4// WIO://").status == status


@pytest.mark.parametrize(
    ("ports", "cycles"),
    [
        ({}, 20),
        ({"read_bandwidth_words": 2}, 25),
        ({"write_bandwidth_words": 0.5}, 68),
        ({"bandwidth_words": 0.25}, 336),
        ({"read_bandwidth_words": 2, "write_bandwidth_words": 0.5}, 68),
        ({"read_bandwidth_words": 1, "bandwidth_words": 2}, 50),
        ({"read_bandwidth_words": 8, "write_bandwidth_words": 8, "bandwidth_words": 3}, 28),
    ],
)
def test_every_port_has_its_own_pace(ports, cycles):
    # 20 steps read 20 weights, 20 inputs and 10 sums, and write 10 + 4 words from outside, 20 sums
    rf = buffer(**{"bandwidth_words": 1e9, **ports})
    found = evaluated(chip(rf), linear("fc", 2, 5, 2), "WIO:C2.K5.P2// WIO://")
    reads, fills, updates = found.counts[0].sum(axis=0)
    assert (reads, fills, updates) == (50, 14, 20)
    assert found.chip == cycles


def test_ports_move_bits():
    # sums of 24 bits take three words of 8 bits each
    layer = linear("fc", 2, 5, 2)
    wide = buffer(bandwidth_words=1, tensor_bits=(("outputs", 24),))
    found = evaluated(chip(wide), layer, "WIO:C2.K5.P2// WIO://")
    assert found.chip == 40 + 14 + 3 * (10 + 20)
    # operands of 4 bits take half a word
    narrow = buffer(bandwidth_words=1, tensor_bits=(("weights", 4), ("inputs", 4)))
    found = evaluated(chip(narrow), layer, "WIO:C2.K5.P2// WIO://")
    assert found.chip == (40 + 14) / 2 + 10 + 20


def test_words_of_each_tensor_take_their_bits_of_the_capacity():
    # 5 weights of 4 bits, an input of 8, 5 sums of 24: 148 bits
    bits = (("weights", 4), ("outputs", 24))
    for capacity, status in ((148 / 8, VALID), (147 / 8, OVER_CAPACITY)):
        rf = buffer(capacity_bytes=capacity, tensor_bits=bits)
        found = evaluated(chip(rf), linear("fc", 1, 5), "WIO:K5// WIO://")
        assert found.status == status


@pytest.mark.parametrize(("bits", "words"), [(8, 4), (16, 2), (12, 2), (32, 1), (5, 6), (48, 1)])
def test_a_line_holds_whole_words(bits, words):
    # lines of 4 words of 8 bits; 30 weights are read and fetched
    rf = buffer(
        width_words=4, tensor_bits=(("weights", bits),), energy=AccessEnergy(1.0, 100.0, 0.0)
    )
    found = evaluated(chip(rf), linear("fc", 1, 30), "W--:K30// WIO://")
    assert found.counts[0, WEIGHTS].tolist() == [30, 30, 0]
    assert found.by_level[0].tolist() == [ceil(30 / words) * 101, 0, 0]


# clusters


def test_clusters_are_accessed_as_one():
    # 6 of 8 instances work; an access reaches all of a cluster
    layer = linear("fc", 1, 6, 5)
    for size, clusters in ((1, 6), (2, 4), (4, 2), (8, 1)):
        rf = buffer("rf", mesh=(8, 1), cluster_size=size, energy=AccessEnergy(1.0, 0.0, 0.0))
        found = evaluated(chip(rf, buffer(), pe_mesh=(8, 1)), layer, "W--:P5// WIO:/K6/ WIO://")
        assert found.used.tolist() == [6, 1, 1]
        assert found.by_level[0].tolist() == [5 * clusters, 0, 0]


def test_larger_clusters_never_have_more_accesses(cases):
    for case in cases:
        single = result(case, level={"cluster_size": 1, "energy": AccessEnergy(1.0, 1.0, 1.0)})
        pairs = result(case, level={"energy": AccessEnergy(1.0, 1.0, 1.0)})
        assert pairs.energy <= single.energy
        assert pairs.counts.tolist() == single.counts.tolist()


# multicast


@pytest.mark.parametrize("tensor", TENSORS)
def test_doing_without_multicast_never_costs_less(cases, tensor):
    t = TENSORS.index(tensor)
    for case in cases:
        hardware = case.problem.hardware
        levels = tuple(
            replace(v, multicast=tuple(m for m in v.multicast if m != tensor))
            for v in hardware.levels
        )
        bare = replace(
            case, problem=replace(case.problem, hardware=replace(hardware, levels=levels))
        )
        shared, alone = result(case), result(bare)
        assert shared.energy <= alone.energy
        assert (shared.chip, shared.dram) <= (alone.chip, alone.dram)
        assert (shared.counts[:, t] <= alone.counts[:, t]).all()
        others = [i for i in range(3) if i != t]
        assert shared.counts[:, others].tolist() == alone.counts[:, others].tolist()


# reports


@pytest.mark.parametrize("name", PRESETS)
def test_parts_add_up_on_published_chips(name):
    """Whatever prices the accesses: levels and tensors are the energy that searches see."""
    rng, checked = Random(name), 0
    layer = conv2d("conv", 12, 24, (9, 7), 3, (2, 1), 1)
    effects = Effects("mesh", "exposed", "gated", "skipped")
    for i in range(40):
        hardware = replace(preset(name), effects=effects if i % 2 else Effects())
        problem = replace(MappingProblem.of_layer(layer, hardware), density=(0.5, 0.25))
        mapping = draw_mapping(rng, problem.bounds, hardware, (False,) * 3, None)
        problem = fitted(rng, problem, mapping)
        found = closed(problem, mapping)
        if found.status != VALID:
            continue
        checked += 1
        compute = problem.macs * problem.setup.working * problem.setup.mac_pj
        assert found.energy == pytest.approx(found.by_level.sum() + compute, rel=1e-12)
        cost = mapped_cost(problem, mapping)
        assert cost.compute_pj == whole_pj(compute)
        # each of the parts is rounded to 2**-8 pJ
        assert cost.dynamic_pj == pytest.approx(found.energy, abs=(found.by_level.size + 1) / 512)
        assert (cost.chip_cycles, cost.dram_cycles) == (found.chip, found.dram)
        total = found.counts * found.used[:, None, None]
        assert cost.words.tolist() == total.sum(axis=2).tolist()
    assert checked > 15
