"""Patterns of norms, softmax and rotary embeddings that front ends deliver in parts."""

from dataclasses import replace
from math import prod
from typing import Final

from ..graph import Op, Tensor
from .matching import Matcher, Pattern


def _vector_norm(matcher: Matcher, op: Op) -> Op | None:
    """Match layer norms and RMS norms without scale and shift.

    That is y / sqrt(mean(y^2) + eps), with y = x - mean(x) for a layer norm, as a quotient or as
    a product with the inverse root.
    """
    first, second = op.inputs
    sides = ((first, second),) if op.kind == "div" else ((first, second), (second, first))
    for y, scale in sides:
        below = _root(matcher, scale) if op.kind == "div" else _inverse_root(matcher, scale)
        mean = _mean_of_square(matcher, below, y) if below else None
        if mean is None:
            continue
        axes = mean.attributes["axes"]
        rank = len(matcher.tensor(op.outputs[0]).shape)
        if sorted(axes) != list(range(rank - len(axes), rank)):
            continue
        centred = _centred(matcher, y, axes)
        kind = "layer_norm" if centred else "rms_norm"
        empty = ("", "") if centred else ("",)
        named = {"dimensions": len(axes)}
        return Op(op.name, kind, (centred or y, *empty), op.outputs, named)
    return None


def _root(matcher: Matcher, name: str) -> str:
    """Return v of sqrt(v)."""
    made = matcher.function(name, "sqrt")
    if made is None:
        made = matcher.function(name, "pow")
        if made is None or made.attributes.get("exponent") != 0.5:
            return ""
    return made.inputs[0]


def _inverse_root(matcher: Matcher, name: str) -> str:
    """Return v of 1 / sqrt(v)."""
    made = matcher.function(name, "rsqrt", "reciprocal", "pow")
    if made is not None:
        function = made.attributes["function"]
        if function == "reciprocal":
            return _root(matcher, made.inputs[0])
        right = function == "rsqrt" or made.attributes.get("exponent") == -0.5
        return made.inputs[0] if right else ""
    quotient = matcher.maker(name, "div")
    if quotient is None or matcher.value(quotient.inputs[0]) != 1:
        return ""
    return _root(matcher, quotient.inputs[1])


def _mean_of_square(matcher: Matcher, name: str, y: str) -> Op | None:
    """Return the mean in mean(y^2) + eps."""
    moved = matcher.with_scalar(name, "add")
    mean = matcher.maker(moved[0] if moved else name, "mean")
    if mean is None:
        return None
    square = matcher.maker(mean.inputs[0], "mul", "unary")
    if square is None:
        return None
    if square.kind == "unary":
        named = square.attributes
        if named["function"] != "pow" or named.get("exponent") != 2:
            return None
    sources = {_origin(matcher, name) for name in square.inputs}
    return mean if sources == {_origin(matcher, y)} else None


def _origin(matcher: Matcher, name: str) -> object:
    """Return what a tensor is, so that the same difference made twice is one."""
    difference = matcher.maker(name, "sub")
    if difference is None:
        return matcher.plain(name)
    x, middle = difference.inputs
    mean = matcher.maker(middle, "mean")
    if mean is None:
        return x, middle
    return matcher.plain(x), matcher.plain(mean.inputs[0]), mean.attributes["axes"]


def _centred(matcher: Matcher, y: str, axes: tuple[int, ...]) -> str:
    """Return x of x - mean(x)."""
    difference = matcher.maker(y, "sub")
    if difference is None:
        return ""
    x, middle = difference.inputs
    mean = matcher.maker(middle, "mean")
    if mean is None or mean.attributes["axes"] != axes or not matcher.same(mean.inputs[0], x):
        return ""
    return x


def softmax(matcher: Matcher, op: Op) -> Op | None:
    """Match exp(x) / sum(exp(x)), with or without the maximum subtracted before."""
    above = matcher.function(op.inputs[0], "exp")
    mean = matcher.maker(op.inputs[1], "mean")
    if above is None or mean is None or len(mean.attributes["axes"]) != 1:
        return None
    if matcher.function(mean.inputs[0], "exp") is not above:
        return None
    axes, source = mean.attributes["axes"], above.inputs[0]
    difference = matcher.maker(source, "sub")
    most = matcher.maker(difference.inputs[1], "max") if difference else None
    if difference and most and matcher.same(difference.inputs[0], most.inputs[0]):
        source = difference.inputs[0]
    return Op(op.name, "softmax", (source,), op.outputs, {"axis": axes[0]})


def _norm_scale(matcher: Matcher, op: Op) -> Op | None:
    """Match a norm times a learned scale."""
    return _with_learned(matcher, op, ("layer_norm", "rms_norm", "group_norm"), 1)


def _norm_shift(matcher: Matcher, op: Op) -> Op | None:
    """Match a scaled norm plus a learned shift."""
    return _with_learned(matcher, op, ("layer_norm", "group_norm"), 2)


def _with_learned(matcher: Matcher, op: Op, kinds: tuple[str, ...], place: int) -> Op | None:
    for name, other in (op.inputs, op.inputs[::-1]):
        learned = matcher.learned(other)
        norm = matcher.maker(name, *kinds) if learned and matcher.alone(name) else None
        if norm is None or learned is None:
            continue
        inputs = [*norm.inputs, "", ""][:3]
        free = not inputs[place] and (place == 1 or bool(inputs[1]))
        if free and _fits(matcher, norm, learned):
            inputs[place] = other
            kept = inputs if norm.kind != "rms_norm" else inputs[:2]
            return replace(norm, name=op.name, inputs=tuple(kept), outputs=op.outputs)
    return None


def _fits(matcher: Matcher, norm: Op, learned: Tensor) -> bool:
    """Whether a learned tensor has one value for each feature, or channel."""
    shape = matcher.tensor(norm.outputs[0]).shape
    if norm.kind == "group_norm":
        wide = (1,) * (len(shape) - len(learned.shape)) + learned.shape
        return prod(learned.shape) == shape[1] == wide[1]
    last = shape[len(shape) - norm.attributes["dimensions"] :]
    return learned.shape[-len(last) :] == last and prod(learned.shape) == prod(last)


def group_norm(matcher: Matcher, op: Op) -> Op | None:
    """Match a group norm as ONNX had to say it: an instance norm of reshaped groups."""
    norm = matcher.maker(op.inputs[0], "group_norm")
    before = matcher.maker(norm.inputs[0], "reshape") if norm else None
    if norm is None or before is None or any(map(matcher.learned, norm.inputs[1:])):
        return None
    source = before.inputs[0]
    shape, middle = matcher.tensor(source).shape, matcher.tensor(norm.inputs[0]).shape
    if shape != matcher.tensor(op.outputs[0]).shape or middle[:1] != shape[:1]:
        return None
    groups = norm.attributes["groups"]
    if len(shape) < 2 or groups != middle[1] or shape[1] % groups:
        return None
    return Op(op.name, "group_norm", (source, "", ""), op.outputs, {"groups": groups})


def rotary(matcher: Matcher, op: Op) -> Op | None:
    """Match x * cos + turned(x) * sin, where turned swaps the halves of x and negates one."""
    for straight, turned in (op.inputs, op.inputs[::-1]):
        x = _times_table(matcher, straight)
        swapped = _times_table(matcher, turned)
        if x and swapped and _is_turned(matcher, swapped, x):
            return Op(op.name, "rotary", (x,), op.outputs)
    return None


def _times_table(matcher: Matcher, name: str) -> str:
    """Return y of y times a constant of many values.

    A file may not tell a table of a few positions from learned values: how x is turned does.
    """
    made = matcher.maker(name, "mul")
    if made is None:
        return ""
    for y, table in (made.inputs, made.inputs[::-1]):
        tensor = matcher.graph.tensors[table]
        if tensor.constant and prod(tensor.shape) > 1:
            return y
    return ""


def _is_turned(matcher: Matcher, name: str, x: str) -> bool:
    both = matcher.maker(name, "concat")
    if both is None or len(both.inputs) != 2:
        return False
    axis = both.attributes["axis"]
    negated = [matcher.function(half, "neg") is not None for half in both.inputs]
    halves = [matcher.maker(matcher.plain(half), "slice") for half in both.inputs]
    second, first = (half.attributes["start"] if half else -1 for half in halves)
    length = matcher.tensor(x).shape[axis]
    return (
        negated[0] != negated[1]
        and axis == len(matcher.tensor(x).shape) - 1
        and (first, second) == (0, length // 2)
        and all(half is not None and matcher.same(half.inputs[0], x) for half in halves)
    )


PATTERNS: Final[dict[str, tuple[Pattern, ...]]] = {
    "div": (_vector_norm, softmax),
    "mul": (_vector_norm, _norm_scale),
    "add": (_norm_shift, rotary),
    "reshape": (group_norm,),
}
