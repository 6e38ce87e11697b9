"""Designs of a space that rules, limits and lower bounds exclude before anything is run."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from archloom.search import derived_seed
from archloom.space import Infeasible

if TYPE_CHECKING:
    from archloom.search.hardware import DesignProblem
    from archloom.space.design_space import Point

#: points that stand for a space that has more
SAMPLE: Final = 2000


@dataclass(frozen=True, slots=True)
class Exclusions:
    """Points of a space by what became of them.

    Attributes:
        points: of the whole space.
        seen: points that were looked at, all or a sample.
        rules: points that break a rule of the template or a limit, by the rule's name; each
            point counts for the first one that it breaks.
        dominated: points that keep all rules, but whose lower bounds are no better than some
            design of the front in every objective: no software can bring them onto it.
        open: all others, those on the front among them.
    """

    points: int
    seen: int
    rules: dict[str, int]
    dominated: int
    open: int


def exclusions(problem: "DesignProblem", front: Sequence[tuple[float, ...]]) -> Exclusions:
    """Look at all points of a space, or at a sample of :data:`SAMPLE`.

    Args:
        problem: the space, its networks and limits.
        front: values of the designs that are found, all minimised.
    """
    rules: Counter[str] = Counter()
    rows = np.array(front).reshape(-1, len(problem.objective_set.objectives))
    dominated = seen = 0
    for point in _points(problem):
        seen += 1
        found = problem.assess(point)
        if isinstance(found, Infeasible):
            rules[found.reason] += 1
        else:
            # a member of the front is not excluded by itself: its bound is below its value
            dominated += bool((rows <= np.array(found.values)).all(axis=1).any())
    left = seen - dominated - sum(rules.values())
    return Exclusions(problem.space.cardinality, seen, dict(rules.most_common()), dominated, left)


def _points(problem: "DesignProblem") -> "Iterator[Point]":
    if problem.space.cardinality <= SAMPLE:
        yield from problem.space.enumerate()
        return
    rng = np.random.default_rng(derived_seed(0, "exclusions"))
    for _ in range(SAMPLE):
        yield problem.space.sample(rng)
