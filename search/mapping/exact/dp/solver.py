"""Solves subproblems: each is ruled out by its bounds, or searched below a score that rises in
steps.
"""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators.jit import allocating, lean
from archloom.evaluators.loopnest import KernelInputs
from archloom.search.mapping.exact.bounds import (
    Families,
    OuterLevels,
    choose,
    first_open,
    needs_guess,
    tiles_of,
)
from archloom.search.mapping.exact.subproblem import ANY_TENSOR, OF_INPUTS, Subproblem

from .bounded_subproblem import Bounded, Limits, bounded, new_search
from .label_setting import DONE, FULL, STOPPED, set_labels
from .labels import Workspace

#: how a subproblem ended, beside DONE, FULL and STOPPED: open, where only bounds were asked for;
#: with a better mapping; with labels for which there was no room; or not looked at, since it is
#: several ones, by guesses and layouts
OPEN, FOUND, NO_ROOM, SEVERAL = -1, 3, 4, 5

#: shares above the bound within which the best mapping of a subproblem is looked for first
LADDER: Final = (0.002, 0.02, 0.2, np.inf)

#: how far (ln) the best score may be above a limit that it is taken for instead: the search below a
#: limit pays where it finds a better mapping, which is rarer the closer the best score is
NEAR: Final = np.log1p(0.2)


class Span(NamedTuple):
    """Which subproblems are solved.

    Listed choices from ``begin`` on, ``most`` of them at the most; or where that is 0, the
    subproblem as it stands. With ``bound_alone`` one that may hold a better mapping is left OPEN.
    """

    begin: int
    most: int
    bound_alone: bool


#: most tiles of a subproblem, and most labels of a search: about a gigabyte each at five levels
MOST_TILES: Final = 2**22
MOST_LABELS: Final = 2**22


@allocating
def _search(
    setup: KernelInputs, subproblem: Subproblem, bounds: Bounded, limits: Limits, space: Workspace
) -> int:
    """Search a bounded subproblem; see :func:`solve`."""
    outcome, stop = space.outcome[0], space.stop
    score, solved = bounds.score, DONE
    for share in LADDER:
        if stop[0] or not score < limits.score:
            break
        target = score + np.log1p(share)
        if target + NEAR >= limits.score:
            target = limits.score
        below = Limits(target, limits.most_cycles)
        ended = set_labels(setup, subproblem, new_search(setup, subproblem, bounds, below, space))
        if ended == FULL and len(space.labels.tile) < MOST_LABELS:
            return NO_ROOM
        outcome.left -= min(outcome.tried, outcome.left)
        # where words of inputs that pass are carried, permitted orders are not all tried
        if subproblem.carries[OF_INPUTS] and setup.ranks.shape[1] > 0:
            solved = FULL
        solved = solved if ended == DONE else ended
        if outcome.score < np.inf:
            outcome.ended, solved = solved, FOUND
        if ended != DONE or solved == FOUND:
            break
        score = target
    return STOPPED if stop[0] and solved != FOUND else solved


@allocating
def _solve_one(
    setup: KernelInputs,
    subproblem: Subproblem,
    outer: OuterLevels,
    limits: Limits,
    bound_alone: bool,
    space: Workspace,
) -> int:
    """Find a better mapping of the subproblem, or show that there is none; see :func:`solve`."""
    size, levels, outcome = tiles_of(setup, subproblem), subproblem.keep.shape[0], space.outcome[0]
    before = outcome.left
    outcome.tiles = 0
    if size > MOST_TILES:
        return FULL
    if size * (levels - 1) > before:
        return STOPPED
    outcome.left -= size * (levels - 1)
    bounds = bounded(setup, subproblem, outer, limits.score, space.stop)
    if space.stop[0]:
        return STOPPED
    outcome.tiles = size if bounds.score < np.inf else 0
    if not bounds.score < limits.score:
        return DONE
    if bound_alone:
        return OPEN
    # labels must carry the words that pass
    ended = NO_ROOM
    if not subproblem.carries[ANY_TENSOR] or len(space.labels.passing) > 1:
        ended = _search(setup, subproblem, bounds, limits, space)
    if ended == NO_ROOM:
        outcome.left = before
    return ended


@lean(brief=True)
def solve(
    setup: KernelInputs,
    subproblem: Subproblem,
    outer: OuterLevels,
    families: Families,
    span: Span,
    limits: Limits,
    space: Workspace,
) -> tuple[int, int]:
    """Find a better mapping of subproblems, or show that there is none: those that ``span`` says.

    One kernel does both, for the search of a subproblem takes long to compile. What is spent is
    taken from what is left of the outcome, but where there was NO_ROOM for labels: then nothing is.

    Returns:
        The first listed choice that is not solved, and why: DONE if none is left to look at;
        SEVERAL; OPEN; STOPPED, too little is left or the flag was set; FULL, there are more tiles
        or labels than any budget buys; or FOUND, and the outcome is that of the search.
    """
    at, outcome = span.begin, space.outcome
    outcome[0].tiles = 0
    for _ in range(max(1, span.most)):
        if span.most > 0:
            score = limits.score
            at = first_open(setup, subproblem, outer, families, at, score, outcome, space.stop)
            if at == len(families.bounds) or not families.bounds[at] < score:
                return at, DONE
            choose(subproblem, families, at)
            if needs_guess(setup, subproblem):
                return at, SEVERAL
        ended = _solve_one(setup, subproblem, outer, limits, span.bound_alone, space)
        if ended != DONE or span.most == 0:
            return at, ended
        at += 1
    return at, DONE
