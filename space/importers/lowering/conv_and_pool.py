"""Lowering of operators with sliding windows along rows and columns: convolutions, pools, means.

Those along depth too are put together of these in ``volumes.py``.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Final, Literal

from archloom.space.workload import Layer, Shape, conv_transpose2d, copy

from ..graph import Op, Tensor
from .context import Handler, Lowering
from .contiguous_view import ContiguousView, joined
from .feature_map import CHANNELS, COLUMNS, ROWS, BatchMismatch, CannotLower, Read, Roles
from .layout import laid, only_images
from .tensor_view import BATCH, Atom, Dim, Piece, View, reshape

_ROLES: Final = (BATCH, CHANNELS, ROWS, COLUMNS)
_POOLS: Final[dict[str, Literal["avgpool", "maxpool"]]] = {"mean": "avgpool", "max": "maxpool"}
Pair = tuple[int, int]


def as_map(piece: Piece) -> Roles:
    """Take dimensions behind the batch for channels, rows and columns; depth goes with the rows."""
    channels, *sides = piece.dims[1:]
    if len(sides) == 3:
        return channels, (*sides[0], *sides[1]), sides[2]
    rows, columns = (*sides, (), ())[:2]
    return channels, rows, columns


def map_roles(rank: int) -> tuple[int, ...]:
    """Return the axes of dimensions as :func:`as_map` takes them."""
    return (BATCH, CHANNELS, ROWS, ROWS, COLUMNS) if rank == 5 else _ROLES[:rank]


def _window_pair(values: tuple[int, ...], missing: int) -> Pair:
    """Return a number for rows and one for columns, of which there may be none."""
    rows, columns = (*values, missing)[:2]
    return (rows, columns)


def _read_map(ctx: Lowering, view: View) -> tuple[View, list[Read], Shape]:
    """Return a view of (batch, channels, positions), what is read, and its feature map's shape.

    Raises:
        CannotLower: it has more than two dimensions of positions.
        BatchMismatch: its first dimension is more than the batch.
    """
    rank = len(view.shape)
    if not 3 <= rank <= 4:
        found = max(0, rank - 2)
        raise CannotLower(f"has {found} spatial dimensions; one, two or three can be lowered")
    only_images(view)
    channels, rows, columns = (*view.shape[1:], 1)[:3]
    view, reads = ctx.take(view, as_map, _ROLES[:rank], parts_along=1)
    return view, reads, (channels, rows, columns)


def parts_of(reads: list[Read], positions: int) -> tuple[int, ...]:
    """Return the channels of each feature map, if there are several."""
    return tuple(read.words // positions for read in reads) if len(reads) > 1 else ()


def convolve(
    ctx: Lowering, op: Op, view: View, weight: Tensor, shape: Sequence[int], part: str = ""
) -> View:
    """Add a convolution; its bias is learned values that no loop touches.

    Args:
        ctx: gets it.
        op: whose window and bias it has.
        view: that it reads, with one or two dimensions of positions.
        weight: its kernels.
        shape: of its result.
        part: of the operator that it is.
    """
    bias = ctx.given(op, 2)
    ctx.learned(weight, bias)
    _, _, *positions = shape
    kernel = weight.shape[2:]
    starts = within_window(op, kernel)
    if starts != op.attributes["start"]:
        view = _padded(ctx, view, op)
    view, reads, (_, rows, columns) = _read_map(ctx, view)
    groups = op.attributes["groups"]
    p, q = _window_pair(tuple(positions), 1)
    r, s = _window_pair(kernel, 1)
    layer = Layer(
        ctx.name(part),
        "conv",
        g=groups,
        k=weight.shape[0] // groups,
        c=weight.shape[1],
        p=p,
        q=q,
        r=r,
        s=s,
        stride=_window_pair(op.attributes["stride"], 1),
        dilation=_window_pair(op.attributes["dilation"], 1),
        padding=_window_pair(starts, 0),
        input_size=(rows, columns),
        operands=len(reads),
        parts=parts_of(reads, rows * columns),
    )
    return _emitted(ctx, view, layer, reads, weight, bias)


def _emitted(
    ctx: Lowering,
    view: View,
    layer: Layer,
    reads: list[Read],
    weight: Tensor,
    bias: Tensor | None,
) -> View:
    name = ctx.emit(layer, reads, weights=(weight,), extra=ctx.learned(bias))
    return ctx.map(name, only_images(view), len(view.shape))


def within_window(op: Op, kernel: tuple[int, ...]) -> tuple[int, ...]:
    """Return the zeros at the start, or none at all if a window would lie in zeros alone."""
    start, dilation = op.attributes["start"], op.attributes["dilation"]
    windows = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    ends = op.attributes.get("end", start)
    if all(max(a, b) < w for a, b, w in zip(start, ends, windows, strict=True)):
        return tuple(start)
    return (0,) * len(start)


def _padded(ctx: Lowering, view: View, op: Op) -> View:
    """Return a copy with all zeros around it."""
    batch, channels, *sides = view.shape
    around = zip(sides, op.attributes["start"], op.attributes["end"], strict=True)
    rows, columns = _window_pair(tuple(n + a + b for n, a, b in around), 1)
    return grown(ctx, view, (batch, channels, rows, columns)[: len(view.shape)])


def grown(ctx: Lowering, view: View, shape: tuple[int, ...]) -> View:
    """Return a copy of a view in another shape: padded, enlarged."""
    channels, *sides = shape[1:]
    rows, columns = _window_pair((prod(sides[:-1]), sides[-1]) if len(sides) > 2 else (*sides,), 1)
    reads = ctx.around(view, map_roles(len(shape)))
    layer = copy(ctx.name("copy"), (channels, rows, columns), [read.words for read in reads])
    made = ctx.map(ctx.emit(layer, reads), only_images(view), min(len(shape), 4))
    return reshape(made, shape) if len(shape) > 4 else made


def convolve_transposed(ctx: Lowering, op: Op, view: View, weight: Tensor, part: str = "") -> View:
    """Add the convolution that does the work of a transposed one; arguments as of `convolve`."""
    bias = ctx.given(op, 2)
    ctx.learned(weight, bias)
    named = op.attributes
    view, reads, (channels, rows, columns) = _read_map(ctx, view)
    cuts = zip(named["output_padding"], named["start"], named["end"], strict=True)
    # where more is cut off at the end than at the start: its mirror image, which costs the same
    sides = [(max(start, end - extra), extra, start + end) for extra, start, end in cuts]
    padding = tuple(start for start, _, _ in sides)
    more = tuple(extra + 2 * start - both for start, extra, both in sides)
    layer = conv_transpose2d(
        ctx.name(part),
        channels,
        weight.shape[1] * named["groups"],
        (rows, columns),
        _window_pair(weight.shape[2:], 1),
        _window_pair(named["stride"], 1),
        _window_pair(padding, 0),
        _window_pair(more, 0),
        named["groups"],
        _window_pair(named["dilation"], 1),
        bias=False,
    )
    parts = parts_of(reads, rows * columns)
    layer = replace(layer, parts=parts, operands=len(reads))
    return _emitted(ctx, view, layer, reads, weight, bias)


def pool(ctx: Lowering, op: Op, view: View, shape: Sequence[int], part: str = "") -> View:
    """Add a pool; windows of one value that do not move are nothing.

    An average over the whole feature map has stride 1, whatever the node says. Arguments are as
    of :func:`convolve`.
    """
    named = op.attributes
    if all(n == 1 for n in (*named["kernel"], *named["stride"])) and not any(named["start"]):
        return view
    view, reads, (channels, rows, columns) = _read_map(ctx, view)
    _, _, *positions = shape
    p, q = _window_pair(tuple(positions), 1)
    r, s = _window_pair(named["kernel"], 1)
    whole = named["mode"] == "avg" and (r, s) == (rows, columns) and (p, q) == (1, 1)
    layer = Layer(
        ctx.name(part),
        "avgpool" if named["mode"] == "avg" else "maxpool",
        g=channels,
        p=p,
        q=q,
        r=r,
        s=s,
        stride=(1, 1) if whole else _window_pair(named["stride"], 1),
        dilation=_window_pair(named["dilation"], 1),
        padding=_window_pair(named["start"], 0),
        input_size=(rows, columns),
        operands=len(reads),
        parts=parts_of(reads, rows * columns),
    )
    return ctx.map(ctx.emit(layer, reads), only_images(view), len(view.shape))


def _lower_reduction(ctx: Lowering, op: Op) -> View:
    """Lower a mean or maximum over dimensions to a pool whose window they are."""
    view = ctx.view(op.inputs[0])
    axes = frozenset(op.attributes["axes"])
    if any(atom.axis == BATCH for p in view.pieces for i in axes for atom in p.dims[i]):
        raise BatchMismatch("reduces over the batch; every layer must work image by image")
    lie = joined(ctx, view, parts=view.axis not in axes)
    window = _inner_window(lie, axes)
    if window is None:
        return reshape(_reduced_elsewhere(ctx, op, view, axes), ctx.shape(op))
    (_, *size), taps = lie.shape, (1, *window)
    p, q = (n // k for n, k in zip(size, window, strict=True))
    layer = Layer(
        ctx.name(),
        _POOLS[op.kind],
        g=lie.shape[0],
        p=p,
        q=q,
        r=window[0],
        s=window[1],
        stride=(window[0] if p > 1 else 1, window[1] if q > 1 else 1),
        input_size=lie.shape[1:],
        operands=len(lie.reads),
        parts=lie.parts,
    )
    dims = [
        tuple(
            Atom(a.size, a.axis, a.stride // taps[a.axis - 1] if a.axis > 0 else a.stride)
            for a in dim
        )
        if i not in axes
        else ()
        for i, dim in enumerate(lie.dims)
    ]
    return reshape(ctx.made(ctx.emit(layer, lie.reads), dims), ctx.shape(op))


def _inner_window(lie: ContiguousView, axes: frozenset[int]) -> Pair | None:
    """Return rows and columns of the window that dimensions are, if they are one."""
    sides = {ROWS: 1, COLUMNS: 1}
    gone = [atom for i in axes for atom in lie.dims[i]]
    for atom in sorted(gone, key=lambda atom: atom.stride):
        if sides.get(atom.axis) != atom.stride:
            return None
        sides[atom.axis] *= atom.size
    return sides[ROWS], sides[COLUMNS]


def _reduced_elsewhere(ctx: Lowering, op: Op, view: View, axes: frozenset[int]) -> View:
    """Lower a reduction over channels, or over channels and positions: to one over rows."""
    rank = len(view.shape)
    kept = [i for i in range(rank) if i not in axes]

    def choice(piece: Piece) -> Roles:
        return _behind_batch(piece, kept), _behind_batch(piece, sorted(axes)), ()

    roles = [ROWS if i in axes else CHANNELS for i in range(rank)]
    view, reads = ctx.take(view, choice, roles)
    dims, (channels, _, _) = laid(
        [() if i in axes else dim for i, dim in enumerate(view.pieces[0].dims)], roles
    )
    length = prod(view.shape[i] for i in axes)
    layer = Layer(ctx.name(), _POOLS[op.kind], g=channels, r=length, input_size=(length, 1))
    return ctx.made(ctx.emit(layer, reads), dims)


def _behind_batch(piece: Piece, dims: Sequence[int]) -> Dim:
    return tuple(atom for i in dims for atom in piece.dims[i] if atom.axis != BATCH)


HANDLERS: Final[dict[str, Handler]] = {
    "mean": _lower_reduction,
    "max": _lower_reduction,
}
