"""Least cost of the words across a boundary between levels, for tiles of whole numbers: compiled.

:mod:`.crossing_words` takes the shape of a tile from three real numbers. Here each extent of a tile
is a whole number, so tiles along a dimension are counted one by one
(docs/explanation/bounds_proofs.md, lemma 17).
"""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators.jit import allocating, helper
from archloom.evaluators.loopnest import DILATION, STRIDE, diagonals
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, C, G, K, N, P, Q, R, S

from ...arrays import Floats, Ints
from ..layer_work import OF_KERNEL, OF_OUTPUTS, Work
from ..level_capacity import ANY, Design, Limits
from ..traffic import AGAIN, pay
from ..word_prices import Prices
from .tile_extents import Extents

#: how inputs take capacity: as boxes, or as the rows that several instances touch
BOX, TOUCHED = range(2)

#: relative slack of quotients that are rounded down to whole numbers
_SLACK: Final = 1e-9


class Fits(NamedTuple):
    """What tiles must fit: the units that tiles of the three tensors take, added, are at most the
    limit.

    Attributes:
        number: int64[1], how many conditions.
        units: float64[J, 3], of a word.
        most: float64[J], limits.
        inputs: int64[J], :data:`BOX` or :data:`TOUCHED`.
    """

    number: Ints
    units: Floats
    most: Floats
    inputs: Ints


class Crossed(NamedTuple):
    """What crosses a boundary.

    Attributes:
        price: float64[4] of a word of each tensor.
        owned: words of outputs that arrive once without a fetch before.
        real: how inputs come.
        kept: int64[3], whether a tensor is kept inside.
        words: float64[3], of each tensor at the least.
        serves: float64[3], MACs that a word of a tensor that is not kept inside serves at the most.
    """

    price: Floats
    owned: float
    real: int
    kept: Ints
    words: Floats
    serves: Floats


class Tiles(NamedTuple):
    """Tiles of a layer, as they are looked at.

    Attributes:
        bounds, window: int64[8] and int64[2, 4] of the layer.
        extents: that tiles may have.
        crossed: what crosses the boundary.
        fits: what tiles must fit.
        tile: int64[8], scratch.
    """

    bounds: Ints
    window: Ints
    extents: Extents
    crossed: Crossed
    fits: Fits
    tile: Ints


@helper
def largest(some: Tiles, d: int) -> int:
    """Return the largest extent along K or C that fits, all others as they are; 0 if none does."""
    tile, fits, window = some.tile, some.fits, some.window
    tile[d] = 1
    weights = tile[C] * tile[K] * tile[R] * tile[S]
    outputs = tile[N] * tile[K] * tile[P] * tile[Q]
    boxes = touched = tile[N] * tile[C]
    for axis in range(2):
        out, taps = tile[P + axis], tile[R + axis]
        stride, dilation = window[axis, STRIDE], window[axis, DILATION]
        boxes *= (out - 1) * stride + (taps - 1) * dilation + 1
        touched *= diagonals(out, stride, taps, dilation)
    largest = some.bounds[d]
    for j in range(fits.number[0]):
        units = fits.units[j]
        inputs = units[INPUTS] * (boxes if fits.inputs[j] == BOX else touched)
        grows = units[WEIGHTS] * weights
        stays = units[OUTPUTS] * outputs
        if d == K:
            grows, stays = grows + stays, inputs
        else:
            grows += inputs
        if grows + stays > fits.most[j] * (1 + _SLACK):
            return 0
        if grows > 0:
            fitting = (fits.most[j] - stays) / grows * (1 + _SLACK)
            largest = min(largest, int(min(fitting, float(largest))))
    return int(max(largest, 1))


@helper
def weights_cost(some: Tiles, passes: float) -> float:
    """Cost of weights that come so many times."""
    bounds, crossed = some.bounds, some.crossed
    every = float(bounds[G]) * bounds[K] * bounds[C] * bounds[R] * bounds[S]
    words = max(crossed.words[WEIGHTS], every * passes)
    if not crossed.kept[WEIGHTS]:
        positions = float(bounds[N]) * bounds[P] * bounds[Q]
        words = max(words, every * positions / crossed.serves[WEIGHTS])
    return float(crossed.price[WEIGHTS] * words)


@helper
def inputs_cost(some: Tiles, outputs: int, rows: float) -> float:
    """Cost of inputs for tiles of so many output channels, where blocks read so many words of a
    channel together.
    """
    bounds, crossed = some.bounds, some.crossed
    channels = float(bounds[N]) * bounds[G] * bounds[C]
    if crossed.kept[INPUTS]:
        words = max(crossed.words[INPUTS], channels * rows * -(-bounds[K] // outputs))
        return float(crossed.price[INPUTS] * words)
    served = max(1, min(outputs, int(crossed.serves[INPUTS] * (1 + _SLACK))))
    asked = channels * bounds[P] * bounds[Q] * bounds[R] * bounds[S] * -(-bounds[K] // served)
    return float(crossed.price[INPUTS] * asked)


@helper
def outputs_cost(some: Tiles, passes: float) -> float:
    """Cost of results that leave so many times."""
    bounds, crossed, price = some.bounds, some.crossed, some.crossed.price
    every = float(bounds[N]) * bounds[G] * bounds[K] * bounds[P] * bounds[Q]
    words = max(crossed.words[OUTPUTS], every * passes)
    return float(pay(words, price[OUTPUTS], price[AGAIN], crossed.owned))


@helper
def sums_stay(some: Tiles, useless: float) -> float:
    """Return the least cost if results stay while channels and taps of inputs change."""
    extents, tile, real = some.extents, some.tile, some.crossed.real
    size, tiles, rows = extents.size, extents.tiles, extents.rows[real, OF_OUTPUTS]
    tile[:] = 1
    outputs, least = outputs_cost(some, 1.0), useless
    for n in range(extents.places[N]):
        for p in range(extents.places[P]):
            for q in range(extents.places[Q]):
                passes = tiles[N, n] * tiles[P, p] * tiles[Q, q]
                paid = outputs + weights_cost(some, passes)
                read = rows[0, p] * rows[1, q]
                if paid + inputs_cost(some, some.bounds[K], 0.0) >= least:
                    # smaller tiles cost more
                    break
                if paid + inputs_cost(some, some.bounds[K], read) >= least:
                    continue
                tile[N], tile[P], tile[Q] = size[N, n], size[P, p], size[Q, q]
                channels = largest(some, K)
                if channels:
                    least = min(least, paid + inputs_cost(some, channels, read))
    return least


@helper
def weights_stay(some: Tiles, useless: float) -> float:
    """Return the least cost if weights stay while images and positions change."""
    extents, tile, real = some.extents, some.tile, some.crossed.real
    size, tiles, rows = extents.size, extents.tiles, extents.rows[real, OF_KERNEL]
    tile[:] = 1
    weights, least = weights_cost(some, 1.0), useless
    for r in range(extents.places[R]):
        for s in range(extents.places[S]):
            for c in range(extents.places[C]):
                passes = tiles[C, c] * tiles[R, r] * tiles[S, s]
                paid, read = weights + outputs_cost(some, passes), rows[0, r] * rows[1, s]
                if paid + inputs_cost(some, some.bounds[K], read) >= least:
                    break
                tile[C], tile[R], tile[S] = size[C, c], size[R, r], size[S, s]
                channels = largest(some, K)
                if channels:
                    least = min(least, paid + inputs_cost(some, channels, read))
    return least


@helper
def slid(some: Tiles, p: int, q: int) -> float:
    """Cost of inputs beyond each word once, if tiles of these extents fetch them: windows slide
    along rows or along columns, not along both. Where strides exceed taps nothing slides, and
    small tiles fetch fewer of the rows in between.
    """
    bounds, crossed = some.bounds, some.crossed
    rows = some.extents.rows[crossed.real, OF_OUTPUTS]
    slid = rows[0, p] * min(rows[1, 0], rows[1, q])
    read = min(slid, min(rows[0, 0], rows[0, p]) * rows[1, q])
    words = float(bounds[N]) * bounds[G] * bounds[C] * read
    return float(crossed.price[INPUTS] * max(0.0, words - crossed.words[INPUTS]))


@helper
def inputs_stay(some: Tiles, useless: float) -> float:
    """Return the least cost if inputs stay while output channels change."""
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
                        paid = inputs + weights_cost(some, tiles[N, n] * tiles[P, p] * tiles[Q, q])
                        if paid + outputs_cost(some, taps) >= least:
                            break
                        paid += slid(some, p, q)
                        tile[N], tile[P], tile[Q] = size[N, n], size[P, p], size[Q, q]
                        tile[R], tile[S] = size[R, r], size[S, s]
                        channels = largest(some, C)
                        if channels:
                            passes = taps * -(-bounds[C] // channels)
                            least = min(least, paid + outputs_cost(some, passes))
    return least


#: in the place of a level: only MACs
MACS: Final = -1


class Whole(NamedTuple):
    """A layer that runs whole on a design, with ``bounds[8]`` and ``window[2, 4]``."""

    design: Design
    prices: Prices
    work: Work
    limits: Limits
    bounds: Ints
    window: Ints


@helper
def _condition(fits: Fits, most: float, inputs: int) -> int:
    """Add a condition; return its place, where units are to be set."""
    j = fits.number[0]
    fits.number[0] += 1
    fits.units[j], fits.most[j], fits.inputs[j] = 0.0, most, inputs
    return int(j)


@helper
def _add_private(layer: Whole, v: int, t: int, apart: float, inputs: int, fits: Fits) -> None:
    """Ask that a tensor's tile fits what a level has for it alone, in so many instances."""
    private = layer.design.private[v, t]
    if private < np.inf:
        words = np.floor(private / layer.design.unit[v, t])
        j = _condition(fits, words * apart, inputs)
        fits.units[j, t] = 1.0


@helper
def add_fits(layer: Whole, b: int, fits: Fits) -> None:
    """Fill what tiles inside the boundary around a level must fit, whatever stays."""
    design, limits, p = layer.design, layer.limits, b + 1
    fits.number[0] = 0
    for w in range(b, len(design.shared)):
        j = -1
        inputs = TOUCHED if w == b and limits.apart[b, p, ANY] > 1.0 else BOX
        if design.shared[w] < np.inf:
            j = _condition(fits, design.shared[w], inputs)
        for t in range(3):
            if not (design.must[w, t] and design.tiled[w, t]):
                continue
            apart = limits.apart[b, p, t] if w == b else 1.0
            if j >= 0:
                fits.units[j, t] = design.unit[w, t] / apart
            _add_private(layer, w, t, apart, inputs, fits)


@helper
def add_stays(layer: Whole, b: int, v: int, t: int, fits: Fits) -> None:
    """Ask that a tensor that stays fits the level further inside that keeps it."""
    apart = layer.limits.apart[v, b + 1, t]
    if layer.design.shared[v] < np.inf:
        j = _condition(fits, layer.design.shared[v], TOUCHED)
        fits.units[j, t] = layer.design.unit[v, t] / apart
    _add_private(layer, v, t, apart, TOUCHED, fits)


class Boundary(NamedTuple):
    """A boundary between levels.

    Attributes:
        b: the level that it is around.
        inner: int64[3], which level keeps each tensor next inside.
        crossed: the words that cross it.
    """

    b: int
    inner: Ints
    crossed: Crossed


@allocating
def tiles_at(layer: Whole, extents: Extents, at: Boundary) -> Tiles:
    """Return the tiles inside a boundary, with what they must fit whatever stays."""
    room = 4 * len(layer.design.shared) + 8
    fits = Fits(
        np.zeros(1, np.int64), np.empty((room, 3)), np.empty(room), np.empty(room, np.int64)
    )
    add_fits(layer, at.b, fits)
    return Tiles(layer.bounds, layer.window, extents, at.crossed, fits, np.empty(8, np.int64))


@helper
def stays_cost(layer: Whole, some: Tiles, at: Boundary, t: int, useless: float) -> float:
    """Return the least cost of what crosses if a tensor stays, no more than ``useless``."""
    count = some.fits.number[0]
    if at.inner[t] != at.b:
        add_stays(layer, at.b, at.inner[t], t, some.fits)
    if t == OUTPUTS:
        least = sums_stay(some, useless)
    elif t == WEIGHTS:
        least = weights_stay(some, useless)
    else:
        least = inputs_stay(some, useless)
    some.fits.number[0] = count
    return float(least)


@allocating
def whole_cost(layer: Whole, extents: Extents, at: Boundary) -> float:
    """Return what the words that cross a boundary cost at the least, if a layer runs whole in
    tiles of these extents.
    """
    some, least = tiles_at(layer, extents, at), np.inf
    for t in (OUTPUTS, WEIGHTS, INPUTS):
        if at.crossed.kept[t]:
            least = stays_cost(layer, some, at, t, least)
    return float(least)
