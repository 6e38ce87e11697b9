"""What is known of an ONNX graph before it runs: operators on constants, within a budget."""

from collections.abc import Sequence
from math import prod
from typing import Final

import numpy as np

from .onnx_call import Call
from .onnx_numpy import FOLDS
from .onnx_values import FLOATS, INT32, INT64, MOST_READ, QUANTIZED, Array, Fault, Value, from_array

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
            Fault: constants that do not go together, or a shape that does not follow.
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
            if isinstance(error, Fault):
                raise
            raise Fault(f"its constants do not go together: {error}") from None
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
