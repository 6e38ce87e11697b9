"""Settles frames: each is ruled out by its bounds, or walked below a score that rises in steps."""

from typing import Final

import numpy as np

from archloom.evaluators import Flags, Floats, Ints, compiled, inlined
from archloom.evaluators.loopnest import KernelInputs
from archloom.search.mapping.exact.bounds import (
    FamilyPruner,
    Outside,
    needs_guess,
    ruled_out,
    tiles_of,
    unroll,
)
from archloom.search.mapping.exact.subproblem import Ports, Subproblem

from .bounded_subproblem import Bounded, bounded, new_walk
from .label_setting import DONE, FULL, STOPPED, Step, walk_outwards
from .labels import Labels

#: how a frame ended, beside DONE, FULL and STOPPED: open, where only bounds were asked for; with a
#: better mapping; with labels for which there was no room; or left to the caller
MORE, FOUND, ROOM, ASK = -1, 3, 4, 5

#: shares above the bound within which the best mapping of a frame is looked for first
LADDER: Final = (0.002, 0.02, 0.2, np.inf)

#: how far (ln) the best score may be above a limit that it is taken for instead: the walk below a
#: limit pays where it finds a better mapping, which is rarer the closer the best score is
NEAR: Final = np.log1p(0.2)

#: most tiles of a frame, and most labels of a walk: about a gigabyte each at five levels
MOST_TILES: Final = 2**22
MOST_LABELS: Final = 2**22


@inlined
def _walked(
    setup: KernelInputs, frame: Subproblem, real: Ints, bounds: Bounded, limits: Floats, left: Ints,
    labels: Labels, step: Step, best: Floats, tally: Ints, stop: Flags,
) -> int:  # fmt: skip
    """Walk a bounded frame; see :func:`solve_subproblem`."""
    rest, score, settled = left[0], bounds.score, DONE
    for share in LADDER:
        if stop[0] or not score < limits[0]:
            break
        target = score + np.log1p(share)
        if target + NEAR >= limits[0]:
            target = limits[0]
        walk = new_walk(setup, frame, bounds, target, limits[1], best, tally, stop)
        ended = walk_outwards(
            setup, frame, real, bounds.lattice, bounds.found, labels, walk, step,
            bounds.facts[0], rest,
        )  # fmt: skip
        if ended == FULL and len(labels.tile) < MOST_LABELS:
            return ROOM
        rest -= min(tally[2], rest)
        # where words of inputs that pass are carried, permitted orders are not all tried
        if frame.carries[1] and setup.ranks.shape[1] > 0:
            settled = FULL
        settled = settled if ended == DONE else ended
        if best[0] < np.inf:
            tally[3], settled = settled, FOUND
        if ended != DONE or settled == FOUND:
            break
        score = target
    left[0] = rest
    return STOPPED if stop[0] and settled != FOUND else settled


@compiled
def solve_subproblem(
    setup: KernelInputs, frame: Subproblem, real: Ints, ports: Ports, outside: Outside, kind: int,
    limits: Floats, left: Ints, bound_alone: bool, labels: Labels, step: Step, best: Floats,
    tally: Ints, stop: Flags,
) -> int:  # fmt: skip
    """Find a better mapping of the frame, or show that there is none; return how that ended.

    ``limits[2]`` are the score (ln) to beat and the most cycles that count. What is spent is taken
    from left[0], but where there was no ROOM for labels: then nothing is. STOPPED says that too
    little is left or that the flag was set, FULL that there are more tiles or labels than any
    budget buys. With ``bound_alone``, a frame that may hold a better mapping is left: MORE.
    Of one that was FOUND ``best[3]`` and ``tally[3]`` are those of the walk, and tally[3] says how
    that ended. tally[4] are the tiles that were bounded, 0 if none is left.
    """
    size, levels, before = tiles_of(setup, frame), frame.keep.shape[0], left[0]
    tally[4] = 0
    if size > MOST_TILES:
        return FULL
    if size * (levels - 1) > left[0]:
        return STOPPED
    left[0] -= size * (levels - 1)
    bounds = bounded(setup, frame, real, ports, outside, kind, limits[0], stop)
    if stop[0]:
        return STOPPED
    tally[4] = size if bounds.score < np.inf else 0
    if not bounds.score < limits[0]:
        return DONE
    if bound_alone:
        return MORE
    # labels must carry the words that pass
    ended = ROOM
    if not frame.carries[0] or len(labels.passing) > 1:
        ended = _walked(setup, frame, real, bounds, limits, left, labels, step, best, tally, stop)
    if ended == ROOM:
        left[0] = before
    return ended


@compiled
def solve_listed(
    setup: KernelInputs, frame: Subproblem, real: Ints, ports: Ports, outside: Outside, keeps:
        Flags,
    kinds: Ints, one: Ints, two: Ints, sieve: FamilyPruner, begin: int, most: int, limits: Floats,
        left: Ints,
    labels: Labels, step: Step, best: Floats, tally: Ints, stop: Flags,
) -> tuple[int, int]:  # fmt: skip
    """Settle listed choices from ``begin`` on, so many at the most; return the first that is not,
    and why: DONE if none is left to look at, or ASK if it is several frames.

    Other arguments are those of :func:`solve_subproblem` and
    :func:`archloom.search.mapping.exact.bounds.family_pruning.ruled_out`.
    """
    at, tally[4] = begin, 0
    for _ in range(most):
        at = ruled_out(
            setup, frame, real, ports, outside, keeps, kinds, one, two, sieve, at, limits[0], left,
            stop,
        )  # fmt: skip
        if at == len(sieve.bounds) or not sieve.bounds[at] < limits[0]:
            return at, DONE
        keep = sieve.chosen[at, 0]
        unroll(frame, one, two, sieve, at)
        for level in range(keeps.shape[1]):
            for t in range(3):
                frame.keep[level, t] = keeps[keep, level, t]
            frame.guess[level] = 0
        if needs_guess(setup, frame):
            return at, ASK
        ended = solve_subproblem(
            setup, frame, real, ports, outside, kinds[keep], limits, left, False, labels, step,
            best, tally, stop,
        )  # fmt: skip
        if ended != DONE:
            return at, ended
        at += 1
    return at, DONE
