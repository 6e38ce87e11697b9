"""All mappings of a small problem, factors of any size: what is left is the best, with a proof.

Of the orders of a level those are looked at that theorem 2 of docs/explanation/mapping_proofs.md
leaves; it holds for edge tiles as well (theorem 10).
"""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators import Flags, Floats, Ints
from archloom.evaluators.jit import compiled, descending, helper
from archloom.evaluators.loopnest import (
    INPUT_DIMS,
    ORDER,
    OUTPUT_DIMS,
    SPATIAL_X,
    SPATIAL_Y,
    STRIDE,
    TEMPORAL,
    VALID,
    WEIGHT_DIMS,
    KernelInputs,
    X,
    Y,
    extents,
    fits,
)
from archloom.evaluators.loopnest.imperfect import ImperfectRoom
from archloom.space.workload import K, P, Q, R, S

from ..objectives import score_in_batch
from .mesh_steps import fewer_steps
from .trial import Trial, copy_mapping, cover, price

#: factors of one dimension that are listed at most, and partial mappings for each one priced
_CHAINS: Final = 1024
_LOOKS: Final = 4


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
def smallest_from(setup: KernelInputs, d: int) -> int:
    """The first place from which on, of two loops over time that leave the same number of steps,
    the shorter one costs no more.

    Both leave the same tiles inside, one after another, and only the sizes of tiles outside differ.
    Where children share these, a longer loop may leave the last step a shorter tile than the other
    steps: 13 rows as 6, 6, 1 take two children 7 rows of time, as 5, 5, 3 they take 8. And windows
    of rows and columns share words; how many depends on where tiles are cut.
    """
    levels = setup.fanout.shape[0]
    slides = setup.within[d] > 0 or d in (R, S)
    for axis, (output, tap) in enumerate(((P, R), (Q, S))):
        slides = slides or (d == output and setup.bounds[tap] * setup.window[axis, STRIDE] > 1)
    if slides:
        return 3 * levels
    for level in range(levels - 1, -1, -1):
        for axis in range(2):
            if setup.spatial[level, axis, d] and setup.fanout[level, axis] > 1:
                # the loop over time of a level stands outside its children
                return 3 * level + 2
    return 0


@helper
def _list_chains(setup: KernelInputs, d: int, trial: Ints, value: Ints, chains: Ints) -> int:
    """Fill ``chains[n, L, 3]`` with all factors of a dimension that cover its bound and no step
    more, as far as they may be best; return n, or more than there is room for. ``trial`` and
    ``value`` are scratch space.
    """
    smallest = smallest_from(setup, d)
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
        factor = value[level, kind, d]
        value[level, kind, d] = (
            fewer_steps(rest, factor) if place >= smallest and factor > 0 else factor + 1
        )
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
def set_order(loops: Ints, level: int, number: int) -> bool:
    """Set one of the orders of a level that are worth a look; False if there are no more."""
    present = 0
    for d in range(8):
        if loops[level, TEMPORAL, d] > 1:
            present |= 1 << d
    seen = 0
    # of the innermost level, or of one loop, no order matters
    if level > 0 and present & (present - 1) != 0:
        for t in range(2):
            free = present & ~(WEIGHT_DIMS if t == 0 else OUTPUT_DIMS)
            for d in range(8):
                if free >> d & 1:
                    if seen == number:
                        _put_order(loops, level, d, -1, free)
                        return True
                    seen += 1
        # inputs stay while K runs, then the first loop that moves them tells what windows share
        moving = present & INPUT_DIMS if present >> K & 1 else 0
        for d in range(8):
            if moving >> d & 1:
                if seen == number:
                    _put_order(loops, level, K, d, 0)
                    return True
                seen += 1
    if seen == 0 and number == 0:
        # nothing can stay: no order is better than another
        _put_order(loops, level, 0, -1, 0xFF)
        return True
    return False


@helper
def _price_orders(setup: KernelInputs, trial: Trial, room: ImperfectRoom, at: Ints) -> int:
    """Price all orders of one tiling and keep the best; return how many."""
    loops, levels, priced = trial.tried, trial.tried.shape[0], 0
    for level in range(levels):
        at[level] = 0
        set_order(loops, level, 0)
    level = 0
    while level < levels:
        score = price(setup, loops, trial.tried_keep, room)
        priced += 1
        if score == np.inf:
            return priced
        if score < trial.score[0]:
            copy_mapping(loops, trial.tried_keep, trial.best, trial.best_keep)
            trial.score[0] = score
        level = 0
        while level < levels:
            at[level] += 1
            if set_order(loops, level, at[level]):
                break
            at[level] = 0
            set_order(loops, level, 0)
            level += 1
    return priced


@helper
def _leave_out(loops: Ints, d: int) -> None:
    """Leave a dimension without steps."""
    for level in range(loops.shape[0]):
        for kind in range(ORDER):
            loops[level, kind, d] = 1


@helper
def _may_be_better(
    setup: KernelInputs,
    trial: Trial,
    chosen: int,
    order: Ints,
    floor: Floor,
    room: ImperfectRoom,
) -> bool:
    """Whether a mapping whose first ``chosen`` dimensions are given, the others left out, fits
    meshes and buffers, and may be better than the best.
    """
    loops = trial.tried
    extents(loops, room.spread, room.cum)
    # what is chosen later only makes tiles larger
    if fits(setup, loops, trial.tried_keep, room.cum) != VALID:
        return False
    steps, children = 1.0, 1.0
    for level in range(loops.shape[0]):
        for axis in range(2):
            used = 1
            for i in range(chosen):
                used *= loops[level, SPATIAL_X + axis, order[i]]
            children *= setup.fanout[level, axis] // used
    rest = 1.0
    for i in range(8):
        d = order[i]
        if i >= chosen:
            rest *= setup.bounds[d]
            continue
        spread = 1
        for level in range(loops.shape[0]):
            spread *= room.spread[level, d]
        # a step covers as many indices as are unrolled at most
        steps *= (setup.bounds[d] + spread - 1) // spread
    steps *= max(1.0, rest / children * (1.0 - floor.least[2]))
    cycles = max(floor.least[1], np.floor(steps * setup.busy))
    least = floor.least[0]
    score = score_in_batch(setup.weights, setup.leakage_pj, least, cycles)
    return bool(score < trial.score[0])


class Listed(NamedTuple):
    """All factors of each dimension: ``chains[8, n, L, 3]``, ``counts[8]`` of them, and the
    ``order[8]`` in which dimensions are gone through; ``at[8]`` and ``ways[L]`` are scratch space.
    """

    chains: Ints
    counts: Ints
    order: Ints
    at: Ints
    ways: Ints


@helper
def _count_orders(loops: Ints, most: int) -> int:
    """How many orders of a tiling are priced, or more than so many."""
    count = 1
    for level in range(loops.shape[0]):
        ways = 0
        while count * ways <= most and set_order(loops, level, ways):
            ways += 1
        count *= ways
    return count


@helper
def _go_through(
    setup: KernelInputs,
    trial: Trial,
    room: ImperfectRoom,
    floor: Floor,
    listed: Listed,
    most: int,
    pricing: bool,
) -> tuple[bool, int]:
    """Price all mappings that keep what ``trial.tried_keep`` says, as far as they may be better, or
    count them; whether these were all, and how many there were."""
    found, looks, i, at = 0, 0, 0, listed.at
    for d in range(8):
        at[d] = -1
        _leave_out(trial.tried, d)
    while i >= 0:
        if i == 8:
            if pricing:
                found += _price_orders(setup, trial, room, listed.ways)
            else:
                found += _count_orders(trial.tried, most)
            i -= 1
            continue
        d = listed.order[i]
        at[i] += 1
        if at[i] == listed.counts[d]:
            at[i] = -1
            i -= 1
            _leave_out(trial.tried, d)
            continue
        looks += 1
        if found > most or looks > (most + 1) * _LOOKS:
            return False, found
        for level in range(trial.tried.shape[0]):
            for kind in range(ORDER):
                trial.tried[level, kind, d] = listed.chains[d, at[i], level, kind]
        if _may_be_better(setup, trial, i + 1, listed.order, floor, room):
            i += 1
    return True, found


@helper
def _keep(setup: KernelInputs, keep: Flags, way: int) -> bool:
    """Set one of the ways to keep tensors; False if there are no more."""
    for level in range(keep.shape[0]):
        for t in range(3):
            keep[level, t] = setup.allowed[level, t]
            if setup.optional[level, t]:
                keep[level, t] = way & 1
                way >>= 1
    return way == 0


@compiled(brief=True)
def enumerate_all(
    setup: KernelInputs, trial: Trial, room: ImperfectRoom, floor: Floor, most: int
) -> bool:
    """Price all mappings that may be better than the best of ``trial``, and keep that up to date.

    Returns whether it did: not if there are more than ``most`` of them, or too many to count.
    """
    levels = trial.tried.shape[0]
    chains, counts = np.empty((8, _CHAINS, levels, 3), np.int64), np.zeros(8, np.int64)
    other = np.empty_like(trial.tried)
    for d in range(8):
        counts[d] = _list_chains(setup, d, trial.tried, other, chains[d])
        if counts[d] > _CHAINS:
            return False
    scratch = np.zeros(8, np.int64), np.zeros(levels, np.int64)
    listed = Listed(chains, counts, descending(counts), scratch[0], scratch[1])
    # none is priced before it is known that all will be
    for pricing in (False, True):
        found, way = 0, 0
        while _keep(setup, trial.tried_keep, way):
            left = most - found
            ended, some = _go_through(setup, trial, room, floor, listed, left, pricing)
            found, way = found + some, way + 1
            if not ended or found > most:
                return False
    return True
