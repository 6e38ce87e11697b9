"""One budget for plans and mappings: cut anywhere, never worse, spent where it promises most."""

from dataclasses import replace
from math import inf, log

import pytest

from archloom.evaluators.fusion.plan import NetworkCost
from archloom.search.fusion.casco.genetic import GeneticPlanner
from archloom.search.fusion.one_shot import LayerByLayer
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.mapping.improved_mapper import Effort, ImprovedMapper
from archloom.search.mapping.mapper import Mapper
from archloom.search.registry import MAPPING_SEARCHES
from archloom.search.software.search import SoftwareSettings, recorded_evaluator
from archloom.search.software.shared_budget import (
    FIRST_PLANS,
    SharedSearch,
    SharedState,
    expected_gain,
    plan_rate,
)
from archloom.space.fusion.plan import FusionPlan, layer_by_layer
from archloom.space.networks.registry import network

from ...cases.small_designs import chain
from .test_search import CNN, MOBILE, SMALL, after, task

#: mappings of 40 evaluations are far from the best ones
SHARED = SoftwareSettings("casco", 4, "auto", 40, budget="shared")


def layer_by_layer_with(evaluations: int, mapping: str = "auto") -> SharedSearch:
    def mapper(more: int) -> Mapper:
        return Mapper(MAPPING_SEARCHES[mapping](), more, 3)

    return SharedSearch(CNN, SMALL, LayerByLayer, mapper, evaluations, "exact")


@pytest.mark.parametrize(
    ("fusion", "mapping", "factors"),
    [
        ("casco", "auto", "exact"),
        ("joint", "auto", "exact"),
        ("none", "local", "imperfect"),
        ("optimus", "exact", "padded"),
    ],
)
def test_a_then_b_is_a_plus_b(fusion: str, mapping: str, factors: str) -> None:
    settings = replace(SHARED, fusion=fusion, mapping=mapping, factors=factors)
    whole = after(task(settings=settings), 50)
    assert after(task(settings=settings), 7, 30, 13) == whole
    assert any(found.spent["mappings"] for found in whole.networks.values())


def test_cuts_inside_of_what_a_mapping_costs() -> None:
    """Its search is done with the last of its units, whoever pays them."""
    search, other = (layer_by_layer_with(20_000, "local") for _ in range(2))
    whole = search.advance(search.start(1), 9)
    state = other.start(1)
    paying = []
    for _ in range(9):
        state = other.advance(SharedState.from_dict(state.to_dict()), 1)
        paying.append(state.paying)
    assert state == whole
    assert any(paying)
    assert state.efforts


def test_figures_are_those_of_the_recorded_mappings() -> None:
    what = task(settings=SHARED)
    for name, found in after(what, 45).networks.items():
        evaluator = recorded_evaluator(
            what.hardware, network(name), found.mappings, gaps=found.gaps
        )
        best = evaluator.plan(FusionPlan.from_list(found.plan))
        base = evaluator.plan(layer_by_layer(evaluator.network))
        assert isinstance(best, NetworkCost)
        assert isinstance(base, NetworkCost)
        assert (found.edp_js, found.latency_cycles) == (best.edp_js, best.latency_cycles)
        assert found.baseline_edp_js == base.edp_js >= found.edp_js
        assert found.spent["units"] == 45
        assert found.spent["plans"] + found.spent["mapping_units"] == 45


def test_the_first_plans_are_those_of_plans_alone_and_mappings_then_gain() -> None:
    plans = after(task(settings=replace(SHARED, budget="plans")), 60)
    shared = after(task(settings=SHARED), 60)
    assert shared.curve.edp[:FIRST_PLANS] == plans.curve.edp[:FIRST_PLANS]
    assert list(shared.curve.edp) == sorted(shared.curve.edp, reverse=True)
    assert shared.curve.edp[-1] < 0.95 * plans.curve.edp[-1]
    assert all(not found.spent for found in plans.networks.values())


def test_what_is_proven_is_left_alone() -> None:
    """Without plans or mappings to look for nothing more is spent."""
    search = layer_by_layer_with(10_000_000)
    state = search.advance(search.start(0), 50)
    assert (len(state.history), state.efforts) == (1, {})


def test_mappings_of_a_plan_that_are_searched_to_the_end_are_those_of_a_large_budget() -> None:
    search, large = layer_by_layer_with(40), layer_by_layer_with(10_000_000)
    state = search.advance(search.start(0), 2000)
    best = large.advance(large.start(0), 1)
    assert len(state.history) < 2000
    assert state.history[-1] == pytest.approx(best.history[-1], abs=1e-3)
    assert all(effort.done or effort.evaluations > 40 for effort in state.efforts.values())


def test_a_promise_is_what_the_network_gains() -> None:
    """Of a network that is one problem, ln J may fall by ln (1 + gap)."""
    net = chain(1)
    mapper = Mapper(MAPPING_SEARCHES["auto"](), 200_000, 1)
    problems = {}
    evaluator = MemoizedPlanEvaluator(net, SMALL, ImprovedMapper(mapper, "exact", {}, problems))
    cost = evaluator.plan(layer_by_layer(net))
    assert isinstance(cost, NetworkCost)
    [(key, times, turns, tile)] = evaluator.mapped_problems(cost)
    for gap in (0.0, 0.1, 2.0):
        promised = expected_gain(cost, problems[key], times, turns, replace(tile, gap_percent=gap))
        assert promised == pytest.approx(log(1 + gap / 100), rel=0.02, abs=1e-12)
    unknown = expected_gain(cost, problems[key], times, turns, replace(tile, gap_percent=inf))
    assert 0 < unknown < 2


def test_a_pricer_with_one_other_mapping_prices_as_one_made_anew() -> None:
    few, many = (Mapper(MAPPING_SEARCHES["auto"](), n, 1) for n in (40, 100_000))
    problems = {}
    evaluator = MemoizedPlanEvaluator(MOBILE, SMALL, ImprovedMapper(few, "exact", {}, problems))
    plans = [GeneticPlanner(evaluator, 4).advance(GeneticPlanner(evaluator, 4).start(1), 20).best]
    plans.append(layer_by_layer(MOBILE))
    cost = evaluator.plan(plans[0])
    assert isinstance(cost, NetworkCost)
    for key in sorted({key for key, *_ in evaluator.mapped_problems(cost)}):
        found = many(problems[key])
        assert found.mapping is not None
        efforts = {key: Effort(100_000, found.mapping.to_text(), found.gap_percent, True)}
        again = Effort.from_list(efforts[key].to_list())
        assert again == efforts[key]
        mapper = ImprovedMapper(few, "exact", efforts, problems)
        one, other = (
            evaluator.with_mapper(mapper, key),
            MemoizedPlanEvaluator(MOBILE, SMALL, mapper),
        )
        for plan in plans:
            assert one.plan(plan).edp_js == other.plan(plan).edp_js
        assert (
            one.plan(plans[0]).edp_js != cost.edp_js or found.mapping == few(problems[key]).mapping
        )


def test_the_rate_of_plans_falls_as_they_gain_less() -> None:
    steep = tuple(-0.01 * i for i in range(64))
    assert plan_rate(steep[: FIRST_PLANS - 1], ended=False) == inf
    assert plan_rate(steep, ended=False) == pytest.approx(0.01, rel=0.01)
    flat = (*steep, *(steep[-1:] * 64))
    assert 0 < plan_rate(flat, ended=False) < 1e-4
    assert plan_rate(steep, ended=True) == 0
