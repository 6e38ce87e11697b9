"""Many groups of one network as arrays: members, kinds, and words that move in one piece.

What :mod:`archloom.search.fusion.group_equivalence` says of one group, for thousands at once.
"""

from collections.abc import Sequence
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators import Ints
from archloom.evaluators.fusion import group_reads, group_sources
from archloom.space.workload import Network

from ...group_equivalence import layer_kinds
from ...partition import Group


class GroupArrays:
    """G groups of one network.

    Args:
        network: where they are.
        groups: layers of each, in bits.

    Attributes:
        bits: layers of each.
        members: bool[G, L], whether a group runs a layer.
        groups, layers, places: int64[n], of each member of each group: the group, the layer, and
            the number of the member in its group.
        starts: int64[G + 1], where the members of each group begin.
    """

    def __init__(self, network: Network, groups: Sequence[int]) -> None:
        self._network = network
        self.bits = tuple(groups)
        count = len(network.layers)
        width = -(-count // 8)
        packed = b"".join(group.to_bytes(width, "little") for group in groups)
        flags = np.frombuffer(packed, np.uint8).reshape(-1, width)
        unpacked = np.unpackbits(flags, axis=1, count=count, bitorder="little")
        self.members: NDArray[np.bool_] = unpacked.view(np.bool_)
        self.groups, self.layers = np.nonzero(self.members)
        self.starts = np.searchsorted(self.groups, np.arange(len(groups) + 1))
        self.places = np.arange(len(self.groups)) - self.starts[self.groups]
        self._listed = self.layers.tolist()
        self._owners = np.array([network.weight_owner(i) for i in range(count)], np.int64)

    def group(self, number: int) -> Group:
        """Return the layers of a group."""
        return tuple(self._listed[self.starts[number] : self.starts[number + 1]])

    @property
    def lengths(self) -> Ints:
        """int64[G], members of each group."""
        lengths: Ints = np.diff(self.starts)
        return lengths

    @cached_property
    def leaves(self) -> NDArray[np.bool_]:
        """bool[n], whether the result of a member leaves its group."""
        network = self._network
        found = np.array([layer.name in network.leaving for layer in network.layers])[self.layers]
        readers, count = _padded(network.consumers)
        for n in range(readers.shape[1]):
            some = count[self.layers] > n
            found[some] |= ~self.members[self.groups[some], readers[self.layers[some], n]]
        return found

    @cached_property
    def _reads(self) -> "_Reads":
        return _Reads(self._network, self)

    @cached_property
    def numbers(self) -> list[int]:
        """For each group a number that is the same for groups of the same kind."""
        reads = self._reads
        kinds = np.array(layer_kinds(self._network), np.int64)
        # the first member with the same weights
        owned = self.groups * len(self._owners) + self._owners[self.layers]
        sharers = self.places[_first(owned)]
        # three figures for each member, then one for each map that it reads
        begins = np.cumsum(3 + reads.counts) - (3 + reads.counts)
        figures = np.empty(3 * len(self.layers) + len(reads.members), np.int32)
        for n, figure in enumerate((kinds[self.layers], self.leaves, sharers)):
            figures[begins + n] = figure
        figures[begins[reads.members] + 3 + reads.operands] = reads.sources
        text, known = figures.tobytes(), dict[bytes, int]()
        ends = np.append(begins, len(figures))[self.starts] * figures.itemsize
        cuts = ends.tolist()
        return [
            known.setdefault(text[cuts[n] : cuts[n + 1]], len(known)) for n in range(len(cuts) - 1)
        ]

    @cached_property
    def _makers(self) -> tuple[list[int], list[int]]:
        reads = self._reads
        first = reads.fresh
        groups = self.groups[reads.members[first]]
        ends = np.searchsorted(groups, np.arange(len(self.members) + 1))
        return reads.makers[first].tolist(), ends.tolist()

    def makers(self, number: int) -> list[int]:
        """Return who makes the maps that a group reads from outside, in the order in which groups
        number these; -1 for an input of the network.
        """
        makers, ends = self._makers
        return makers[ends[number] : ends[number + 1]]

    @cached_property
    def fetched(self) -> tuple[NDArray[np.bool_], Ints, Ints]:
        """bool[G, B], boxes of maps that come from outside; int64[B], words of each in an image and
        who makes it, -1 for an input of the network."""
        reads = self._reads
        found = np.zeros((len(self.members), len(reads.words)), np.bool_)
        first = reads.fresh
        found[self.groups[reads.members[first]], reads.boxes[first]] = True
        return found, reads.words, reads.makers_of_boxes

    @cached_property
    def stored(self) -> tuple[NDArray[np.bool_], Ints]:
        """bool[G, L], layers whose results leave the group; int64[L], words of each in an image."""
        found = np.zeros(self.members.shape, np.bool_)
        found[self.groups, self.layers] = self.leaves
        layers = self._network.layers
        return found, np.array([layer.output_words // layer.n for layer in layers], np.int64)

    @cached_property
    def weights(self) -> Ints:
        """int64[G], words of weights; what layers share counts once."""
        words = np.array([layer.weight_words for layer in self._network.layers], np.int64)
        owned = np.zeros(self.members.shape, np.bool_)
        owned[self.groups, self._owners[self.layers]] = True
        weights: Ints = owned @ words
        return weights

    @cached_property
    def maps(self) -> Ints:
        """int64[G], most words that a member reads and makes of an image."""
        words = [
            (layer.input_words + layer.output_words) // layer.n for layer in self._network.layers
        ]
        most: Ints = np.maximum.reduceat(np.array(words, np.int64)[self.layers], self.starts[:-1])
        return most


class _Reads:
    """Maps that the members of groups read, one after another.

    Attributes:
        counts: int64[n], how many each member reads.
        members, operands: int64[e], who reads, and the number of the operand.
        makers, boxes: int64[e], who makes the map, -1 for an input of the network; which box of it
            is read.
        fresh: int64[f], which of them read a box from outside that no member before reads.
        sources: int64[e], the member that makes the map, or a number below 0 for what comes from
            outside, the same for the same box.
        words, makers_of_boxes: int64[B], of each box.
    """

    def __init__(self, network: Network, of: GroupArrays) -> None:
        sources = group_sources(network)
        boxes, count = _padded([[source.box for source in some] for some in sources])
        makers, _ = _padded([[source.layer for source in some] for some in sources])
        self.counts = count[of.layers]
        self.members = np.repeat(np.arange(len(of.layers)), self.counts)
        begins = np.cumsum(self.counts) - self.counts
        self.operands = np.arange(len(self.members)) - begins[self.members]
        layers, groups = of.layers[self.members], of.groups[self.members]
        self.makers = makers[layers, self.operands]
        self.boxes = boxes[layers, self.operands]
        inside = (self.makers >= 0) & of.members[groups, self.makers]
        self.words, self.makers_of_boxes = self._of_boxes(network)
        outside = np.flatnonzero(~inside)
        first = _first(groups[outside] * len(self.words) + self.boxes[outside])
        new = first == np.arange(len(outside))
        self.fresh = outside[new]
        # boxes of a group are numbered as they come
        ranks = np.cumsum(new) - 1
        before = np.searchsorted(groups[self.fresh], groups[outside])
        places = np.cumsum(of.members, axis=1, dtype=np.int32) - 1
        self.sources = places[groups, self.makers].astype(np.int64)
        self.sources[outside] = -1 - (ranks[first] - before)

    @staticmethod
    def _of_boxes(network: Network) -> tuple[Ints, Ints]:
        found = {
            source.box: (prod(read.shape), source.layer)
            for both in zip(group_sources(network), group_reads(network), strict=True)
            for source, read in zip(*both, strict=True)
        }
        words, makers = np.array([found[n] for n in range(len(found))], np.int64).reshape(-1, 2).T
        return words, makers


def _first(keys: Ints) -> Ints:
    """int64[n], where each key stands for the first time."""
    places = np.empty(int(keys.max(initial=-1)) + 1, np.int32)
    # of several that are put in one place the last one stays
    places[keys[::-1]] = np.arange(len(keys))[::-1]
    found: Ints = places[keys].astype(np.int64)
    return found


def _padded(rows: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    """int64[R, most], rows of different lengths, and int64[R], how long each is."""
    count = np.array([len(row) for row in rows], np.int64)
    found = np.full((len(rows), int(count.max(initial=0))), -1)
    found[np.arange(found.shape[1]) < count[:, None]] = [n for row in rows for n in row]
    return found, count
