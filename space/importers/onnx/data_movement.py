"""Translation of ONNX's operators that move values and compute none, and of reductions."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import prod
from typing import Final

import numpy as np

from .arithmetic import Translator, same
from .call import Call, wrap
from .constant_folding import reduced_axes, slices
from .value import Array, OnnxError, Value


def _dropout(call: Call) -> tuple[Value | None, ...]:
    return call.x(), None


def _reshape(call: Call) -> Value:
    return reshaped(call, call.x(), call.shape())


def reshaped(call: Call, value: Value, shape: Sequence[int]) -> Value:
    """Return a value in another shape; of several reshapes in a row only the last one counts.

    Raises:
        OnnxError: the shape has another number of elements, as when a file was exported for other
            sizes of its inputs.
    """
    if value.size != prod(shape):
        raise OnnxError(
            f"{value.shape} has {value.size} elements, {tuple(shape)} has {prod(shape)}"
        )
    before = call.maker.maker_of(value, "reshape")
    source = call.maker.value(before.inputs[0]) if before is not None else value
    return source if source.shape == tuple(shape) else call.op("reshape", [source], shape)


def transposed(call: Call, value: Value, order: Sequence[int]) -> Value:
    """Return a value with its dimensions permuted."""
    if list(order) == list(range(len(value.shape))):
        return value
    shape = [value.shape[i] for i in order]
    return call.op("transpose", [value], shape, order=tuple(order))


def _transpose(call: Call) -> Value:
    rank = len(call.x().shape)
    order = call.numbers("perm") or tuple(reversed(range(rank)))
    if sorted(order) != list(range(rank)):
        raise OnnxError(f"perm is {order}, must hold each of the {rank} dimensions once")
    return transposed(call, call.x(), order)


def _expand(call: Call) -> Value:
    value, shape = call.x(), call.shape()
    return value if value.shape == shape else call.op("expand", [value], shape)


def _tile(call: Call) -> Value:
    value, shape = call.x(), call.shape()
    if value.shape == shape:
        return value
    grown = [a for a, b in zip(value.shape, shape, strict=True) if a != b]
    return call.op("expand" if set(grown) == {1} else "copy", [value], shape)


def _concat(call: Call) -> Value:
    values = [call.x(i) for i in range(len(call.inputs))]
    # empty constants stand for states that are not there
    values = [v for v in values if not (v.constant and v.size == 0)]
    if len(values) == 1:
        return values[0]
    return call.op("concat", values, call.shape(), axis=call.axis(0, len(values[0].shape)))


def cut(call: Call, value: Value, axis: int, start: int, stop: int, step: int = 1) -> Value:
    """Return the part of a value from ``start`` to before ``stop`` along an axis."""
    count = len(range(start, stop, step))
    if step < 0:
        shape = [count if i == axis else n for i, n in enumerate(value.shape)]
        return call.op("copy", [value], shape)
    if (start, count) == (0, value.shape[axis]):
        return value
    shape = [count if i == axis else n for i, n in enumerate(value.shape)]
    return call.op("slice", [value], shape, axis=axis, start=start, stop=stop, step=step)


def _slice(call: Call) -> Value:
    found = call.x()
    for axis, start, stop, step in slices(call):
        found = cut(call, found, axis, start, stop, step)
    return found


def _split(call: Call) -> tuple[Value | None, ...]:
    value, axis = call.x(), call.axis(0)
    sizes = [call.shape(i)[axis] for i in range(len(call.outputs))]
    ends = list(accumulate(sizes))
    if ends[-1] != value.shape[axis]:
        raise OnnxError(f"pieces of {sizes} do not add up to {value.shape[axis]}")
    return tuple(
        cut(call, value, axis, end - size, end) for size, end in zip(sizes, ends, strict=True)
    )


def _gather(call: Call) -> Value:
    value, places, axis = call.x(0), call.x(1), call.axis(0)
    if not places.constant:
        return _lookup(call, value, places, axis)
    found = _run(places.read(), value.shape[axis])
    if found is None:
        return call.op("copy", [value], call.shape())
    return reshaped(call, cut(call, value, axis, *found), call.shape())


def _run(places: Array | None, length: int) -> tuple[int, int] | None:
    """Return start and stop of places that follow on each other, None for others."""
    if places is None or not places.size:
        return None
    flat = places.ravel().astype(np.int64)
    if flat.min() < -length or flat.max() >= length:
        raise OnnxError(
            f"its indices are {flat.min()} to {flat.max()}, must be within a dimension of {length}"
        )
    flat = flat % length
    if bool((np.diff(flat) != 1).any()):
        return None
    return int(flat[0]), int(flat[-1]) + 1


def _lookup(call: Call, table: Value, places: Value, axis: int) -> Value:
    if table.constant:
        if axis or len(table.shape) != 2:
            raise OnnxError("only rows of a table with two dimensions can be looked up")
        return call.op("embedding", [table, places], call.shape())
    return call.op("copy", [table], call.shape())


def _moved(call: Call) -> Value:
    return call.op("copy", [call.x()], call.shape())


def _resize(call: Call) -> Value:
    value, shape = call.x(), call.shape()
    mode = call.text("mode", "nearest")
    if mode not in ("nearest", "linear", "bilinear"):
        raise OnnxError(f"mode {mode} is not supported; supported: nearest, linear")
    if value.shape == shape:
        return value
    return call.op("resize", [value], shape, mode=mode.removeprefix("bi"))


def _depth_to_space(call: Call) -> Value:
    order = call.text("mode", "DCR")
    if order not in ("DCR", "CRD"):
        raise OnnxError(f"mode is {order!r}, must be DCR or CRD")
    block, channels = call.number("blocksize"), call.x().shape[1]
    if channels % block**2:
        raise OnnxError(f"{channels} channels cannot be split into blocks of {block} x {block}")
    return call.op("depth_to_space", [call.x()], call.shape(), block=block, order=order)


def _pad(call: Call) -> Value:
    value, rank = call.x(), len(call.x().shape)
    sides = call.list_of("pads", 1) or ()
    axes = call.known_numbers(3) if call.has(3) else tuple(range(rank))
    if len(sides) != 2 * len(axes):
        raise OnnxError(f"{len(sides)} pads, must be {2 * len(axes)}")
    start, end = [0] * rank, [0] * rank
    for i, axis in enumerate(axes):
        start[wrap(axis, rank)], end[wrap(axis, rank)] = sides[i], sides[len(axes) + i]
    for axis in range(rank):
        length = value.shape[axis]
        value = cut(call, value, axis, max(0, -start[axis]), length - max(0, -end[axis]))
    start, end = ([max(0, n) for n in side] for side in (start, end))
    if not any(start + end):
        return value
    if call.text("mode", "constant") != "constant" or _filler(call) != 0:
        return call.op("copy", [value], call.shape())
    return call.op("pad", [value], call.shape(), start=tuple(start), end=tuple(end))


def _filler(call: Call) -> float | None:
    return call.x(2).scalar if call.has(2) else call.decimal("value", 0.0)


def _mean(call: Call) -> Value:
    """Means and sums, which differ by a constant factor."""
    return _reduced("mean", call)


def _most(call: Call) -> Value:
    return _reduced("max", call)


def _reduced(kind: str, call: Call) -> Value:
    axes, value = reduced_axes(call), call.x()
    if not axes:
        return value
    return call.op(kind, [value], call.shape(), axes=axes)


def _global(kind: str, call: Call) -> Value:
    axes = tuple(range(2, len(call.x().shape)))
    return call.op(kind, [call.x()], call.shape(), axes=axes) if axes else call.x()


MOVES: Final[Mapping[str, Translator]] = {
    **dict.fromkeys(("Reshape", "Flatten", "Squeeze", "Unsqueeze"), _reshape),
    "Dropout": _dropout,
    "Transpose": _transpose,
    "Expand": _expand,
    "Tile": _tile,
    "Concat": _concat,
    "Slice": _slice,
    "Split": _split,
    "Gather": _gather,
    "Pad": _pad,
    **dict.fromkeys(("GatherND", "GatherElements", "SpaceToDepth", "ReverseSequence"), _moved),
    "Trilu": same,
    "DepthToSpace": _depth_to_space,
    **dict.fromkeys(("Resize", "Upsample"), _resize),
    **dict.fromkeys(("ReduceMean", "ReduceSum"), _mean),
    **dict.fromkeys(("ReduceMax", "ReduceMin"), _most),
    "GlobalAveragePool": lambda call: _global("mean", call),
    "GlobalMaxPool": lambda call: _global("max", call),
}
"""How each of them is translated."""
