"""Words that tiles of one buffer, and of a whole mesh of them, move at the least: compiled."""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators.jit import allocating, helper
from archloom.evaluators.loopnest import DILATION, STRIDE, diagonals
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, C, G, K, N, P, Q, R, S

from ....arrays import Floats, Ints
from ...layer_work import OF_KERNEL, OF_OUTPUTS
from ..tile_extents import Extents

#: tiles that are first looked at together: neighbours in a list have most extents in common
GROUP: Final = 16


@allocating
def rows_of(bounds: Ints, extents: Extents, real: int) -> Floats:
    """Return float64[2, 2, M], padded or real rows that blocks of so many outputs, or taps, read
    together: by kind of block, axis and extent."""
    most = 1
    for d in range(P, S + 1):
        most = max(most, bounds[d])
    rows = np.zeros((2, 2, most + 1))
    for d in range(P, S + 1):
        kind, axis = (OF_OUTPUTS if d <= Q else OF_KERNEL), (d - P) & 1
        place = 0
        for extent in range(bounds[d], 0, -1):
            while place + 1 < extents.places[d] and extent < extents.size[d, place]:
                place += 1
            rows[kind, axis, extent] = extents.rows[real, kind, axis, place]
    return rows


@allocating
def blocks_of(bounds: Ints, window: Ints) -> Floats:
    """Return float64[2, M, T], rows that blocks of no more than so many outputs and taps touch, all
    of them added up: by axis, outputs and taps. The least of all such blocks."""
    outputs, taps = max(bounds[P], bounds[Q]), max(bounds[R], bounds[S])
    rows = np.full((2, outputs + 1, taps + 1), np.inf)
    for axis in range(2):
        stride, dilation = window[axis, STRIDE], window[axis, DILATION]
        for u in range(1, bounds[P + axis] + 1):
            for w in range(1, bounds[R + axis] + 1):
                made, last_made = bounds[P + axis] // u, bounds[P + axis] % u
                used, last_used = bounds[R + axis] // w, bounds[R + axis] % w
                total = made * used * diagonals(u, stride, w, dilation)
                total += used * diagonals(last_made, stride, w, dilation) if last_made else 0
                total += made * diagonals(u, stride, last_used, dilation) if last_used else 0
                if last_made and last_used:
                    total += diagonals(last_made, stride, last_used, dilation)
                before = min(rows[axis, u - 1, w], rows[axis, u, w - 1])
                rows[axis, u, w] = min(before, float(total))
    return rows


@helper
def _passes(bounds: Ints, d: int, extent: int) -> float:
    """Return the tiles of some extent along a dimension; images in fractions."""
    if d == N:
        return float(max(1.0, bounds[N] / extent))
    return float(-(-bounds[d] // extent))


class Counted(NamedTuple):
    """What words are counted from.

    Attributes:
        bounds: int64[8] of the layer.
        rows: of :func:`rows_of`.
        blocks: of :func:`blocks_of`.
        once: float64[3], words of each tensor that move at least.
        every: float64[3], different words of weights and results.
    """

    bounds: Ints
    rows: Floats
    blocks: Floats
    once: Floats
    every: Floats


@helper
def _inputs(counted: Counted, stays: int, tile: Ints) -> float:
    """Return the words of inputs for tiles of some extents, without passes over output channels.

    Windows slide along the first loop that moves them alone: along rows or along columns, not both.
    """
    bounds, rows, blocks = counted.bounds, counted.rows, counted.blocks
    channels = float(bounds[N]) * bounds[G] * bounds[C]
    if stays == INPUTS:
        high, wide = rows[OF_OUTPUTS, 0], rows[OF_OUTPUTS, 1]
        slid = min(high[tile[P]] * wide[bounds[Q]], high[bounds[P]] * wide[tile[Q]])
        return float(channels * slid)
    kind, first = (OF_OUTPUTS, P) if stays == OUTPUTS else (OF_KERNEL, R)
    along_rows = rows[kind, 0, tile[first]] * blocks[1, tile[Q], tile[S]]
    along_columns = blocks[0, tile[P], tile[R]] * rows[kind, 1, tile[first + 1]]
    return float(channels * min(along_rows, along_columns))


@helper
def count_words(counted: Counted, stays: int, tile: Ints, words: Floats) -> None:
    """Fill ``words[3]`` that tiles of some extents move at the least."""
    bounds, every = counted.bounds, counted.every
    positions = reduced = 1.0
    if stays != WEIGHTS:
        positions = _passes(bounds, N, tile[N]) * _passes(bounds, P, tile[P])
        positions *= _passes(bounds, Q, tile[Q])
    if stays != OUTPUTS:
        reduced = _passes(bounds, C, tile[C]) * _passes(bounds, R, tile[R])
        reduced *= _passes(bounds, S, tile[S])
    words[WEIGHTS] = every[WEIGHTS] * positions
    inputs = _inputs(counted, stays, tile)
    inputs *= 1.0 if stays == INPUTS else _passes(bounds, K, tile[K])
    words[INPUTS] = max(counted.once[INPUTS], inputs)
    words[OUTPUTS] = every[OUTPUTS] * reduced


class ListedTiles(NamedTuple):
    """Tiles of a buffer while one tensor stays there.

    Attributes:
        stays: the tensor.
        tiles: int64[n, 8].
        numbers: int64[n, 8], of their extents among the different ones of each dimension.
        extents: int64[8, M], these.
        counts: int64[8], how many.
        most: int64[g + 1, 8], numbers of the largest ones, of each group of tiles; last, of all.
        fills: float64[n, 3], words of each tensor that enter all buffers at the least.
        least_fills: float64[g + 1, 3], the least of each group, and of all.
    """

    stays: int
    tiles: Ints
    numbers: Ints
    extents: Ints
    counts: Ints
    most: Ints
    fills: Floats
    least_fills: Floats


@allocating
def list_tiles(counted: Counted, stays: int, tiles: Ints) -> ListedTiles:
    """Return tiles with their extents by number, and what enters buffers for them."""
    numbers, counts = np.zeros((len(tiles), 8), np.int64), np.zeros(8, np.int64)
    groups = -(-len(tiles) // GROUP)
    most, least = np.zeros((groups + 1, 8), np.int64), np.full((groups + 1, 3), np.inf)
    extents, fills = np.ones((8, len(tiles) + 1), np.int64), np.empty((len(tiles), 3))
    for n in range(len(tiles)):
        count_words(counted, stays, tiles[n], fills[n])
        for d in range(8):
            k = 0
            while k < counts[d] and extents[d, k] != tiles[n, d]:
                k += 1
            if k == counts[d]:
                extents[d, k] = tiles[n, d]
                counts[d] += 1
            numbers[n, d] = k
        for group in (n // GROUP, groups):
            for d in range(8):
                k = numbers[n, d]
                if (n % GROUP == 0 and group < groups) or extents[d, k] > extents[
                    d, most[group, d]
                ]:
                    most[group, d] = k
            for t in range(3):
                least[group, t] = min(least[group, t], fills[n, t])
    return ListedTiles(stays, tiles, numbers, extents, counts, most, fills, least)


class Tables(NamedTuple):
    """Of tiles over the whole mesh, by the number of an extent: float64[8, M] how many there are
    along a dimension, and int64[8, M] their extents; ``tile[8]`` is scratch."""

    passes: Floats
    extents: Ints
    tile: Ints


@helper
def tabulate(counted: Counted, listed: ListedTiles, over: Ints, tables: Tables) -> None:
    """Fill what tiles are over the whole mesh, of which so much is unrolled there."""
    bounds = counted.bounds
    for d in range(8):
        for k in range(listed.counts[d]):
            extent = min(bounds[d], over[d] * listed.extents[d, k])
            tables.passes[d, k] = _passes(bounds, d, extent)
            tables.extents[d, k] = extent


@helper
def times_of(passes: Floats, stays: int, own: Ints) -> tuple[float, float, float]:
    """Return how often weights, results and inputs come while one tensor stays, in tiles of which
    there are ``passes[8, M]`` along a dimension, by the numbers of their extents."""
    positions = reduced = outputs = 1.0
    if stays != WEIGHTS:
        positions = passes[N, own[N]] * passes[P, own[P]] * passes[Q, own[Q]]
    if stays != OUTPUTS:
        reduced = passes[C, own[C]] * passes[R, own[R]] * passes[S, own[S]]
    if stays != INPUTS:
        outputs = passes[K, own[K]]
    return float(positions), float(reduced), float(outputs)


@helper
def look_up(counted: Counted, stays: int, tables: Tables, own: Ints, words: Floats) -> None:
    """Fill ``words[3]`` that a tile over the whole mesh moves, as :func:`count_words` counts them,
    from the numbers of its extents.
    """
    passes, every, tile = tables.passes, counted.every, tables.tile
    for d in range(P, S + 1):
        tile[d] = tables.extents[d, own[d]]
    positions, reduced, outputs = times_of(passes, stays, own)
    words[WEIGHTS], words[OUTPUTS] = every[WEIGHTS] * positions, every[OUTPUTS] * reduced
    words[INPUTS] = max(counted.once[INPUTS], _inputs(counted, stays, tile) * outputs)
