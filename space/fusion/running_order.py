"""Order in which groups of layers can run: topological order of the quotient graph."""

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush

from archloom.space.workload import Network


def group_order(network: Network, groups: Iterable[tuple[int, ...]]) -> list[int] | None:
    """Return positions of ``groups`` in a stable topological order of the quotient graph.

    Among groups that are ready, the one with the earliest layer runs first. Returns None if
    groups wait for each other in a circle; a group that is left and entered again does.
    """
    groups = list(groups)
    order = runnable(network, groups)
    return order if len(order) == len(groups) else None


def runnable(network: Network, groups: Sequence[tuple[int, ...]]) -> list[int]:
    """Return the start of :func:`group_order`: all groups but those that can never run.

    What is left out takes part in a circle, or waits for a group that does.
    """
    owner = {layer: g for g, members in enumerate(groups) for layer in members}
    waits: list[set[int]] = [set() for _ in groups]
    for layer, g in owner.items():
        for producer in network.producers[layer]:
            if owner[producer] != g:
                waits[g].add(owner[producer])
    followers: list[list[int]] = [[] for _ in groups]
    for g, before in enumerate(waits):
        for h in before:
            followers[h].append(g)
    missing = [len(before) for before in waits]
    ready = [(members[0], g) for g, members in enumerate(groups) if not missing[g]]
    heapify(ready)
    order: list[int] = []
    while ready:
        _, done = heappop(ready)
        order.append(done)
        for g in followers[done]:
            missing[g] -= 1
            if not missing[g]:
                heappush(ready, (groups[g][0], g))
    return order
