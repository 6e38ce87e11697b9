"""Rows and columns of the array of a PE that unrolled factors can take up."""

from itertools import product

import numpy as np

from archloom.evaluators import Flags, Ints
from archloom.evaluators.jit import allocating, helper
from archloom.evaluators.loopnest import (
    ARRAY_COLUMNS,
    ARRAY_LEVELS,
    ARRAY_ROWS,
    NO_FILL,
    SPATIAL_X,
    SPATIAL_Y,
    TEMPORAL,
    KernelInputs,
    X,
    Y,
    array_cycles,
)
from archloom.search.mapping.exact.subproblem import ArrayFill, Subproblem

from .mesh_packing import may_stand
from .unrollings import axis_factors

#: products along x: a number up to 10^9 has fewer divisors
_ROOM = 2048


@helper
def _add(found: Ints, count: int, number: int) -> int:
    """Add a number to ``count`` different ones; return how many there are then."""
    for i in range(count):
        if found[i] == number:
            return count
    found[count] = number
    return count + 1


@helper
def _along_x(setup: KernelInputs, level: int, spread: Ints, found: Ints, other: Ints) -> int:
    """Fill products of factors that a level may unroll along x, of ``spread[8]`` in all; return
    how many. ``other`` is scratch space.
    """
    count, whole = 1, 1
    found[0] = 1
    for d in range(8):
        whole *= spread[d]
        if spread[d] == 1:
            continue
        before = count
        for i in range(before):
            other[i] = found[i]
        count = 0
        for factor in range(1, spread[d] + 1):
            rest = spread[d] // factor
            if factor * rest != spread[d] or not may_stand(setup, level, d, factor, rest):
                continue
            for i in range(before):
                if other[i] * factor <= setup.fanout[level, X]:
                    count = _add(found, count, other[i] * factor)
    kept = 0
    for i in range(count):
        if whole // found[i] <= setup.fanout[level, Y]:
            found[kept] = found[i]
            kept += 1
    return kept


@helper
def _is_worse(shapes: Ints, i: int) -> bool:
    """Whether another shape has no more rows and columns; of equal ones all but the first."""
    for j in range(shapes.shape[0]):
        no_more = shapes[j, 0] <= shapes[i, 0] and shapes[j, 1] <= shapes[i, 1]
        less = shapes[j, 0] < shapes[i, 0] or shapes[j, 1] < shapes[i, 1]
        if no_more and (less or j < i):
            return True
    return False


@allocating
def array_of(setup: KernelInputs, subproblem: Subproblem, steps: int) -> ArrayFill:
    """Return the array as a subproblem of so many steps uses it."""
    if setup.fill_drain == NO_FILL:
        return ArrayFill(setup.fill_drain, np.ones((1, 2), np.int64), steps)
    columns, before = np.empty(_ROOM, np.int64), np.empty(_ROOM, np.int64)
    here, other = np.empty(_ROOM, np.int64), np.empty(_ROOM, np.int64)
    count, whole = 1, 1
    columns[0] = 1
    for level in range(setup.array[ARRAY_LEVELS]):
        spread = subproblem.spread[level]
        many = _along_x(setup, level, spread, here, other)
        for d in range(8):
            whole *= spread[d]
        last = count
        for i in range(last):
            before[i] = columns[i]
        count = 0
        for i in range(last):
            for j in range(many):
                count = _add(columns, count, before[i] * here[j])
    shapes, kept = np.empty((count, 2), np.int64), 0
    for i in range(count):
        # what is more than the array has stands in other arrays
        shapes[i, 0] = min(whole // columns[i], setup.array[ARRAY_ROWS])
        shapes[i, 1] = min(columns[i], setup.array[ARRAY_COLUMNS])
    for i in range(count):
        if not _is_worse(shapes, i):
            columns[kept] = i
            kept += 1
    found = np.empty((kept, 2), np.int64)
    for i in range(kept):
        found[i, 0], found[i, 1] = shapes[columns[i], 0], shapes[columns[i], 1]
    return ArrayFill(setup.fill_drain, found, steps)


def set_array_axes(setup: KernelInputs, loops: Ints, keep: Flags) -> None:
    """Share what ``loops[L, 4, 8]`` unroll inside the array among rows and columns so that it
    fills and drains in the fewest cycles.
    """
    levels = int(setup.array[ARRAY_LEVELS])
    if setup.fill_drain == NO_FILL or not levels:
        return
    steps, least = int(loops[:, TEMPORAL].prod()), np.inf
    whole = loops[:, SPATIAL_X] * loops[:, SPATIAL_Y]
    best = loops[:levels, [SPATIAL_X, SPATIAL_Y]].copy()
    for ways in product(*(_ways(setup, level, whole[level]) for level in range(levels))):
        for level, x in enumerate(ways):
            loops[level, SPATIAL_X], loops[level, SPATIAL_Y] = x, whole[level] // np.array(x)
        cycles = array_cycles(setup.fill_drain, setup.array, loops, keep, steps)
        if cycles < least:
            least, best = cycles, loops[:levels, [SPATIAL_X, SPATIAL_Y]].copy()
    loops[:levels, SPATIAL_X], loops[:levels, SPATIAL_Y] = best[:, 0], best[:, 1]


def _ways(setup: KernelInputs, level: int, spread: Ints) -> list[tuple[int, ...]]:
    """Return factors along x, one way for each of their products."""
    width, height = setup.fanout[level].tolist()
    found: dict[int, tuple[int, ...]] = {1: ()}
    for d, whole in enumerate(spread.tolist()):
        more: dict[int, tuple[int, ...]] = {}
        for taken, factors in found.items():
            for factor in axis_factors(setup, level, d, whole):
                if taken * factor <= width:
                    more.setdefault(taken * factor, (*factors, factor))
        found = more
    whole = int(spread.prod())
    return [factors for taken, factors in found.items() if whole // taken <= height]
