"""A group and the loops of a nest around it, as arrays: what kernels place nests from."""

from functools import lru_cache
from math import prod
from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators import Flags, Floats, Ints
from archloom.evaluators.fusion.nest import NestGroup, shown
from archloom.search.fusion.nest.estimates import GroupArrays, group_arrays
from archloom.space.fusion import LoopNest

#: groups that are remembered as arrays, some KiB each (ours)
_REMEMBERED: Final = 256


class PlacedGroup(NamedTuple):
    """What a group is to loops that may be around it: t operands, m members, r ranks.

    Attributes:
        flags: of the group, with a column for each rank.
        words: int64[t], of operands.
        users: int64[m, n], operands that each member reads or makes, in the order in which they are
            added up; -1 after the last one.
        last: int64[t], the last member that reads an operand.
        columns: bool[m, r], ranks along the columns of what members make.
        width: int64[m], how many columns.
    """

    flags: GroupArrays
    words: Ints
    users: Ints
    last: Ints
    columns: Flags
    width: Ints


class PlacedLoops(NamedTuple):
    """Loops of a nest, outermost first, and the iterations of each that are looked at.

    Attributes:
        rank: int64[loops], column of the rank of each.
        size, tile, counts: int64[loops], indices of the rank, of a tile, and tiles.
        shown: int64[loops], how many iterations are looked at.
        indices, times, covers: int64[loops, most], which these are, for how many each stands, and
            indices that each covers.
        ascending: int64[loops], loops by their ranks.
        depth: int64[t], of each operand.
    """

    rank: Ints
    size: Ints
    tile: Ints
    counts: Ints
    shown: Ints
    indices: Ints
    times: Ints
    covers: Ints
    ascending: Ints
    depth: Ints


class PlacedBuffer(NamedTuple):
    """Words of the buffer, words a cycle of DRAM and of the buffer's port, and float64[t], words
    that cross DRAM's pins for one that streams."""

    capacity: int
    rate: float
    port: float
    sent: Floats


@lru_cache(maxsize=_REMEMBERED)
def _of_identity(group: "_ByIdentity") -> PlacedGroup:
    return _arrays(group.group)


class _ByIdentity:
    """A group that equals no other one; comparing groups takes long."""

    def __init__(self, group: NestGroup) -> None:
        self.group = group

    def __hash__(self) -> int:
        return id(self.group)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByIdentity) and other.group is self.group


def placed_group(group: NestGroup) -> PlacedGroup:
    """Return a group as arrays, which are remembered."""
    return _of_identity(_ByIdentity(group))


def _arrays(group: NestGroup) -> PlacedGroup:
    members = range(len(group.layers))
    # in the order in which a set has them, as sums of what streams are added up
    users = [list({*group.weights[m], *group.maps[m], group.made[m]}) for m in members]
    table = np.full((len(users), max(map(len, users))), -1, np.int64)
    for m, some in enumerate(users):
        table[m, : len(some)] = some
    sizes, ranks = group.ranks.sizes, range(len(group.ranks.sizes))
    columns = [group.ranks.dims[m][2] for m in members]
    return PlacedGroup(
        group_arrays(group, tuple(ranks)),
        np.array([x.words for x in group.operands], np.int64),
        table,
        np.array([max(x.readers, default=-1) for x in group.operands], np.int64),
        np.array([[rank in some for rank in ranks] for some in columns], np.uint8),
        np.array([prod(sizes[rank] for rank in some) for some in columns], np.int64),
    )


def placed_loops(group: NestGroup, nest: LoopNest) -> PlacedLoops:
    """Return the loops of a nest around a group as arrays."""
    ranks = [loop.rank for loop in nest.loops]
    looked = [shown(group.ranks.sizes[loop.rank], loop.tile) for loop in nest.loops]
    counts = [len(some.index) for some in looked]
    tables = np.zeros((3, len(looked), max(counts)), np.int64)
    for at, some in enumerate(looked):
        tables[:, at, : counts[at]] = some.index, some.times, some.tile
    return PlacedLoops(
        np.array(ranks, np.int64),
        np.array([group.ranks.sizes[rank] for rank in ranks], np.int64),
        np.array([loop.tile for loop in nest.loops], np.int64),
        np.array([some.count for some in looked], np.int64),
        np.array(counts, np.int64),
        tables[0],
        tables[1],
        tables[2],
        np.array(sorted(range(len(ranks)), key=ranks.__getitem__), np.int64),
        np.array(nest.depth, np.int64),
    )
