"""What runs of *siblings* cost at least: subproblems that unroll the same and keep other tensors.

What a keeper's run costs depends on the tile, on what stays, and on which level feeds the keeper
(theorem 3 of docs/exact_mapping.md): not on what else is kept. So it is found once for all
siblings, and each adds up its own.
"""

from typing import NamedTuple

import numpy as np

from archloom.evaluators import Flags, Floats, Ints
from archloom.evaluators.jit import allocating, helper
from archloom.evaluators.loopnest import KernelInputs
from archloom.search.mapping.exact.subproblem import (
    ALL,
    LEAST,
    NOTHING,
    Ending,
    Lattice,
    Ports,
    Scratch,
    Subproblem,
    end_of_run,
    first_tile,
    has_room,
    idle,
    last_along,
    may_stay,
    meets,
    moved,
    new_scratch,
    next_tile,
    run_of,
    tries,
)
from archloom.space.workload import INPUTS, P


class Siblings(NamedTuple):
    """Ways to keep tensors, ``keeps[C, L, 3]``, and what a subproblem holds of them.

    ``parents[C, L, 3]`` are levels that feed keepers, -1 where there is no keeper; by level,
    tensor and parent, ``chains[L, 3, L]`` and ``units[L, 3, L, 3]`` are the chain of such a keeper
    and its least units.
    """

    keeps: Flags
    parents: Ints
    chains: Ints
    units: Floats


class SiblingCosts(NamedTuple):
    """Least costs by sibling, price and tile of a lattice: energy, and units at each of K ports.

    ``own[C, 1 + K, size]`` are what ends the runs of a level's keepers, ``outside`` of the same
    shape what is outside it; tiles are left out whose energy, both together, is not below
    ``most[C, L - 1]``.
    """

    lattice: Lattice
    ports: Ports
    most: Floats
    own: Floats
    outside: Floats


class TileScratch(NamedTuple):
    """What is known of one tile: which siblings it fits, ``fits[C]``, and what runs of keepers cost
    at least, ``runs[3, L, 4, 1 + K]`` by tensor, parent, what stays (:func:`_slot`) and price,
    where ``known[3, L]``; and room for one tile.
    """

    fits: Flags
    runs: Floats
    known: Flags
    one: Scratch


@allocating
def new_tile_scratch(siblings: int, levels: int, many: int) -> TileScratch:
    """Return room for so many siblings, levels and prices."""
    fits, known = np.zeros(siblings, np.uint8), np.zeros((3, levels), np.uint8)
    return TileScratch(fits, np.zeros((3, levels, 4, many)), known, new_scratch(levels, many))


@allocating
def new_siblings(keeps: Flags) -> Siblings:
    """Return room for what subproblems hold."""
    many, levels = keeps.shape[0], keeps.shape[1]
    parents = np.full((many, levels, 3), -1)
    chains, units = np.ones((levels, 3, levels), np.int64), np.zeros((levels, 3, levels, 3))
    return Siblings(keeps, parents, chains, units)


@helper
def copy_keepers(siblings: Siblings, subproblem: Subproblem, c: int) -> None:
    """Copy what is read of the keepers of a prepared subproblem, that of sibling c."""
    for level in range(subproblem.keep.shape[0]):
        for t in range(3):
            parent = subproblem.parent[level, t]
            siblings.parents[c, level, t] = parent
            if parent >= 0:
                siblings.chains[level, t, parent] = subproblem.chain[level, t]
                for i in range(3):
                    siblings.units[level, t, parent, i] = subproblem.least_units[level, t, i]


@helper
def _feed(
    setup: KernelInputs, subproblem: Subproblem, siblings: Siblings, level: int, t: int, parent: int
) -> None:
    """Set what a subproblem holds of the keeper of a tensor to that of one with such a parent."""
    subproblem.runs[level, t], subproblem.parent[level, t] = 1, parent
    subproblem.chain[level, t] = siblings.chains[level, t, parent]
    for i in range(3):
        subproblem.least_units[level, t, i] = siblings.units[level, t, parent, i]
    if t == INPUTS:
        subproblem.varies[level + 1] = 1 if meets(setup, subproblem.spread, level + 1) else 0


@helper
def _least_run(
    setup: KernelInputs,
    subproblem: Subproblem,
    ports: Ports,
    t: int,
    ending: Ending,
    scratch: Scratch,
    least: Floats,
) -> None:
    """Set least[1 + K] to what the run of a keeper costs at least, in energy and at each port."""
    found = False
    for place in range(5):
        first = P + place if place < 4 else NOTHING
        if not tries(t, ending.stays, first, scratch.tile.factors, found, False):
            continue
        end = Ending(ending.outer, ending.steps, ending.stays, first)
        energy = end_of_run(setup, subproblem, t, end, scratch)
        if not found or energy < least[0]:
            least[0] = energy
        for port in range(len(ports.rate)):
            units = moved(ports, port, scratch.traffic.units)
            if not found or units < least[1 + port]:
                least[1 + port] = units
        found = True


@helper
def _slot(t: int, stays: int) -> int:
    """Place of a run by what stays: weights and results mind only whether it is they."""
    return stays if t == INPUTS else int(stays != t)


@helper
def _least_runs(
    setup: KernelInputs,
    subproblem: Subproblem,
    ports: Ports,
    level: int,
    t: int,
    steps: int,
    scratch: Scratch,
    runs: Floats,
) -> None:
    """Set runs[4, 1 + K] to what the run of a keeper costs at least, by :func:`_slot`.

    ``steps`` are all steps outside the tile.
    """
    some, other = False, False
    for stays in range(4):
        still = idle(stays, scratch.tile.factors)
        if not may_stay(stays, still, some, False):
            continue
        some = True
        if t != INPUTS and stays != t:
            if other:
                continue
            other = True
        ending = Ending(level + 1, run_of(t, stays, still, steps), stays, NOTHING)
        _least_run(setup, subproblem, ports, t, ending, scratch, runs[_slot(t, stays)])


@helper
def _least_end(siblings: Siblings, c: int, level: int, runs: Floats, scratch: Scratch) -> None:
    """Set row :data:`LEAST` of the sums to the least with which the keepers of a sibling can end
    their runs.
    """
    sums, best, found = scratch.sums[ALL], scratch.sums[LEAST], False
    for stays in range(4):
        if not may_stay(stays, idle(stays, scratch.tile.factors), found, False):
            continue
        sums[:] = 0.0
        for t in range(3):
            parent = siblings.parents[c, level, t]
            if parent >= 0:
                for j in range(len(sums)):
                    sums[j] += runs[t, parent, _slot(t, stays), j]
        for j in range(len(sums)):
            if not found or sums[j] < best[j]:
                best[j] = sums[j]
        found = True


@helper
def _fitting(
    setup: KernelInputs,
    subproblem: Subproblem,
    siblings: Siblings,
    costs: SiblingCosts,
    level: int,
    number: int,
    scratch: TileScratch,
) -> int:
    """Set which siblings have room for a tile, and are not ruled out by what is outside; return
    how many, -1 if none has room.
    """
    some, roomy, room = 0, False, False
    for c in range(len(scratch.fits)):
        alike = c > 0
        for t in range(3):
            alike = alike and siblings.keeps[c, level, t] == subproblem.keep[level, t]
            subproblem.keep[level, t] = siblings.keeps[c, level, t]
        if not alike:
            room = has_room(setup, subproblem, level, scratch.one.extents)
        roomy = roomy or room
        below = costs.outside[c, 0, number] < costs.most[c, level]
        scratch.fits[c] = 1 if room and below else 0
        some += scratch.fits[c]
    return some if roomy else -1


@helper
def _find_runs(
    setup: KernelInputs,
    subproblem: Subproblem,
    ports: Ports,
    siblings: Siblings,
    level: int,
    scratch: TileScratch,
) -> None:
    """Set the runs of a tile that are read of a sibling which it fits."""
    tile, steps = scratch.one.tile, 1
    for d in range(8):
        tile.factors[d] = subproblem.steps[d] // tile.tau[d]
        steps *= tile.factors[d]
    scratch.known[:] = 0
    for c in range(len(scratch.fits)):
        for t in range(3):
            parent = siblings.parents[c, level, t]
            if scratch.fits[c] and parent >= 0 and not scratch.known[t, parent]:
                runs = scratch.runs[t, parent]
                _feed(setup, subproblem, siblings, level, t, parent)
                _least_runs(setup, subproblem, ports, level, t, steps, scratch.one, runs)
                scratch.known[t, parent] = 1


@helper
def _fill_tile(
    siblings: Siblings, costs: SiblingCosts, level: int, number: int, scratch: TileScratch
) -> None:
    """Set the costs of a tile for siblings that it fits."""
    best = scratch.one.sums[LEAST]
    for c in range(len(scratch.fits)):
        if scratch.fits[c]:
            _least_end(siblings, c, level, scratch.runs, scratch.one)
            if best[0] + costs.outside[c, 0, number] < costs.most[c, level]:
                for j in range(len(best)):
                    costs.own[c, j, number] = best[j]


@helper
def fill_siblings(
    setup: KernelInputs,
    subproblem: Subproblem,
    siblings: Siblings,
    costs: SiblingCosts,
    level: int,
    scratch: TileScratch,
    stop: Flags,
) -> None:
    """Set what ends the runs of a level's keepers at least, inf where a tile does not fit or is
    left out; add it to what is outside, for the next level inside.
    """
    number, at, tau = 0, scratch.one.at, scratch.one.tile.tau
    lattice, own, outside = costs.lattice, costs.own, costs.outside
    own[:] = np.inf
    line = first_tile(lattice, at, tau)
    while number < lattice.size:
        if stop[0]:
            return
        extents = scratch.one.extents
        for d in range(8):
            extents[0, d] = tau[d] * subproblem.inside[level, d]
        some = _fitting(setup, subproblem, siblings, costs, level, number, scratch)
        if some < 0:
            # nor have larger ones room
            number = last_along(lattice, line, number, at)
        elif some > 0:
            _find_runs(setup, subproblem, costs.ports, siblings, level, scratch)
            _fill_tile(siblings, costs, level, number, scratch)
        next_tile(lattice, at, tau)
        number += 1
    for c in range(len(outside)):
        for j in range(own.shape[1]):
            for number in range(lattice.size):
                outside[c, j, number] += own[c, j, number]
