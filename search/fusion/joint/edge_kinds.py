"""Kinds of the edges of a cut graph: those of one kind have the same options at the same cost.

All of it follows from the network and from how many words may be pinned, so that designs with
buffers of one size share it, and what is known of a group's tilings is shared by all of them.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators import Floats, Ints
from archloom.evaluators.fusion import group_sources
from archloom.space.fusion import Residents
from archloom.space.workload import Network

from ..group_equivalence import group_kind
from ..partition import Group
from .cut_graph import CutEdge, cut_graph

#: kind of a group; which maps from outside it holds, which of its own it keeps, and which of those
#: DRAM never sees, by their numbers in the group
GroupAmongPins: TypeAlias = tuple[int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class EdgeKinds:
    """The edges of a cut graph of one network, and their kinds.

    Attributes:
        cuts: how many there are.
        edges: as in :class:`.cut_graph.CutGraph`.
        starts, ends, kinds: int64[E], of each edge.
        burdens: float64[E], the group and its pins.
        firsts: the first edge of each kind.
        groups: how each kind runs, but for words that are pinned.
        residents: what a plan keeps in the buffer around the first edge of each kind.
        words: int64[K], that pinned maps take.
        running: bool[L, K], whether the first edge of a kind runs a layer.
    """

    cuts: int
    edges: tuple[CutEdge, ...]
    starts: Ints
    ends: Ints
    kinds: Ints
    burdens: Floats
    firsts: tuple[CutEdge, ...]
    groups: tuple[GroupAmongPins, ...]
    residents: tuple[Residents, ...]
    words: Ints
    running: NDArray[np.bool_]

    def containing(self, kind: int) -> NDArray[np.bool_]:
        """bool[K], kinds that hold all layers of some edge of a kind, and no fewer pinned words."""
        found = np.zeros(len(self.firsts), np.bool_)
        for same in {self.edges[e].layers for e in np.flatnonzero(self.kinds == kind).tolist()}:
            found |= np.logical_and.reduce(self.running[list(same)])
        larger: NDArray[np.bool_] = found & (self.words >= self.words[kind])
        return larger


class KindsOfGroups:
    """What is known of the groups of one network, on whatever design.

    Args:
        network: where the groups are.
    """

    def __init__(self, network: Network) -> None:
        self._network = network
        self._most_words = sum(layer.output_words for layer in network.layers)
        self._numbers: dict[Hashable, int] = {}
        self._makers: dict[Group, tuple[int, tuple[int, ...]]] = {}

    def useful(self, pin_words: int) -> int:
        """Return how many of some words pinned maps may ever take."""
        return min(pin_words, self._most_words)

    def graph(self, pin_words: int) -> EdgeKinds:
        """Return the edges of the network's cut graph; ``pin_words`` as :func:`cut_graph`."""
        graph = cut_graph(self._network, pin_words)
        known: dict[Hashable, int] = {}
        kinds, firsts, groups, residents = [], list[CutEdge](), [], []
        for edge in graph.edges:
            beside = self.residents(edge)
            group = self.group(edge, beside)
            kind = known.setdefault((group, beside.words), len(firsts))
            kinds.append(kind)
            if kind == len(firsts):
                firsts.append(edge)
                groups.append(group)
                residents.append(beside)
        return EdgeKinds(
            graph.cuts,
            graph.edges,
            np.array([edge.start for edge in graph.edges], np.int64),
            np.array([edge.end for edge in graph.edges], np.int64),
            np.array(kinds, np.int64),
            np.array([1.0 + len(edge.kept) for edge in graph.edges]),
            tuple(firsts),
            tuple(groups),
            tuple(residents),
            np.array([beside.words for beside in residents], np.int64),
            _runs([edge.layers for edge in firsts], len(self._network.layers)),
        )

    def residents(self, edge: CutEdge) -> Residents:
        """Return what the plan keeps in the buffer; a pin lasts to its last reader."""
        layers, leaving = self._network.layers, self._network.leaving
        unwritten = tuple(i for i in edge.kept if layers[i].name not in leaving)
        words = sum(layers[i].output_words for i in (*edge.held, *edge.kept))
        return Residents(edge.held, edge.kept, unwritten, words)

    def group(self, edge: CutEdge, residents: Residents) -> GroupAmongPins:
        """Return how the group of an edge runs, but for its place and the words that are pinned."""
        if edge.layers not in self._makers:
            layers = set(edge.layers)
            sources = group_sources(self._network)
            # what is read from outside, in the order in which groups number it
            outside = {s.box: s.layer for i in edge.layers for s in sources[i]}
            makers = tuple(m for m in outside.values() if m not in layers)
            kind = group_kind(self._network, edge.layers)
            number = self._numbers.setdefault(kind, len(self._numbers))
            self._makers[edge.layers] = number, makers
        number, makers = self._makers[edge.layers]
        if not edge.held and not edge.kept:
            return number, (), (), ()
        held = tuple(n for n, maker in enumerate(makers) if maker in edge.held)
        first = edge.layers.index
        kept, unwritten = (
            tuple(map(first, maps)) for maps in (residents.kept, residents.unwritten)
        )
        return number, held, kept, unwritten


def _runs(groups: list[Group], layers: int) -> NDArray[np.bool_]:
    """bool[L, K], whether groups run layers."""
    found = np.zeros((layers, len(groups)), np.bool_)
    kinds = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    found[[i for group in groups for i in group], kinds] = True
    return found
