"""Rewriting of a graph: patterns become operators, zeros around feature maps become padding."""

from dataclasses import replace
from typing import Final

from ..graph import Graph, Op
from . import activations as pattern_activations, norms as pattern_norms
from .masks import with_masks
from .matching import Pattern, live, rewrite

_WINDOWED: Final = ("conv", "pool")


def _merge_pads(graph: Graph) -> Graph:
    """Let convolutions and pools pad for themselves where only they read a pad's result.

    Negative padding, and padding of channels, stays.
    """
    pads = {op.outputs[0]: op for op in graph.ops if op.kind == "pad" and _takes_sides(op)}
    if not pads:
        return graph
    ops = [
        _with_padding(op, pads[op.inputs[0]])
        if op.kind in _WINDOWED and op.inputs[0] in pads
        else op
        for op in graph.ops
    ]
    return replace(graph, ops=tuple(ops))


def _takes_sides(op: Op) -> bool:
    start, end = op.attributes["start"], op.attributes["end"]
    return min(*start, *end) >= 0 and not any((*start[:2], *end[:2]))


def _with_padding(op: Op, pad: Op) -> Op:
    sides = slice(2, None)
    start = _sums(op.attributes["start"], pad.attributes["start"][sides])
    named = {**op.attributes, "start": start}
    if "end" in named:
        named["end"] = _sums(named["end"], pad.attributes["end"][sides])
    return replace(op, inputs=(pad.inputs[0], *op.inputs[1:]), attributes=named)


def _sums(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(a + b for a, b in zip(one, other, strict=True))


_PATTERNS: Final[dict[str, tuple[Pattern, ...]]] = {
    kind: (*pattern_norms.PATTERNS.get(kind, ()), *pattern_activations.PATTERNS.get(kind, ()))
    for kind in {**pattern_norms.PATTERNS, **pattern_activations.PATTERNS}
}


def simplify(graph: Graph) -> Graph:
    """Return the graph with known patterns as one operator each, and without dead operators.

    What is rewritten computes the same values but for factors of constants, which are free. A
    graph without patterns stays as it is.
    """
    return live(with_masks(_merge_pads(rewrite(graph, _PATTERNS))))
