"""Words that a tile holds, and words that move into it: the closed form of loop nests.

The semantics are those of Timeloop's dense model (Parashar et al., ISPASS 2019). Arrays are those
of :class:`TiledNest`, and ``window[2, 4]``: by axis (:data:`ROWS`, :data:`COLUMNS`) the
:data:`STRIDE`, :data:`DILATION`, :data:`PADDING` and input :data:`SIZE`.
"""

from typing import NamedTuple

from archloom.evaluators.jit import helper, lean
from archloom.space.workload import INPUTS, OUTPUTS, RELEVANT, WEIGHTS, C, G, K, N, P, Q, R, S

from ..arrays import Flags, Ints
from .kernel_inputs import KernelInputs, Workspace

#: rows of ``loops[level]``: factors over time, along x and y of the mesh, and the order of the
#: loops over time, innermost first
TEMPORAL, SPATIAL_X, SPATIAL_Y, ORDER = range(4)

#: axes of a map, which number the rows of ``window``
ROWS, COLUMNS = range(2)

#: columns of ``window``
STRIDE, DILATION, PADDING, SIZE = range(4)

#: axes of a mesh: columns of ``fanout[L, 2]``
X, Y = range(2)

#: the loop along an axis at which a tile keeps what it shares with the tile before: none, that
#: over outputs, or that over the kernel
NO_LOOP, OUTPUT_LOOP, KERNEL_LOOP = range(3)

#: bit d says whether the tensor depends on dimension d (plain ints compile to constants)
WEIGHT_DIMS, INPUT_DIMS, OUTPUT_DIMS = (
    int(sum(1 << d for d in range(8) if row[d])) for row in RELEVANT
)


class TiledNest(NamedTuple):
    """A mapping of L levels, from the innermost, with its tiles.

    Attributes:
        loops: int64[L, 4, 8], by :data:`TEMPORAL` and so on.
        cum: int64[L + 1, 8], extents of each level's tile, after a row of ones for a MAC.
        spread: int64[L, 8], spatial factors.
    """

    loops: Ints
    cum: Ints
    spread: Ints


@lean
def extent(outer: int, kernel: int, stride: int, dilation: int) -> int:
    """Rows (or columns) of the bounding box of a window sweep; holes of a stride count."""
    return (kernel - 1) * dilation + (outer - 1) * stride + 1


@lean
def tile_words(tensor: int, cum: Ints, row: int, window: Ints) -> int:
    """Words of the bounding box of the tile whose extents are ``cum[row]``."""
    if tensor == OUTPUTS:
        return cum[row, N] * cum[row, G] * cum[row, K] * cum[row, P] * cum[row, Q]
    if tensor == INPUTS:
        rows = extent(cum[row, P], cum[row, R], window[ROWS, STRIDE], window[ROWS, DILATION])
        columns = extent(
            cum[row, Q], cum[row, S], window[COLUMNS, STRIDE], window[COLUMNS, DILATION]
        )
        return cum[row, N] * cum[row, G] * cum[row, C] * rows * columns
    return cum[row, G] * cum[row, K] * cum[row, C] * cum[row, R] * cum[row, S]


@helper
def diagonals(a: int, step_a: int, b: int, step_b: int) -> int:
    """Distinct values of i*step_a + j*step_b for i < a and j < b."""
    if a == 1 or b == 1:
        return a * b
    x, y = step_a, step_b
    while y:
        x, y = y, x % y
    return a * b - max(0, a - step_b // x) * max(0, b - step_a // x)


@helper
def used_children(level: int, spread: Ints) -> int:
    """Children of one instance that work."""
    children = 1
    for d in range(8):
        children *= spread[level, d]
    return children


@helper
def distinct_children(tensor: int, cum: Ints, level: int, spread: Ints, window: Ints) -> int:
    """Children of one instance with different data: reads after multicast (or reduction).

    ``cum[level]`` are the extents of a child's tile, ``spread[level]`` the spatial factors.
    """
    if tensor == OUTPUTS:
        planes = spread[level, N] * spread[level, G] * spread[level, K]
        return planes * spread[level, P] * spread[level, Q]
    if tensor == INPUTS:
        rows = diagonals(
            spread[level, P],
            window[ROWS, STRIDE] * cum[level, P],
            spread[level, R],
            window[ROWS, DILATION] * cum[level, R],
        )
        columns = diagonals(
            spread[level, Q],
            window[COLUMNS, STRIDE] * cum[level, Q],
            spread[level, S],
            window[COLUMNS, DILATION] * cum[level, S],
        )
        return spread[level, N] * spread[level, G] * spread[level, C] * rows * columns
    planes = spread[level, G] * spread[level, K] * spread[level, C]
    return planes * spread[level, R] * spread[level, S]


@helper
def fetched(tensor: int, level: int, loops: Ints, spread: Ints, cum: Ints, window: Ints) -> int:
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
                    per_step = window[axis, STRIDE] if d <= Q else window[axis, DILATION]
                    step = cum[above, d] * spread[above, d] * per_step
                    reach = extent(
                        cum[level + 1, P + axis],
                        cum[level + 1, R + axis],
                        window[axis, STRIDE],
                        window[axis, DILATION],
                    )
                    fresh = tile // reach * min(step, reach)
                words += (n - 1) * fresh
    return words


@helper
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


@helper
def axis_words(loops: Ints, cum: Ints, row: int, window: Ints, axis: int, slide: int) -> int:
    """Rows (or columns) of the real map fetched over all tiles of one axis, without padding.

    ``cum[row]`` is the tile and the loops of level ``row`` walk it. ``slide`` says which loop
    shares its overlap with the previous tile: :data:`NO_LOOP`, :data:`OUTPUT_LOOP` or
    :data:`KERNEL_LOOP`.
    """
    stride, dilation = window[axis, STRIDE], window[axis, DILATION]
    pad, size = window[axis, PADDING], window[axis, SIZE]
    reach = extent(cum[row, P + axis], cum[row, R + axis], stride, dilation)
    step_out = cum[row, P + axis] * stride
    step_kernel = cum[row, R + axis] * dilation
    n_out, n_kernel = loops[row, TEMPORAL, P + axis], loops[row, TEMPORAL, R + axis]
    saved_out = max(0, reach - step_out) if slide == OUTPUT_LOOP else 0
    saved_kernel = max(0, reach - step_kernel) if slide == KERNEL_LOOP else 0
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


@helper
def fetched_unpadded(level: int, loops: Ints, cum: Ints, window: Ints) -> int:
    """Input words fetched into the level below DRAM, counting no padding.

    Zeros of the padding are made on chip. Exact for one instance that DRAM feeds alone: the
    sum over its tiles of the part that lies inside the map.
    """
    dram = level + 1
    closed = False
    slide_rows, slide_columns = NO_LOOP, NO_LOOP
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
            slide_rows = OUTPUT_LOOP if d == P else KERNEL_LOOP
        elif not closed:
            slide_columns = OUTPUT_LOOP if d == Q else KERNEL_LOOP
        closed = True
    words = cum[dram, N] * cum[dram, G] * cum[dram, C] * repeat
    for axis in range(2):
        slide = slide_rows if axis == ROWS else slide_columns
        words *= axis_words(loops, cum, dram, window, axis, slide)
    return words


@helper
def tile_changes(tensor: int, level: int, loops: Ints) -> int:
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


class Runs(NamedTuple):
    """Consecutive words of a tensor in DRAM that a tile covers.

    Attributes:
        words: of a run.
        starts: a number with as many trailing zeros in binary as the words at which runs start
            have at the least; 0 if they start where bursts do.
    """

    words: int
    starts: int


class TensorRuns(NamedTuple):
    """Runs of each tensor."""

    weights: Runs
    inputs: Runs
    outputs: Runs


@helper
def innermost_move(loops: Ints, row: int) -> int:
    """Return ``moves[row]`` of :class:`Workspace`."""
    for level in range(row, loops.shape[0]):
        for i in range(8):
            d = loops[level, ORDER, i]
            if loops[level, TEMPORAL, d] > 1 and INPUT_DIMS >> d & 1:
                return 8 * level + d
    return 0


@helper
def _row_below(keep: Flags, tensor: int) -> int:
    """Number of levels up to the outermost one inside DRAM that keeps a tensor."""
    row = keep.shape[0] - 1
    while row and not keep[row - 1, tensor]:
        row -= 1
    # so that the compiler sees that it is never below 0, here and where else there is a mask
    return row & 15


@helper
def _spread_outwards(found: Workspace, row: int, tensor: int) -> None:
    """Set ``found.outwards[tensor]``: spatial factors of level ``row`` times those further out."""
    outwards, spread = found.outwards, found.spread
    for d in range(8):
        outwards[tensor, d] = spread[row, d]
    for level in range(row + 1, spread.shape[0]):
        for d in range(8):
            outwards[tensor, d] *= spread[level, d]


@helper
def _along(runs: Runs, tile: int, size: int) -> Runs:
    """Runs of a dimension of which a tile has ``tile`` of ``size``. ``runs`` are those of the next
    dimension outwards, which join where it has all of this one: no branch, none is predictable.
    """
    if size == 1:
        return runs
    words, starts = runs.words * size, runs.starts * size
    return Runs(tile if tile < size else words, tile | size if tile < size else starts)


@helper
def _along_axis(runs: Runs, window: Ints, axis: int, outputs: int, kernel: int, fresh: int) -> Runs:
    """Runs of rows or columns of the input map, as :func:`_along`; a tile goes on by ``fresh``."""
    stride, size = window[axis, STRIDE], window[axis, SIZE]
    if size == 1:
        return runs
    reach = extent(outputs, kernel, stride, window[axis, DILATION])
    # padding shifts where a tile starts
    step = (outputs * stride) | window[axis, PADDING] | size
    words, starts = runs.words * size, runs.starts * size
    return Runs(min(reach, fresh) if reach < size else words, step if reach < size else starts)


@helper
def _fresh(setup: KernelInputs, found: Workspace, row: int) -> tuple[int, int]:
    """Rows and columns by which input tiles of level ``row - 1`` go on, 2^62 for an axis along
    which the innermost loop that moves them does not run: they share the rest with those before.
    """
    bounds, window = setup.bounds, setup.window
    rows, columns = 2**62, 2**62
    if bounds[R] * bounds[S] > 1:
        d, at = found.moves[row] & 7, (found.moves[row] >> 3) & 15
        axis = d & 1
        per_step = window[axis, STRIDE] if d <= Q else window[axis, DILATION]
        step = found.cum[at, d] * found.spread[at, d] * per_step
        rows = step if ((d == P) | (d == R)) & (bounds[R] > 1) else rows
        columns = step if ((d == Q) | (d == S)) & (bounds[S] > 1) else columns
    return rows, columns


@helper
def dram_runs(setup: KernelInputs, keep: Flags, found: Workspace, last: bool) -> TensorRuns:
    """Runs of words in DRAM that one tile of the next level which keeps the tensor covers.

    Assumption: maps lie as N, C, H, W and weights as K, C, R, S, or with channels ``last`` as
    N, H, W, C and K, R, S, C; G stands outside of channels, and no row is padded. What a tile has
    of the innermost dimension is a run; where it has all of it, runs of the next one join. Tiles
    that work at once count as one: a level's extents times the spatial factors further out.
    """
    bounds, window, used = setup.bounds, setup.window, found.used
    w, i, o = _row_below(keep, WEIGHTS), _row_below(keep, INPUTS), _row_below(keep, OUTPUTS)
    # most often only the factors of the level itself are more than 1
    for t, row in ((WEIGHTS, w), (INPUTS, i), (OUTPUTS, o)):
        if used[row] > 1:
            _spread_outwards(found, row, t)
    xw = found.outwards[WEIGHTS] if used[w] > 1 else found.spread[w]
    xi = found.outwards[INPUTS] if used[i] > 1 else found.spread[i]
    xo = found.outwards[OUTPUTS] if used[o] > 1 else found.spread[o]
    tw, ti, to = found.cum[w], found.cum[i], found.cum[o]
    rows, columns = _fresh(setup, found, i)
    weights = _along(_along(Runs(1, 0), tw[G] * xw[G], bounds[G]), tw[K] * xw[K], bounds[K])
    inputs = _along(Runs(1, 0), ti[N] * xi[N], bounds[N])
    outputs = _along(Runs(1, 0), to[N] * xo[N], bounds[N])
    if not last:
        weights = _along(weights, tw[C] * xw[C], bounds[C])
        inputs = _along(_along(inputs, ti[G] * xi[G], bounds[G]), ti[C] * xi[C], bounds[C])
        outputs = _along(_along(outputs, to[G] * xo[G], bounds[G]), to[K] * xo[K], bounds[K])
    weights = _along(_along(weights, tw[R] * xw[R], bounds[R]), tw[S] * xw[S], bounds[S])
    p, q = min(ti[P] * xi[P], bounds[P]), min(ti[Q] * xi[Q], bounds[Q])
    r, s = min(ti[R] * xi[R], bounds[R]), min(ti[S] * xi[S], bounds[S])
    inputs = _along_axis(inputs, window, ROWS, p, r, rows)
    inputs = _along_axis(inputs, window, COLUMNS, q, s, columns)
    outputs = _along(_along(outputs, to[P] * xo[P], bounds[P]), to[Q] * xo[Q], bounds[Q])
    if last:
        weights = _along(weights, tw[C] * xw[C], bounds[C])
        inputs = _along(_along(inputs, ti[G] * xi[G], bounds[G]), ti[C] * xi[C], bounds[C])
        outputs = _along(_along(outputs, to[G] * xo[G], bounds[G]), to[K] * xo[K], bounds[K])
    return TensorRuns(weights, inputs, outputs)
