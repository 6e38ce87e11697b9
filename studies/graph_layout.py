"""Where the nodes and edges of a layered graph stand in a picture, in pixels; y grows downwards.

The method of Sugiyama, Tagawa and Toda (IEEE Trans. SMC 11, 1981): an edge that passes ranks gets
a place in each of them, ranks are ordered by the barycentres of their neighbours, and then moved
sideways as near to them as the order and the widths allow. Two things are made for networks, and
are why no library does it: edges with the same source share one line up to where they part, and
long graphs are folded into columns, where few edges are cut.
"""

from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Final

Point = tuple[float, float]
Edge = tuple[int, int]
Size = tuple[float, float]

_SWEEPS: Final = 8
"""Times that ranks are ordered, and moved, in each direction; more changed no picture of ours."""
_LANE: Final = 7.0
"""Between lines that run side by side, in pixels."""
_CURVE: Final = 8
"""Straight pieces of a curve."""


@dataclass(frozen=True, slots=True)
class Spacing:
    """Distances in pixels, and where columns end.

    Attributes:
        drop: between two ranks.
        gap: between the nodes of a rank.
        rows: most ranks of a column.
    """

    drop: float
    gap: float
    rows: int


@dataclass(frozen=True, slots=True)
class Layout:
    """A picture's geometry.

    Attributes:
        places: middle of each node.
        lines: the lines that edges consist of; each belongs to one source.
        routes: for each edge the positions of its lines, from source to reader.
        width, height: of everything; all coordinates are between 0 and these.
    """

    places: tuple[Point, ...]
    lines: tuple[tuple[Point, ...], ...]
    routes: dict[Edge, tuple[int, ...]]
    width: float
    height: float


@dataclass
class _Grid:
    """Elements in rows: the nodes, and after them a bend for each rank that a line passes."""

    column: list[int]
    """of each row"""
    rows: list[list[int]]
    row: list[int]
    sizes: list[Size]
    height: list[float]
    """of each row; no more than a line's where lines come into a column"""
    bends: dict[Edge, int] = field(default_factory=dict)
    """by source and row"""
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


def layered(
    ranks: Sequence[int], edges: Iterable[Edge], sizes: Sequence[Size], spacing: Spacing
) -> Layout:
    """Lay a graph out.

    Args:
        ranks: of each node; nodes of a rank stand side by side.
        edges: (source, reader), each from a lower to a higher rank, without repetitions.
        sizes: width and height of each node, in pixels.
        spacing: of the picture.
    """
    used = {rank: i for i, rank in enumerate(sorted(set(ranks)))}
    dense = [used[rank] for rank in ranks]
    edges = list(edges)
    folds = _folds(dense, edges, spacing.rows)
    grid = _grid(dense, folds, sizes)
    paths = _paths(grid, edges)
    _order(grid)
    x = _sideways(grid, spacing.gap)
    return _geometry(grid, paths, x, len(ranks), spacing)


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


def _grid(ranks: Sequence[int], folds: Sequence[int], sizes: Sequence[Size]) -> _Grid:
    """Return the nodes in rows; a column begins with a row for the lines that come into it."""
    row = [rank + bisect_right(folds, rank) for rank in ranks]
    starts = [fold + i for i, fold in enumerate(folds)]
    count = max(ranks, default=-1) + 1 + len(folds)
    rows: list[list[int]] = [[] for _ in range(count)]
    for node, place in enumerate(row):
        rows[place].append(node)
    height = [max((sizes[node][1] for node in members), default=0.0) for members in rows]
    column = [bisect_right(starts, r) for r in range(count)]
    return _Grid(column, rows, row, list(sizes), height)


def _paths(grid: _Grid, edges: Sequence[Edge]) -> dict[Edge, tuple[int, ...]]:
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


def _order(grid: _Grid) -> None:
    """Order the elements of each row so that few lines cross."""
    best, fewest = grid.rows, _crossings(grid, grid.rows)
    rows = [list(row) for row in grid.rows]
    for sweep in range(2 * _SWEEPS):
        if fewest == 0:
            break
        near, path = (grid.above, rows) if sweep % 2 == 0 else (grid.below, rows[::-1])
        place = {element: float(i) for row in rows for i, element in enumerate(row)}
        for row in path:
            row.sort(key=lambda e: _mean([place[n] for n in near[e]], place[e]))
            place.update((element, float(i)) for i, element in enumerate(row))
        found = _crossings(grid, rows)
        if found < fewest:
            best, fewest = [list(row) for row in rows], found
    grid.rows = best


def _crossings(grid: _Grid, rows: Sequence[Sequence[int]]) -> int:
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


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _sideways(grid: _Grid, gap: float) -> list[float]:
    """Return x of each element: near its neighbours, in order, and at least ``gap`` apart."""
    x = [0.0] * len(grid.row)
    for row in grid.rows:
        _spread(grid, row, [0.0] * len(row), gap, x)
    nodes = len(grid.row) - len(grid.bends)
    for sweep in range(2 * _SWEEPS):
        down = sweep % 2 == 0
        for row in grid.rows if down else grid.rows[::-1]:
            wanted = [_wanted(grid, e, x, nodes, down) for e in row]
            _spread(grid, row, wanted, gap, x)
    # at last lines are made straight: each bend goes where the one before it had to go
    for rows, near in ((grid.rows, grid.above), (grid.rows[::-1], grid.below)):
        for row in rows:
            _spread(grid, row, [x[_bend_before(grid, e, near, nodes)] for e in row], gap, x)
    return x


def _bend_before(grid: _Grid, element: int, near: Sequence[Sequence[int]], nodes: int) -> int:
    """Return the bend of the same line in the row before, if there is one; else the element."""
    if element < nodes or grid.sizes[element][1] == 0:
        # where lines come into a column they may part at once
        return element
    column = grid.column[grid.row[element]]
    bends = [e for e in near[element] if e >= nodes and grid.column[grid.row[e]] == column]
    return bends[0] if bends else element


def _wanted(grid: _Grid, element: int, x: Sequence[float], nodes: int, down: bool) -> float:
    """Return where an element would stand best, as seen from the rows above or below."""
    near = grid.above[element] if down else grid.below[element]
    near = [e for e in near if grid.column[grid.row[e]] == grid.column[grid.row[element]]]
    if element < nodes:
        # layers that follow each other stand below each other; lines go around them
        near = [e for e in near if e < nodes] or near
    return _mean([x[e] for e in near], x[element])


def _spread(
    grid: _Grid, row: Sequence[int], wanted: Sequence[float], gap: float, x: list[float]
) -> None:
    """Move a row's elements to where they want to be, as far as order and widths allow.

    That is the least sum of squares under lower limits of the distances, an isotonic regression
    of what remains without them.
    """
    from scipy.optimize import isotonic_regression

    if not row:
        return
    nodes = len(grid.row) - len(grid.bends)
    sizes = [grid.sizes[e][0] for e in row]
    steps = [gap + (a + b) / 2 for a, b in pairwise(sizes)]
    offsets = list(accumulate(steps, initial=0.0))
    free = [want - offset for want, offset in zip(wanted, offsets, strict=True)]
    # a node outweighs the lines beside it
    weights = [1e4 if element < nodes else 1.0 for element in row]
    for element, base, offset in zip(
        row, isotonic_regression(free, weights=weights).x, offsets, strict=True
    ):
        x[element] = float(base) + offset


def _geometry(
    grid: _Grid, paths: dict[Edge, tuple[int, ...]], x: list[float], nodes: int, spacing: Spacing
) -> Layout:
    """Put the columns side by side, and draw the lines."""
    lanes = _lanes(grid, x)
    # above the first rank: lanes, and lines that part from the row below them
    rim = spacing.drop + _LANE * (max(map(len, lanes.values())) + 1) if lanes else 0.0
    y = _heights(grid, rim, spacing.drop)
    ends = [y[e] + grid.sizes[e][1] / 2 for e in range(len(y))]
    bottom = [0.0] * (max(grid.column, default=0) + 1)
    for element, end in enumerate(ends):
        column = grid.column[grid.row[element]]
        bottom[column] = max(bottom[column], end)
    x, turns = _columns(grid, x, lanes)
    links = dict.fromkeys(link for path in paths.values() for link in pairwise(path))
    lines = []
    for upper, lower in links:
        start = (x[upper], ends[upper])
        half = grid.sizes[lower][1] / 2
        if (upper, lower) in turns:
            right, lane, above = turns[upper, lower]
            low = bottom[grid.column[grid.row[upper]]] + _LANE * (lane + 1)
            high = y[lower] - _LANE * above
            line = [start, (start[0], low), (right, low), (right, high), (x[lower], high)]
        else:
            line = _curve(start, (x[lower], y[lower] - half))
        if lower >= nodes:  # through the bend
            line.append((x[lower], y[lower] + half))
        lines.append(tuple(line))
    place = {link: i for i, link in enumerate(links)}
    return Layout(
        tuple((x[e], y[e]) for e in range(nodes)),
        tuple(lines),
        {edge: tuple(place[link] for link in pairwise(path)) for edge, path in paths.items()},
        max((x[e] + grid.sizes[e][0] / 2 for e in range(len(x))), default=0.0),
        max(bottom) + rim,
    )


def _lanes(grid: _Grid, x: Sequence[float]) -> dict[int, list[Edge]]:
    """Return the links that lead into each column from the one before.

    They are nested so that they do not cross on the way: the rightmost turns first.
    """
    lanes: dict[int, list[Edge]] = {}
    for upper, lower in ((a, b) for row in grid.rows for a in row for b in grid.below[a]):
        column = grid.column[grid.row[lower]]
        if grid.column[grid.row[upper]] != column:
            lanes.setdefault(column, []).append((upper, lower))
    for links in lanes.values():
        links.sort(key=lambda link: -x[link[0]])
    return lanes


def _heights(grid: _Grid, rim: float, drop: float) -> list[float]:
    """Return y of each element; the row of lines that come in stands above the first rank."""
    ys: list[float] = []
    y, column = rim, 0
    for here, height in zip(grid.column, grid.height, strict=True):
        if here != column:
            y, column = rim - drop, here
        ys.append(y + height / 2)
        y += height + drop
    return [ys[row] for row in grid.row]


def _columns(
    grid: _Grid, x: Sequence[float], lanes: dict[int, list[Edge]]
) -> tuple[list[float], dict[Edge, tuple[float, int, int]]]:
    """Return x with the columns side by side, and how links go from each to the next.

    That is x between the columns, and the lanes below the first and above the second.
    """
    moved, turns, edge = list(x), {}, 0.0
    for column in range(max(grid.column, default=-1) + 1):
        members = [e for e in range(len(x)) if grid.column[grid.row[e]] == column]
        links = lanes.get(column, [])
        for i, link in enumerate(links):
            turns[link] = (edge + _LANE * (i + 2), i, len(links) - i)
        if column:
            edge += _LANE * (len(links) + 3)
        shift = edge - min(x[e] - grid.sizes[e][0] / 2 for e in members)
        for e in members:
            moved[e] += shift
        edge = max(moved[e] + grid.sizes[e][0] / 2 for e in members)
    return moved, turns


def _curve(start: Point, end: Point) -> list[Point]:
    """Return a line that leaves and arrives vertically."""
    (x, y), (right, low) = start, end
    if abs(right - x) < 1:
        return [start, end]
    steps = [i / _CURVE for i in range(_CURVE + 1)]
    return [(x + (right - x) * t * t * (3 - 2 * t), y + (low - y) * t) for t in steps]
