"""Words and multiply-accumulates of one layer, as compiled bounds see them.

Blocks are what a lower bound reasons about: all multiply-accumulates (MACs) with the same output
positions, or with the same kernel positions. A block of ``a`` positions along one axis, together
with all positions of the other kind, touches so many rows; ``rates`` says how many for each MAC
of that axis. docs/explanation/bounds_proofs.md has the lemmas.
"""

from typing import NamedTuple

import numpy as np

from archloom.evaluators.jit import allocating, compiled, copy_row, copy_table, helper, lean
from archloom.evaluators.loopnest import (
    COLUMNS,
    DILATION,
    PADDING,
    ROWS,
    SIZE,
    STRIDE,
    diagonals,
)
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, C, G, K, N, P, Q, R, S

from ..arrays import Floats, Ints

#: how a map is fetched: with its padding, as it stands in DRAM, or with its padding by blocks
#: whose positions need not be neighbours
PADDED, REAL, SCATTERED = range(3)

#: what a block is a block of
OF_OUTPUTS, OF_KERNEL = range(2)

#: last axis of ``rates``
APART, SLOPE, EDGE = range(3)

#: rows of the map between neighbours in a block, and between those of the other kind
OWN, OTHER = range(2)

#: where padding lies
BEFORE, AFTER = range(2)


class Work(NamedTuple):
    """One layer's loops, as real numbers.

    Attributes:
        macs: multiply-accumulates.
        reuse: most MACs for one word of weights, inputs (window aside), outputs: N P Q, K, C R S.
        words: float64[3, 3], distinct words of each tensor; padded, real, scattered.
        sides: float64[2, 2], (P, Q) and (R, S).
        rates: float64[3, 2, 2, 3]: padded, real, scattered; blocks of outputs or of the kernel;
            rows or columns; then (apart, slope, edge). A block of ``a`` positions touches at
            least min(apart, slope + edge / a) rows for each MAC of its axis.
    """

    macs: float
    reuse: Floats
    words: Floats
    sides: Floats
    rates: Floats


class Works(NamedTuple):
    """The works of B layers: fields of :class:`Work`, each with an axis for the layers."""

    macs: Floats
    reuse: Floats
    words: Floats
    sides: Floats
    rates: Floats


@lean
def inside_taps(outer: int, kernel: int, axis: Ints) -> tuple[int, int]:
    """Return pairs (output, tap) that read the real map, and the rows that they read.

    ``axis[4]`` is stride, dilation, padding and size.
    """
    stride, dilation, pad, size = axis[STRIDE], axis[DILATION], axis[PADDING], axis[SIZE]
    last = (outer - 1) * stride + (kernel - 1) * dilation - pad
    if pad == 0 and last < size:
        return outer * kernel, diagonals(outer, stride, kernel, dilation)
    a, b = stride, dilation
    while b:
        a, b = b, a % b
    # outputs that are dilation/gcd apart meet in taps that are stride/gcd apart
    apart, meet = dilation // a, stride // a
    pairs, rows = 0, 0
    for i in range(outer):
        first = i * stride - pad
        low = 0 if first >= 0 else (-first + dilation - 1) // dilation
        high = min(kernel - 1, (size - 1 - first) // dilation) if first < size else -1
        pairs += max(0, high - low + 1)
        if i >= apart:
            low = max(low, kernel - meet)
        rows += max(0, high - low + 1)
    return pairs, rows


@helper
def _block_rates(
    outer: int,
    kernel: int,
    steps: Ints,
    outside: Ints,
    pairs: int,
    rows: int,
    scattered: bool,
    rates: Floats,
) -> None:
    """Fill (apart, slope, edge) of one axis for blocks of ``outer`` positions.

    ``steps`` are the rows between neighbours in a block and between taps, ``outside[2]`` the rows
    of padding before and after the map; of ``pairs`` and ``rows`` see :func:`inside_taps`.
    """
    a, b = steps[OWN], steps[OTHER]
    while b:
        a, b = b, a % b
    step, apart = steps[OWN] / a, steps[OTHER] / a
    all_pairs = float(outer) * kernel
    rates[APART] = pairs / all_pairs
    rates[SLOPE], rates[EDGE] = rates[APART], 0.0
    if outer <= apart or kernel <= step:
        return  # no two pairs share a row
    if scattered:
        apart = 1
    # each row of padding is left out once for each block that would touch it; blocks need not
    # end where the map ends
    often, again = 0.0, 0.0
    for side in (BEFORE, AFTER):
        often += outside[side]
        again += outside[side] * (outside[side] - 1.0) / (2.0 * steps[OWN])
    often += max(0, outside[AFTER] - steps[OWN])
    slope = (step - often / outer) / kernel
    edge = (apart * (kernel - step) - again / outer) / kernel
    if edge < 0:
        slope, edge = slope + edge, 0.0
    if slope < 0:
        slope, edge = rows / all_pairs, 0.0
    rates[SLOPE], rates[EDGE] = slope, edge


@compiled
def work_of(bounds: Ints, window: Ints) -> Work:
    """Return the work of a layer with loop bounds ``bounds[8]`` and ``window[2, 4]``."""
    macs = 1.0
    for d in range(8):
        macs *= bounds[d]
    reuse = np.empty(3)
    reuse[WEIGHTS] = float(bounds[N]) * bounds[P] * bounds[Q]
    reuse[INPUTS] = bounds[K]
    reuse[OUTPUTS] = float(bounds[C]) * bounds[R] * bounds[S]
    words, sides = np.empty((3, 3)), np.empty((2, 2))
    rates = np.empty((3, 2, 2, 3))
    channels = float(bounds[N]) * bounds[G] * bounds[C]
    for n in range(3):
        words[n, WEIGHTS] = macs / reuse[WEIGHTS]
        words[n, INPUTS] = channels
        words[n, OUTPUTS] = macs / reuse[OUTPUTS]
    axis, outside, steps = np.empty(4, np.int64), np.empty(2, np.int64), np.empty(2, np.int64)
    for i in range(2):
        outer, kernel = bounds[P + i], bounds[R + i]
        sides[OF_OUTPUTS, i], sides[OF_KERNEL, i] = outer, kernel
        reach = (outer - 1) * window[i, STRIDE] + (kernel - 1) * window[i, DILATION] + 1
        for real in range(3):
            copy_row(axis, window[i])
            far = real == SCATTERED
            if real != REAL:
                axis[PADDING], axis[SIZE] = 0, reach
            pairs, rows = inside_taps(outer, kernel, axis)
            outside[BEFORE] = axis[PADDING]
            outside[AFTER] = max(0, reach - axis[PADDING] - axis[SIZE])
            words[real, INPUTS] *= rows
            steps[OWN], steps[OTHER] = axis[STRIDE], axis[DILATION]
            into = rates[real, :, i]
            _block_rates(outer, kernel, steps, outside, pairs, rows, far, into[OF_OUTPUTS])
            steps[OWN], steps[OTHER] = axis[DILATION], axis[STRIDE]
            _block_rates(kernel, outer, steps, outside, pairs, rows, far, into[OF_KERNEL])
    return Work(macs, reuse, words, sides, rates)


@compiled(brief=True)
def works_of(bounds: Ints, windows: Ints) -> Works:
    """Return the works of layers with loop bounds ``bounds[B, 8]`` and ``windows[B, 2, 4]``."""
    count = len(bounds)
    macs, reuse, words = np.empty(count), np.empty((count, 3)), np.empty((count, 3, 3))
    sides, rates = np.empty((count, 2, 2)), np.empty((count, 3, 2, 2, 3))
    for i in range(count):
        work = work_of(bounds[i], windows[i])
        macs[i] = work.macs
        copy_row(reuse[i], work.reuse)
        copy_table(words[i], work.words)
        copy_table(sides[i], work.sides)
        for real in range(3):
            for kind in range(2):
                copy_table(rates[i, real, kind], work.rates[real, kind])
    return Works(macs, reuse, words, sides, rates)


@allocating
def one_work(works: Works, i: int) -> Work:
    """Return the work of one of several layers."""
    return Work(works.macs[i], works.reuse[i], works.words[i], works.sides[i], works.rates[i])


@lean
def words_per_mac(positions: float, rates: Floats, sides: Floats) -> float:
    """Return the least rows times columns for each MAC of a block of ``positions`` positions.

    ``rates[2, 3]`` are those of rows and columns, ``sides[2]`` the most positions along each. The
    least over all real ways to lay the positions out as a rectangle a x b: along each axis the
    rate is min(apart, slope + edge / a), so the least product is one of four.
    """
    if rates[ROWS, EDGE] == 0 and rates[COLUMNS, EDGE] == 0:
        # the same for every rectangle
        rows, columns = rates[ROWS, SLOPE], rates[COLUMNS, SLOPE]
        least = min(rows, rates[ROWS, APART]) * rates[COLUMNS, APART]
        return float(min(least, rates[ROWS, APART] * columns, rows * columns))
    a, b = min(positions, sides[ROWS]), min(positions, sides[COLUMNS])
    rows = rates[ROWS, SLOPE] + rates[ROWS, EDGE] / a
    columns = rates[COLUMNS, SLOPE] + rates[COLUMNS, EDGE] / b
    least = min(rows, rates[ROWS, APART]) * rates[COLUMNS, APART]
    least = min(least, rates[ROWS, APART] * columns)
    # slope and edge on both axes: convex in ln a, so its minimum is clipped to where a, b fit
    if positions < sides[ROWS] * sides[COLUMNS]:
        low, high = max(1.0, positions / sides[COLUMNS]), a
        down = rates[ROWS, EDGE] * rates[COLUMNS, SLOPE]
        up = rates[ROWS, SLOPE] * rates[COLUMNS, EDGE] / positions
        a = np.sqrt(down / up) if up * high * high > down else high
        a = max(a, low)
        b = positions / a
        rows = rates[ROWS, SLOPE] + rates[ROWS, EDGE] / a
        columns = rates[COLUMNS, SLOPE] + rates[COLUMNS, EDGE] / b
    return float(min(least, rows * columns))
