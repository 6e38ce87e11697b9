"""Which products of factors a mesh can unroll."""

from typing import Final

import numpy as np

from archloom.evaluators import Flags, Ints
from archloom.evaluators.jit import compiled, copy_table, helper
from archloom.evaluators.loopnest import KernelInputs, X, Y

#: products that there is room for at first: what the system must clear takes longer than to find
#: them, and few meshes have more
ROOM: Final = 2**10


@helper
def may_stand(setup: KernelInputs, level: int, d: int, along_x: int, along_y: int) -> bool:
    """Whether a dimension may be unrolled so along x and y."""
    if not setup.both_axes and along_x > 1 and along_y > 1:
        return False
    if not setup.spatial[level, X, d] and along_x != setup.fixed[level, X, d]:
        return False
    return bool(setup.spatial[level, Y, d] or along_y == setup.fixed[level, Y, d])


@helper
def place(setup: KernelInputs, level: int, spread: Ints, x: Ints, taken: Ints) -> bool:
    """Set factors x[8] along x, the others stand along y; whether the mesh has room for them.

    ``taken[9, 2]`` is overwritten.
    """
    d = 0
    taken[0, X], taken[0, Y], x[0] = 1, 1, 0
    while d < 8:
        room_x, room_y = setup.fanout[level, X], setup.fanout[level, Y]
        # less along x would be too much along y
        factor = max(x[d] + 1, (spread[d] * taken[d, Y] + room_y - 1) // room_y)
        while factor * taken[d, X] <= room_x and factor <= spread[d]:
            if spread[d] % factor == 0 and may_stand(setup, level, d, factor, spread[d] // factor):
                break
            factor += 1
        if factor * taken[d, X] <= room_x and factor <= spread[d]:
            x[d] = factor
            taken[d + 1, X] = taken[d, X] * factor
            taken[d + 1, Y] = taken[d, Y] * (spread[d] // factor)
            d += 1
            if d < 8:
                x[d] = 0
        elif d == 0:
            return False
        else:
            d -= 1
    return True


@helper
def _at_all(setup: KernelInputs, level: int, d: int) -> bool:
    """Whether a mesh may choose how much of a dimension it unrolls."""
    return bool(setup.spatial[level, X, d] or setup.spatial[level, Y, d])


@compiled(brief=True)
def unrolled(setup: KernelInputs, level: int, most: int, stop: Flags) -> Ints:
    """Return all products of factors that a level may unroll: int64[B, 8], and one row more than
    ``most`` if there are more.
    """
    children = float(setup.fanout[level, X]) * float(setup.fanout[level, Y])
    found, count, d = np.empty((min(most + 1, ROOM), 8), np.int64), 0, 0
    spread, taken = np.zeros(8, np.int64), np.ones((9, 2), np.int64)
    product, x = np.ones(9), np.empty(8, np.int64)
    while count <= most and not stop[0]:
        if d == 8:
            if place(setup, level, spread, x, taken):
                if count == len(found):
                    more = np.empty((min(most + 1, 4 * count), 8), np.int64)
                    copy_table(more, found)
                    found = more
                for i in range(8):
                    found[count, i] = spread[i]
                count += 1
            d -= 1
        here = setup.fixed[level, X, d] * setup.fixed[level, Y, d]
        factor, bound = spread[d] + 1, setup.bounds[d]
        if not _at_all(setup, level, d):
            factor = here if spread[d] == 0 else bound + 1
        while factor <= bound and product[d] * factor <= children and bound % factor:
            factor += 1
        if factor <= bound and product[d] * factor <= children:
            spread[d], product[d + 1] = factor, product[d] * factor
            d += 1
            if d < 8:
                spread[d] = 0
        elif d == 0:
            break
        else:
            d -= 1
    return found[:count].copy()


@compiled(brief=True)
def placed(setup: KernelInputs, level: int, spread: Ints, x: Ints) -> bool:
    """Set factors x[8] of ``spread`` along x; whether the mesh has room for all."""
    return place(setup, level, spread, x, np.ones((9, 2), np.int64))
