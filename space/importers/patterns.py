"""Rewrites graphs before they are lowered: several operators that are one become that one."""

from typing import Final

from . import pattern_activations, pattern_norms
from .graph import Graph
from .matching import Pattern, live, rewrite
from .pattern_windows import merge_pads

_PATTERNS: Final[dict[str, tuple[Pattern, ...]]] = {
    kind: (*pattern_norms.PATTERNS.get(kind, ()), *pattern_activations.PATTERNS.get(kind, ()))
    for kind in {**pattern_norms.PATTERNS, **pattern_activations.PATTERNS}
}


def simplify(graph: Graph) -> Graph:
    """Return the graph with known patterns as one operator each, and without dead operators.

    What is rewritten computes the same values but for factors of constants, which are free. A
    graph without patterns stays as it is.
    """
    return live(merge_pads(rewrite(graph, _PATTERNS)))
