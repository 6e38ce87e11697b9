"""The genetic fusion search and the one that fuses nothing."""

import pytest

from archloom.search.fusion.casco.genetic import GeneticPlanner
from archloom.search.fusion.one_shot import LayerByLayer
from archloom.search.fusion.partition import singletons
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.fusion.protocol import FusionSearch, FusionState
from archloom.space.fusion.plan import FusionGroup, FusionPlan, layer_by_layer
from archloom.space.networks.registry import network

from ....cases.small_designs import casco_edge, chain, cheap_evaluator, graph, valid_partitions
from ....contracts.fusion_search import Counting, FusionSearchContract, evaluator


class TestGeneticFusion(FusionSearchContract):
    def make(self, price: MemoizedPlanEvaluator) -> FusionSearch:
        return GeneticPlanner(price)


class TestSmallPopulation(FusionSearchContract):
    def make(self, price: MemoizedPlanEvaluator) -> FusionSearch:
        return GeneticPlanner(price, population=2)


class TestLayerByLayer(FusionSearchContract):
    def make(self, price: MemoizedPlanEvaluator) -> FusionSearch:
        return LayerByLayer(price)


SMALL = {
    "chain": chain(9),
    "residual": network("tiny_cnn"),
    "diamond": graph([(-1,), (0,), (0,), (1, 2), (3,), (3, 4), (5,)], size=16),
    "two heads": graph([(-1,), (0,), (1,), (0,), (3,), (-1, 4)], size=16),
}


@pytest.mark.parametrize("name", SMALL)
def test_it_finds_the_best_of_all_partitions(name: str) -> None:
    net = SMALL[name]
    price = cheap_evaluator(net, casco_edge(32, pe_x=4, pe_y=4))
    plans = valid_partitions(net)
    best = min(price(p)[1] for p in plans)
    # fusion has something to gain here, else any search would do
    assert best < price(singletons(net))[1] - 0.01
    found = []
    for seed in range(10):
        search = GeneticPlanner(price)
        found.append(search.advance(search.start(seed), 48).history[-1])
    assert min(found) >= best
    assert sum(f == best for f in found) >= 8


def test_another_seed_is_another_search() -> None:
    price = evaluator("tiny_mobile")
    searches = [GeneticPlanner(price).start(seed) for seed in (1, 2)]
    asked = []
    for start in searches:
        count = Counting(price)
        GeneticPlanner(count).advance(start, 20)
        asked.append(count.asked)
    assert asked[0] != asked[1]


def test_the_population_holds_the_best_distinct_plans() -> None:
    price = evaluator("tiny_mobile")
    search = GeneticPlanner(price, population=6)
    state = search.start(0)
    for _ in range(20):
        before, state = state, search.advance(state, 4)
        assert len(state.population) <= 6
        assert len({p for p, _ in state.population}) == len(state.population)
        assert all(price(p) == (p, cost) for p, cost in state.population)
        costs = [sorted(cost for _, cost in s.population) for s in (before, state)]
        assert all(new <= old for old, new in zip(costs[0], costs[1], strict=False))
    assert min(cost for _, cost in state.population) == state.history[-1]


def test_layer_by_layer_has_nothing_to_spend_on() -> None:
    net, price = network("tiny_cnn"), Counting(evaluator("tiny_cnn"))
    search = LayerByLayer(price)
    once = search.advance(search.start(3), 50)
    assert once.best == layer_by_layer(net)
    assert once.evaluations == 1
    assert search.advance(once, 50) is once
    assert price.asked == [layer_by_layer(net)]


def test_a_state_does_not_share_lists_with_its_dictionary() -> None:
    best = FusionPlan((FusionGroup((0, 1), (4, 4)), FusionGroup((2,))))
    state = FusionState(1, ((((0, 1), (2,)), -3.5),), best, (-3.0, -3.5), -4.0)
    data = state.to_dict()
    data["population"][0][0][0].append(9)
    data["history"].append(0.0)
    assert FusionState.from_dict(state.to_dict()) == state
