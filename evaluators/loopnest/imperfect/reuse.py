"""Words that move in a loop nest that covers more than the loop bounds: the rest never runs.

The loops of a dimension are a counter of mixed radix. A step, or a child, whose first index lies
at the bound or beyond is left out, and the last tile that starts inside is cut there. What runs
is a product over dimensions, and along one dimension all tiles of a level are full but for one
length of cut ones. So each count is a product of sums, found by splitting tiles loop by loop.
"""

from typing import NamedTuple

import numpy as np

from archloom.evaluators.jit import compiled, lean
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, C, G, K, N, P, Q, R

from ...arrays import Flags, Ints
from ..data_reuse import (
    DILATION,
    INPUT_DIMS,
    KERNEL_LOOP,
    NO_LOOP,
    ORDER,
    OUTPUT_DIMS,
    OUTPUT_LOOP,
    PADDING,
    SIZE,
    STRIDE,
    TEMPORAL,
    WEIGHT_DIMS,
    diagonals,
    extent,
)

#: what of a loop counts: its first step (or child) alone, all of them, or all with other data
FIRST, EVERY, DISTINCT = range(3)

#: whose what counts, ``modes[level]``: the loops over time, or the children
OVER_TIME, OVER_CHILDREN = range(2)

#: tiles along one dimension: of full length, or cut at the bound
_FULL, _CUT = range(2)

#: sides of a window, as ``pairs[outputs, kernel]`` and ``rests`` number them
_OUTPUTS, _KERNEL = range(2)

#: sets of dimensions as bits
ALL_DIMS = 0xFF
_BEFORE_WINDOWS = 0x0F


class Nest(NamedTuple):
    """A mapping with the bounds that it is cut at, and what of its loops counts.

    ``loops``, ``cum``, ``spread`` and ``window`` are those of
    :mod:`archloom.evaluators.loopnest.data_reuse`; ``bounds[8]`` the true bounds. ``modes[L, 2,
    8]`` say for the temporal loops of a level and for its children (:data:`OVER_TIME`,
    :data:`OVER_CHILDREN`) what counts: FIRST, EVERY, or DISTINCT, which groups the children of
    input windows by tile. They are scratch space.
    """

    loops: Ints
    cum: Ints
    spread: Ints
    bounds: Ints
    window: Ints
    modes: Ints


@lean
def _parts(full: int, cut: int, rest: int, n: int, size: int, every: bool) -> tuple[int, int, int]:
    """Split tiles into ``n`` parts of ``size``: all parts that exist, or the first of each.

    ``cut`` tiles have length ``rest``. Returns full parts, cut parts and the length of those.
    """
    # divisions are what all of this costs: most loops have one step, most bounds are divided well
    if n == 1:
        return full, cut, rest
    if cut == 0:
        return full * n if every else full, 0, 0
    whole, left = rest // size, rest % size
    if every:
        return full * n + cut * whole, cut if left else 0, left
    if whole > 0:
        return full + cut, 0, 0
    return full, cut, left


@lean
def tiles(nest: Nest, d: int, tile: int) -> tuple[int, int, int]:
    """Tiles of level ``tile`` (-1 for a MAC) along ``d``: full ones, cut ones, length of those."""
    levels = nest.loops.shape[0]
    full, cut, rest = 1, 0, 0
    if nest.bounds[d] < nest.cum[levels, d]:
        full, cut, rest = 0, 1, nest.bounds[d]
    for level in range(levels - 1, tile, -1):
        child, children = nest.cum[level, d], nest.spread[level, d]
        steps, modes = nest.loops[level, TEMPORAL, d], nest.modes[level]
        every = modes[OVER_TIME, d] != FIRST
        full, cut, rest = _parts(full, cut, rest, steps, child * children, every)
        every = modes[OVER_CHILDREN, d] != FIRST
        full, cut, rest = _parts(full, cut, rest, children, child, every)
    return full, cut, rest


@lean
def volume(nest: Nest, dims: int, relevant: int, tile: int) -> int:
    """Product over ``dims``: indices that the counted tiles cover, or tiles if not relevant."""
    product = 1
    outermost = nest.loops.shape[0]
    for d in range(8):
        if dims >> d & 1 and nest.cum[outermost, d] > 1:
            full, cut, rest = tiles(nest, d, tile)
            if relevant >> d & 1:
                product *= full * nest.cum[tile + 1, d] + cut * rest
            else:
                product *= full + cut
    return product


@lean
def _split_pairs(pairs: Ints, rests: Ints, side: int, n: int, size: int, every: bool) -> None:
    """Split one side, outputs or kernel, of all pairs of tiles."""
    if n == 1:
        return
    left = 0
    for other in range(2):
        at = pairs[:, other] if side == _OUTPUTS else pairs[other]
        at[_FULL], at[_CUT], some = _parts(at[_FULL], at[_CUT], rests[side], n, size, every)
        left = max(left, some)
    rests[side] = left


@compiled
def _share_pairs(nest: Nest, axis: int, level: int, pairs: Ints, rests: Ints) -> None:
    """Split pairs over the children of a level, those with the same tile counted once."""
    out, kernel = nest.cum[level, P + axis], nest.cum[level, R + axis]
    step_out, step_kernel = nest.window[axis, STRIDE] * out, nest.window[axis, DILATION] * kernel
    left_out, left_kernel = rests[_OUTPUTS] % out, rests[_KERNEL] % kernel
    below = np.zeros((2, 2), np.int64)
    for a in range(2):
        across = nest.spread[level, P + axis] if a == _FULL else rests[_OUTPUTS] // out
        for b in range(2):
            down = nest.spread[level, R + axis] if b == _FULL else rests[_KERNEL] // kernel
            below[_FULL, _FULL] += pairs[a, b] * diagonals(across, step_out, down, step_kernel)
            if a == _CUT and left_out:
                below[_CUT, _FULL] += pairs[a, b] * down
            if b == _CUT and left_kernel:
                below[_FULL, _CUT] += pairs[a, b] * across
            if a == _CUT and b == _CUT and left_out and left_kernel:
                below[_CUT, _CUT] += pairs[a, b]
    for a in range(2):
        for b in range(2):
            pairs[a, b] = below[a, b]
    rests[_OUTPUTS], rests[_KERNEL] = left_out, left_kernel


@compiled
def _pairs(nest: Nest, axis: int, tile: int, pairs: Ints, rests: Ints) -> None:
    """Fill ``pairs[2, 2]``: tiles of level ``tile`` whose outputs and kernel are full or
    cut, and ``rests[2]``, the lengths of cut outputs and cut kernels."""
    levels = nest.loops.shape[0]
    start = np.zeros(2, np.int64)
    for side in range(2):
        d = P + axis + 2 * side
        rests[side] = 0
        if nest.bounds[d] < nest.cum[levels, d]:
            rests[side], start[side] = nest.bounds[d], _CUT
    for a in range(2):
        for b in range(2):
            pairs[a, b] = a == start[_OUTPUTS] and b == start[_KERNEL]
    for level in range(levels - 1, tile, -1):
        modes = nest.modes[level]
        for side in range(2):
            d = P + axis + 2 * side
            size = nest.cum[level, d] * nest.spread[level, d]
            steps = nest.loops[level, TEMPORAL, d]
            _split_pairs(pairs, rests, side, steps, size, modes[OVER_TIME, d] != FIRST)
        if nest.spread[level, P + axis] * nest.spread[level, R + axis] == 1:
            continue
        if modes[OVER_CHILDREN, P + axis] == DISTINCT:
            _share_pairs(nest, axis, level, pairs, rests)
            continue
        for side in range(2):
            d = P + axis + 2 * side
            every = modes[OVER_CHILDREN, d] != FIRST
            _split_pairs(pairs, rests, side, nest.spread[level, d], nest.cum[level, d], every)


@compiled
def _window_words(nest: Nest, axis: int, tile: int, level: int, sliding: int) -> int:
    """Rows (or columns) of inputs in all counted tiles of level ``tile``.

    The loop over dimension ``sliding`` at ``level`` fetches only what the tile before it did not
    hold; -1 where no loop slides along this axis.
    """
    window, row, outermost = nest.window[axis], tile + 1, nest.loops.shape[0]
    if nest.cum[outermost, P + axis] * nest.cum[outermost, R + axis] == 1:
        return 1
    pairs, rests = np.zeros((2, 2), np.int64), np.zeros(2, np.int64)
    _pairs(nest, axis, tile, pairs, rests)
    out = (nest.cum[row, P + axis], rests[_OUTPUTS])
    kernel = (nest.cum[row, R + axis], rests[_KERNEL])
    words = 0
    for a in range(2):
        for b in range(2):
            words += pairs[a, b] * extent(out[a], kernel[b], window[STRIDE], window[DILATION])
    if sliding < 0:
        return words
    starts, step = (
        np.zeros((2, 2), np.int64),
        nest.cum[level, sliding] * nest.spread[level, sliding],
    )
    nest.modes[level, OVER_TIME, sliding] = FIRST
    _pairs(nest, axis, tile, starts, rests)
    nest.modes[level, OVER_TIME, sliding] = EVERY
    along_kernel = sliding >= R
    step *= window[DILATION] if along_kernel else window[STRIDE]
    for a in range(2):
        for b in range(2):
            # the tile before a later one is full along the loop that slides
            last = out[a if along_kernel else _FULL], kernel[_FULL if along_kernel else b]
            held = max(
                0, extent(last[_OUTPUTS], last[_KERNEL], window[STRIDE], window[DILATION]) - step
            )
            words -= (pairs[a, b] - starts[a, b]) * held
    return words


@lean
def moved(nest: Nest, tensor: int, tile: int, level: int, sliding: int) -> int:
    """Words that enter tiles of level ``tile`` (-1 for a MAC), as far as ``modes`` count them.

    ``level`` and ``sliding`` are what :func:`follow` returned.
    """
    if tensor == INPUTS:
        words = volume(nest, _BEFORE_WINDOWS, INPUT_DIMS, tile)
        for axis in range(2):
            here = sliding if sliding >= P and (sliding - P) & 1 == axis else -1
            words *= _window_words(nest, axis, tile, level, here)
        return words
    return volume(nest, ALL_DIMS, OUTPUT_DIMS if tensor == OUTPUTS else WEIGHT_DIMS, tile)


@lean
def take(nest: Nest, dims: int, children: int) -> None:
    """Let every step of the loops over ``dims`` count, the first of others; and ``children``."""
    for level in range(nest.loops.shape[0]):
        for d in range(8):
            nest.modes[level, OVER_TIME, d] = EVERY if dims >> d & 1 else FIRST
            nest.modes[level, OVER_CHILDREN, d] = children


@lean
def follow(
    nest: Nest,
    tensor: int,
    tile: int,
    served: int,
    multicast: Flags,
    others: int,
) -> tuple[int, int]:
    """Set ``modes`` for what a tensor's tiles of level ``tile`` ask of level ``served``.

    ``served`` is ``tile`` where no multicast on the way counts; ``multicast[L]`` are flags;
    ``others`` says which instances of ``served`` count. Returns level and dimension of the loop
    along which input tiles slide, or -1 and -1.
    """
    relevant = OUTPUT_DIMS if tensor == OUTPUTS else INPUT_DIMS
    if tensor == WEIGHTS:
        relevant = WEIGHT_DIMS
    at, sliding = -1, -1
    # a MAC asks in every step; a tile is asked for again from its innermost relevant loop on
    asks = tile < 0
    for level in range(tile + 1, nest.loops.shape[0]):
        for i in range(8):
            d = nest.loops[level, ORDER, i]
            if not asks and nest.loops[level, TEMPORAL, d] > 1 and relevant >> d & 1:
                asks = True
                if tensor == INPUTS and d >= P:
                    at, sliding = level, d
            nest.modes[level, OVER_TIME, d] = EVERY if asks else FIRST
        for d in range(8):
            mode = EVERY if relevant >> d & 1 else FIRST
            if tensor == INPUTS and d >= P:
                mode = DISTINCT
            if not multicast[level]:
                mode = EVERY
            nest.modes[level, OVER_CHILDREN, d] = others if level > served else mode
    return at, sliding


@lean
def _axis_unpadded(nest: Nest, row: int, axis: int, slide: int) -> int:
    """Rows (or columns) of the real map fetched over all tiles of one axis, without padding.

    ``slide`` as in :func:`archloom.evaluators.loopnest.data_reuse.axis_words`.
    """
    stride, dilation = nest.window[axis, STRIDE], nest.window[axis, DILATION]
    pad, size = nest.window[axis, PADDING], nest.window[axis, SIZE]
    tile_out, tile_kernel = nest.cum[row, P + axis], nest.cum[row, R + axis]
    outputs, kernels = nest.bounds[P + axis], nest.bounds[R + axis]
    total = 0
    for i in range(-(-outputs // tile_out)):
        out = min(tile_out, outputs - i * tile_out)
        for j in range(-(-kernels // tile_kernel)):
            kernel = min(tile_kernel, kernels - j * tile_kernel)
            start = i * tile_out * stride + j * tile_kernel * dilation - pad
            end = start + extent(out, kernel, stride, dilation)
            if slide == OUTPUT_LOOP and i > 0:
                start += max(0, extent(tile_out, kernel, stride, dilation) - tile_out * stride)
            if slide == KERNEL_LOOP and j > 0:
                held = extent(out, tile_kernel, stride, dilation) - tile_kernel * dilation
                start += max(0, held)
            total += max(0, min(end, size) - max(start, 0))
    return total


@compiled
def moved_unpadded(nest: Nest, tile: int) -> int:
    """Input words fetched into the level below DRAM, counting no padding.

    The imperfect form of :func:`archloom.evaluators.loopnest.data_reuse.fetched_unpadded`.
    """
    dram, row = tile + 1, tile + 1
    closed, repeat = False, 1
    slides = np.full(2, NO_LOOP)
    for i in range(8):
        d = nest.loops[dram, ORDER, i]
        if nest.loops[dram, TEMPORAL, d] == 1:
            continue
        if d == K:
            if closed:
                repeat = -(-nest.bounds[K] // nest.cum[row, K])
            continue
        if d >= P and not closed:
            slides[(d - P) & 1] = OUTPUT_LOOP if d <= Q else KERNEL_LOOP
        closed = True
    words = nest.bounds[N] * nest.bounds[G] * nest.bounds[C] * repeat
    for axis in range(2):
        words *= _axis_unpadded(nest, row, axis, slides[axis])
    return words
