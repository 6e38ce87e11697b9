"""What runs cost at least that end at the next level, together with the tile there.

Theorem 5(i) of docs/explanation/mapping_proofs.md: a run is shortened by loops of the next level
alone, unless nothing there moves its tensor.
"""

import numpy as np

from archloom.evaluators import Floats
from archloom.evaluators.jit import helper
from archloom.evaluators.loopnest import KernelInputs
from archloom.search.mapping.exact.subproblem import (
    ALL,
    LEAST,
    MOVING,
    NEXT,
    NONE,
    NOTHING,
    STAYING,
    Ending,
    Lattice,
    Scratch,
    Subproblem,
    add_run,
    first_tile,
    forget,
    idle,
    least_of_tensor,
    next_tile,
    steps_left,
)
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, C, K, N, P, Q, R, S

from .cost_to_go import CostToGo


@helper
def _idle_dim(tensor: int, which: int) -> int:
    """One of three dimensions that a tensor does not depend on; of inputs all are one."""
    if tensor == WEIGHTS:
        return (N, P, Q)[which]
    if tensor == OUTPUTS:
        return (C, R, S)[which]
    return K


@helper
def _grown(lattice: Lattice, scratch: Scratch, d: int, which: int) -> tuple[float, int]:
    """What a tile is of one that is larger along a dimension, and how far that is away."""
    position = lattice.multiples[d, scratch.at[d], which]
    share = scratch.tile.tau[d] / lattice.values[d, position]
    return share, (position - scratch.at[d]) * lattice.places[d]


@helper
def rounding_of(setup: KernelInputs, subproblem: Subproblem, level: int, tensor: int) -> float:
    """Energy by which whole accesses of a keeper's run may exceed its words, at most."""
    pj, parent = 0.0, subproblem.parent[level, tensor]
    if setup.width[level, tensor] > 1:
        pj += subproblem.active[level] * setup.fill_pj[level, tensor]
    if setup.width[parent, tensor] > 1:
        price = setup.read_pj[parent, tensor]
        price += setup.update_pj[parent, tensor] if tensor == OUTPUTS else 0.0
        pj += subproblem.active[parent] * price
    return float(pj)


@helper
def _least_pair(
    costs: CostToGo,
    level: int,
    number: int,
    stays: int,
    still: int,
    rounding: float,
    apart: Floats,
    scratch: Scratch,
) -> None:
    """Set row :data:`NEXT` of the sums to the least over tiles of the next level.

    Row :data:`STAYING` is what the run of the tensor that stays costs if it does for ``still``
    steps, :data:`MOVING` if it never does; between the two it is a linear function
    of the steps, but for rounding.
    """
    lattice, prices, outer, at = costs.lattice, costs.prices.table, level + 1, scratch.at
    best, least, full = scratch.sums[NEXT], scratch.sums[STAYING], scratch.sums[MOVING]
    one, two, three = _idle_dim(stays, 0), _idle_dim(stays, 1), _idle_dim(stays, 2)
    ones, twos, threes = lattice.many[one, at[one]], 1, 1
    if stays != INPUTS:
        twos, threes = lattice.many[two, at[two]], lattice.many[three, at[three]]
    for j in range(len(best)):
        best[j] = np.inf
    for a in range(ones):
        share_a, more_a = _grown(lattice, scratch, one, a)
        for b in range(twos):
            share_b, more_b = _grown(lattice, scratch, two, b)
            for c in range(threes):
                share_c, more_c = _grown(lattice, scratch, three, c)
                share, there = share_a * share_b * share_c, number + more_a + more_b + more_c
                # how far between staying throughout and not at all
                way = (share * still - 1) / (still - 1)
                for j in range(len(best)):
                    run = least[j] + way * (full[j] - least[j]) - prices[j, 0] * rounding
                    ends = max(run, least[j]) + apart[stays, j, there]
                    passes = least[j] + costs.total[j, outer, there]
                    best[j] = min(best[j], min(ends, passes))


@helper
def coupled(
    setup: KernelInputs,
    subproblem: Subproblem,
    costs: CostToGo,
    level: int,
    number: int,
    apart: Floats,
    scratch: Scratch,
) -> None:
    """Set row :data:`LEAST` of the sums to the least cost of a tile at a level, ``scratch.tile``,
    and of all that is outside.

    ``apart`` are the least of costs from the next level on (:func:`least_apart`).
    """
    best, sums, found, prices = scratch.sums[LEAST], scratch.sums, False, costs.prices
    left = steps_left(costs.lattice, level, number, scratch)
    for stays in range(4):
        if not left.ways >> stays & 1:
            continue
        still, held = idle(stays, scratch.tile.factors), False
        for j in range(len(best)):
            sums[ALL, j] = sums[STAYING, j] = sums[MOVING, j] = 0.0
        for t in range(3):
            if subproblem.runs[level, t]:
                row = STAYING if t == stays else ALL
                add_run(setup, subproblem, prices, t, stays, left, scratch, row)
                held = held or t == stays
        if held and stays == INPUTS:
            ending = Ending(level + 1, left.steps, stays, NOTHING)
            least_of_tensor(setup, subproblem, prices, stays, ending, scratch, sums[MOVING])
        elif held:
            # what of the others stays makes no difference to them
            add_run(setup, subproblem, prices, stays, NONE, left, scratch, MOVING)
        if held:
            rounding = rounding_of(setup, subproblem, level, stays)
            _least_pair(costs, level, number, stays, still, rounding, apart, scratch)
        else:
            for j in range(len(best)):
                sums[NEXT, j] = apart[NONE, j, number]
        for j in range(len(best)):
            cost = sums[ALL, j] + sums[NEXT, j]
            if not found or cost < best[j]:
                best[j] = cost
        found = True


@helper
def couple(
    setup: KernelInputs,
    subproblem: Subproblem,
    costs: CostToGo,
    level: int,
    most: float,
    apart: Floats,
    scratch: Scratch,
) -> None:
    """Raise the cost-to-go of a level to the least of its tiles together with those of the next
    one; tiles that then cost ``most`` or more are left out.
    """
    for t in range(3):
        if subproblem.runs[level, t] and subproblem.parent[level, t] < 0:
            # words that pass over hops are no linear function of steps
            return
    lattice, total = costs.lattice, costs.total
    forget(lattice, scratch.memo)
    first_tile(lattice, scratch.at, scratch.tile.tau)
    for number in range(lattice.size):
        if number > 0:
            next_tile(lattice, scratch.at, scratch.tile.tau)
        if not total[0, level, number] < most:
            continue
        coupled(setup, subproblem, costs, level, number, apart, scratch)
        for j in range(len(total)):
            total[j, level, number] = max(total[j, level, number], scratch.sums[LEAST, j])
        if not total[0, level, number] < most:
            for j in range(len(total)):
                costs.own[j, level, number] = total[j, level, number] = np.inf
