"""Tiles of a buffer, one dimension after another: what fits, and what still might: compiled."""

import numpy as np

from archloom.evaluators import Ints
from archloom.evaluators.bounds import Design
from archloom.evaluators.jit import helper
from archloom.evaluators.loopnest import (
    DILATION,
    INPUT_DIMS,
    OUTPUT_DIMS,
    STRIDE,
    WEIGHT_DIMS,
)
from archloom.space.workload import INPUTS, WEIGHTS, C, G, K, N, P, Q, R, S

from ..mesh_steps import fewer_steps


@helper
def _box(window: Ints, axis: int, outputs: int, taps: int) -> int:
    """Return the rows, or columns, of inputs that a tile reads."""
    stride, dilation = window[axis, STRIDE], window[axis, DILATION]
    return int((outputs - 1) * stride + (taps - 1) * dilation + 1)


@helper
def _words(window: Ints, tile: Ints, t: int) -> float:
    """Return the words of a tensor in a tile."""
    if t == WEIGHTS:
        return float(tile[G] * tile[K] * tile[C] * tile[R] * tile[S])
    if t == INPUTS:
        box = _box(window, 0, tile[P], tile[R]) * _box(window, 1, tile[Q], tile[S])
        return float(tile[N] * tile[G] * tile[C] * box)
    return float(tile[N] * tile[G] * tile[K] * tile[P] * tile[Q])


@helper
def fits_in(design: Design, level: int, window: Ints, tile: Ints) -> bool:
    """Whether a tile fits one buffer of a level."""
    used = 0.0
    for t in range(3):
        if design.must[level, t] and design.tiled[level, t]:
            units = _words(window, tile, t) * design.unit[level, t]
            used += units
            if units > design.private[level, t]:
                return False
    return bool(used <= design.shared[level])


@helper
def _depends(t: int, d: int) -> bool:
    """Whether a tensor has more words for a longer tile, at least in proportion."""
    dims = WEIGHT_DIMS if t == WEIGHTS else (INPUT_DIMS if t == INPUTS else OUTPUT_DIMS)
    # a window of inputs grows by less
    return bool(dims >> d & 1) and not (t == INPUTS and P <= d <= S)


@helper
def largest_in(design: Design, level: int, window: Ints, tile: Ints, d: int) -> int:
    """Return an extent that no tile exceeds which fits and has the others of ``tile``."""
    most = np.inf
    for t in range(3):
        if design.must[level, t] and design.tiled[level, t] and _depends(t, d):
            units = _words(window, tile, t) * design.unit[level, t] / tile[d]
            most = min(most, min(design.private[level, t], design.shared[level]) / units)
    return int(min(most * (1 + 1e-9), 2.0**40))


@helper
def next_extent(extent: int, most: int, few: bool) -> int:
    """Return the next of the extents, 0 before the first: of those that leave as many steps, only
    the shortest if ``few`` are enough."""
    if extent == 0:
        return 1
    return int(fewer_steps(most, extent)) if few else extent + 1
