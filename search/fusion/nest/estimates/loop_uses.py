"""In which iterations of its loops a group's members run, whatever the tiles are; and which depths
what they make may have.

As ``evaluators/fusion/nest`` has it (``when_used.py``, ``walk.py``), for many orders of loops.
"""

from typing import NamedTuple

import numpy as np

from archloom.evaluators import Flags, Ints
from archloom.evaluators.fusion.nest import ALL, BOTH, FIRST, LAST
from archloom.evaluators.jit import allocating, helper

from .loop_arrays import MADE, GroupArrays, LoopSizes


class LoopUses(NamedTuple):
    """Iterations of each loop in which things are used, as ``Uses`` has them.

    Attributes:
        members: int64[m, loops], in which a member runs.
        operands: int64[t, loops], in which a member that reads an operand runs.
        adds, online: bool[m], whether a member adds up over loops, and reads a softmax whose
            vectors come piece by piece.
    """

    members: Ints
    operands: Ints
    adds: Flags
    online: Flags


@allocating
def loop_uses(operands: int, members: int, loops: int) -> LoopUses:
    """Return what uses by so many operands and members are written to."""
    return LoopUses(
        np.zeros((members, loops), np.int64),
        np.zeros((operands, loops), np.int64),
        np.zeros(members, np.uint8),
        np.zeros(members, np.uint8),
    )


@helper
def find_uses(group: GroupArrays, sizes: LoopSizes, made: Ints, uses: LoopUses) -> None:
    """Work out in which iterations things are used.

    Args:
        group: whose loops are in their order.
        sizes: of its ranks.
        made: int64[m], depth of what each member makes; 0 of what no other reads.
        uses: where it is written.
    """
    members, loops = group.own.shape
    for m in range(members - 1, -1, -1):
        uses.adds[m], uses.online[m] = first_sum(group, m) < loops, is_online(group, m)
        for at in range(loops):
            uses.members[m, at] = _use(group, sizes, uses, m, at, at < made[m])
    for t in range(len(group.kind)):
        for at in range(loops):
            use = 0
            for m in range(members):
                if group.reads[t, m]:
                    use |= uses.members[m, at]
            if use == BOTH and sizes.sizes[at] == 2:
                use = ALL
            uses.operands[t, at] = FIRST if sizes.sizes[at] == 1 else use
    for m in range(members):
        for at in range(loops):
            if sizes.sizes[at] == 1:
                uses.members[m, at] = FIRST


@helper
def _use(group: GroupArrays, sizes: LoopSizes, uses: LoopUses, m: int, at: int, goes: bool) -> int:
    """Return in which iterations of a loop a member runs, given those of who reads its result."""
    if group.own[m, at]:
        return ALL
    if group.late[m, at]:
        return LAST
    t = group.made[m]
    readers, use = 0, FIRST if group.exported[t] else 0
    for reader in range(m + 1, group.own.shape[0]):
        if group.reads[t, reader]:
            readers += 1
            use |= uses.members[reader, at]
    if not readers or not goes:
        return FIRST
    return ALL if use == BOTH and sizes.sizes[at] == 2 else use


@helper
def lasts(group: GroupArrays, uses: LoopUses, t: int, depth: int) -> bool:
    """Return whether an operand of some depth stays from one iteration to another."""
    members, loops = group.own.shape
    maker = group.maker[t]
    for at in range(depth, loops):
        if group.along[t, at]:
            continue
        if group.kind[t] != MADE:
            if uses.operands[t, at] == BOTH or uses.operands[t, at] == ALL:
                return True
            continue
        if group.reduced[maker, at]:
            return True
        for reader in range(members):
            if group.reads[t, reader] and uses.members[reader, at] != uses.members[maker, at]:
                return True
    return False


@helper
def is_any(flags: Flags, row: int) -> bool:
    """Return whether anything of a row is set."""
    found = 0
    for at in range(flags.shape[1]):
        found |= flags[row, at]
    return found != 0


@helper
def is_online(group: GroupArrays, m: int) -> bool:
    """Return whether a member reads a softmax whose vectors come piece by piece."""
    return is_any(group.online, m)


@helper
def is_read(group: GroupArrays, t: int) -> bool:
    """Return whether a member reads an operand."""
    return is_any(group.reads, t)


@helper
def is_depth(group: GroupArrays, t: int, depth: int) -> bool:
    """Return whether an operand may have a depth: no other one holds the same with fewer
    transfers, or less with as many."""
    if depth and not group.along[t, depth - 1]:
        return False
    return depth == group.along.shape[1] or not group.along[t, depth]


@helper
def first_sum(group: GroupArrays, m: int) -> int:
    """Return the first loop over which a member adds up; the number of loops if there is none."""
    loops: int = group.own.shape[1]
    for at in range(loops):
        if group.reduced[m, at]:
            return at
    return loops


@helper
def result_depths(group: GroupArrays, found: Ints) -> int:
    """Write int64[n, m], ways in which results stay for members that read them, and return n.

    Results stay until all have read them; besides, each that may be made again rather than stay.
    What no other reads has the depth 0. None if a result is complete too late.
    """
    members = group.own.shape[0]
    for m in range(members):
        base, t = -1, group.made[m]
        found[0, m] = 0
        if not is_read(group, t):
            continue
        for depth in range(first_sum(group, m) + 1):
            if is_depth(group, t, depth) and (base < 0 or not _made_again(group, m, depth)):
                base = depth
        if base < 0:
            return 0
        found[0, m] = base
    count = 1
    for m in range(members):
        t = group.made[m]
        if not is_read(group, t):
            continue
        for depth in range(found[0, m] + 1, first_sum(group, m) + 1):
            if is_depth(group, t, depth):
                for other in range(members):
                    found[count, other] = found[0, other]
                found[count, m] = depth
                count += 1
    return count


@helper
def _made_again(group: GroupArrays, m: int, depth: int) -> bool:
    """Whether a result of some depth is made several times."""
    own = 0
    for at in range(depth):
        own += group.own[m, at]
    return own < depth
