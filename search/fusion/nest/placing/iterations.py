"""Iterations of a nest that are looked at: who runs in each, and the pieces that it covers."""

from typing import NamedTuple

import numpy as np

from archloom.evaluators import Flags, Ints
from archloom.evaluators.fusion.nest import ALL, BOTH, FIRST, LAST
from archloom.evaluators.jit import allocating, helper
from archloom.search.fusion.nest.estimates import GroupArrays

from .group_loops import PlacedGroup, PlacedLoops


class Walk(NamedTuple):
    """What happens in n iterations that are looked at.

    Attributes:
        place: int64[loops, n], which iteration of each loop it is.
        times: int64[n], iterations that each stands for.
        members, operands: int64[m, loops] and int64[t, loops], uses of loops.
        runs: bool[m, n], which members run.
        pieces: int64[t, n], words of operands that each covers.
        used: int64[m, n], words in use while members run.
        fetched, stored: int64[n], words that come for each and leave after it.
        space, ahead, behind, room: int64[n], as of ``NestFit``.
    """

    place: Ints
    times: Ints
    members: Ints
    operands: Ints
    runs: Flags
    pieces: Ints
    used: Ints
    fetched: Ints
    stored: Ints
    space: Ints
    ahead: Ints
    behind: Ints
    room: Ints


@allocating
def new_walk(group: PlacedGroup, loops: PlacedLoops) -> Walk:
    """Return what is known of the iterations of some loops before anything is worked out."""
    members, operands, count = group.flags.own.shape[0], len(group.words), len(loops.rank)
    n = 1
    for at in range(count):
        n *= loops.shown[at]
    return Walk(
        np.zeros((count, n), np.int64),
        np.ones(n, np.int64),
        np.zeros((members, count), np.int64),
        np.zeros((operands, count), np.int64),
        np.zeros((members, n), np.uint8),
        np.zeros((operands, n), np.int64),
        np.zeros((members, n), np.int64),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
    )


@helper
def set_uses(flags: GroupArrays, loops: PlacedLoops, walk: Walk) -> None:
    """Work out in which iterations of each loop members run and operands are read, as ``uses`` of
    ``evaluators/fusion/nest/iterations/when_used.py``."""
    members = flags.own.shape[0]
    for at in range(len(loops.rank)):
        rank, count = loops.rank[at], loops.counts[at]
        for m in range(members - 1, -1, -1):
            t, readers, again = flags.made[m], 0, 0
            for reader in range(members):
                if flags.reads[t, reader]:
                    readers += 1
                    again |= walk.members[reader, at]
            if flags.own[m, rank]:
                use = ALL
            elif flags.late[m, rank]:
                use = LAST
            elif not readers or at >= loops.depth[t]:
                use = FIRST
            else:
                use = again | FIRST if flags.exported[t] else again
                use = ALL if use == BOTH and count == 2 else use
            walk.members[m, at] = use
        for t in range(len(flags.kind)):
            use = 0
            for m in range(members):
                if flags.reads[t, m]:
                    use |= walk.members[m, at]
            walk.operands[t, at] = ALL if use == BOTH and count == 2 else use


@helper
def is_in(loops: PlacedLoops, walk: Walk, at: int, cell: int, use: int) -> bool:
    """Whether an iteration is in a use of a loop."""
    index = loops.indices[at, walk.place[at, cell]]
    if use == ALL:
        return True
    first = use & FIRST > 0 and index == 0
    return bool(first or (use & LAST > 0 and index == loops.counts[at] - 1))


@helper
def starts(loops: PlacedLoops, walk: Walk, at: int, cell: int, use: int) -> bool:
    """Whether an iteration is the first of a loop in a use of it."""
    return is_in(loops, walk, at, cell, LAST if use == LAST else FIRST)


@helper
def set_iterations(group: PlacedGroup, loops: PlacedLoops, walk: Walk) -> None:
    """Find the iterations that are looked at, who runs in each, and what pieces it covers."""
    count = len(loops.rank)
    for cell in range(len(walk.times)):
        rest = cell
        for at in range(count - 1, -1, -1):
            walk.place[at, cell] = rest % loops.shown[at]
            rest //= loops.shown[at]
            walk.times[cell] *= loops.times[at, walk.place[at, cell]]
    for m in range(group.flags.own.shape[0]):
        for cell in range(len(walk.times)):
            walk.runs[m, cell] = _runs(group.flags, loops, walk, m, cell)
    _set_pieces(group, loops, walk)


@helper
def _runs(flags: GroupArrays, loops: PlacedLoops, walk: Walk, m: int, cell: int) -> bool:
    """Whether a member runs in an iteration."""
    for at in range(len(loops.rank)):
        own = flags.own[m, loops.rank[at]]
        if not own and not is_in(loops, walk, at, cell, walk.members[m, at]):
            return False
    return True


@helper
def _set_pieces(group: PlacedGroup, loops: PlacedLoops, walk: Walk) -> None:
    """Find the words of the piece of each operand that each iteration covers."""
    flags, count = group.flags, len(loops.rank)
    for t in range(len(group.words)):
        base, whole = group.words[t], 1
        for at in range(count):
            if flags.along[t, loops.rank[at]]:
                whole *= loops.size[at]
        base //= whole
        for cell in range(len(walk.times)):
            piece = base
            for at in range(count):
                if flags.along[t, loops.rank[at]]:
                    piece *= loops.covers[at, walk.place[at, cell]]
            walk.pieces[t, cell] = piece
