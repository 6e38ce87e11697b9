"""The least that it costs to end runs at the next level outside a tile, whatever follows there."""

from typing import NamedTuple

import numpy as np

from archloom.evaluators import Floats, Ints
from archloom.evaluators.jit import allocating, helper
from archloom.evaluators.loopnest import READ_PORT, WRITE_PORT, KernelInputs
from archloom.space.workload import P

from .loop_orders import idle
from .ports import Prices, priced
from .stationary_runs import (
    NOTHING,
    Ending,
    Tile,
    Traffic,
    end_runs,
    may_stay,
    new_tile,
    run_of,
    tries,
)
from .subproblem import Subproblem

#: rows of ``Scratch.sums``: of all tensors for one that stays; of one tensor; the least over all
#: that may stay. For pairs of levels, what a run costs if its tensor stays and if it moves, and
#: the least over tiles of the next level.
ALL, ONE, LEAST, STAYING, MOVING, NEXT = range(6)


class Scratch(NamedTuple):
    """Room for one tile: its positions ``at[8]`` in a lattice, the tile, its ``extents[1, 8]``,
    traffic, and costs by price, ``sums[6, J]``.
    """

    at: Ints
    tile: Tile
    extents: Ints
    traffic: Traffic
    sums: Floats


@allocating
def new_scratch(levels: int, prices: int) -> Scratch:
    """Return room for one tile and so many prices."""
    traffic = Traffic(np.zeros((levels, 2)), np.zeros(3))
    at, extents = np.empty(8, np.int64), np.zeros((1, 8), np.int64)
    return Scratch(at, new_tile(), extents, traffic, np.zeros((6, prices)))


@helper
def end_of_run(
    setup: KernelInputs, subproblem: Subproblem, tensor: int, ending: Ending, scratch: Scratch
) -> float:
    """Energy of the run of the keeper just inside the level where it ends, if all loops outside
    stand there; ``scratch.traffic`` is set to what moves.
    """
    units = scratch.traffic.units
    for level in range(units.shape[0]):
        units[level, READ_PORT] = units[level, WRITE_PORT] = 0.0
    scratch.traffic.passing[tensor] = 0.0
    energy: float = end_runs(
        setup, subproblem, tensor, ending.outer - 1, ending, scratch.tile, scratch.traffic
    )
    return energy


@helper
def least_of_tensor(
    setup: KernelInputs,
    subproblem: Subproblem,
    prices: Prices,
    tensor: int,
    ending: Ending,
    scratch: Scratch,
    row: int,
) -> None:
    """Add what the run of one keeper costs at least, whichever loop is first, to a row of the
    sums; :data:`ONE` is overwritten.
    """
    least, sums, found = scratch.sums[ONE], scratch.sums[row], False
    for place in range(5):
        first = P + place if place < 4 else NOTHING
        if not tries(tensor, ending.stays, first, scratch.tile.factors, found, False):
            continue
        end = Ending(ending.outer, ending.steps, ending.stays, first)
        energy = end_of_run(setup, subproblem, tensor, end, scratch)
        for j in range(len(least)):
            cost = priced(prices, j, energy, scratch.traffic.units)
            if not found or cost < least[j]:
                least[j] = cost
        found = True
    for j in range(len(least)):
        sums[j] += least[j]


@helper
def least_end(
    setup: KernelInputs,
    subproblem: Subproblem,
    prices: Prices,
    level: int,
    steps: int,
    scratch: Scratch,
) -> None:
    """Set row :data:`LEAST` to the least with which the keepers of a level can end their runs,
    whatever is outside. For the level below DRAM it is what they do cost.

    ``steps`` are all steps outside the tile.
    """
    sums, best, found = scratch.sums[ALL], scratch.sums[LEAST], False
    for j in range(len(best)):
        best[j] = 0.0
    for stays in range(4):
        still = idle(stays, scratch.tile.factors)
        if not may_stay(stays, still, found, False):
            continue
        for j in range(len(best)):
            sums[j] = 0.0
        for t in range(3):
            if subproblem.runs[level, t]:
                end = Ending(level + 1, run_of(t, stays, still, steps), stays, NOTHING)
                least_of_tensor(setup, subproblem, prices, t, end, scratch, ALL)
        for j in range(len(best)):
            if not found or sums[j] < best[j]:
                best[j] = sums[j]
        found = True
