"""Tiles of groups as planners compare them: what they hold and move, and what runs in them.

All of it follows from the network, so that it is worked out once for all designs.
"""

from collections.abc import Sequence
from copy import copy
from typing import NamedTuple

import numpy as np

from archloom.evaluators import Ints
from archloom.evaluators.fusion.buffer import shape_of
from archloom.evaluators.fusion.tiling import (
    TileWords,
    WeightPlaces,
    least_weight_words,
    tile_sizes,
)
from archloom.search.fusion.joint.cuts import GroupAmongPins
from archloom.search.fusion.tiling import GroupTilings, SizeNumbers, Tile
from archloom.space.fusion import HaloPolicy
from archloom.space.workload import Network

from ...partition import Group
from .columns import OptionColumns


class TiledLayers(NamedTuple):
    """What runs in the tiles of a group, image by image.

    Attributes:
        parts: int64[4, n], of each size of tile: column of the table of options, ascending; which
            member it is of; number of a kind of layer with rows and columns of its result; tiles of
            that size in an image.
        loads: int64[m], for each member the tiles in which it runs.
        tiles: of an image.
    """

    parts: Ints
    loads: Ints
    tiles: int


class GroupTiling:
    """Tilings of one group and what is known of them.

    Args:
        network: where the group is.
        layers: of the group.
        numbers: of the sizes in which layers run.
        columns: of the table of options.
    """

    # thousands are remembered
    __slots__ = ("_columns", "_members", "_numbers", "_runs", "_tiled", "_words", "tilings")

    def __init__(
        self, network: Network, layers: Group, numbers: SizeNumbers, columns: OptionColumns
    ) -> None:
        shape = shape_of(network, layers)
        self._numbers = numbers
        self.tilings = GroupTilings(shape, tuple(network.layers[i] for i in layers))
        self._tiled = self.tilings.tiled
        self._words: dict[tuple[Tile, HaloPolicy], TileWords] = {}
        self._runs: dict[tuple[Tile, HaloPolicy], TiledLayers] = {}
        self._members = np.array(layers, np.int64)
        self._columns = columns.at(self._members, np.int64(1))

    def among(self, key: GroupAmongPins) -> "GroupTiling":
        """Return the tilings of a group of the same kind among what its plan keeps in the buffer.

        They share what runs in tiles.
        """
        _, held, kept, unwritten = key
        outside = len(self._members)
        other = copy(self)
        other._tiled = self._tiled.among(tuple(outside + n for n in held), kept, unwritten)
        other._words = {}
        return other

    def words(self, tile: Tile, halo: HaloPolicy) -> TileWords:
        """Return what tiles hold and move."""
        key = (tile, halo)
        if key not in self._words:
            self._words[key] = self._tiled.words(*self.tilings.axes(tile, halo), halo)
        return self._words[key]

    def least_weight_words(self, tiles: Sequence[Tile], weights: WeightPlaces) -> int:
        """As :func:`archloom.evaluators.fusion.tiling.least_weight_words`."""
        return least_weight_words(self._tiled, tiles, weights)

    def runs(self, tile: Tile, halo: HaloPolicy) -> TiledLayers:
        """Return what runs in the tiles."""
        key = (tile, halo)
        if key not in self._runs:
            rows, across = self.tilings.axes(tile, halo)
            members, *sizes, times = tile_sizes(rows.lengths, across.lengths)
            numbers = self._numbers.of(self._members[members], *sizes)
            loads = np.bincount(members, times, len(self._members)).astype(np.int64)
            columns = self._columns[members]
            order = np.argsort(columns, kind="stable")
            parts = np.stack([columns, members, numbers, times])[:, order]
            self._runs[key] = TiledLayers(parts, loads, rows.tiles * across.tiles)
        return self._runs[key]

    def forget(self) -> None:
        """Forget what tiles hold, move and run; it is worked out again if it is asked for."""
        self._words.clear()
        self._runs.clear()
        self.tilings.forget()

    @property
    def known(self) -> int:
        """How many tilings are remembered."""
        return len(self._words) + 1
