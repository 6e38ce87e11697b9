"""Packed weights in the layer model: every figure, every kernel, every search."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from archloom.evaluators.bounds import problem_bound
from archloom.evaluators.loopnest import MappingProblem, mapped_cost
from archloom.evaluators.loopnest.imperfect import imperfect_cost
from archloom.evaluators.loopnest.kernel import VALID
from archloom.evaluators.loopnest.layer_cost import setup_for
from archloom.evaluators.loopnest.simd.inputs import simd_inputs
from archloom.search.mapping.exact.search import prove
from archloom.space.hardware import Effects
from archloom.space.mapping import Mapping
from archloom.space.workload import WEIGHTS, C, K, P, linear

from ...cases.mapped_layers import drawn_packed
from ...cases.small_designs import casco_edge, resnet_conv
from ...cases.sweeps import sweep
from ...oracles.compared import closed, differences, shown
from ...oracles.packed_tensors import packed_bits, random_weights

SEED, BATCH = 2026, 100


@pytest.mark.parametrize("batch", sweep(range(12), 2))
def test_closed_form_and_walked_nest_agree_on_every_figure(batch):
    for number in range(batch * BATCH, (batch + 1) * BATCH):
        case = drawn_packed(SEED, number)
        found = differences(case)
        assert not found, f"case {number}: {'; '.join(found)}\n{shown(case)}"


def test_cases_pack_in_every_format_and_are_mostly_valid():
    cases = [drawn_packed(SEED, number) for number in range(200)]
    packed, valid = Counter(), 0
    for case in cases:
        unit = case.problem.setup.unit
        dense = replace(case.problem, row_words=0).setup.unit
        kind = case.problem.hardware.effects.weight_format
        packed[kind] += int((unit != dense).any())
        valid += closed(case.problem, case.mapping).status == VALID
    assert min(packed.values()) > 20
    assert len(packed) == 3
    assert valid > 100


@pytest.mark.parametrize("part", sweep(range(4), 1))
def test_no_bound_is_above_a_mapping(part):
    for number in range(part, 400, 4):
        case = drawn_packed(SEED, number)
        found = closed(case.problem, case.mapping)
        if found.status == VALID:
            bound, cost = problem_bound(case.problem), mapped_cost(case.problem, case.mapping)
            assert bound.dynamic_pj <= min(found.energy, cost.dynamic_pj)
            assert bound.latency_cycles <= found.cycles
            assert (bound.moved_words <= cost.words.sum(axis=1)).all()
            words = (cost.dram_reads + cost.dram_writes) * case.problem.hardware.word_bits / 8
            if not any(bits for _, bits in case.problem.hardware.levels[-1].tensor_bits):
                assert bound.dram_bytes <= words


def test_the_form_for_imperfect_factors_is_the_same_where_they_are_perfect():
    for number in range(100):
        case = drawn_packed(SEED, number)
        exact = closed(case.problem, case.mapping)
        if exact.status != VALID:
            continue
        cut = imperfect_cost(setup_for(case.problem, case.mapping), *case.mapping.arrays())
        assert cut.energy_pj.tolist() == exact.by_level.tolist()
        assert (cut.chip_cycles, cut.dram_cycles) == (exact.chip, exact.dram)


@pytest.mark.parametrize("kind", ["bitmask", "run_length", "csr"])
@pytest.mark.parametrize("share", [0.05, 0.3])
@pytest.mark.parametrize(("filters", "again"), [(256, False), (64, False), (8, False), (8, True)])
def test_words_over_dram_are_those_of_random_tensors_packed_tile_by_tile(
    kind, share, filters, again
):
    """The buffer holds some filters at a time; each such tile is packed, and fetched for every
    input or once."""
    hardware = replace(casco_edge(512), effects=Effects(weight_format=kind))
    layer = replace(linear("l", 512, 256, 64), density=(share, 1.0))
    problem = MappingProblem.of_layer(layer, hardware)
    weights = random_weights(np.random.default_rng(7), 256, 512, share)
    loops = np.ones((3, 8), np.int64)
    loops[1, [K, C]], loops[2, [K, P]] = (filters, 512), (256 // filters, 64)
    # the first in an order is the innermost
    order = [K, P] if again else [P, K]
    order += [d for d in range(8) if d not in order]
    ones, kept = (1,) * 8, (True,) * 3
    mapping = Mapping.from_rows([[row.tolist(), order, ones, ones, kept] for row in loops])
    cost = mapped_cost(problem, mapping)
    tiles = [weights[row : row + filters] for row in range(0, 256, filters)]
    bits = sum(packed_bits(kind, hardware.word_bits, tile) for tile in tiles)
    times = 64 if again else 1
    assert mapped_cost(replace(problem, row_words=0), mapping).words[-1, WEIGHTS] == (
        times * weights.size
    )
    # a tile ends a run early, and parts of bits are rounded up
    assert cost.words[-1, WEIGHTS] * hardware.word_bits == pytest.approx(times * bits, rel=0.02)


def test_kernels_for_batches_cover_packed_problems():
    layer = replace(resnet_conv(), density=(0.2, 0.5))
    hardware = replace(casco_edge(), effects=Effects(weight_format="csr"))
    problem = MappingProblem.of_layer(layer, hardware)
    assert simd_inputs(problem.setup) is not None
    mapping = prove(problem, 10**6)
    assert mapping.proven
    plain = prove(replace(problem, row_words=0), 10**6)
    assert mapping.best is not None
    assert plain.best is not None
    assert mapping.best.score < plain.best.score
