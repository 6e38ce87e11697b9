"""Rewrites graphs before they are lowered: several operators that are one become that one."""

from collections.abc import Callable, Iterable
from typing import Final

from .graph import Graph
from .pattern_windows import merge_pads

Pass = Callable[[Graph], Graph]

_PASSES: Final[Iterable[Pass]] = (merge_pads,)


def simplify(graph: Graph) -> Graph:
    """Return the graph with known patterns as one operator each.

    What is rewritten computes the same values; a graph without patterns stays as it is.
    """
    for rewrite in _PASSES:
        graph = rewrite(graph)
    return graph
