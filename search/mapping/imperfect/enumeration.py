"""All mappings of a small problem, factors of any size: what is left is the best, with a proof.

Of the orders of a level those are looked at that theorem 2 of docs/exact_mapping.md leaves; it
holds for edge tiles as well (theorem 10).
"""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators import Flags, Floats, Ints
from archloom.evaluators.jit import compiled, helper
from archloom.evaluators.loopnest import (
    INPUT_DIMS,
    ORDER,
    OUTPUT_DIMS,
    SPATIAL_X,
    SPATIAL_Y,
    TEMPORAL,
    WEIGHT_DIMS,
    ImperfectRoom,
    KernelInputs,
    X,
    Y,
)

from ..objectives import score_in_batch
from .walk import Walk, copy_mapping, cover, price

#: factors of one dimension that are listed at most, and partial mappings for each one priced
_CHAINS: Final = 1024
_LOOKS: Final = 64

#: orders of one level at most
_ORDERS: Final = 24

#: how it ended
ALL_SEEN, TOO_MANY = range(2)


class Floor(NamedTuple):
    """What every mapping costs at least: ``least[3]`` are dynamic pJ, cycles, and the slack of
    their rounding.
    """

    least: Floats


@helper
def _slot(place: int) -> tuple[int, int]:
    """Level and kind of a place: from the inside out x, y and time of each level."""
    kind = place % 3
    return place // 3, SPATIAL_X if kind == 0 else (SPATIAL_Y if kind == 1 else TEMPORAL)


@helper
def _most(setup: KernelInputs, chain: Ints, place: int, d: int, rest: int) -> int:
    """The most that the factor at a place may be, if ``rest`` steps are left; 0 for the place that
    takes what the others leave.
    """
    level, kind = _slot(place)
    if kind == TEMPORAL:
        if level == (0 if setup.within[d] else chain.shape[0] - 1):
            return 0
        return 1 if setup.within[d] else rest
    axis = X if kind == SPATIAL_X else Y
    if not setup.spatial[level, axis, d]:
        return 1
    if kind == SPATIAL_Y and setup.both_axes == 0 and chain[level, SPATIAL_X, d] > 1:
        return 1
    return min(rest, setup.fanout[level, axis])


@helper
def _list_chains(setup: KernelInputs, d: int, trial: Ints, value: Ints, chains: Ints) -> int:
    """Fill ``chains[n, L, 3]`` with all factors of a dimension that cover its bound and no step
    more; return n, or more than there is room for. ``trial`` and ``value`` are scratch space.
    """
    count, place, places = 0, 0, 3 * trial.shape[0]
    for level in range(trial.shape[0]):
        for kind in range(ORDER):
            trial[level, kind, d], value[level, kind, d] = 1, 0
    # the factor at each place counts up from 0, which says that it was not chosen
    while place >= 0:
        if place == places:
            if _covers(setup, d, trial, value):
                if count == chains.shape[0]:
                    return count + 1
                for level in range(trial.shape[0]):
                    for kind in range(ORDER):
                        chains[count, level, kind] = trial[level, kind, d]
                count += 1
            place -= 1
            continue
        level, kind = _slot(place)
        inside = 1
        for p in range(place):
            v, k = _slot(p)
            inside *= value[v, k, d]
        rest = (setup.bounds[d] + inside - 1) // inside
        value[level, kind, d] += 1
        if value[level, kind, d] > max(1, _most(setup, value, place, d, rest)):
            value[level, kind, d] = 0
            place -= 1
        else:
            place += 1
    return count


@helper
def _covers(setup: KernelInputs, d: int, trial: Ints, value: Ints) -> bool:
    """Let the outermost loop over time take the steps that are left; whether none is too many."""
    levels = trial.shape[0]
    for level in range(levels):
        for kind in range(ORDER):
            trial[level, kind, d] = value[level, kind, d]
    cover(setup, trial, d)
    for level in range(levels):
        for kind in range(ORDER):
            rest = kind == TEMPORAL and level == (0 if setup.within[d] else levels - 1)
            if not rest and trial[level, kind, d] != value[level, kind, d]:
                return False
    return True


@helper
def _put_order(loops: Ints, level: int, first: int, second: int, inner: int) -> None:
    """Order the loops of a level: one or two first, then those of the set ``inner``, the rest."""
    at = 0
    loops[level, ORDER, at] = first
    at += 1
    if second >= 0:
        loops[level, ORDER, at] = second
        at += 1
    for inside in range(2):
        for d in range(8):
            if d != first and d != second and (inner >> d & 1 == 1 - inside):
                loops[level, ORDER, at] = d
                at += 1


@helper
def _set_order(loops: Ints, level: int, number: int) -> bool:
    """Set one of the orders of a level that are worth a look; False if there are no more."""
    present = 0
    for d in range(8):
        if loops[level, TEMPORAL, d] > 1:
            present |= 1 << d
    if level == 0 or present & (present - 1) == 0:
        # of the innermost level, or of one loop, no order matters
        if number == 0:
            _put_order(loops, level, 0, -1, 0xFF)
        return number == 0
    seen = 0
    for t in range(2):
        free = present & ~(WEIGHT_DIMS if t == 0 else OUTPUT_DIMS)
        for d in range(8):
            if free >> d & 1:
                if seen == number:
                    _put_order(loops, level, d, -1, free)
                    return True
                seen += 1
    free = present & ~INPUT_DIMS
    for e in range(8):
        if free >> e & 1:
            for d in range(8):
                if (present & ~free) >> d & 1:
                    if seen == number:
                        _put_order(loops, level, e, d, free)
                        return True
                    seen += 1
    if seen == 0 and number == 0:
        # nothing can stay: no order is better than another
        _put_order(loops, level, 0, -1, 0xFF)
        return True
    return False


@helper
def _price_orders(setup: KernelInputs, walk: Walk, room: ImperfectRoom, at: Ints) -> int:
    """Price all orders of one tiling and keep the best; return how many."""
    loops, levels, priced = walk.tried, walk.tried.shape[0], 0
    for level in range(levels):
        at[level] = 0
        _set_order(loops, level, 0)
    level = 0
    while level < levels:
        score = price(setup, loops, walk.tried_keep, room)
        priced += 1
        if score == np.inf:
            return priced
        if score < walk.scores[1]:
            copy_mapping(loops, walk.tried_keep, walk.best, walk.best_keep)
            walk.scores[1] = score
        level = 0
        while level < levels:
            at[level] += 1
            if _set_order(loops, level, at[level]):
                break
            at[level] = 0
            _set_order(loops, level, 0)
            level += 1
    return priced


@helper
def _may_be_better(
    setup: KernelInputs, loops: Ints, chosen: int, order: Ints, floor: Floor, limit: float
) -> bool:
    """Whether a mapping whose first ``chosen`` dimensions are given fits the meshes, and may be
    below a score.
    """
    steps, children = 1.0, 1.0
    for level in range(loops.shape[0]):
        for axis in range(2):
            used = 1
            for i in range(chosen):
                used *= loops[level, SPATIAL_X + axis, order[i]]
            if used > setup.fanout[level, axis]:
                return False
            children *= setup.fanout[level, axis] // used
    rest = 1.0
    for i in range(8):
        d = order[i]
        if i >= chosen:
            rest *= setup.bounds[d]
            continue
        spread = 1
        for level in range(loops.shape[0]):
            spread *= loops[level, SPATIAL_X, d] * loops[level, SPATIAL_Y, d]
        # a step covers as many indices as are unrolled at most
        steps *= (setup.bounds[d] + spread - 1) // spread
    steps *= max(1.0, rest / children * (1.0 - floor.least[2]))
    cycles = max(floor.least[1], np.floor(steps * setup.busy))
    least = floor.least[0]
    score = score_in_batch(setup.weights, setup.leakage_pj, least, cycles)
    return bool(score < limit)


@compiled
def enumerate_all(
    setup: KernelInputs, walk: Walk, room: ImperfectRoom, floor: Floor, most: int
) -> tuple[int, int]:
    """Price all mappings that may be better than the best of ``walk``, and keep that up to date.

    Returns how it ended, and how many were priced: ``most`` or somewhat more if it gave up.
    """
    levels = walk.tried.shape[0]
    chains, counts = np.empty((8, _CHAINS, levels, 3), np.int64), np.zeros(8, np.int64)
    other, at_order = np.empty_like(walk.tried), np.zeros(levels, np.int64)
    for d in range(8):
        counts[d] = _list_chains(setup, d, walk.tried, other, chains[d])
        if counts[d] > _CHAINS:
            return TOO_MANY, 0
    order = np.argsort(-counts)
    bits, places = 0, np.zeros((3 * levels, 2), np.int64)
    for level in range(levels):
        for t in range(3):
            if setup.optional[level, t]:
                places[bits, 0], places[bits, 1] = level, t
                bits += 1
    priced, looks = 0, 0
    at = np.full(8, -1)
    for ways in range(1 << bits):
        for level in range(levels):
            for t in range(3):
                walk.tried_keep[level, t] = setup.allowed[level, t]
        for bit in range(bits):
            walk.tried_keep[places[bit, 0], places[bit, 1]] = ways >> bit & 1
        i = 0
        at[:] = -1
        while i >= 0:
            if i == 8:
                priced += _price_orders(setup, walk, room, at_order)
                i -= 1
                continue
            d = order[i]
            at[i] += 1
            if at[i] == counts[d]:
                at[i] = -1
                i -= 1
                continue
            looks += 1
            if priced > most or looks > most * _LOOKS:
                return TOO_MANY, priced
            for level in range(levels):
                for kind in range(ORDER):
                    walk.tried[level, kind, d] = chains[d, at[i], level, kind]
            if _may_be_better(setup, walk.tried, i + 1, order, floor, walk.scores[1]):
                i += 1
    return ALL_SEEN, priced
