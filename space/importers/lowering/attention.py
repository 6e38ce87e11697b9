"""Lowering of products of two feature maps, and of the attention that they make."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Final, Literal

from archloom.space.workload import matmul

from ..graph import Causal, Op, Tensor
from . import tensor_view as views
from .context import Handler, Lowering
from .elementwise import lower_sum
from .feature_map import CHANNELS, ROWS, BatchMismatch, Read, Roles
from .linear_and_norm import mask_of, product, soften
from .tensor_view import BATCH, REPEATED, Atom, Dim, NotAView, Piece, View, merged, refined, run

Pairs = list[list[tuple[Atom, Atom]]]


def _lower_matmul(ctx: Lowering, op: Op) -> View:
    """Lower a product: with a learned matrix a gemm, of two feature maps a matmul."""
    first, second = (ctx.tensor(name) for name in op.inputs)
    shape = ctx.shape(op)
    if _is_matrix(second):
        vector = len(first.shape) == 1
        view = ctx.view(first.name)
        view = views.reshape(view, (1, *first.shape)) if vector else view
        return views.reshape(product(ctx, view, second, second.shape[1]), shape)
    if _is_matrix(first) and len(second.shape) > 1:
        turned = _turned(ctx.view(second.name))
        return _turned(product(ctx, turned, first, first.shape[0]))
    one, other = ctx.view(first.name), ctx.view(second.name)
    if len(first.shape) == 1:
        one = views.reshape(one, (1, *first.shape))
    if len(second.shape) == 1:
        other = views.reshape(other, (*second.shape, 1))
    made = multiply(ctx, one, other, causal=op.attributes.get("causal"))
    return views.reshape(made, shape)


def _is_matrix(tensor: Tensor) -> bool:
    return tensor.constant and bool(tensor.learned) and len(tensor.shape) == 2


def _turned(view: View) -> View:
    """Exchange the last two dimensions."""
    rank = len(view.shape)
    return views.transpose(view, [*range(rank - 2), rank - 1, rank - 2])


def lower_attention(ctx: Lowering, op: Op) -> View:
    """Lower attention: scores, softmax, context. A constant mask is free."""
    query, key, value = (ctx.view(name) for name in op.inputs[:3])
    heads = query.shape[-3]
    key, value = (_shared(view, heads) for view in (key, value))
    queries, window = query.shape[-2], op.attributes.get("causal")

    def masked(keys: Literal["k", "c"]) -> Causal | None:
        return None if window is None else Causal(-2, queries, 1, keys, window, sure=False)

    scores = multiply(ctx, query, _turned(key), "scores", masked("k"))
    mask = ctx.given(op, 3)
    if mask is not None and (mask.learned or not mask.constant):
        wide = ctx.expanded(ctx.view(mask.name), scores.shape)
        scores = lower_sum(ctx, scores, wide, "mask")
    shares = soften(ctx, scores, len(scores.shape) - 1, "softmax", masked("k"))
    return multiply(ctx, shares, value, "context", masked("c"))


def _shared(view: View, heads: int) -> View:
    """Return keys or values with each head as often as heads of queries share it."""
    *batch, have, length, features = view.shape
    if have in (1, heads):
        return view
    wide = (*batch, have, heads // have, length, features)
    each = views.reshape(view, (*batch, have, 1, length, features))
    return views.reshape(views.expand(each, wide), (*batch, heads, length, features))


def multiply(
    ctx: Lowering, first: View, second: View, part: str = "", causal: Causal | None = None
) -> View:
    """Add a product of two feature maps over the last dimension of the first.

    Heads are what both have before their last two dimensions; where the second has one matrix
    for several of the first, these are rows of one head.
    """
    first, second = _with_one_batch(ctx, first, second)
    second, reads = _whole(ctx, second)
    if any(one.axis == REPEATED != two.axis for pair in _pairs(first, second) for one, two in pair):
        if causal or any(t.axis == REPEATED for pair in _pairs(first, second) for _, t in pair):
            first = ctx.copied(first, ctx.roles_of(first))
        else:
            return _turned(multiply(ctx, _turned(second), _turned(first), part))
    outer = len(first.pieces[0].dims[-2]) if causal else 0
    first, taken = ctx.take(
        first, lambda piece: _as_rows(piece, second, outer), _spread_roles(first)
    )
    pairs = _pairs(first, second)
    *_, m, k = first.shape
    n = second.shape[-1]
    heads, shared = (
        prod(one.size for pair in pairs for one, two in pair if _kind(one, two) == kind)
        for kind in ("head", "shared")
    )
    pieces = tuple(read.words for read in reads) if len(reads) > 1 else ()
    layer = matmul(ctx.name(part), heads, shared * m, k, n, second=pieces)
    if causal:
        rows = _rows(first.pieces[0], [pair for dim in pairs for pair in dim])
        inner = first.pieces[0].dims[-2]
        strides = _row_strides(rows, outer)[len(rows) - len(inner) :]
        layer = replace(layer, mask=mask_of(causal, inner, strides, layer.p))
    dims = _result_dims(first.pieces[0], pairs, n, outer)
    return ctx.made(ctx.emit(layer, [*taken, *reads]), dims)


def _with_one_batch(ctx: Lowering, first: View, second: View) -> tuple[View, View]:
    """Broadcast all dimensions but the last two of both."""
    rank = max(len(first.shape), len(second.shape)) - 2
    batches = [(1,) * (rank + 2 - len(v.shape)) + v.shape[:-2] for v in (first, second)]
    batch = tuple(max(pair) for pair in zip(*batches, strict=True))
    one, other = (
        ctx.expanded(_whole_heads(ctx, v), (*batch, *v.shape[-2:])) for v in (first, second)
    )
    return one, other


def _whole_heads(ctx: Lowering, view: View) -> View:
    """Return a view whose pieces, if there are several, hold all heads each."""
    if len(view.pieces) > 1 and view.axis < len(view.shape) - 2:
        return ctx.copied(view, ctx.roles_of(view))
    return view


def _whole(ctx: Lowering, view: View) -> tuple[View, list[Read]]:
    """Return the second feature map and what is read of it, in any order, copied if need be."""
    roles = _spread_roles(view)
    settled = ctx.maps.settle(view, lambda piece: _outer_roles(piece, roles))
    try:
        if any(a.axis == REPEATED for p in view.pieces for dim in p.dims[-2:] for a in dim):
            raise NotAView
        return settled, ctx.maps.read(settled, None)
    except NotAView:
        moved = ctx.copied(view, ctx.roles_of(settled))
        return moved, ctx.maps.read(moved, None)


def _outer_roles(piece: Piece, roles: Sequence[int]) -> Roles:
    found: dict[int, list[Atom]] = {CHANNELS: [], ROWS: []}
    for dim, axis in zip(piece.dims, roles, strict=True):
        found[axis] += [atom for atom in dim if atom.axis not in (BATCH, REPEATED)]
    return found[CHANNELS], found[ROWS], ()


def _spread_roles(view: View) -> list[int]:
    """Return where dimensions lie in a copy: heads and features are channels."""
    return [*[CHANNELS] * (len(view.shape) - 2), ROWS, CHANNELS]


def _pairs(first: View | Piece, second: View) -> Pairs:
    """Return for each dimension before the last two the atoms of both feature maps.

    Raises:
        BatchMismatch: images of one stand beside heads of the other.
        NotAView: no common factors.
    """
    one = first if isinstance(first, Piece) else first.pieces[0]
    other = second.pieces[0]
    each = [list(zip(*pair, strict=True)) for pair in refined(one.dims[:-2], other.dims[:-2])]
    for pair in each:
        for a, b in pair:
            if BATCH in (a.axis, b.axis) and {a.axis, b.axis} - {BATCH, REPEATED}:
                raise BatchMismatch(
                    "multiplies the batch of one operand with another dimension of the "
                    "other; only products image by image can be lowered"
                )
    return each


def _kind(one: Atom, two: Atom) -> str:
    if BATCH in (one.axis, two.axis):
        return "image"
    return "shared" if two.axis == REPEATED else "head"


def _as_rows(piece: Piece, second: View, outer: int) -> Roles:
    """Take heads and the last dimension for channels, what shares a head and rows for rows."""
    pairs = [pair for dim in _pairs(piece, second) for pair in dim]
    heads = [one for one, two in pairs if _kind(one, two) == "head"]
    for dim in piece.dims[-2:]:
        if any(atom.axis == BATCH for atom in dim):
            raise BatchMismatch("sums over the batch; only products image by image can be lowered")
    rows = _rows(piece, pairs)
    return [*heads, *piece.dims[-1]], [rows[i] for i in _as_they_lie(rows, outer)], ()


def _rows(piece: Piece, pairs: Sequence[tuple[Atom, Atom]]) -> list[Atom]:
    """Return what makes the rows of a product: what shares a head, and rows."""
    shared = [one for one, two in pairs if _kind(one, two) == "shared"]
    return [*shared, *piece.dims[-2]]


def _as_they_lie(rows: Sequence[Atom], outer: int) -> list[int]:
    """Return the order of rows, from the outermost; any will do, so it is that of the map.

    The last ``outer`` of them, queries of a mask, come first: rows of a query lie side by side.
    """
    order = list(range(len(rows)))
    if all(atom.axis == ROWS for atom in rows):
        order.sort(key=lambda i: -rows[i].stride)
    if outer:
        order.sort(key=lambda i: i < len(rows) - outer)
    return order


def _row_strides(rows: Sequence[Atom], outer: int) -> list[int]:
    """Return how far apart in the rows of a product neighbours along each of them are."""
    strides, stride = [0] * len(rows), 1
    for i in reversed(_as_they_lie(rows, outer)):
        strides[i] = stride
        stride *= rows[i].size
    return strides


def _result_dims(piece: Piece, pairs: Pairs, n: int, outer: int) -> list[Dim]:
    """Return dimensions of the result: (heads, n) are its channels, (shared, m) its rows."""
    rows = _rows(piece, [pair for dim in pairs for pair in dim])
    strides = _row_strides(rows, outer)
    made = iter(Atom(row.size, ROWS, step) for row, step in zip(rows, strides, strict=True))
    channels = n * prod(one.size for d in pairs for one, two in d if _kind(one, two) == "head")
    dims: list[Dim] = []
    for dim in pairs:
        atoms = []
        for one, two in dim:
            kind = _kind(one, two)
            if kind == "head":
                channels //= one.size
                atoms.append(Atom(one.size, CHANNELS, channels))
            else:
                atoms.append(Atom(one.size, BATCH, 1) if kind == "image" else next(made))
        dims.append(merged(atoms))
    return [*dims, merged(list(made)), run(n, CHANNELS)]


HANDLERS: Final[dict[str, Handler]] = {"matmul": _lower_matmul, "attention": lower_attention}
