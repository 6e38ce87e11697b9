"""What proofs of layers say of a plan: a bound that no choice of mappings goes below."""

from dataclasses import replace
from math import inf, prod

import numpy as np
import pytest

from archloom.evaluators.bounds.gaps import MappingGaps, least_edp, mapping_gaps
from archloom.evaluators.fusion.plan import NetworkCost
from archloom.evaluators.loopnest.layer_cost import LayerCost
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.mapping.exact.search import ExactMapping
from archloom.search.mapping.mapper import Mapper
from archloom.search.mapping.random_sampling import RandomMapping
from archloom.space.fusion.plan import layer_by_layer

from ...cases.mapped_plans import EDGE, PLANS, THREE, Draws
from ...cases.small_designs import chain


def exact(problem: MappingProblem) -> LayerCost:
    cost = Mapper(ExactMapping(), 10**7, 1)(problem)
    assert isinstance(cost, LayerCost)
    assert cost.gap_percent == 0
    return cost


def priced(name: str, mapper: object) -> NetworkCost:
    net, hardware, plan = PLANS[name]
    cost = MemoizedPlanEvaluator(net, hardware, mapper).plan(plan)  # type: ignore[arg-type]
    assert isinstance(cost, NetworkCost)
    return cost


def edp(cost: NetworkCost) -> float:
    return cost.energy_pj * cost.latency_cycles


@pytest.mark.parametrize("name", PLANS)
def test_no_choice_of_mappings_goes_below_the_least(name: str) -> None:
    best = priced(name, exact)
    least = least_edp(best)
    rng = np.random.default_rng(5)
    others = [edp(priced(name, Draws(rng))) for _ in range(40)]
    assert 0 < least <= min(edp(best), *others) * (1 + 1e-9)
    assert mapping_gaps(best).plan_percent == pytest.approx(100 * (edp(best) / least - 1))


def test_the_least_of_one_layer_is_its_best_mapping() -> None:
    net = chain(1)
    cost = MemoizedPlanEvaluator(net, EDGE, exact).plan(layer_by_layer(net))
    assert isinstance(cost, NetworkCost)
    assert least_edp(cost) == pytest.approx(edp(cost), rel=1e-9)
    assert mapping_gaps(cost) == MappingGaps(1, 1, 0, 0.0, pytest.approx(0.0, abs=1e-6))


def test_a_gap_lowers_the_least_as_much_as_it_allows() -> None:
    """Of three layers like one, a gap of 100% on all of them halves the least EDP."""
    net = chain(1)

    def loose(problem: MappingProblem) -> LayerCost:
        return replace(exact(problem), gap_percent=100.0)

    cost = MemoizedPlanEvaluator(net, EDGE, loose).plan(layer_by_layer(net))
    assert isinstance(cost, NetworkCost)
    assert least_edp(cost) == pytest.approx(edp(cost) / 2, rel=1e-9)
    assert mapping_gaps(cost).worst_percent == 100.0
    assert mapping_gaps(cost).proven == 0


def test_what_is_not_known_counts_for_nothing_and_is_counted() -> None:
    drawn = Draws(np.random.default_rng(2))

    def pointwise_only(problem: MappingProblem) -> LayerCost:
        return exact(problem) if problem.bounds[-1] == 1 else drawn(problem)

    gaps = mapping_gaps(priced("layer by layer", pointwise_only))
    assert (gaps.mappings, gaps.proven, gaps.unknown, gaps.worst_percent) == (3, 2, 1, 0.0)
    assert gaps.plan_percent > 0
    nothing = mapping_gaps(priced("layer by layer", Mapper(RandomMapping(), 9, 1)))
    assert (nothing.proven, nothing.unknown) == (0, 3)
    assert nothing.plan_percent == inf


def test_tiles_count_once_each_and_weigh_as_often_as_they_run() -> None:
    cost = priced("fused", exact)
    tiles = [s.evaluations for g in cost.groups for s in g.layers]
    assert mapping_gaps(cost).mappings == sum(map(len, tiles)) > 3
    # bands of three rows out of eight: two whole ones, and one of two rows
    assert {tuple(times for times, _ in t) for t in tiles} != {(1,)}
    macs = sum(prod(layer.bounds) for layer in THREE.layers)
    assert sum(n * c.operations for t in tiles for n, c in t) >= macs
