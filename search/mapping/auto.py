"""The mapping search that chooses: a proof where the budget buys one, else another search too."""

from dataclasses import dataclass, replace
from math import exp, inf, log
from typing import Any, ClassVar, Final

from archloom.evaluators import Flags
from archloom.evaluators.loopnest import MappingProblem

from .exact import ExactMapping, ExactState, joined
from .objectives import ln_scores
from .protocol import AnyMappingSearch, BelowLimit, MappedLayer, MappingSearch, Progress, Watch
from .simd import LocalMapping

#: one of so many evaluations goes to the other search, if the rest proves nothing
OTHERS: Final = 4

#: evaluations of the first round of a search that is stopped from outside: less than a second
FIRST_ROUND: Final = 2**20

#: how much larger each round is than the last
GROWTH: Final = 8

#: evaluations of the other search between two looks at whether to stop
SLICE: Final = 20_000


@dataclass(frozen=True)
class AutoState:
    """What a budget has brought: the states of both searches, and what was spent in all.

    ``other`` is None until the other search has evaluated anything, and once there is a proof:
    most problems are proven at once, and arrays for its lanes take as long to set up as an easy
    proof.
    """

    evaluations: int
    exact: ExactState
    other: Any


class AutoMapping(MappingSearch[AutoState]):
    """The exact search, and if it proves nothing with most of the budget, another with the rest.

    The two do not know of each other, so that a larger budget, which gives more to both, never
    finds worse. What the other finds is compared with the bound that the exact search left.

    Args:
        other: what the rest of the budget goes to.
    """

    name: ClassVar[str] = "auto"

    def __init__(self, other: AnyMappingSearch) -> None:
        self._exact = ExactMapping()
        self._other = other

    def start(self, problem: MappingProblem, seed: int) -> AutoState:
        """Return the state before anything was evaluated."""
        return AutoState(0, self._exact.start(problem, seed), None)

    def advance(self, problem: MappingProblem, state: AutoState, budget: int) -> AutoState:
        """Let the searches have ``budget`` more evaluations."""
        before, total = state.evaluations, state.evaluations + budget
        more = total // OTHERS - before // OTHERS
        exact = self._exact.advance(problem, state.exact, budget - more)
        if exact.proven:
            # as if it had been proven at once
            return AutoState(total, exact, None)
        return AutoState(total, exact, self._more(problem, state, more))

    def _more(self, problem: MappingProblem, state: AutoState, evaluations: int) -> Any:
        """Return the other search's state after so many more evaluations."""
        if evaluations == 0:
            return state.other
        other = state.other
        if other is None:
            other = self._other.start(problem, state.exact.seed)
        return self._other.advance(problem, other, evaluations)

    def best_below(
        self,
        problem: MappingProblem,
        budget: int,
        seed: int,
        limit: float,
        most_cycles: float = inf,
    ) -> BelowLimit:
        """Return the best mapping that the exact search finds below limits."""
        return self._exact.best_below(problem, budget, seed, limit, most_cycles)

    def until(
        self, problem: MappingProblem, seed: int, budget: int, stop: Flags, watch: Watch
    ) -> AutoState:
        """Search until there is a proof, the budget is spent, or ``stop`` is set.

        In rounds that grow, since nobody knows when it will be stopped: each is the exact search
        from its beginning, as it remembers nothing, and then more of the other one. The state
        counts what was spent.
        """
        # something of both, so that there is a best one whenever it is stopped
        state = self.advance(problem, self.start(problem, seed), min(budget, OTHERS))
        granted, size = state.evaluations, FIRST_ROUND
        while not state.exact.proven and granted < budget and not stop[0]:
            size = min(size, budget - granted)
            # the share of each depends on the budget alone: more of it is never worse
            share = size // OTHERS
            told = _further(self._stand(problem, state), watch)
            exact = self._exact.until(problem, seed, size - share, stop, told)
            spent = state.evaluations + exact.evaluations
            state = replace(state, evaluations=spent, exact=joined(state.exact, exact))
            while share > 0 and not state.exact.proven and not stop[0]:
                some = min(share, SLICE)
                other, spent = self._more(problem, state, some), spent + some
                state, share = replace(state, other=other, evaluations=spent), share - some
                watch(self._stand(problem, state))
            granted, size = granted + size, size * GROWTH
        return state

    def _stand(self, problem: MappingProblem, state: AutoState) -> Progress:
        found = self.best(problem, state)
        if found.mapping is None:
            return Progress(state.evaluations, inf, -inf, inf, inf)
        score, bound = _ln_objective(problem, found), state.exact.numbers[3]
        energy, cycles = found.energy_pj, found.latency_cycles
        return Progress(state.evaluations, score, min(score, bound), energy, cycles)

    def best(self, problem: MappingProblem, state: AutoState) -> MappedLayer:
        """Return the better mapping of both searches; infeasible if there is none."""
        spent = state.evaluations
        found = self._exact.best(problem, state.exact)
        # what the other search had no turn for is left as well
        left = max(0, spent - state.exact.spent) if state.exact.proven else 0
        found = replace(found, evaluations=spent, unspent=left)
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


def auto_mapping() -> AutoMapping:
    """Return the exact search with annealing beside it."""
    return AutoMapping(LocalMapping())


def _ln_objective(problem: MappingProblem, found: MappedLayer) -> float:
    setup, cycles = problem.setup, found.latency_cycles
    return float(ln_scores(setup.weights, found.energy_pj + setup.leakage_pj * cycles, cycles))


def _further(before: Progress, watch: Watch) -> Watch:
    """Tell no less than what was known before."""

    def told(progress: Progress) -> None:
        best = progress if progress.score < before.score else before
        bound = min(best.score, max(progress.bound, before.bound))
        spent = before.evaluations + progress.evaluations
        watch(replace(best, evaluations=spent, bound=bound))

    return told
