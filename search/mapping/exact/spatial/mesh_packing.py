"""Which products of factors a mesh can unroll."""

from typing import Final

import numpy as np

from archloom.evaluators import Flags, Ints
from archloom.evaluators.jit import allocating, compiled, copy_table, helper
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


@helper
def _divisors(number: int, found: Ints) -> int:
    """Write the divisors of a number, ascending, and return how many there are."""
    count, i = 0, 1
    while i * i <= number:
        if number % i == 0:
            found[count] = i
            count += 1
        i += 1
    for n in range(count - 1, -1, -1):
        if found[n] * found[n] < number:
            found[count] = number // found[n]
            count += 1
    return count


@allocating
def _all_divisors(setup: KernelInputs, many: Ints) -> Ints:
    """Return the divisors of each bound, int64[8, n], and set many[8] to how many there are."""
    most = 1
    for d in range(8):
        i = 1
        while i * i <= setup.bounds[d]:
            i += 1
        most = max(most, 2 * i)
    found = np.empty((8, most), np.int64)
    for d in range(8):
        many[d] = _divisors(setup.bounds[d], found[d])
    return found


@helper
def _stand(setup: KernelInputs, level: int, d: int, spread: Ints, along: Ints, many: Ints) -> int:
    """Write to along[d + 1] the children along x that the factors of the first dimensions up to
    ``d`` may take, in whatever way they stand; return how many numbers these are, and note it in
    many[d + 1]. With none, the mesh has no room for them, nor for more.

    Args:
        setup, level: of the mesh.
        d: dimension.
        spread: int64[8], factors.
        along, many: int64[9, n] and int64[9], of the dimensions before.
    """
    room_x, room_y, factor, count = setup.fanout[level, X], setup.fanout[level, Y], spread[d], 0
    taken = 1
    for i in range(d):
        taken *= spread[i]
    for n in range(many[d]):
        before = along[d, n]
        # less along x would be too much along y
        x = max(1, (taken // before * factor + room_y - 1) // room_y)
        while x <= factor and before * x <= room_x:
            if factor % x == 0 and may_stand(setup, level, d, x, factor // x):
                k = 0
                while k < count and along[d + 1, k] != before * x:
                    k += 1
                along[d + 1, k] = before * x
                count = max(count, k + 1)
            x += 1
    many[d + 1] = count
    return count


@compiled(brief=True)
def unrolled(setup: KernelInputs, level: int, most: int, stop: Flags) -> Ints:
    """Return all products of factors that a level may unroll: int64[B, 8], and one row more than
    ``most`` if there are more.
    """
    children = float(setup.fanout[level, X]) * float(setup.fanout[level, Y])
    found, count, d = np.empty((min(most + 1, ROOM), 8), np.int64), 0, 0
    spread, product = np.zeros(8, np.int64), np.ones(9)
    # where the next divisor of each dimension stands
    many, at = np.empty(8, np.int64), np.zeros(8, np.int64)
    divisors = _all_divisors(setup, many)
    # a number has no more divisors than twice its root
    room = min(setup.fanout[level, X], int(2 * np.sqrt(children)) + 1)
    along, ways = np.ones((9, room), np.int64), np.ones(9, np.int64)
    while count <= most and not stop[0]:
        if d == 8:
            if count == len(found):
                more = np.empty((min(most + 1, 4 * count), 8), np.int64)
                copy_table(more, found)
                found = more
            for i in range(8):
                found[count, i] = spread[i]
            count += 1
            d -= 1
        if not _at_all(setup, level, d):
            here = setup.fixed[level, X, d] * setup.fixed[level, Y, d]
            while at[d] < many[d] and (spread[d] > 0 or divisors[d, at[d]] < here):
                at[d] += 1
        if at[d] < many[d] and product[d] * divisors[d, at[d]] <= children:
            spread[d] = divisors[d, at[d]]
            product[d + 1] = product[d] * spread[d]
            at[d] += 1
            if _stand(setup, level, d, spread, along, ways):
                d += 1
                if d < 8:
                    spread[d] = at[d] = 0
        elif d == 0:
            break
        else:
            d -= 1
    return found[:count].copy()


@compiled(brief=True)
def placed(setup: KernelInputs, level: int, spread: Ints, x: Ints) -> bool:
    """Set factors x[8] of ``spread`` along x; whether the mesh has room for all."""
    return place(setup, level, spread, x, np.ones((9, 2), np.int64))
