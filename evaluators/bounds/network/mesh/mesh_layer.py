"""A layer on a design with one mesh of private buffers, as bounds of it look at it: compiled."""

from typing import NamedTuple

import numpy as np

from archloom.evaluators.jit import allocating, helper
from archloom.evaluators.loopnest import DILATION, STRIDE
from archloom.space.workload import OUTPUTS, WEIGHTS, C, G, K, N, P, Q, R, S

from ....arrays import Floats, Ints
from ...layer_kernel import LayerBatch
from ...layer_work import OF_OUTPUTS, PADDED, one_work
from ...level_capacity import Design, limits_in, tiles_of
from ...word_prices import Prices
from ..crossing_words import crossing, crossing_whole, nothing_beside
from ..tile_extents import extents_of, undilated
from ..whole_tiles import Whole
from .moved_words import Counted, blocks_of, rows_of
from .outer_tiles import Outside, outside_of
from .word_costs import Forms, forms_of


class OnMesh(NamedTuple):
    """A layer on a design with a mesh as of :func:`mesh_of`.

    Attributes:
        layer: that runs whole, and leaves no rows or columns out on the mesh.
        outside: words further out than the level outside the mesh.
        counted: what words of the mesh are counted from.
        forms: what they cost.
        least_rows: float64[2, 2], by kind of block and axis, rows that blocks of any extent read
            together at the least, further out.
    """

    layer: Whole
    outside: Outside
    counted: Counted
    forms: Forms
    least_rows: Floats


@helper
def mesh_of(design: Design) -> int:
    """Return the level whose children are the only mesh, buffers inside of which only MACs are; -1
    if a design is not like that."""
    found = -1
    for p in range(len(design.shared)):
        for t in range(3):
            if design.may[p, t] != design.must[p, t]:
                return -1
        if design.fanout[p, 0] * design.fanout[p, 1] > 1:
            if found >= 0:
                return -1
            found = p
    if found != 1:
        return -1
    for t in range(3):
        if not (design.must[0, t] and design.tiled[0, t] and design.multicast[t, 1]):
            return -1
    return found


@allocating
def _closer(bounds: Ints, window: Ints) -> Ints:
    """Return a window that leaves no rows or columns out where a result has a single tap: what
    results read then are rows of their own, with none between."""
    closer = window.copy()
    for axis in range(2):
        if bounds[R + axis] == 1:
            closer[axis, STRIDE] = closer[axis, DILATION] = 1
    return closer


@helper
def may_be_bounded(design: Design, bounds: Ints, windows: Ints) -> bool:
    """Whether :func:`on_mesh` knows the design and the layer."""
    if mesh_of(design) < 0:
        return False
    for axis in range(2):
        several, taps = bounds[P + axis] > 1, bounds[R + axis]
        if windows[axis, DILATION] > 1 and taps > 1:
            return False
        if several and taps > 1 and windows[axis, STRIDE] > taps:
            return False
    return True


@allocating
def on_mesh(
    design: Design, prices: Prices, batch: LayerBatch, i: int, bounds: Ints, windows: Ints
) -> OnMesh:
    """Return a layer that :func:`may_be_bounded`; words further out are infinitely cheap, with a
    negative energy, where nothing is known of them.

    Args:
        design: with the mesh.
        prices: of its words.
        batch: layers, as :func:`archloom.evaluators.bounds.layer_kernel.batch_costs` has them, of
            which this is number ``i``.
        bounds, windows: int64[8] and int64[2, 4] of it.
    """
    work, limits = one_work(batch.works, i), limits_in(batch.shares, i, tiles_of(design))
    layer = Whole(design, prices, work, limits, bounds, windows)
    beside, extents = nothing_beside(len(design.shared), 1), extents_of(bounds, windows)
    beyond, known = crossing(layer, beside), undilated(bounds, windows)
    if known:
        beyond = max(beyond, crossing_whole(layer, extents, beside, False))
    outside = outside_of(layer, extents, beyond, known)
    every, least = np.empty(3), np.full((2, 2), np.inf)
    every[WEIGHTS] = float(bounds[G]) * bounds[K] * bounds[C] * bounds[R] * bounds[S]
    every[OUTPUTS] = float(bounds[N]) * bounds[G] * bounds[K] * bounds[P] * bounds[Q]
    for kind in range(2):
        for axis in range(2):
            most = bounds[P + axis] if kind == OF_OUTPUTS else bounds[R + axis]
            for extent in range(1, min(most + 1, outside.rows.shape[2])):
                least[kind, axis] = min(least[kind, axis], outside.rows[kind, axis, extent])
    closer = _closer(bounds, windows)
    layer = Whole(design, prices, work, limits, bounds, closer)
    rows = rows_of(bounds, extents_of(bounds, closer), PADDED)
    counted = Counted(bounds, rows, blocks_of(bounds, closer), work.words[PADDED], every)
    return OnMesh(layer, outside, counted, forms_of(layer), least)
