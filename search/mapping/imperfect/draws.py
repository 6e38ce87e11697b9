"""Starts of descents, drawn at random: mappings of factors of any size that fit, or the best one
with parts of it drawn anew.

The numbers behind the shares below are assumptions: they were chosen for starts of all kinds, and
none was tuned.
"""

from typing import Final

import numpy as np

from archloom.evaluators import Flags, Ints, Words
from archloom.evaluators.jit import helper
from archloom.evaluators.loopnest import (
    ORDER,
    SPATIAL_X,
    SPATIAL_Y,
    TEMPORAL,
    VALID,
    KernelInputs,
    extents,
    fits,
)
from archloom.evaluators.loopnest.imperfect import ImperfectRoom

from ..random_numbers import below, uniform
from .trial import Trial, copy_mapping, cover

#: dimensions that a start unrolls on an axis at most
_UNROLLED: Final = 2

#: times that a factor is halved at most before a start is given up
_HALVED: Final = 256

#: share of the loops over time that have one step
_SINGLE: Final = 0.4

#: share of the axes that unroll as much of a dimension as they can
_FULL: Final = 0.5

#: share of the starts that keep what the best mapping keeps
_KEPT: Final = 0.5

#: one of so many starts near the best mapping has another axis, and one keeps other tensors
_PARTS: Final = 4


@helper
def _draw_orders(loops: Ints, rng: Words) -> None:
    """Draw the order of the loops of each level."""
    for level in range(loops.shape[0]):
        for d in range(8):
            loops[level, ORDER, d] = d
        for i in range(7, 0, -1):
            j = below(rng, i + 1)
            last = loops[level, ORDER, i]
            loops[level, ORDER, i] = loops[level, ORDER, j]
            loops[level, ORDER, j] = last


@helper
def _draw_axis(setup: KernelInputs, loops: Ints, level: int, axis: int, rng: Words) -> None:
    """Draw which dimensions an axis of a mesh unrolls, and by how much."""
    left = setup.fanout[level, axis]
    for _ in range(_UNROLLED):
        choices = 0
        for d in range(8):
            choices += int(_may_unroll(setup, loops, level, axis, d))
        if choices == 0 or left < 2:
            return
        which = below(rng, choices)
        for d in range(8):
            if not _may_unroll(setup, loops, level, axis, d):
                continue
            if which == 0:
                most = min(left, setup.bounds[d])
                loops[level, SPATIAL_X + axis, d] = (
                    most if uniform(rng) < _FULL else 1 + below(rng, most)
                )
                left //= loops[level, SPATIAL_X + axis, d]
                break
            which -= 1


@helper
def _may_unroll(setup: KernelInputs, loops: Ints, level: int, axis: int, d: int) -> bool:
    """Whether an axis may unroll a dimension that it does not unroll yet."""
    if setup.bounds[d] == 1 or not setup.spatial[level, axis, d]:
        return False
    if setup.both_axes == 0 and loops[level, SPATIAL_Y - axis, d] > 1:
        return False
    return bool(loops[level, SPATIAL_X + axis, d] == 1)


@helper
def _draw_times(setup: KernelInputs, loops: Ints, d: int, rng: Words) -> None:
    """Draw the loops over time of a dimension from the inside out."""
    levels, unrolled = loops.shape[0], 1
    for level in range(levels):
        unrolled *= loops[level, SPATIAL_X, d] * loops[level, SPATIAL_X + 1, d]
        loops[level, TEMPORAL, d] = 1
    rest = (setup.bounds[d] + unrolled - 1) // unrolled
    for level in range(levels - 1):
        if rest > 1 and uniform(rng) >= _SINGLE:
            steps = int(np.exp(uniform(rng) * np.log(rest)))
            loops[level, TEMPORAL, d] = steps
            rest = (rest + steps - 1) // steps
    cover(setup, loops, d)


@helper
def _shrunk(setup: KernelInputs, loops: Ints, rng: Words) -> bool:
    """Halve one of the loops over time inside; whether there was one."""
    levels, choices = loops.shape[0], 0
    for level in range(levels - 1):
        for d in range(8):
            choices += int(loops[level, TEMPORAL, d] > 1)
    if choices == 0:
        return False
    which = below(rng, choices)
    for level in range(levels - 1):
        for d in range(8):
            if loops[level, TEMPORAL, d] == 1:
                continue
            if which == 0:
                loops[level, TEMPORAL, d] //= 2
                cover(setup, loops, d)
                return True
            which -= 1
    return False


@helper
def _draw_keep(setup: KernelInputs, keep: Flags, rng: Words) -> None:
    """Draw which levels keep which tensors."""
    for level in range(keep.shape[0]):
        for t in range(3):
            keep[level, t] = setup.allowed[level, t]
            if setup.optional[level, t]:
                keep[level, t] = below(rng, 2)


@helper
def _fitted(setup: KernelInputs, loops: Ints, keep: Flags, rng: Words, room: ImperfectRoom) -> bool:
    """Shrink tiles until they fit; whether they do."""
    for _ in range(_HALVED):
        extents(loops, room.spread, room.cum)
        if fits(setup, loops, keep, room.cum) == VALID:
            return True
        if not _shrunk(setup, loops, rng):
            return False
    return False


@helper
def draw_start(
    setup: KernelInputs, trial: Trial, known: Flags, rng: Words, room: ImperfectRoom
) -> bool:
    """Draw the best mapping of a trial; whether it fits. Half of them keep what is known to."""
    loops, keep = trial.best, trial.best_keep
    _draw_orders(loops, rng)
    _draw_keep(setup, keep, rng)
    if uniform(rng) < _KEPT:
        for level in range(keep.shape[0]):
            for t in range(3):
                keep[level, t] = known[level, t]
    for level in range(loops.shape[0]):
        for kind in range(3):
            for d in range(8):
                loops[level, kind, d] = 1
    for level in range(loops.shape[0]):
        for axis in range(2):
            _draw_axis(setup, loops, level, axis, rng)
    for d in range(8):
        _draw_times(setup, loops, d, rng)
    return _fitted(setup, loops, keep, rng, room)


@helper
def change_start(
    setup: KernelInputs, known: Trial, trial: Trial, rng: Words, room: ImperfectRoom
) -> bool:
    """Draw parts of the best mapping that is known anew, for the best of a trial; whether it fits:
    the loops over time of one or two dimensions, and for some also an axis, or what is kept.
    """
    loops, keep = trial.best, trial.best_keep
    copy_mapping(known.best, known.best_keep, loops, keep)
    part, dims = below(rng, _PARTS), 0
    if part == 0:
        _change_axis(setup, loops, rng)
    elif part == 1:
        _draw_keep(setup, keep, rng)
    for d in range(8):
        dims += int(setup.bounds[d] > 1)
    for _ in range(1 + below(rng, 2)):
        which = below(rng, max(1, dims))
        for d in range(8):
            if setup.bounds[d] == 1:
                continue
            if which == 0:
                _draw_times(setup, loops, d, rng)
            which -= 1
    return _fitted(setup, loops, keep, rng, room)


@helper
def _change_axis(setup: KernelInputs, loops: Ints, rng: Words) -> None:
    """Draw what one axis of a mesh unrolls anew."""
    axes = 0
    for level in range(loops.shape[0]):
        for axis in range(2):
            axes += int(setup.fanout[level, axis] > 1)
    which = below(rng, max(1, axes))
    for level in range(loops.shape[0]):
        for axis in range(2):
            if setup.fanout[level, axis] == 1:
                continue
            if which == 0:
                for d in range(8):
                    loops[level, SPATIAL_X + axis, d] = 1
                _draw_axis(setup, loops, level, axis, rng)
            which -= 1
    for d in range(8):
        cover(setup, loops, d)
