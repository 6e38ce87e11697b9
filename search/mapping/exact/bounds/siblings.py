"""What runs of *siblings* cost at least: subproblems that unroll the same and keep other tensors.

What a keeper's run costs depends on the tile, on what stays, and on which level feeds the keeper
(theorem 3 of docs/explanation/mapping_proofs.md): not on what else is kept. So it is found once for
all siblings, and each adds up its own.
"""

from typing import NamedTuple

import numpy as np

from archloom.evaluators import Flags, Floats, Ints
from archloom.evaluators.jit import allocating, fill_table, helper
from archloom.evaluators.loopnest import KernelInputs
from archloom.search.mapping.exact.subproblem import (
    NOTHING,
    Ending,
    Feed,
    Lattice,
    Ports,
    Scratch,
    StepsLeft,
    Subproblem,
    first_tile,
    forget,
    has_room,
    idle,
    is_known,
    last_along,
    least_of_keeper,
    meets,
    moved_for,
    new_scratch,
    next_tile,
    run_of,
    slot_of,
    steps_left,
)
from archloom.space.workload import INPUTS


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
    """Which siblings a tile fits, ``fits[C]``, and room for the tile and runs of its keepers."""

    fits: Flags
    one: Scratch


@allocating
def new_tile_scratch(siblings: int, levels: int, many: int) -> TileScratch:
    """Return room for so many siblings, levels and prices."""
    return TileScratch(np.zeros(siblings, np.uint8), new_scratch(levels, many))


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
def _least_runs(
    setup: KernelInputs,
    subproblem: Subproblem,
    ports: Ports,
    siblings: Siblings,
    t: int,
    parent: int,
    left: StepsLeft,
    scratch: Scratch,
) -> None:
    """Find what the run of a keeper costs at least, in energy and at each port, unless that is
    known.
    """
    memo, factors = scratch.memo, scratch.tile.factors
    place = left.place if t == INPUTS else 0
    for stays in range(4):
        if not left.ways >> stays & 1 or is_known(memo, t, parent, stays, left, factors):
            continue
        runs = memo.costs[t, parent, place, slot_of(t, stays)]
        feed = Feed(parent, siblings.chains[left.level, t, parent])
        least, steps = siblings.units[left.level, t, parent], left.steps
        ending = Ending(
            left.level + 1, run_of(t, stays, idle(stays, factors), steps), stays, NOTHING
        )
        runs[0] = least_of_keeper(setup, subproblem, t, ending, feed, least, scratch)
        for port in range(len(ports.rate)):
            runs[1 + port] = moved_for(ports, port, left.level, parent, scratch.moved)


@helper
def _least_end(siblings: Siblings, c: int, left: StepsLeft, runs: Floats, j: int) -> float:
    """The least with which the keepers of a sibling can end their runs, by price j."""
    best = np.inf
    for stays in range(4):
        if left.ways >> stays & 1:
            total = 0.0
            for t in range(3):
                parent = siblings.parents[c, left.level, t]
                if parent >= 0:
                    place = left.place if t == INPUTS else 0
                    total += runs[t, parent, place, slot_of(t, stays), j]
            best = min(best, total)
    return best


@helper
def _any_below(costs: SiblingCosts, level: int, number: int) -> bool:
    """Whether what is outside a tile leaves anything of it to some sibling."""
    for c in range(len(costs.outside)):
        if costs.outside[c, 0, number] < costs.most[c, level]:
            return True
    return False


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
def _fill_tile(
    setup: KernelInputs,
    subproblem: Subproblem,
    siblings: Siblings,
    costs: SiblingCosts,
    level: int,
    number: int,
    scratch: TileScratch,
) -> None:
    """Set the costs of a tile for siblings that it fits."""
    own, one, ports = costs.own, scratch.one, costs.ports
    left, runs = steps_left(costs.lattice, level, number, one), one.memo.costs
    for c in range(len(scratch.fits)):
        if not scratch.fits[c]:
            continue
        for t in range(3):
            parent = siblings.parents[c, level, t]
            if parent >= 0:
                _least_runs(setup, subproblem, ports, siblings, t, parent, left, one)
        energy = _least_end(siblings, c, left, runs, 0)
        if energy + costs.outside[c, 0, number] < costs.most[c, level]:
            own[c, 0, number] = energy
            for j in range(1, own.shape[1]):
                own[c, j, number] = _least_end(siblings, c, left, runs, j)


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
    for c in range(len(own)):
        fill_table(own[c], np.inf)
    forget(lattice, scratch.one.memo)
    subproblem.varies[level + 1] = 1 if meets(setup, subproblem.spread, level + 1) else 0
    line = first_tile(lattice, at, tau)
    while number < lattice.size:
        if stop[0]:
            return
        some = 0
        if _any_below(costs, level, number):
            for d in range(8):
                scratch.one.extents[0, d] = tau[d] * subproblem.inside[level, d]
            some = _fitting(setup, subproblem, siblings, costs, level, number, scratch)
        if some < 0:
            # nor have larger ones room
            number = last_along(lattice, line, number, at)
        elif some > 0:
            _fill_tile(setup, subproblem, siblings, costs, level, number, scratch)
        next_tile(lattice, at, tau)
        number += 1
    for c in range(len(outside)):
        for j in range(own.shape[1]):
            for number in range(lattice.size):
                outside[c, j, number] += own[c, j, number]
