"""Groups whose anchor is made in one piece, all kinds at once: what the first estimates rest on."""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from archloom.evaluators import Ints
from archloom.evaluators.fusion import group_reads, group_sources, with_residents
from archloom.evaluators.fusion.buffer import shape_of
from archloom.search.fusion.tiling import SizeNumbers, Tile, in_one_piece, leaves_out
from archloom.space.fusion import Residents
from archloom.space.workload import Network, bits

from ..group_equivalence import readers_outside
from ..partition import Group
from .edge_kinds import EdgeKinds, GroupAmongPins


class WholeGroups(NamedTuple):
    """Groups of every kind of edge, in one piece.

    Attributes:
        kinds, layers, sizes: int64[n], for each member of each group the kind of edge, the layer,
            and the number of the size in which it runs.
        members: int64[K], how many each group has.
        fetched, stored: int64[K], words of maps of an image.
        weights: int64[K], words of weights; what layers share counts once.
        maps: int64[K], most words that a member reads and makes of an image.
        pinned: int64[K], words of the buffer that are taken.
    """

    kinds: Ints
    layers: Ints
    sizes: Ints
    members: Ints
    fetched: Ints
    stored: Ints
    weights: Ints
    maps: Ints
    pinned: Ints


class WholeGroup(NamedTuple):
    """One group in one piece.

    Attributes:
        made: rows and columns of the result of each member.
        fetched, stored: words of maps of an image.
    """

    made: Sequence[Tile]
    fetched: int
    stored: int


class WholeGroupsOf:
    """Works out groups in one piece, those of one kind once.

    Args:
        network: where the groups are.
        numbers: of the sizes in which layers run.
    """

    def __init__(self, network: Network, numbers: SizeNumbers) -> None:
        self._network = network
        self._numbers = numbers
        self._owners = [network.weight_owner(i) for i in range(len(network.layers))]
        self._weights = [layer.weight_words for layer in network.layers]
        self._maps = [
            (layer.input_words + layer.output_words) // layer.n for layer in network.layers
        ]
        self._made = [layer.output_words // layer.n for layer in network.layers]
        self._sides = [(layer.p, layer.q) for layer in network.layers]
        self._readers = readers_outside(network)
        # of each map that a layer reads who makes it, in bits; the number and words of its box
        self._reads = [
            [
                (1 << source.layer if source.layer >= 0 else 0, source.box, prod(read.shape))
                for source, read in zip(*both, strict=True)
            ]
            for both in zip(group_sources(network), group_reads(network), strict=True)
        ]
        self._known: dict[GroupAmongPins, WholeGroup] = {}

    def __call__(self, kinds: EdgeKinds) -> WholeGroups:
        """Return the groups of the first edge of every kind."""
        firsts = [edge.layers for edge in kinds.firsts]
        whole = list(map(self.of, kinds.groups, firsts, kinds.residents))
        count = np.array([len(layers) for layers in firsts], np.int64)
        layers = np.array([i for group in firsts for i in group], np.int64)
        made = np.array([side for group in whole for side in group.made], np.int64).reshape(-1, 2)
        weights = [sum(self._weights[i] for i in {self._owners[i] for i in g}) for g in firsts]
        return WholeGroups(
            np.repeat(np.arange(len(firsts)), count),
            layers,
            self._numbers.of(layers, *made.T),
            count,
            np.array([group.fetched for group in whole], np.int64),
            np.array([group.stored for group in whole], np.int64),
            np.array(weights, np.int64),
            np.array([max(self._maps[i] for i in group) for group in firsts], np.int64),
            kinds.words,
        )

    def of(self, key: GroupAmongPins, layers: Group, residents: Residents) -> WholeGroup:
        """Return one group, given how it runs."""
        if key not in self._known:
            self._known[key] = self._worked_out(layers, residents)
        return self._known[key]

    def _worked_out(self, layers: Group, residents: Residents) -> WholeGroup:
        network = self._network
        if leaves_out(network, layers):
            shape = with_residents(network, shape_of(network, layers), residents)
            return WholeGroup(*in_one_piece(network, shape))
        members, held = bits(layers), bits(residents.held)
        # boxes of maps from outside, each fetched once
        arriving = {
            box: words
            for i in layers
            for maker, box, words in self._reads[i]
            if not maker & members and not maker & held
        }
        stored = sum(
            self._made[i]
            for i in layers
            if self._readers[i] & ~members and i not in residents.unwritten
        )
        return WholeGroup([self._sides[i] for i in layers], sum(arriving.values()), stored)
