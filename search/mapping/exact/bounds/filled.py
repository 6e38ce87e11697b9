"""What a subproblem costs at least, by the tile of the innermost level, where the array fills.

A tile decides how often the array is loaded at least, and what all outside it costs at least.
"""

import numpy as np

from archloom.evaluators import Floats
from archloom.evaluators.bounds import ROUNDING
from archloom.evaluators.jit import allocating, helper
from archloom.evaluators.loopnest import NO_FILL, KernelInputs
from archloom.search.mapping.exact.subproblem import (
    ArrayFill,
    Lattice,
    Subproblem,
    least_fill,
    tile_at,
    waiting_at,
)

from ...objectives import score_of
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
