"""What every fusion search promises; a test class inherits this and says how to make one."""

import json
from abc import ABC, abstractmethod
from functools import cache
from math import inf

import pytest

from archloom.evaluators.fusion.plan import NetworkCost
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator, ln_edp
from archloom.search.fusion.protocol import FusionSearch, FusionState
from archloom.space.errors import Infeasible
from archloom.space.fusion.plan import FusionPlan, layer_by_layer, plan_violations
from archloom.space.networks.registry import network

from ..cases.small_designs import casco_edge, chain, cheap_evaluator


class Counting(MemoizedPlanEvaluator):
    """A real evaluator that remembers which plans it was asked for."""

    def __init__(self, real: MemoizedPlanEvaluator) -> None:
        # one memo for both
        self.__dict__.update(real.__dict__)
        self.asked: list[FusionPlan] = []

    def plan(self, plan: FusionPlan) -> NetworkCost | Infeasible:
        self.asked.append(plan)
        return super().plan(plan)


class Nothing(Counting):
    """Prices no plan at all."""

    def plan(self, plan: FusionPlan) -> NetworkCost | Infeasible:
        groups = len(plan.groups)
        return Infeasible("no_price", "everywhere", groups, 0, "groups", "none")


NETWORKS = {
    "tiny_cnn": network("tiny_cnn"),
    "tiny_mobile": network("tiny_mobile"),
    "one layer": chain(1),
    "two layers": chain(2),
}


@cache
def evaluator(name: str) -> MemoizedPlanEvaluator:
    """One evaluator for all tests: its memo never changes a price."""
    return cheap_evaluator(NETWORKS[name], casco_edge(32, pe_x=4, pe_y=4))


def stored(state: FusionState) -> FusionState:
    """What comes back from a file."""
    return FusionState.from_dict(json.loads(json.dumps(state.to_dict())))


@pytest.mark.parametrize("name", NETWORKS)
class FusionSearchContract(ABC):
    """Inherit, implement :meth:`make`, and the tests run."""

    @abstractmethod
    def make(self, price: MemoizedPlanEvaluator) -> FusionSearch:
        """Return the search under test."""

    def after(self, name: str, *budgets: int, seed: int = 4, store: bool = False) -> FusionState:
        search = self.make(evaluator(name))
        state = search.start(seed)
        for budget in budgets:
            state = search.advance(state, budget)
            state = stored(state) if store else state
        return state

    @pytest.mark.parametrize(("a", "b"), [(0, 5), (1, 1), (3, 40), (23, 2), (30, 30)])
    def test_a_then_b_is_a_plus_b(self, name: str, a: int, b: int) -> None:
        whole = self.after(name, a + b)
        assert self.after(name, a, b) == whole
        assert self.after(name, a, b, store=True) == whole

    def test_the_seed_alone_decides(self, name: str) -> None:
        assert self.after(name, 45, seed=1) == self.after(name, 45, seed=1)

    def test_a_stored_state_is_the_same_state(self, name: str) -> None:
        for budget in (0, 1, 40):
            state = self.after(name, budget)
            assert stored(state) == state

    def test_evaluations_are_priced_one_by_one(self, name: str) -> None:
        price = Counting(evaluator(name))
        search = self.make(price)
        state = search.start(2)
        assert state.evaluations == 0
        for budget in (1, 6, 30):
            before = len(price.asked), state.evaluations
            state = search.advance(state, budget)
            assert len(price.asked) - before[0] <= state.evaluations - before[1] <= budget

    def test_it_asks_for_valid_plans_only(self, name: str) -> None:
        price = Counting(evaluator(name))
        search = self.make(price)
        search.advance(search.start(2), 60)
        assert price.asked
        assert all(plan_violations(NETWORKS[name], plan) == [] for plan in price.asked)

    def test_layer_by_layer_comes_first_and_nothing_worse_is_best(self, name: str) -> None:
        price = evaluator(name)
        state = self.after(name, 60)
        assert state.history[0] == ln_edp(price, layer_by_layer(NETWORKS[name]))
        assert list(state.history) == sorted(state.history, reverse=True)
        assert ln_edp(price, state.best) == state.history[-1]

    def test_no_plan_is_better_than_the_bound(self, name: str) -> None:
        state = self.after(name, 60)
        if state.bound is not None:
            assert state.bound <= state.history[-1]

    def test_where_no_plan_has_a_price_the_search_still_ends(self, name: str) -> None:
        search = self.make(Nothing(evaluator(name)))
        state = search.advance(search.start(0), 60)
        assert set(state.history) == {inf}
        assert search.advance(state, 3).evaluations >= state.evaluations
