"""Observed trials, and the constrained domination order of their results.

The order is that of NSGA-II (Deb et al., "A fast and elitist multiobjective genetic algorithm",
2002): designs that break a limit come behind all that keep every limit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Final

import numpy as np

from archloom.evaluators import Floats
from archloom.space.design_space import Point

from ..pareto import dominated_by, non_dominated
from ..seeds import derived_seed
from .problem import Candidate, DesignProblem
from .protocol import Observation

#: Designs that are remembered as excluded; then all are forgotten.
_MOST_EXCLUDED: Final = 2**15

#: Designs whose digests are remembered.
_MOST_DIGESTS: Final = 2**12


@dataclass(frozen=True, slots=True)
class EvaluatedDesign:
    """A design whose trial ended with values.

    Attributes:
        candidate: the design.
        values: cost of each objective; exact where the hardware alone determines it.
        excess: ln(cost / limit) for each limit.
        evaluations: what was spent on it, at least 1.
        others: costs of other software of the design, which keeps every limit.
    """

    candidate: Candidate
    values: tuple[float, ...]
    excess: tuple[float, ...]
    evaluations: int
    others: tuple[tuple[float, ...], ...] = ()

    @property
    def violation(self) -> float:
        """Sum of what is above the limits; 0 where all are kept."""
        return sum(max(e, 0.0) for e in self.excess)


class ObservedTrials:
    """Finished trials in the order in which they were observed.

    Attributes:
        keys: of all observed designs.
        results: of those that ended with values.
        failures: designs that no software could run, and the rule that they broke.

    Args:
        problem: what is searched.
    """

    def __init__(self, problem: DesignProblem) -> None:
        self._problem = problem
        self.keys: list[str] = []
        self.results: list[EvaluatedDesign] = []
        self.failures: list[tuple[Candidate, str]] = []
        self._excluded: set[int] = set()

    def add(self, observations: Sequence[Observation]) -> None:
        """Take in finished trials; of those that are no candidates only the key is kept.

        Raises:
            ValueError: values or excesses of another number of objectives or limits.
        """
        objective_set = self._problem.objective_set
        for observation in observations:
            key = self._problem.space.point_key(observation.point)
            self.keys.append(key)
            if observation.values is None and observation.failure is None:
                continue
            candidate = self._problem.assess(observation.point)
            if not isinstance(candidate, Candidate):
                continue
            if observation.values is None:
                if observation.failure is not None:
                    self.failures.append((candidate, observation.failure))
                continue
            found = len(observation.values), len(observation.excess)
            wanted = len(objective_set.objectives), len(objective_set.limits)
            if found != wanted:
                raise ValueError(
                    f"{key} has {found[0]} values and {found[1]} excesses, must have {wanted[0]} "
                    f"and {wanted[1]}"
                )
            values = tuple(
                exact if known else value
                for known, exact, value in zip(
                    objective_set.known, candidate.values, observation.values, strict=True
                )
            )
            spent = max(observation.evaluations, 1)
            self.results.append(
                EvaluatedDesign(candidate, values, observation.excess, spent, observation.others)
            )

    def excluded_keys(self, pending: Sequence[Point]) -> set[str]:
        """Return the keys of all designs that must not be proposed again."""
        return {*self.keys, *map(self._problem.space.point_key, pending)}

    def draw_seed(self, seed: int, pending: Sequence[Point]) -> int:
        """Return the seed of the next call of ``ask``: the same after as many observations."""
        return derived_seed(seed, "ask", len(self.keys), len(pending))

    def logs(self) -> Floats:
        """Return the natural logarithms of the results' values: [n, objectives]."""
        return self._logs([r.values for r in self.results])

    def outcomes(self, most: int) -> list[Floats]:
        """Return logarithms of costs that stand for all software of the designs, [n, objectives]
        each: :meth:`logs`, or where trials found software that trades one objective against
        another, the costs of the cheapest in the first objective that software decides, and of the
        cheapest in the last one.

        Args:
            most: how many are wanted, at least one.
        """
        decided = [j for j, known in enumerate(self._problem.objective_set.known) if not known]
        if most < 2 or len(decided) < 2 or not any(r.others for r in self.results):
            return [self.logs()]
        return [
            self._logs([min((r.values, *r.others), key=itemgetter(j)) for r in self.results])
            for j in (decided[0], decided[-1])
        ]

    def _logs(self, rows: Sequence[tuple[float, ...]]) -> Floats:
        values = np.array(rows).reshape(len(rows), len(self._problem.objective_set.objectives))
        return np.asarray(np.log(values))

    def front_rows(self) -> list[int]:
        """Return the results that keep all limits and that no other such result dominates."""
        kept = [i for i, r in enumerate(self.results) if r.violation == 0]
        on_front = non_dominated([self.results[i].values for i in kept])
        return [i for i, on in zip(kept, on_front, strict=True) if on]

    def front_values(self) -> Floats:
        """Return [n, objectives], the front of all software of the designs."""
        rows = [self.results[i].values for i in self.front_rows()]
        rows += [row for result in self.results for row in result.others]
        values = np.array(rows).reshape(len(rows), len(self._problem.objective_set.objectives))
        return np.asarray(values[non_dominated(values)])

    def undominated(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return the designs whose lower bounds no result that keeps the limits dominates, and are
        within these.

        The others can never improve the front (docs/explanation/hardware_search.md): it only gets
        better.
        """
        front = self.front_values()
        if len(self._excluded) > _MOST_EXCLUDED:
            self._excluded.clear()
        digests = {c.key: _digest(c.key) for c in candidates}
        rest = [c for c in candidates if digests[c.key] not in self._excluded]
        excluded = dominated_by(front, [c.values for c in rest])
        excluded |= np.array([any(e > 0 for e in c.least_excess) for c in rest], np.bool_)
        self._excluded.update(digests[c.key] for c, bad in zip(rest, excluded, strict=True) if bad)
        return [c for c, bad in zip(rest, excluded, strict=True) if not bad]

    def front(self) -> list[Candidate]:
        """Return the designs of :meth:`front_rows`."""
        return [self.results[i].candidate for i in self.front_rows()]


# most of a pool is the same each time
@lru_cache(maxsize=_MOST_DIGESTS)
def _digest(key: str) -> int:
    """Return 63 bits that stand for a design, in a quarter of the memory of its key."""
    return derived_seed(key)


class ObservingOptimizer:
    """Base of hardware optimizers that remember every finished trial.

    Args:
        problem: what to search.
        seed: seed of the study.
    """

    def __init__(self, problem: DesignProblem, seed: int) -> None:
        self._problem = problem
        self._seed = seed
        self._observations = ObservedTrials(problem)

    def tell(self, observations: Sequence[Observation]) -> None:
        """Learn from finished trials; see ``HardwareOptimizer.tell``.

        Raises:
            ValueError: values or excesses of another number of objectives or limits.
        """
        self._observations.add(observations)


def constrained_logs(results: Sequence[EvaluatedDesign]) -> Floats:
    """Return the natural logarithms of the values, those of broken limits behind all others.

    A design that breaks a limit is dominated by every one that keeps them all, and by every one
    that breaks them by less: the constrained domination of Deb et al., "A fast and elitist
    multiobjective genetic algorithm" (2002), section VI.

    Args:
        results: at least one.

    Returns:
        [n, objectives], to be minimised.
    """
    logs = np.log([r.values for r in results])
    violation = np.array([r.violation for r in results])
    behind = logs.max(axis=0) + 1.0 + violation[:, None]
    return np.where(violation[:, None] > 0, behind, logs)


def ranked(results: Sequence[EvaluatedDesign]) -> list[int]:
    """Return the rows of ``results``, at least one, from the best to the worst.

    The order of NSGA-II (Deb et al. 2002): by front, then by crowding distance, the largest
    first. With one objective it is the order of its values. Equal results stay in their order.
    """
    import moocore

    logs = constrained_logs(results)
    front = np.asarray(moocore.pareto_rank(logs))
    crowding = np.zeros(len(logs))
    for number in np.unique(front):
        crowding[front == number] = crowding_distance(logs[front == number])
    return [int(i) for i in np.lexsort((-crowding, front))]


def crowding_distance(logs: Floats) -> Floats:
    """Return the crowding distance of each row of ``logs`` [n, m] (Deb et al. 2002, III-B)."""
    distance = np.zeros(len(logs))
    for column in logs.T:
        order = np.argsort(column, kind="stable")
        ends = column[order]
        span = ends[-1] - ends[0]
        gaps = (ends[2:] - ends[:-2]) / span if span > 0 else np.zeros(max(len(ends) - 2, 0))
        distance[order[1:-1]] += gaps
        distance[order[[0, -1]]] = np.inf
    return distance
