"""Kinds of the edges of a cut graph: those of one kind have the same options at the same cost.

All of it follows from the network and from how many words may be pinned, so that designs with
buffers of one size share it, and what is known of a group's tilings is shared by all of them.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators import Floats, Ints
from archloom.space.fusion import Residents
from archloom.space.workload import Network

from .cut_graph import CutEdges, Maps, cut_graph
from .group_arrays import GroupArrays

#: kind of a group; which maps from outside it holds, which of its own it keeps, and which of those
#: DRAM never sees, by their numbers in the group
GroupAmongPins: TypeAlias = tuple[int, Maps, Maps, Maps]


@dataclass(frozen=True, eq=False)
class EdgeKinds:
    """The edges of a cut graph of one network, and their kinds.

    Attributes:
        network: whose cut graph it is.
        cuts: how many there are.
        edges: as in :class:`.cut_graph.CutGraph`.
        kinds: int64[E], of each edge.
        firsts: the first edge of each kind.
        groups: how each kind runs, but for words that are pinned.
        words: int64[K], that pinned maps take.
        complete: as of :class:`.cut_graph.CutGraph`.
    """

    network: Network
    cuts: int
    edges: CutEdges
    kinds: Ints
    firsts: CutEdges
    groups: tuple[GroupAmongPins, ...]
    words: Ints
    complete: bool

    @cached_property
    def burdens(self) -> Floats:
        """float64[E], each group and its pins."""
        return np.array([1.0 + len(kept) for kept in self.edges.kept])

    @cached_property
    def members(self) -> Ints:
        """int64[K], layers of the group of each kind."""
        members: Ints = self.firsts.arrays.lengths[self.firsts.groups]
        return members

    @cached_property
    def running(self) -> NDArray[np.bool_]:
        """bool[L, K], whether the first edge of a kind runs a layer."""
        return np.ascontiguousarray(self.firsts.arrays.members[self.firsts.groups].T)

    def residents(self, kind: int) -> Residents:
        """Return what a plan keeps in the buffer around the first edge of a kind."""
        held, kept = self.firsts.held[kind], self.firsts.kept[kind]
        return Residents(held, kept, unwritten(self.network, kept), int(self.words[kind]))

    def containing(self, kind: int) -> NDArray[np.bool_]:
        """bool[K], kinds that hold all layers of some edge of a kind, and no fewer pinned words."""
        found = np.zeros(len(self.firsts), np.bool_)
        for group in np.unique(self.edges.groups[self.kinds == kind]).tolist():
            found |= np.logical_and.reduce(self.running[list(self.edges.arrays.group(group))])
        larger: NDArray[np.bool_] = found & (self.words >= self.words[kind])
        return larger


def unwritten(network: Network, kept: Maps) -> Maps:
    """Return which of the maps that a group keeps never go to DRAM.

    A pin lasts to its last reader.
    """
    return tuple(i for i in kept if network.layers[i].name not in network.leaving)


class KindsOfGroups:
    """What is known of the groups of one network, on whatever design.

    Args:
        network: where the groups are.
    """

    def __init__(self, network: Network) -> None:
        self._network = network
        self._sizes = [layer.output_words for layer in network.layers]

    def useful(self, pin_words: int) -> int:
        """Return how many of some words pinned maps may ever take."""
        return min(pin_words, sum(self._sizes))

    def graph(self, pin_words: int) -> EdgeKinds:
        """Return the edges of the network's cut graph; ``pin_words`` as :func:`cut_graph`."""
        graph = cut_graph(self._network, pin_words)
        edges, keys = graph.edges, _Keys(self._network, graph.edges.arrays)
        known: dict[tuple[GroupAmongPins, int], int] = {}
        kinds, firsts = [], list[int]()
        for n, beside in enumerate(zip(edges.groups.tolist(), edges.held, edges.kept, strict=True)):
            kind = known.setdefault((keys.of(*beside), self._words(*beside[1:])), len(firsts))
            kinds.append(kind)
            if kind == len(firsts):
                firsts.append(n)
        return EdgeKinds(
            self._network,
            graph.cuts,
            edges,
            np.array(kinds, np.int64),
            edges.taken(np.array(firsts, np.int64)),
            tuple(key for key, _ in known),
            np.array([words for _, words in known], np.int64),
            graph.complete,
        )

    def _words(self, held: Maps, kept: Maps) -> int:
        """Words of pinned maps."""
        return sum([self._sizes[i] for i in held + kept]) if held or kept else 0


class _Keys:
    """How groups run, but for their place and the words that are pinned."""

    def __init__(self, network: Network, arrays: GroupArrays) -> None:
        self._network = network
        self._arrays = arrays
        self._numbers = arrays.numbers
        self._held: dict[tuple[int, Maps], Maps] = {}
        self._kept: dict[tuple[int, Maps], tuple[Maps, Maps]] = {}

    def of(self, group: int, held: Maps, kept: Maps) -> GroupAmongPins:
        """Return how a group runs among the maps that it holds and keeps."""
        inside = self._held_in(group, held) if held else ()
        return (self._numbers[group], inside, *(self._kept_of(group, kept) if kept else ((), ())))

    def _held_in(self, group: int, held: Maps) -> Maps:
        found = self._held.get((group, held))
        if found is None:
            makers = self._arrays.makers(group)
            found = tuple([n for n, maker in enumerate(makers) if maker in held])
            self._held[group, held] = found
        return found

    def _kept_of(self, group: int, kept: Maps) -> tuple[Maps, Maps]:
        found = self._kept.get((group, kept))
        if found is None:
            found = self._places(group, kept), self._places(group, unwritten(self._network, kept))
            self._kept[group, kept] = found
        return found

    def _places(self, group: int, layers: Maps) -> Maps:
        """Return the numbers of members in their group."""
        members = self._arrays.bits[group]
        return tuple([(members & (1 << i) - 1).bit_count() for i in layers])
