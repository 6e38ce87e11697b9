"""What it costs that a tensor's stationary runs end: one keeper after another, in closed form.

A run of a keeper ends with the first loop outside it that its tensor depends on. At every level
one tensor may *stay*: the loops that it does not depend on stand innermost (theorem 2 of
docs/explanation/mapping_proofs.md). ``first`` is the loop that ends the runs of inputs, where it
matters.
"""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators import Floats, Ints
from archloom.evaluators.jit import allocating, helper
from archloom.evaluators.loopnest import (
    COLUMNS,
    DILATION,
    FILLS,
    READ_PORT,
    READS,
    ROWS,
    STRIDE,
    TEMPORAL,
    UPDATES,
    WRITE_PORT,
    KernelInputs,
    axis_words,
    extent,
)
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, C, G, K, N, P, Q, R, S

from .noc_hops import passing_pj
from .subproblem import UNPADDED, Subproblem, charge, starts

#: no loop moves the windows of inputs first
NOTHING: Final = -1

#: the tensor that stays where none does
NONE: Final = 3

#: words of a tile that are not known
_UNKNOWN: Final = -1


class Tile(NamedTuple):
    """A tile by the steps inside it, ``tau[8]``, and the loops of the next level, ``factors[8]``.

    Rows and columns that DRAM sends without padding are remembered: most neighbours of a tile
    have the same. ``words[2, 3]`` are those by axis and by the loop that shares an overlap, -1
    where they are not known, of a tile with ``extents[1, 8]`` and ``loops[1, 4, 8]``.
    """

    tau: Ints
    factors: Ints
    extents: Ints
    loops: Ints
    words: Ints


class Ending(NamedTuple):
    """Where the run of a tensor ends: at level ``outer``, of which ``stays`` is the tensor that
    stays and ``first`` the loop that ends runs of inputs. It begins ``steps`` times
    (:func:`run_of`).
    """

    outer: int
    steps: int
    stays: int
    first: int


class Traffic(NamedTuple):
    """What runs move beyond the least: ``units[L, 2]`` through the read and the write port of each
    level; and ``passing[3]``, the words that enter the nearest keeper of each tensor inside, 0
    where that is not known.
    """

    units: Floats
    passing: Floats


@allocating
def new_tile() -> Tile:
    """Return room for a tile."""
    tau, factors = np.ones(8, np.int64), np.ones(8, np.int64)
    extents, loops = np.zeros((1, 8), np.int64), np.zeros((1, 4, 8), np.int64)
    return Tile(tau, factors, extents, loops, np.zeros((2, 3), np.int64))


@helper
def ends(tensor: int, factors: Ints) -> bool:
    """Whether some loop of a level moves the tensor."""
    if tensor == WEIGHTS:
        moves = factors[G] * factors[K] * factors[C] * factors[R] * factors[S]
    elif tensor == OUTPUTS:
        moves = factors[N] * factors[G] * factors[K] * factors[P] * factors[Q]
    else:
        moves = factors[N] * factors[G] * factors[C] * factors[P] * factors[Q]
        moves *= factors[R] * factors[S]
    return bool(moves > 1)


@helper
def may_stay(stays: int, still: int, some: bool, beside: bool) -> bool:
    """Whether to try that a tensor stays, for ``still`` steps; NONE comes last, if no other was
    tried, or where it may be better beside others.
    """
    if stays == NONE:
        return beside or not some
    return still > 1


@helper
def may_be_first(stays: int, first: int, factors: Ints) -> bool:
    """Whether the loop, P to S, can end runs of inputs while ``stays`` stays."""
    if factors[first] == 1:
        return False
    if stays == WEIGHTS:
        return first in (P, Q)
    return stays != OUTPUTS or first in (R, S)


@helper
def run_of(tensor: int, stays: int, still: int, run: int) -> int:
    """Steps in which a tensor is fetched anew, of all from the level on where its run ends."""
    return run // still if stays == tensor else run


@helper
def still_leads(stays: int, factors: Ints) -> bool:
    """Whether a loop that moves inputs but no window can be first while ``stays`` stays."""
    if stays == WEIGHTS:
        return bool(factors[N] > 1)
    if stays == OUTPUTS:
        return bool(factors[C] > 1)
    return bool(factors[G] > 1 or (stays == INPUTS and factors[N] * factors[C] > 1))


@helper
def tries(tensor: int, stays: int, first: int, factors: Ints, some: bool, beside: bool) -> bool:
    """Whether to try ``first``, from P on, for a tensor; NOTHING comes last, if none was tried,
    or where it may be better beside others.
    """
    if first == NOTHING:
        return beside or not some
    return tensor == INPUTS and may_be_first(stays, first, factors)


@helper
def _input_words(
    setup: KernelInputs, subproblem: Subproblem, level: int, ending: Ending, tile: Tile
) -> int:
    """Input words into a keeper."""
    planes, rows, columns = _window_words(setup, subproblem, level, tile.tau)
    if ending.first == NOTHING:
        return int(planes * rows * columns * ending.steps)
    return int(planes * _sliding_words(setup, subproblem, ending, tile, rows, columns))


@helper
def _window_words(
    setup: KernelInputs, subproblem: Subproblem, level: int, tau: Ints
) -> tuple[int, int, int]:
    """Planes, rows and columns of the inputs of a tile."""
    inside, window = subproblem.inside[level], setup.window
    planes = tau[N] * inside[N] * tau[G] * inside[G] * tau[C] * inside[C]
    p, r = tau[P] * inside[P], tau[R] * inside[R]
    rows = extent(p, r, window[ROWS, STRIDE], window[ROWS, DILATION])
    q, s = tau[Q] * inside[Q], tau[S] * inside[S]
    columns = extent(q, s, window[COLUMNS, STRIDE], window[COLUMNS, DILATION])
    return planes, rows, columns


@helper
def _sliding_words(
    setup: KernelInputs, subproblem: Subproblem, ending: Ending, tile: Tile, rows: int, columns: int
) -> int:
    """Words of one plane over a run whose first loop moves windows of so many rows and columns."""
    first = ending.first
    whole = ending.steps // tile.factors[first]
    words = whole * rows * columns
    # strides are of results, dilations of the kernel
    axis, kind = (first - P) % 2, (first - P) // 2
    step = tile.tau[first] * subproblem.inside[ending.outer, first] * setup.window[axis, kind]
    rows = min(rows, step) if axis == ROWS else rows
    columns = min(columns, step) if axis == COLUMNS else columns
    return int(words + (ending.steps - whole) * rows * columns)


@helper
def _unpadded_words(setup: KernelInputs, subproblem: Subproblem, ending: Ending, tile: Tile) -> int:
    """Input words without padding from DRAM into the level below it."""
    level, same, factors = subproblem.keep.shape[0] - 2, True, tile.factors
    for d in range(P, 8):
        extent_of = tile.tau[d] * subproblem.inside[level, d]
        if tile.loops[0, TEMPORAL, d] != factors[d] or tile.extents[0, d] != extent_of:
            tile.loops[0, TEMPORAL, d], tile.extents[0, d], same = factors[d], extent_of, False
    words = factors[N] * factors[G] * factors[C]
    for d in (N, G, C):
        words *= tile.tau[d] * subproblem.inside[level, d]
    if ending.stays != INPUTS and ends(INPUTS, factors):
        words *= factors[K]
    if not same:
        for slide in range(3):
            tile.words[ROWS, slide] = tile.words[COLUMNS, slide] = _UNKNOWN
    for axis in range(2):
        slide = 0
        if ending.first >= P and (ending.first - P) % 2 == axis:
            slide = 1 + (ending.first - P) // 2
        if tile.words[axis, slide] < 0:
            found = axis_words(tile.loops, tile.extents, 0, setup.window, axis, slide)
            tile.words[axis, slide] = found
        words *= tile.words[axis, slide]
    return int(words)


@helper
def entering(
    setup: KernelInputs,
    subproblem: Subproblem,
    tensor: int,
    level: int,
    ending: Ending,
    tile: Tile,
) -> int:
    """Words into a keeper whose run ends so; ``tile`` is that inside the level where it does."""
    tau, inside = tile.tau, subproblem.inside
    if tensor == INPUTS:
        if subproblem.touched[UNPADDED] and level == subproblem.keep.shape[0] - 2:
            return _unpadded_words(setup, subproblem, ending, tile)
        return _input_words(setup, subproblem, level, ending, tile)
    words = tau[G] * inside[level, G] * tau[K] * inside[level, K]
    if tensor == WEIGHTS:
        words *= tau[C] * inside[level, C] * tau[R] * inside[level, R] * tau[S] * inside[level, S]
    else:
        words *= tau[N] * inside[level, N] * tau[P] * inside[level, P] * tau[Q] * inside[level, Q]
    return int(words * ending.steps)


@helper
def least_entering(
    setup: KernelInputs, subproblem: Subproblem, tensor: int, ending: Ending, tile: Tile
) -> int:
    """Fewest words into the keeper just inside the level where its run ends, whichever loop is
    first there.
    """
    level, least, found = ending.outer - 1, 0, False
    if tensor != INPUTS:
        return entering(setup, subproblem, tensor, level, ending, tile)
    unpadded = subproblem.touched[UNPADDED] and level == subproblem.keep.shape[0] - 2
    planes, rows, columns = _window_words(setup, subproblem, level, tile.tau)
    for first in range(P, 8):
        if not may_be_first(ending.stays, first, tile.factors):
            continue
        end = Ending(ending.outer, ending.steps, ending.stays, first)
        if unpadded:
            words = _unpadded_words(setup, subproblem, end, tile)
        else:
            words = planes * _sliding_words(setup, subproblem, end, tile, rows, columns)
        least = words if not found else min(least, words)
        found = True
    return least if found else entering(setup, subproblem, tensor, level, ending, tile)


@helper
def stretches_of(
    setup: KernelInputs, subproblem: Subproblem, tensor: int, level: int, tau: Ints
) -> int:
    """What the chain of a keeper leaves to the tile: stretches of inputs that children start."""
    if tensor != INPUTS or not subproblem.varies[level + 1]:
        return 1
    inside = subproblem.inside
    p, q = tau[P] * inside[level, P], tau[Q] * inside[level, Q]
    r, s = tau[R] * inside[level, R], tau[S] * inside[level, S]
    return int(starts(setup, subproblem.spread, level + 1, p, q, r, s))


@helper
def end_runs(
    setup: KernelInputs,
    subproblem: Subproblem,
    tensor: int,
    innermost: int,
    ending: Ending,
    tile: Tile,
    traffic: Traffic,
) -> float:
    """Energy of all keepers of a tensor from ``innermost`` on whose runs end so.

    Their traffic is added; words that pass are set to those of the last one.
    """
    energy, units, least = 0.0, traffic.units, subproblem.least_units
    for level in range(innermost, min(ending.outer, subproblem.keep.shape[0] - 1)):
        if not subproblem.runs[level, tensor]:
            continue
        words = entering(setup, subproblem, tensor, level, ending, tile)
        parent = subproblem.parent[level, tensor]
        if parent < 0:
            before = traffic.passing[tensor]
            energy += passing_pj(subproblem, tensor, level + 1, float(words), before)
            continue
        stretches = stretches_of(setup, subproblem, tensor, level, tile.tau)
        traffic.passing[tensor] = words * stretches
        sent = words * subproblem.chain[level, tensor] * stretches
        pj, fills, reads, updates = charge(setup, subproblem, tensor, level, parent, words, sent)
        energy += pj + words * subproblem.stream_pj[level + 1, tensor]
        units[level, WRITE_PORT] += fills - least[level, tensor, FILLS]
        units[parent, READ_PORT] += reads - least[level, tensor, READS]
        units[parent, WRITE_PORT] += updates - least[level, tensor, UPDATES]
    return energy
