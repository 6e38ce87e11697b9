"""What runs of *siblings* cost at least: frames that unroll the same and keep other tensors.

What a keeper's run costs depends on the tile, on what stays, and on which level feeds the keeper
(theorem 3 of docs/exact_mapping.md): not on what else is kept. So it is found once for all
siblings, and each adds up its own.
"""

from typing import NamedTuple

import numpy as np

from archloom.evaluators import Flags, Floats, Ints, helper, inlined
from archloom.evaluators.loopnest import KernelInputs
from archloom.search.mapping.exact.subproblem import (
    NOTHING,
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
    next_tile,
    run_of,
    tries,
)
from archloom.space.workload import INPUTS, P


class Siblings(NamedTuple):
    """Ways to keep tensors, ``keeps[C, L, 3]``, and what a frame holds of them.

    ``parents[C, L, 3]`` are levels that feed keepers, -1 where there is no keeper; by level,
    tensor and parent, ``chains[L, 3, L]`` and ``units[L, 3, L, 3]`` are the chain of such a keeper
    and its least units.
    """

    keeps: Flags
    parents: Ints
    chains: Ints
    units: Floats


class TileScratch(NamedTuple):
    """What is known of one tile: which siblings it fits, ``fits[C]``, and what runs of keepers cost
    at least, ``runs[3, L, 4, 1 + K]`` by tensor, parent, what stays (:func:`_slot`) and price,
    where ``known[3, L]``.
    """

    fits: Flags
    runs: Floats
    known: Flags


@inlined
def new_tile_scratch(siblings: int, levels: int, many: int) -> TileScratch:
    """Return room for so many siblings, levels and prices."""
    fits, known = np.zeros(siblings, np.uint8), np.zeros((3, levels), np.uint8)
    return TileScratch(fits, np.zeros((3, levels, 4, many)), known)


@inlined
def new_siblings(keeps: Flags) -> Siblings:
    """Return room for what frames hold."""
    many, levels = keeps.shape[0], keeps.shape[1]
    parents = np.full((many, levels, 3), -1)
    chains, units = np.ones((levels, 3, levels), np.int64), np.zeros((levels, 3, levels, 3))
    return Siblings(keeps, parents, chains, units)


@inlined
def note(siblings: Siblings, frame: Subproblem, c: int) -> None:
    """Copy what is read of a prepared frame, that of sibling c."""
    for level in range(frame.keep.shape[0]):
        for t in range(3):
            parent = frame.parent[level, t]
            siblings.parents[c, level, t] = parent
            if parent >= 0:
                siblings.chains[level, t, parent] = frame.chain[level, t]
                for i in range(3):
                    siblings.units[level, t, parent, i] = frame.least_units[level, t, i]


@inlined
def _feed(
    setup: KernelInputs, frame: Subproblem, siblings: Siblings, level: int, t: int, parent: int
) -> None:
    """Set what a frame holds of the keeper of a tensor to that of one with such a parent."""
    frame.runs[level, t], frame.parent[level, t] = 1, parent
    frame.chain[level, t] = siblings.chains[level, t, parent]
    for i in range(3):
        frame.least_units[level, t, i] = siblings.units[level, t, parent, i]
    if t == INPUTS:
        frame.varies[level + 1] = 1 if meets(setup, frame.spread, level + 1) else 0


@inlined
def _run(
    setup: KernelInputs, frame: Subproblem, real: Ints, ports: Ports, level: int, t: int, stays:
        int, run: int,
    room: Scratch, least: Floats,
) -> None:  # fmt: skip
    """Set least[1 + K] to what the run of a keeper costs at least, in energy and at each port."""
    found = False
    for place in range(5):
        first = P + place if place < 4 else NOTHING
        if not tries(t, stays, first, room.factors, found, False):
            continue
        energy = end_of_run(setup, frame, real, level, t, stays, first, run, room)
        if not found or energy < least[0]:
            least[0] = energy
        for port in range(len(ports.rate)):
            units = moved(ports, port, room.units)
            if not found or units < least[1 + port]:
                least[1 + port] = units
        found = True


@helper
def _slot(t: int, stays: int) -> int:
    """Place of a run by what stays: weights and results mind only whether it is they."""
    return stays if t == INPUTS else int(stays != t)


@inlined
def _runs(
    setup: KernelInputs, frame: Subproblem, real: Ints, ports: Ports, level: int, t: int, run: int,
    room: Scratch, runs: Floats,
) -> None:  # fmt: skip
    """Set runs[4, 1 + K] to what the run of a keeper costs at least, by :func:`_slot`."""
    some, other = False, False
    for stays in range(4):
        still = idle(stays, room.factors)
        if not may_stay(stays, still, some, False):
            continue
        some = True
        if t != INPUTS and stays != t:
            if other:
                continue
            other = True
        here = run_of(t, stays, still, run)
        _run(setup, frame, real, ports, level, t, stays, here, room, runs[_slot(t, stays)])


@inlined
def _least_end(
    siblings: Siblings, c: int, level: int, runs: Floats, room: Scratch, best: Floats
) -> None:
    """Set best[1 + K] to the least with which the keepers of a sibling can end their runs."""
    sums, found = room.sums[0], False
    for stays in range(4):
        if not may_stay(stays, idle(stays, room.factors), found, False):
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


@inlined
def _fitting(
    setup: KernelInputs, frame: Subproblem, siblings: Siblings, level: int, beyond: Floats, rest:
        Floats,
    number: int, extents: Ints, fits: Flags,
) -> int:  # fmt: skip
    """Set fits[C]: which siblings have room for a tile, and are not ruled out by what is outside;
    return how many, -1 if none has room.
    """
    some, roomy, room = 0, False, False
    for c in range(len(fits)):
        alike = c > 0
        for t in range(3):
            alike = alike and siblings.keeps[c, level, t] == frame.keep[level, t]
            frame.keep[level, t] = siblings.keeps[c, level, t]
        if not alike:
            room = has_room(setup, frame, level, extents)
        roomy = roomy or room
        fits[c] = 1 if room and beyond[c, 0, number] < rest[c, level] else 0
        some += fits[c]
    return some if roomy else -1


@inlined
def _find_runs(
    setup: KernelInputs, frame: Subproblem, real: Ints, ports: Ports, siblings: Siblings, level:
        int,
    room: Scratch, desk: TileScratch,
) -> None:  # fmt: skip
    """Set the runs of a tile that are read of a sibling which it fits."""
    run = 1
    for d in range(8):
        room.factors[d] = frame.steps[d] // room.tau[d]
        run *= room.factors[d]
    desk.known[:] = 0
    for c in range(len(desk.fits)):
        for t in range(3):
            parent = siblings.parents[c, level, t]
            if desk.fits[c] and parent >= 0 and not desk.known[t, parent]:
                _feed(setup, frame, siblings, level, t, parent)
                _runs(setup, frame, real, ports, level, t, run, room, desk.runs[t, parent])
                desk.known[t, parent] = 1


@inlined
def _fill_tile(
    siblings: Siblings, level: int, rest: Floats, here: Floats, beyond: Floats, number: int,
    room: Scratch, desk: TileScratch,
) -> None:  # fmt: skip
    """Set here[C, 1 + K, number] of siblings that a tile fits."""
    best = room.sums[2]
    for c in range(len(desk.fits)):
        if desk.fits[c]:
            _least_end(siblings, c, level, desk.runs, room, best)
            if best[0] + beyond[c, 0, number] < rest[c, level]:
                for j in range(len(best)):
                    here[c, j, number] = best[j]


@helper
def fill_siblings(
    setup: KernelInputs, frame: Subproblem, real: Ints, lattice: Lattice, ports: Ports, siblings:
        Siblings,
    level: int, rest: Floats, here: Floats, beyond: Floats, room: Scratch, desk: TileScratch, stop:
        Flags,
) -> None:  # fmt: skip
    """Set here[C, 1 + K, size] to what ends the runs of a level's keepers at least, inf where a
    tile does not fit, or where that with ``beyond[C, 1 + K, size]``, what is outside, is not below
    rest[C, L - 1]; add what is outside to ``beyond`` for the next level inside.
    """
    number = 0
    here[:] = np.inf
    line = first_tile(lattice, room.at, room.tau)
    while number < lattice.size:
        if stop[0]:
            return
        extents = room.extents[0]
        for d in range(8):
            extents[0, d] = room.tau[d] * frame.inside[level, d]
        some = _fitting(setup, frame, siblings, level, beyond, rest, number, extents, desk.fits)
        if some < 0:
            # nor have larger ones room
            number = last_along(lattice, line, number, room.at)
        elif some > 0:
            _find_runs(setup, frame, real, ports, siblings, level, room, desk)
            _fill_tile(siblings, level, rest, here, beyond, number, room, desk)
        next_tile(lattice, room.at, room.tau)
        number += 1
    for c in range(len(beyond)):
        for j in range(here.shape[1]):
            for number in range(lattice.size):
                beyond[c, j, number] += here[c, j, number]
