"""The fewest steps that a nest takes whose factors divide its bounds, or need not.

Axes on which the same dimensions may be unrolled count as one of all their children, which only
permits more.
"""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators import Floats, Ints
from archloom.evaluators.bounds import ROUNDING
from archloom.evaluators.jit import compiled, descending, fill_row, helper
from archloom.evaluators.loopnest import KernelInputs

#: axes that are told apart, ways to unroll one dimension, and partial choices that are looked at
AXES: Final = 3
_WAYS: Final = 4096
_LOOKS: Final = 5_000


class Meshes(NamedTuple):
    """Children of each group of axes, ``children[AXES]``, and ``open[AXES, 8]``, whether a
    dimension may be unrolled over it; ``bounds[8]`` without what is unrolled in every mapping;
    ``exact``, whether factors must divide them.
    """

    children: Ints
    open: Ints
    bounds: Ints
    exact: bool


def meshes_of(setup: KernelInputs, exact: bool) -> Meshes | None:
    """Return the groups of axes of a setup; None if there are too many kinds of them.

    With ``exact`` factors each axis is a group of its own, if there are few: no divisor may be near
    the number of all children.
    """
    fixed = setup.fixed
    bounds = -(-setup.bounds // fixed.prod(axis=(0, 1)))
    left = setup.fanout // fixed.prod(axis=2)
    open_to = ((setup.spatial > 0) & (bounds > 1)).reshape(-1, 8).astype(np.int64)
    (axes,) = np.nonzero((left.reshape(-1) > 1) & open_to.any(axis=1))
    kinds: dict[tuple[int, bytes], tuple[int, Ints]] = {}
    for axis in axes.tolist():
        free = open_to[axis]
        kind = axis if exact and len(axes) <= AXES else 0, free.tobytes()
        kinds[kind] = kinds.get(kind, (1, free))[0] * int(left.reshape(-1)[axis]), free
    if len(kinds) > AXES:
        return None
    children, can = np.ones(AXES, np.int64), np.zeros((AXES, 8), np.int64)
    for i, (count, free) in enumerate(kinds.values()):
        children[i], can[i] = min(count, 2**40), free
    return Meshes(children, can, bounds.astype(np.int64), exact)


@helper
def fewer_steps(rest: int, factor: int) -> int:
    """The next factor that leaves fewer steps of ``rest`` than ``factor`` does."""
    steps = (rest + factor - 1) // factor
    if steps == 1:
        return rest + 1
    return (rest + steps - 2) // (steps - 1)


@helper
def _next(rest: int, factor: int, exact: bool) -> int:
    """The next divisor of ``rest``, or factor of any size that leaves fewer steps."""
    if not exact:
        return int(fewer_steps(rest, factor))
    factor += 1
    while factor <= rest and rest % factor != 0:
        factor += 1
    return factor


@helper
def _most(meshes: Meshes, axes: int, d: int) -> int:
    return min(meshes.children[axes], meshes.bounds[d]) if meshes.open[axes, d] else 1


@helper
def _ways(meshes: Meshes, d: int, ways: Ints) -> int:
    """Fill ``ways[n, 4]``: factors over each group of axes, and the steps that they leave; return
    n, or more than there is room for.
    """
    bound, exact, count = meshes.bounds[d], meshes.exact, 0
    first, second, third = _most(meshes, 0, d), _most(meshes, 1, d), _most(meshes, 2, d)
    # two factors may share a dimension in any way, the last one is the least that does
    one = 1
    while one <= first:
        rest = (bound + one - 1) // one
        two = 1
        while two <= min(second, rest):
            left = (rest + two - 1) // two
            three = 1
            while three <= min(third, left):
                if count == ways.shape[0]:
                    return count + 1
                ways[count, 0], ways[count, 1], ways[count, 2] = one, two, three
                ways[count, 3] = (left + three - 1) // three
                count += 1
                three = _next(left, three, exact)
            two = two + 1 if third > 1 and not exact else _next(rest, two, exact)
        one = one + 1 if second * third > 1 and not exact else _next(bound, one, exact)
    return count


@helper
def _left(meshes: Meshes, used: Ints, i: int, way: Ints) -> float:
    """Children that are left after one more dimension; 0 if it does not fit."""
    left = 1.0
    for a in range(AXES):
        used[i + 1, a] = used[i, a] * way[a]
        if used[i + 1, a] > meshes.children[a]:
            return 0.0
        left *= meshes.children[a] / used[i + 1, a]
    return left


@compiled(brief=True)
def least_steps(meshes: Meshes, covers: Ints, steps: Floats, enough: float) -> float:
    """Return steps that no nest takes less than, whatever its factors.

    Fills ``covers[n, 8]``, bounds that factors multiply to in choices of few steps, and
    ``steps[n]`` those, ascending; infinite where there are no more choices. It looks no further
    once all of these take no more than ``enough``.
    """
    order = descending(meshes.bounds)
    ways, counts = np.empty((8, _WAYS, 4), np.int64), np.ones(8, np.int64)
    fill_row(steps, np.inf)
    for i in range(8):
        d = order[i]
        fill_row(ways[i, 0], 1)
        ways[i, 0, 3] = meshes.bounds[d]
        if meshes.bounds[d] > 1:
            counts[i] = _ways(meshes, d, ways[i])
            if counts[i] > _WAYS:
                return 0.0
    # what is left to do of the dimensions that come later
    later = np.ones(9)
    for i in range(7, -1, -1):
        later[i] = later[i + 1] * meshes.bounds[order[i]]
    at, used, done = np.full(8, -1), np.ones((9, AXES), np.int64), np.ones(9)
    i, looks, unseen = 0, 0, np.inf
    while i >= 0:
        at[i] += 1
        if at[i] == counts[i]:
            at[i] = -1
            i -= 1
            continue
        way = ways[i, counts[i] - 1 - at[i]]
        done[i + 1] = done[i] * way[3]
        least = done[i + 1] * max(1.0, later[i + 1] / _left(meshes, used, i, way))
        if least >= steps[-1]:
            continue
        looks += 1
        if looks > _LOOKS:
            unseen = min(unseen, least)
            continue
        if i < 7:
            i += 1
            continue
        _enter(order, ways, counts, at, done[8], covers, steps)
        if steps[-2] <= enough:
            return 0.0
    # steps are whole numbers, what was not looked at is a quotient
    return np.ceil(min(unseen * (1.0 - ROUNDING), steps[0]))


@helper
def _enter(
    order: Ints, ways: Ints, counts: Ints, at: Ints, done: float, covers: Ints, steps: Floats
) -> None:
    """Put what a choice covers in its place, if it is new there."""
    last = covers.shape[0] - 1
    for i in range(8):
        way = ways[i, counts[i] - 1 - at[i]]
        covers[last, order[i]] = way[0] * way[1] * way[2] * way[3]
    steps[last] = done
    for j in range(last):
        same = steps[j] == done
        for d in range(8):
            same = same and covers[j, d] == covers[last, d]
        if same:
            steps[last] = np.inf
            return
    j = last
    while j > 0 and steps[j] < steps[j - 1]:
        steps[j], steps[j - 1] = steps[j - 1], steps[j]
        for d in range(8):
            covers[j, d], covers[j - 1, d] = covers[j - 1, d], covers[j, d]
        j -= 1
