"""What the tilings of a group hold, move and make, known for one network whatever the design.

Searches tile the same groups on one design after another, and groups of one kind alike.
"""

from collections.abc import Hashable, Iterator
from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators.fusion.buffer import shape_of
from archloom.evaluators.fusion.tiling import MADE
from archloom.space.fusion import HaloPolicy
from archloom.space.workload import Network, remembered

from ..group_equivalence import group_kind
from ..partition import Group
from .grid import GroupTilings, Tile

#: groups of one network whose tilings are remembered (assumption: some 4 KiB each)
_MOST_GROUPS: Final = 2**14

#: where the tiles of an image run on several cores, which keep nothing for each other
_POLICIES_APART: Final[tuple[HaloPolicy, ...]] = ("recompute", "keep_inner")


class KnownTiling(NamedTuple):
    """One tiling of a group.

    Attributes:
        tile, halo: rows and columns on the anchor, and what becomes of halos.
        peak: most words of maps in the buffer at once.
        words: of maps that move between DRAM and buffer for an image.
        macs: multiply-accumulates for an image, repeated ones included.
        per_image: tiles of an image.
        linked: tiles in a row that must run in one buffer.
    """

    tile: Tile
    halo: HaloPolicy
    peak: int
    words: int
    macs: int
    per_image: int
    linked: int


@remembered
def _known(network: Network) -> dict[Hashable, tuple[KnownTiling, ...]]:  # noqa: ARG001
    return {}


def known_tilings(network: Network, layers: Group, cores: int) -> tuple[KnownTiling, ...]:
    """Return the tilings of a group that differ, larger tiles first.

    Args:
        network: where the group is.
        layers: of the group.
        cores: on which tiles run side by side.
    """
    known = _known(network)
    apart = cores if network.batch % cores else 0
    kind = (group_kind(network, layers), apart)
    if kind not in known:
        if len(known) >= _MOST_GROUPS:
            known.clear()
        known[kind] = tuple(_tilings(network, layers, apart))
    return known[kind]


def _tilings(network: Network, layers: Group, apart: int) -> Iterator[KnownTiling]:
    members = tuple(network.layers[i] for i in layers)
    ways = GroupTilings(shape_of(network, layers), members)
    macs = np.array([layer.macs // (layer.p * layer.q * layer.n) for layer in members], np.int64)
    for tile, halo in tiles_apart(ways, apart) if apart else ways.banded():
        rows, columns = ways.axes(tile, halo)
        words = ways.tiled.words(rows, columns, halo)
        made = rows.totals[MADE] * columns.totals[MADE]
        count = rows.tiles * columns.tiles
        yield KnownTiling(
            tile,
            halo,
            words.peak,
            words.fetched + words.stored,
            int(macs @ made[: len(members)]),
            count,
            {"recompute": 1, "keep_inner": columns.tiles, "keep_all": count}[halo],
        )


def several_on_cores(
    tilings: GroupTilings, images: int, cores: int
) -> Iterator[tuple[Tile, HaloPolicy]]:
    """Yield tiles and halo policies on several cores: those of one buffer where images come out
    even."""
    yield from tiles_apart(tilings, cores) if images % cores else tilings.several()


def tiles_apart(tilings: GroupTilings, cores: int) -> Iterator[tuple[Tile, HaloPolicy]]:
    """Yield tiles and halo policies for the tiles of one image on several cores.

    Runs of tiles are dealt to cores; whole rows keep nothing for the next tile.
    """
    for tile in core_tile_sizes(*tilings.whole, cores):
        for policy in _POLICIES_APART[: 1 + (tile[1] < tilings.whole[1])]:
            yield tile, policy


def core_tile_sizes(rows: int, columns: int, cores: int) -> Iterator[Tile]:
    """Bands of rows for so many cores and multiples of them, and halves; each by halving widths.

    Tiles that would leave more than half of the cores without one are left out.
    """
    halves = [1 << k for k in range(max(rows, columns).bit_length() + 1)]
    heights = {-(-rows // (parts * k)) for k in halves for parts in (1, cores)}
    widths = sorted({-(-columns // k) for k in halves}, reverse=True)
    for height in sorted(heights, reverse=True):
        for width in widths:
            if 2 * -(-rows // height) * -(-columns // width) >= min(cores, 2 * rows * columns):
                yield (height, width)
