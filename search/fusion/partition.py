"""Partitions of a network into groups: the genome of the fusion search, and its operators.

A partition is a tuple of groups, each an ascending tuple of layer positions, sorted by first
layer. CASCO (section II-B) gives the crossover and the three mutations; what they leave
invalid is repaired rather than thrown away.
"""

from collections.abc import Iterable

import numpy as np

from archloom.space.fusion import runnable
from archloom.space.workload import Network, components

Group = tuple[int, ...]
Partition = tuple[Group, ...]


def singletons(network: Network) -> Partition:
    """Return the partition that fuses nothing."""
    return tuple((i,) for i in range(len(network.layers)))


def normalise(groups: Iterable[Iterable[int]]) -> Partition:
    """Return groups sorted, empty ones dropped."""
    return tuple(sorted(tuple(sorted(g)) for g in groups if g))


def halves(network: Network, layers: Group) -> list[Group]:
    """Return the connected parts of the first half of a group's layers and of the second."""
    middle = len(layers) // 2
    parts = (layers[:middle], layers[middle:])
    return [part for half in parts for part in components(network, half)]


def repair(network: Network, groups: Iterable[Iterable[int]]) -> Partition:
    """Return a valid partition near ``groups``: connected, and no two wait for each other.

    A group of a circle is cut before a layer, not its first, that reads from another stuck
    group. There always is one: were every reader the first of its group, the first layers
    would decrease all around the circle. Each cut adds a group, so this ends.
    """
    parts = [c for g in groups for c in components(network, g)]
    while len(free := runnable(network, parts)) < len(parts):
        parts = _cut_one(network, set(range(len(parts))).difference(free), parts)
    return normalise(parts)


def _cut_one(network: Network, stuck: set[int], parts: list[Group]) -> list[Group]:
    owner = {layer: g for g in stuck for layer in parts[g]}
    for g in sorted(stuck, key=lambda g: (-len(parts[g]), parts[g])):
        members = parts[g]
        for at, layer in enumerate(members[1:], start=1):
            if any(owner.get(p, g) != g for p in network.producers[layer]):
                halves = (members[:at], members[at:])
                fresh = [c for half in halves for c in components(network, half)]
                return [p for i, p in enumerate(parts) if i != g] + fresh
    raise AssertionError("a circle of groups that no cut opens")


def crossover(one: Partition, other: Partition, rng: np.random.Generator) -> list[Group]:
    """Take each unvisited layer's group from either parent at random (CASCO II-B).

    Layers that an earlier group took are left out of the later one.
    """
    homes = [{i: g for g in parent for i in g} for parent in (one, other)]
    taken: set[int] = set()
    child: list[Group] = []
    for layer in range(len(homes[0])):
        if layer not in taken:
            group = homes[int(rng.integers(2))][layer]
            fresh = tuple(i for i in group if i not in taken)
            taken.update(fresh)
            child.append(fresh)
    return child


def _next_to(network: Network, groups: list[Group], g: int) -> list[int]:
    """Positions of the groups that share data with group ``g``."""
    near = set().union(*(network.neighbours[i] for i in groups[g]))
    return [h for h, other in enumerate(groups) if h != g and near & set(other)]


def merge(network: Network, groups: list[Group], rng: np.random.Generator) -> list[Group]:
    """Join two neighbouring groups (CASCO's merge)."""
    g = int(rng.integers(len(groups)))
    near = _next_to(network, groups, g)
    if not near:
        return groups
    h = near[int(rng.integers(len(near)))]
    joined = tuple(sorted(groups[g] + groups[h]))
    return [p for i, p in enumerate(groups) if i not in (g, h)] + [joined]


def split(network: Network, groups: list[Group], rng: np.random.Generator) -> list[Group]:
    """Cut one group in two at a random place of its order (CASCO's split)."""
    del network
    large = [g for g, members in enumerate(groups) if len(members) > 1]
    if not large:
        return groups
    g = large[int(rng.integers(len(large)))]
    at = int(rng.integers(1, len(groups[g])))
    rest = [p for i, p in enumerate(groups) if i != g]
    return [*rest, groups[g][:at], groups[g][at:]]


def steal(network: Network, groups: list[Group], rng: np.random.Generator) -> list[Group]:
    """Move a boundary layer of a neighbour into a group (CASCO's steal)."""
    g = int(rng.integers(len(groups)))
    near = set().union(*(network.neighbours[i] for i in groups[g])) - set(groups[g])
    if not near:
        return groups
    layer = sorted(near)[int(rng.integers(len(near)))]
    moved = [tuple(i for i in p if i != layer) for p in groups]
    moved[g] = tuple(sorted((*groups[g], layer)))
    return [p for p in moved if p]


MUTATIONS = (merge, split, steal)
