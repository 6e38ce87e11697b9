"""Constant folding in an ONNX graph: operators on constants are computed, within a budget."""

from collections.abc import Callable, Mapping, Sequence
from math import ceil, prod
from typing import Any, Final

import numpy as np

from .call import Call, wrap
from .value import FLOATS, INT32, INT64, MOST_READ, QUANTIZED, Array, OnnxError, Value, from_array

#: Elementary operations of all folding in one model (assumption: shapes, positions and masks
#: need thousandths of them; so many take about a second).
BUDGET: Final = 2**27

#: Operators whose results are learned by nobody, whatever they read (tables of positions).
_COMPUTED: Final = frozenset({"Sin", "Cos"})
#: Operators of which only the first input can make the result a learned one.
_FIRST: Final = frozenset({"DequantizeLinear", "Gather", "GatherND", "GatherElements"})


class Folder:
    """Computes constants until its budget is used up.

    Attributes:
        left: elementary operations that may still be made.
    """

    def __init__(self) -> None:
        self.left = BUDGET

    def fold(self, call: Call) -> list[Value]:
        """Return the results of a node that reads constants alone.

        Their elements are known if there are at most ``MOST_READ`` and the budget lasts.

        Raises:
            OnnxError: constants that do not go together, or a shape that does not follow.
        """
        arrays = self._compute(call)
        learned = _learned(call)
        found = []
        for i, name in enumerate(call.outputs):
            if arrays is not None and i < len(arrays):
                found.append(_computed(call, i, arrays[i], learned))
            else:
                shape, dtype = call.shape(i), call.results[name].dtype
                kept = learned if _may_learn(dtype) else frozenset()
                found.append(Value(name, shape, dtype, True, kept))
        return found

    def _compute(self, call: Call) -> Sequence[Array] | None:
        fold = FOLDS.get(call.operator)
        arrays = [value.read() for value in call.inputs if value is not None]
        known = [array for array in arrays if array is not None]
        if fold is None or len(known) < len(arrays) or not self._pays(call, known):
            return None
        try:
            with np.errstate(all="ignore"):
                made = fold(call, known)
        except (TypeError, OverflowError, ZeroDivisionError):
            # a type or form that is not computed here; shapes follow without it
            return None
        except (ValueError, IndexError) as error:
            if isinstance(error, OnnxError):
                raise
            raise OnnxError(f"its constants do not fit together: {error}") from None
        made = [made] if isinstance(made, np.ndarray | np.generic) else made
        return [np.asarray(array) for array in made]

    def _pays(self, call: Call, arrays: Sequence[Array]) -> bool:
        shapes = [result.shape for result in call.results.values()]
        sizes = [prod(shape) for shape in shapes if shape is not None]
        if any(size > MOST_READ for size in sizes):
            return False
        inner = arrays[0].shape[-1] if call.operator == "MatMul" and arrays[0].ndim else 1
        self.left -= 1 + sum(sizes) * inner + sum(array.size for array in arrays)
        return self.left > 0


def _computed(call: Call, index: int, array: Array, learned: frozenset[str]) -> Value:
    from onnx import helper

    name = call.outputs[index]
    dtype = call.results[name].dtype if name in call.results else INT64
    wanted = np.dtype(helper.tensor_dtype_to_np_dtype(dtype)) if dtype else array.dtype
    with np.errstate(all="ignore"):
        array = array.astype(wanted, copy=False)
    return from_array(name, array, dtype, learned if _may_learn(dtype) else frozenset())


def _may_learn(dtype: int) -> bool:
    return dtype in FLOATS | QUANTIZED


def _learned(call: Call) -> frozenset[str]:
    if call.operator in _COMPUTED:
        return frozenset()
    read = [value for value in call.inputs if value is not None]
    read = read[:1] if call.operator in _FIRST else read
    if call.operator == "DequantizeLinear" and read[0].dtype == INT32 and read[0].shape:
        # biases of quantized files are such; other integers of this type are places
        return frozenset({call.outputs[0]})
    # numbers that others are scaled by, or filled with, are learned only by themselves
    single = all(result.shape and prod(result.shape) == 1 for result in call.results.values())
    return frozenset[str]().union(*(v.learned for v in read if single or v.size > 1))


def shape_of(call: Call) -> Value:
    """Return the result of ``Shape`` or ``Size``, of any input."""
    shape = call.x().shape
    if call.operator == "Size":
        found = np.array(call.x().size, np.int64)
    else:
        end = call.attributes.get("end")
        found = np.array(shape[call.number("start") : end if isinstance(end, int) else None])
    return from_array(call.outputs[0], found.astype(np.int64), INT64, frozenset())


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
        raise OnnxError("starts and ends must be lists of the same length")
    axes = call.list_of("axes", 3) or tuple(range(len(starts)))
    steps = (call.known_numbers(4) if call.has(4) else ()) or (1,) * len(starts)
    if not len(axes) == len(steps) == len(starts) or 0 in steps:
        raise OnnxError("axes and steps must be as many as starts, and no step 0")
    found = []
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        axis = wrap(axis, len(shape))
        sides = slice(start, end, step).indices(shape[axis])
        if sides != (0, shape[axis], 1):
            found.append((axis, *sides))
    return found
