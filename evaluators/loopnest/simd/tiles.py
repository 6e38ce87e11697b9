"""Tiles and what loops do to them, for many candidates at once: the geometry of
:mod:`archloom.evaluators.loopnest.data_reuse`.

Loops over a batch are straight arithmetic without exits. Floats count words exactly up to 2^53.
Of two loops of a level the one with the larger key is further out.
"""

from typing import Any, Final

import numpy as np

from archloom.evaluators.jit import helper
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, C, G, K, N, P, Q, R, S

from ...arrays import Floats, Ints
from ..data_reuse import (
    COLUMNS,
    DILATION,
    KERNEL_LOOP,
    NO_LOOP,
    OUTPUT_LOOP,
    ROWS,
    SPATIAL_X,
    SPATIAL_Y,
    STRIDE,
    TEMPORAL,
)
from .records import LANES

#: key of a loop that does not turn, and step of a window that does not slide: above all others
NEVER: Final = np.inf


@helper
def unroll(nest: Any, inner: Any, outer: Any, dims: Ints, spreads: bool) -> None:
    """Set how a level unrolls and moves the tile inside it, and the extents of its own."""
    for j in range(dims.shape[0]):
        d = dims[j]
        if spreads:
            for i in range(LANES):
                across = nest.factors[SPATIAL_X, d, i] * nest.factors[SPATIAL_Y, d, i]
                moved = inner.extent[d, i] * across
                inner.spread[d, i] = across
                inner.moved[d, i] = moved
                outer.extent[d, i] = moved * nest.factors[TEMPORAL, d, i]
        else:
            for i in range(LANES):
                moved = inner.extent[d, i]
                inner.moved[d, i] = moved
                outer.extent[d, i] = moved * nest.factors[TEMPORAL, d, i]


@helper
def measure(tile: Any, window: Any) -> None:
    """Set the words of a tile: bounding boxes, in which the holes of a stride count."""
    stride_rows, dilation_rows = window[ROWS, STRIDE], window[ROWS, DILATION]
    stride_columns, dilation_columns = window[COLUMNS, STRIDE], window[COLUMNS, DILATION]
    for i in range(LANES):
        n, g, k, c = tile.extent[N, i], tile.extent[G, i], tile.extent[K, i], tile.extent[C, i]
        p, q, r, s = tile.extent[P, i], tile.extent[Q, i], tile.extent[R, i], tile.extent[S, i]
        rows = (r - 1.0) * dilation_rows + (p - 1.0) * stride_rows + 1.0
        columns = (s - 1.0) * dilation_columns + (q - 1.0) * stride_columns + 1.0
        planes = n * g * c
        tile.reach[ROWS, i], tile.reach[COLUMNS, i], tile.planes[i] = rows, columns, planes
        tile.words[WEIGHTS, i] = g * k * c * r * s
        tile.words[INPUTS, i] = planes * rows * columns
        tile.words[OUTPUTS, i] = n * g * k * p * q


@helper
def _key(nest: Any, d: int, i: int) -> Any:
    return nest.key[d, i] if nest.factors[TEMPORAL, d, i] > 1.0 else NEVER


@helper
def walk(nest: Any, tile: Any, outside: Any, window: Any) -> None:
    """Set what a level's loops over time, and those ``outside``, do to the tile inside it.

    Loops that a tensor does not depend on are free until the first that it does (``first``, by
    key); that one fetches again only what its window does not share; all further out multiply.
    """
    stride_rows, dilation_rows = window[ROWS, STRIDE], window[ROWS, DILATION]
    stride_columns, dilation_columns = window[COLUMNS, STRIDE], window[COLUMNS, DILATION]
    for i in range(LANES):
        n, g = nest.factors[TEMPORAL, N, i], nest.factors[TEMPORAL, G, i]
        k, c = nest.factors[TEMPORAL, K, i], nest.factors[TEMPORAL, C, i]
        p, q = nest.factors[TEMPORAL, P, i], nest.factors[TEMPORAL, Q, i]
        r, s = nest.factors[TEMPORAL, R, i], nest.factors[TEMPORAL, S, i]
        at_n, at_g, at_k, at_c = (
            _key(nest, N, i),
            _key(nest, G, i),
            _key(nest, K, i),
            _key(nest, C, i),
        )
        at_p, at_q, at_r, at_s = (
            _key(nest, P, i),
            _key(nest, Q, i),
            _key(nest, R, i),
            _key(nest, S, i),
        )
        turns = outside.turns[i]
        tile.turns[i] = turns * n * g * k * c * p * q * r * s
        tile.owners[i] = outside.owners[i] * n * g * k * p * q
        first = min(at_g, at_k, at_c, at_r, at_s)
        run = turns * g * k * c * r * s
        run *= n if at_n > first else 1.0
        run *= p if at_p > first else 1.0
        run *= q if at_q > first else 1.0
        tile.run[WEIGHTS, i] = run if first < NEVER else outside.run[WEIGHTS, i]
        first = min(at_n, at_g, at_k, at_p, at_q)
        run = turns * n * g * k * p * q
        run *= c if at_c > first else 1.0
        run *= r if at_r > first else 1.0
        run *= s if at_s > first else 1.0
        tile.run[OUTPUTS, i] = run if first < NEVER else outside.run[OUTPUTS, i]
        first = min(at_n, at_g, at_c, at_p, at_q, at_r, at_s)
        whole = turns * (k if at_k > first else 1.0)
        run = whole * n * g * c * p * q * r * s
        whole *= n if at_n > first else 1.0
        whole *= g if at_g > first else 1.0
        whole *= c if at_c > first else 1.0
        whole *= p if at_p > first else 1.0
        whole *= q if at_q > first else 1.0
        whole *= r if at_r > first else 1.0
        whole *= s if at_s > first else 1.0
        tile.run[INPUTS, i] = run if first < NEVER else outside.run[INPUTS, i]
        tile.whole[i] = whole if first < NEVER else outside.whole[i]
        rows = tile.moved[R, i] * dilation_rows if at_r == first else NEVER
        rows = tile.moved[P, i] * stride_rows if at_p == first else rows
        tile.step[ROWS, i] = rows if first < NEVER else outside.step[ROWS, i]
        columns = tile.moved[S, i] * dilation_columns if at_s == first else NEVER
        columns = tile.moved[Q, i] * stride_columns if at_q == first else columns
        tile.step[COLUMNS, i] = columns if first < NEVER else outside.step[COLUMNS, i]


@helper
def enter(tile: Any) -> None:
    """Set the words that enter the instance that holds a tile, and those never touched before."""
    for i in range(LANES):
        tile.enters[WEIGHTS, i] = tile.words[WEIGHTS, i] * tile.run[WEIGHTS, i]
        tile.enters[OUTPUTS, i] = tile.words[OUTPUTS, i] * tile.run[OUTPUTS, i]
        tile.part[OUTPUTS, i] = tile.words[OUTPUTS, i] * tile.owners[i]
        rows = min(tile.step[ROWS, i], tile.reach[ROWS, i])
        fresh = tile.planes[i] * rows * min(tile.step[COLUMNS, i], tile.reach[COLUMNS, i])
        whole, run = tile.whole[i], tile.run[INPUTS, i]
        tile.enters[INPUTS, i] = tile.words[INPUTS, i] * whole + (run - whole) * fresh


@helper
def enter_unpadded(
    nest: Any, tile: Any, unpadded: Floats, table_rows: Any, table_columns: Any
) -> None:
    """Set the input words that DRAM, which feeds one tile alone, sends without padding.

    ``unpadded`` holds the rows, then the columns, that all tiles of one axis fetch; by which of the
    axis's loops slides the window (none, outputs, kernel), then by the tile's two extents.
    """
    plane_rows = table_rows[ROWS] * table_columns[ROWS]
    plane_columns = table_rows[COLUMNS] * table_columns[COLUMNS]
    for i in range(LANES):
        at_p, at_q, at_r, at_s = (
            _key(nest, P, i),
            _key(nest, Q, i),
            _key(nest, R, i),
            _key(nest, S, i),
        )
        first = min(at_p, at_q, at_r, at_s, _key(nest, N, i), _key(nest, G, i), _key(nest, C, i))
        slide_rows = OUTPUT_LOOP if at_p == first else (KERNEL_LOOP if at_r == first else NO_LOOP)
        slide_columns = (
            OUTPUT_LOOP if at_q == first else (KERNEL_LOOP if at_s == first else NO_LOOP)
        )
        at = np.int64(tile.extent[P, i]) * table_columns[ROWS] + np.int64(tile.extent[R, i])
        at += slide_rows * plane_rows if first < NEVER else 0
        rows = unpadded[at]
        at = np.int64(tile.extent[Q, i]) * table_columns[COLUMNS] + np.int64(tile.extent[S, i])
        at += slide_columns * plane_columns if first < NEVER else 0
        columns = unpadded[3 * plane_rows + at]
        again = nest.factors[TEMPORAL, K, i] if nest.key[K, i] > first else 1.0
        again *= nest.factors[TEMPORAL, N, i] * nest.factors[TEMPORAL, G, i]
        tile.enters[INPUTS, i] = (
            tile.planes[i] * nest.factors[TEMPORAL, C, i] * again * rows * columns
        )


@helper
def cross(tile: Any, axis: int, apart: Floats, begin: int, columns: int) -> None:
    """Set how many children meet rows (or columns) that another one meets too.

    Outputs and kernel of one axis are both unrolled: children stand at i * a + j * b. ``apart``
    holds b, then a, over their greatest common divisor, by the two extents of the tile.
    """
    for i in range(LANES):
        row, column = np.int64(tile.extent[P + axis, i]), np.int64(tile.extent[R + axis, i])
        at = begin + 2 * (row * columns + column)
        outputs = max(0.0, tile.spread[P + axis, i] - apart[at])
        tile.doubled[axis, i] = outputs * max(0.0, tile.spread[R + axis, i] - apart[at + 1])


@helper
def differ(tile: Any) -> None:
    """Set how many children are in use, and how many of them have different data."""
    for i in range(LANES):
        n, g, k, c = tile.spread[N, i], tile.spread[G, i], tile.spread[K, i], tile.spread[C, i]
        p, q, r, s = tile.spread[P, i], tile.spread[Q, i], tile.spread[R, i], tile.spread[S, i]
        rows, columns = p * r - tile.doubled[ROWS, i], q * s - tile.doubled[COLUMNS, i]
        tile.distinct[WEIGHTS, i] = g * k * c * r * s
        tile.distinct[INPUTS, i] = n * g * c * rows * columns
        tile.distinct[OUTPUTS, i] = n * g * k * p * q
        tile.children[i] = n * g * k * c * p * q * r * s


@helper
def occupy(tile: Any, outside: Any) -> None:
    """Set how many instances hold a tile, from how many hold that of the level outside."""
    for i in range(LANES):
        tile.used[i] = outside.used[i] * tile.children[i]
