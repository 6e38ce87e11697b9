"""Energy and cycles of a layer on one mesh of private buffers, together: compiled.

A mapping unrolls something over the mesh, has tiles of some extents in each buffer, and one tensor
stays there longest. Each such choice has a bound of its own; a mapping is above one of them
(docs/explanation/bounds_proofs.md, lemma 20).
"""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators.jit import allocating, compiled, copy_row, helper
from archloom.evaluators.loopnest import DILATION, STRIDE
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, C, G, K, N, P, Q, R, S

from ....arrays import Floats, Ints
from ...layer_kernel import CYCLES, ENERGY_PJ, LayerBatch
from ...layer_work import PADDED, one_work
from ...level_capacity import Design, limits_in, tiles_of
from ...rounding import ROUNDING
from ...word_prices import Prices
from ..crossing_words import crossing, crossing_whole, nothing_beside
from ..tile_extents import extents_of, undilated
from ..whole_tiles import Whole
from .moved_words import (
    GROUP,
    Counted,
    ListedTiles,
    Tables,
    blocks_of,
    list_tiles,
    look_up,
    rows_of,
    tabulate,
)
from .outer_tiles import Outside, outside_of, same_part_pj
from .private_tiles import Room, tiles_that_stay
from .unrollings import LONGER, steps_of, unrollings
from .word_costs import (
    I_FILL,
    KINDS,
    O_AGAIN,
    W_FILL,
    Forms,
    I,
    O,
    W,
    fill_kinds,
    forms_of,
    priced,
)

#: how finely mappings are told apart by cycles
_BINS: Final = 64

#: cycles that a layer takes anyhow, over the fewest steps, beyond which what is unrolled is no
#: matter
_WAITING: Final = 4.0


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
def _corners(layer: Whole, outside: Outside, least_pj: float, cycles: float) -> Floats:
    """Return float64[n, 2], energy (pJ, without leakage) and cycles; a mapping is above one row.

    Args:
        layer: that runs whole, on a design with a mesh as of :func:`mesh_of`, and whose blocks
            leave no rows or columns out.
        outside: words further out than the level outside the mesh.
        least_pj, cycles: that no mapping goes below.
    """
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
    forms, every = forms_of(layer), np.empty(3)
    every[WEIGHTS] = float(bounds[G]) * bounds[K] * bounds[C] * bounds[R] * bounds[S]
    every[OUTPUTS] = float(bounds[N]) * bounds[G] * bounds[K] * bounds[P] * bounds[Q]
    rows, blocks = (
        rows_of(bounds, extents_of(bounds, layer.window), PADDED),
        blocks_of(bounds, layer.window),
    )
    counted = Counted(bounds, rows, blocks, layer.work.words[PADDED], every)
    room = Room(np.floor(design.private[0] / design.unit[0]), design.unit[0], design.shared[0])
    for stays in range(3):
        tiles = tiles_that_stay(bounds, layer.window, room, stays)
        listed = list_tiles(counted, stays, tiles)
        costs = _Costs(forms, outside, stays, np.empty(KINDS))
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
    own, once, prices = costs.own, counted.once, costs.forms.prices
    copy_row(own, kinds)
    own[W] = max(own[W], once[WEIGHTS] * times[WEIGHTS])
    own[W_FILL] = max(own[W_FILL], own[W])
    own[I] = max(own[I], once[INPUTS] * times[INPUTS])
    own[I_FILL] = max(own[I_FILL], own[I])
    own[O] = max(own[O], counted.every[OUTPUTS] * times[OUTPUTS])
    own[O_AGAIN] = max(own[O_AGAIN], own[O] - counted.every[OUTPUTS])
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
def _in_a_row(bounds: Ints, window: Ints) -> bool:
    """Whether blocks of results read rows and columns none of which is left out in between."""
    for axis in range(2):
        several, taps = bounds[P + axis] > 1, bounds[R + axis]
        if window[axis, DILATION] > 1 and taps > 1:
            return False
        if several and window[axis, STRIDE] > taps:
            return False
    return True


@compiled
def mesh_corners(
    design: Design,
    prices: Prices,
    batch: LayerBatch,
    bounds: Ints,
    windows: Ints,
    least: Floats,
) -> tuple[Ints, Floats]:
    """Return int64[n] and float64[n, 2], a layer, and energy (pJ, without leakage of the chip) and
    cycles; each mapping of a layer is above one of its rows.

    Args:
        design: one on which no tensor may bypass a level.
        prices: of its words.
        batch: the layers, as :func:`archloom.evaluators.bounds.layer_kernel.batch_costs` has them.
        bounds, windows: int64[B, 8] and int64[B, 2, 4] of them.
        least: float64[B, 2], energy and cycles that no mapping goes below.
    """
    count, tiles = len(bounds), tiles_of(design)
    of, found, rows = np.empty(count * (_BINS + 1), np.int64), np.empty((count * (_BINS + 1), 2)), 0
    for i in range(count):
        own = least[i : i + 1]
        window = _closer(bounds[i], windows[i])
        if mesh_of(design) >= 0 and _in_a_row(bounds[i], window):
            work, limits = one_work(batch.works, i), limits_in(batch.shares, i, tiles)
            layer = Whole(design, prices, work, limits, bounds[i], windows[i])
            beside = nothing_beside(len(design.shared), 1)
            beyond, known = crossing(layer, beside), undilated(bounds[i], windows[i])
            extents = extents_of(bounds[i], windows[i])
            if known:
                beyond = max(beyond, crossing_whole(layer, extents, beside, False))
            if beyond >= 0.0:
                outside = outside_of(layer, extents, beyond, known)
                layer = Whole(design, prices, work, limits, bounds[i], window)
                own = _corners(layer, outside, least[i, ENERGY_PJ], least[i, CYCLES])
        for n in range(len(own)):
            of[rows], found[rows, 0] = i, own[n, 0] * (1 - ROUNDING)
            found[rows, 1] = np.ceil(own[n, 1] * (1 - ROUNDING))
            rows += 1
    return of[:rows], found[:rows]
