"""The genetic search with tilings in its genome."""

import pytest

from archloom.search.fusion.casco.genetic import GeneticPlanner
from archloom.search.fusion.casco.genetic_tilings import GeneticTilingPlanner
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.fusion.protocol import FusionSearch
from archloom.search.fusion.tiling.candidates import tilings
from archloom.space.design_space.presets import preset
from archloom.space.errors import Infeasible
from archloom.space.fusion.plan import FusionGroup
from archloom.space.networks.registry import network

from ....cases.small_designs import casco_edge, cheap_evaluator, two_levels
from ....contracts.fusion_search import FusionSearchContract, evaluator
from ....oracles.enumerated_plans import (
    chosen_tiling,
    drawn_pricer,
    every_tiling,
    finds,
    least_ln_edp,
)


class TestGeneticFull(FusionSearchContract):
    def make(self, price: MemoizedPlanEvaluator) -> FusionSearch:
        return GeneticTilingPlanner(price)


class TestSmallPopulation(FusionSearchContract):
    def make(self, price: MemoizedPlanEvaluator) -> FusionSearch:
        return GeneticTilingPlanner(price, population=2)


def test_the_best_of_all_partitions_and_of_all_tilings_is_found() -> None:
    """Nine times in ten, within 2,000 plans; tests/oracles/enumerated_plans.py tries more."""
    found, cases, gained = [0, 0], 0, 0
    for seed in range(8):
        price = drawn_pricer(seed, most=7)
        if price is None:
            continue
        cases += 1
        chosen, every = least_ln_edp(price, chosen_tiling), least_ln_edp(price, every_tiling)
        assert every <= chosen + 1e-9
        gained += every < chosen - 1e-6
        found[0] += finds(GeneticPlanner(price), seed, chosen)
        found[1] += finds(GeneticTilingPlanner(price), seed, every)
    assert min(found) >= 0.9 * cases
    # the spaces differ, else one search would do
    assert gained > 1


def test_the_population_holds_the_best_tiling_of_distinct_partitions() -> None:
    price = evaluator("tiny_mobile")
    search = GeneticTilingPlanner(price, population=6)
    state = search.start(0)
    for _ in range(10):
        before, state = state, search.advance(state, 10)
        groups = [sorted(g.layers for g in plan.groups) for plan, _ in state.plans]
        assert all(g != h for i, g in enumerate(groups) for h in groups[:i])
        assert len(groups) <= 6
        was = {str(sorted(g.layers for g in p.groups)): cost for p, cost in before.plans}
        for (_, cost), partition in zip(state.plans, groups, strict=True):
            assert cost <= was.get(str(partition), cost)
    assert min(cost for _, cost in state.plans) == state.history[-1]


def test_tilings_of_a_group_fit_and_differ() -> None:
    price = cheap_evaluator(network("tiny_cnn"), casco_edge(32))
    found = tilings(price.network, (0, 1, 2), price.hardware)
    assert len(set(found)) == len(found) > 10
    assert {group.halo for group in found} == {"keep_all", "keep_inner", "recompute"}
    assert {bool(group.resident) for group in found} == {True, False}
    assert price.tiling((0, 1, 2)) in found
    assert not any(isinstance(price.group(group), Infeasible) for group in found)


def test_there_are_no_tilings_without_a_buffer_for_maps() -> None:
    net, hardware = network("tiny_cnn"), two_levels()
    assert tilings(net, (0, 1), hardware) == ()
    assert tilings(net, (1,), hardware) == (FusionGroup((1,)),)


@pytest.mark.parametrize("images", [1, 16])
def test_tilings_on_several_cores_fit_and_have_the_chosen_one(images: int) -> None:
    price = cheap_evaluator(network("tiny_cnn").with_batch(images), preset("edgetpu"))
    found = tilings(price.network, (0, 1), price.hardware)
    assert len(set(found)) == len(found) > 5
    assert price.tiling((0, 1)) in found
    assert not any(isinstance(price.group(group), Infeasible) for group in found)
    search = GeneticTilingPlanner(price)
    best = search.advance(search.start(1), 60)
    assert best.history[-1] < best.history[0]
    assert any(len(group.layers) > 1 for group in best.best.groups)
