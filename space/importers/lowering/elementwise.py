"""Lowering of elementwise operators: activations, sums and products, batch norms."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Final, Literal

from archloom.space.workload import ACTIVATIONS, Layer, Shape, activation, scale_shift

from ...errors import did_you_mean
from ..graph import Op, Tensor
from .context import Handler, Lowering
from .contiguous_view import ContiguousView, joined
from .conv_and_pool import as_map
from .draft_layer import Folds
from .feature_map import CHANNELS, COLUMNS, ROWS, BatchMismatch, CannotLower, Read, Roles
from .tensor_view import BATCH, REPEATED, Atom, Dim, NotAView, Piece, View, concat, refined

#: functions of the vector unit that graphs hold as unary operators
_UNARY: Final = {"exp": "exp", "sqrt": "sqrt", "tanh": "tanh", "sigmoid": "sigmoid"}
_OPERATORS: Final[dict[str, Literal["add", "mul", "div"]]] = {
    "add": "add",
    "sub": "add",
    "mul": "mul",
    "div": "div",
}


def _lower_activation(ctx: Lowering, op: Op) -> View:
    """Lower an activation; the layer before it may take it up.

    A PReLU with other slopes than one for each channel is a leaky ReLU that learns them.
    """
    slope = ctx.given(op, 1)
    learned = ctx.learned(slope)
    view = ctx.view(op.inputs[0])
    return _frame_by_frame(view, lambda piece: _activated(ctx, op, piece, learned))


def _frame_by_frame(view: View, lower: Callable[[View], View]) -> View:
    """Lower an operator on each piece of a map whose frames were made one by one, or on all."""
    if len(view.shape) != 5 or len(view.pieces) == 1 or view.axis != 2:
        return lower(view)
    return concat([lower(View((piece,))) for piece in view.pieces], 2)


def _activated(ctx: Lowering, op: Op, view: View, learned: tuple[Tensor, ...]) -> View:
    function = op.attributes["function"]
    if function not in ACTIVATIONS:
        raise CannotLower(
            f"function {function!r} is not supported; {did_you_mean(function, ACTIVATIONS)}"
        )
    lie = joined(ctx, view, parts=True)
    prelu = function == "prelu" and [prod(t.shape) for t in learned] == [lie.shape[0]]
    if not prelu and function == "prelu":
        function = "leaky_relu"
    layer = activation(ctx.name(), function, lie.shape[0], lie.shape[1:])
    return _emitted(
        ctx,
        layer,
        lie,
        weights=learned if prelu else (),
        extra=() if prelu else learned,
        folds="activation",
    )


def _emitted(
    ctx: Lowering,
    layer: Layer,
    lie: ContiguousView,
    *,
    weights: tuple[Tensor, ...] = (),
    extra: tuple[Tensor, ...] = (),
    folds: Folds = "",
) -> View:
    """Add a layer that makes one value of each that it reads."""
    layer = replace(layer, parts=lie.parts, operands=len(lie.reads))
    name = ctx.emit(layer, lie.reads, weights=weights, extra=extra, folds=folds)
    return ctx.made(name, lie.dims)


def _lower_unary(ctx: Lowering, op: Op) -> View:
    """Lower a function of one feature map; a change of sign is free, others make no layer."""
    function = op.attributes["function"]
    if function == "neg":
        return ctx.view(op.inputs[0])
    if function == "pow" and op.attributes.get("exponent") == 2:
        return _product(ctx, "mul", *[ctx.view(op.inputs[0])] * 2)
    if function not in _UNARY:
        raise CannotLower(
            f"function {function!r} is supported only as a part of a known norm or activation; "
            "remove it from the model, or use that norm or activation"
        )
    lie = joined(ctx, ctx.view(op.inputs[0]), parts=True)
    layer = activation(ctx.name(), _UNARY[function], *_sides(lie.shape))  # type: ignore[arg-type]
    return _emitted(ctx, layer, lie, folds="activation")


def _sides(shape: Shape) -> tuple[int, tuple[int, int]]:
    return shape[0], (shape[1], shape[2])


def _lower_batch_norm(ctx: Lowering, op: Op) -> View:
    """Lower a batch norm; the convolution or matrix product before it may take it up.

    One without learned values is a scale and shift by constants: free.
    """
    learned = ctx.learned(ctx.given(op, 1), ctx.given(op, 2))
    view = ctx.view(op.inputs[0])
    if not learned:
        return view
    if not 2 <= len(view.shape) <= 5:
        raise CannotLower(f"has {len(view.shape)} dimensions; two to five can be lowered")
    return _frame_by_frame(view, lambda piece: _scaled(ctx, piece, learned))


def _scaled(ctx: Lowering, view: View, learned: tuple[Tensor, ...]) -> View:
    ctx.maps.settle(view, as_map)
    lie = joined(ctx, view, parts=view.axis == 1)
    if not _all_channels(lie):
        lie = _turned(ctx, view)
    layer = scale_shift(ctx.name(), *_sides(lie.shape))
    return _emitted(ctx, layer, lie, weights=learned, folds="affine")


def _all_channels(lie: ContiguousView) -> bool:
    """Whether dimension 1 is what the feature map has for channels."""
    channels = [atom for dim in lie.dims for atom in dim if atom.axis == CHANNELS]
    return sorted(channels, key=_place) == sorted(lie.dims[1], key=_place)


def _turned(ctx: Lowering, view: View) -> ContiguousView:
    """Return a copy in which dimension 1 is channels, the others rows and columns."""
    roles = [BATCH, CHANNELS, ROWS, *[COLUMNS] * (len(view.shape) - 3)]
    return joined(ctx, ctx.copied(view, roles[: len(view.shape)]), parts=False)


def _place(atom: Atom) -> tuple[int, int]:
    return atom.axis, -atom.stride


def _lower_arithmetic(ctx: Lowering, op: Op) -> View:
    """Lower a sum or product: with constants free, of feature maps a layer.

    Learned values are inputs; those of one value a channel may be taken up by the layer before.
    """
    first, second = (ctx.tensor(name) for name in op.inputs)
    for this, other in ((first, second), (second, first)):
        if _is_free(ctx, op, this) and not other.constant:
            return _by_constant(ctx, op, this, other)
    shape = ctx.shape(op)
    found = (ctx.beside(first.name, second.name), ctx.beside(second.name, first.name))
    views = [ctx.expanded(view, shape) for view in found]
    constants = [tensor for tensor in (first, second) if tensor.constant]
    operator = _OPERATORS[op.kind]
    if operator == "div" and second.constant:
        operator = "mul"
    return _product(ctx, operator, *views, constants=constants)


def _is_free(ctx: Lowering, op: Op, tensor: Tensor) -> bool:
    """Whether a constant costs nothing: a scalar, one value a channel, or a mask of scores."""
    if not tensor.constant:
        return False
    if prod(tensor.shape) == 1:
        return True
    if tensor.learned:
        return False
    return sum(n > 1 for n in tensor.shape) == 1 or _makes_scores(ctx, op)


def _makes_scores(ctx: Lowering, op: Op) -> bool:
    """Whether the result goes into a softmax and nowhere else."""
    seen = 0
    while seen < 8:
        readers = ctx.readers.get(op.outputs[0], [])
        if len(readers) != 1:
            return False
        op = readers[0]
        if op.kind == "softmax":
            return True
        if op.kind not in ("identity", "reshape", "add", "sub", "expand"):
            return False
        seen += 1
    return False


def _by_constant(ctx: Lowering, op: Op, constant: Tensor, other: Tensor) -> View:
    if op.kind == "div" and op.inputs[0] == constant.name:
        raise CannotLower(
            "divides a constant by a feature map, which no layer does; multiply by an "
            "activation instead"
        )
    view = ctx.view(other.name)
    if constant.learned:
        ctx.owe(view, constant)
    return ctx.expanded(view, ctx.shape(op))


def lower_sum(ctx: Lowering, first: View, second: View, part: str) -> View:
    """Add the sum of two feature maps of one shape."""
    return _product(ctx, "add", first, second, part=part)


def _product(
    ctx: Lowering,
    operator: Literal["add", "mul", "div"],
    first: View,
    second: View,
    *,
    constants: Sequence[Tensor] = (),
    part: str = "",
) -> View:
    """Add a layer of two feature maps of one shape, whose values may be repeated."""
    swapped = _rank_as_base(ctx, second) > _rank_as_base(ctx, first)
    base, other = (second, first) if swapped else (first, second)
    lie = joined(ctx, base, parts=False)
    if lie.repeats:
        lie = joined(ctx, ctx.copied(base, ctx.roles_of(base)), parts=False)
    broadcast = operator != "div" and _by_channel(lie, other)
    read = _vector(ctx, other) if broadcast else _aligned(ctx, lie, other)
    # at a single position a feature map is one value for each channel, too
    vector = len(constants) == 1 and (broadcast or lie.shape[1:] == (1, 1))
    reads = [read, *lie.reads] if swapped and not (broadcast or vector) else [*lie.reads, read]
    layer = Layer(
        ctx.name(part),
        operator,
        g=lie.shape[0],
        p=lie.shape[1],
        q=lie.shape[2],
        input_size=lie.shape[1:],
        operands=2,
        broadcast=broadcast,
    )
    name = ctx.emit(
        layer,
        reads,
        extra=ctx.learned(*constants) if vector else (),
        folds="affine" if vector else "",
    )
    return ctx.made(name, lie.dims)


def _rank_as_base(ctx: Lowering, view: View) -> tuple[bool, bool, int]:
    """Return how well a result can lie as this operand: fully there, in one piece, a feature
    map."""
    piece = view.pieces[0]
    full = not _repeats(view)
    shape = ctx.maps[piece.source].shape
    sides = sum(n > 1 for n in shape) if shape else 0
    return full, len(view.pieces) == 1, sides


def _repeats(view: View) -> bool:
    return any(atom.axis == REPEATED for piece in view.pieces for atom in piece.atoms)


def _by_channel(lie: ContiguousView, other: View) -> bool:
    """Whether the other operand has one value for each channel, and the first more."""
    if len(other.pieces) > 1:
        return False
    try:
        pairs = _atom_pairs(lie.dims, other.pieces[0].dims)
    except NotAView:
        return False
    repeated = [one for one, two in pairs if two.axis == REPEATED and one.axis != BATCH]
    kept = [one for one, two in pairs if two.axis not in (REPEATED, BATCH)]
    return (
        bool(repeated)
        and all(one.axis in (ROWS, COLUMNS) for one in repeated)
        and all(one.axis == CHANNELS for one in kept)
        and prod(one.size for one in kept) == lie.shape[0]
    )


def _vector(ctx: Lowering, view: View) -> Read:
    """Return what is read of one value for each channel, copied if need be."""

    def choice(piece: Piece) -> Roles:
        return [atom for atom in piece.atoms if atom.axis not in (BATCH, REPEATED)], (), ()

    rank = len(view.shape)
    return ctx.take(view, choice, [BATCH, *[CHANNELS] * (rank - 1)])[1][0]


def _aligned(ctx: Lowering, lie: ContiguousView, other: View) -> Read:
    """Return what is read of an operand that shall lie as the first does, copied if need be."""
    dims = lie.dims
    if len(other.pieces) > 1 and not _repeats(other):
        other = ctx.copied(other, ctx.roles_of(other))
    if len(other.pieces) == 1:
        try:
            settled = ctx.maps.settle(other, lambda piece: _ordered(dims, piece))
            return ctx.maps.read(settled, lambda piece: _ordered(dims, piece))[0]
        except NotAView:
            pass
    moved = ctx.copied_to(other, lie.shape, dims, ctx.roles_of(other))
    return ctx.maps.read(moved, None)[0]


def _atom_pairs(one: Sequence[Dim], other: Sequence[Dim]) -> list[tuple[Atom, Atom]]:
    return [pair for this, that in refined(one, other) for pair in zip(this, that, strict=True)]


def _ordered(dims: Sequence[Dim], piece: Piece) -> Roles:
    """Return a piece's atoms as those of the first operand lie along channels, rows, columns.

    Raises:
        NotAView: dimensions without common factors.
        BatchMismatch: images in other dimensions.
    """
    pairs = _atom_pairs(dims, piece.dims)
    for one, two in pairs:
        if BATCH in (one.axis, two.axis) and {one.axis, two.axis} - {BATCH, REPEATED}:
            raise BatchMismatch(
                "combines the batch of one operand with another dimension of the other"
            )
    pairs.sort(key=lambda pair: -pair[0].stride)
    channels, rows, columns = (
        [two for one, two in pairs if one.axis == axis] for axis in (CHANNELS, ROWS, COLUMNS)
    )
    return channels, rows, columns


HANDLERS: Final[dict[str, Handler]] = {
    "activation": _lower_activation,
    "unary": _lower_unary,
    "batch_norm": _lower_batch_norm,
    **dict.fromkeys(_OPERATORS, _lower_arithmetic),
}
