"""What every fusion search promises; a test class inherits this and says how to make one."""

import json
from abc import ABC, abstractmethod
from functools import cache
from math import inf

import pytest

from archloom.search.fusion_state import FusionState
from archloom.search.genetic import Pricer
from archloom.search.partition import Partition, repair, singletons
from archloom.search.pricing import PlanPricer
from archloom.search.protocols import FusionSearch
from archloom.space.network import Network
from archloom.space.networks import network

from ..search.small_cases import casco_edge, chain, cheap_pricer


class Counting:
    """A real pricer that counts, and remembers what it was asked."""

    def __init__(self, price: Pricer) -> None:
        self._price = price
        self.asked: list[Partition] = []

    def __call__(self, partition: Partition) -> tuple[Partition, float]:
        self.asked.append(partition)
        return self._price(partition)


NETWORKS = {
    "tiny_cnn": network("tiny_cnn"),
    "tiny_mobile": network("tiny_mobile"),
    "one layer": chain(1),
    "two layers": chain(2),
}


@cache
def pricer(name: str) -> PlanPricer:
    """One pricer for all tests: its memo never changes a price."""
    return cheap_pricer(NETWORKS[name], casco_edge(32, pe_x=4, pe_y=4))


def stored(state: FusionState) -> FusionState:
    """What comes back from a file."""
    return FusionState.from_dict(json.loads(json.dumps(state.to_dict())))


@pytest.mark.parametrize("name", NETWORKS)
class FusionSearchContract(ABC):
    """Inherit, implement :meth:`make`, and the tests run."""

    @abstractmethod
    def make(self, network: Network, price: Pricer) -> FusionSearch:
        """Return the search under test."""

    def after(self, name: str, *budgets: int, seed: int = 4, store: bool = False) -> FusionState:
        search = self.make(NETWORKS[name], pricer(name))
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
        price = Counting(pricer(name))
        search = self.make(NETWORKS[name], price)
        state = search.start(2)
        assert state.evaluations == 0
        for budget in (1, 6, 30):
            before = len(price.asked), state.evaluations
            state = search.advance(state, budget)
            assert state.evaluations - before[1] == len(price.asked) - before[0] <= budget

    def test_it_asks_for_valid_partitions_only(self, name: str) -> None:
        price = Counting(pricer(name))
        search = self.make(NETWORKS[name], price)
        search.advance(search.start(2), 60)
        assert all(repair(NETWORKS[name], p) == p for p in price.asked)

    def test_layer_by_layer_comes_first_and_nothing_worse_is_best(self, name: str) -> None:
        price = pricer(name)
        state = self.after(name, 60)
        assert state.history[0] == price(singletons(NETWORKS[name]))[1]
        assert list(state.history) == sorted(state.history, reverse=True)
        assert price(state.best) == (state.best, state.history[-1])

    def test_where_no_plan_has_a_price_the_search_still_ends(self, name: str) -> None:
        net = NETWORKS[name]
        search = self.make(net, lambda partition: (partition, inf))
        state = search.advance(search.start(0), 60)
        assert set(state.history) == {inf}
        assert search.advance(state, 3).evaluations >= state.evaluations
