"""Paths of least energy x latency through a graph whose steps add up both.

Every corner of the hull of all paths' (energy, latency) is the shortest path for some weight of
latency against energy (Eisner and Severance, JACM 1976). So a few shortest paths find the path of
least product (:mod:`.least_product`).
"""

from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..evaluators.compiled import compiled
from .least_product import Corner, least_product

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Found(NamedTuple):
    """A path.

    Attributes:
        steps: by number, from the first on.
        energy, latency: sums over its steps.
    """

    steps: tuple[int, ...]
    energy: float
    latency: float

    @property
    def product(self) -> float:
        """Energy x latency."""
        return self.energy * self.latency


class Paths:
    """Shortest paths from node 0 to the last one.

    Args:
        nodes: how many; every step goes to a node of a greater number.
        starts, ends: int64[S], nodes of each step.
    """

    def __init__(self, nodes: int, starts: Ints, ends: Ints) -> None:
        self._nodes = nodes
        self._order = np.argsort(starts, kind="stable").astype(np.int64)
        self._starts, self._ends = starts[self._order], ends[self._order]

    def least_product(self, energy: Floats, latency: Floats) -> Found | None:
        """Return the path with the least energy x latency.

        Args:
            energy, latency: float64[S], of each step, positive; infinite if it cannot be taken.

        Returns:
            The first such path in the order of steps; None if no path leads to the end.
        """
        if self._shortest(energy, latency, 1.0, 1.0) is None:
            return None

        def corner(per_energy: float, per_latency: float) -> Corner[Found]:
            found = self._shortest(energy, latency, per_energy, per_latency)
            if found is None:
                raise AssertionError("a path for some weights is a path for all")
            return Corner(found, found.energy, found.latency)

        return least_product(corner).answer

    def _shortest(
        self, energy: Floats, latency: Floats, per_energy: float, per_latency: float
    ) -> Found | None:
        # a little of the other, so that of equal paths the better one is found
        scale = 1e-9 if min(per_energy, per_latency) == 0 else 0.0
        cost = (per_energy + scale) * energy + (per_latency + scale) * latency
        came = _shortest_steps(self._nodes, self._starts, self._ends, cost[self._order])
        node, steps = self._nodes - 1, list[int]()
        while node:
            if came[node] < 0:
                return None
            steps.append(int(self._order[came[node]]))
            node = int(self._starts[came[node]])
        steps.reverse()
        chosen = np.array(steps, np.int64)
        return Found(tuple(steps), float(energy[chosen].sum()), float(latency[chosen].sum()))


@compiled
def _shortest_steps(nodes: int, starts: Ints, ends: Ints, cost: Floats) -> Ints:
    """Return int64[nodes], the step by which each node is reached first and cheapest; -1: none."""
    distance = np.full(nodes, inf)
    came = np.full(nodes, -1)
    distance[0] = 0.0
    for step in range(len(starts)):
        there = distance[starts[step]] + cost[step]
        if there < distance[ends[step]]:
            distance[ends[step]] = there
            came[ends[step]] = step
    return came
