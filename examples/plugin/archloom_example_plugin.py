"""A part of each kind for Archloom: hardware optimizer, budget allocator, fusion, mapping search.

Each is registered in pyproject.toml by the name that study files use. docs/how_to/extending.md
explains what is asked of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, log
from typing import Any, Literal

import numpy as np

from archloom.evaluators.loopnest import MappingProblem
from archloom.search import MAPPING_SEARCHES, derived_seed
from archloom.search.budget import Standing
from archloom.search.fusion import Abilities, FusionState, PlanEvaluator
from archloom.search.hardware import Candidate, DesignProblem, Observation
from archloom.search.mapping import MappedLayer, MappingSearch
from archloom.space.design_space import Point


class HillClimber:
    """Proposes neighbours of the design with the least product of all objectives so far.

    Args:
        problem: what is searched; it knows which designs are feasible before any software search.
        seed: of the study.
        initial: random designs before the climb.
    """

    def __init__(self, problem: DesignProblem, seed: int, initial: int = 4) -> None:
        if initial < 1:
            raise ValueError(f"initial is {initial}, must be at least 1")
        self._problem, self._seed, self._initial = problem, seed, initial
        self._seen: list[Observation] = []

    def tell(self, observations: Sequence[Observation]) -> None:
        """Remember what became of designs."""
        self._seen += observations

    def ask(self, n: int, pending: Sequence[Point]) -> list[Point]:
        """Return neighbours of the best design, and random designs where these do not suffice."""
        space = self._problem.space
        known = {space.point_key(p) for p in [*pending, *(o.point for o in self._seen)]}
        rng = np.random.default_rng(derived_seed(self._seed, "ask", len(known)))
        chosen: list[Candidate] = []
        kept = [o for o in self._seen if o.kept]
        if len(known) >= self._initial and kept:
            best = min(kept, key=lambda o: sum(map(log, o.values or ())))
            steps = map(self._problem.assess, space.neighbours(best.point))
            near = [c for c in steps if isinstance(c, Candidate) and c.key not in known]
            chosen = [near[i] for i in rng.permutation(len(near))[:n]]
        taken = known | {c.key for c in chosen}
        chosen += self._problem.sample(rng, n - len(chosen), taken, tries=1000)
        return [c.point for c in chosen]


@dataclass(frozen=True)
class KeepBest:
    """Two rounds: all trials get ``first_budget``, and the best ``keep`` by EDP as much again.

    Raises:
        ValueError: a number below 1.
    """

    first_budget: int = 64
    keep: int = 2

    def __post_init__(self) -> None:
        if min(self.first_budget, self.keep) < 1:
            raise ValueError("first_budget and keep must be at least 1")

    @property
    def rounds(self) -> int:
        """Rounds of a batch."""
        return 2

    def budget(self, round_index: int) -> int:
        """Plans per network that each trial of the round prices."""
        self._check(round_index)
        return self.first_budget

    def survivors(
        self,
        standings: Mapping[int, Standing],
        round_index: int,
        rivals: Sequence[tuple[float, ...]],
    ) -> list[int]:
        """Return the trials that go on."""
        del rivals
        self._check(round_index)
        if round_index == self.rounds - 1:
            return []
        ranked = sorted(standings, key=lambda trial: (standings[trial].curve.edp[-1:], trial))
        return sorted(ranked[: self.keep])

    def _check(self, round_index: int) -> None:
        if not 0 <= round_index < self.rounds:
            raise ValueError(f"round {round_index} is outside 0 to {self.rounds - 1}")


class Chains:
    """Fuses chains of layers that only pass their result on: none, then 2, 3, ... layers each.

    Args:
        evaluator: prices plans of one network on one hardware.
        longest: layers of the longest chain that is tried.
    """

    #: there are few plans, so that trials need few
    abilities = Abilities(first_budget=4)

    def __init__(self, evaluator: PlanEvaluator, longest: int = 4) -> None:
        if longest < 1:
            raise ValueError(f"longest is {longest}, must be at least 1")
        self._evaluator, self._longest = evaluator, longest

    def start(self, seed: int) -> FusionState:
        """Return the state before anything was priced."""
        return FusionState(seed)

    def advance(self, state: FusionState, budget: int) -> FusionState:
        """Price the next plans, the first of which fuses nothing."""
        first = state.evaluations + 1
        for length in range(first, min(first + budget, self._longest + 1)):
            # groups that fit no buffer come back cut
            groups, cost = self._evaluator(self._chains(length))
            least = state.history[-1] if state.history else inf
            better = cost < least or not state.history
            best = self._evaluator.plan_of(groups) if better else state.best
            state = replace(state, best=best, history=(*state.history, min(cost, least)))
        return state

    def _chains(self, length: int) -> tuple[tuple[int, ...], ...]:
        network = self._evaluator.network
        groups: list[tuple[int, ...]] = []
        for layer in range(len(network.layers)):
            last = groups[-1] if groups else ()
            if 0 < len(last) < length and tuple(network.consumers[last[-1]]) == (layer,):
                groups[-1] = (*last, layer)
            else:
                groups.append((layer,))
        return tuple(groups)


@dataclass(frozen=True)
class PortfolioState:
    """What was spent in all, and the states of both searches."""

    evaluations: int
    one: Any
    other: Any


class Portfolio(MappingSearch[PortfolioState]):
    """Two registered searches, which share the evaluations equally; the better mapping counts.

    Args:
        other: the search beside annealing.
    """

    def __init__(self, other: Literal["genetic", "random"] = "genetic") -> None:
        self._one, self._other = MAPPING_SEARCHES["local"](), MAPPING_SEARCHES[other]()

    def start(self, problem: MappingProblem, seed: int) -> PortfolioState:
        """Return the state before anything was evaluated."""
        return PortfolioState(0, self._one.start(problem, seed), self._other.start(problem, seed))

    def advance(
        self, problem: MappingProblem, state: PortfolioState, budget: int
    ) -> PortfolioState:
        """Evaluate ``budget`` more mappings, however the budget is cut into calls."""
        total = state.evaluations + budget
        more = total // 2 - state.evaluations // 2
        return PortfolioState(
            total,
            self._one.advance(problem, state.one, budget - more),
            self._other.advance(problem, state.other, more),
        )

    def best(self, problem: MappingProblem, state: PortfolioState) -> MappedLayer:
        """Return the better mapping of both."""
        found = [self._one.best(problem, state.one)]
        if state.evaluations > 1:
            found.append(self._other.best(problem, state.other))
        best = min(found, key=lambda mapped: _objective(problem, mapped))
        return replace(best, evaluations=state.evaluations)


def _objective(problem: MappingProblem, found: MappedLayer) -> float:
    """Energy, leakage included, and latency, to the powers that the problem weighs them with."""
    if found.mapping is None:
        return inf
    energy = found.energy_pj + problem.setup.leakage_pj * found.latency_cycles
    of_energy, of_latency = problem.weights
    return float(energy**of_energy * found.latency_cycles**of_latency)
