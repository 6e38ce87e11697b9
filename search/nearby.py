"""New feasible designs out of whatever points an optimizer would like to have."""

from collections.abc import Callable

import numpy as np

from ..space.hardware_space import Point
from .candidates import Candidate, DesignProblem
from .random_search import draw_new

#: Steps of a random walk from a design that is already known to one that is not.
LONGEST_WALK = 16


def propose(
    problem: DesignProblem,
    rng: np.random.Generator,
    n: int,
    known: set[str],
    make: Callable[[], Point],
    tries: int = 16,
) -> list[Candidate]:
    """Return up to ``n`` feasible designs that are not in ``known``.

    Args:
        problem: where designs come from.
        rng: source of what is drawn here.
        n: how many.
        known: keys of designs that are not wanted.
        make: gives a point, feasible or not; called until one is feasible and new, at most
            ``tries`` times for a design. The last one is then moved to a feasible design near it.
        tries: at least 1.
    """
    found: list[Candidate] = []
    taken = set(known)
    while len(found) < n:
        chosen = _one(problem, rng, taken, make, tries)
        if chosen is None:
            break
        taken.add(chosen.key)
        found.append(chosen)
    return found + draw_new(problem, rng, n - len(found), taken) if len(found) < n else found


def _one(
    problem: DesignProblem,
    rng: np.random.Generator,
    taken: set[str],
    make: Callable[[], Point],
    tries: int,
) -> Candidate | None:
    for _ in range(tries):
        point = make()
        here = problem.assess(point)
        if isinstance(here, Candidate) and here.key not in taken:
            return here
    reached = problem.descend(rng, point)
    for _ in range(LONGEST_WALK):
        if not isinstance(reached, Candidate):
            return None
        if reached.key not in taken:
            return reached
        near = list(problem.neighbours(reached))
        fresh = [c for c in near if c.key not in taken]
        if not near:
            return None
        choice = fresh or near
        reached = choice[int(rng.integers(len(choice)))]
    return None
