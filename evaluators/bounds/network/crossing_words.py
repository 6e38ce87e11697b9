"""Least energy of the words that cross the boundaries between levels of one layer: compiled.

What crosses a boundary of the hierarchy comes from one tile, so it is bounded together, whichever
levels keep it (docs/explanation/bounds_proofs.md, lemmas 12, 14 and 15).
"""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators.jit import allocating, copy_row, helper
from archloom.evaluators.loopnest import DILATION, PADDING, STRIDE
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, N, P, Q, R

from ...arrays import Floats, Ints
from ..layer_work import PADDED, REAL, Work
from ..level_capacity import ANY, Design
from ..traffic import AGAIN, TOGETHER, WAITING, TileCapacity, least_cost
from ..word_prices import BY_INNER, FILLED
from .tile_extents import Extents
from .tiles_in_tiles import paired_cost
from .whole_tiles import MACS, Boundary, Crossed, Whole, whole_cost

#: outputs that a tile has for a position are told apart by this factor
_FINER: Final = 1.5


class Beside(NamedTuple):
    """What else is counted at boundaries.

    Attributes:
        where: the boundary just outside a level across which MACs ask for words; -1 for none.
        price: float64[3] of such words; 0 for a tensor that is kept inside.
        serves: float64[3], MACs that such a word serves at the most.
        floors: float64[L, 3], words that enter or leave a level at the least.
        first: what enters levels further inside than this is counted elsewhere.
    """

    where: int
    price: Floats
    serves: Floats
    floors: Floats
    first: int


@allocating
def nothing_beside(levels: int, first: int) -> Beside:
    """Return that nothing else is counted, and nothing that enters levels before the first."""
    return Beside(-1, np.zeros(3), np.ones(3), np.zeros((levels, 3)), first)


@helper
def keepers(design: Design, b: int, inner: Ints, outer: Ints) -> None:
    """Fill ``inner[3]`` and ``outer[3]``: which level keeps each tensor next inside and outside the
    boundary around level ``b``; :data:`MACS` and the number of levels for none.
    """
    levels = len(design.shared)
    for t in range(3):
        inner[t], outer[t] = MACS, levels
        for p in range(levels - 1, -1, -1):
            if design.must[p, t] and p > b:
                outer[t] = p
            elif design.must[p, t] and inner[t] == MACS:
                inner[t] = p


@helper
def single(design: Design, first: int) -> bool:
    """Whether levels from the first on have one child each."""
    for p in range(first, len(design.shared)):
        if design.fanout[p, 0] * design.fanout[p, 1] > 1:
            return False
    return True


@allocating
def boundaries(design: Design) -> Ints:
    """Return int64[L], 1 for a boundary around a level that counts: all words cross one of them."""
    levels = len(design.shared)
    counts, taken = np.zeros(levels, np.int64), np.zeros((levels, 3), np.int64)
    inner, outer = np.empty(3, np.int64), np.empty(3, np.int64)
    for b in range(levels - 2, -1, -1):
        keepers(design, b, inner, outer)
        for t in range(3):
            if inner[t] == b and outer[t] < levels and not taken[b, t]:
                counts[b] = 1
        for t in range(3):
            if counts[b] and inner[t] != MACS and outer[t] < levels:
                taken[inner[t], t] = 1
    return counts


@helper
def _tiles(layer: Whole, b: int, inner: Ints, capacity: TileCapacity) -> None:
    """Fill the capacity for tiles inside a boundary, of one instance of the level outside it."""
    design, limits, p = layer.design, layer.limits, b + 1
    capacity.units[TOGETHER] = np.inf
    for t in range(3):
        v = inner[t]
        capacity.stays[t] = capacity.passes[t] = np.inf
        capacity.units[t] = 0.0
        if v != MACS:
            capacity.stays[t] = limits.apart[v, p, t] * limits.stays[v, t]
        if v == b:
            capacity.passes[t] = limits.apart[v, p, t] * limits.passes[v, t]
            capacity.units[t] = design.unit[v, t]
            capacity.units[TOGETHER] = design.shared[v] * limits.apart[v, p, ANY]
        for w in range(p, len(design.shared)):
            if design.must[w, t] and design.tiled[w, t]:
                # that level holds all of the tile
                capacity.stays[t] = min(capacity.stays[t], limits.passes[w, t])


@helper
def _priced(layer: Whole, v: int, u: int, t: int, price: Floats) -> None:
    """Add the prices of a tensor's words between two levels, both ends."""
    accesses = layer.prices.accesses_pj
    price[t] += accesses[u, BY_INNER, t]
    if t == OUTPUTS:
        price[AGAIN] += accesses[u, BY_INNER, AGAIN] + accesses[v, FILLED, AGAIN]
    else:
        price[t] += accesses[v, FILLED, t]


@allocating
def crossing(layer: Whole, beside: Beside) -> float:
    """Return the least energy of all words that cross boundaries; -1 if it is not known.

    Of levels none of which may be bypassed.
    """
    design, work, levels = layer.design, layer.work, len(layer.design.shared)
    counts, taken = boundaries(design), np.zeros((levels, 3), np.int64)
    inner, outer = np.empty(3, np.int64), np.empty(3, np.int64)
    price, ends = np.empty(4), np.empty((WAITING, 4))
    capacity, total = TileCapacity(np.empty(3), np.empty(3), np.empty(4)), 0.0
    for b in range(levels - 2, -1, -1):
        if not counts[b]:
            continue
        keepers(design, b, inner, outer)
        reuse, words, rates = work.reuse.copy(), work.words.copy(), work.rates.copy()
        owned, price[:] = 0.0, 0.0
        for t in range(3):
            v, u = inner[t], outer[t]
            if v < beside.first or u == levels or taken[v, t]:
                continue
            if u > b + 1 and not single(design, b + 2):
                # several tiles may share what comes from further out
                return -1.0
            taken[v, t] = 1
            _priced(layer, v, u, t, price)
            for real in range(3):
                words[real, t] = max(words[real, t], beside.floors[v, t])
            if t == OUTPUTS:
                owned = min(work.macs, work.words[PADDED, OUTPUTS] * layer.limits.copies[v])
        _tiles(layer, b, inner, capacity)
        if b == beside.where:
            _add_beside(beside, price, capacity, reuse, rates)
        real = REAL if design.alone and b == levels - 2 and inner[INPUTS] == b else PADDED
        some = Work(work.macs, reuse, words, work.sides, rates)
        if real == REAL and _gaps(layer):
            total += _with_gaps(layer, some, price, owned, capacity, ends)
        else:
            total += least_cost(some, real, price, owned, capacity, 0.0, np.inf, ends)
    return total


@helper
def _add_beside(
    beside: Beside, price: Floats, capacity: TileCapacity, reuse: Floats, rates: Floats
) -> None:
    """Count words that MACs ask for. What windows save of them is in their price, so a word of a
    tile that no level inside keeps serves outputs alone, and it does not stay.
    """
    for real in range(3):
        for kind in range(2):
            for axis in range(2):
                rates[real, kind, axis, 0] = rates[real, kind, axis, 1] = 1.0
                rates[real, kind, axis, 2] = 0.0
    for t in range(3):
        if beside.price[t] > 0:
            price[t] += beside.price[t]
            capacity.stays[t] = 1.0
            reuse[t] = min(reuse[t], beside.serves[t])


@helper
def _reach(layer: Whole, axis: int) -> int:
    """Rows that one output reads, and those between them."""
    return int((layer.bounds[R + axis] - 1) * layer.window[axis, DILATION] + 1)


@helper
def _gaps(layer: Whole) -> bool:
    """Whether outputs that are neighbours leave rows and columns between them, without padding."""
    for axis in range(2):
        if layer.window[axis, PADDING] or layer.window[axis, STRIDE] <= _reach(layer, axis):
            return False
    return True


@helper
def _rows(layer: Whole, axis: int, tile: int) -> float:
    """Rows of all tiles of so many outputs or more, along one axis: those between outputs too."""
    outputs, stride = layer.bounds[P + axis], layer.window[axis, STRIDE]
    tiles = -(-outputs // tile)
    return float(stride * outputs - tiles * (stride - _reach(layer, axis)))


@allocating
def _with_gaps(
    layer: Whole, work: Work, price: Floats, owned: float, capacity: TileCapacity, ends: Floats
) -> float:
    """Return the least cost where tiles fetch rows and columns that nothing reads (lemma 14)."""
    high, wide = layer.bounds[P], layer.bounds[Q]
    read = _rows(layer, 0, 1) * _rows(layer, 1, 1)
    own, reuse, least = np.empty(4), work.reuse.copy(), np.inf
    some = Work(work.macs, reuse, work.words, work.sides, work.rates)
    a = 1
    while a <= high:
        b = 1
        while b <= wide:
            for i in range(4):
                own[i] = price[i]
            own[INPUTS] *= _rows(layer, 0, a) * _rows(layer, 1, b) / read
            positions = float(layer.bounds[N]) * min(2 * a - 1, high) * min(2 * b - 1, wide)
            copy_row(reuse, work.reuse)
            reuse[WEIGHTS] = min(reuse[WEIGHTS], positions)
            cost = least_cost(some, REAL, own, owned, capacity, 0.0, least, ends)
            least = min(least, cost)
            b *= 2
        a *= 2
    return least


@helper
def _next_weights(design: Design, b: int) -> int:
    """The next level outside a boundary that weights are tiled for; -1 if there is none."""
    for p in range(b + 1, len(design.shared)):
        if design.must[p, WEIGHTS] and design.tiled[p, WEIGHTS]:
            return p
    return -1


@allocating
def crossing_with(layer: Whole, beside: Beside) -> float:
    """Return the least of :func:`crossing` over how many outputs a tile at ``beside.where`` has for
    a position, and over whether its sums stay longer than weights do further out (lemma 15).
    """
    design, where, floors = layer.design, beside.where, beside.floors
    floors[:] = 0.0
    w = _next_weights(design, where)
    if not design.must[where, OUTPUTS] or w < 0 or not single(design, where + 2):
        return crossing(layer, beside)
    sums = layer.limits.apart[where, where + 1, OUTPUTS] * layer.limits.stays[where, OUTPUTS]
    weights, macs = layer.limits.passes[w, WEIGHTS], layer.work.macs
    least, most, outputs = np.inf, beside.serves[INPUTS], 1.0
    while True:
        beside.serves[INPUTS] = min(most, outputs * _FINER)
        floors[:] = 0.0
        cost = crossing(layer, beside)
        if cost < least:
            floors[where, OUTPUTS] = macs * outputs / weights
            ended = crossing(layer, beside)
            floors[where, OUTPUTS] = 0.0
            floors[w, WEIGHTS] = macs * outputs / sums
            # no less than what both have in common
            stayed = crossing(layer, beside) if ended > cost else cost
            least = min(least, max(cost, min(ended, stayed)))
        if outputs * _FINER >= most:
            break
        outputs *= _FINER
    beside.serves[INPUTS] = most
    floors[:] = 0.0
    return least


@allocating
def crossed_at(
    layer: Whole, b: int, inner: Ints, outer: Ints, taken: Ints, beside: Beside
) -> Crossed:
    """Return what crosses the boundary around a level, and note in ``taken[L, 3]`` that this is
    counted; prices below 0 if it is not known.
    """
    design, work, levels = layer.design, layer.work, len(layer.design.shared)
    price, words, kept, owned = np.zeros(4), np.zeros(3), np.empty(3, np.int64), 0.0
    real = REAL if design.alone and b == levels - 2 and inner[INPUTS] == b else PADDED
    for t in range(3):
        v, u = inner[t], outer[t]
        kept[t] = v != MACS
        if v < beside.first or u == levels or taken[v, t]:
            continue
        if u > b + 1 and not single(design, b + 2):
            price[:] = -1.0
            break
        taken[v, t] = 1
        _priced(layer, v, u, t, price)
        words[t] = work.words[real, t]
        if t == OUTPUTS:
            owned = min(work.macs, work.words[PADDED, OUTPUTS] * layer.limits.copies[v])
    if b == beside.where:
        for t in range(3):
            price[t] += beside.price[t]
    return Crossed(price, owned, real, kept, words, beside.serves)


@allocating
def crossing_whole(layer: Whole, extents: Extents, beside: Beside, paired: bool) -> float:
    """Return :func:`crossing` for tiles of whole numbers; -1 if it is not known.

    With ``paired`` tiles inside the next boundary are parts of those inside the outermost one.
    """
    design, levels = layer.design, len(layer.design.shared)
    counts, taken = boundaries(design), np.zeros((levels, 3), np.int64)
    none = np.zeros(3, np.int64)
    nothing = Crossed(np.zeros(4), 0.0, PADDED, none, np.zeros(3), np.ones(3))
    first, waits, total = Boundary(0, none, nothing), False, 0.0
    for b in range(levels - 2, -1, -1):
        if not counts[b]:
            continue
        inner, outer = np.empty(3, np.int64), np.empty(3, np.int64)
        keepers(design, b, inner, outer)
        at = Boundary(b, inner, crossed_at(layer, b, inner, outer, taken, beside))
        if at.crossed.price[WEIGHTS] < 0.0:
            return -1.0
        if waits and single(design, b + 2):
            total, waits = total + paired_cost(layer, extents, first, at), False
        elif paired and total == 0.0 and not waits:
            first, waits = at, True
        else:
            total += whole_cost(layer, extents, at)
    return total + (whole_cost(layer, extents, first) if waits else 0.0)
