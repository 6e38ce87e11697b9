"""Extents that tiles of a layer may have, in whole numbers, and the rows that blocks of tiles read:
compiled (docs/explanation/bounds_proofs.md, lemma 17)."""

from typing import NamedTuple

import numpy as np

from archloom.evaluators.jit import allocating, helper
from archloom.evaluators.loopnest import DILATION, PADDING, SIZE, STRIDE, diagonals
from archloom.space.workload import N, P, Q, R, S

from ...arrays import Floats, Ints
from ..layer_work import OF_KERNEL, OF_OUTPUTS, REAL, inside_taps


class Extents(NamedTuple):
    """Extents that tiles of a layer may have: of those that make as many tiles the smallest.

    Attributes:
        places: int64[8], how many of each dimension.
        size: int64[8, M], the extents, the largest first.
        tiles: float64[8, M], tiles that such extents make of a dimension.
        rows: float64[2, 2, 2, M]: padded or real; blocks of outputs or of the kernel; along rows or
            columns; by place of the extent of the block: rows that all blocks read together.
    """

    places: Ints
    size: Ints
    tiles: Floats
    rows: Floats


@helper
def _clipped(first: int, last: int, size: int) -> int:
    """Rows from the first to the last that the map has."""
    return max(0, min(last, size - 1) - max(first, 0) + 1)


@helper
def _rows_of_outputs(bounds: Ints, axis: int, window: Ints, tile: int, real: bool) -> float:
    """Rows that blocks of so many outputs with all taps read together."""
    outputs, taps = bounds[P + axis], bounds[R + axis]
    stride, dilation = window[axis, STRIDE], window[axis, DILATION]
    total, first = 0, 0
    while first < outputs:
        some = min(tile, outputs - first)
        if real:
            # a buffer is filled with boxes: rows between outputs that nothing reads come too
            at = first * stride - window[axis, PADDING]
            total += _clipped(at, at + (some - 1) * stride + taps - 1, window[axis, SIZE])
        else:
            total += diagonals(some, stride, taps, dilation)
        first += tile
    return float(total)


@helper
def _rows_of_taps(bounds: Ints, axis: int, window: Ints, tile: int, real: bool) -> float:
    """Rows that blocks of so many taps with all outputs read together."""
    outputs, taps = bounds[P + axis], bounds[R + axis]
    stride, dilation, size = window[axis, STRIDE], window[axis, DILATION], window[axis, SIZE]
    total, first = 0, 0
    while first < taps:
        some = min(tile, taps - first)
        if not real:
            total += diagonals(outputs, stride, some, dilation)
        else:
            at = first - window[axis, PADDING]
            if some >= stride:
                total += _clipped(at, at + (outputs - 1) * stride + some - 1, size)
            else:
                for p in range(outputs):
                    total += _clipped(at + p * stride, at + p * stride + some - 1, size)
        first += tile
    return float(total)


@helper
def _read(bounds: Ints, window: Ints, d: int, tile: int, real: int) -> float:
    """Rows or columns that blocks of so many outputs, or taps, read together."""
    axis = (d - P) & 1
    if real == REAL and window[axis, DILATION] > 1:
        return float(inside_taps(bounds[P + axis], bounds[R + axis], window[axis])[1])
    if d <= Q:
        return _rows_of_outputs(bounds, axis, window, tile, real == REAL)
    return _rows_of_taps(bounds, axis, window, tile, real == REAL)


@helper
def undilated(bounds: Ints, window: Ints) -> bool:
    """Whether the taps of a window are neighbours; lemma 17 is of such layers."""
    rows, columns = bounds[R] > 1, bounds[S] > 1
    return not ((rows and window[0, DILATION] > 1) or (columns and window[1, DILATION] > 1))


@allocating
def extents_of(bounds: Ints, window: Ints) -> Extents:
    """Return the extents that tiles of a layer may have."""
    most = 0
    for d in range(8):
        most = max(most, bounds[d])
    room = 2 * int(np.sqrt(float(most))) + 2
    count, size = np.zeros(8, np.int64), np.ones((8, room), np.int64)
    tiles, rows = np.ones((8, room)), np.full((2, 2, 2, room), np.inf)
    for d in range(8):
        extent = bounds[d]
        while extent:
            i, number = count[d], -(-bounds[d] // extent)
            # the smallest that makes as many tiles
            size[d, i] = -(-bounds[d] // number)
            # images may run in parts of any size, and so count in fractions
            tiles[d, i] = bounds[d] / extent if d == N else number
            count[d] += 1
            while extent >= size[d, i]:
                for real in range(2 if d >= P else 0):
                    of = rows[real, OF_OUTPUTS if d <= Q else OF_KERNEL, (d - P) & 1]
                    of[i] = min(of[i], _read(bounds, window, d, extent, real))
                extent -= 1
    return Extents(count, size, tiles, rows)
