"""Layout of a layered graph: places of its nodes and lines of its edges, in pixels.

The method of Sugiyama, Tagawa and Toda (IEEE Trans. SMC 11, 1981): an edge that passes ranks gets
a place in each of them, ranks are ordered by the barycentres of their neighbours, and then moved
sideways as near to them as the order and the widths allow.

Three things are made for networks: edges with the same source share one line up to where they
part, the longest chain stands straight, and long graphs are folded into columns where few edges
are cut. Libraries that come as wheels (igraph, fast-sugiyama) do none of them and take all nodes
to be equally wide; igraph, which is under the GPL, would replace a fifth of this module and of
``layered_grid.py``, and its U-Net is a staircase.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Final

from .layered_grid import SWEEPS, Edge, Grid, Size, grid_of, mean

Point = tuple[float, float]

_TRACK: Final = 7.0
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
        routes: for each edge the positions of its lines, from source to reader; edges that go
            far where many others do have no lines, and are not in it.
        width, height: of everything; all coordinates are between 0 and these.
    """

    places: tuple[Point, ...]
    lines: tuple[tuple[Point, ...], ...]
    routes: dict[Edge, tuple[int, ...]]
    width: float
    height: float


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
    grid, paths = grid_of([used[rank] for rank in ranks], list(edges), sizes, spacing.rows)
    x = _sideways(grid, _chains(grid, list(paths)), spacing.gap)
    return _geometry(grid, paths, x, spacing)


def _chains(grid: Grid, edges: Sequence[Edge]) -> list[tuple[int, ...]]:
    """Return chains of nodes that shall stand below each other; each node is in one of them.

    A node goes on with the reader that has the longest way to go, if the node is the last thing
    that this reader waits for.
    """
    readers: list[list[int]] = [[] for _ in range(grid.nodes)]
    latest: dict[int, int] = {}
    for source, reader in edges:
        readers[source].append(reader)
        if reader not in latest or grid.row[source] > grid.row[latest[reader]]:
            latest[reader] = source
    by_row = sorted(range(grid.nodes), key=lambda node: grid.row[node])
    length = [0] * grid.nodes
    follower: dict[int, int] = {}
    for node in reversed(by_row):
        length[node] = 1 + max((length[reader] for reader in readers[node]), default=0)
        waiting = [reader for reader in readers[node] if latest[reader] == node]
        if waiting:
            follower[node] = max(waiting, key=lambda reader: (length[reader], -reader))
    followers = set(follower.values())
    chains = []
    for node in by_row:
        if node not in followers:
            chain = [node]
            while chain[-1] in follower:
                chain.append(follower[chain[-1]])
            chains.append(tuple(chain))
    return chains


def _sideways(grid: Grid, chains: Sequence[tuple[int, ...]], gap: float) -> list[float]:
    """Return x of each element: near its neighbours, in order, and at least ``gap`` apart."""
    partners: tuple[dict[int, int], dict[int, int]] = ({}, {})
    # bends give way to nodes, and short chains to long ones
    weights = [1.0] * len(grid.row)
    for chain in chains:
        for node in chain:
            weights[node] = 1e3 * len(chain) ** 2
        for upper, lower in pairwise(chain):
            if grid.column[grid.row[upper]] == grid.column[grid.row[lower]]:
                partners[0][lower], partners[1][upper] = upper, lower
    x = [0.0] * len(grid.row)
    for row in grid.rows:
        _spread(grid, row, [0.0] * len(row), gap, weights, x)
    for sweep in range(2 * SWEEPS):
        for row in grid.rows if sweep % 2 == 0 else grid.rows[::-1]:
            near, partner = (grid.above, grid.below)[sweep % 2], partners[sweep % 2]
            wanted = [x[partner[e]] if e in partner else _wanted(grid, e, near, x) for e in row]
            _spread(grid, row, wanted, gap, weights, x)
    # at last lines are made straight: each bend goes where the one before it had to go
    for rows, near in ((grid.rows, grid.above), (grid.rows[::-1], grid.below)):
        for row in rows:
            wanted = [x[_bend_before(grid, e, near)] for e in row]
            _spread(grid, row, wanted, gap, weights, x)
    return x


def _wanted(grid: Grid, element: int, near: Sequence[Sequence[int]], x: Sequence[float]) -> float:
    """Return where an element would stand best, as seen from the rows above or below."""
    column = grid.column[grid.row[element]]
    linked = [e for e in near[element] if grid.column[grid.row[e]] == column]
    if element < grid.nodes:
        # layers stand near layers; lines go around them
        linked = [e for e in linked if e < grid.nodes] or linked
    return mean([x[e] for e in linked], x[element])


def _bend_before(grid: Grid, element: int, near: Sequence[Sequence[int]]) -> int:
    """Return the bend of the same line in the row before, if there is one; else the element."""
    if element < grid.nodes or grid.sizes[element][1] == 0:
        # where lines come into a column they may part at once
        return element
    column = grid.column[grid.row[element]]
    bends = [e for e in near[element] if e >= grid.nodes and grid.column[grid.row[e]] == column]
    return bends[0] if bends else element


def _spread(
    grid: Grid,
    row: Sequence[int],
    wanted: Sequence[float],
    gap: float,
    weights: Sequence[float],
    x: list[float],
) -> None:
    """Move a row's elements to where they want to be, as far as order and widths allow.

    That is the least sum of squares under lower limits of the distances, an isotonic regression
    of what remains without them.
    """
    from scipy.optimize import isotonic_regression

    if not row:
        return
    widths = [grid.sizes[e][0] for e in row]
    steps = [gap + (a + b) / 2 for a, b in pairwise(widths)]
    offsets = list(accumulate(steps, initial=0.0))
    free = [want - offset for want, offset in zip(wanted, offsets, strict=True)]
    found = isotonic_regression(free, weights=[weights[e] for e in row]).x
    for element, base, offset in zip(row, found, offsets, strict=True):
        x[element] = float(base) + offset


def _geometry(
    grid: Grid, paths: dict[Edge, tuple[int, ...]], x: list[float], spacing: Spacing
) -> Layout:
    """Put the columns side by side, and draw the lines."""
    tracks = _tracks(grid, x)
    # above the first rank: tracks, and lines that part from the row below them
    rim = spacing.drop + _TRACK * (max(map(len, tracks.values())) + 1) if tracks else 0.0
    y = _heights(grid, rim, spacing.drop)
    ends = [y[e] + grid.sizes[e][1] / 2 for e in range(len(y))]
    bottom = [0.0] * (max(grid.column, default=0) + 1)
    for element, end in enumerate(ends):
        column = grid.column[grid.row[element]]
        bottom[column] = max(bottom[column], end)
    x, turns = _columns(grid, x, tracks)
    links = dict.fromkeys(link for path in paths.values() for link in pairwise(path))
    lines = []
    for upper, lower in links:
        start = (x[upper], ends[upper])
        half = grid.sizes[lower][1] / 2
        if (upper, lower) in turns:
            right, track, above = turns[upper, lower]
            low = bottom[grid.column[grid.row[upper]]] + _TRACK * (track + 1)
            high = y[lower] - _TRACK * above
            line = [start, (start[0], low), (right, low), (right, high), (x[lower], high)]
        else:
            line = _curve(start, (x[lower], y[lower] - half))
        if lower >= grid.nodes:  # through the bend
            line.append((x[lower], y[lower] + half))
        lines.append(tuple(line))
    place = {link: i for i, link in enumerate(links)}
    return Layout(
        tuple((x[e], y[e]) for e in range(grid.nodes)),
        tuple(lines),
        {edge: tuple(place[link] for link in pairwise(path)) for edge, path in paths.items()},
        max((x[e] + grid.sizes[e][0] / 2 for e in range(len(x))), default=0.0),
        max(bottom) + rim,
    )


def _tracks(grid: Grid, x: Sequence[float]) -> dict[int, list[Edge]]:
    """Return the links that lead into each column from the one before.

    They are nested so that they do not cross on the way: the rightmost turns first.
    """
    tracks: dict[int, list[Edge]] = {}
    for upper, lower in ((a, b) for row in grid.rows for a in row for b in grid.below[a]):
        column = grid.column[grid.row[lower]]
        if grid.column[grid.row[upper]] != column:
            tracks.setdefault(column, []).append((upper, lower))
    for links in tracks.values():
        links.sort(key=lambda link: -x[link[0]])
    return tracks


def _heights(grid: Grid, rim: float, drop: float) -> list[float]:
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
    grid: Grid, x: Sequence[float], tracks: dict[int, list[Edge]]
) -> tuple[list[float], dict[Edge, tuple[float, int, int]]]:
    """Return x with the columns side by side, and how links go from each to the next.

    That is x between the columns, and the tracks below the first and above the second.
    """
    moved, turns, edge = list(x), {}, 0.0
    for column in range(max(grid.column, default=-1) + 1):
        members = [e for e in range(len(x)) if grid.column[grid.row[e]] == column]
        links = tracks.get(column, [])
        for i, link in enumerate(links):
            turns[link] = (edge + _TRACK * (i + 2), i, len(links) - i)
        if column:
            edge += _TRACK * (len(links) + 3)
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
