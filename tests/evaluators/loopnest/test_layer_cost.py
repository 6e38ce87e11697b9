from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from archloom.evaluators.hardware import access_costs
from archloom.evaluators.loopnest.kernel import evaluate_batch
from archloom.evaluators.loopnest.layer_cost import added_cost, mapped_cost, whole_pj
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.space.mapping.mapping import LevelMapping, Mapping
from archloom.space.workload.layer import Layer

from ...cases.designs import edge, eyeriss_like, tpu_like
from ...cases.mappers import ONES, word_by_word
from ...oracles import imperfect_nest, walked_nest as oracle

CONV = Layer("c", "conv", k=4, c=2, p=4, q=4, r=3, s=3, padding=(1, 1), input_size=(4, 4))


def spread_out():
    """CONV on the edge design: 4x2 PEs, rows of outputs in the buffer, reduction outside."""
    order = tuple(range(8))
    keeps = (True, True, True)
    return Mapping(
        (
            LevelMapping((1, 1, 1, 1, 1, 1, 3, 3), order, ONES, ONES, keeps),
            LevelMapping((1, 1, 2, 1, 2, 1, 1, 1), order, (1, 1, 2, 1, 1, 2, 1, 1), ONES, keeps),
            LevelMapping((1, 1, 1, 2, 2, 2, 1, 1), order[::-1], ONES, ONES, keeps),
        )
    )


def as_nest(problem, mapping):
    rows = mapping.levels
    return oracle.Nest(
        temporal=[list(v.temporal) for v in rows],
        x=[list(v.spatial_x) for v in rows],
        y=[list(v.spatial_y) for v in rows],
        order=[list(v.order) for v in rows],
        keep=[list(v.keeps) for v in rows],
        top=tuple(int(t) for t in problem.setup.top),
        stride=problem.stride,
        dilation=problem.dilation,
        padding=problem.padding,
        input_size=problem.input_size,
        alone=True,
    )


@pytest.mark.parametrize("hardware", [edge(), edge(channels=4, word_bits=16)], ids=["8", "16"])
@pytest.mark.parametrize("staged", [(False, False, False), (False, True, True), (True, True, True)])
def test_the_breakdown_is_the_walked_nest_over_all_instances(hardware, staged):
    problem = replace(MappingProblem.of_layer(CONV, hardware), staged=staged)
    mapping = spread_out()
    cost = mapped_cost(problem, mapping)
    nest = as_nest(problem, mapping)
    counts, used = oracle.count(nest), np.array(oracle.used(nest))
    assert used.tolist() == [4, 1, 1]
    assert cost.words.tolist() == (counts.sum(axis=2) * used[:, None]).tolist()
    assert cost.dram_reads == counts[-1, :, 0].sum()
    assert cost.dram_writes == counts[-1, :, 2].sum()
    energy, chip, dram = oracle.price(nest, problem.setup)
    assert (cost.chip_cycles, cost.dram_cycles) == (chip, dram)
    assert cost.latency_cycles == max(chip, dram)
    # twelve entries and the arithmetic, each rounded to 2**-8 pJ
    assert cost.dynamic_pj == pytest.approx(energy, abs=13 / 512)
    assert cost.operations == CONV.macs
    assert cost.compute_pj == whole_pj(CONV.macs * access_costs(hardware).mac_pj)


@pytest.mark.parametrize("hardware", [edge(), eyeriss_like(), tpu_like()], ids=lambda h: h.name)
def test_reports_and_searches_see_one_model(hardware):
    problem = MappingProblem.of_layer(CONV, hardware)
    mapping = word_by_word(problem)
    cost = mapped_cost(problem, mapping)
    loops = [[v.temporal, v.spatial_x, v.spatial_y, v.order] for v in mapping.levels]
    keep = [v.keeps for v in mapping.levels]
    _, energy, chip, dram = evaluate_batch(
        problem.setup, np.array([loops], np.int64), np.array([keep], np.uint8)
    )
    assert cost.dynamic_pj == pytest.approx(energy[0], abs=0.05)
    assert (cost.chip_cycles, cost.dram_cycles) == (chip[0], dram[0])
    assert not cost.energy_pj[cost.words == 0].any()


def test_a_mapping_that_does_not_fit_is_refused():
    problem = MappingProblem.of_layer(CONV, edge(glb_bytes=64))
    with pytest.raises(ValueError, match="does not fit edge"):
        mapped_cost(problem, word_by_word(problem, -2))


def test_a_mapping_of_another_layer_is_refused():
    other = replace(CONV, k=5)
    mapping = word_by_word(MappingProblem.of_layer(other, edge()))
    with pytest.raises(ValueError, match=r"covers \(1, 1, 5, .* loops \(1, 1, 4, "):
        mapped_cost(MappingProblem.of_layer(CONV, edge()), mapping)


def rows_of(buffer, parts):
    """Rows of a product on the edge design, a loop over parts of the sums outermost in the buffer.

    PEs go from row to row inside of it, so that they hold other sums when a part ends.
    """
    keeps, order = (True, True, True), (2, 4, 0, 1, 3, 5, 6, 7)
    return Mapping(
        (
            LevelMapping((1, 1, 1, 2, 1, 1, 1, 1), order, ONES, ONES, keeps),
            LevelMapping(
                (1, 1, 2, parts, buffer, 1, 1, 1), order, (1, 1, 2, 2, 1, 1, 1, 1), ONES, keeps
            ),
            LevelMapping(ONES, order, ONES, ONES, keeps),
        )
    )


@pytest.mark.parametrize("hardware", [edge(), edge(channels=4, word_bits=16)], ids=["8", "16"])
@pytest.mark.parametrize("parts", [2, 5])
def test_sums_in_parts_cost_what_a_loop_over_all_of_them_does(hardware, parts):
    """The first part begins them, all others add to them."""
    rows = Layer("p", "gemm", k=4, c=4 * parts, p=6, input_size=(6, 1))
    problem = MappingProblem.of_layer(rows, hardware)
    whole = mapped_cost(replace(problem, staged=(True, True, True)), rows_of(6, parts))
    one = replace(problem, bounds=(1, 1, 4, 4, 6, 1, 1, 1), staged=(True, True, True))
    first = mapped_cost(one, rows_of(6, 1))
    later = added_cost(one, first)
    words = first.words + (parts - 1) * later.words
    assert whole.words.tolist() == words.tolist()
    assert (later.words - first.words)[:, :2].sum() == 0
    # each PE gets each sum that it adds to and reads it, and the buffer reads each sum once
    assert (later.words - first.words)[:, 2].tolist() == [2 * 4 * 6 * 2, 4 * 6, 0]
    assert later.chip_cycles >= first.chip_cycles


def test_later_parts_of_padded_and_of_cut_rows():
    """Of padded loops all runs, of others what lies inside the bounds."""
    rows = Layer("p", "gemm", k=4, c=4, p=5, input_size=(5, 1))
    problem = replace(MappingProblem.of_layer(rows, edge()), staged=(True, True, True))
    mapping = rows_of(6, 1)
    nest = as_nest(problem, mapping)
    for priced, bounds in (("bounds", mapping.factors), ("loop_bounds", problem.bounds)):
        first = mapped_cost(replace(problem, **{priced: mapping.factors}), mapping)
        later = added_cost(problem, first)
        totals, _ = imperfect_nest.count(nest, bounds, begun=True)
        assert later.words.tolist() == totals.sum(axis=2).tolist()
        assert later.operations == first.operations == np.prod(bounds)


@pytest.mark.parametrize("percent", [0.0, 12.5, np.inf])
def test_a_gap_of_later_parts_holds_for_all_mappings_of_them(percent):
    problem = replace(MappingProblem.of_layer(CONV, edge()), staged=(True, True, True))
    first = replace(mapped_cost(problem, word_by_word(problem, -2)), gap_percent=percent)
    later = added_cost(problem, first)
    assert later.gap_percent >= percent
    for leakage in (0.0, 1.0, 1e6):
        one, other = (
            (cost.dynamic_pj + leakage * cost.latency_cycles) * cost.latency_cycles
            for cost in (first, later)
        )
        assert other / (1 + later.gap_percent / 100) <= one / (1 + percent / 100) * (1 + 1e-12)


@given(st.lists(st.floats(0, 1e9), min_size=2, max_size=50), st.randoms())
@settings(max_examples=100)
def test_rounded_energies_add_up_in_any_order(energies, rng):
    rounded = [whole_pj(e) for e in energies]
    assert all(abs(a - b) <= 1 / 512 for a, b in zip(rounded, energies, strict=True))
    total = sum(rounded)
    rng.shuffle(rounded)
    assert sum(rounded) == total
