"""Columns in which the costs of layers stand: one for each kind of layers that stream, and one for
those in tiles."""

import numpy as np

from archloom.evaluators import Ints
from archloom.space.fusion import FusionGroup
from archloom.space.workload import Network

from ...group_equivalence import layer_kinds


class OptionColumns:
    """Columns of layers in tables of options.

    Args:
        network: whose layers run.

    Attributes:
        count: how many there are.
    """

    def __init__(self, network: Network) -> None:
        self._kinds = np.array(layer_kinds(network), np.int64)
        self.count = 2 * (int(self._kinds.max()) + 1)

    def of(self, group: FusionGroup) -> Ints:
        """Return int64[m], the column of each member."""
        tiled = group.tile is not None or len(group.layers) > 1
        return self.at(np.array(group.layers, np.int64), np.int64(tiled))

    def at(self, layers: Ints, tiled: Ints | np.int64) -> Ints:
        """Return int64[n], the column of each layer; ``tiled`` is 1 for those in tiles."""
        columns: Ints = 2 * self._kinds[layers] + tiled
        return columns
