"""Cycles that a layer takes at least on arrays that fill and drain, whatever its mapping.

docs/explanation/bounds_proofs.md has the proof (lemma 6).
"""

from math import inf, prod
from typing import Final, NamedTuple

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

from ..arrays import Floats
from .level_capacity import design_of, limits_of
from .rounding import ROUNDING

#: the innermost level, in which the array holds what stands still
_INNERMOST: Final = 0


class _Cells(NamedTuple):
    """What all arrays of a design do at least for a layer, and what they have room for at most.

    ``tiles[4]`` are tiles that the innermost level gets over all its instances: of weights, inputs
    or outputs, if it is they that stand still there, or if nothing is kept, one in each step;
    infinite for what cannot be. ``apart[4]`` are instances with different ones. ``most[3]`` are
    arrays, and rows and columns of each; ``work`` are multiply-accumulates, of which ``at_once``
    run in a cycle.
    """

    tiles: Floats
    apart: Floats
    most: Floats
    work: float
    at_once: float


def filled_cycles(problem: MappingProblem, setup: KernelInputs) -> float:
    """Return cycles of steps, and of filling and draining arrays, that no mapping of the problem
    takes fewer than; 0 where arrays do not fill.
    """
    if setup.fill_drain == NO_FILL:
        return 0.0
    cells, exposed = _cells(problem, setup), setup.fill_drain == EXPOSED
    return float(np.ceil(_least(exposed, cells, float(setup.busy)) * (1 - ROUNDING)))


def least_fill_cycles(problem: MappingProblem, setup: KernelInputs) -> float:
    """Return cycles of filling and draining arrays alone, however many steps a mapping takes, that
    no mapping of the problem takes fewer than; 0 where arrays do not fill.
    """
    if setup.fill_drain != EXPOSED:
        # a single cell takes a cycle
        return float(setup.fill_drain != NO_FILL)
    return float((1 - ROUNDING) * _least(True, _cells(problem, setup), 0.0))


def _cells(problem: MappingProblem, setup: KernelInputs) -> _Cells:
    bounds, tiles, free = np.array(problem.bounds, np.int64), np.full(4, inf), True
    limits = limits_of(design_of(setup), bounds)
    indices = bounds.astype(np.float64)
    for t in range(3):
        optional = bool(setup.optional[_INNERMOST, t])
        if optional or setup.allowed[_INNERMOST, t]:
            free = free and optional
            moving = indices[[d for d in range(len(DIMS)) if RELEVANT[t][d]]]
            tiles[t] = float(np.prod(moving)) / indices_of_a_tile(setup, t)
    work = float(np.prod(indices))
    tiles[3] = work if free else inf
    apart = limits.apart[_INNERMOST, -1].copy()
    apart[3] = limits.at_once
    arrays = float(prod(problem.hardware.pe_mesh))
    rows, columns = float(setup.array[ARRAY_ROWS]), float(setup.array[ARRAY_COLUMNS])
    return _Cells(tiles, apart, np.array([arrays, rows, columns]), work, float(limits.at_once))


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
def _least(exposed: bool, cells: _Cells, busy: float) -> float:
    """Least cycles over all shapes of an array; steps count a share of ``busy``."""
    least, arrays = np.inf, cells.most[0]
    for r in range(1, int(cells.most[1]) + 1):
        for c in range(1, int(cells.most[2]) + 1):
            # SCALE-Sim (Samajdar et al., ISPASS 2020): 2 r + c - 2 for each tile
            here, loads = 2.0 * r + c - 2.0, np.inf
            for t in range(4):
                loads = min(loads, cells.tiles[t] / min(arrays * r * c, cells.apart[t]))
            loads, steps = max(1.0, loads), cells.work / min(arrays * r * c, cells.at_once)
            if exposed:
                here *= loads
            elif busy == 1.0:
                # FAST section 3.1: cells latch the next tile while they work on this one
                here += (loads - 1.0) * max(0.0, r - steps / loads)
            least = min(least, steps * busy + here)
    return least
