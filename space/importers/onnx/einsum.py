"""Translation of ONNX's Einsum of two operands: transpositions, reshapes and a product."""

from collections.abc import Mapping, Sequence
from math import prod

from .arithmetic import binary
from .call import Call
from .data_movement import reshaped, transposed
from .value import OnnxError, Value


def einsum(call: Call) -> Value:
    """Return a sum of products over the indices that the result does not have.

    Raises:
        OnnxError: an equation that is no product of two operands with indices of their own.
    """
    if len(call.inputs) != 2:
        raise OnnxError("only products of two operands are supported")
    left, _, right = call.text("equation").replace(" ", "").partition("->")
    first, _, second = left.partition(",")
    sizes = _sizes(call, first, second)
    result = right if "->" in call.text("equation") else _implied(first + second)
    shared = [i for i in first if i in second]
    inner = [i for i in shared if i not in result]
    alone = [i for i in first + second if i not in shared and i not in result]
    if alone or set(result) - set(sizes) or len(set(result)) < len(result):
        raise OnnxError(
            "an index that only one operand has must be in the result, and the result "
            "may have no other indices"
        )
    if not inner:
        x, y = (_spread(call, i, e, result) for i, e in enumerate((first, second)))
        return binary("mul", call, x, y)
    return _product(call, first, second, result, sizes)


def _implied(indices: str) -> str:
    """Return the result's indices if an equation does not say them: those that do not repeat."""
    return "".join(sorted(i for i in set(indices) if indices.count(i) == 1))


def _sizes(call: Call, first: str, second: str) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for value, indices in zip((call.x(0), call.x(1)), (first, second), strict=True):
        if len(indices) != len(value.shape) or len(set(indices)) < len(indices):
            raise OnnxError(f"indices {indices} must name each dimension of {value.shape} once")
        for index, size in zip(indices, value.shape, strict=True):
            if sizes.setdefault(index, size) != size:
                raise OnnxError(f"index {index} has two sizes, {sizes[index]} and {size}")
    return sizes


def _product(call: Call, first: str, second: str, result: str, sizes: Mapping[str, int]) -> Value:
    shared = [i for i in first if i in second]
    batch, inner = ([i for i in shared if (i in result) == kept] for kept in (True, False))
    rows, columns = ([i for i in e if i not in shared] for e in (first, second))
    lead = [sizes[i] for i in batch]
    m, k, n = (prod(sizes[i] for i in group) for group in (rows, inner, columns))
    x = _laid(call, 0, first, [*batch, *rows, *inner], (*lead, m, k))
    y = _laid(call, 1, second, [*batch, *inner, *columns], (*lead, k, n))
    if y.constant and not batch:
        made = call.op("linear", [x, call.part(y, (n, k)), None], (m, n))
    else:
        made = call.op("matmul", [x, y], (*lead, m, n))
    order = [*batch, *rows, *columns]
    made = reshaped(call, made, [sizes[i] for i in order])
    return transposed(call, made, [order.index(i) for i in result])


def _laid(
    call: Call, index: int, indices: str, order: Sequence[str], shape: Sequence[int]
) -> Value:
    """Return an operand with its indices in another order, and in another shape."""
    value = call.x(index)
    if value.constant:
        return call.part(value, shape)
    return reshaped(call, transposed(call, value, [indices.index(i) for i in order]), shape)


def _spread(call: Call, index: int, indices: str, result: str) -> Value:
    """Return an operand with the result's indices; it has one value along those that it lacks."""
    own = [i for i in result if i in indices]
    value = call.x(index)
    sizes = dict(zip(indices, value.shape, strict=True))
    return _laid(call, index, indices, own, [sizes.get(i, 1) for i in result])
