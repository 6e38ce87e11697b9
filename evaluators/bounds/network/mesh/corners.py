"""Energy and cycles of a layer on one mesh of private buffers, together: compiled.

A mapping unrolls something over the mesh, has tiles of some extents in each buffer, and one tensor
stays there longest. Each such choice has a bound of its own; a mapping is above one of them
(docs/explanation/bounds_proofs.md, lemma 20).
"""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators.jit import allocating, compiled, helper

from ....arrays import Floats, Ints
from ...layer_kernel import CYCLES, ENERGY_PJ, LayerBatch
from ...level_capacity import Design
from ...rounding import ROUNDING
from ...word_prices import Prices
from ..whole_tiles import Whole
from .limit import Limit, limit_pj
from .mesh_layer import OnMesh, may_be_bounded, on_mesh
from .moved_words import GROUP, Counted, ListedTiles, Tables, list_tiles, look_up, tabulate
from .outer_tiles import Outside, same_part_pj
from .private_tiles import Room, tiles_that_stay
from .unrollings import LONGER, steps_of, unrollings
from .word_costs import KINDS, Forms, come_so_often, fill_kinds, priced

#: how finely mappings are told apart by cycles
_BINS: Final = 64

#: pairs of what is unrolled and of tiles that are looked at for a single score
_MOST: Final = 1 << 21

#: cycles that a layer takes anyhow, over the fewest steps, beyond which what is unrolled is no
#: matter
_WAITING: Final = 4.0


@allocating
def _corners(on: OnMesh, least_pj: float, cycles: float, limit: Limit) -> Floats:
    """Return float64[n, 2], energy (pJ, without leakage) and cycles; a mapping is above one row.

    Args:
        on: the layer.
        least_pj, cycles: that no mapping goes below.
        limit: rows may have its score in place of a higher one.
    """
    layer, counted = on.layer, on.counted
    design, bounds, busy = layer.design, layer.bounds, layer.prices.busy
    some = unrollings(bounds, design.dims[1], design.fanout[1], LONGER * cycles / busy)
    fewest, single = np.inf, np.array([[least_pj, cycles]])
    for n in range(len(some)):
        fewest = min(fewest, steps_of(bounds, some[n]))
    first = max(cycles, fewest * busy)
    last = LONGER * first
    if len(some) == 0 or first > _WAITING * fewest * busy:
        return single
    found = np.full((_BINS + 1, 2), np.inf)
    found[_BINS] = single[0]
    found[_BINS, 1] = last
    for n in range(_BINS if limit.score < np.inf else 0):
        # what no better mapping is above
        found[n, 1] = first + n * (last - first) / _BINS
        found[n, 0] = max(least_pj, limit_pj(limit, found[n, 1]))
    room = Room(np.floor(design.private[0] / design.unit[0]), design.unit[0], design.shared[0])
    for stays in range(3):
        tiles = tiles_that_stay(bounds, layer.window, room, stays)
        if limit.score < np.inf and len(some) * len(tiles) > _MOST:
            # a proof has better things to do
            return single
        listed = list_tiles(counted, stays, tiles)
        costs = _Costs(on.forms, on.outside, stays, np.empty(KINDS))
        _try(layer, counted, costs, some, listed, (first, last), found)
    return _not_above(found)


class _Costs(NamedTuple):
    """What words cost while one tensor stays.

    Attributes:
        forms: by kind of words.
        outside: words further out.
        stays: the tensor.
        own: float64[8], scratch.
    """

    forms: Forms
    outside: Outside
    stays: int
    own: Floats


@helper
def _adds(found: Floats, ends: tuple[float, float], energy: float, cycles: float) -> bool:
    """Whether mappings that take so much or more may be below all rows so far."""
    if cycles >= ends[1]:
        return False
    last = int((cycles - ends[0]) / (ends[1] - ends[0]) * _BINS)
    beaten = False
    for at in range(last + 1):
        beaten |= found[at, 0] <= energy and found[at, 1] <= cycles
    return not beaten


@helper
def _come_again(costs: _Costs, counted: Counted, kinds: Floats, times: Floats) -> float:
    """Let all words of each tensor cross the mesh so many times, or as often as they do; return the
    energy that this takes beside what ``kinds`` do."""
    own, prices = costs.own, costs.forms.prices
    come_so_often(counted, kinds, times, own)
    more = 0.0
    for k in range(KINDS):
        more += prices[0, k] * (own[k] - kinds[k])
    return float(more)


@helper
def _least_outside(costs: _Costs, counted: Counted, kinds: Floats, same_pj: float) -> float:
    """Return the least energy of words further out, and of those that come again for them.

    ``same_pj`` is that of words further out if the tensor that stays comes once.
    """
    choices, least = costs.outside.choices, same_pj
    for n in range(len(choices)):
        if choices[n, 3] < least:
            more = choices[n, 3] + _come_again(costs, counted, kinds, choices[n])
            least = min(least, more)
    return float(least)


@helper
def _put(found: Floats, ends: tuple[float, float], energy: float, cycles: float) -> None:
    """Put energy and cycles of a mapping into its bin."""
    if cycles < ends[1]:
        at = int((cycles - ends[0]) / (ends[1] - ends[0]) * _BINS)
        found[at, 0] = min(found[at, 0], max(energy, found[_BINS, 0]))
        found[at, 1] = min(found[at, 1], cycles)


@helper
def _put_all(
    layer: Whole,
    counted: Counted,
    costs: _Costs,
    kinds: Floats,
    same_pj: float,
    runs: tuple[float, float],
    ends: tuple[float, float],
    found: Floats,
) -> None:
    """Put into ``found`` what mappings of such words cost, which use ``runs[0]`` buffers for
    ``runs[1]`` cycles or more; ``same_pj`` as of :func:`_least_outside`."""
    energy, cycles = priced(layer, costs.forms, kinds, *runs)
    _put(found, ends, energy + same_pj, cycles)
    choices, least = costs.outside.choices, same_pj
    for n in range(len(choices)):
        if choices[n, 3] >= least:
            # all that follow cost no less, in no fewer cycles
            return
        if choices[n, 3] + _come_again(costs, counted, kinds, choices[n]) < least:
            more, later = priced(layer, costs.forms, costs.own, *runs)
            _put(found, ends, more + choices[n, 3], later)
            if later <= cycles:
                least = more + choices[n, 3] - energy


@allocating
def _try(
    layer: Whole,
    counted: Counted,
    costs: _Costs,
    some: Ints,
    listed: ListedTiles,
    ends: tuple[float, float],
    found: Floats,
) -> None:
    """Put into ``found`` what unrolled loops and tiles cost while one tensor stays."""
    bounds, words, kinds = counted.bounds, np.empty(3), np.empty(KINDS)
    shape, groups = listed.extents.shape, len(listed.most) - 1
    tables = Tables(np.ones(shape), np.ones(shape, np.int64), np.ones(8, np.int64))
    for u in range(len(some)):
        over, used = some[u], 1.0
        for d in range(8):
            used *= over[d]
        runs = used, max(ends[0], steps_of(bounds, over) * layer.prices.busy)
        tabulate(counted, listed, over, tables)
        for g in range(groups, -1, -1):
            # no tile does with fewer words than the largest extents, each by itself
            own = listed.most[g]
            look_up(counted, listed.stays, tables, own, words)
            fill_kinds(layer, counted, over, words, listed.least_fills[g], kinds)
            same_pj = same_part_pj(costs.outside, counted, listed.stays, tables, own)
            more_pj = _least_outside(costs, counted, kinds, same_pj)
            energy, cycles = priced(layer, costs.forms, kinds, *runs)
            adds = _adds(found, ends, energy + more_pj, cycles)
            if g == groups:
                if not adds:
                    break
                continue
            for n in range(g * GROUP, min((g + 1) * GROUP, len(listed.tiles)) if adds else 0):
                own = listed.numbers[n]
                look_up(counted, listed.stays, tables, own, words)
                fill_kinds(layer, counted, over, words, listed.fills[n], kinds)
                same_pj = same_part_pj(costs.outside, counted, listed.stays, tables, own)
                _put_all(layer, counted, costs, kinds, same_pj, runs, ends, found)


@allocating
def _not_above(found: Floats) -> Floats:
    """Return those rows of ascending cycles that need less energy than all before."""
    kept, least = np.zeros(len(found), np.bool_), np.inf
    for n in range(len(found)):
        kept[n] = found[n, 0] < least
        least = min(least, found[n, 0])
    return found[kept]


@compiled
def mesh_corners(
    design: Design,
    prices: Prices,
    batch: LayerBatch,
    bounds: Ints,
    windows: Ints,
    least: Floats,
    limit: Limit,
) -> tuple[Ints, Floats]:
    """Return int64[n] and float64[n, 2], a layer, and energy (pJ, without leakage of the chip) and
    cycles; each mapping of a layer is above one of its rows.

    Args:
        design: one on which no tensor may bypass a level.
        prices: of its words.
        batch: the layers, as :func:`archloom.evaluators.bounds.layer_kernel.batch_costs` has them.
        bounds, windows: int64[B, 8] and int64[B, 2, 4] of them.
        least: float64[B, 2], energy and cycles that no mapping goes below.
        limit: rows may have its score in place of a higher one, which takes less time to find.
    """
    count, rows = len(bounds), 0
    of, found = np.empty(count * (_BINS + 1), np.int64), np.empty((count * (_BINS + 1), 2))
    for i in range(count):
        own = least[i : i + 1]
        if may_be_bounded(design, bounds[i], windows[i]):
            on = on_mesh(design, prices, batch, i, bounds[i], windows[i])
            if on.outside.least_pj >= 0.0:
                own = _corners(on, least[i, ENERGY_PJ], least[i, CYCLES], limit)
        for n in range(len(own)):
            of[rows], found[rows, 0] = i, own[n, 0] * (1 - ROUNDING)
            found[rows, 1] = np.ceil(own[n, 1] * (1 - ROUNDING))
            rows += 1
    return of[:rows], found[:rows]
