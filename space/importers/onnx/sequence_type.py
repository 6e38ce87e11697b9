"""Unpacking of ONNX's sequences of tensors while the file is read."""

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Final

from .call import MOST_NUMBERS, Call, wrap
from .data_movement import cut, reshaped
from .value import OnnxError, Value

Items = tuple[Value, ...]
#: Takes a call and the sequence that it reads first, if it reads one.
Translator = Callable[[Call, Items], Value | Items]


def _split(call: Call, _: Items) -> Items:
    value = call.x(0)
    if value.constant and not value.learned:
        raise OnnxError("it splits a constant that is not a weight")
    axis = call.axis(0)
    sizes = _sizes(call, value.shape[axis])
    kept = call.has(1) or call.number("keepdims", 1)
    before, after = value.shape[:axis], value.shape[axis + 1 :]
    if value.constant:
        # parts of one learned tensor, as attention has its three matrices in one
        sides = [(size,) if kept else () for size in sizes]
        return tuple(call.part(value, (*before, *side, *after)) for side in sides)
    ends = accumulate(sizes)
    pieces = [cut(call, value, axis, n - size, n) for n, size in zip(ends, sizes, strict=True)]
    if kept:
        return tuple(pieces)
    return tuple(reshaped(call, piece, (*before, *after)) for piece in pieces)


def _sizes(call: Call, length: int) -> Sequence[int]:
    """Return how long each piece is: equal but for the last one, or as the file says."""
    listed = call.known_numbers(1) if call.has(1) else (1,)
    if call.has(1) and call.x(1).shape:
        if sum(listed) != length or min(listed) < 0:
            raise OnnxError(f"pieces of {listed} do not add up to {length}")
        return listed
    if len(listed) != 1 or listed[0] < 1 or length > listed[0] * MOST_NUMBERS:
        raise OnnxError(
            f"{length} in pieces of {listed}: at most {MOST_NUMBERS} pieces are supported"
        )
    return [min(listed[0], length - at) for at in range(0, length, listed[0])]


def _at(call: Call, items: Items) -> Value:
    places = call.known_numbers(1)
    if len(places) != 1 or not items:
        raise OnnxError("it must have a number and a sequence that is not empty")
    return items[wrap(places[0], len(items))]


def _made(call: Call, _: Items) -> Items:
    return tuple(call.x(i) for i in range(len(call.inputs)))


def _joined(call: Call, items: Items) -> Value:
    if not items:
        raise OnnxError("it must read a sequence that is not empty")
    rank, new = len(items[0].shape), call.number("new_axis")
    axis = wrap(call.number("axis"), rank + bool(new))
    if new:
        shapes = [(*v.shape[:axis], 1, *v.shape[axis:]) for v in items]
        items = tuple(reshaped(call, v, s) for v, s in zip(items, shapes, strict=True))
    whole = sum(value.shape[axis] for value in items)
    first = items[0].shape
    for value in items:
        if (*value.shape[:axis], *value.shape[axis + 1 :]) != (*first[:axis], *first[axis + 1 :]):
            raise OnnxError(f"shapes {first} and {value.shape} cannot be joined")
    return call.op("concat", items, (*first[:axis], whole, *first[axis + 1 :]), axis=axis)


LISTS: Final[Mapping[str, Translator]] = {
    "SplitToSequence": _split,
    "SequenceAt": _at,
    "SequenceConstruct": _made,
    "ConcatFromSequence": _joined,
}
"""How each of them is translated; some make a sequence, some a value."""
