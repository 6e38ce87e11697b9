"""Paths of least energy x latency through an acyclic graph whose edges add up both.

Every vertex of the convex hull of all paths' (energy, latency) is the shortest path for some weight
of latency against energy (Eisner and Severance, JACM 1976). So a few shortest paths find the path
of least product (:mod:`archloom.search.fusion.parametric_search`).
"""

from math import inf
from typing import NamedTuple

import numpy as np

from archloom.evaluators import Floats, Ints
from archloom.evaluators.jit import compiled

from ..parametric_search import HullVertex, least_product


class Path(NamedTuple):
    """A path.

    Attributes:
        edges: by number, from the first on.
        energy, latency: sums over its edges.
    """

    edges: tuple[int, ...]
    energy: float
    latency: float

    @property
    def product(self) -> float:
        """Energy x latency."""
        return self.energy * self.latency


class LeastProductPaths:
    """Paths from node 0 to the last one, the one of least energy x latency among them.

    Args:
        nodes: how many; every edge goes to a node of a greater number.
        starts, ends: int64[S], nodes of each edge.
    """

    def __init__(self, nodes: int, starts: Ints, ends: Ints) -> None:
        self._nodes = nodes
        self._order = np.argsort(starts, kind="stable").astype(np.int64)
        self._starts, self._ends = starts[self._order], ends[self._order]

    def least_product(self, energy: Floats, latency: Floats) -> Path | None:
        """Return the path with the least energy x latency.

        Args:
            energy, latency: float64[S], of each edge, positive; infinite if it cannot be taken.

        Returns:
            The first such path in the order of edges; None if no path leads to the end.
        """
        if self._shortest(energy, latency, 1.0, 1.0) is None:
            return None

        def hull_vertex(per_energy: float, per_latency: float) -> HullVertex[Path]:
            found = self._shortest(energy, latency, per_energy, per_latency)
            if found is None:
                raise AssertionError("a path for some weights is a path for all")
            return HullVertex(found, found.energy, found.latency)

        return least_product(hull_vertex).answer

    def _shortest(
        self, energy: Floats, latency: Floats, per_energy: float, per_latency: float
    ) -> Path | None:
        # a little of the other, so that of equal paths the better one is found
        scale = 1e-9 if min(per_energy, per_latency) == 0 else 0.0
        cost = (per_energy + scale) * energy + (per_latency + scale) * latency
        arrival = _shortest_arrivals(self._nodes, self._starts, self._ends, cost[self._order])
        node, edges = self._nodes - 1, list[int]()
        while node:
            if arrival[node] < 0:
                return None
            edges.append(int(self._order[arrival[node]]))
            node = int(self._starts[arrival[node]])
        edges.reverse()
        chosen = np.array(edges, np.int64)
        return Path(tuple(edges), float(energy[chosen].sum()), float(latency[chosen].sum()))


@compiled
def _shortest_arrivals(nodes: int, starts: Ints, ends: Ints, cost: Floats) -> Ints:
    """Return int64[nodes], the edge by which each node is reached first and cheapest; -1: none."""
    distance = np.full(nodes, inf)
    arrival = np.full(nodes, -1)
    distance[0] = 0.0
    for edge in range(len(starts)):
        there = distance[starts[edge]] + cost[edge]
        if there < distance[ends[edge]]:
            distance[ends[edge]] = there
            arrival[ends[edge]] = edge
    return arrival
