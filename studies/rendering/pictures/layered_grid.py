"""The rows and columns of a layered graph: which elements they hold, in which order.

Part of :mod:`.layered_layout`, which says what for.
"""

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

Edge = tuple[int, int]
Size = tuple[float, float]

SWEEPS: Final = 8
"""Times that ranks are ordered, and moved, in each direction; more changed no picture of ours."""
_TRACKS: Final = 8
"""Most lines from one column to the next: beyond that nobody follows them by eye (ours)."""


@dataclass
class Grid:
    """Elements in rows: the nodes, and after them a bend for each row that a line passes.

    Attributes:
        nodes: how many there are.
        column: of each row.
        rows: elements from left to right.
        row: of each element.
        sizes: width and height of each element.
        height: of each row; 0 of those in which lines come into a column.
        bends: elements by source and row.
        above, below: elements that each one is linked to.
    """

    nodes: int
    column: list[int]
    rows: list[list[int]]
    row: list[int]
    sizes: list[Size]
    height: list[float]
    bends: dict[Edge, int] = field(default_factory=dict)
    above: list[list[int]] = field(default_factory=list)
    below: list[list[int]] = field(default_factory=list)

    def bend(self, source: int, row: int) -> int:
        """Return the element of a source's line in a row; the source itself in its own."""
        if row == self.row[source]:
            return source
        if (source, row) not in self.bends:
            self.bends[source, row] = len(self.row)
            self.rows[row].append(len(self.row))
            self.row.append(row)
            self.sizes.append((2.0, self.height[row]))
            self.above.append([])
            self.below.append([])
        return self.bends[source, row]


def grid_of(
    ranks: Sequence[int], edges: Sequence[Edge], sizes: Sequence[Size], most: int
) -> tuple[Grid, dict[Edge, tuple[int, ...]]]:
    """Return the ordered rows of a graph, and the elements through which its edges run.

    Args:
        ranks: of each node, from 0 on without gaps.
        edges: (source, reader).
        sizes: of each node.
        most: ranks of a column.

    Edges that would lead too many lines from one column to the next run through none.
    """
    folds = _folds(ranks, edges, most)
    drawn = _short_enough(ranks, edges, folds)
    grid = _nodes(ranks, folds, sizes)
    paths = _paths(grid, drawn)
    _order(grid)
    return grid, paths


def _folds(ranks: Sequence[int], edges: Sequence[Edge], most: int) -> list[int]:
    """Return the first rank of each column but the first: where the fewest lines are cut."""
    count = max(ranks, default=-1) + 1
    last: dict[int, int] = {}
    for source, reader in edges:
        last[source] = max(last.get(source, 0), ranks[reader])
    cut = [0] * (count + 1)
    for source, end in last.items():
        for rank in range(ranks[source] + 1, end + 1):
            cut[rank] += 1
    folds: list[int] = []
    start = 0
    while count - start > most:
        columns = -(-(count - start) // most)
        even = -(-(count - start) // columns)
        window = range(start + max(1, even * 3 // 4), start + most + 1)
        start = min(window, key=lambda rank: (cut[rank], abs(rank - start - even)))
        folds.append(start)
    return folds


def _short_enough(ranks: Sequence[int], edges: Sequence[Edge], folds: Sequence[int]) -> list[Edge]:
    """Return the edges without those of the lines that go farthest, where lines are too many."""
    drawn = list(edges)
    for fold in folds:
        ends: dict[int, int] = {}
        for source, reader in drawn:
            if ranks[source] < fold <= ranks[reader]:
                ends[source] = max(ends.get(source, 0), ranks[reader])
        # of lines that go equally far, the last ones to begin are kept
        far = sorted(ends, key=lambda source: (ends[source], -ranks[source]))[_TRACKS:]
        drawn = [(s, r) for s, r in drawn if s not in far or ranks[r] < fold or ranks[s] >= fold]
    return drawn


def _nodes(ranks: Sequence[int], folds: Sequence[int], sizes: Sequence[Size]) -> Grid:
    """Return the nodes in rows; a column begins with a row for the lines that come into it."""
    row = [rank + bisect_right(folds, rank) for rank in ranks]
    starts = [fold + i for i, fold in enumerate(folds)]
    count = max(ranks, default=-1) + 1 + len(folds)
    rows: list[list[int]] = [[] for _ in range(count)]
    for node, place in enumerate(row):
        rows[place].append(node)
    height = [max((sizes[node][1] for node in members), default=0.0) for members in rows]
    column = [bisect_right(starts, r) for r in range(count)]
    return Grid(len(ranks), column, rows, row, list(sizes), height)


def _paths(grid: Grid, edges: Sequence[Edge]) -> dict[Edge, tuple[int, ...]]:
    """Return the elements through which each edge runs; makes those that it needs."""
    grid.above, grid.below = [[] for _ in grid.row], [[] for _ in grid.row]
    paths = {}
    for source, reader in edges:
        bends = [grid.bend(source, row) for row in range(grid.row[source], grid.row[reader])]
        paths[source, reader] = (*bends, reader)
        for upper, lower in pairwise(paths[source, reader]):
            if lower not in grid.below[upper]:
                grid.below[upper].append(lower)
                grid.above[lower].append(upper)
    return paths


def _order(grid: Grid) -> None:
    """Order the elements of each row so that few lines cross."""
    best, fewest = grid.rows, _crossings(grid, grid.rows)
    rows = [list(row) for row in grid.rows]
    for sweep in range(2 * SWEEPS):
        if fewest == 0:
            break
        near, path = (grid.above, rows) if sweep % 2 == 0 else (grid.below, rows[::-1])
        place = {element: float(i) for row in rows for i, element in enumerate(row)}
        for row in path:
            row.sort(key=lambda e: mean([place[n] for n in near[e]], place[e]))
            place.update((element, float(i)) for i, element in enumerate(row))
        found = _crossings(grid, rows)
        if found < fewest:
            best, fewest = [list(row) for row in rows], found
    grid.rows = best


def _crossings(grid: Grid, rows: Sequence[Sequence[int]]) -> int:
    """Return how many pairs of lines between neighbouring rows cross."""
    crossings = 0
    for upper, lower in pairwise(rows):
        place = {element: i for i, element in enumerate(lower)}
        ends: list[int] = []
        for element in upper:
            here = sorted(place[e] for e in grid.below[element])
            crossings += sum(len(ends) - bisect_right(ends, end) for end in here)
            for end in here:
                insort(ends, end)
    return crossings


def mean(values: Sequence[float], otherwise: float) -> float:
    """Return the mean, or ``otherwise`` of nothing."""
    return sum(values) / len(values) if values else otherwise
