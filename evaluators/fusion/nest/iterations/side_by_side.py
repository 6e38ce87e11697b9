"""Iterations of cores that take those of the outermost loop in turn, and leave out masked tiles.

Of n cores the first one takes tiles 0, n, 2n and so on, the next one 1, n + 1 and so on. Under a
causal mask later queries see more keys. In turn all cores get early and late ones, and those that
run side by side see about as many.

Where tiles of queries are taken in turn, the k-th tiles of all cores form rows. In each row every
core runs the tiles of keys that its own queries see, one after another, and waits for the core
that has the most. What other loops do is the same on all cores.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from archloom.space.fusion import LoopNest

from ....arrays import Bools, Ints
from ..operands import NestGroup
from .cells import MaskedCells, masked_cells, size_kinds, tiles_of_kinds
from .loops import every, shown, turns_in_order
from .masked import KEYS, QUERIES, TileGrid
from .walked_loops import CoreShare, told_apart
from .when_used import MaskedUses, masked_uses


def shares_in_turn(group: NestGroup, nest: LoopNest, cores: int) -> list[CoreShare]:
    """Return what so many cores run of a nest, that of a core of which none does more first."""
    rank, tile = nest.loops[0].rank, nest.loops[0].tile
    size, masked = group.ranks.sizes[rank], masked_uses(group, nest)
    parts = turns_in_order(size, tile, cores)
    if masked is None or masked.places[QUERIES] != 0:
        return [CoreShare(part.cores, part.size, part.loop, masked) for part in parts]
    working = sum(part.cores for part in parts)
    live, tiles = masked.grid.live, every(size, tile).tile
    alike = dict[tuple[bytes, int], list[int]]()
    for core in range(working):
        covered = int(tiles[core::working].sum())
        alike.setdefault((live[core::working].tobytes(), covered), []).append(core)
    found = []
    for (_, covered), some in alike.items():
        own = masked_uses(group, nest, slice(some[0], None, working))
        assert own is not None, "the mask drops some tiles"
        found.append(CoreShare(len(some), covered, every(covered, tile), own))
    found.sort(key=_tiles, reverse=True)
    return list(_aligned(group, nest, found))


def _tiles(share: CoreShare) -> int:
    assert share.masked, "the mask drops some tiles"
    return int(share.masked.grid.live.sum())


@dataclass(frozen=True, eq=False)
class _Rows:
    """Tiles that a core runs, those of each of its rows one after another.

    Attributes:
        row, place: int64[n], where each is: its row, and its number among the row's.
        key: int64[n], which tile of keys it is.
        shape: rows, and places in each, of all cores.
    """

    row: Ints
    place: Ints
    key: Ints
    shape: tuple[int, int]

    @staticmethod
    def of(live: Bools, shape: tuple[int, int]) -> "_Rows":
        row, key = np.nonzero(live)
        place = (np.cumsum(live, axis=1) - 1)[row, key]
        return _Rows(row, place, key, shape)

    def flags(self, some: Bools) -> Bools:
        """bool[rows, places], given bool[queries, keys] of the core's own tiles."""
        found = np.zeros(self.shape, np.bool_)
        found[self.row, self.place] = some[self.row, self.key]
        return found

    @property
    def keys(self) -> Ints:
        """int64[rows, places], tiles of keys; 0 where there are none."""
        found = np.zeros(self.shape, np.int64)
        found[self.row, self.place] = self.key
        return found


def _aligned(group: NestGroup, nest: LoopNest, shares: Sequence[CoreShare]) -> Iterator[CoreShare]:
    """Yield shares with the iterations that are looked at, the same ones for all."""
    sizes, masks = group.ranks.sizes, [share.masked for share in shares if share.masked]
    loops = [shown(sizes[loop.rank], loop.tile) for loop in nest.loops]
    keys = every(
        sizes[nest.loops[masks[0].places[KEYS]].rank], nest.loops[masks[0].places[KEYS]].tile
    )
    shape = (
        max(len(masked.grid.live) for masked in masks),
        max(int(masked.grid.live.sum(axis=1).max()) for masked in masks),
    )
    rows = [_Rows.of(masked.grid.live, shape) for masked in masks]
    kinds = list[Bools]()
    for share, masked, own in zip(shares, masks, rows, strict=True):
        what = [masked.grid.live, *size_kinds((share.loop, keys))]
        kinds += map(own.flags, [*what, *told_apart(group, nest, masked)])
    ran = [own.flags(masked.grid.live) for own, masked in zip(rows, masks, strict=True)]
    tiles = tiles_of_kinds(kinds, TileGrid(np.logical_or.reduce(ran), QUERIES))
    cells = masked_cells(loops, masks[0].places, tiles)
    for share, masked, own, live in zip(shares, masks, rows, ran, strict=True):
        yield replace(share, cells=_own_cells(cells, masked, own.keys, live))


def _own_cells(cells: MaskedCells, masked: MaskedUses, keys: Ints, ran: Bools) -> MaskedCells:
    """Return the iterations of one core, of which it does not run all.

    Args:
        cells: of all cores, with the places of tiles in rows for those of keys.
        masked: what the core uses.
        keys: int64[rows, places], its tiles of keys.
        ran: bool[rows, places], those that it runs.
    """
    row, place = (cells.index[at] for at in masked.places)
    live = ran[row, place]
    own_row, key = np.where(live, row, 0), np.where(live, keys[row, place], 0)
    index = list(cells.index)
    index[masked.places[QUERIES]], index[masked.places[KEYS]] = own_row, key
    return replace(
        cells,
        index=tuple(index),
        tile=own_row * masked.grid.live.shape[KEYS] + key,
        live=live,
        there=np.arange(len(live)) <= np.flatnonzero(live)[-1],
    )
