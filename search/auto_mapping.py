"""The mapping search that chooses: a proof where the budget buys one, else another search too."""

from dataclasses import dataclass, replace
from math import exp, inf, log
from typing import Any, ClassVar, Final

from ..evaluators.problem import MappingProblem
from .exact_mapping import ExactMapping, ExactState
from .protocols import MappedLayer, MappingSearch

#: one of so many evaluations goes to the other search, if the rest proves nothing
OTHERS: Final = 4


@dataclass(frozen=True)
class AutoState:
    """What a budget has brought: the states of both searches, and what was spent in all."""

    evaluations: int
    exact: ExactState
    other: Any


class AutoMapping:
    """The exact search, and if it proves nothing with most of the budget, another with the rest.

    The two do not know of each other, so that a larger budget, which gives more to both, never
    finds worse. What the other finds is compared with the bound that the exact search left.

    Args:
        other: what the rest of the budget goes to.
    """

    name: ClassVar[str] = "auto"

    def __init__(self, other: MappingSearch[Any]) -> None:
        self._exact = ExactMapping()
        self._other = other

    def start(self, problem: MappingProblem, seed: int) -> AutoState:
        """Return the state before anything was evaluated."""
        return AutoState(0, self._exact.start(problem, seed), self._other.start(problem, seed))

    def advance(self, problem: MappingProblem, state: AutoState, budget: int) -> AutoState:
        """Let the searches have ``budget`` more evaluations."""
        before, total = state.evaluations, state.evaluations + budget
        more = total // OTHERS - before // OTHERS
        exact = self._exact.advance(problem, state.exact, budget - more)
        if exact.proven:
            # as if it had been proven at once
            return AutoState(total, exact, self._other.start(problem, exact.seed))
        return AutoState(total, exact, self._other.advance(problem, state.other, more))

    def best(self, problem: MappingProblem, state: AutoState) -> MappedLayer:
        """Return the better mapping of both searches; infeasible if there is none."""
        spent = state.evaluations
        found = replace(self._exact.best(problem, state.exact), evaluations=spent)
        if found.mapping is None or state.exact.proven or spent < OTHERS:
            return found
        other = self._other.best(problem, state.other)
        ahead = _ln_objective(problem, found) - _ln_objective(problem, other)
        if ahead <= 0:
            return found
        gap = state.exact.proof.gap_percent
        if gap < inf:
            gap = max(0.0, 100.0 * (exp(log(1 + gap / 100) - ahead) - 1.0))
        return replace(other, evaluations=spent, gap_percent=gap)


def _ln_objective(problem: MappingProblem, found: MappedLayer) -> float:
    setup, cycles = problem.setup, found.latency_cycles
    energy = found.energy_pj + setup.leakage_pj * cycles
    pairs = zip(setup.weights.tolist(), (energy, cycles), strict=True)
    return sum(float(weight) * log(value) for weight, value in pairs if weight)
