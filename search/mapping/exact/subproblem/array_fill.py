"""Cycles in which the array of a PE fills and drains, by how often what stands still is loaded.

Of the tensors that the innermost level keeps, the array holds the one that changes least often:
the one whose run there ends last (theorem 11 of docs/explanation/mapping_proofs.md).
"""

from typing import NamedTuple

import numpy as np

from archloom.evaluators import Ints
from archloom.evaluators.bounds import ROUNDING, indices_of_a_tile
from archloom.evaluators.jit import helper
from archloom.evaluators.loopnest import (
    ARRAY_COLUMNS,
    ARRAY_LEVELS,
    ARRAY_ROWS,
    EXPOSED,
    NO_FILL,
    KernelInputs,
    X,
    Y,
)
from archloom.space.workload import OUTPUTS, WEIGHTS, C, G, K, N, P, Q, R, S

from .stationary_runs import ends
from .subproblem import Subproblem


class ArrayFill(NamedTuple):
    """The array as a subproblem uses it: what of filling it counts (``fill_drain`` of the setup),
    ``shapes[n, 2]``, rows and columns that may be in use, none with more of both than another, and
    steps over time.
    """

    mode: int
    shapes: Ints
    steps: int


@helper
def fill_cycles(array: ArrayFill, loads: int) -> float:
    """Cycles to fill and drain the array, loaded so many times, in its best shape.

    As :func:`archloom.evaluators.loopnest.optional_effects.array_cycles`; never fewer with more
    loads.
    """
    least = 0.0
    if array.mode == NO_FILL:
        return least
    for i in range(array.shapes.shape[0]):
        rows, columns = array.shapes[i, 0], array.shapes[i, 1]
        # SCALE-Sim (Samajdar et al., ISPASS 2020): 2 r + c - 2 for each tile
        cycles = float(loads) * (2 * rows + columns - 2)
        if array.mode != EXPOSED:
            # FAST section 3.1: cells latch the next tile while they work on this one
            cycles = (2 * rows + columns - 2) + (loads - 1.0) * max(0, rows - array.steps // loads)
        least = cycles if i == 0 else min(least, cycles)
    return least


@helper
def steps_of(subproblem: Subproblem) -> int:
    """Steps over time of a prepared subproblem."""
    steps = 1
    for d in range(8):
        steps *= subproblem.steps[d]
    return steps


@helper
def waiting_at(subproblem: Subproblem) -> int:
    """Tensors that the innermost level keeps, a bit for each."""
    found = 0
    for t in range(3):
        if subproblem.keep[0, t]:
            found |= 1 << t
    return found


@helper
def _moves(tensor: int, d: int) -> bool:
    """Whether a tensor depends on a dimension."""
    if tensor == WEIGHTS:
        return d in (G, K, C, R, S)
    return d in (N, G, K, P, Q) if tensor == OUTPUTS else d != K


@helper
def least_fill(array: ArrayFill, subproblem: Subproblem, waiting: int, tau: Ints) -> float:
    """Least cycles to fill and drain, if runs of ``waiting`` tensors (a bit for each) in the
    innermost level go on outside a tile of ``tau[8]`` steps; or if nothing is kept there.
    """
    least = array.steps
    if array.mode == NO_FILL:
        return 0.0
    for t in range(3):
        if not waiting >> t & 1:
            continue
        loads = 1
        for d in range(8):
            if _moves(t, d):
                loads *= subproblem.steps[d] // tau[d]
        least = min(least, loads)
    return fill_cycles(array, least)


@helper
def bare_fill(setup: KernelInputs, subproblem: Subproblem, steps: int) -> float:
    """Cycles to fill and drain the array at least in a prepared subproblem of so many steps, from
    what the innermost level has room for and how many cells are in use; in tens of nanoseconds.
    """
    if setup.fill_drain == NO_FILL:
        return 0.0
    cells, width, height, loads = 1.0, 1.0, 1.0, float(steps)
    for level in range(setup.array[ARRAY_LEVELS]):
        width *= setup.fanout[level, X]
        height *= setup.fanout[level, Y]
        for d in range(8):
            cells *= subproblem.spread[level, d]
    rows, columns = float(setup.array[ARRAY_ROWS]), float(setup.array[ARRAY_COLUMNS])
    # what is more than the array has stands in other arrays
    cells *= min(1.0, rows / height) * min(1.0, columns / width)
    for t in range(3):
        if subproblem.keep[0, t]:
            indices = 1.0
            for d in range(8):
                if _moves(t, d):
                    indices *= subproblem.steps[d] * subproblem.inside[0, d]
            loads = min(loads, indices / indices_of_a_tile(setup, t))
    loads = max(1.0, loads)
    # r rows of cells / r columns each: least where 2 r is as much as they are
    fewest = max(1.0, cells / columns)
    used = min(max(fewest, np.sqrt(cells / 2)), max(fewest, rows))
    once = 2 * used + max(1.0, cells / used) - 2
    if setup.fill_drain == EXPOSED:
        return float((1 - ROUNDING) * loads * once)
    return float((1 - ROUNDING) * (once + (loads - 1) * max(0.0, fewest - steps / loads)))


@helper
def still_waiting(waiting: int, factors: Ints) -> int:
    """Tensors that the innermost level holds on to through the loops of a level."""
    for t in range(3):
        if ends(t, factors):
            waiting &= ~(1 << t)
    return waiting
