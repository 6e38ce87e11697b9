"""What every mapping search promises; a test class inherits this and says how to make one."""

from abc import ABC, abstractmethod
from dataclasses import fields, is_dataclass
from math import inf, log, prod
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from archloom.evaluators.loopnest.layer_cost import mapped_cost
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.protocol import MappedLayer, MappingSearch
from archloom.space.design_space.presets import preset
from archloom.space.workload.layer import Layer

from ..cases.small_designs import casco_edge, conv, resnet_conv, three_levels, two_levels
from ..oracles.mapping_rules import mapping_violations

DEPTHWISE = Layer(
    "dw", "conv", g=16, p=7, q=7, r=3, s=3, stride=(2, 2), padding=(1, 1), input_size=(14, 14)
)


def _tile(resident: bool, free_words: int | None) -> MappingProblem:
    """Return a tile of a fused group: its maps, perhaps its weights, live in the buffer."""
    staged = (resident, True, True)
    bounds = (1, 1, 8, 8, 4, 14, 3, 3)
    window = ((1, 1), (1, 1), (0, 0), (6, 16))
    return MappingProblem(bounds, *window, casco_edge(), staged, free_words)


PROBLEMS = {
    "two levels": MappingProblem.of_layer(conv(), two_levels()),
    "private and optional": MappingProblem.of_layer(conv(), three_levels(optional=True)),
    "resnet on eyeriss": MappingProblem.of_layer(resnet_conv(), preset("eyeriss")),
    "depthwise": MappingProblem.of_layer(DEPTHWISE, casco_edge()),
    "one multiplication": MappingProblem.of_layer(conv(size=1, channels=1, kernel=1), two_levels()),
    "streamed weights": _tile(resident=False, free_words=64),
    "resident weights": _tile(resident=True, free_words=None),
}


def same(one: Any, other: Any) -> bool:
    """Whether two states agree in every bit, and so do the states in them."""
    if not is_dataclass(one):
        return np.array_equal(one, other)
    return type(one) is type(other) and all(
        same(getattr(one, f.name), getattr(other, f.name)) for f in fields(one)
    )


def objective(problem: MappingProblem, found: MappedLayer) -> float:
    """Ln EDP of what was found."""
    energy = found.energy_pj + problem.setup.leakage_pj * found.latency_cycles
    return log(energy) + log(found.latency_cycles)


#: what the fixture of a contract sets up is the same for every example
FIXTURES = (HealthCheck.function_scoped_fixture, HealthCheck.differing_executors)


@pytest.mark.parametrize("name", PROBLEMS)
class MappingSearchContract(ABC):
    """Inherit, implement :meth:`make`, and the tests run."""

    @abstractmethod
    def make(self) -> MappingSearch[Any]:
        """Return the search under test."""

    def after(self, problem: MappingProblem, *budgets: int, seed: int = 3) -> Any:
        search = self.make()
        state = search.start(problem, seed)
        for budget in budgets:
            state = search.advance(problem, state, budget)
        return state

    @pytest.mark.parametrize(("a", "b"), [(0, 7), (1, 1), (137, 400), (500, 500), (499, 777)])
    def test_a_then_b_is_a_plus_b(self, name: str, a: int, b: int) -> None:
        problem = PROBLEMS[name]
        assert same(self.after(problem, a, b), self.after(problem, a + b))

    @given(cuts=st.lists(st.integers(0, 300), min_size=1, max_size=5))
    @settings(max_examples=8, deadline=None, derandomize=True, suppress_health_check=FIXTURES)
    def test_cuts_change_nothing(self, name: str, cuts: list[int]) -> None:
        problem = PROBLEMS[name]
        assert same(self.after(problem, *cuts), self.after(problem, sum(cuts)))

    def test_a_state_is_never_changed(self, name: str) -> None:
        problem, search = PROBLEMS[name], self.make()
        start = search.start(problem, 1)
        middle = search.advance(problem, start, 300)
        search.advance(problem, middle, 900)
        search.best(problem, middle)
        assert same(start, search.start(problem, 1))
        assert same(middle, search.advance(problem, start, 300))

    def test_the_seed_alone_decides(self, name: str) -> None:
        problem = PROBLEMS[name]
        assert same(self.after(problem, 200, seed=8), self.after(problem, 200, seed=8))
        assert not same(self.after(problem, 200, seed=8), self.after(problem, 200, seed=9))

    @pytest.mark.parametrize("seed", [0, -1, 2**63 - 1, 2**70])
    def test_any_integer_is_a_seed(self, name: str, seed: int) -> None:
        problem = PROBLEMS[name]
        assert self.make().best(problem, self.after(problem, 20, seed=seed)).mapping is not None

    def test_the_best_is_valid_and_costs_what_it_says(self, name: str) -> None:
        problem, search = PROBLEMS[name], self.make()
        for budget in (1, 30, 600):
            found = search.best(problem, self.after(problem, budget))
            assert found.infeasible is None
            assert found.mapping is not None
            assert found.mapping.factors == problem.bounds
            layer = Layer("any", "conv", **_loops(problem))
            assert mapping_violations(found.mapping, layer, problem.hardware) == []
            cost = mapped_cost(problem, found.mapping)
            assert found.latency_cycles == cost.latency_cycles
            # the report rounds every entry to 2**-8 pJ
            assert found.energy_pj == pytest.approx(cost.dynamic_pj, abs=0.1, rel=1e-9)
            assert cost.operations == prod(problem.bounds)

    def test_the_best_never_worsens(self, name: str) -> None:
        problem, search = PROBLEMS[name], self.make()
        state = self.after(problem, 1)
        before = objective(problem, search.best(problem, state))
        for _ in range(12):
            state = search.advance(problem, state, 90)
            now = objective(problem, search.best(problem, state))
            assert now <= before
            before = now

    def test_what_is_left_of_a_budget_was_not_needed(self, name: str) -> None:
        problem, search = PROBLEMS[name], self.make()
        found = search.best_below(problem, 20_000, 1, inf)
        assert 0 <= found.unspent < 20_000
        assert found.settled or not found.unspent
        enough = 20_000 - found.unspent
        # all mappings that a search lists at once are bounded, so it needs one more than it spends
        assert search.best_below(problem, enough + 1, 1, inf).mapping == found.mapping
        state = search.advance(problem, search.start(problem, 1), 20_000)
        best = search.best(problem, state)
        assert 0 <= best.unspent < 20_000
        assert best.gap_percent == 0 or not best.unspent

    def test_what_is_found_below_limits_is_below_them(self, name: str) -> None:
        problem, search = PROBLEMS[name], self.make()
        first = search.best(problem, search.advance(problem, search.start(problem, 1), 500))
        score, cycles = objective(problem, first), first.latency_cycles
        assert search.best_below(problem, 500, 1, score - 100).mapping is None
        assert search.best_below(problem, 500, 1, score + 1, cycles / 1e6).mapping is None
        found = search.best_below(problem, 500, 1, score + 1e-6, cycles).mapping
        if found is not None:
            cost = mapped_cost(problem, found)
            energy = cost.dynamic_pj + problem.setup.leakage_pj * cost.latency_cycles
            # energies of reports are rounded to multiples of 2 ** -8 pJ
            assert log(energy) + log(cost.latency_cycles) <= score + 1e-3
            assert cost.latency_cycles <= cycles

    def test_evaluations_are_what_was_spent(self, name: str) -> None:
        problem, search = PROBLEMS[name], self.make()
        state = self.after(problem, 40, 2)
        assert search.best(problem, state).evaluations == 42

    def test_before_the_first_evaluation_there_is_no_best(self, name: str) -> None:
        problem, search = PROBLEMS[name], self.make()
        with pytest.raises(ValueError, match="at least one evaluation"):
            search.best(problem, search.start(problem, 0))

    def test_where_nothing_fits_the_reason_has_a_name(self, name: str) -> None:
        problem, search = PROBLEMS[name], self.make()
        hardware = three_levels(spad_bytes=(4, 1, 4), word_bits=16)
        window = (problem.stride, problem.dilation, problem.padding, problem.input_size)
        hopeless = MappingProblem(problem.bounds, *window, hardware)
        state = search.advance(hopeless, search.start(hopeless, 0), 50)
        found = search.best(hopeless, state)
        assert found.mapping is None
        assert found.infeasible is not None
        assert (found.infeasible.reason, found.infeasible.where) == ("no_mapping", "spad (inputs)")
        assert (found.infeasible.needed, found.infeasible.available) == (2, 1)


def _loops(problem: MappingProblem) -> dict[str, Any]:
    """Return the loop bounds and window of a problem as a layer has them."""
    bounds = dict(zip("ngkcpqrs", problem.bounds, strict=True))
    return bounds | {
        "stride": problem.stride,
        "dilation": problem.dilation,
        "padding": problem.padding,
        "input_size": problem.input_size,
    }
