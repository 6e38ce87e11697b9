"""Cycles that a layer takes at least on arrays that fill and drain, whatever its mapping.

docs/explanation/bounds_proofs.md has the proof (lemma 6).
"""

from math import inf, prod
from typing import Final

import numpy as np

from archloom.evaluators.jit import compiled, helper
from archloom.evaluators.loopnest import (
    ARRAY_COLUMNS,
    ARRAY_ROWS,
    EXPOSED,
    NO_FILL,
    KernelInputs,
    MappingProblem,
)
from archloom.space.workload import DIMS, INPUTS, RELEVANT

from .rounding import ROUNDING

#: the innermost level, in which the array holds what stands still
_INNERMOST: Final = 0


def filled_cycles(problem: MappingProblem, setup: KernelInputs) -> float:
    """Return cycles of steps, and of filling and draining arrays, that no mapping of the problem
    takes fewer than; 0 where arrays do not fill.
    """
    if setup.fill_drain == NO_FILL:
        return 0.0
    arrays = float(prod(problem.hardware.pe_mesh))
    loads = _cell_loads(problem, setup) / arrays
    rows, columns = int(setup.array[ARRAY_ROWS]), int(setup.array[ARRAY_COLUMNS])
    steps, exposed = problem.macs / arrays, setup.fill_drain == EXPOSED
    found = float(_least(exposed, rows, columns, steps, loads, float(setup.busy)))
    return float(np.ceil(found * (1 - ROUNDING)))


def least_fill_cycles(problem: MappingProblem, setup: KernelInputs) -> float:
    """Return cycles of filling and draining arrays alone, however many steps a mapping takes, that
    no mapping of the problem takes fewer than; 0 where arrays do not fill.
    """
    if setup.fill_drain != EXPOSED:
        # a single cell takes a cycle
        return float(setup.fill_drain != NO_FILL)
    loads = _cell_loads(problem, setup) / prod(problem.hardware.pe_mesh)
    rows, columns = int(setup.array[ARRAY_ROWS]), int(setup.array[ARRAY_COLUMNS])
    return float((1 - ROUNDING) * _least(True, rows, columns, 0.0, loads, 1.0))


def _cell_loads(problem: MappingProblem, setup: KernelInputs) -> float:
    """Return how often cells load a tile that stands still at least, over all cells."""
    bounds, least, free = np.array(problem.bounds, np.float64), inf, True
    for t in range(3):
        optional = bool(setup.optional[_INNERMOST, t])
        if not (optional or setup.allowed[_INNERMOST, t]):
            continue
        free = free and optional
        indices = float(np.prod(bounds[[d for d in range(len(DIMS)) if RELEVANT[t][d]]]))
        least = min(least, indices / indices_of_a_tile(setup, t))
    # where nothing is kept, each step is a load
    return min(least, float(np.prod(bounds))) if free else least


@helper
def indices_of_a_tile(setup: KernelInputs, tensor: int) -> float:
    """Of how many indices of a tensor's loops a tile of the innermost level has at most."""
    if setup.top[tensor] == _INNERMOST and setup.staged[tensor]:
        return np.inf
    words, unit = np.inf, setup.unit[_INNERMOST, tensor]
    if setup.capacity[_INNERMOST, tensor] >= 0:
        words = min(words, float(setup.capacity[_INNERMOST, tensor] // unit))
    if setup.shared[_INNERMOST] >= 0:
        words = min(words, float(setup.shared[_INNERMOST] // unit))
    # a window of p results and r taps has no fewer than max(p, r) rows
    return max(1.0, words * words if tensor == INPUTS else words)


@compiled
def _least(
    exposed: bool, rows: int, columns: int, steps: float, loads: float, busy: float
) -> float:
    """Least cycles over all shapes of an array of some rows and columns, for ``steps`` and
    ``loads`` of all its cells.
    """
    least = np.inf
    for r in range(1, rows + 1):
        for c in range(1, columns + 1):
            # SCALE-Sim (Samajdar et al., ISPASS 2020): 2 r + c - 2 for each tile
            here, each, time = 2.0 * r + c - 2.0, max(1.0, loads / (r * c)), steps / (r * c)
            if exposed:
                here *= each
            elif busy == 1.0:
                # FAST section 3.1: cells latch the next tile while they work on this one
                here += (each - 1.0) * max(0.0, r - time / each)
            least = min(least, time * busy + here)
    return least
