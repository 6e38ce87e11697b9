"""Translation of PyTorch's operators that move values and compute none."""

from collections.abc import Callable
from typing import Final

from ..graph import Tensor
from .call import Call, Result, Unsupported

Rule = Callable[[Call], Result]


def _identity(call: Call) -> Result:
    read = next(value for value in call.arguments.values() if isinstance(value, Tensor))
    return call.emit("identity", [read])


def _reshape(call: Call) -> Result:
    return call.emit("reshape", [call["self"]])


def _expand(call: Call) -> Result:
    return call.emit("expand", [call["self"]])


def _permute(call: Call) -> Result:
    rank = len(call["self"].shape)
    return call.emit("transpose", [call["self"]], order=tuple(d % rank for d in call["dims"]))


def _transpose(call: Call) -> Result:
    rank = len(call["self"].shape)
    first, second = (
        call[a] if call[a] is not None else call[b]
        for a, b in (("dim0", "axis0"), ("dim1", "axis1"))
    )
    if first is None:
        first, second = -2, -1
    order = list(range(rank))
    if rank > 1:
        order[first], order[second] = order[second], order[first]
    return call.emit("transpose", [call["self"]], order=tuple(order))


def _cut(call: Call, axis: int, start: int, stop: int, step: int = 1) -> Tensor:
    """A part of the call's tensor along an axis."""
    source: Tensor = call["self"]
    count = max(0, -(-(stop - start) // step))
    shape = (*source.shape[:axis], count, *source.shape[axis + 1 :])
    if shape == source.shape:
        return source
    return call.emit("slice", [source], shape, axis=axis, start=start, stop=stop, step=step)


def _axis(call: Call) -> int:
    rank = len(call["self"].shape)
    return int(call["dim"] or 0) % rank


def _within(value: int | None, default: int, size: int) -> int:
    """A bound of a slice, which may count from the end or lie beyond it."""
    value = default if value is None else value
    return min(max(value + size if value < 0 else value, 0), size)


def _slice(call: Call) -> Result:
    axis = _axis(call)
    size = call["self"].shape[axis]
    start, stop = _within(call["start"], 0, size), _within(call["end"], size, size)
    return _cut(call, axis, start, max(start, stop), call["step"] or 1)


def _narrow(call: Call) -> Result:
    if isinstance(call["start"], Tensor):
        raise Unsupported("its start must be a number")
    axis = _axis(call)
    start = call["start"] % call["self"].shape[axis]
    return _cut(call, axis, start, start + call["length"])


def _select(call: Call) -> Result:
    axis = _axis(call)
    index = call["index"] % call["self"].shape[axis]
    return call.emit("reshape", [_cut(call, axis, index, index + 1)])


def _split(call: Call) -> Result:
    """Split, chunk and the like: how long the parts are follows from their shapes."""
    axis, at, parts = _axis(call), 0, []
    for shape in call.shapes:
        parts.append(_cut(call, axis, at, at + shape[axis]))
        at += shape[axis]
    return tuple(parts)


def _unbind(call: Call) -> Result:
    axis = _axis(call)
    return tuple(
        call.emit("reshape", [_cut(call, axis, i, i + 1)], shape)
        for i, shape in enumerate(call.shapes)
    )


def _concat(call: Call) -> Result:
    tensors = [t for t in call["tensors"] if t.shape != (0,)]
    return call.emit("concat", tensors, axis=int(call["dim"] or 0) % len(call.shape))


def _stack(call: Call) -> Result:
    axis = int(call["dim"] or 0) % len(call.shape)
    one = (*call.shape[:axis], 1, *call.shape[axis + 1 :])
    return call.emit("concat", [call.emit("reshape", [t], one) for t in call["tensors"]], axis=axis)


def _repeat(call: Call) -> Result:
    """Repetition along sides of one is an expansion; of whole feature maps it moves them."""
    source: Tensor = call["self"]
    sides = (1,) * (len(call.shape) - len(source.shape)) + source.shape
    aligned = call.emit("reshape", [source], sides)
    grows = [(a, b) for a, b in zip(sides, call.shape, strict=True) if a != b]
    return call.emit("expand" if all(a == 1 for a, _ in grows) else "copy", [aligned])


def _repeat_each(call: Call) -> Result:
    """Each value several times in a row: an expansion of an axis of its own, then merged."""
    source, times = call["self"], call["repeats"]
    if call["dim"] is None or not isinstance(times, int):
        raise Unsupported("only a constant number of repeats along one axis is supported")
    axis, sides = _axis(call), source.shape
    apart = (*sides[: axis + 1], 1, *sides[axis + 1 :])
    grown = (*sides[: axis + 1], times, *sides[axis + 1 :])
    return call.emit(
        "reshape", [call.emit("expand", [call.emit("reshape", [source], apart)], grown)]
    )


def _resize(mode: str) -> Rule:
    def rule(call: Call) -> Result:
        source = call["input"] if call["input"] is not None else call["self"]
        return call.emit("resize", [source], mode=mode)

    return rule


def _pixel_shuffle(call: Call) -> Result:
    block = call["upscale_factor"]
    return call.emit("depth_to_space", [call["self"]], block=block, order="CRD")


def _pixel_unshuffle(call: Call) -> Result:
    """Patches become channels, as exporters to ONNX write it: nothing moves."""
    block, x = call["downscale_factor"], call["self"]
    *images, channels, rows, columns = x.shape
    rank, outer = len(images), (*images, channels)
    apart = (*outer, rows // block, block, columns // block, block)
    order = (*range(rank + 1), rank + 2, rank + 4, rank + 1, rank + 3)
    x = call.emit("reshape", [x], apart)
    x = call.emit("transpose", [x], tuple(apart[i] for i in order), order=order)
    return call.emit("reshape", [x])


def _pad(call: Call) -> Result:
    """PyTorch names sides from the last dimension on: before and after each."""
    source: Tensor = call["self"]
    sides, rank = list(call["pad"]), len(source.shape)
    if call["mode"] not in (None, "constant") or call["value"] not in (None, 0):
        return call.emit("copy", [source])
    pairs = [(sides[i], sides[i + 1]) for i in range(0, len(sides), 2)]
    start, end = ([0] * rank for _ in range(2))
    for i, (before, after) in enumerate(pairs, start=1):
        start[rank - i], end[rank - i] = before, after
    return call.emit("pad", [source], start=tuple(start), end=tuple(end))


def _copy(call: Call) -> Result:
    return call.emit("copy", [call["self"]])


def _index(call: Call) -> Result:
    """Constant places of a feature map; rows of a learned table."""
    places = call["indices"] if isinstance(call["indices"], list) else [call["index"]]
    given = [place for place in places if isinstance(place, Tensor)]
    source: Tensor = call["self"]
    if source.constant and len(given) == 1 and isinstance(places[0], Tensor):
        return call.emit("embedding", [source, given[0]])
    if any(not place.constant for place in given):
        raise Unsupported("computed indices are not supported")
    return call.emit("copy", [source])


SHAPE_RULES: Final[dict[str, Rule]] = {
    **{
        f"aten.{name}": _identity
        for name in (
            "dropout",
            "feature_dropout",
            "alpha_dropout",
            "clone",
            "contiguous",
            "to",
            "_to_copy",
            "type_as",
            "alias",
            "detach",
            "lift_fresh_copy",
            "native_dropout",
            "float",
            "half",
        )
    },
    "_operator.getitem": _identity,
    **{
        f"aten.{name}": _reshape
        for name in (
            "view",
            "reshape",
            "_unsafe_view",
            "view_as",
            "reshape_as",
            "flatten",
            "unflatten",
            "squeeze",
            "unsqueeze",
        )
    },
    **{f"aten.{name}": _expand for name in ("expand", "expand_as", "broadcast_to")},
    "aten.permute": _permute,
    **{
        f"aten.{name}": _transpose
        for name in ("transpose", "swapaxes", "swapdims", "t", "numpy_T", "mT")
    },
    "aten.slice": _slice,
    "aten.narrow": _narrow,
    "aten.select": _select,
    **{
        f"aten.{name}": _split
        for name in ("split", "split_with_sizes", "chunk", "tensor_split", "unsafe_split")
    },
    "aten.unbind": _unbind,
    "aten.cat": _concat,
    "aten.concat": _concat,
    "aten.stack": _stack,
    "aten.repeat": _repeat,
    "aten.repeat_interleave": _repeat_each,
    "aten.upsample_nearest1d": _resize("nearest"),
    "aten.upsample_nearest2d": _resize("nearest"),
    "aten.upsample_nearest3d": _resize("nearest"),
    "aten._upsample_nearest_exact2d": _resize("nearest"),
    "aten._upsample_nearest_exact3d": _resize("nearest"),
    "aten.upsample_bilinear2d": _resize("linear"),
    "aten.upsample_linear1d": _resize("linear"),
    "aten.upsample_trilinear3d": _resize("linear"),
    "aten.pixel_shuffle": _pixel_shuffle,
    "aten.pad": _pad,
    "aten.constant_pad_nd": _pad,
    **{f"aten.{name}": _copy for name in ("flip", "roll", "tile")},
    "aten.pixel_unshuffle": _pixel_unshuffle,
    "aten.index": _index,
    "aten.index_select": _index,
}
"""Rules for operators that compute nothing."""
