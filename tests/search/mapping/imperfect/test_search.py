"""Mappings with factors of any size, against a list of all of them, and what is proven of them."""

from dataclasses import replace
from functools import partial
from math import log

import numpy as np
import pytest

from archloom.evaluators.loopnest.imperfect.kernel import imperfect_cost
from archloom.evaluators.loopnest.layer_cost import LayerCost, mapped_cost
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.auto import auto_mapping
from archloom.search.mapping.factorization import least_score, nest_of, objective
from archloom.search.mapping.imperfect.further import FURTHER
from archloom.search.mapping.imperfect.search import best_imperfect
from archloom.search.mapping.mapper import Mapper
from archloom.search.mapping.simd.searches import LocalMapping
from archloom.space.design_space.presets import preset
from archloom.space.mapping.constraints import MappingConstraints
from archloom.space.networks.registry import network
from archloom.space.workload.layer import Layer

from ....cases.small_problems import awkward_problem
from ....cases.sweeps import sweep
from ....oracles.enumerated_imperfect import least_objective

#: mappings of a problem at most that is listed, and evaluations that prove its best one
MOST, PLENTY, USUAL = 20_000, 10**7, 100_000

ROUNDING = 1e-9


def found(problem: MappingProblem, evaluations: int, factors: str = "imperfect") -> LayerCost:
    cost = Mapper(auto_mapping(), evaluations, 1, factors)(problem)
    assert isinstance(cost, LayerCost)
    return cost


@pytest.mark.parametrize("block", sweep(range(50), 2))
def test_the_best_is_that_of_all_mappings_and_proven(block: int) -> None:
    """Twenty problems a block of which all mappings can be listed."""
    done, number = 0, 1000 * block
    while done < 20:
        problem = awkward_problem(number)
        least, number = least_objective(problem.setup, MOST), number + 1
        if least is None:
            continue
        done += 1
        # energies of reports are rounded to multiples of 2 ** -8 pJ
        grain = 1 + 1e-6
        cost = found(problem, PLENTY)
        assert cost.gap_percent == 0, number - 1
        assert least / grain <= objective(problem, cost) <= least * grain, number - 1
        usual = found(problem, USUAL)
        value = objective(problem, usual)
        assert value / (1 + usual.gap_percent / 100) <= least * grain, number - 1
        assert usual.gap_percent > 0 or value <= least * grain, number - 1


def test_a_longer_loop_inside_children_may_leave_a_shorter_last_step() -> None:
    """13 rows for two children: tiles of 6, 6 and 1 take 7 rows of time, of 5, 5 and 3 take 8."""
    problem = awkward_problem(16018)
    least, cost = least_objective(problem.setup, MOST), found(problem, PLENTY)
    assert least is not None
    assert cost.gap_percent == 0
    assert objective(problem, cost) == pytest.approx(least, rel=1e-6)
    assert cost.mapping is not None
    assert [level.temporal[4] for level in cost.mapping.levels] == [6, 2]


def test_a_listed_problem_has_the_mappings_that_exact_factors_have_and_more() -> None:
    for number in range(0, 400, 7):
        problem = awkward_problem(number)
        least = least_objective(problem.setup, MOST)
        if least is not None:
            exact = found(problem, USUAL, "exact")
            assert least <= objective(problem, exact) * (1 + 1e-6)


CASES = [
    Layer("scores", "gemm", g=12, k=197, c=64, p=197, input_size=(197, 1)),
    Layer("values", "gemm", g=12, k=64, c=197, p=197, input_size=(197, 1)),
    Layer("words", "gemm", k=30522, c=768, p=1, input_size=(1, 1)),
    Layer("audio", "gemm", k=1500, c=64, p=1500, input_size=(1500, 1)),
    Layer("13", "conv", k=61, c=17, p=13, q=13, r=3, s=3, padding=(1, 1), input_size=(13, 13)),
    Layer("127", "conv", k=61, c=3, p=127, q=127, r=7, s=7, stride=(2, 2), input_size=(259, 259)),
]


@pytest.mark.parametrize("name", ["eyeriss", "tpu_v3", "fast_small"])
def test_awkward_bounds_cost_little_more_than_the_least_there_can_be(name: str) -> None:
    for layer in CASES:
        problem = MappingProblem.of_layer(layer, preset(name))
        exact, cost = (found(problem, USUAL, factors) for factors in ("exact", "imperfect"))
        value, bound = objective(problem, cost), cost.gap_percent / 100
        assert value <= objective(problem, exact)
        # prime bounds cost up to 10,000 times the bound with exact factors
        assert bound < 1.0
        # the bound that is told is no less than that of all bounds of layers
        assert log(value / (1 + bound)) >= least_score(problem) - ROUNDING
        assert cost.mapping is not None
        again = mapped_cost(nest_of(problem, cost.mapping.factors, "imperfect"), cost.mapping)
        assert again.energy_pj.tolist() == cost.energy_pj.tolist()


def test_what_exact_factors_have_no_need_of_goes_to_nests_that_cover_more() -> None:
    """197 tokens are a prime, 198 are not: exact factors are proven at once, those of 198 later."""
    layer = Layer("qkv", "gemm", k=2304, c=768, p=197, input_size=(197, 1))
    problem = MappingProblem.of_layer(layer, preset("simba"))
    exact, usual, plenty = (
        found(problem, USUAL, "exact"),
        found(problem, USUAL),
        # with more there are descents beside nests
        found(problem, FURTHER - 1),
    )
    assert exact.gap_percent == 0
    assert objective(problem, usual) == objective(problem, plenty)
    # energy x cycles, and with a quarter of the evaluations that of exact factors
    assert objective(problem, usual) < 0.8 * objective(problem, exact)

    def exact_for() -> tuple[LayerCost, int]:
        return exact, 0

    alone = best_imperfect(problem, exact_for, auto_mapping(), USUAL, 1).cost
    assert objective(problem, alone) == objective(problem, exact)


def test_exact_factors_are_searched_unless_a_bound_says_that_they_cost_more() -> None:
    """Of a prime all but one child of a mesh are idle, of powers of two none is."""
    asked: list[bool] = []

    def exact_for(problem: MappingProblem) -> tuple[LayerCost, int]:
        asked.append(True)
        return found(problem, USUAL, "exact"), 0

    square = Layer("square", "gemm", k=256, c=256, p=256, input_size=(256, 1))
    for layer, plain in ((CASES[0], 0), (square, 1)):
        problem = MappingProblem.of_layer(layer, preset("tpu_v3"))
        asked.clear()
        best = best_imperfect(problem, partial(exact_for, problem), auto_mapping(), USUAL, 1)
        assert len(asked) == plain
        exact = objective(problem, found(problem, USUAL, "exact"))
        assert objective(problem, best.cost) <= exact
        assert best.cost.gap_percent >= 0


def test_what_is_proven_with_exact_factors_and_cannot_be_beaten_stays_as_it_is() -> None:
    chip, equal = preset("tpu_v3"), 0
    for layer in network("resnet18").layers:
        if layer.uses_macs:
            problem = MappingProblem.of_layer(layer, chip)
            exact, cost = (found(problem, USUAL, factors) for factors in ("exact", "imperfect"))
            equal += exact.mapping == cost.mapping
            if exact.mapping == cost.mapping:
                assert exact.energy_pj.tolist() == cost.energy_pj.tolist()
            else:
                assert objective(problem, cost) < objective(problem, exact)
    assert equal >= 12


def test_the_same_seed_gives_the_same_mapping() -> None:
    problem = MappingProblem.of_layer(CASES[4], preset("eyeriss"))
    one, two = (found(problem, USUAL) for _ in range(2))
    assert one.mapping == two.mapping
    assert one.gap_percent == two.gap_percent


def test_any_search_gets_factors_of_any_size() -> None:
    problem = MappingProblem.of_layer(CASES[4], preset("eyeriss"))
    costs = [Mapper(LocalMapping(), 2000, 1, f)(problem) for f in ("exact", "imperfect")]
    exact, cost = (objective(problem, c) for c in costs if isinstance(c, LayerCost))
    assert cost < exact


def test_constraints_hold_for_factors_of_any_size() -> None:
    """A level of PEs that holds weights still, as the columns of a systolic array do."""
    problem = MappingProblem.of_layer(CASES[4], preset("eyeriss"))
    ruled = replace(problem, constraints=MappingConstraints(both_axes=False))
    cost = found(ruled, USUAL)
    assert cost.mapping is not None
    for level in cost.mapping.levels:
        both = zip(level.spatial_x, level.spatial_y, strict=True)
        assert all(x == 1 or y == 1 for x, y in both)


def test_a_tile_of_29_keys_on_16_columns_takes_two_steps() -> None:
    chip = preset("tpu_v3")
    layer = Layer("keys", "gemm", k=29, c=1, p=1, input_size=(1, 1))
    problem = MappingProblem.of_layer(layer, chip)
    loops = np.ones((len(chip.levels), 4, 8), np.int64)
    loops[:, 3] = np.arange(8)
    keep = problem.setup.allowed.copy()
    wide = problem.setup._replace(
        fanout=np.full_like(problem.setup.fanout, 16),
        bandwidth=np.full_like(problem.setup.bandwidth, np.inf),
    )
    loops[1, 1, 2], loops[-1, 0, 2] = 16, 2
    cost = imperfect_cost(wide, loops, keep)
    assert cost.chip_cycles == 2 * np.ceil(wide.busy)
    # all 29 results are written, and no more
    assert cost.totals[-1, 2, 2] == 29
