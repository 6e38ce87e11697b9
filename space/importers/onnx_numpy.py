"""ONNX operators on constants, computed with numpy."""

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import Any, Final

import numpy as np

from .onnx_call import Call, wrap
from .onnx_values import MOST_READ, Array, Fault

#: Takes a call and the elements of its inputs; raises TypeError for forms that it does not take.
Fold = Callable[[Call, Sequence[Array]], Array | Sequence[Array]]

_Function = Callable[..., Any]  # numpy's functions are not typed by the types of their arrays

_UFUNCS: Final[Mapping[str, _Function]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Pow": np.power,
    "Neg": np.negative,
    "Abs": np.abs,
    "Sqrt": np.sqrt,
    "Exp": np.exp,
    "Log": np.log,
    "Reciprocal": np.reciprocal,
    "Floor": np.floor,
    "Ceil": np.ceil,
    "Round": np.rint,
    "Sign": np.sign,
    "Sin": np.sin,
    "Cos": np.cos,
    "Tanh": np.tanh,
    "Equal": np.equal,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "And": np.logical_and,
    "Or": np.logical_or,
    "Xor": np.logical_xor,
    "Not": np.logical_not,
    "IsNaN": np.isnan,
    "IsInf": np.isinf,
    "Where": np.where,
}
_REDUCTIONS: Final[Mapping[str, _Function]] = {
    "ReduceSum": np.sum,
    "ReduceProd": np.prod,
    "ReduceMax": np.max,
    "ReduceMin": np.min,
    "ReduceMean": np.mean,
}
_CHAINS: Final[Mapping[str, _Function]] = {
    "Max": np.maximum,
    "Min": np.minimum,
    "Sum": np.add,
}


def _ufunc(call: Call, arrays: Sequence[Array]) -> Array:
    made: Array = _UFUNCS[call.operator](*arrays)
    return made


def _divide(_: Call, arrays: Sequence[Array]) -> Array:
    x, y = arrays
    if x.dtype.kind == "f":
        return np.divide(x, y)
    # whole numbers are cut off towards zero
    return np.trunc(np.divide(x, y))


def _modulo(call: Call, arrays: Sequence[Array]) -> Array:
    return (np.fmod if call.number("fmod") else np.mod)(*arrays)


def _chain(call: Call, arrays: Sequence[Array]) -> Array:
    found = arrays[0]
    for other in arrays[1:]:
        found = _CHAINS[call.operator](found, other)
    return found


def _reduce(call: Call, arrays: Sequence[Array]) -> Array:
    axes = reduced_axes(call)
    kept = bool(call.number("keepdims"))
    made: Array = _REDUCTIONS[call.operator](arrays[0], axis=axes, keepdims=kept)
    return made


def _shaped(call: Call, arrays: Sequence[Array]) -> Array:
    return arrays[0].reshape(call.shape())


def _expand(call: Call, arrays: Sequence[Array]) -> Array:
    return np.broadcast_to(arrays[0], call.shape())


def _slice(call: Call, arrays: Sequence[Array]) -> Array:
    found = arrays[0]
    for axis, start, stop, step in slices(call):
        # an end before the first element has no number in Python
        end = None if stop < 0 else stop
        found = found[(slice(None),) * axis + (slice(start, end, step),)]
    return found


def _gather(call: Call, arrays: Sequence[Array]) -> Array:
    return np.take(arrays[0], arrays[1].astype(np.int64), axis=call.axis(0))


def _gather_elements(call: Call, arrays: Sequence[Array]) -> Array:
    return np.take_along_axis(arrays[0], arrays[1].astype(np.int64), axis=call.axis(0))


def _gather_nd(call: Call, arrays: Sequence[Array]) -> Array:
    if call.number("batch_dims"):
        raise TypeError("batches of indices")
    found: Array = arrays[0][tuple(np.moveaxis(arrays[1], -1, 0))]
    return found


def _scatter_nd(call: Call, arrays: Sequence[Array]) -> Array:
    if call.text("reduction", "none") != "none":
        raise TypeError("reductions")
    found = arrays[0].copy()
    found[tuple(np.moveaxis(arrays[1], -1, 0))] = arrays[2]
    return found


def _concat(call: Call, arrays: Sequence[Array]) -> Array:
    return np.concatenate(arrays, axis=call.axis(0))


def _split(call: Call, arrays: Sequence[Array]) -> Sequence[Array]:
    axis = call.axis(0)
    sizes = [call.shape(i)[axis] for i in range(len(call.outputs))]
    return np.split(arrays[0], np.cumsum(sizes)[:-1], axis=axis)


def _transpose(call: Call, arrays: Sequence[Array]) -> Array:
    return np.transpose(arrays[0], call.numbers("perm"))


def _tile(_: Call, arrays: Sequence[Array]) -> Array:
    return np.tile(arrays[0], [int(n) for n in arrays[1].ravel()])


def _pad(call: Call, arrays: Sequence[Array]) -> Array:
    if call.text("mode") != "constant" or len(arrays) > 2:
        raise TypeError("only zeros")
    pads = arrays[1].astype(np.int64).reshape(2, -1).T
    return np.pad(arrays[0], pads.tolist())


def _filled(call: Call, arrays: Sequence[Array]) -> Array:
    value = call.attributes.get("value")
    return np.full(tuple(int(n) for n in arrays[0].ravel()), _element(value))


def _element(value: object) -> Array | float:
    from onnx import TensorProto, numpy_helper

    return numpy_helper.to_array(value).ravel()[0] if isinstance(value, TensorProto) else 0.0


def _range(_: Call, arrays: Sequence[Array]) -> Array:
    start, limit, delta = (array.reshape(()).item() for array in arrays)
    if ceil((limit - start) / delta) > MOST_READ:
        raise TypeError("too many")
    return np.arange(start, limit, delta)


def _trilu(call: Call, arrays: Sequence[Array]) -> Array:
    k = int(arrays[1].reshape(())[()]) if len(arrays) > 1 else 0
    return (np.triu if call.number("upper", 1) else np.tril)(
        arrays[0], max(min(k, 2**31), -(2**31))
    )


def _running_sum(call: Call, arrays: Sequence[Array]) -> Array:
    if call.number("exclusive") or call.number("reverse"):
        raise TypeError("only from the first")
    axis = wrap(int(arrays[1].reshape(())[()]), arrays[0].ndim)
    return np.cumsum(arrays[0], axis=axis)


def _matmul(_: Call, arrays: Sequence[Array]) -> Array:
    product: Array = np.matmul(arrays[0], arrays[1])
    return product


def _cast(_: Call, arrays: Sequence[Array]) -> Array:
    return arrays[0]


FOLDS: Final[Mapping[str, Fold]] = {
    **dict.fromkeys(_REDUCTIONS, _reduce),
    **dict.fromkeys(_UFUNCS, _ufunc),
    **dict.fromkeys(_CHAINS, _chain),
    **dict.fromkeys(("Reshape", "Squeeze", "Unsqueeze", "Flatten"), _shaped),
    **dict.fromkeys(("Identity", "Cast", "CastLike", "Dropout"), _cast),
    "Div": _divide,
    "Mod": _modulo,
    "Expand": _expand,
    "Slice": _slice,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "ScatterND": _scatter_nd,
    "Concat": _concat,
    "Split": _split,
    "Transpose": _transpose,
    "Tile": _tile,
    "Pad": _pad,
    "ConstantOfShape": _filled,
    "Range": _range,
    "Trilu": _trilu,
    "CumSum": _running_sum,
    "MatMul": _matmul,
}
"""Operators that are computed; constants of others are known by their shape alone."""


def reduced_axes(call: Call) -> tuple[int, ...]:
    """Return the axes that a reduction takes away, from 0."""
    rank = len(call.x().shape)
    axes = call.list_of("axes", 1)
    if not axes:
        return () if call.number("noop_with_empty_axes") else tuple(range(rank))
    return tuple(sorted({wrap(axis, rank) for axis in axes}))


def slices(call: Call) -> list[tuple[int, int, int, int]]:
    """Return axis, start, stop and step of each axis that a ``Slice`` cuts.

    Stop is -1 if a step backwards takes in the first element.
    """
    shape = call.x().shape
    starts, ends = call.list_of("starts", 1), call.list_of("ends", 2)
    if starts is None or ends is None or len(starts) != len(ends):
        raise Fault("starts and ends must be lists of the same length")
    axes = call.list_of("axes", 3) or tuple(range(len(starts)))
    steps = (call.known_numbers(4) if call.has(4) else ()) or (1,) * len(starts)
    if not len(axes) == len(steps) == len(starts) or 0 in steps:
        raise Fault("axes and steps must be as many as starts, and no step 0")
    found = []
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        axis = wrap(axis, len(shape))
        sides = slice(start, end, step).indices(shape[axis])
        if sides != (0, shape[axis], 1):
            found.append((axis, *sides))
    return found
