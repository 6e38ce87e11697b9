"""Grids of tiles of one group's feature maps; those that share an axis share its sweep."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from math import prod
from typing import Final, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators import Ints
from archloom.evaluators.fusion import GroupShape
from archloom.evaluators.fusion.tiling import (
    AxisSweep,
    AxisTiles,
    GroupTiles,
    TiledGroup,
    TileWords,
    axis_sweep,
)
from archloom.space.fusion import HaloPolicy
from archloom.space.workload import Layer, Network, bits, is_input, positions, remembered

#: rows and columns on the anchor
Tile: TypeAlias = tuple[int, int]

#: into how many bands the rows of the anchor are cut, and its columns
_BANDS: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
_COLUMNS: Final = (1, 2, 4, 8)

#: columns of one row that are not halved any more
_NARROW: Final = 7


@remembered
def _readers_of_parts(network: Network) -> tuple[int, ...]:
    """For each layer, in bits, who reads some rows or columns of its map alone."""
    found: list[list[int]] = [[] for _ in network.layers]
    for reader, sources in enumerate(network.reads):
        for operand, source in enumerate(sources):
            box = network.layers[reader].slice_of(operand)
            if not is_input(source) and box is not None and box.size[1:] != box.of[1:]:
                found[network.index(source)].append(reader)
    return tuple(map(bits, found))


def leaves_out(network: Network, layers: Sequence[int]) -> bool:
    """Whether a group may run less of its layers than they do by themselves: a member reads some
    rows or columns of another's map alone.
    """
    readers, members = _readers_of_parts(network), bits(layers)
    return any(readers[i] & members for i in layers)


def leaving_out(network: Network, members: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """bool[G], :func:`leaves_out` of groups; bool[G, L] says which layers each runs."""
    found = np.zeros(len(members), np.bool_)
    for maker, readers in enumerate(_readers_of_parts(network)):
        if readers:
            found |= members[:, maker] & members[:, list(positions(readers))].any(axis=1)
    return found


class GroupTilings:
    """Tilings of one group.

    Args:
        shape, members: maps of the group and its layers.
    """

    def __init__(self, shape: GroupShape, members: tuple[Layer, ...]) -> None:
        self._shape = shape
        self._members = members
        self._sweeps: dict[tuple[int, int, bool], AxisSweep] = {}
        self._axes: dict[tuple[int, int, bool], AxisTiles] = {}

    @cached_property
    def tiled(self) -> TiledGroup:
        """The group, to cut it in tiles again and again."""
        return TiledGroup(self._shape, self._members)

    @property
    def whole(self) -> Tile:
        """Rows and columns of the anchor."""
        return self._shape.sizes[self._shape.anchor]

    def tiles(self, tile: Tile, halo: HaloPolicy) -> GroupTiles:
        """Cut the group into tiles of ``tile`` on the anchor."""
        rows, columns = (self._sweep(*cut) for cut in self._cuts(tile, halo))
        return GroupTiles(self._shape, self._members, halo, rows, columns)

    def count(self, tile: Tile) -> int:
        """Return how many tiles an image is cut into."""
        return prod(-(-size // side) for size, side in zip(self.whole, tile, strict=True))

    def axes(self, tile: Tile, halo: HaloPolicy) -> tuple[AxisTiles, AxisTiles]:
        """Return rows and columns of :meth:`tiles`, as :meth:`words` has them."""
        rows, columns = (self._axis(*cut) for cut in self._cuts(tile, halo))
        return rows, columns

    def words(self, tile: Tile, halo: HaloPolicy) -> TileWords:
        """Return what :meth:`tiles` hold and move, without working out where."""
        return self.tiled.words(*self.axes(tile, halo), halo)

    def _cuts(self, tile: Tile, halo: HaloPolicy) -> Iterator[tuple[int, int, bool]]:
        """Yield each axis, how long a tile is there, and whether halos along it are kept."""
        # along an axis in one piece there is no halo
        yield 0, tile[0], halo == "keep_all" or tile[0] == self.whole[0]
        yield 1, tile[1], halo != "recompute" or tile[1] == self.whole[1]

    def _sweep(self, axis: int, size: int, keep: bool) -> AxisSweep:
        key = (axis, size, keep)
        if key not in self._sweeps:
            self._sweeps[key] = axis_sweep(self._shape, list(self._members), *key)
        return self._sweeps[key]

    def _axis(self, axis: int, size: int, keep: bool) -> AxisTiles:
        key = (axis, size, keep)
        if key not in self._axes:
            self._axes[key] = self.tiled.axis(*key)
        return self._axes[key]

    def forget(self) -> None:
        """Forget where tiles lie; it is worked out again if it is asked for."""
        self._sweeps.clear()
        self._axes.clear()

    def policies(self, tile: Tile) -> tuple[HaloPolicy, ...]:
        """Halo policies that differ for a tile: along an axis in one piece there is no halo."""
        cut = tile[0] < self.whole[0], tile[1] < self.whole[1]
        needs = {"keep_all": True, "keep_inner": all(cut), "recompute": any(cut)}
        return tuple(halo for halo in get_args(HaloPolicy) if needs[halo])

    @cached_property
    def bands(self) -> list[Tile]:
        """The whole map, bands of whole rows by halving heights, then halves of one row."""
        (height, width), columns = self.whole, self.whole[1]
        found = [(height, columns)]
        while height > 1:
            height = -(-height // 2)
            found.append((height, columns))
        while width > _NARROW:
            width = -(-width // 2)
            found.append((1, width))
        return found

    def banded(self) -> Iterator[tuple[Tile, HaloPolicy]]:
        """Yield the tiles of :attr:`bands` under every policy that differs there."""
        yield from ((tile, halo) for tile in self.bands for halo in self.policies(tile))

    def even(self, sides: Sequence[int]) -> list[Tile]:
        """Tiles near a square with such sides, larger ones first."""
        rows, columns = self.whole
        tiles = (
            (height, width)
            for height in sides
            for width in sides
            if height <= 2 * width <= 4 * height and height <= rows and width <= columns
        )
        return sorted(tiles, key=lambda tile: (-tile[0] * tile[1], tile))

    def several(self) -> Iterator[tuple[Tile, HaloPolicy]]:
        """Yield bands of rows, then tiles near a square, under every policy that differs there."""
        rows, columns = self.whole
        heights = list(dict.fromkeys(-(-rows // n) for n in _BANDS if n <= rows))
        for width in dict.fromkeys(-(-columns // n) for n in _COLUMNS if n <= columns):
            for height in heights:
                if width == columns or height < 4 * width < 16 * height:
                    for halo in self.policies((height, width)):
                        yield (height, width), halo


def in_one_piece(network: Network, shape: GroupShape) -> tuple[list[Tile], int, int]:
    """Return rows and columns of each layer of a group whose anchor is made in one piece, at least
    one of each, and words of maps that are fetched and stored.
    """
    members = tuple(network.layers[i] for i in shape.layers)
    if not leaves_out(network, shape.layers):
        fetched, stored = (
            sum(shape.channels[t] * prod(shape.sizes[t]) for t in maps)
            for maps in (shape.arriving, shape.departing)
        )
        return [(layer.p, layer.q) for layer in members], fetched, stored
    tilings = GroupTilings(shape, members)
    tiles = tilings.tiles(tilings.whole, "keep_all")
    rows, columns = (axis.new[: len(members), 0].tolist() for axis in (tiles.rows, tiles.columns))
    made = [(max(1, height), max(1, width)) for height, width in zip(rows, columns, strict=True)]
    return made, int(tiles.fetched.sum()), int(tiles.stored.sum())


def least_weights(words: Ints, capacity: Ints, maps: Ints, images: int) -> Ints:
    """Return about how many words of weights come in as many bands as serve groups best.

    A band holds the largest maps of one layer at once, and what is left holds weights; those that
    do not stay come again for every band of every image.

    Args:
        words: int64[K], of all weights of each group.
        capacity: int64[K], words of the buffer.
        maps: int64[K], most words that a layer reads and makes of an image.
        images: one after another.
    """
    least = np.full(np.shape(words), np.iinfo(np.int64).max)
    for bands in _BANDS:
        stays = np.minimum(words, np.maximum(0, capacity - maps // bands))
        least = np.minimum(least, stays + (words - stays) * bands * images)
    return least
