"""Words that a tile holds, and words that move into it: the closed form of loop nests.

The semantics are those of Timeloop's dense model (Parashar et al., ISPASS 2019). Loops are
``loops[L, 4, 8]`` (temporal factors, x factors, y factors, order innermost first, per level
from the innermost); ``cum[L + 1, 8]`` are the extents of each level's tile below a row of
ones for a MAC; ``spread[L, 8]`` the spatial factors; ``window[2, 4]`` stride, dilation,
padding and input size of rows and columns.
"""

import numpy as np
from numpy.typing import NDArray

from ..space.dims import INPUTS, OUTPUTS, RELEVANT, WEIGHTS, C, G, K, N, P, Q, R, S
from .compiled import inlined, part

TEMPORAL, SPATIAL_X, SPATIAL_Y, ORDER = range(4)

#: bit d says whether the tensor depends on dimension d (plain ints compile to constants)
WEIGHT_DIMS, INPUT_DIMS, OUTPUT_DIMS = (
    int(sum(1 << d for d in range(8) if row[d])) for row in RELEVANT
)
Int = NDArray[np.int64]
Float = NDArray[np.float64]


@inlined
def extent(outer: int, kernel: int, stride: int, dilation: int) -> int:
    """Rows (or columns) of the bounding box of a window sweep; holes of a stride count."""
    return (kernel - 1) * dilation + (outer - 1) * stride + 1


@inlined
def tile_words(tensor: int, cum: Int, row: int, window: Int) -> int:
    """Words of the bounding box of the tile whose extents are ``cum[row]``."""
    if tensor == OUTPUTS:
        return cum[row, N] * cum[row, G] * cum[row, K] * cum[row, P] * cum[row, Q]
    if tensor == INPUTS:
        rows = extent(cum[row, P], cum[row, R], window[0, 0], window[0, 1])
        columns = extent(cum[row, Q], cum[row, S], window[1, 0], window[1, 1])
        return cum[row, N] * cum[row, G] * cum[row, C] * rows * columns
    return cum[row, G] * cum[row, K] * cum[row, C] * cum[row, R] * cum[row, S]


@part
def diagonals(a: int, step_a: int, b: int, step_b: int) -> int:
    """Distinct values of i*step_a + j*step_b for i < a and j < b."""
    if a == 1 or b == 1:
        return a * b
    x, y = step_a, step_b
    while y:
        x, y = y, x % y
    return a * b - max(0, a - step_b // x) * max(0, b - step_a // x)


@inlined
def used_children(level: int, spread: Int) -> int:
    """Children of one instance that work."""
    children = 1
    for d in range(8):
        children *= spread[level, d]
    return children


@inlined
def distinct_children(tensor: int, cum: Int, level: int, spread: Int, window: Int) -> int:
    """Children of one instance with different data: reads after multicast (or reduction).

    ``cum[level]`` are the extents of a child's tile, ``spread[level]`` the spatial factors.
    """
    if tensor == OUTPUTS:
        planes = spread[level, N] * spread[level, G] * spread[level, K]
        return planes * spread[level, P] * spread[level, Q]
    if tensor == INPUTS:
        rows = diagonals(
            spread[level, P],
            window[0, 0] * cum[level, P],
            spread[level, R],
            window[0, 1] * cum[level, R],
        )
        columns = diagonals(
            spread[level, Q],
            window[1, 0] * cum[level, Q],
            spread[level, S],
            window[1, 1] * cum[level, S],
        )
        return spread[level, N] * spread[level, G] * spread[level, C] * rows * columns
    planes = spread[level, G] * spread[level, K] * spread[level, C]
    return planes * spread[level, R] * spread[level, S]


@part
def fetched(tensor: int, level: int, loops: Int, spread: Int, cum: Int, window: Int) -> int:
    """Words that enter one instance of ``level`` over the run.

    Temporal loops above the tile, innermost first: irrelevant ones are free until the first
    relevant one, which re-fetches only what its window does not share; the rest multiply.
    """
    tile = tile_words(tensor, cum, level + 1, window)
    words = tile
    relevant = OUTPUT_DIMS if tensor == OUTPUTS else INPUT_DIMS
    if tensor == WEIGHTS:
        relevant = WEIGHT_DIMS
    closed = False
    for above in range(level + 1, loops.shape[0]):
        for i in range(8):
            d = loops[above, ORDER, i]
            n = loops[above, TEMPORAL, d]
            if n == 1:
                continue
            if closed:
                words *= n
            elif relevant >> d & 1:
                closed = True
                fresh = tile
                if tensor == INPUTS and d >= P:
                    axis = (d - P) & 1
                    per_step = window[axis, 0] if d <= Q else window[axis, 1]
                    step = cum[above, d] * spread[above, d] * per_step
                    reach = extent(
                        cum[level + 1, P + axis],
                        cum[level + 1, R + axis],
                        window[axis, 0],
                        window[axis, 1],
                    )
                    fresh = tile // reach * min(step, reach)
                words += (n - 1) * fresh
    return words


@part
def clamped_sum(start: int, step: int, count: int, size: int) -> int:
    """Sum of ``start + i * step`` for i below ``count``, each cut to lie from 0 to ``size``."""
    if count < 4:
        total = 0
        for i in range(count):
            total += max(0, min(size, start + i * step))
        return total
    # from the first that is not below 0 to the last below size they are a series
    first = min(count, max(0, -(start // step)))
    past = min(count, max(0, -((start - size) // step)))
    terms = past - first
    series = terms * (start + first * step) + terms * (terms - 1) // 2 * step
    return series + (count - past) * size


@part
def axis_words(loops: Int, cum: Int, row: int, window: Int, axis: int, slide: int) -> int:
    """Rows (or columns) of the real map fetched over all tiles of one axis, without padding.

    ``cum[row]`` is the tile and the loops of level ``row`` walk it. ``slide`` says which loop
    shares its overlap with the previous tile: 0 neither, 1 the output loop, 2 the kernel loop.
    """
    stride, dilation = window[axis, 0], window[axis, 1]
    pad, size = window[axis, 2], window[axis, 3]
    reach = extent(cum[row, P + axis], cum[row, R + axis], stride, dilation)
    step_out = cum[row, P + axis] * stride
    step_kernel = cum[row, R + axis] * dilation
    n_out, n_kernel = loops[row, TEMPORAL, P + axis], loops[row, TEMPORAL, R + axis]
    saved_out = max(0, reach - step_out) if slide == 1 else 0
    saved_kernel = max(0, reach - step_kernel) if slide == 2 else 0
    total = n_out * n_kernel * reach
    total -= (n_out - 1) * n_kernel * saved_out + (n_kernel - 1) * n_out * saved_kernel
    # tiles from the first to the last that lie inside the map fetch no padding
    inside_from = (pad + step_out - 1) // step_out
    inside_to = (size + pad - (n_kernel - 1) * step_kernel - reach) // step_out
    i = -1
    while i + 1 < n_out:
        i += 1
        if inside_from <= i <= inside_to:
            i = min(n_out - 1, inside_to)
            continue
        start = i * step_out - pad
        end = start + reach
        start += saved_out if i > 0 else 0
        total -= end - start - max(0, min(end, size) - max(start, 0))
        # the tiles of the kernel loop after its first
        start += step_kernel + saved_kernel
        end += step_kernel
        more = n_kernel - 1
        total -= more * (end - start)
        total += clamped_sum(end, step_kernel, more, size)
        total -= clamped_sum(start, step_kernel, more, size)
    return total


@part
def fetched_unpadded(level: int, loops: Int, cum: Int, window: Int) -> int:
    """Input words fetched into the level below DRAM, counting no padding.

    Zeros of the padding are made on chip. Exact for one instance that DRAM feeds alone: the
    sum over its tiles of the part that lies inside the map.
    """
    dram = level + 1
    closed = False
    slide_rows, slide_columns = 0, 0
    repeat = 1
    for i in range(8):
        d = loops[dram, ORDER, i]
        n = loops[dram, TEMPORAL, d]
        if n == 1:
            continue
        if d == K:
            if closed:
                repeat *= n
            continue
        if d < P:
            repeat *= n
        elif not closed and d in (P, R):
            slide_rows = 1 if d == P else 2
        elif not closed:
            slide_columns = 1 if d == Q else 2
        closed = True
    words = cum[dram, N] * cum[dram, G] * cum[dram, C] * repeat
    for axis in range(2):
        slide = slide_columns if axis else slide_rows
        words *= axis_words(loops, cum, dram, window, axis, slide)
    return words


@part
def tile_changes(tensor: int, level: int, loops: Int) -> int:
    """Times that one instance of ``level`` gets another tile, the first one included."""
    relevant = OUTPUT_DIMS if tensor == OUTPUTS else INPUT_DIMS
    if tensor == WEIGHTS:
        relevant = WEIGHT_DIMS
    changes = 1
    moving = False
    for above in range(level + 1, loops.shape[0]):
        for i in range(8):
            d = loops[above, ORDER, i]
            n = loops[above, TEMPORAL, d]
            moving = moving or (n > 1 and bool(relevant >> d & 1))
            if moving:
                changes *= n
    return changes
