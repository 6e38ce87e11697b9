"""Rule for einsum of two operands: transpositions, reshapes and a product."""

from math import prod

from ..graph import Tensor
from ..two_operands import TwoOperands, two_operands
from .call import Call, Result, TakeApart


def einsum(call: Call) -> Result:
    """Return a sum of products over the indices that the result does not have.

    Raises:
        TakeApart: an equation that is no product of two operands with indices of their own.
    """
    operands = call["tensors"]
    try:
        product = two_operands(call["equation"], [tensor.shape for tensor in operands])
    except ValueError as error:
        raise TakeApart(str(error)) from error
    if not product.inner:
        x, y = (_spread(call, i, product) for i in (0, 1))
        return call.emit("mul", [x, y])
    return _product(call, product)


def _product(call: Call, product: TwoOperands) -> Tensor:
    batch, rows, inner, columns = product.batch, product.rows, product.inner, product.columns
    lead = product.shape(batch)
    m, k, n = (prod(product.shape(group)) for group in (rows, inner, columns))
    weights = call["tensors"][1].constant and not batch
    x = _laid(call, 0, product, batch + rows + inner, (*lead, m, k))
    # a linear layer has the weights of each result side by side
    order, sides = (columns + inner, (n, k)) if weights else (inner + columns, (k, n))
    y = _laid(call, 1, product, batch + order, (*lead, *sides))
    inputs = [x, y, None] if weights else [x, y]
    made = call.emit("linear" if weights else "matmul", inputs, (*lead, m, n))
    order = batch + rows + columns
    made = call.emit("reshape", [made], product.shape(order))
    places = tuple(order.index(i) for i in product.result)
    return call.emit("transpose", [made], order=places)


def _laid(
    call: Call, index: int, product: TwoOperands, order: str, shape: tuple[int, ...]
) -> Tensor:
    """Return an operand with its indices in another order, and in another shape."""
    places = tuple(product.operands[index].index(i) for i in order)
    tensor: Tensor = call["tensors"][index]
    turned = call.emit("transpose", [tensor], product.shape(order), order=places)
    return call.emit("reshape", [turned], shape)


def _spread(call: Call, index: int, product: TwoOperands) -> Tensor:
    """Return an operand with the result's indices; it has one value along those that it lacks."""
    own = "".join(i for i in product.result if i in product.operands[index])
    shape = tuple(product.sizes[i] if i in own else 1 for i in product.result)
    return _laid(call, index, product, own, shape)
