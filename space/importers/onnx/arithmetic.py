"""Translation of ONNX's elementwise operators to the computation graph."""

from collections.abc import Callable, Mapping
from functools import partial
from math import inf
from typing import Final

from ..causal_masks import LOW, added_window, causal_window
from .call import Call, truth
from .value import BOOL, OnnxError, Value, as_numbers

Translator = Callable[[Call], Value | tuple[Value | None, ...]]

#: ONNX's names of functions that a layer may apply, and ours; scaled exponential units cost what
#: exponential ones do (assumption: their factors are folded in).
_ACTIVATIONS: Final[Mapping[str, str]] = {
    "Relu": "relu",
    "LeakyRelu": "leaky_relu",
    "ThresholdedRelu": "leaky_relu",
    "Elu": "elu",
    "Selu": "elu",
    "Celu": "elu",
    "Sigmoid": "sigmoid",
    "Tanh": "tanh",
    "HardSigmoid": "hardsigmoid",
    "HardSwish": "hardswish",
    "Softplus": "softplus",
    "Mish": "mish",
    "Gelu": "gelu",
    "Swish": "silu",
    "Exp": "exp",
    "Sqrt": "sqrt",
}
_UNARY: Final[Mapping[str, str]] = {
    "Erf": "erf",
    "Log": "log",
    "Reciprocal": "reciprocal",
    "Neg": "neg",
    "Abs": "abs",
    "Sin": "sin",
    "Cos": "cos",
}
_BINARY: Final[Mapping[str, str]] = {"Add": "add", "Sub": "sub", "Mul": "mul", "Div": "div"}
_TRUTHS: Final = (
    *("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"),
    *("And", "Or", "Xor", "Not", "IsNaN", "IsInf"),
)


def same(call: Call) -> Value:
    """Return the input: nothing happens to it that counts."""
    return call.x()


def _cast(call: Call) -> Value:
    value = call.x()
    # whether something is true costs nothing only as long as it is asked as a condition
    if truth(value) and call.results[call.outputs[0]].dtype != BOOL:
        raise OnnxError("booleans that are computed at run time cannot be used as numbers")
    return value


def _activation(function: str, call: Call) -> Value:
    return call.op("activation", [call.x()], call.x().shape, function=function)


def _prelu(call: Call) -> Value:
    call.x(1)
    return call.op("activation", [call.x(), call.learned(1)], call.x().shape, function="prelu")


def _clip(call: Call) -> Value:
    least, most = (_limit(call, i, name) for i, name in ((1, "min"), (2, "max")))
    if least <= -_LARGE and most >= _LARGE:
        return call.x()
    # two comparisons whatever the limits are, or one
    function = "relu6" if least > -_LARGE and most < _LARGE else "relu"
    return _activation(function, call)


#: Limits beyond it limit nothing: the largest value of half precision is 65,504 (IEEE 754).
_LARGE: Final = 65504.0


def _limit(call: Call, index: int, name: str) -> float:
    unlimited = -inf if name == "min" else inf
    if not call.has(index):
        return call.decimal(name, unlimited)
    limit = call.x(index).scalar
    if limit is None:
        raise OnnxError(f"limit {name} must be a constant")
    return limit


def _unary(function: str, call: Call) -> Value:
    return call.op("unary", [call.x()], call.x().shape, function=function)


def _power(call: Call) -> Value:
    exponent = call.x(1).scalar
    if exponent is None:
        raise OnnxError("its exponent must be a constant number")
    if exponent == 0.5:
        return _activation("sqrt", call)
    return call.op("unary", [call.x()], call.shape(), function="pow", exponent=exponent)


def binary(kind: str, call: Call, x: Value, y: Value) -> Value:
    """Return an operation on two values, broadcast as numpy does."""
    single = _is_single_bias(call, x, y) or _is_single_bias(call, y, x)
    if kind not in ("add", "sub") or not single:
        x, y = call.forget(x), call.forget(y)
    shape = _broadcast(x.shape, y.shape)
    masked = _masked_sum(kind, call, x, y) or (kind == "add" and _masked_sum(kind, call, y, x))
    if masked:
        return masked
    return _into_norm(kind, call, x, y) or call.op(kind, [x, y], shape)


def _masked_sum(kind: str, call: Call, scores: Value, mask: Value) -> Value | None:
    """Return scores to which a causal mask is added, or from which it is subtracted."""
    if kind not in ("add", "sub") or scores.constant or not mask.constant:
        return None
    values = mask.read()
    if values is None or values.dtype.kind not in "fiub":
        return None
    added = -as_numbers(values) if kind == "sub" else as_numbers(values)
    # nobody learns values of which some are 0 and all others so low
    if mask.learned and not bool(((added == 0) | (added <= LOW)).all()):
        return None
    return masked_scores(call, scores, added_window(added), scores.shape)


def masked_scores(
    call: Call, scores: Value, window: int | None, shape: tuple[int, ...]
) -> Value | None:
    """Return scores of which a causal mask of some window drops pairs, None without one."""
    if window is None or scores.shape != shape:
        return None
    return call.op("mask", [scores], shape, window=window)


def _is_single_bias(call: Call, x: Value, y: Value) -> bool:
    """Whether a number is the bias of a layer of one feature."""
    made = call.maker.maker_of(x, "linear") or call.maker.maker_of(x, "conv")
    return made is not None and y.shape == (1,) and x.shape[-1] == 1


def _into_norm(kind: str, call: Call, x: Value, y: Value) -> Value | None:
    """Return a group norm with its scale or shift, which exporters leave to operators after it."""
    norm, place = call.maker.maker_of(x, "group_norm"), {"mul": 1, "add": 2}.get(kind)
    if norm is None or place is None or not y.learned or len(x.shape) < 2:
        return None
    rank, channels = len(y.shape), x.shape[1]
    by_channel = y.size == channels and rank == len(x.shape) - 1 and y.shape[0] == channels
    by_channel |= y.size == channels and rank == len(x.shape) and y.shape[1] == channels
    if not by_channel or norm.inputs[place] or (place == 1 and norm.inputs[2]):
        return None
    inputs = [call.maker.value(name) if name else None for name in norm.inputs]
    inputs[place] = call.part(y, (channels,))
    return call.op("group_norm", inputs, x.shape, **norm.attributes)


def _broadcast(x: tuple[int, ...], y: tuple[int, ...]) -> tuple[int, ...]:
    rank = max(len(x), len(y))
    sides = zip((1,) * (rank - len(x)) + x, (1,) * (rank - len(y)) + y, strict=True)
    shape = []
    for a, b in sides:
        if a != b and 1 not in (a, b):
            raise OnnxError(f"shapes {x} and {y} cannot be broadcast together")
        shape.append(b if a == 1 else a)
    return tuple(shape)


def _binary(kind: str, call: Call) -> Value:
    return binary(kind, call, call.x(0), call.x(1))


def _chain(call: Call) -> Value:
    """Sums and means of any number of values; the factor of a mean is free."""
    found = call.x(0)
    for i in range(1, len(call.inputs)):
        found = binary("add", call, found, call.x(i))
    return found


def _limits(call: Call) -> Value:
    """Return the larger or smaller of a value and a number, which is one comparison."""
    maps = [value for value in call.inputs if value is not None and not value.constant]
    if len(maps) != 1 or len(call.inputs) > 2 or maps[0].shape != call.shape():
        raise OnnxError("only a comparison of a feature map and a number is supported")
    return call.op("activation", maps, maps[0].shape, function="relu")


def _where(call: Call) -> Value:
    """Return the one feature map that a mask lets through; the mask is free."""
    condition, branches = call.x(0), [call.x(1), call.x(2)]
    maps = [value for value in branches if not value.constant]
    if len(maps) == 2:
        return _softplus(call, *maps)
    if len(maps) != 1 or not (condition.constant or truth(condition)):
        raise OnnxError(
            "only a mask over one feature map, with a constant where it is false, is supported"
        )
    shape, (other,) = call.shape(), [value for value in branches if value.constant]
    seen, low = condition.read() if condition.constant else None, other.read()
    if seen is not None and low is not None and bool((as_numbers(low) <= LOW).all()):
        window = causal_window(seen.astype(bool) == (maps[0] is branches[0]))
        masked = masked_scores(call, maps[0], window, shape)
        if masked is not None:
            return masked
    return maps[0] if maps[0].shape == shape else call.op("expand", maps, shape)


def _softplus(call: Call, x: Value, y: Value) -> Value:
    """Return a soft ramp, which exporters replace by a straight one where both agree."""
    soft = _unscaled(call, y)
    made = call.maker.maker_of(soft, "activation")
    if made is not None and made.attributes["function"] == "softplus":
        source = _unscaled(call, call.maker.value(made.inputs[0]))
        if source.name == _unscaled(call, x).name:
            return soft
    raise OnnxError("at most one of its branches may be computed at run time")


def _unscaled(call: Call, value: Value) -> Value:
    """Return what a value was before it was multiplied by a number, or divided."""
    made = call.maker.maker_of(value, "mul") or call.maker.maker_of(value, "div")
    if made is None or call.maker.tensors[made.inputs[1]].value is None:
        return value
    return call.maker.value(made.inputs[0])


def _truth(call: Call) -> Value:
    return Value("", call.shape(), BOOL)


ARITHMETIC: Final[Mapping[str, Translator]] = {
    **dict.fromkeys(("Identity", "QuantizeLinear", "DequantizeLinear"), same),
    **dict.fromkeys(("Cast", "CastLike"), _cast),
    **{name: partial(_activation, ours) for name, ours in _ACTIVATIONS.items()},
    **{name: partial(_unary, ours) for name, ours in _UNARY.items()},
    **{name: partial(_binary, ours) for name, ours in _BINARY.items()},
    **dict.fromkeys(_TRUTHS, _truth),
    "PRelu": _prelu,
    "Clip": _clip,
    "Pow": _power,
    "Where": _where,
    **dict.fromkeys(("Sum", "Mean"), _chain),
    **dict.fromkeys(("Max", "Min"), _limits),
}
"""How each of them is translated."""
