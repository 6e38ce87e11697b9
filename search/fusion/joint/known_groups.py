"""What is known of the groups of one network whatever the design: kinds, tilings, sizes of layers.

Trials on many designs share it; what designs add is their costs.
"""

from functools import partial
from typing import Final

import numpy as np

from archloom.search.fusion.tiling import SizeNumbers
from archloom.space.workload import Network, remembered

from ..partition import Group
from .cuts import EdgeKinds, GroupAmongPins, KindsOfGroups, WholeGroups, WholeGroupsOf
from .tilings import BufferFacts, BufferTilings, GroupTiling, OptionColumns

#: tilings of one network that are remembered (assumption: some 2 KiB each)
_MOST_TILINGS: Final = 2**16

#: groups of one network, in graphs for several sizes of the buffer
_MOST_GROUPS: Final = 2**17


class KnownGroups:
    """Groups of one network.

    Args:
        network: where the groups are.
    """

    def __init__(self, network: Network) -> None:
        self._network = network
        self.numbers = SizeNumbers(network)
        self.kinds = KindsOfGroups(network)
        self._whole = WholeGroupsOf(network, self.numbers)
        self._graphs: dict[int, tuple[EdgeKinds, WholeGroups]] = {}
        self._tilings: dict[GroupAmongPins, GroupTiling] = {}
        self.columns = OptionColumns(network)
        sides = np.array([(layer.p, layer.q) for layer in network.layers], np.int64)
        #: int64[L], sizes of layers that run alone
        self.alone = self.numbers.of(np.arange(len(sides)), *sides.T)
        self._in_buffers: dict[BufferFacts, BufferTilings] = {}

    def graph(self, pin_words: int) -> tuple[EdgeKinds, WholeGroups]:
        """Return the edges of the network's cut graph, and the groups of each kind in one piece.

        Args:
            pin_words: words of the buffer that pinned maps may take.
        """
        words = self.kinds.useful(pin_words)
        if words not in self._graphs:
            kinds = self.kinds.graph(words)
            self._graphs[words] = kinds, self._whole(kinds)
        return self._graphs[words]

    def in_buffer(self, words: int, keeps_weights: bool) -> BufferTilings:
        """Return the tilings of groups in a buffer.

        Args:
            words: that it holds.
            keeps_weights: whether weights may stay there.
        """
        facts = BufferFacts(words, keeps_weights)
        if facts not in self._in_buffers:
            graph = self.graph(words)
            tiling = partial(self._tiling, graph[0])
            found = BufferTilings(self._network, facts, graph, self.columns, tiling)
            self._in_buffers[facts] = found
        return self._in_buffers[facts]

    def _tiling(self, kinds: EdgeKinds, kind: int) -> GroupTiling:
        """Return the tilings of the group of a kind of edge."""
        key = kinds.groups[kind]
        found = self._tilings.get(key)
        if found is None:
            found = self._alone(key[0], kinds.firsts.layers(kind))
            if any(key[1:]):
                found = found.among(key)
            self._tilings[key] = found
        return found

    def _alone(self, kind: int, layers: Group) -> GroupTiling:
        """Return the tilings of a group of a kind with nothing else in the buffer."""
        key: GroupAmongPins = (kind, (), (), ())
        if key not in self._tilings:
            self._tilings[key] = GroupTiling(self._network, layers, self.numbers, self.columns)
        return self._tilings[key]

    @property
    def full(self) -> bool:
        """Whether more is remembered than should be."""
        groups = sum(len(kinds.edges) for kinds, _ in self._graphs.values())
        tilings = sum(group.known for group in self._tilings.values())
        tilings += sum(placed.known for placed in self._in_buffers.values())
        return groups > _MOST_GROUPS or tilings > _MOST_TILINGS


@remembered
def _known(network: Network) -> list[KnownGroups]:
    return [KnownGroups(network)]


def known_groups(network: Network) -> KnownGroups:
    """Return what is known of the groups of a network; nothing once it was too much."""
    known = _known(network)
    if known[0].full:
        # planners that are at work keep what they have
        known[0] = KnownGroups(network)
    return known[0]
