"""Repair of an optimizer's points into new feasible designs, and random draws of such designs."""

from collections.abc import Callable

import numpy as np

from archloom.space.design_space import Point

from .problem import Candidate, DesignProblem

#: Moves of a random walk from a design that is already known to one that is not.
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
        chosen = _propose_one(problem, rng, taken, make, tries)
        if chosen is None:
            break
        taken.add(chosen.key)
        found.append(chosen)
    return found + draw_new(problem, rng, n - len(found), taken) if len(found) < n else found


def _propose_one(
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


#: Draws per wanted design before a large space counts as hard to hit.
TRIES_PER_DESIGN = 256


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
