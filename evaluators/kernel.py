"""The closed-form loop-nest model as one compiled kernel.

A candidate mapping is an int64 array ``loops[L, 4, 8]`` (temporal factors, x factors,
y factors, loop order innermost first, per level from the innermost) and a uint8 array
``keep[L, 3]``. The semantics are those of Timeloop's dense model (Parashar et al., ISPASS
2019), in closed form: bounding-box tiles, stationary runs, sliding windows, multicast and
spatial reduction, bypass, first-touch elision of partial sums. No fill or drain latency.

Energy and cycles of search and the counts of reports come from the same code.
"""

from typing import Final, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..space.dims import INPUTS, OUTPUTS, RELEVANT, WEIGHTS, C, G, K, N, P, Q, R, S

TEMPORAL, SPATIAL_X, SPATIAL_Y, ORDER = range(4)
READS, FILLS, UPDATES = range(3)

#: most storage levels that the scratch space of the kernel is laid out for
MAX_LEVELS: Final = 8

#: status of a candidate: valid, or the rule it breaks
VALID, OVER_CAPACITY, OVER_FANOUT = range(3)

#: bit d says whether the tensor depends on dimension d (plain ints compile to constants)
_WEIGHT_DIMS, _INPUT_DIMS, _OUTPUT_DIMS = (
    int(sum(1 << d for d in range(8) if row[d])) for row in RELEVANT
)
Int = NDArray[np.int64]
Float = NDArray[np.float64]


class Setup(NamedTuple):
    """Everything about a problem that does not depend on the candidate.

    L levels, 3 tensors, 8 dimensions. ``window`` is (stride, dilation, padding, input size)
    for rows, then columns. ``top[t]`` is the outermost level that takes part for the tensor:
    DRAM, or the buffer for an operand that lives there whole. ``capacity[L, 3]`` holds the
    words of private buffers, ``shared[L]`` those of shared ones (-1 where there is no limit).
    ``weights`` are the exponents of energy and of latency in the objective.
    """

    bounds: Int
    window: Int
    allowed: NDArray[np.uint8]
    optional: NDArray[np.uint8]
    fanout: Int
    spatial: NDArray[np.uint8]
    shared: Int
    capacity: Int
    top: Int
    staged: NDArray[np.uint8]
    read_pj: Float
    write_pj: Float
    width: Int
    bandwidth: Float
    mac_pj: float
    leakage_pj: float
    weights: Float


@njit(cache=True, error_model="numpy", inline="always")
def _extent(outer: int, kernel: int, stride: int, dilation: int) -> int:
    # bounding box of a window sweep; holes of a strided sweep count (cost model, semantics)
    return (kernel - 1) * dilation + (outer - 1) * stride + 1


@njit(cache=True, error_model="numpy", inline="always")
def _tile_words(tensor: int, cum: Int, row: int, window: Int) -> int:
    """Words of the bounding box of the tile whose extents are ``cum[row]``."""
    if tensor == OUTPUTS:
        return cum[row, N] * cum[row, G] * cum[row, K] * cum[row, P] * cum[row, Q]
    if tensor == INPUTS:
        rows = _extent(cum[row, P], cum[row, R], window[0, 0], window[0, 1])
        columns = _extent(cum[row, Q], cum[row, S], window[1, 0], window[1, 1])
        return cum[row, N] * cum[row, G] * cum[row, C] * rows * columns
    return cum[row, G] * cum[row, K] * cum[row, C] * cum[row, R] * cum[row, S]


@njit(cache=True, error_model="numpy")
def _diagonals(a: int, step_a: int, b: int, step_b: int) -> int:
    """Distinct values of i*step_a + j*step_b for i < a and j < b."""
    if a == 1 or b == 1:
        return a * b
    x, y = step_a, step_b
    while y:
        x, y = y, x % y
    return a * b - max(0, a - step_b // x) * max(0, b - step_a // x)


@njit(cache=True, error_model="numpy", inline="always")
def _distinct(tensor: int, cum: Int, level: int, spread: Int, window: Int) -> int:
    """Children of one instance with different data: reads after multicast (or reduction).

    ``cum[level]`` are the extents of a child's tile, ``spread[level]`` the spatial factors.
    """
    if tensor == OUTPUTS:
        planes = spread[level, N] * spread[level, G] * spread[level, K]
        return planes * spread[level, P] * spread[level, Q]
    if tensor == INPUTS:
        rows = _diagonals(
            spread[level, P],
            window[0, 0] * cum[level, P],
            spread[level, R],
            window[0, 1] * cum[level, R],
        )
        columns = _diagonals(
            spread[level, Q],
            window[1, 0] * cum[level, Q],
            spread[level, S],
            window[1, 1] * cum[level, S],
        )
        return spread[level, N] * spread[level, G] * spread[level, C] * rows * columns
    planes = spread[level, G] * spread[level, K] * spread[level, C]
    return planes * spread[level, R] * spread[level, S]


@njit(cache=True, error_model="numpy")
def _fetched(tensor: int, level: int, loops: Int, spread: Int, cum: Int, window: Int) -> int:
    """Words that enter one instance of ``level`` over the run.

    Temporal loops above the tile, innermost first: irrelevant ones are free until the first
    relevant one, which re-fetches only what its window does not share; the rest multiply.
    """
    tile = _tile_words(tensor, cum, level + 1, window)
    words = tile
    relevant = _OUTPUT_DIMS if tensor == OUTPUTS else _INPUT_DIMS
    if tensor == WEIGHTS:
        relevant = _WEIGHT_DIMS
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
                    extent = _extent(
                        cum[level + 1, P + axis],
                        cum[level + 1, R + axis],
                        window[axis, 0],
                        window[axis, 1],
                    )
                    fresh = tile // extent * min(step, extent)
                words += (n - 1) * fresh
    return words


@njit(cache=True, error_model="numpy")
def _axis_words(loops: Int, cum: Int, row: int, window: Int, axis: int, slide: int) -> int:
    """Rows (or columns) of the real map fetched over all tiles of one axis, without padding.

    ``cum[row]`` is the tile and the loops of level ``row`` walk it. ``slide`` says which loop
    shares its overlap with the previous tile: 0 neither, 1 the output loop, 2 the kernel loop.
    """
    stride, dilation = window[axis, 0], window[axis, 1]
    pad, size = window[axis, 2], window[axis, 3]
    extent = _extent(cum[row, P + axis], cum[row, R + axis], stride, dilation)
    step_out = cum[row, P + axis] * stride
    step_kernel = cum[row, R + axis] * dilation
    n_out, n_kernel = loops[row, TEMPORAL, P + axis], loops[row, TEMPORAL, R + axis]
    saved_out = max(0, extent - step_out) if slide == 1 else 0
    saved_kernel = max(0, extent - step_kernel) if slide == 2 else 0
    total = n_out * n_kernel * extent
    total -= (n_out - 1) * n_kernel * saved_out + (n_kernel - 1) * n_out * saved_kernel
    for i in range(n_out):
        first = i * step_out - pad
        if first >= 0 and first + (n_kernel - 1) * step_kernel + extent <= size:
            continue
        for j in range(n_kernel):
            start = first + j * step_kernel
            end = start + extent
            start += saved_out if i > 0 else 0
            start += saved_kernel if j > 0 else 0
            total -= end - start - max(0, min(end, size) - max(start, 0))
    return total


@njit(cache=True, error_model="numpy")
def _fetched_unpadded(level: int, loops: Int, cum: Int, window: Int) -> int:
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
    row = level + 1
    rows = _axis_words(loops, cum, row, window, 0, slide_rows)
    columns = _axis_words(loops, cum, row, window, 1, slide_columns)
    return cum[row, N] * cum[row, G] * cum[row, C] * rows * columns * repeat


@njit(cache=True, error_model="numpy")
def _fits(setup: Setup, loops: Int, keep: NDArray[np.uint8], cum: Int) -> int:
    """Status of a candidate: mesh and capacity."""
    for level in range(loops.shape[0]):
        x, y = 1, 1
        for d in range(8):
            x *= loops[level, SPATIAL_X, d]
            y *= loops[level, SPATIAL_Y, d]
        if x > setup.fanout[level, 0] or y > setup.fanout[level, 1]:
            return OVER_FANOUT
        used = 0
        for t in range(3):
            top = setup.top[t]
            # an operand that lives in the buffer whole was paid for by its fusion group
            if keep[level, t] and (level < top or (level == top and not setup.staged[t])):
                words = _tile_words(t, cum, level + 1, setup.window)
                used += words
                if setup.capacity[level, t] >= 0 and words > setup.capacity[level, t]:
                    return OVER_CAPACITY
        if setup.shared[level] >= 0 and used > setup.shared[level]:
            return OVER_CAPACITY
    return VALID


@njit(cache=True, error_model="numpy")
def _extents(loops: Int, spread: Int, cum: Int) -> int:
    """Fill tile extents and spatial factors; return the product of all temporal factors."""
    steps = 1
    for d in range(8):
        cum[0, d] = 1
    for level in range(loops.shape[0]):
        for d in range(8):
            here = loops[level, TEMPORAL, d]
            steps *= here
            spread[level, d] = loops[level, SPATIAL_X, d] * loops[level, SPATIAL_Y, d]
            cum[level + 1, d] = cum[level, d] * here * spread[level, d]
    return steps


@njit(cache=True, error_model="numpy", inline="always")
def _accesses(words: int, width: int) -> int:
    return words if width == 1 else (words + width - 1) // width


@njit(cache=True, error_model="numpy")
def _count(
    setup: Setup,
    loops: Int,
    keep: NDArray[np.uint8],
    steps: int,
    cum: Int,
    spread: Int,
    asked: Int,
    counts: Int,
) -> None:
    """Fill ``counts``; ``asked[3]`` starts as what the MACs ask for and moves outwards."""
    levels = loops.shape[0]
    # fields are read once: each access of a tuple field costs reference counting
    window, top, fanout = setup.window, setup.top, setup.fanout
    alone = fanout[levels - 1, 0] * fanout[levels - 1, 1] == 1
    # a MAC reads its operands and updates its result every cycle
    for t in range(3):
        asked[t] = steps
    counts[:] = 0
    for level in range(levels):
        for t in range(3):
            if level > top[t]:
                continue
            content = asked[t] * _distinct(t, cum, level, spread, window)
            asked[t] = content
            if not keep[level, t]:
                continue
            enters = 0
            if level < top[t]:
                if t == INPUTS and level == levels - 2 and alone:
                    enters = _fetched_unpadded(level, loops, cum, window)
                else:
                    enters = _fetched(t, level, loops, spread, cum, window)
            asked[t] = enters
            counts[level, t, READS] = content
            counts[level, t, FILLS] = enters
            if t == OUTPUTS:
                # the first touch of a partial sum neither reads it nor fetches it from above
                part = _owned(level, loops, cum, window)
                counts[level, t, UPDATES] = content
                counts[level, t, READS] = content - part
                counts[level, t, FILLS] = max(0, enters - part)


@njit(cache=True, error_model="numpy")
def _owned(level: int, loops: Int, cum: Int, window: Int) -> int:
    """Output words that one instance ever owns: its tile, times the loops that move it."""
    words = _tile_words(OUTPUTS, cum, level + 1, window)
    for above in range(level + 1, loops.shape[0]):
        for d in range(8):
            if _OUTPUT_DIMS >> d & 1:
                words *= loops[above, TEMPORAL, d]
    return words


@njit(cache=True, error_model="numpy")
def _price(setup: Setup, counts: Int, used: Int) -> tuple[float, float, float]:
    """Energy of all counted words, and cycles that on-chip levels and DRAM need for them."""
    levels = counts.shape[0]
    width, bandwidth = setup.width, setup.bandwidth
    read_pj, write_pj = setup.read_pj, setup.write_pj
    energy, chip, dram = 0.0, 0.0, 0.0
    for level in range(levels):
        words = 0
        w = width[level]
        for t in range(3):
            reads, fills = counts[level, t, READS], counts[level, t, FILLS]
            updates = counts[level, t, UPDATES]
            words += reads + fills + updates
            # whole vector accesses of every used instance (Timeloop's energy reference table)
            energy += used[level] * (
                _accesses(reads, w) * read_pj[level, t]
                + (_accesses(fills, w) + _accesses(updates, w)) * write_pj[level, t]
            )
        # a level that moves more words than its ports allow stretches the run (Timeloop)
        cycles = np.ceil(words / bandwidth[level])
        if level == levels - 1:
            dram = cycles
        else:
            chip = max(chip, cycles)
    return energy, chip, dram


@njit(cache=True, error_model="numpy")
def evaluate_one(
    setup: Setup, loops: Int, keep: NDArray[np.uint8], counts: Int, used: Int, scratch: Int
) -> tuple[int, float, float, float]:
    """Evaluate one candidate.

    Fills ``counts[L, 3, 3]`` (reads, fills, updates of each tensor in one used instance)
    and ``used[L]`` (instances in use); ``scratch[2 L + 2, 8]`` is overwritten. Returns its
    status, the dynamic energy in pJ, the cycles of everything on chip and the cycles of DRAM;
    the layer takes the larger of the two.
    """
    levels = loops.shape[0]
    cum, spread = scratch[: levels + 1], scratch[levels + 1 : 2 * levels + 1]
    asked = scratch[2 * levels + 1]
    steps = _extents(loops, spread, cum)
    status = _fits(setup, loops, keep, cum)
    if status != VALID:
        return status, np.inf, np.inf, np.inf
    instances = 1
    for level in range(levels - 1, -1, -1):
        used[level] = instances
        for d in range(8):
            instances *= spread[level, d]
    _count(setup, loops, keep, steps, cum, spread, asked, counts)
    energy, chip, dram = _price(setup, counts, used)
    macs = 1.0
    for d in range(8):
        macs *= setup.bounds[d]
    return VALID, energy + macs * setup.mac_pj, max(chip, float(steps)), dram


@njit(cache=True, error_model="numpy")
def evaluate_batch(
    setup: Setup, loops: Int, keep: NDArray[np.uint8]
) -> tuple[NDArray[np.int8], Float, Float, Float]:
    """Evaluate ``loops[B, L, 4, 8]`` with ``keep[B, L, 3]``.

    Returns status, energy_pj, on-chip cycles and DRAM cycles, each of shape [B].
    """
    batch, levels = loops.shape[0], loops.shape[1]
    counts = np.empty((levels, 3, 3), np.int64)
    used = np.empty(levels, np.int64)
    scratch = np.empty((2 * levels + 2, 8), np.int64)
    status = np.empty(batch, np.int8)
    energy = np.empty(batch)
    chip = np.empty(batch)
    dram = np.empty(batch)
    for i in range(batch):
        status[i], energy[i], chip[i], dram[i] = evaluate_one(
            setup, loops[i], keep[i], counts, used, scratch
        )
    return status, energy, chip, dram
