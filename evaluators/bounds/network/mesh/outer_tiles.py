"""What tiles further out than a mesh cost, and leave to the loops around them: compiled.

What crosses the boundary further out comes in tiles, and what these leave to the loops outside
comes again for the mesh, unless the same part of a tensor stays at both
(docs/explanation/bounds_proofs.md, lemma 21).
"""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators.jit import allocating, helper
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, C, G, N, P, Q, R, S

from ....arrays import Floats, Ints
from ...layer_work import OF_KERNEL, OF_OUTPUTS
from ...traffic import AGAIN, pay
from ..crossing_words import boundaries, crossed_at, keepers, nothing_beside
from ..tile_extents import Extents
from ..tiles_in_tiles import noted_outside
from ..whole_tiles import Boundary, Crossed, Whole
from .moved_words import Counted, Tables, rows_of, times_of

#: cost of words further out, over the least, up to which tiles are told apart
_DEARER: Final = 3.0


class Outside(NamedTuple):
    """Words further out than a mesh.

    Attributes:
        least_pj: what they take at the least.
        choices: float64[n, 4]: times that all of each tensor crosses the mesh at the least, with
            the energy (pJ) of words further out, which ascends.
        same_pj: float64[3], by tensor that stays, that energy at the least where it stays further
            out, too, in tiles that have the same part of it as those of the mesh.
        crossed: what crosses the boundary.
        rows: of :func:`.moved_words.rows_of`, as they come there.
    """

    least_pj: float
    choices: Floats
    same_pj: Floats
    crossed: Crossed
    rows: Floats


@allocating
def _boundary(layer: Whole, b: int) -> Boundary:
    """Return the boundary around a level, and what crosses it beside the words of the mesh."""
    levels = len(layer.design.shared)
    inner, outer = np.empty(3, np.int64), np.empty(3, np.int64)
    keepers(layer.design, b, inner, outer)
    taken, beside = np.zeros((levels, 3), np.int64), nothing_beside(levels, 1)
    return Boundary(b, inner, crossed_at(layer, b, inner, outer, taken, beside))


@allocating
def outside_of(layer: Whole, extents: Extents, least_pj: float, known: bool) -> Outside:
    """Return what is known of words further out than a mesh.

    Args:
        layer: on a design with a mesh as of :func:`.corners.mesh_of`.
        extents: that its tiles may have.
        least_pj: what words further out take at the least.
        known: whether lemma 17 holds for the layer.
    """
    counts, number, at = boundaries(layer.design), 0, 1
    for b in range(1, len(counts)):
        if counts[b]:
            at, number = b, number + 1
    outer, none = _boundary(layer, at), np.zeros(3)
    for i in range(4):
        known = known and outer.crossed.price[i] >= 0.0
    choices, rows = np.ones((1, 4)), np.zeros((2, 2, 1))
    choices[0, 3] = least_pj
    if number != 1 or least_pj <= 0.0 or not known:
        outer.crossed.price[:] = 0.0
        return Outside(least_pj, choices, none + least_pj, outer.crossed, rows)
    rows = rows_of(layer.bounds, extents, outer.crossed.real)
    most = _DEARER * least_pj
    noted, same = noted_outside(layer, extents, outer, _boundary(layer, 0), most)
    for n in range(len(noted)):
        noted[n, 3] = max(least_pj, noted[n, 3])
    for t in range(3):
        same[t] = max(same[t], least_pj)
    choices = noted[np.argsort(noted[:, 3])]
    return Outside(least_pj, choices, same, outer.crossed, rows)


@helper
def _inputs(outside: Outside, bounds: Ints, stays: int, tile: Ints) -> float:
    """Return the words of inputs further out, without passes over output channels."""
    channels = float(bounds[N]) * bounds[G] * bounds[C]
    rows = outside.rows
    if stays == WEIGHTS:
        return float(channels * rows[OF_KERNEL, 0, tile[R]] * rows[OF_KERNEL, 1, tile[S]])
    high, wide = rows[OF_OUTPUTS, 0], rows[OF_OUTPUTS, 1]
    if stays == OUTPUTS:
        return float(channels * high[tile[P]] * wide[tile[Q]])
    by_rows = high[tile[P]] * min(wide[tile[Q]], wide[bounds[Q]])
    by_columns = min(high[tile[P]], high[bounds[P]]) * wide[tile[Q]]
    return float(channels * min(by_rows, by_columns))


@helper
def same_part_pj(
    outside: Outside, counted: Counted, stays: int, tables: Tables, own: Ints
) -> float:
    """Return the energy (pJ) of words further out at the least, if the same part of a tensor stays
    there as in tiles of the mesh, given by the numbers of their extents (looked up before).
    """
    crossed, every, passes = outside.crossed, counted.every, tables.passes
    price = crossed.price
    if price[WEIGHTS] + price[INPUTS] + price[OUTPUTS] + price[AGAIN] == 0.0:
        return float(outside.least_pj)
    positions, reduced, outputs = times_of(passes, stays, own)
    inputs = _inputs(outside, counted.bounds, stays, tables.tile) * outputs
    cost = price[WEIGHTS] * max(crossed.words[WEIGHTS], every[WEIGHTS] * positions)
    cost += price[INPUTS] * max(crossed.words[INPUTS], inputs)
    words = max(crossed.words[OUTPUTS], every[OUTPUTS] * reduced)
    cost += pay(words, price[OUTPUTS], price[AGAIN], crossed.owned)
    return float(max(cost, outside.same_pj[stays]))
