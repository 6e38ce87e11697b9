"""Designs of a space that rules, limits and lower bounds exclude before anything is run."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from archloom.search import derived_seed
from archloom.space import Infeasible

if TYPE_CHECKING:
    from archloom.search.hardware import Candidate, DesignProblem
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
        measured: points that a study ran to its end; a certificate counts them alike.
        dominated: points that none did, and whose lower bounds are beyond a limit or no better than
            some design of the front in every objective: no software can bring them onto it.
        open: all others, those that halving stopped among them.
    """

    points: int
    seen: int
    rules: dict[str, int]
    measured: int
    dominated: int
    open: int


def exclusions(
    problem: "DesignProblem",
    front: Sequence[tuple[float, ...]],
    measured: "Sequence[Point]" = (),
    most: int = SAMPLE,
) -> Exclusions:
    """Look at all points of a space, or at a sample.

    The bounds are those of a certificate: a loose one of every design, and where that does not
    exclude it, a tight one.

    Args:
        problem: the space, its networks and limits.
        front: values of the designs that are found, all minimised.
        measured: designs that studies ran to their end.
        most: points of the sample.
    """
    rules: Counter[str] = Counter()
    rows = np.array(front).reshape(-1, len(problem.objective_set.objectives))
    known = set(map(problem.space.point_key, measured))
    dominated = seen = ran = 0

    def excluded(found: "Candidate") -> bool:
        beyond = any(excess > 0 for excess in found.least_excess)
        return beyond or bool((rows <= np.array(found.values)).all(axis=1).any())

    for point in _points(problem, most):
        seen += 1
        found = problem.assess(point)
        if isinstance(found, Infeasible):
            rules[found.reason] += 1
        elif problem.space.point_key(point) in known:
            ran += 1
        else:
            dominated += excluded(found) or excluded(problem.tightened(found))
    left = seen - ran - dominated - sum(rules.values())
    counts = (dict(rules.most_common()), ran, dominated, left)
    return Exclusions(problem.space.cardinality, seen, *counts)


def _points(problem: "DesignProblem", most: int) -> "Iterator[Point]":
    if problem.space.cardinality <= most:
        yield from problem.space.enumerate()
        return
    rng = np.random.default_rng(derived_seed(0, "exclusions"))
    for _ in range(most):
        yield problem.space.sample(rng)
