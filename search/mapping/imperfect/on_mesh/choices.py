"""What is chosen of mappings on one mesh of buffers, and whether it may be better than the best:
compiled (docs/explanation/bounds_proofs.md, lemma 22).
"""

from typing import NamedTuple

import numpy as np

from archloom.evaluators import Flags, Floats, Ints
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
    least_score,
)
from archloom.evaluators.jit import helper
from archloom.evaluators.loopnest import (
    INPUT_DIMS,
    ORDER,
    OUTPUT_DIMS,
    TEMPORAL,
    WEIGHT_DIMS,
    KernelInputs,
)
from archloom.evaluators.loopnest.imperfect import ImperfectRoom
from archloom.space.workload import INPUTS, WEIGHTS

from ..nearby import BETTER
from ..trial import Trial
from .tiles import fits_in, largest_in
from .unrolled import MESH, Unrolled


class Search(NamedTuple):
    """What all of a search has in common.

    Attributes:
        setup, trial, room: the problem, the best mapping, and scratch space.
        on: the layer as bounds see it.
        given, further: tiles of the mesh and around it, that are looked at.
        some: what the mesh may unroll.
        window: int64[2, 4] of the layer.
        order: int64[8], order in which dimensions get their tiles.
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
def limit_of(search: Search) -> Limit:
    """Return the score to be below."""
    setup = search.setup
    return Limit(setup.weights, setup.leakage_pj, search.trial.score[0] - BETTER)


@helper
def longest(search: Search, n: int, d: int) -> int:
    """Return the largest extent of a tile with which no buffer of the mesh is without work."""
    bound, reach = search.setup.bounds[d], search.some.reach[n, d]
    return int(bound if reach == 0 else (bound - 1) // reach)


@helper
def tile_fits(search: Search, chosen: int) -> bool:
    """Set the first ``chosen`` extents of the tile of the mesh, the others 1; whether it fits."""
    for i in range(8):
        d = search.order[i]
        search.given.tile[d] = search.tile[d] if i < chosen else 1
    return fits_in(search.on.layer.design, 0, search.window, search.given.tile)


@helper
def fits_around(search: Search, chosen: int) -> bool:
    """Whether the first ``chosen`` extents around the mesh fit beside the others of the mesh."""
    further = search.further
    for i in range(8):
        d = search.order[i]
        steps = search.steps[d] if i < chosen else 1
        further.tile[d] = min(search.setup.bounds[d], search.given.mesh[d] * steps)
    return fits_in(search.on.layer.design, MESH, search.window, further.tile)


@helper
def tile_score(search: Search, n: int, chosen: int, used: float, start: float) -> float:
    """Return a score that no mapping is below whose tile of the mesh has the first ``chosen``
    extents, which fit."""
    given, design, on = search.given, search.on.layer.design, search.on
    for i in range(chosen, 8):
        # each alone as large as it may be
        d = search.order[i]
        most = largest_in(design, 0, search.window, given.tile, d)
        given.mesh[d] = min(longest(search, n, d), most)
    for i in range(chosen, 8):
        d = search.order[i]
        given.tile[d] = given.mesh[d]
    bound_tiles(on, search.some.over[n], used, start, given)
    limit, least = limit_of(search), np.inf
    for stays in range(3):
        energy, cycles = given.figures[0, stays] + on.outside.least_pj, given.figures[1, stays]
        least = min(least, least_score(limit, energy, cycles))
    return float(least)


@helper
def _dims_of(t: int) -> int:
    return WEIGHT_DIMS if t == WEIGHTS else (INPUT_DIMS if t == INPUTS else OUTPUT_DIMS)


@helper
def _same_part(search: Search, stays: int, chosen: int) -> bool:
    """Set tiles around the mesh to have the same part of a tensor as those of the mesh, where their
    extents are open; whether they may."""
    dims, steps = _dims_of(stays), search.steps
    for d in range(8):
        search.further.open[d] = 1
        search.further.tile[d] = search.given.mesh[d]
    for i in range(8):
        d = search.order[i]
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
def _same_part_below(search: Search, limit: Limit, stays: int, chosen: int) -> bool:
    """Whether a mapping may be better of which a tensor stays in both tiles."""
    given, further, on = search.given, search.further, search.on
    if not _same_part(search, stays, chosen):
        return False
    count_times(on, further)
    more = further_pj(on, further, stays)
    return below(limit, given.figures[0, stays] + more, given.figures[1, stays])


@helper
def any_around(search: Search, used: float, start: float) -> bool:
    """Whether a mapping may be better that has the tile of the mesh, by what is known of all tiles
    around it (lemma 21)."""
    given, further, on = search.given, search.further, search.on
    limit, choices = limit_of(search), on.outside.choices
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
def further_may_be_better(search: Search, chosen: int, used: float, start: float) -> bool:
    """Whether a mapping may be better whose tile around the mesh has the first ``chosen`` extents;
    ``search.pairs`` says which tensors may stay then."""
    given, further, on = search.given, search.further, search.on
    limit, pairs, may = limit_of(search), search.pairs, False
    for stays in range(3):
        for other in range(3):
            pairs[stays, other] = 0
        if _same_part_below(search, limit, stays, chosen):
            pairs[stays, stays], may = 1, True
    for i in range(8):
        d = search.order[i]
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
def may_stay(search: Search) -> bool:
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
