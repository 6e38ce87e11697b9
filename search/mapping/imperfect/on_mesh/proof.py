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
    Limit,
    below,
    may_be_bounded,
    on_mesh,
    room_for_tiles,
)
from archloom.evaluators.jit import compiled, helper
from archloom.evaluators.loopnest import (
    SPATIAL_X,
    SPATIAL_Y,
    TEMPORAL,
    KernelInputs,
    X,
    Y,
)
from archloom.evaluators.loopnest.imperfect import ImperfectRoom

from ..enumeration import set_order, smallest_from
from ..trial import Trial, copy_mapping, cover, price
from .choices import (
    Search,
    any_around,
    fits_around,
    further_may_be_better,
    limit_of,
    longest,
    may_stay,
    tile_fits,
    tile_score,
)
from .tiles import next_extent
from .unrolled import MESH, unrolled

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


@helper
def _price(search: Search, n: int) -> None:
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
            if not may_stay(search):
                continue
            search.looks[1] += PRICE
            score = price(search.setup, loops, trial.tried_keep, search.room)
            if score < trial.score[0]:
                copy_mapping(loops, trial.tried_keep, trial.best, trial.best_keep)
                trial.score[0] = score
        outer += 1


@helper
def _look_around(search: Search, n: int, used: float, start: float) -> bool:
    """Look at all tiles around one of the mesh; whether that was not too much."""
    setup, steps, left, i = search.setup, search.steps, search.left, 0
    for d in range(8):
        steps[d] = 0
        left[d] = (setup.bounds[d] + search.given.mesh[d] - 1) // search.given.mesh[d]
    if not any_around(search, used, start):
        return True
    while i >= 0:
        if search.looks[1] > search.looks[0] or search.stop[0]:
            return False
        if i == 8:
            _price(search, n)
            i -= 1
            continue
        d = search.order[i]
        steps[d] = next_extent(steps[d], left[d], search.few[d] == 1)
        search.looks[1] += 1
        if steps[d] > left[d] or not fits_around(search, i + 1):
            # longer ones do not fit either
            steps[d] = 0
            i -= 1
        elif further_may_be_better(search, i + 1, used, start):
            i += 1
    return True


@helper
def _used(search: Search, n: int) -> float:
    """Return how many buffers of the mesh are used for what it unrolls, and start with tiles of
    single words."""
    used = 1.0
    for d in range(8):
        used *= search.some.over[n, d]
        search.given.tile[d] = 1
    return used


@helper
def _look_inside(search: Search, n: int, start: float) -> bool:
    """Look at all tiles of the mesh for what it unrolls; whether that was not too much."""
    over, tile, used, i = search.some.over[n], search.tile, _used(search, n), 0
    for d in range(8):
        tile[d] = 0
    while i >= 0:
        if search.looks[1] > search.looks[0] or search.stop[0]:
            return False
        if i == 8:
            if not _look_around(search, n, used, start):
                return False
            i -= 1
            continue
        d = search.order[i]
        most = longest(search, n, d)
        tile[d] = next_extent(tile[d], most, search.few[d] == 1 and over[d] == 1)
        search.looks[1] += 1
        if tile[d] > most or not tile_fits(search, i + 1):
            # longer ones do not fit either
            tile[d] = 0
            i -= 1
        elif tile_score(search, n, i + 1, used, start) < limit_of(search).score:
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
) -> float:
    """Look at all mappings that may be better than the best of ``trial`` and keep what
    ``trial.tried_keep`` says; keep the best up to date.

    Args:
        setup: of a problem without prescribed factors or orders, energy of hops, arrays that fill
            and drain, or DRAM with rows.
        bounded: the same as bounds see it, for what is kept.
        trial: the best mapping.
        room: scratch space.
        looks: int64[2], how many looks there may be, and how many there were, which is added to.
        stop: uint8[1], set from elsewhere where it is to end.

    Returns:
        A score that none of those which were not looked at is below, infinite if there are none;
        minus infinity if the design has no such mesh, or a mesh may unroll too much.
    """
    design, least = bounded.design, bounded.least
    bounds, window = bounded.bounds[0], bounded.windows[0]
    if len(design.shared) != LEVELS or not may_be_bounded(design, bounds, window):
        return -np.inf
    on = on_mesh(design, bounded.prices, bounded.batch, 0, bounds, window)
    most = _most_cycles(setup, least[0, 0], least[0, 1], trial.score[0])
    all_of_them, some = unrolled(setup, most / bounded.prices.busy)
    if on.outside.least_pj < 0.0 or not all_of_them:
        return -np.inf
    given, further = room_for_tiles()
    order, few = np.argsort(-bounds), np.zeros(8, np.int64)
    for d in range(8):
        # the loop over time of a level stands outside its children
        few[d] = smallest_from(setup, d) <= 3 * MESH + 2
    none, pairs = np.zeros((3, 8), np.int64), np.zeros((3, 3), np.int64)
    what, tiles = (setup, trial, room, on, given, further), (none[0], none[1], none[2])
    search = Search(*what, some, window, order, few, *tiles, pairs, np.empty(3), looks, stop)
    starts, scores = (
        np.maximum(least[0, 1], some.steps * bounded.prices.busy),
        np.empty(len(some.steps)),
    )
    for n in range(len(some.steps)):
        scores[n] = tile_score(search, n, 0, _used(search, n), starts[n])
        looks[1] += 1
    # what may be best comes first: the better the best mapping is, the fewer are left
    for n in np.argsort(scores):
        if scores[n] >= limit_of(search).score:
            break
        if not _look_inside(search, n, starts[n]):
            return float(scores[n])
    return np.inf
