"""What runs cost at least that end at the next level, together with the tile there.

Theorem 5(i) of docs/exact_mapping.md: a run is shortened by loops of the next level alone, unless
nothing there moves its tensor.
"""

import numpy as np

from archloom.evaluators import Floats, Ints, helper, inlined
from archloom.evaluators.loopnest import KernelInputs
from archloom.search.mapping.exact.subproblem import (
    NONE,
    Lattice,
    Ports,
    Scratch,
    Subproblem,
    idle,
    least_of_tensor,
    may_stay,
    run_of,
)
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, C, K, N, P, Q, R, S


@helper
def _idle_dim(tensor: int, which: int) -> int:
    """One of three dimensions that a tensor does not depend on; of inputs all are one."""
    if tensor == WEIGHTS:
        return (N, P, Q)[which]
    if tensor == OUTPUTS:
        return (C, R, S)[which]
    return K


@helper
def _grown(lattice: Lattice, room: Scratch, d: int, which: int) -> tuple[float, int]:
    """What a tile is of one that is larger along a dimension, and how far that is away."""
    position = lattice.multiples[d, room.at[d], which]
    share = room.tau[d] / lattice.values[d, position]
    return share, (position - room.at[d]) * lattice.places[d]


@helper
def rounding_of(setup: KernelInputs, frame: Subproblem, level: int, tensor: int) -> float:
    """Energy by which whole accesses of a keeper's run may exceed its words, at most."""
    pj, parent = 0.0, frame.parent[level, tensor]
    if setup.width[level, tensor] > 1:
        pj += frame.active[level] * setup.fill_pj[level, tensor]
    if setup.width[parent, tensor] > 1:
        price = setup.read_pj[parent, tensor]
        price += setup.update_pj[parent, tensor] if tensor == OUTPUTS else 0.0
        pj += frame.active[parent] * price
    return float(pj)


@inlined
def _least_pair(
    lattice: Lattice, prices: Floats, tensor: int, still: int, rounding: float, number: int,
    next_ahead: Floats, apart: Floats, room: Scratch,
) -> None:  # fmt: skip
    """Set ``sums[5]`` to the least over tiles of the next level.

    ``sums[3]`` is what the run of the tensor costs if it stays for ``still`` steps, ``sums[4]`` if
    it never does; between the two it is a linear function of the steps, but for rounding.
    """
    best, least, full = room.sums[5], room.sums[3], room.sums[4]
    one, two, three = _idle_dim(tensor, 0), _idle_dim(tensor, 1), _idle_dim(tensor, 2)
    ones, twos, threes = lattice.many[one, room.at[one]], 1, 1
    if tensor != INPUTS:
        twos, threes = lattice.many[two, room.at[two]], lattice.many[three, room.at[three]]
    for j in range(len(prices)):
        best[j] = np.inf
    for a in range(ones):
        share_a, more_a = _grown(lattice, room, one, a)
        for b in range(twos):
            share_b, more_b = _grown(lattice, room, two, b)
            for c in range(threes):
                share_c, more_c = _grown(lattice, room, three, c)
                share, there = share_a * share_b * share_c, number + more_a + more_b + more_c
                # how far between staying throughout and not at all
                way = (share * still - 1) / (still - 1)
                for j in range(len(prices)):
                    run = least[j] + way * (full[j] - least[j]) - prices[j, 0] * rounding
                    ending = max(run, least[j]) + apart[tensor, j, there]
                    passing = least[j] + next_ahead[j, there]
                    best[j] = min(best[j], min(ending, passing))


@inlined
def coupled(
    setup: KernelInputs, frame: Subproblem, real: Ints, lattice: Lattice, ports: Ports, prices:
        Floats,
    level: int, number: int, next_ahead: Floats, apart: Floats, room: Scratch,
) -> None:  # fmt: skip
    """Set ``sums[2]`` to the least cost of a tile at a level and of all that is outside.

    ``room`` holds the tile. ``next_ahead[J, size]`` are costs from the next level on, ``apart``
    the least of them (:func:`least_apart`).
    """
    best, sums, found, run = room.sums[2], room.sums, False, 1
    for d in range(8):
        run *= room.factors[d]
    for stays in range(4):
        still = idle(stays, room.factors)
        if not may_stay(stays, still, found, False):
            continue
        held = stays < NONE and frame.runs[level, stays] > 0
        for j in range(len(prices)):
            sums[0, j] = sums[3, j] = sums[4, j] = 0.0
        for which in range(4 if held else 3):
            t = which if which < 3 else stays
            if frame.runs[level, t]:
                to = 4 if which == 3 else 3 if which == stays else 0
                steps = run if which == 3 else run_of(t, stays, still, run)
                least_of_tensor(setup, frame, real, ports, prices, level, t, stays, steps, room, to)
        if held:
            rounding = rounding_of(setup, frame, level, stays)
            _least_pair(lattice, prices, stays, still, rounding, number, next_ahead, apart, room)
        else:
            for j in range(len(prices)):
                sums[5, j] = apart[NONE, j, number]
        for j in range(len(prices)):
            cost = sums[0, j] + sums[5, j]
            if not found or cost < best[j]:
                best[j] = cost
        found = True


@helper
def couple(
    setup: KernelInputs, frame: Subproblem, real: Ints, lattice: Lattice, ports: Ports, prices:
        Floats,
    level: int, rest: float, here: Floats, ahead: Floats, next_ahead: Floats, apart: Floats,
    room: Scratch,
) -> None:  # fmt: skip
    """Raise ahead[J, size] of a level to the least of its tiles together with those of the next
    one; tiles that then cost ``rest`` are left out, in ``here`` too.
    """
    for t in range(3):
        if frame.runs[level, t] and frame.parent[level, t] < 0:
            # words that pass over hops are no linear function of steps
            return
    for number in range(lattice.size):
        if not ahead[0, number] < rest:
            continue
        for d in range(8):
            room.at[d] = number // lattice.places[d] % lattice.counts[d]
            room.tau[d] = lattice.values[d, room.at[d]]
            room.factors[d] = frame.steps[d] // room.tau[d]
        coupled(setup, frame, real, lattice, ports, prices, level, number, next_ahead, apart, room)
        for j in range(len(prices)):
            ahead[j, number] = max(ahead[j, number], room.sums[2, j])
        if not ahead[0, number] < rest:
            for j in range(len(prices)):
                here[j, number] = ahead[j, number] = np.inf
