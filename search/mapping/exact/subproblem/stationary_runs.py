"""What it costs that a tensor's stationary runs end: one keeper after another, in closed form.

A run of a keeper ends with the first loop outside it that its tensor depends on. At every level
one tensor may *stay*: the loops that it does not depend on stand innermost (theorem 2 of
docs/exact_mapping.md). ``first`` is the loop that ends the runs of inputs, where it matters.
"""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators import Floats, Ints, helper, inlined
from archloom.evaluators.loopnest import KernelInputs, axis_words, extent
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, C, G, K, N, P, Q, R, S

from .loop_orders import idle
from .noc_hops import passing_pj
from .ports import Ports, moved
from .subproblem import Subproblem, charge, starts

#: no loop moves the windows of inputs first
NOTHING: Final = -1

#: the tensor that stays where none does
NONE: Final = 3


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


@inlined
def _input_words(
    setup: KernelInputs,
    frame: Subproblem,
    level: int,
    outer: int,
    tau: Ints,
    factors: Ints,
    run: int,
    first: int,
) -> int:
    """Input words into a keeper whose run ends with ``first`` at level ``outer``."""
    inside, window = frame.inside, setup.window
    planes = tau[N] * inside[level, N] * tau[G] * inside[level, G] * tau[C] * inside[level, C]
    rows = extent(tau[P] * inside[level, P], tau[R] * inside[level, R], window[0, 0], window[0, 1])
    columns = extent(
        tau[Q] * inside[level, Q], tau[S] * inside[level, S], window[1, 0], window[1, 1]
    )
    if first == NOTHING:
        return int(planes * rows * columns * run)
    whole = run // factors[first]
    words = whole * rows * columns
    axis, kind = (first - P) % 2, (first - P) // 2
    step = tau[first] * inside[outer, first] * window[axis, kind]
    rows = min(rows, step) if axis == 0 else rows
    columns = min(columns, step) if axis == 1 else columns
    return int(planes * (words + (run - whole) * rows * columns))


@helper
def _real_words(
    setup: KernelInputs,
    frame: Subproblem,
    tau: Ints,
    factors: Ints,
    stays: int,
    first: int,
    scratch: Ints,
) -> int:
    """Input words without padding from DRAM into the level below it.

    ``scratch[3, 4, 8]`` remembers rows and columns of the tile before: most neighbours of a tile
    have the same.
    """
    level, known, same = frame.keep.shape[0] - 2, scratch[2], True
    for d in range(P, 8):
        extent_of = tau[d] * frame.inside[level, d]
        if known[0, d] != factors[d] or known[1, d] != extent_of:
            known[0, d], known[1, d], same = factors[d], extent_of, False
    words = factors[N] * factors[G] * factors[C]
    for d in (N, G, C):
        words *= tau[d] * frame.inside[level, d]
    if stays != INPUTS and ends(INPUTS, factors):
        words *= factors[K]
    if not same:
        for slide in range(3):
            known[2, slide] = known[3, slide] = -1
    for axis in range(2):
        slide = 0
        if first >= P and (first - P) % 2 == axis:
            slide = 1 + (first - P) // 2
        if known[2 + axis, slide] < 0:
            for d in range(P, 8):
                scratch[0, 0, d], scratch[1, 0, d] = known[0, d], known[1, d]
            found = axis_words(scratch, scratch[1], 0, setup.window, axis, slide)
            known[2 + axis, slide] = found
        words *= known[2 + axis, slide]
    return int(words)


@inlined
def entering(
    setup: KernelInputs,
    frame: Subproblem,
    real: Ints,
    tensor: int,
    level: int,
    outer: int,
    tau: Ints,
    factors: Ints,
    run: int,
    stays: int,
    first: int,
    scratch: Ints,
) -> int:
    """Words into a keeper whose run ends at level ``outer``, of which ``factors`` are the loops.

    ``tau`` are the steps inside that level, ``run`` all steps of it and outside it but for those
    that leave the tensor where it is (:func:`run_of`).
    """
    inside = frame.inside
    if tensor == INPUTS and real[2] and level == frame.keep.shape[0] - 2:
        return _real_words(setup, frame, tau, factors, stays, first, scratch)
    if tensor == INPUTS:
        return _input_words(setup, frame, level, outer, tau, factors, run, first)
    tile = tau[G] * inside[level, G] * tau[K] * inside[level, K]
    if tensor == WEIGHTS:
        tile *= tau[C] * inside[level, C] * tau[R] * inside[level, R] * tau[S] * inside[level, S]
    else:
        tile *= tau[N] * inside[level, N] * tau[P] * inside[level, P] * tau[Q] * inside[level, Q]
    return int(tile * run)


@inlined
def stretches_of(setup: KernelInputs, frame: Subproblem, tensor: int, level: int, tau: Ints) -> int:
    """What the chain of a keeper leaves to the tile: stretches of inputs that children start."""
    if tensor != INPUTS or not frame.varies[level + 1]:
        return 1
    inside = frame.inside
    return int(
        starts(
            setup,
            frame.spread,
            level + 1,
            tau[P] * inside[level, P],
            tau[Q] * inside[level, Q],
            tau[R] * inside[level, R],
            tau[S] * inside[level, S],
        )
    )


@inlined
def end_runs(
    setup: KernelInputs,
    frame: Subproblem,
    real: Ints,
    tensor: int,
    innermost: int,
    outer: int,
    tau: Ints,
    factors: Ints,
    run: int,
    stays: int,
    first: int,
    scratch: Ints,
    units: Floats,
    passing: Floats,
) -> float:
    """Energy of all keepers of a tensor from ``innermost`` on whose runs end at level ``outer``.

    ``units[L, 2]`` get what is moved beyond the least; ``passing[3]`` are the words that enter
    the nearest keeper inside, 0 where that is not known, and are set to those of the last one.
    """
    energy = 0.0
    for level in range(innermost, min(outer, frame.keep.shape[0] - 1)):
        if not frame.runs[level, tensor]:
            continue
        words = entering(
            setup, frame, real, tensor, level, outer, tau, factors, run, stays, first, scratch
        )
        if frame.parent[level, tensor] < 0:
            energy += passing_pj(frame, tensor, level + 1, float(words), passing[tensor])
            continue
        stretches = stretches_of(setup, frame, tensor, level, tau)
        passing[tensor] = words * stretches
        pj, fills, reads, updates = charge(setup, frame, tensor, level, words, stretches)
        energy += pj + words * frame.stream_pj[level + 1, tensor]
        parent = frame.parent[level, tensor]
        units[level, 1] += fills - frame.least_units[level, tensor, 0]
        units[parent, 0] += reads - frame.least_units[level, tensor, 1]
        units[parent, 1] += updates - frame.least_units[level, tensor, 2]
    return energy


class Scratch(NamedTuple):
    """Room for one tile: positions of steps inside, these, loops outside, extents, units, words
    that pass, and sums by price.
    """

    at: Ints
    tau: Ints
    factors: Ints
    extents: Ints
    units: Floats
    passing: Floats
    sums: Floats


@inlined
def priced(prices: Floats, j: int, energy: float, ports: Ports, units: Floats) -> float:
    """Cost of an energy and of units[L, 2], by price j."""
    cost = float(prices[j, 0] * energy)
    for port in range(prices.shape[1] - 1):
        cost += prices[j, 1 + port] * moved(ports, port, units)
    return cost


@inlined
def end_of_run(
    setup: KernelInputs, frame: Subproblem, real: Ints, level: int, tensor: int, stays: int, first:
        int,
    run: int, room: Scratch,
) -> float:  # fmt: skip
    """Energy of the run of one keeper, if all loops outside stand at the next level; ``room.units``
    is set to what moves through ports.
    """
    for outer in range(room.units.shape[0]):
        room.units[outer, 0] = room.units[outer, 1] = 0.0
    room.passing[tensor] = 0.0
    energy: float = end_runs(
        setup, frame, real, tensor, level, level + 1, room.tau, room.factors, run, stays, first,
        room.extents, room.units, room.passing,
    )  # fmt: skip
    return energy


@inlined
def least_of_tensor(
    setup: KernelInputs, frame: Subproblem, real: Ints, ports: Ports, prices: Floats, level: int,
        tensor: int,
    stays: int, run: int, room: Scratch, to: int,
) -> None:  # fmt: skip
    """Add what the runs of one keeper cost at least to ``sums[to]``; ``sums[1]`` is overwritten."""
    least, sums, found = room.sums[1], room.sums[to], False
    for place in range(5):
        first = P + place if place < 4 else NOTHING
        if not tries(tensor, stays, first, room.factors, found, False):
            continue
        energy = end_of_run(setup, frame, real, level, tensor, stays, first, run, room)
        for j in range(len(prices)):
            cost = priced(prices, j, energy, ports, room.units)
            if not found or cost < least[j]:
                least[j] = cost
        found = True
    for j in range(len(prices)):
        sums[j] += least[j]


@inlined
def least_end(
    setup: KernelInputs, frame: Subproblem, real: Ints, ports: Ports, prices: Floats, level: int,
        run: int,
    room: Scratch,
) -> None:  # fmt: skip
    """Set ``sums[2]`` to the least with which the keepers of a level can end their runs, whatever
    is outside. For the level below DRAM it is what they do cost.
    """
    sums, best, found = room.sums[0], room.sums[2], False
    for j in range(len(prices)):
        best[j] = 0.0
    for stays in range(4):
        still = idle(stays, room.factors)
        if not may_stay(stays, still, found, False):
            continue
        for j in range(len(prices)):
            sums[j] = 0.0
        for t in range(3):
            if frame.runs[level, t]:
                least_of_tensor(
                    setup,
                    frame,
                    real,
                    ports,
                    prices,
                    level,
                    t,
                    stays,
                    run_of(t, stays, still, run),
                    room,
                    0,
                )
        for j in range(len(prices)):
            if not found or sums[j] < best[j]:
                best[j] = sums[j]
        found = True


@inlined
def scratch(levels: int, many: int) -> Scratch:
    """Return room for one tile and so many prices."""
    return Scratch(
        np.empty(8, np.int64),
        np.empty(8, np.int64),
        np.empty(8, np.int64),
        np.zeros((3, 4, 8), np.int64),
        np.zeros((levels, 2)),
        np.zeros(3),
        np.zeros((6, many)),
    )
