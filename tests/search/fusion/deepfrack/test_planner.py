"""DeepFrack's planner against the enumeration of its own space and cost."""

from functools import cache

import pytest

from archloom.evaluators.fusion import GroupCost
from archloom.evaluators.fusion.plan import NetworkCost
from archloom.search.fusion.deepfrack.planner import DeepFrackPlanner, DeepFrackSearch
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.mapping.mapper import Mapper
from archloom.search.mapping.simd.searches import LocalMapping
from archloom.search.software.planners import fusion_search
from archloom.space.fusion.plan import plan_violations
from archloom.space.networks.registry import network as catalogue

from ....cases.small_designs import casco_edge, cheap_evaluator, three_levels
from ....cases.sweeps import sweep
from ....contracts.fusion_search import FusionSearchContract
from ....oracles.enumerated_deepfrack import Enumeration, small_network

#: words that hold hardly anything, some weights, and whole maps
BUFFERS = (40, 90, 200, 600)


@cache
def tools(buffer, optional):
    """Hardware and mapper, with one memo for all networks."""
    hardware = three_levels(buffer, (8, 8, 4), optional)
    return hardware, Mapper(LocalMapping(), 60, seed=5)


def case(seed):
    hardware, mapper = tools(BUFFERS[seed % 4], seed % 3 == 0)
    return small_network(seed), hardware, mapper


def totals(steps):
    return sum(s.energy_pj for s in steps), sum(s.cycles for s in steps)


@pytest.mark.parametrize("block", sweep(range(60), 1))
def test_plans_are_the_best_of_all_that_there_are(block):
    for seed in range(block * 5, block * 5 + 5):
        network, hardware, mapper = case(seed)
        plans = Enumeration(network, hardware, mapper).plans()
        planner = DeepFrackSearch(MemoizedPlanEvaluator(network, hardware, mapper))
        energy, _ = totals(planner.planned_ranges("energy"))
        _, cycles = totals(planner.planned_ranges("latency"))
        both = totals(planner.planned_ranges("edp"))
        assert energy == pytest.approx(min(e for e, _ in plans), rel=1e-9), seed
        assert cycles == pytest.approx(min(c for _, c in plans), rel=1e-9), seed
        assert both[0] * both[1] == pytest.approx(min(e * c for e, c in plans), rel=1e-8), seed


def test_those_plans_use_all_that_the_planner_has():
    """Squares of different sizes, cached weights, several layers and layers alone."""
    groups = []
    for seed in range(30):
        network, hardware, mapper = case(seed)
        planner = DeepFrackSearch(MemoizedPlanEvaluator(network, hardware, mapper))
        groups += [s.group for o in ("energy", "latency", "edp") for s in planner.planned_ranges(o)]
    assert sum(len({f.rows for f in g.faces}) > 1 for g in groups) > 0
    assert sum(bool(g.resident) for g in groups) >= 10
    assert sum(len(g.layers) > 2 for g in groups) >= 10
    assert sum(g.tile is None and not g.faces for g in groups) >= 10


@pytest.mark.parametrize("seed", sweep(range(40), 8))
def test_plans_that_are_handed_over_are_valid_and_have_a_price(seed):
    network, hardware, mapper = case(seed)
    evaluator = MemoizedPlanEvaluator(network, hardware, mapper)
    plan = DeepFrackSearch(evaluator).plan()
    assert plan is not None
    assert plan_violations(network, plan) == []
    assert isinstance(evaluator.plan(plan), NetworkCost)


def test_a_range_that_the_common_price_refuses_gets_less_of_the_buffer():
    """A tile may own more of a map that leaves the group than its readers need."""
    network, hardware, mapper = case(197)
    evaluator = MemoizedPlanEvaluator(network, hardware, mapper)
    planner = DeepFrackSearch(evaluator)
    first = [s.group for s in planner.planned_ranges("energy")]
    (refused,) = [g for g in first if not isinstance(evaluator.group(g), GroupCost)]
    plan = planner.plan("energy")
    assert refused not in plan.groups
    assert isinstance(evaluator.plan(plan), NetworkCost)


class TestTiledContract(FusionSearchContract):
    def make(self, price):
        return DeepFrackPlanner(price)


def test_it_is_known_by_name():
    network = catalogue("tiny_cnn")
    evaluator = cheap_evaluator(network, casco_edge(32, pe_x=4, pe_y=4))
    state = fusion_search("deepfrack", evaluator)
    assert state.advance(state.start(0), 5).evaluations == 2
