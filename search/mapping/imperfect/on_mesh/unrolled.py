"""All that the two axes of a mesh may unroll together in few steps: compiled."""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators import Floats, Ints
from archloom.evaluators.jit import allocating, helper
from archloom.evaluators.loopnest import KernelInputs, X, Y

#: what is unrolled, told apart by its product, at most
MOST: Final = 4096

#: level whose children are the mesh
MESH: Final = 1


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
def steps_of(bounds: Ints, over: Ints) -> float:
    """Return the steps that a mapping takes at the least which unrolls so much."""
    steps = 1.0
    for d in range(8):
        steps *= float((bounds[d] + over[d] - 1) // over[d])
    return steps


@helper
def _known(some: Unrolled, count: int) -> bool:
    """Whether what stands at number ``count`` stands before it, too."""
    for n in range(count):
        same = True
        for d in range(8):
            same = same and some.over[n, d] == some.over[count, d]
            same = same and some.reach[n, d] == some.reach[count, d]
        if same:
            return True
    return False


@helper
def _multiply(setup: KernelInputs, some: Unrolled, at: int) -> bool:
    """Set what both axes unroll together; whether they may."""
    for d in range(8):
        along_x, along_y = some.axes[at, X, d], some.axes[at, Y, d]
        if along_x > 1 and along_y > 1 and setup.both_axes == 0:
            return False
        some.over[at, d] = along_x * along_y
        some.reach[at, d] = (along_y - 1) * along_x if along_y > 1 else along_x - 1
    return True


@allocating
def unrolled(setup: KernelInputs, most: float) -> tuple[bool, Unrolled]:
    """Return whether these are all that take ``most`` steps or fewer, and what a mesh may unroll.

    What is the same of each dimension, along whichever axis, is there once.
    """
    ones, room = np.ones((4, MOST + 1, 8), np.int64), np.ones((MOST + 1, 2, 8), np.int64)
    some, count = Unrolled(ones[0], ones[1], room, np.empty(MOST + 1)), 0
    x, y, across = ones[2, 0], ones[3, 0], float(setup.fanout[MESH, Y])
    while True:
        # the other axis saves no more steps than it has children
        may = steps_of(setup.bounds, x) <= most * across
        for d in range(8):
            y[d] = 1
        while may:
            for d in range(8):
                some.axes[count, X, d], some.axes[count, Y, d] = x[d], y[d]
            if _multiply(setup, some, count):
                some.steps[count] = steps_of(setup.bounds, some.over[count])
                if some.steps[count] <= most and not _known(some, count):
                    if count == MOST:
                        return False, some
                    count += 1
            may = _next(setup, Y, y)
        if not _next(setup, X, x):
            order = np.argsort(some.steps[:count])
            sides = some.over[order], some.reach[order], some.axes[order]
            return True, Unrolled(sides[0], sides[1], sides[2], some.steps[order])
