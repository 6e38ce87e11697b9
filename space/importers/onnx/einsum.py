"""Translation of ONNX's Einsum of two operands: transpositions, reshapes and a product."""

from math import prod

from ..two_operands import TwoOperands, two_operands
from .arithmetic import binary
from .call import Call
from .data_movement import reshaped, transposed
from .value import OnnxError, Value


def einsum(call: Call) -> Value:
    """Return a sum of products over the indices that the result does not have.

    Raises:
        OnnxError: an equation that is no product of two operands with indices of their own.
    """
    try:
        shapes = [call.x(i).shape for i in range(len(call.inputs))]
        product = two_operands(call.text("equation"), shapes)
    except ValueError as error:
        raise OnnxError(str(error)) from error
    if not product.inner:
        x, y = (_spread(call, i, product) for i in (0, 1))
        return binary("mul", call, x, y)
    return _product(call, product)


def _product(call: Call, product: TwoOperands) -> Value:
    batch, rows, inner, columns = product.batch, product.rows, product.inner, product.columns
    lead = product.shape(batch)
    m, k, n = (prod(product.shape(group)) for group in (rows, inner, columns))
    x = _laid(call, 0, product, batch + rows + inner, (*lead, m, k))
    y = _laid(call, 1, product, batch + inner + columns, (*lead, k, n))
    if y.constant and not batch:
        made = call.op("linear", [x, call.part(y, (n, k)), None], (m, n))
    else:
        made = call.op("matmul", [x, y], (*lead, m, n))
    order = batch + rows + columns
    made = reshaped(call, made, product.shape(order))
    return transposed(call, made, [order.index(i) for i in product.result])


def _laid(
    call: Call, index: int, product: TwoOperands, order: str, shape: tuple[int, ...]
) -> Value:
    """Return an operand with its indices in another order, and in another shape."""
    value, indices = call.x(index), product.operands[index]
    if value.constant:
        return call.part(value, shape)
    return reshaped(call, transposed(call, value, [indices.index(i) for i in order]), shape)


def _spread(call: Call, index: int, product: TwoOperands) -> Value:
    """Return an operand with the result's indices; it has one value along those that it lacks."""
    own = "".join(i for i in product.result if i in product.operands[index])
    shape = tuple(product.sizes[i] if i in own else 1 for i in product.result)
    return _laid(call, index, product, own, shape)
