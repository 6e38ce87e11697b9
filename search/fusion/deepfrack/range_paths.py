"""Shortest paths over ends of ranges of consecutive layers."""

from collections.abc import Mapping
from math import inf

import numpy as np

from archloom.evaluators import Floats

#: first layer, and the layer after the last
Range = tuple[int, int]


class RangePaths:
    """Cuts layers into ranges of least cost.

    Args:
        count: layers.
        kinds: of ranges; what is not named cannot run, but for layers alone.
    """

    def __init__(self, count: int, kinds: Mapping[Range, int]) -> None:
        self._count = count
        # by end, then start; the kind after all others is for what cannot run
        self._kinds = np.full((count + 1, count + 1), -1, np.int64)
        for (start, end), kind in kinds.items():
            self._kinds[end, start] = kind

    def kind(self, span: Range) -> int:
        """Return the kind of a range; -1 if it cannot run."""
        return int(self._kinds[span[1], span[0]])

    def change(self, span: Range, kind: int) -> None:
        """Make a range of another kind."""
        self._kinds[span[1], span[0]] = kind

    def shortest(self, alone: Floats, costs: Floats) -> list[tuple[Range, int | None]] | None:
        """Return the ranges of the shortest path, in order, with their kinds; None if there is no
        path.

        Args:
            alone: float64[n], cost of each layer alone, whose kind is None.
            costs: float64[K], of each kind of range.
        """
        ways = np.append(costs, inf)[self._kinds]
        least = np.full(self._count + 1, inf)
        least[0], taken = 0.0, [-1]
        for end in range(1, self._count + 1):
            longer = least[:end] + ways[end, :end]
            start = int(longer.argmin())
            least[end] = least[end - 1] + alone[end - 1]
            # of equal ways a layer alone comes first, then what starts first
            if longer[start] < least[end]:
                least[end] = longer[start]
                taken.append(start)
            else:
                taken.append(-1)
        if least[-1] == inf:
            return None
        found: list[tuple[Range, int | None]] = []
        end = self._count
        while end:
            start = taken[end] if taken[end] >= 0 else end - 1
            span = (start, end)
            found.append((span, self.kind(span) if taken[end] >= 0 else None))
            end = start
        return found[::-1]
