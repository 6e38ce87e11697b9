"""What an optimizer was told, read against the problem once for all of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..space.hardware_space import Point
from .candidates import Candidate, DesignProblem
from .pareto import dominated_by, non_dominated
from .protocols import Observation
from .seeds import derived_seed

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Result:
    """A trial that ended with values.

    Attributes:
        candidate: its design.
        values: cost of each objective; exact where the hardware alone determines it.
        excess: ln(cost / limit) for each limit.
        evaluations: what was spent on it, at least 1.
    """

    candidate: Candidate
    values: tuple[float, ...]
    excess: tuple[float, ...]
    evaluations: int

    @property
    def violation(self) -> float:
        """Sum of what is above the limits; 0 where all are kept."""
        return sum(max(e, 0.0) for e in self.excess)


class Told:
    """Finished trials in the order in which they were told.

    Attributes:
        keys: of all designs that were told.
        results: of those that ended with values.
        failures: designs that no software could run, and the rule that they broke.

    Args:
        problem: what is searched.
    """

    def __init__(self, problem: DesignProblem) -> None:
        self._problem = problem
        self.keys: list[str] = []
        self.results: list[Result] = []
        self.failures: list[tuple[Candidate, str]] = []
        self._hopeless: set[str] = set()

    def add(self, observations: Sequence[Observation]) -> None:
        """Take in finished trials; of those that are no candidates only the key is kept.

        Raises:
            ValueError: values or excesses of another number of objectives or limits.
        """
        goals = self._problem.goals
        for seen in observations:
            key = self._problem.space.point_key(seen.point)
            self.keys.append(key)
            candidate = self._problem.assess(seen.point)
            if not isinstance(candidate, Candidate):
                continue
            if seen.values is None:
                if seen.failure is not None:
                    self.failures.append((candidate, seen.failure))
                continue
            if (len(seen.values), len(seen.excess)) != (len(goals.objectives), len(goals.limits)):
                raise ValueError(
                    f"{key} has {len(seen.values)} values and {len(seen.excess)} excesses, must "
                    f"have {len(goals.objectives)} and {len(goals.limits)}"
                )
            values = tuple(
                exact if known else value
                for known, exact, value in zip(
                    goals.known, candidate.values, seen.values, strict=True
                )
            )
            spent = max(seen.evaluations, 1)
            self.results.append(Result(candidate, values, seen.excess, spent))

    def known(self, pending: Sequence[Point]) -> set[str]:
        """Return the keys of all designs that must not be proposed again."""
        return {*self.keys, *map(self._problem.space.point_key, pending)}

    def ask_seed(self, seed: int, pending: Sequence[Point]) -> int:
        """Return the seed of the next call of ``ask``: the same whenever as much was told."""
        return derived_seed(seed, "ask", len(self.keys), len(pending))

    def logs(self) -> Array:
        """Return the natural logarithms of the results' values: [n, objectives]."""
        rows = [r.values for r in self.results]
        values = np.array(rows).reshape(len(rows), len(self._problem.goals.objectives))
        return np.asarray(np.log(values))

    def front_rows(self) -> list[int]:
        """Return the results that keep all limits and that no other such result dominates."""
        kept = [i for i, r in enumerate(self.results) if r.violation == 0]
        on_front = non_dominated([self.results[i].values for i in kept])
        return [i for i, on in zip(kept, on_front, strict=True) if on]

    def prospects(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return the designs whose lower bounds no result that keeps the limits dominates.

        The others cannot improve the front (docs/hardware_search.md), and never will: it only
        gets better.
        """
        front = [self.results[i].values for i in self.front_rows()]
        rest = [c for c in candidates if c.key not in self._hopeless]
        hopeless = dominated_by(front, [c.values for c in rest])
        self._hopeless.update(c.key for c, bad in zip(rest, hopeless, strict=True) if bad)
        return [c for c, bad in zip(rest, hopeless, strict=True) if not bad]

    def front(self) -> list[Candidate]:
        """Return the designs of :meth:`front_rows`."""
        return [self.results[i].candidate for i in self.front_rows()]
