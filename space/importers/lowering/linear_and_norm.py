"""Lowering of operators on the features of each position: matrix products, norms, softmax."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Final

from archloom.space.workload import (
    Layer,
    Mask,
    group_norm,
    layer_norm,
    rms_norm,
    rotary,
    softmax,
)

from ..graph import Causal, Op, Tensor
from .context import Handler, Lowering
from .contiguous_view import joined
from .conv_and_pool import as_map, map_roles
from .feature_map import CHANNELS, ROWS, BatchMismatch, CannotLower, Read, Roles
from .layout import laid, only_images
from .tensor_view import BATCH, Atom, Dim, Piece, View, merged


def positions(piece: Piece, features: Sequence[int]) -> list[Atom]:
    """Return the atoms, in the feature map, of all dimensions but ``features`` and the batch."""
    atoms = [
        atom
        for i, dim in enumerate(piece.dims)
        if i not in features
        for atom in dim
        if atom.axis != BATCH
    ]
    return sorted(atoms, key=lambda atom: (atom.axis, -atom.stride))


def _by_position(features: Sequence[int], piece: Piece) -> Roles:
    """Take dimensions ``features`` for channels and all others for rows."""
    channels = [atom for i in features for atom in piece.dims[i]]
    return channels, positions(piece, features), ()


def spread(piece: Piece, features: Sequence[int], sizes: Sequence[int]) -> tuple[Dim, ...]:
    """Return the dimensions of a result with ``sizes`` of features at the same positions."""
    rows: dict[Atom, Atom] = {}
    stride = 1
    for atom in reversed(positions(piece, features)):
        rows[atom] = Atom(atom.size, ROWS, stride)
        stride *= atom.size
    channels = laid(
        [(Atom(count, CHANNELS, 1),) if count > 1 else () for count in sizes],
        [CHANNELS] * len(sizes),
    )[0]
    made = dict(zip(features, channels, strict=True))
    return tuple(
        made[i] if i in made else merged([rows.get(atom, atom) for atom in dim])
        for i, dim in enumerate(piece.dims)
    )


def read_vectors(
    ctx: Lowering, view: View, features: Sequence[int], *, parts: bool = False
) -> tuple[Piece, list[Read], int, int]:
    """Return a piece, what is read, the length of a vector, and the number of positions."""
    rank = len(view.shape)
    roles = [CHANNELS if i in features else ROWS for i in range(rank)]
    if any(atom.axis == BATCH for piece in view.pieces for i in features for atom in piece.dims[i]):
        raise BatchMismatch("works on vectors of which each image holds a part")
    view, reads = ctx.take(
        view,
        lambda piece: _by_position(features, piece),
        roles,
        parts_along=features[0] if parts and len(features) == 1 else None,
    )
    piece = view.pieces[0]
    length = prod(view.shape[i] for i in features)
    return piece, reads, length, prod(atom.size for atom in positions(piece, features))


def _lower_linear(ctx: Lowering, op: Op) -> View:
    """Lower a matrix product with learned weights, the same at every position."""
    weight, bias = ctx.tensor(op.inputs[1]), ctx.given(op, 2)
    ctx.learned(weight, bias)
    view = ctx.view(op.inputs[0])
    return product(ctx, view, weight, weight.shape[0], ctx.learned(bias))


def product(
    ctx: Lowering, view: View, weight: Tensor, outputs: int, extra: tuple[Tensor, ...] = ()
) -> View:
    """Add a gemm over the last dimension of a view."""
    last = len(view.shape) - 1
    piece, reads, inputs, count = read_vectors(ctx, view, [last], parts=True)
    layer = Layer(
        ctx.name(),
        "gemm",
        k=outputs,
        c=inputs,
        p=count,
        input_size=(count, 1),
        operands=len(reads),
        parts=tuple(read.words // count for read in reads) if len(reads) > 1 else (),
    )
    name = ctx.emit(layer, reads, weights=(weight,), extra=extra)
    return ctx.made(name, spread(piece, [last], [outputs]))


def _lower_norm(ctx: Lowering, op: Op) -> View:
    """Lower a norm over the last dimensions, whose learned values are those it has."""
    learned = ctx.learned(ctx.given(op, 1), ctx.given(op, 2))
    view = ctx.view(op.inputs[0])
    rank = len(view.shape)
    features = list(range(rank - op.attributes["dimensions"], rank))
    piece, reads, length, count = read_vectors(ctx, view, features)
    usual = layer_norm if op.kind == "layer_norm" else rms_norm
    layer = usual(ctx.name(), length, count)
    whole = sum(prod(tensor.shape) for tensor in learned) == layer.weight_words
    if not whole:
        # with other learned values than that norm has: the one that counts its own
        layer = replace(layer, operator="group_norm")
    name = ctx.emit(layer, reads, weights=learned if whole else (), extra=() if whole else learned)
    sizes = [view.shape[i] for i in features]
    return ctx.made(name, spread(piece, features, sizes))


def _lower_group_norm(ctx: Lowering, op: Op) -> View:
    """Lower a norm over the channels of each group and all positions."""
    learned = ctx.learned(ctx.given(op, 1), ctx.given(op, 2))
    view = ctx.view(op.inputs[0])
    if not 2 <= len(view.shape) <= 5:
        raise CannotLower(f"has {len(view.shape)} dimensions; two to five can be lowered")
    images = only_images(view)
    view, reads = ctx.take(view, as_map, map_roles(len(view.shape)))
    channels, *size = view.shape[1:]
    sides = (prod(size[:-1]), size[-1]) if len(size) > 1 else (prod(size), 1)
    layer = group_norm(ctx.name(), channels, sides, op.attributes["groups"], learned=False)
    name = ctx.emit(layer, reads, extra=learned)
    # the result is a list of words, of which each group takes its share
    dims, _ = laid([images, *view.pieces[0].dims[1:]], [CHANNELS] * len(view.shape))
    return ctx.made(name, dims)


def _lower_softmax(ctx: Lowering, op: Op) -> View:
    """Lower a softmax: over the channels of each head, or over any other dimension."""
    causal = op.attributes.get("causal")
    return soften(ctx, ctx.view(op.inputs[0]), op.attributes["axis"], causal=causal)


def soften(
    ctx: Lowering, view: View, axis: int, part: str = "", causal: Causal | None = None
) -> View:
    """Add a softmax along one dimension of a view."""
    if any(atom.axis == BATCH for piece in view.pieces for atom in piece.dims[axis]):
        raise BatchMismatch("works on vectors of which each image holds a part")
    rank = len(view.shape)
    settled = ctx.maps.settle(view, lambda piece: _by_position([axis], piece))
    inside = all(a.axis == CHANNELS for piece in settled.pieces for a in piece.dims[axis])

    def choice(piece: Piece) -> Roles:
        others = positions(piece, [axis])
        heads = [atom for atom in others if inside and atom.axis == CHANNELS]
        rows = [atom for atom in others if atom not in heads]
        return [*heads, *piece.dims[axis]], rows, ()

    roles = [CHANNELS if i == axis else ROWS for i in range(rank)]
    view, reads = ctx.take(view, choice, roles)
    piece = view.pieces[0]
    channels, rows, _ = choice(piece)
    length = view.shape[axis]
    heads = prod(atom.size for atom in channels) // length
    layer = softmax(ctx.name(part), length, prod(atom.size for atom in rows), heads)
    made = _renumbered(piece, channels, rows)
    if causal:
        queries = made[causal.dimension]
        if all(atom.axis == ROWS for atom in queries):
            strides = [atom.stride for atom in queries]
            layer = replace(layer, mask=mask_of(causal, queries, strides, layer.p))
        elif causal.sure:
            raise CannotLower("has queries along its channels; a causal mask needs them along rows")
    return ctx.made(ctx.emit(layer, reads), made)


def mask_of(causal: Causal, dim: Sequence[Atom], strides: Sequence[int], rows: int) -> Mask | None:
    """Return the mask of a layer with so many rows; none if it need not be used and does not fit.

    Args:
        causal: as of the operator.
        dim: of the dimension along which its queries lie.
        strides: of its atoms in the rows of the layer.
        rows: of the layer.

    Raises:
        CannotLower: rows that do not lie query by query.
    """
    each, size = rows // causal.queries, 1
    for atom, stride in zip(reversed(dim), reversed(strides), strict=True):
        low, high = max(size, causal.inside), min(size * atom.size, causal.inside * causal.queries)
        if low < high and stride * (low // size) != low // causal.inside * each:
            if not causal.sure:
                return None
            raise CannotLower(
                "has rows that do not lie query by query, as a causal mask needs them; let queries "
                "stand before other rows"
            )
        size *= atom.size
    return Mask(causal.keys, each, causal.window)


def _renumbered(piece: Piece, channels: Sequence[Atom], rows: Sequence[Atom]) -> tuple[Dim, ...]:
    """Return a piece's dimensions in a feature map of these channels and rows."""
    new: dict[Atom, Atom] = {}
    for axis, atoms in ((CHANNELS, channels), (ROWS, rows)):
        stride = 1
        for atom in reversed(atoms):
            new[atom] = Atom(atom.size, axis, stride)
            stride *= atom.size
    return tuple(merged([new.get(atom, atom) for atom in dim]) for dim in piece.dims)


def _lower_rotary(ctx: Lowering, op: Op) -> View:
    """Lower a rotary position embedding, over all heads at once where they lie side by side."""
    lie = joined(ctx, ctx.view(op.inputs[0]), parts=False)
    channels, rows, columns = lie.shape
    layer = rotary(ctx.name(), channels, rows * columns)
    if columns > 1:
        raise CannotLower(
            "rotates features along rows and columns; positions must be one dimension"
        )
    return ctx.made(ctx.emit(layer, lie.reads), lie.dims)


HANDLERS: Final[dict[str, Handler]] = {
    "linear": _lower_linear,
    "layer_norm": _lower_norm,
    "rms_norm": _lower_norm,
    "group_norm": _lower_group_norm,
    "softmax": _lower_softmax,
    "rotary": _lower_rotary,
}
