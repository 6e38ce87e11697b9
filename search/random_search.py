"""Random search: the feasible designs as the space draws them."""

from collections.abc import Sequence

import numpy as np

from ..space.hardware_space import Point
from .candidates import Candidate, DesignProblem
from .protocols import Observation
from .seeds import derived_seed

#: Draws per wanted design before a large space counts as hard to hit.
TRIES_PER_DESIGN = 256


class RandomSearch:
    """Proposes feasible designs that are new, each as likely as the space draws it.

    Args:
        problem: what to search.
        seed: seed of the study.
    """

    def __init__(self, problem: DesignProblem, seed: int) -> None:
        self._problem = problem
        self._seed = seed
        self._told: list[str] = []

    def ask(self, n: int, pending: Sequence[Point]) -> list[Point]:
        """Return up to ``n`` new feasible points; see ``HardwareOptimizer.ask``."""
        known = {*self._told, *map(self._problem.space.point_key, pending)}
        rng = np.random.default_rng(derived_seed(self._seed, "ask", len(self._told), len(pending)))
        return [c.point for c in draw_new(self._problem, rng, n, known)]

    def tell(self, observations: Sequence[Observation]) -> None:
        """Remember which points are done; results teach random search nothing."""
        self._told += [self._problem.space.point_key(o.point) for o in observations]


def draw_new(
    problem: DesignProblem, rng: np.random.Generator, n: int, known: set[str]
) -> list[Candidate]:
    """Return up to ``n`` feasible designs that are not in ``known``.

    An enumerable space is drawn from without replacement, so that fewer than ``n`` means that
    no more are left. In a large space draws are rejected until they hit; where too few hit,
    descents from random points, and their feasible neighbours, fill the rest.
    """
    if problem.enumerable:
        rest = [c for c in problem.feasible() if c.key not in known]
        chosen = rng.permutation(len(rest))[:n]
        return [rest[i] for i in chosen]
    found = problem.sample(rng, n, known, tries=TRIES_PER_DESIGN * n)
    taken = known | {c.key for c in found}
    for _ in range(4 * n):
        if len(found) >= n:
            break
        reached = problem.descend(rng)
        if not isinstance(reached, Candidate):
            continue
        for candidate in (reached, *problem.neighbours(reached)):
            if candidate.key not in taken and len(found) < n:
                taken.add(candidate.key)
                found.append(candidate)
    return found
