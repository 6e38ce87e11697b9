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
        axes: int64[n, 2, 8], along each axis.
        steps: float64[n], that a mapping takes at the least then.
    """

    over: Ints
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
def _known(over: Ints, count: int) -> bool:
    """Whether what stands at ``over[count]`` stands before it, too."""
    for n in range(count):
        same = True
        for d in range(8):
            same = same and over[n, d] == over[count, d]
        if same:
            return True
    return False


@helper
def _multiply(setup: KernelInputs, axes: Ints, at: int, over: Ints) -> bool:
    """Set what both axes unroll together; whether they may."""
    for d in range(8):
        along_x, along_y = axes[at, X, d], axes[at, Y, d]
        if along_x > 1 and along_y > 1 and setup.both_axes == 0:
            return False
        over[at, d] = along_x * along_y
    return True


@allocating
def unrolled(setup: KernelInputs, most: float) -> tuple[bool, Unrolled]:
    """Return whether these are all that take ``most`` steps or fewer, and what a mesh may unroll.

    What is the same of each dimension, along whichever axis, is there once.
    """
    over, axes, steps = (
        np.ones((MOST + 1, 8), np.int64),
        np.ones((MOST + 1, 2, 8), np.int64),
        np.empty(MOST + 1),
    )
    count, across = 0, float(setup.fanout[MESH, Y])
    x, y = np.ones(8, np.int64), np.ones(8, np.int64)
    while True:
        # the other axis saves no more steps than it has children
        may = steps_of(setup.bounds, x) <= most * across
        y[:] = 1
        while may:
            for d in range(8):
                axes[count, X, d], axes[count, Y, d] = x[d], y[d]
            if _multiply(setup, axes, count, over):
                steps[count] = steps_of(setup.bounds, over[count])
                if steps[count] <= most and not _known(over, count):
                    if count == MOST:
                        return False, Unrolled(over[:0], axes[:0], steps[:0])
                    count += 1
            may = _next(setup, Y, y)
        if not _next(setup, X, x):
            order = np.argsort(steps[:count])
            return True, Unrolled(over[order], axes[order], steps[order])
