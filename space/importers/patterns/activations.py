"""Patterns of activations that front ends deliver in parts."""

from typing import Final

from ..graph import Op
from .matching import Matcher, Pattern


def _activation(op: Op, source: str, function: str) -> Op:
    return Op(op.name, "activation", (source,), op.outputs, {"function": function})


def _either_way(op: Op) -> tuple[tuple[str, str], tuple[str, str]]:
    first, second = op.inputs
    return (first, second), (second, first)


def _gated_by_itself(matcher: Matcher, op: Op) -> Op | None:
    """Match x * f(x): SiLU, Mish, hardswish."""
    for x, gate in _either_way(op):
        function = _gate(matcher, x, matcher.plain(gate))
        if function:
            return _activation(op, matcher.plain(x), function)
    return None


def _gate(matcher: Matcher, x: str, gate: str) -> str:
    made = matcher.function(gate, "sigmoid", "hardsigmoid", "tanh", "relu6")
    if made is None:
        return ""
    source, function = made.inputs[0], made.attributes["function"]
    if function == "sigmoid" and matcher.same(source, x):
        return "silu"
    if function == "hardsigmoid" and matcher.same(source, x):
        return "hardswish"
    if function == "relu6" and _plus_three(matcher, source, x):
        return "hardswish"
    inner = matcher.function(source, "softplus") if function == "tanh" else None
    return "mish" if inner is not None and matcher.same(inner.inputs[0], x) else ""


def _plus_three(matcher: Matcher, name: str, x: str = "") -> str:
    """Return y of y + 3; ``x`` if it is given and y is x."""
    moved = matcher.with_scalar(name, "add")
    if moved is None or moved[1] != 3:
        return ""
    return moved[0] if not x or matcher.same(moved[0], x) else ""


def _hard_sigmoid(matcher: Matcher, op: Op) -> Op | None:
    """Match min(max(x + 3, 0), 6) / 6."""
    scaled = matcher.with_scalar_of(op)
    if scaled is None or scaled[1] is None:
        return None
    factor = scaled[1] if op.kind == "mul" else 1 / scaled[1] if scaled[1] else 0.0
    made = matcher.function(scaled[0], "relu6")
    # a sixth, as a file may hold it in half precision
    if made is None or abs(factor * 6 - 1) > 1e-3:
        return None
    source = _plus_three(matcher, made.inputs[0])
    return _activation(op, source, "hardsigmoid") if source else None


def gelu(matcher: Matcher, op: Op) -> Op | None:
    """Match x * (1 + erf(a x)) and x * (1 + tanh(polynomial of x)), factors aside.

    Both are GELU (Hendrycks and Gimpel, 2016), exact and approximate.
    """
    for x, gate in _either_way(op):
        moved = matcher.with_scalar(matcher.plain(gate), "add")
        if moved is None or moved[1] != 1:
            continue
        made = matcher.function(matcher.plain(moved[0]), "erf", "tanh")
        if made is not None and matcher.is_polynomial(made.inputs[0], x):
            return _activation(op, matcher.plain(x), "gelu")
    return None


def softplus(matcher: Matcher, op: Op) -> Op | None:
    """Match log(1 + exp(x))."""
    if op.attributes["function"] != "log":
        return None
    moved = matcher.with_scalar(op.inputs[0], "add")
    made = matcher.function(moved[0], "exp") if moved and moved[1] == 1 else None
    return _activation(op, made.inputs[0], "softplus") if made else None


PATTERNS: Final[dict[str, tuple[Pattern, ...]]] = {
    "mul": (_hard_sigmoid, gelu, _gated_by_itself),
    "div": (_hard_sigmoid,),
    "unary": (softplus,),
}
