"""All that the two axes of a mesh may unroll together in few steps: compiled."""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators import Floats, Ints
from archloom.evaluators.jit import allocating, helper
from archloom.evaluators.loopnest import KernelInputs, X, Y

#: level whose children are the mesh
MESH: Final = 1

#: what is unrolled, told apart, at most, and pairs of what both axes unroll that are looked at
_MOST: Final = 1 << 16
_MOST_PAIRS: Final = 1 << 22

#: how many there is room for at first
_FEW: Final = 1 << 9


class Unrolled(NamedTuple):
    """What a mesh may unroll, by ascending steps.

    Attributes:
        over: int64[n, 8], of each dimension.
        reach: int64[n, 8], tiles before those of the last child along the outer axis: a child has
            no work where these cover the bound.
        axes: int64[n, 2, 8], along each axis.
        steps: float64[n], that a mapping takes at the least then.
    """

    over: Ints
    reach: Ints
    axes: Ints
    steps: Floats


@helper
def _next(setup: KernelInputs, axis: int, factors: Ints) -> bool:
    """Set the next factors along an axis; False if there are no more."""
    product = 1
    for d in range(8):
        product *= factors[d]
    for d in range(8):
        if setup.spatial[MESH, axis, d] and factors[d] < setup.bounds[d]:
            larger = product // factors[d] * (factors[d] + 1)
            if larger <= setup.fanout[MESH, axis]:
                factors[d] += 1
                return True
        product //= factors[d]
        factors[d] = 1
    return False


@helper
def _steps(bounds: Ints, over: Ints) -> float:
    """Return the steps that a mapping takes at the least which unrolls so much."""
    steps = 1.0
    for d in range(8):
        steps *= float((bounds[d] + over[d] - 1) // over[d])
    return steps


@helper
def _place(some: Unrolled, table: Ints, at: int) -> int:
    """Return where in a table of numbers the one stands that is the same as number ``at``, or where
    it may be put."""
    key = 0
    for d in range(8):
        key = key * 0x5851F42D4C957F2D + some.over[at, d] * 8191 + some.reach[at, d]
    place = (key >> 20) & (len(table) - 1)
    while table[place] >= 0:
        same, other = True, table[place]
        for d in range(8):
            same = same and some.over[other, d] == some.over[at, d]
            same = same and some.reach[other, d] == some.reach[at, d]
        if same:
            return place
        place = (place + 1) & (len(table) - 1)
    return place


@helper
def _set(setup: KernelInputs, some: Unrolled, at: int, x: Ints, y: Ints) -> bool:
    """Set what both axes unroll together; whether they may."""
    for d in range(8):
        if x[d] > 1 and y[d] > 1 and setup.both_axes == 0:
            return False
        some.axes[at, X, d], some.axes[at, Y, d] = x[d], y[d]
        some.over[at, d] = x[d] * y[d]
        some.reach[at, d] = (y[d] - 1) * x[d] if y[d] > 1 else x[d] - 1
    some.steps[at] = _steps(setup.bounds, some.over[at])
    return True


@allocating
def _first(some: Unrolled, count: int, size: int) -> Unrolled:
    """Return the first of what is unrolled, with room for ``size``."""
    over, reach = np.ones((size, 8), np.int64), np.ones((size, 8), np.int64)
    axes, steps = np.ones((size, 2, 8), np.int64), np.empty(size)
    over[:count], reach[:count] = some.over[:count], some.reach[:count]
    axes[:count], steps[:count] = some.axes[:count], some.steps[:count]
    return Unrolled(over, reach, axes, steps)


@allocating
def _table_of(some: Unrolled, count: int) -> Ints:
    """Return a table of those that there are, with room for as many as there is room for."""
    table = np.full(4 * len(some.steps), -1)
    for n in range(count):
        table[_place(some, table, n)] = n
    return table


@allocating
def unrolled(setup: KernelInputs, most: float) -> tuple[bool, Unrolled]:
    """Return whether these are all that take ``most`` steps or fewer, and what a mesh may unroll.

    What is the same of each dimension, along whichever axis, is there once.
    """
    none = np.ones((1, 8), np.int64)
    some = _first(Unrolled(none, none, np.ones((1, 2, 8), np.int64), np.empty(1)), 0, _FEW)
    table, count, pairs = _table_of(some, 0), 0, 0
    x, y, across = np.ones(8, np.int64), np.ones(8, np.int64), float(setup.fanout[MESH, Y])
    while True:
        # the other axis saves no more steps than it has children
        may = _steps(setup.bounds, x) <= most * across
        for d in range(8):
            y[d] = 1
        while may:
            pairs += 1
            if _set(setup, some, count, x, y) and some.steps[count] <= most:
                place = _place(some, table, count)
                if table[place] < 0:
                    table[place] = count
                    count += 1
                if count == len(some.steps):
                    if count == _MOST:
                        return False, some
                    some = _first(some, count, 2 * count)
                    table = _table_of(some, count)
            may = _next(setup, Y, y)
        if pairs > _MOST_PAIRS:
            return False, some
        if not _next(setup, X, x):
            order = np.argsort(some.steps[:count])
            sides = some.over[order], some.reach[order], some.axes[order]
            return True, Unrolled(sides[0], sides[1], sides[2], some.steps[order])
