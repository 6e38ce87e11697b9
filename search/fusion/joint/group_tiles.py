"""Tiles of groups as planners compare them: what they hold and move, and what runs in them.

All of it follows from the network, so that it is worked out once for all designs.
"""

from typing import NamedTuple

import numpy as np

from archloom.evaluators import Ints
from archloom.evaluators.fusion import with_residents
from archloom.evaluators.fusion.buffer import shape_of
from archloom.evaluators.fusion.tiling import TileWords
from archloom.search.fusion.tiling import GroupTilings, Tile
from archloom.space.fusion import HaloPolicy, Residents
from archloom.space.workload import Network

from ..group_equivalence import layer_kinds
from ..partition import Group

class TiledLayers(NamedTuple):
    """What runs in the tiles of a group, image by image.

    Attributes:
        members: int64[n], which member each size of tile is of, ascending.
        sizes: int64[n], numbers of a kind of layer with rows and columns of its result.
        times: int64[n], tiles of that size in an image.
        loads: for each member the tiles in which it runs.
    """

    members: Ints
    sizes: Ints
    times: Ints
    loads: tuple[int, ...]


class SizeNumbers:
    """Numbers of the sizes in which the layers of one network run."""

    def __init__(self, network: Network) -> None:
        self._kinds = layer_kinds(network)
        self._numbers: dict[tuple[int, int, int], int] = {}
        #: layer, rows and columns of its result
        self.sizes: list[tuple[int, int, int]] = []

    def number(self, layer: int, rows: int, columns: int) -> int:
        """Return a number that is the same for layers of one kind."""
        key = (self._kinds[layer], rows, columns)
        known = self._numbers.get(key)
        if known is None:
            known = self._numbers[key] = len(self.sizes)
            self.sizes.append((layer, rows, columns))
        return known


class GroupTiling:
    """Tilings of one group and what is known of them.

    Args:
        network: where the group is.
        layers: of the group.
        residents: what its plan keeps in the buffer.
        numbers: of the sizes in which layers run.
    """

    def __init__(
        self, network: Network, layers: Group, residents: Residents, numbers: SizeNumbers
    ) -> None:
        shape = with_residents(network, shape_of(network, layers), residents)
        self._layers = layers
        self._numbers = numbers
        self.tilings = GroupTilings(shape, tuple(network.layers[i] for i in layers))
        self._words: dict[tuple[Tile, HaloPolicy], TileWords] = {}
        self._runs: dict[tuple[Tile, HaloPolicy], TiledLayers] = {}
        plain = [numbers.number(i, network.layers[i].p, network.layers[i].q) for i in layers]
        #: int64[m], sizes of members that run alone
        self.alone = np.array(plain, np.int64)

    def words(self, tile: Tile, halo: HaloPolicy) -> TileWords:
        """Return what tiles hold and move."""
        key = (tile, halo)
        if key not in self._words:
            self._words[key] = self.tilings.words(tile, halo)
        return self._words[key]

    def count(self, tile: Tile, halo: HaloPolicy) -> int:
        """Return the tiles of an image."""
        rows, columns = self.tilings.axes(tile, halo)
        return rows.tiles * columns.tiles

    def runs(self, tile: Tile, halo: HaloPolicy) -> TiledLayers:
        """Return what runs in the tiles."""
        key = (tile, halo)
        if key not in self._runs:
            rows, columns = self.tilings.axes(tile, halo)
            number = self._numbers.number
            found = [
                (m, number(layer, height, width), n_h * n_w)
                for m, layer in enumerate(self._layers)
                for height, n_h in rows.lengths[m]
                for width, n_w in columns.lengths[m]
            ]
            members, sizes, times = np.array(found, np.int64).reshape(-1, 3).T.copy()
            loads = np.bincount(members, times, len(self._layers)).astype(np.int64)
            self._runs[key] = TiledLayers(members, sizes, times, tuple(loads.tolist()))
        return self._runs[key]

    @property
    def known(self) -> int:
        """How many tilings are remembered."""
        return len(self._words) + 1
