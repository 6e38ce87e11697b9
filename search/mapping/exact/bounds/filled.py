"""What a subproblem costs at least, by the tile of the innermost level, where the array fills.

A tile decides how often the array is loaded at least, and what all outside it costs at least.
"""

import numpy as np

from archloom.evaluators import Floats
from archloom.evaluators.bounds import ROUNDING
from archloom.evaluators.jit import allocating, helper
from archloom.evaluators.loopnest import NO_FILL, KernelInputs
from archloom.search.mapping.exact.subproblem import (
    ALL,
    ArrayFill,
    Lattice,
    Prices,
    Scratch,
    StepsLeft,
    Subproblem,
    add_run,
    fill_cycles,
    first_tile,
    forget,
    idle,
    least_fill,
    new_scratch,
    next_tile,
    steps_left,
    tile_at,
    waiting_at,
)

from ...objectives import score_of
from .cost_to_go import CostToGo
from .lattice_min import least_outside
from .thresholds import Corner


@allocating
def least_fills(subproblem: Subproblem, array: ArrayFill, lattice: Lattice) -> Floats:
    """Return the least cycles in which the array fills and drains, by tile of the innermost level:
    float64[size], or of one place where it does not count.
    """
    if array.mode == NO_FILL:
        return np.zeros(1)
    found, tau, waiting = np.empty(lattice.size), np.empty(8, np.int64), waiting_at(subproblem)
    for number in range(lattice.size):
        tile_at(lattice, number, tau)
        found[number] = least_fill(array, subproblem, waiting, tau)
    return found


@helper
def filled_score(setup: KernelInputs, corner: Corner, total: Floats, fills: Floats) -> float:
    """Score (ln) that no mapping is below, by total[size] that runs from each tile of the innermost
    level on cost at least beyond the energy of ``corner``, and ``fills`` of each.
    """
    least = np.inf
    for number in range(len(total)):
        if total[number] < np.inf:
            energy = (1 - ROUNDING) * (corner.energy_pj + total[number])
            cycles = max(corner.inner + fills[number], corner.cycles)
            least = min(least, score_of(setup, energy, cycles, corner.leakage_pj))
    return float(least)


@helper
def _least_of_tile(
    setup: KernelInputs,
    subproblem: Subproblem,
    prices: Prices,
    array: ArrayFill,
    corner: Corner,
    left: StepsLeft,
    outside: tuple[float, float],
    scratch: Scratch,
) -> float:
    """Score (ln) that no mapping with the tile of ``scratch`` in the innermost level is below, by
    the tensor that stays there; ``outside`` are the least energy beyond that of ``corner`` outside
    the innermost level, and in all.
    """
    waiting, least, sums = waiting_at(subproblem), np.inf, scratch.sums[ALL]
    for stays in range(4):
        if not left.ways >> stays & 1:
            continue
        loads, sums[0] = array.steps, 0.0
        if waiting:
            loads = left.steps
            if waiting >> stays & 1:
                loads = left.steps // idle(stays, scratch.tile.factors)
        for t in range(3):
            if subproblem.runs[left.level, t]:
                add_run(setup, subproblem, prices, t, stays, left, scratch, ALL)
        energy = (1 - ROUNDING) * (corner.energy_pj + max(sums[0] + outside[0], outside[1]))
        cycles = max(corner.inner + fill_cycles(array, loads), corner.cycles)
        least = min(least, score_of(setup, energy, cycles, corner.leakage_pj))
    return float(least)


@allocating
def tile_scores(
    setup: KernelInputs, subproblem: Subproblem, array: ArrayFill, corner: Corner, costs: CostToGo
) -> Floats:
    """Return scores (ln) that no mapping with each tile in the innermost level is below:
    float64[size]. The energy of ``corner`` is what all mappings share.
    """
    lattice, levels = costs.lattice, subproblem.keep.shape[0]
    prices, scratch = Prices(costs.prices.ports, np.eye(1)), new_scratch(levels, 1)
    found, outside = np.full(lattice.size, np.inf), np.zeros((1, lattice.size))
    if levels > 2:
        least_outside(lattice, costs.total[:1, 1], outside)
    forget(lattice, scratch.memo)
    first_tile(lattice, scratch.at, scratch.tile.tau)
    for number in range(lattice.size):
        whole = costs.total[0, 0, number]
        if whole < np.inf:
            left, beyond = steps_left(lattice, 0, number, scratch), (outside[0, number], whole)
            found[number] = _least_of_tile(
                setup, subproblem, prices, array, corner, left, beyond, scratch
            )
        next_tile(lattice, scratch.at, scratch.tile.tau)
    return found
