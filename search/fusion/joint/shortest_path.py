"""Paths of least energy x latency through an acyclic graph whose edges add up both.

Every vertex of the convex hull of all paths' (energy, latency) is the shortest path for some weight
of latency against energy (Eisner and Severance, JACM 1976). So a few shortest paths find the path
of least product, as :mod:`archloom.search.fusion.parametric_search` says; here they are in one
kernel. Each edge stands for as many parallel ones as its kind has rows in a table of options.

The search asks again and again while a few rows grow dearer. So edges through which no path has
a product near the best are left out, until the best has grown by as much or figures shrink.
"""

from math import inf
from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators import Floats, Ints
from archloom.evaluators.jit import compiled, copy_row

#: columns of figures
_ENERGY, _LATENCY = range(2)

#: by how much the least product may grow until edges that were left out are looked at again (ours)
_SLACK: Final = 1.005

#: relative difference of sums, and of products, that does not count
_TOLERANCE: Final = 1e-9

#: weight of the other cost in a least one, so that of equal paths the better one is found
_OTHER: Final = 1e-9


class Path(NamedTuple):
    """A path.

    Attributes:
        edges, rows: edges by number, from the first on, and the row of the table that each takes.
        energy, latency: sums over its edges.
    """

    edges: tuple[int, ...]
    rows: tuple[int, ...]
    energy: float
    latency: float

    @property
    def product(self) -> float:
        """Energy x latency."""
        return self.energy * self.latency


class _Graph(NamedTuple):
    """Edges and the rows of their kinds, as the kernels have them.

    Attributes:
        nodes: how many.
        starts, ends, kinds: int64[E], of each edge, ordered by starts.
        burdens: float64[E], added to the energy of each.
        first: int64[K], the first row of each kind; -1 for none.
        following: int64[R], the row of the same kind after each; -1 for none.
        figures: float64[R, 2], energy and latency of each row, positive; infinite if it cannot be
            taken.
    """

    nodes: int
    starts: Ints
    ends: Ints
    kinds: Ints
    burdens: Floats
    first: Ints
    following: Ints
    figures: Floats


class _Lanes(NamedTuple):
    """Parallel edges, ordered by starts: nodes of each, its energy and latency, edge and row."""

    starts: Ints
    ends: Ints
    energy: Floats
    latency: Floats
    edges: Ints
    rows: Ints


class LeastProductPaths:
    """Paths from node 0 to the last one, the one of least energy x latency among them.

    At first, the rows of each kind are the one of its number.

    Args:
        nodes: how many; every edge goes to a node of a greater number.
        starts, ends, kinds: int64[E], of each edge, ordered by starts.
        burdens: float64[E], of equal paths the one with the least sum is taken.
    """

    def __init__(self, nodes: int, starts: Ints, ends: Ints, kinds: Ints, burdens: Floats) -> None:
        self._nodes = nodes
        self._edges = starts, ends, kinds
        self._burdens = burdens
        count = int(kinds.max(initial=-1)) + 1
        self._first = np.arange(count)
        self._following = np.full(count, -1)
        self._every = np.arange(len(starts))
        # edges that are looked at, while the least product is at most so much; None where only the
        # weights are known from which they follow, the most weight on energy first
        self._active: Ints | None = self._every
        self._slopes, self._most = np.zeros((0, 2)), -inf
        self._figures = np.zeros((0, 2))

    def replace(self, kind: int, rows: list[int]) -> None:
        """Put some rows in the place of those of a kind."""
        self._first[kind] = rows[0] if rows else -1
        self._chain(rows, -1)

    def put_many(self, kinds: Ints, starts: Ints, stops: Ints, instead: bool) -> None:
        """Put rows from one on up to another, at least one, in front of those of each kind; or
        ``instead`` of them."""
        self._make_room(int(stops.max(initial=0)))
        for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
            self._following[start : stop - 1] = np.arange(start + 1, stop)
        self._following[stops - 1] = -1 if instead else self._first[kinds]
        self._first[kinds] = starts

    def rows(self, kind: int) -> list[int]:
        """Return the rows of a kind."""
        found, row = list[int](), int(self._first[kind])
        while row >= 0:
            found.append(row)
            row = int(self._following[row])
        return found

    def insert(self, row: int, rows: list[int]) -> None:
        """Put more rows of the same kind behind a row."""
        after = int(self._following[row])
        self._chain([row, *rows], after)
        self.reconsider()

    def _chain(self, rows: list[int], after: int) -> None:
        self._make_room(max(rows, default=0) + 1)
        for row, following in zip(rows, [*rows[1:], after], strict=False):
            self._following[row] = following

    def _make_room(self, rows: int) -> None:
        """Have room for so many rows."""
        short = rows - len(self._following)
        if short > 0:
            more = np.full(short + len(self._following), -1)
            self._following = np.concatenate([self._following, more])

    def reconsider(self) -> None:
        """Look at all edges again, since the energy or the latency of some row became less."""
        self._most = -inf

    def least_product(self, figures: Floats, tie: float = 0.0) -> Path | None:
        """Return the path with the least energy x latency.

        Args:
            figures: float64[R, 2], energy and latency of each row, positive; infinite if it cannot
                be taken. None is less than in the call before, unless :meth:`reconsider` was called
                since.
            tie: energy of a unit of burden, less than what tells unequal paths apart.

        Returns:
            The first such path in the order of edges; None if no path leads to the end.
        """
        self._figures = figures
        graph = self._graph(figures, tie)
        if self._most > 0:
            found = _least_product(graph, self._near_edges(graph))
            if found[1] * found[2] <= self._most:
                return self._path(found)
        found = _least_product(graph, self._every)
        if found[1] == inf:
            return None
        self._most = found[1] * found[2] * _SLACK
        slopes = found[3]
        falling = np.argsort(np.arctan2(slopes[:, 1], slopes[:, 0]))
        self._active, self._slopes = None, slopes[falling]
        return self._path(found)

    def _near_edges(self, graph: _Graph) -> Ints:
        """Return the edges that are looked at; figures may have grown since they were asked for."""
        if self._active is None:
            self._active = _within(graph, self._slopes, self._most * (1 + _TOLERANCE))
        return self._active

    def least_sums(self, figures: Floats) -> tuple[float, float]:
        """Return the least energy of all paths, and the least latency of all of them.

        Args:
            figures: as of :meth:`least_product`.

        Returns:
            Infinities if no path leads to the end.
        """
        return _least_sums(self._graph(figures, 0.0), self._every)

    def least_of(self, figures: Floats, tie: float = 0.0) -> Path | None:
        """Return the path with the least energy x latency by other figures than those that
        :meth:`least_product` is asked for again and again; arguments are its."""
        found = _least_product(self._graph(figures, tie), self._every)
        return None if found[1] == inf else self._path(found)

    def _graph(self, figures: Floats, tie: float) -> _Graph:
        return _Graph(
            self._nodes, *self._edges, self._burdens * tie, self._first, self._following, figures
        )

    def near(self, path: Path, share: float) -> list[int]:
        """Return kinds with edges on which paths may lie of little more energy x latency.

        Edges that were left out last time are left out here too.

        Args:
            path: the least one that was found.
            share: how much more.
        """
        active = self._near_edges(self._graph(self._figures, 0.0))
        starts, ends, kinds = (of[active] for of in self._edges)
        burdens = np.zeros(len(kinds))
        graph = _Graph(
            self._nodes, starts, ends, kinds, burdens, self._first, self._following, self._figures
        )
        slopes = np.array([[path.latency, path.energy]])
        found: list[int] = np.unique(
            kinds[_within(graph, slopes, path.product * (1 + share))]
        ).tolist()
        return found

    def _path(self, found: tuple[Ints, float, float, Floats]) -> Path:
        taken, energy, latency, _ = found
        return Path(tuple(taken[0].tolist()), tuple(taken[1].tolist()), energy, latency)


@compiled
def _lanes(graph: _Graph, active: Ints) -> _Lanes:
    """Return the parallel edges of those that are active."""
    count = 0
    for e in active:
        row = graph.first[graph.kinds[e]]
        while row >= 0:
            count += graph.figures[row, _ENERGY] < inf
            row = graph.following[row]
    ends = np.empty((4, count), np.int64)
    costs = np.empty((2, count))
    n = 0
    for e in active:
        row = graph.first[graph.kinds[e]]
        while row >= 0:
            if graph.figures[row, _ENERGY] < inf:
                ends[0, n], ends[1, n], ends[2, n], ends[3, n] = (
                    graph.starts[e],
                    graph.ends[e],
                    e,
                    row,
                )
                costs[0, n] = graph.figures[row, _ENERGY] + graph.burdens[e]
                costs[1, n] = graph.figures[row, _LATENCY]
                n += 1
            row = graph.following[row]
    return _Lanes(ends[0], ends[1], costs[0], costs[1], ends[2], ends[3])


@compiled
def _shortest(lanes: _Lanes, nodes: int, a: float, b: float) -> tuple[Ints, float, float]:
    """Return the lanes, the last one first, of the path of least ``a`` energy + ``b`` latency, and
    both; no lanes if no path leads to the end."""
    distance, arrival = np.full(nodes, inf), np.full(nodes, -1)
    distance[0] = 0.0
    for n in range(len(lanes.starts)):
        cost = a * lanes.energy[n] + b * lanes.latency[n]
        there = distance[lanes.starts[n]] + cost
        if there < distance[lanes.ends[n]]:
            distance[lanes.ends[n]] = there
            arrival[lanes.ends[n]] = n
    path, count = np.empty(nodes, np.int64), 0
    energy = latency = 0.0
    node = nodes - 1
    while node:
        n = arrival[node]
        if n < 0:
            return path[:0], inf, inf
        path[count] = n
        count += 1
        energy, latency = energy + lanes.energy[n], latency + lanes.latency[n]
        node = lanes.starts[n]
    return path[:count], energy, latency


@compiled
def _least_sums(graph: _Graph, active: Ints) -> tuple[float, float]:
    """Return the least energy of all paths, and the least latency."""
    lanes = _lanes(graph, active)
    _, energy, _ = _shortest(lanes, graph.nodes, 1.0, 0.0)
    _, _, latency = _shortest(lanes, graph.nodes, 0.0, 1.0)
    return energy, latency


@compiled(brief=True)
def _least_product(graph: _Graph, active: Ints) -> tuple[Ints, float, float, Floats]:
    """Return int64[2, S], edges and rows of the path of least product, its energy and latency, and
    float64[n, 2], weights for which shortest paths were found.

    The search of :func:`archloom.search.fusion.parametric_search.least_product`.
    """
    lanes, nodes = _lanes(graph, active), graph.nodes
    tried, count = np.zeros((64, 2)), 2
    tried[0, 1] = tried[1, 0] = 1.0
    best, e, t = _shortest(lanes, nodes, _OTHER, 1.0)
    right, f, u = _shortest(lanes, nodes, 1.0, _OTHER)
    # neighbours on the hull, each with the weights whose sum it minimises
    pairs, top = np.empty((130, 8)), 1
    copy_row(pairs[0], (e, t, 0.0, 1.0, f, u, 1.0, 0.0))
    if f * u < e * t:
        best, e, t = right, f, u
    while top and len(best) and count < len(tried):
        top -= 1
        low_e, low_t, a, b = pairs[top, 0], pairs[top, 1], pairs[top, 2], pairs[top, 3]
        high_e, high_t, c, d = pairs[top, 4], pairs[top, 5], pairs[top, 6], pairs[top, 7]
        # the sum that both have the same of
        one, other = high_t - low_t, low_e - high_e
        if one <= 0 or other <= 0:
            continue
        p, q, determinant = a * low_e + b * low_t, c * high_e + d * high_t, a * d - b * c
        meeting = (p * d - b * q) / determinant * ((a * q - c * p) / determinant)
        if meeting >= e * t * (1 - _TOLERANCE):
            continue
        found, f, u = _shortest(lanes, nodes, one, other)
        tried[count, 0], tried[count, 1] = one, other
        count += 1
        if f * u < e * t:
            best, e, t = found, f, u
        reached = one * low_e + other * low_t
        if one * f + other * u < reached * (1 - _TOLERANCE):
            copy_row(pairs[top], (low_e, low_t, a, b, f, u, one, other))
            copy_row(pairs[top + 1], (f, u, one, other, high_e, high_t, c, d))
            top += 2
    taken = np.empty((2, len(best)), np.int64)
    for n in range(len(best)):
        lane = best[len(best) - 1 - n]
        taken[0, n], taken[1, n] = lanes.edges[lane], lanes.rows[lane]
    return taken, e, t, tried[:count]


@compiled
def _least_through(lanes: _Lanes, nodes: int, a: float, b: float) -> Floats:
    """Return for each lane the least ``a`` energy + ``b`` latency of a path through it."""
    there, back = np.full(nodes, inf), np.full(nodes, inf)
    there[0] = back[nodes - 1] = 0.0
    cost = np.empty(len(lanes.energy))
    for n in range(len(cost)):
        cost[n] = a * lanes.energy[n] + b * lanes.latency[n]
        start, end = lanes.starts[n], lanes.ends[n]
        there[end] = min(there[end], there[start] + cost[n])
    for n in range(len(cost) - 1, -1, -1):
        start, end = lanes.starts[n], lanes.ends[n]
        back[start] = min(back[start], back[end] + cost[n])
    for n in range(len(cost)):
        cost[n] += there[lanes.starts[n]] + back[lanes.ends[n]]
    return cost


@compiled
def _within(graph: _Graph, slopes: Floats, most: float) -> Ints:
    """Return the edges through which a path may have a product of at most ``most``.

    A path lies above the lines that the shortest paths through its edges give, one for each weight.
    Where these leave nothing of the hyperbola of the product, no path is below it. ``slopes`` are
    the weights, the most weight on energy first.
    """
    lanes = _lanes(graph, np.arange(len(graph.starts)))
    # from which energy on the hyperbola may be reached, and up to which
    reached = _least_through(lanes, graph.nodes, 1.0, 0.0)
    end = _least_through(lanes, graph.nodes, 0.0, 1.0)
    for n in range(len(end)):
        end[n] = most / end[n]
    for weights in range(len(slopes)):
        a, b = slopes[weights, 0], slopes[weights, 1]
        if a > 0 and b > 0:
            least = _least_through(lanes, graph.nodes, a, b)
            for n in range(len(least)):
                # a energy + b most / energy < least between the roots
                square = least[n] * least[n] - 4 * a * b * most
                if square > 0 and reached[n] < end[n]:
                    root = np.sqrt(square)
                    if (least[n] - root) / (2 * a) <= reached[n]:
                        reached[n] = max(reached[n], (least[n] + root) / (2 * a))
    kept = np.zeros(len(graph.starts), np.bool_)
    for n in range(len(reached)):
        kept[lanes.edges[n]] |= reached[n] <= end[n]
    return np.flatnonzero(kept)
