"""Energy and cycles of mappings on one mesh of private buffers whose tiles are given: compiled.

:mod:`.corners` looks at the largest tiles that fit; these are those of one mapping, or the largest
ones that some of its tiles leave possible (docs/explanation/bounds_proofs.md, lemmas 20 to 22).
"""

from typing import NamedTuple

import numpy as np

from archloom.evaluators.jit import allocating, helper
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, C, G, K, N, P, Q, R, S

from ....arrays import Floats, Ints
from ...layer_work import OF_KERNEL, OF_OUTPUTS
from ...traffic import AGAIN, pay
from .mesh_layer import OnMesh
from .moved_words import count_words
from .word_costs import KINDS, come_so_often, fill_kinds, priced


class Given(NamedTuple):
    """Tiles of a buffer of the mesh, and what they cost; the last axis of figures is by tensor that
    stays.

    Attributes:
        tile: int64[8], extents.
        mesh: int64[8], with what is unrolled.
        kinds: float64[3, 8], words of each kind.
        figures: float64[2, 3], energy (pJ) of the words of the mesh and of the MACs, and cycles.
        words: float64[2, 3], scratch.
    """

    tile: Ints
    mesh: Ints
    kinds: Floats
    figures: Floats
    words: Floats


class Further(NamedTuple):
    """Tiles further out than a mesh, some of whose extents may be open.

    Attributes:
        tile: int64[8], extents.
        open: int64[8], whether an extent may be anything.
        kinds: float64[8], words of each kind, as often as these tiles make them come.
        times: float64[3], how often each tensor comes.
    """

    tile: Ints
    open: Ints
    kinds: Floats
    times: Floats


@allocating
def room_for_tiles() -> tuple[Given, Further]:
    """Return room for tiles."""
    mesh = Given(
        np.ones(8, np.int64),
        np.ones(8, np.int64),
        np.empty((3, KINDS)),
        np.empty((2, 3)),
        np.empty((2, 3)),
    )
    further = Further(np.ones(8, np.int64), np.ones(8, np.int64), np.empty(KINDS), np.empty(3))
    return mesh, further


@helper
def bound_tiles(on: OnMesh, over: Ints, used: float, start: float, given: Given) -> None:
    """Fill what a tile of a buffer costs, without the words further out, where so much is unrolled.

    Args:
        on: the layer.
        over: int64[8], what is unrolled, of which ``used`` is the product.
        used: buffers.
        start: cycles at the least.
        given: with the tile.
    """
    bounds, words, fills = on.counted.bounds, given.words[0], given.words[1]
    for d in range(8):
        given.mesh[d] = min(bounds[d], over[d] * given.tile[d])
    for stays in range(3):
        count_words(on.counted, stays, given.tile, fills)
        count_words(on.counted, stays, given.mesh, words)
        fill_kinds(on.layer, on.counted, over, words, fills, given.kinds[stays])
        energy, cycles = priced(on.layer, on.forms, given.kinds[stays], used, start)
        given.figures[0, stays], given.figures[1, stays] = energy, cycles


@helper
def _passes(on: OnMesh, further: Further, d: int) -> float:
    """Return how many tiles there are along a dimension."""
    bound = on.counted.bounds[d]
    if further.open[d]:
        return 1.0
    if d == N:
        return float(max(1.0, bound / further.tile[d]))
    return float((bound + further.tile[d] - 1) // further.tile[d])


@helper
def count_times(on: OnMesh, further: Further) -> None:
    """Fill how often each tensor comes for tiles further out, if it does not stay."""
    times = further.times
    times[WEIGHTS] = _passes(on, further, N) * _passes(on, further, P) * _passes(on, further, Q)
    times[OUTPUTS] = _passes(on, further, C) * _passes(on, further, R) * _passes(on, further, S)
    times[INPUTS] = _passes(on, further, K)


@helper
def _rows(on: OnMesh, further: Further, kind: int, axis: int) -> float:
    d = P + axis if kind == OF_OUTPUTS else R + axis
    if further.open[d]:
        return float(on.least_rows[kind, axis])
    return float(on.outside.rows[kind, axis, further.tile[d]])


@helper
def _inputs(on: OnMesh, further: Further, stays: int) -> float:
    """Return words of inputs further out, without passes over output channels."""
    bounds, rows = on.counted.bounds, on.outside.rows
    channels = float(bounds[N]) * bounds[G] * bounds[C]
    if stays == WEIGHTS:
        taps = _rows(on, further, OF_KERNEL, 0) * _rows(on, further, OF_KERNEL, 1)
        return float(channels * taps)
    high, wide = _rows(on, further, OF_OUTPUTS, 0), _rows(on, further, OF_OUTPUTS, 1)
    if stays == OUTPUTS:
        return float(channels * high * wide)
    # windows slide along rows or along columns
    all_high, all_wide = rows[OF_OUTPUTS, 0, bounds[P]], rows[OF_OUTPUTS, 1, bounds[Q]]
    return float(channels * min(high * min(wide, all_wide), min(high, all_high) * wide))


@helper
def further_pj(on: OnMesh, further: Further, stays: int) -> float:
    """Return the energy (pJ) of words further out for tiles there, while a tensor stays."""
    crossed, every, times = on.outside.crossed, on.counted.every, further.times
    price = crossed.price
    if price[WEIGHTS] + price[INPUTS] + price[OUTPUTS] + price[AGAIN] == 0.0:
        return float(on.outside.least_pj)
    weights = every[WEIGHTS] * (1.0 if stays == WEIGHTS else times[WEIGHTS])
    results = every[OUTPUTS] * (1.0 if stays == OUTPUTS else times[OUTPUTS])
    inputs = _inputs(on, further, stays) * (1.0 if stays == INPUTS else times[INPUTS])
    cost = price[WEIGHTS] * max(crossed.words[WEIGHTS], weights)
    cost += price[INPUTS] * max(crossed.words[INPUTS], inputs)
    results = max(crossed.words[OUTPUTS], results)
    cost += pay(results, price[OUTPUTS], price[AGAIN], crossed.owned)
    return float(max(cost, on.outside.least_pj))


@helper
def come_again(
    on: OnMesh, given: Given, further: Further, stays: int, used: float, start: float
) -> tuple[float, float]:
    """Return energy and cycles of a tile, as :func:`bound_tiles` does, if all words of each tensor
    cross the mesh as often as tiles further out make them."""
    come_so_often(on.counted, given.kinds[stays], further.times, further.kinds)
    energy, cycles = priced(on.layer, on.forms, further.kinds, used, start)
    return energy, cycles
