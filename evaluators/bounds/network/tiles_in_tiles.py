"""Least cost of the words across two boundaries between levels, of tiles in tiles: compiled.

:mod:`.whole_tiles` bounds each boundary by its own best tile. A mapping has one chain of them: what
the tiles inside the outer boundary leave to the loops outside runs anew for the tiles inside the
inner one, unless both have the same part of the tensor that stays
(docs/explanation/bounds_proofs.md, lemma 18).
"""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators.jit import allocating, copy_row, helper
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, C, K, N, P, Q, R, S

from ...arrays import Floats, Ints
from ..layer_work import OF_KERNEL, OF_OUTPUTS
from .tile_extents import Extents
from .whole_tiles import (
    Boundary,
    Tiles,
    Whole,
    add_stays,
    inputs_cost,
    largest,
    outputs_cost,
    slid,
    stays_cost,
    tiles_at,
    weights_cost,
)

#: costs inside that are remembered
_KNOWN: Final = 32

#: in the place of a tensor: tiles have the same part of none
_NONE: Final = -1

#: tiles that are noted, told apart where a tensor comes so many times as often, or where the outer
#: boundary costs so much more of the least
NOTED: Final = 96
_OFTENER: Final = 1.05
_DEARER: Final = 0.005


class _Pair(NamedTuple):
    """Tiles inside two boundaries of a layer.

    Attributes:
        layer: that runs whole.
        outside, inside: the tiles.
        inner: the inner boundary.
        same: the tensor of which both tiles have the same part, or :data:`_NONE`.
        floor: what the words across the inner boundary cost at the least.
        words: float64[3], words of each tensor across the inner boundary for each time that they
            come.
        known: float64[:data:`_KNOWN`, 4]: times that each tensor comes, and what the words across
            the inner boundary then cost at the least.
        added: int64[1], how many were added.
        noted: float64[:data:`NOTED`, 4]: times that each tensor comes, and what the words across
            the outer boundary cost at the least; of no length if that is not asked for.
        most: that cost at the most, if it is.
    """

    layer: Whole
    outside: Tiles
    inside: Tiles
    inner: Boundary
    same: int
    floor: float
    words: Floats
    known: Floats
    added: Ints
    noted: Floats
    most: float


@helper
def _finer(times: float) -> float:
    """Return a number that stands for all that are little larger."""
    return float(_OFTENER ** np.floor(np.log(times) / np.log(_OFTENER) * (1 + 1e-12)))


@helper
def _note(pair: _Pair, weights: float, inputs: float, outputs: float, cost: float) -> None:
    """Note what the outer boundary costs if tensors come so many times, if none that is noted is
    as good in all."""
    noted, count = pair.noted, pair.added[0]
    if weights == np.inf or inputs == np.inf or outputs == np.inf:
        # nothing of it fits
        return
    step = _DEARER * pair.most
    new = (_finer(weights), _finer(inputs), _finer(outputs), np.floor(cost / step) * step)
    left = 0
    for n in range(count):
        no_worse = no_better = True
        for k in range(4):
            no_worse = no_worse and noted[n, k] <= new[k]
            no_better = no_better and noted[n, k] >= new[k]
        if no_worse:
            return
        if not no_better:
            copy_row(noted[left], noted[n])
            left += 1
    full = left == len(noted)
    if full:
        left -= 1
    for k in range(4):
        noted[left, k] = min(noted[left, k], new[k]) if full else new[k]
    pair.added[0] = left + 1


@helper
def _inside(pair: _Pair, weights: float, inputs: float, outputs: float, useless: float) -> float:
    """Return what the words across the inner boundary cost at the least, no more than ``useless``,
    if tensors come so many times. Where tiles are noted it adds nothing.
    """
    if len(pair.noted):
        _note(pair, weights, inputs, outputs, pair.most - useless)
        return useless
    known, number = pair.known, pair.added[0]
    for k in range(min(number, _KNOWN)):
        fewer = known[k, WEIGHTS] <= weights and known[k, INPUTS] <= inputs
        if fewer and known[k, OUTPUTS] <= outputs and known[k, 3] >= useless:
            return useless
    row, words = known[number % _KNOWN], pair.inside.crossed.words
    row[WEIGHTS], row[INPUTS], row[OUTPUTS] = weights, inputs, outputs
    for t in range(3):
        words[t] = pair.words[t] * (1.0 if t == pair.same else row[t])
    least = useless
    for t in (OUTPUTS, WEIGHTS, INPUTS):
        if pair.inner.crossed.kept[t] and (pair.same == _NONE or pair.same == t):
            least = stays_cost(pair.layer, pair.inside, pair.inner, t, least)
    row[3] = least
    pair.added[0] = number + 1
    return float(least)


@helper
def _fits(some: Tiles) -> bool:
    """Whether the tile fits."""
    channels = some.tile[C]
    most = largest(some, C)
    some.tile[C] = channels
    return bool(most >= channels)


@helper
def _fewest_sums(some: Tiles) -> float:
    """Return the least times that results leave tiles of these positions and output channels."""
    extents, tile, fewest = some.extents, some.tile, np.inf
    for r in range(extents.places[R]):
        for s in range(extents.places[S]):
            tile[R], tile[S] = extents.size[R, r], extents.size[S, s]
            channels = largest(some, C)
            if channels:
                passes = extents.tiles[R, r] * extents.tiles[S, s]
                fewest = min(fewest, passes * -(-some.bounds[C] // channels))
    tile[C] = tile[R] = tile[S] = 1
    return float(fewest)


@helper
def _sums_stay(pair: _Pair, useless: float) -> float:
    """Return the least cost if results stay at the outer boundary."""
    some = pair.outside
    extents, tile, bounds = some.extents, some.tile, some.bounds
    size, tiles = extents.size, extents.tiles
    rows = extents.rows[some.crossed.real, OF_OUTPUTS]
    tile[:] = 1
    outputs, least = outputs_cost(some, 1.0) + pair.floor, useless
    for n in range(extents.places[N]):
        for p in range(extents.places[P]):
            for q in range(extents.places[Q]):
                passes = tiles[N, n] * tiles[P, p] * tiles[Q, q]
                paid = outputs + weights_cost(some, passes)
                if paid + inputs_cost(some, bounds[K], 0.0) >= least:
                    # smaller tiles cost more
                    break
                read = rows[0, p] * rows[1, q]
                if paid + inputs_cost(some, bounds[K], read) >= least:
                    continue
                tile[N], tile[P], tile[Q] = size[N, n], size[P, p], size[Q, q]
                channels = largest(some, K)
                for k in range(extents.places[K]):
                    if size[K, k] > channels:
                        continue
                    cost = paid + inputs_cost(some, size[K, k], read)
                    if cost >= least:
                        break
                    tile[K] = size[K, k]
                    sums, cost = _fewest_sums(some), cost - pair.floor
                    cost += _inside(pair, passes, tiles[K, k], sums, least - cost)
                    least = min(least, cost)
                    if sums <= 1.0:
                        break
    return least


@helper
def _positions(pair: _Pair, paid: float, k: int, read: float, useless: float) -> float:
    """Return the least cost over positions of a tile whose channels and taps are given, beside
    what weights and results cost at the outer boundary.
    """
    some = pair.outside
    extents, tile = some.extents, some.tile
    size, tiles = extents.size, extents.tiles
    rows, least = extents.rows[some.crossed.real, OF_OUTPUTS], useless
    whole = tile[R] == some.bounds[R] and tile[S] == some.bounds[S]
    sums = float(-(-some.bounds[C] // tile[C]))
    sums *= -(-some.bounds[R] // tile[R]) * -(-some.bounds[S] // tile[S])
    for n in range(extents.places[N]):
        for p in range(extents.places[P]):
            lowest = np.inf
            for q in range(extents.places[Q]):
                tile[N], tile[P], tile[Q] = size[N, n], size[P, p], size[Q, q]
                if not _fits(some):
                    continue
                fetched = read
                if whole:
                    # windows slide along rows or along columns
                    by_rows = min(rows[0, 0], rows[0, p]) * rows[1, q]
                    by_columns = rows[0, p] * min(rows[1, 0], rows[1, q])
                    fetched = max(read, min(by_rows, by_columns))
                if fetched >= lowest:
                    continue
                lowest = fetched
                cost = paid + inputs_cost(some, size[K, k], fetched)
                if cost + pair.floor >= least:
                    continue
                times = tiles[N, n] * tiles[P, p] * tiles[Q, q]
                cost += _inside(pair, times, tiles[K, k], sums, least - cost)
                least = min(least, cost)
    tile[N] = tile[P] = tile[Q] = 1
    return least


@helper
def _weights_stay(pair: _Pair, useless: float) -> float:
    """Return the least cost if weights stay at the outer boundary."""
    some = pair.outside
    extents, tile, bounds = some.extents, some.tile, some.bounds
    size, tiles = extents.size, extents.tiles
    rows = extents.rows[some.crossed.real, OF_KERNEL]
    tile[:] = 1
    weights, least = weights_cost(some, 1.0), useless
    for r in range(extents.places[R]):
        for s in range(extents.places[S]):
            for c in range(extents.places[C]):
                passes = tiles[C, c] * tiles[R, r] * tiles[S, s]
                paid, read = weights + outputs_cost(some, passes), rows[0, r] * rows[1, s]
                if paid + inputs_cost(some, bounds[K], read) + pair.floor >= least:
                    break
                tile[C], tile[R], tile[S] = size[C, c], size[R, r], size[S, s]
                channels = largest(some, K)
                for k in range(extents.places[K]):
                    if size[K, k] > channels:
                        continue
                    if paid + inputs_cost(some, size[K, k], read) + pair.floor >= least:
                        break
                    tile[K] = size[K, k]
                    least = _positions(pair, paid, k, read, least)
    return least


@helper
def _inputs_stay(pair: _Pair, useless: float) -> float:
    """Return the least cost if inputs stay at the outer boundary."""
    some = pair.outside
    extents, tile, bounds = some.extents, some.tile, some.bounds
    size, tiles, least = extents.size, extents.tiles, useless
    tile[:] = 1
    inputs = some.crossed.price[INPUTS] * some.crossed.words[INPUTS]
    for r in range(extents.places[R]):
        for s in range(extents.places[S]):
            taps = tiles[R, r] * tiles[S, s]
            for n in range(extents.places[N]):
                for p in range(extents.places[P]):
                    for q in range(extents.places[Q]):
                        times = tiles[N, n] * tiles[P, p] * tiles[Q, q]
                        paid = inputs + weights_cost(some, times)
                        if paid + outputs_cost(some, taps) + pair.floor >= least:
                            break
                        paid += slid(some, p, q)
                        if paid + outputs_cost(some, taps) + pair.floor >= least:
                            continue
                        tile[N], tile[P], tile[Q] = size[N, n], size[P, p], size[Q, q]
                        tile[R], tile[S] = size[R, r], size[S, s]
                        channels = largest(some, C)
                        if not channels:
                            continue
                        passes = taps * -(-bounds[C] // channels)
                        paid += outputs_cost(some, passes)
                        if paid + pair.floor < least:
                            least = min(
                                least, paid + _inside(pair, times, 1.0, passes, least - paid)
                            )
    return least


@helper
def _outside(pair: _Pair, outer: Boundary, useless: float) -> float:
    """Return the least cost across both boundaries, whatever stays at the outer one."""
    fits, least = pair.outside.fits, useless
    before = fits.number[0]
    if pair.same != _NONE:
        # the part fits where it is kept inside
        add_stays(pair.layer, pair.inner.b, pair.inner.inner[pair.same], pair.same, fits)
    count = fits.number[0]
    for t in (OUTPUTS, WEIGHTS, INPUTS):
        if not outer.crossed.kept[t] or (pair.same != _NONE and pair.same != t):
            continue
        fits.number[0] = count
        if outer.inner[t] != outer.b:
            add_stays(pair.layer, outer.b, outer.inner[t], t, fits)
        if t == OUTPUTS:
            least = _sums_stay(pair, least)
        elif t == WEIGHTS:
            least = _weights_stay(pair, least)
        else:
            least = _inputs_stay(pair, least)
    fits.number[0] = before
    return least


@allocating
def paired_cost(layer: Whole, extents: Extents, outer: Boundary, inner: Boundary) -> float:
    """Return what the words that cross two boundaries cost at the least.

    Args:
        layer: that runs whole.
        extents: that its tiles may have.
        outer, inner: the boundaries; levels from the second one outside ``inner`` on have one
            child each.
    """
    outside, inside = tiles_at(layer, extents, outer), tiles_at(layer, extents, inner)
    words, alone = np.zeros(3), np.full(3, np.inf)
    for t in range(3):
        words[t] = inside.crossed.words[t]
        if inner.crossed.kept[t]:
            alone[t] = stays_cost(layer, inside, inner, t, np.inf)
    known, added, least = np.empty((_KNOWN, 4)), np.zeros(1, np.int64), np.inf
    for same in (_NONE, WEIGHTS, OUTPUTS, INPUTS):
        floor = alone.min() if same == _NONE else alone[same]
        if floor == np.inf:
            continue
        added[0] = 0
        nothing = np.empty((0, 4))
        pair = _Pair(
            layer, outside, inside, inner, same, floor, words, known, added, nothing, np.inf
        )
        least = _outside(pair, outer, least)
    return float(least)


@allocating
def noted_outside(
    layer: Whole, extents: Extents, outer: Boundary, inner: Boundary, most: float
) -> tuple[Floats, Floats]:
    """Return what tiles cost across the outer boundary, and what they leave to the inner one.

    Costs across the outer boundary above ``most`` are not told apart. Other arguments are those of
    :func:`paired_cost`.

    Returns:
        float64[n, 4]: times that all of each tensor crosses the inner boundary at least, with the
        least cost across the outer one; float64[3], by tensor, that cost where both tiles have the
        same part of it. Each mapping is above a row, or above the latter cost of the tensor that
        stays inside.
    """
    outside, inside = tiles_at(layer, extents, outer), tiles_at(layer, extents, inner)
    words, known, added = np.zeros(3), np.empty((0, 4)), np.zeros(1, np.int64)
    noted, same = np.empty((NOTED, 4)), np.full(3, most)
    pair = _Pair(layer, outside, inside, inner, _NONE, 0.0, words, known, added, noted, most)
    _outside(pair, outer, most)
    # what costs more counts as if it left nothing to come again
    _note(pair, 1.0, 1.0, 1.0, most)
    for t in range(3):
        count = outside.fits.number[0]
        add_stays(layer, inner.b, inner.inner[t], t, outside.fits)
        if outer.crossed.kept[t]:
            same[t] = stays_cost(layer, outside, outer, t, most)
        outside.fits.number[0] = count
    return noted[: added[0]], same
