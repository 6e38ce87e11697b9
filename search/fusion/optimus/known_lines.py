"""Line buffers of the groups of one network, known whatever the design; groups of one kind share
them."""

from collections.abc import Hashable
from typing import Final

from archloom.evaluators.fusion.optimus import LineBuffers, line_buffers, sliceable_maps
from archloom.space.workload import Network, remembered

from ..group_equivalence import group_kind
from ..partition import Group

#: groups of one network that are remembered (assumption: some 10 KiB each)
_MOST_GROUPS: Final = 2**13


class KnownLines:
    """Line buffers of groups, each with what it was asked for.

    Args:
        network: where the groups are.
    """

    def __init__(self, network: Network) -> None:
        self._network = network
        self._lines: dict[Hashable, LineBuffers] = {}

    def of(self, layers: Group) -> LineBuffers:
        """Return those of the first group of the same kind."""
        sliceable = sliceable_maps(self._network, layers)
        kind = (group_kind(self._network, layers), sliceable)
        if kind not in self._lines:
            if len(self._lines) >= _MOST_GROUPS:
                self._lines.clear()
            self._lines[kind] = line_buffers(self._network, layers, sliceable)
        return self._lines[kind]


@remembered
def known_lines(network: Network) -> KnownLines:
    """Return the line buffers of a network's groups."""
    return KnownLines(network)
