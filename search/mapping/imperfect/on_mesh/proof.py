"""All mappings on one mesh of private buffers that may be better than the best one: compiled.

A mapping that keeps what it keeps is known by what the mesh unrolls, the tile of one of its
buffers, the tile of the level around it, and the orders of loops. These are chosen one after the
other, tiles dimension by dimension, as long as the bound of what is chosen is below the best score
(docs/explanation/bounds_proofs.md, lemma 22). Nothing is left when it ends: the best is proven.
"""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators import Flags, Floats, Ints
from archloom.evaluators.bounds import Design, LayerBatch, Prices
from archloom.evaluators.bounds.network.mesh import (
    Further,
    Given,
    Limit,
    OnMesh,
    below,
    bound_tiles,
    come_again,
    count_times,
    further_pj,
    may_be_bounded,
    on_mesh,
    room_for_tiles,
)
from archloom.evaluators.jit import compiled, helper
from archloom.evaluators.loopnest import (
    INPUT_DIMS,
    ORDER,
    OUTPUT_DIMS,
    SPATIAL_X,
    SPATIAL_Y,
    TEMPORAL,
    WEIGHT_DIMS,
    KernelInputs,
    X,
    Y,
)
from archloom.evaluators.loopnest.imperfect import ImperfectRoom
from archloom.space.workload import INPUTS, WEIGHTS

from ..enumeration import set_order, smallest_from
from ..nearby import BETTER
from ..trial import Trial, copy_mapping, cover, price
from .tiles import fits_in, largest_in, next_extent
from .unrolled import MESH, Unrolled, unrolled

#: looks that pricing a mapping counts for
PRICE: Final = 16

#: levels of a design that is searched: buffers of the mesh, the one around it, and DRAM
LEVELS: Final = 3


class Bounded(NamedTuple):
    """A layer and a design as bounds see them, which leaves no choice of what is kept.

    Attributes:
        design, prices: of the hardware.
        batch: the layer, as :meth:`archloom.evaluators.bounds.Nests.batch` has it.
        bounds, windows: int64[1, 8] and int64[1, 2, 4] of it.
        least: float64[1, 2], energy (pJ) and cycles that no mapping goes below.
    """

    design: Design
    prices: Prices
    batch: LayerBatch
    bounds: Ints
    windows: Ints
    least: Floats


class _Search(NamedTuple):
    """What all of a search has in common.

    Attributes:
        setup, trial, room: the problem, the best mapping, and scratch space.
        on: the layer as bounds see it.
        given, further: tiles of the mesh and around it, that are looked at.
        some: what the mesh may unroll.
        window: int64[2, 4] of the layer.
        order: int64[2, 8], order in which dimensions get their tiles, of the mesh and around it.
        few: int64[8], whether of the extents of a dimension that leave as many steps the shortest
            is enough, outside what is unrolled of it.
        tile: int64[8], extents of tiles of the mesh so far; 0 for none yet.
        steps: int64[8], the same of the loops around the mesh.
        left: int64[8], the most steps there.
        pairs: int64[3, 3], whether a mapping may be better of which a tensor stays in tiles of the
            mesh, and one in those around it.
        beyond: float64[3], scratch.
        looks: int64[2], how many there may be, and how many there were.
        stop: uint8[1], set from elsewhere where there are to be no more.
    """

    setup: KernelInputs
    trial: Trial
    room: ImperfectRoom
    on: OnMesh
    given: Given
    further: Further
    some: Unrolled
    window: Ints
    order: Ints
    few: Ints
    tile: Ints
    steps: Ints
    left: Ints
    pairs: Ints
    beyond: Floats
    looks: Ints
    stop: Flags


@helper
def _limit(search: _Search) -> Limit:
    """Return the score to be below."""
    setup = search.setup
    return Limit(setup.weights, setup.leakage_pj, search.trial.score[0] - BETTER)


@helper
def _longest(search: _Search, n: int, d: int) -> int:
    """Return the largest extent of a tile with which no buffer of the mesh is without work."""
    bound, reach = search.setup.bounds[d], search.some.reach[n, d]
    return int(bound if reach == 0 else (bound - 1) // reach)


@helper
def _tile_fits(search: _Search, chosen: int) -> bool:
    """Set the first ``chosen`` extents of the tile of the mesh, the others 1; whether it fits."""
    for i in range(8):
        d = search.order[0, i]
        search.given.tile[d] = search.tile[d] if i < chosen else 1
    return fits_in(search.on.layer.design, 0, search.window, search.given.tile)


@helper
def _tile_may_be_better(search: _Search, n: int, chosen: int, used: float, start: float) -> bool:
    """Whether a mapping may be better whose tile of the mesh has the first ``chosen`` extents,
    which fit."""
    given, design, on = search.given, search.on.layer.design, search.on
    for i in range(chosen, 8):
        # each alone as large as it may be
        d = search.order[0, i]
        most = largest_in(design, 0, search.window, given.tile, d)
        given.mesh[d] = min(_longest(search, n, d), most)
    for i in range(chosen, 8):
        d = search.order[0, i]
        given.tile[d] = given.mesh[d]
    bound_tiles(on, search.some.over[n], used, start, given)
    limit = _limit(search)
    for stays in range(3):
        energy, cycles = given.figures[0, stays], given.figures[1, stays]
        if below(limit, energy + on.outside.least_pj, cycles):
            return True
    return False


@helper
def _dims_of(t: int) -> int:
    return WEIGHT_DIMS if t == WEIGHTS else (INPUT_DIMS if t == INPUTS else OUTPUT_DIMS)


@helper
def _same_part(search: _Search, stays: int, chosen: int) -> bool:
    """Set tiles around the mesh to have the same part of a tensor as those of the mesh, where their
    extents are open; whether they may."""
    dims, steps = _dims_of(stays), search.steps
    for d in range(8):
        search.further.open[d] = 1
        search.further.tile[d] = search.given.mesh[d]
    for i in range(8):
        d = search.order[1, i]
        if i < chosen:
            if dims >> d & 1 and steps[d] > 1:
                return False
            search.further.open[d] = 0
            bound = search.setup.bounds[d]
            search.further.tile[d] = min(bound, search.given.mesh[d] * steps[d])
        elif dims >> d & 1:
            search.further.open[d] = 0
    return True


@helper
def _same_part_below(search: _Search, limit: Limit, stays: int, chosen: int) -> bool:
    """Whether a mapping may be better of which a tensor stays in both tiles."""
    given, further, on = search.given, search.further, search.on
    if not _same_part(search, stays, chosen):
        return False
    count_times(on, further)
    more = further_pj(on, further, stays)
    return below(limit, given.figures[0, stays] + more, given.figures[1, stays])


@helper
def _any_around(search: _Search, used: float, start: float) -> bool:
    """Whether a mapping may be better that has the tile of the mesh, by what is known of all tiles
    around it (lemma 21)."""
    given, further, on = search.given, search.further, search.on
    limit, choices = _limit(search), on.outside.choices
    for stays in range(3):
        if _same_part_below(search, limit, stays, 0):
            return True
    for stays in range(3):
        energy, cycles = given.figures[0, stays], given.figures[1, stays]
        for n in range(len(choices)):
            if not below(limit, energy + choices[n, 3], cycles):
                # all that follow cost no less
                break
            for t in range(3):
                further.times[t] = choices[n, t]
            again, later = come_again(on, given, further, stays, used, start)
            if below(limit, again + choices[n, 3], later):
                return True
    return False


@helper
def _further_may_be_better(search: _Search, chosen: int, used: float, start: float) -> bool:
    """Whether a mapping may be better whose tile around the mesh has the first ``chosen`` extents;
    ``search.pairs`` says which tensors may stay then."""
    given, further, on = search.given, search.further, search.on
    limit, pairs, may = _limit(search), search.pairs, False
    for stays in range(3):
        for other in range(3):
            pairs[stays, other] = 0
        if _same_part_below(search, limit, stays, chosen):
            pairs[stays, stays], may = 1, True
    for i in range(8):
        d = search.order[1, i]
        further.open[d] = int(i >= chosen)
        further.tile[d] = min(search.setup.bounds[d], given.mesh[d] * max(1, search.steps[d]))
    count_times(on, further)
    beyond, cheapest = search.beyond, np.inf
    for stays in range(3):
        beyond[stays] = further_pj(on, further, stays)
        cheapest = min(cheapest, beyond[stays])
    for stays in range(3):
        energy, cycles = given.figures[0, stays], given.figures[1, stays]
        if not below(limit, energy + cheapest, cycles):
            continue
        energy, cycles = come_again(on, given, further, stays, used, start)
        for other in range(3):
            if below(limit, energy + beyond[other], cycles):
                pairs[stays, other], may = 1, True
    return may


@helper
def _fits_around(search: _Search, chosen: int) -> bool:
    """Whether the first ``chosen`` extents around the mesh fit beside the others of the mesh."""
    further = search.further
    for i in range(8):
        d = search.order[1, i]
        steps = search.steps[d] if i < chosen else 1
        further.tile[d] = min(search.setup.bounds[d], search.given.mesh[d] * steps)
    return fits_in(search.on.layer.design, MESH, search.window, further.tile)


@helper
def _stays(loops: Ints, level: int) -> int:
    """Return the tensor that the first loop of a level does not move; -1 if it moves all, -2 if
    there is none."""
    for at in range(8):
        d = loops[level, ORDER, at]
        if loops[level, TEMPORAL, d] > 1:
            for t in range(3):
                if not _dims_of(t) >> d & 1:
                    return t
            return -1
    return -2


@helper
def _may_stay(search: _Search) -> bool:
    """Whether the mapping that is tried may be better, by the tensors that stay in it."""
    inner, outer = _stays(search.trial.tried, MESH), _stays(search.trial.tried, MESH + 1)
    if inner == -2:
        # tiles around the mesh are those of the mesh
        inner = outer
    for stays in range(3):
        for other in range(3):
            same = (inner < 0 or inner == stays) and (outer < 0 or outer == other)
            if same and search.pairs[stays, other]:
                return True
    return False


@helper
def _price(search: _Search, n: int) -> None:
    """Price orders of the tiles that are chosen, and keep what is better."""
    trial, outer = search.trial, 0
    loops = trial.tried
    for d in range(8):
        for level in range(LEVELS):
            for kind in range(3):
                loops[level, kind, d] = 1
        loops[0, TEMPORAL, d] = search.given.tile[d]
        loops[MESH, SPATIAL_X, d] = search.some.axes[n, X, d]
        loops[MESH, SPATIAL_Y, d] = search.some.axes[n, Y, d]
        loops[MESH, TEMPORAL, d] = search.steps[d]
        cover(search.setup, loops, d)
    set_order(loops, 0, 0)
    while set_order(loops, MESH + 1, outer):
        inner = 0
        while set_order(loops, MESH, inner):
            inner += 1
            if not _may_stay(search):
                continue
            search.looks[1] += PRICE
            score = price(search.setup, loops, trial.tried_keep, search.room)
            if score < trial.score[0]:
                copy_mapping(loops, trial.tried_keep, trial.best, trial.best_keep)
                trial.score[0] = score
        outer += 1


@helper
def _look_around(search: _Search, n: int, used: float, start: float) -> bool:
    """Look at all tiles around one of the mesh; whether that was not too much."""
    setup, steps, left, i = search.setup, search.steps, search.left, 0
    for d in range(8):
        steps[d] = 0
        left[d] = (setup.bounds[d] + search.given.mesh[d] - 1) // search.given.mesh[d]
    if not _any_around(search, used, start):
        return True
    while i >= 0:
        if search.looks[1] > search.looks[0] or search.stop[0]:
            return False
        if i == 8:
            _price(search, n)
            i -= 1
            continue
        d = search.order[1, i]
        steps[d] = next_extent(steps[d], left[d], search.few[d] == 1)
        search.looks[1] += 1
        if steps[d] > left[d] or not _fits_around(search, i + 1):
            # longer ones do not fit either
            steps[d] = 0
            i -= 1
        elif _further_may_be_better(search, i + 1, used, start):
            i += 1
    return True


@helper
def _look_inside(search: _Search, n: int, start: float) -> bool:
    """Look at all tiles of the mesh for what it unrolls; whether that was not too much."""
    over, tile, used, i = search.some.over[n], search.tile, 1.0, 0
    for d in range(8):
        used *= over[d]
        tile[d] = 0
    while i >= 0:
        if search.looks[1] > search.looks[0] or search.stop[0]:
            return False
        if i == 8:
            if not _look_around(search, n, used, start):
                return False
            i -= 1
            continue
        d = search.order[0, i]
        most = _longest(search, n, d)
        tile[d] = next_extent(tile[d], most, search.few[d] == 1 and over[d] == 1)
        search.looks[1] += 1
        if tile[d] > most or not _tile_fits(search, i + 1):
            # longer ones do not fit either
            tile[d] = 0
            i -= 1
        elif _tile_may_be_better(search, n, i + 1, used, start):
            i += 1
    return True


@helper
def _most_cycles(setup: KernelInputs, energy: float, cycles: float, best: float) -> float:
    """Return cycles from which on nothing is better, to a thousandth."""
    limit, high = Limit(setup.weights, setup.leakage_pj, best), cycles
    for _ in range(1 << 16):
        if not below(limit, energy, high):
            return high
        high = high * 1.001 + 1.0
    return np.inf


@compiled(brief=True)
def settle(
    setup: KernelInputs,
    bounded: Bounded,
    trial: Trial,
    room: ImperfectRoom,
    looks: Ints,
    stop: Flags,
) -> bool:
    """Look at all mappings that may be better than the best of ``trial`` and keep what
    ``trial.tried_keep`` says; keep the best up to date.

    Args:
        setup: of a problem without constraints, hops or arrays that fill and drain.
        bounded: the same as bounds see it, for what is kept.
        trial: the best mapping.
        room: scratch space.
        looks: int64[2], how many looks there may be, and how many there were, which is added to.
        stop: uint8[1], set from elsewhere where it is to end.

    Returns:
        Whether these were all; not if the design has no such mesh, or there are too many.
    """
    design, least = bounded.design, bounded.least
    bounds, window = bounded.bounds[0], bounded.windows[0]
    if len(design.shared) != LEVELS or not may_be_bounded(design, bounds, window):
        return False
    on = on_mesh(design, bounded.prices, bounded.batch, 0, bounds, window)
    most = _most_cycles(setup, least[0, 0], least[0, 1], trial.score[0])
    all_of_them, some = unrolled(setup, most / bounded.prices.busy)
    if on.outside.least_pj < 0.0 or not all_of_them:
        return False
    given, further = room_for_tiles()
    order, few = np.empty((2, 8), np.int64), np.zeros(8, np.int64)
    order[0], order[1] = np.argsort(-bounds), np.argsort(-bounds)
    for d in range(8):
        # the loop over time of a level stands outside its children
        few[d] = smallest_from(setup, d) <= 3 * MESH + 2
    none, pairs = np.zeros((3, 8), np.int64), np.zeros((3, 3), np.int64)
    what, tiles = (setup, trial, room, on, given, further), (none[0], none[1], none[2])
    search = _Search(*what, some, window, order, few, *tiles, pairs, np.empty(3), looks, stop)
    for n in range(len(some.steps)):
        start = max(least[0, 1], some.steps[n] * bounded.prices.busy)
        # those that follow take no fewer steps
        if not below(_limit(search), least[0, 0], start):
            return True
        if not _look_inside(search, n, start):
            return False
    return True
