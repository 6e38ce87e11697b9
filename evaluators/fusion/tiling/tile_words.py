"""Words that the tiles of a group hold and move, by two kernels: for searches of many tilings.

The same figures as those of :class:`.geometry.GroupTiles`, without an array for each map, tile and
step: what an axis has at the corner tiles is worked out once for all tilings that share the axis.
"""

from copy import copy
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators.jit import compiled, fill_row, helper
from archloom.space.fusion import HaloPolicy
from archloom.space.workload import Layer

from ...arrays import Ints
from ..group_graph import GroupShape
from .corner_tiles import alike, leave_out_twins
from .sweep import ALL_TILES, Cuts, sorted_reads, swept

#: lengths of each map at the corner tiles of an axis: as in :class:`.sweep.AxisSweep`, in the tile
#: itself, before it, and after it
NEED, HAVE, GONE, HAD, WENT, NEW, COMING, SHARE, SHARED = range(9)

#: totals of each map over an axis: made (or fetched), written out, and its end
MADE, WRITTEN, END = range(3)

#: channels of each map, if they lie in the group's own part of the buffer, arrive from DRAM, or go
#: there, else 0; and the last step at which it is held in full
OWN, ARRIVING, DEPARTING, LAST = range(4)

_POLICIES: Final[tuple[HaloPolicy, ...]] = ("recompute", "keep_inner", "keep_all")
RECOMPUTE, KEEP_INNER, KEEP_ALL = range(3)

#: numbers of maps in a group
_Maps: TypeAlias = tuple[int, ...]


class GroupRecord(NamedTuple):
    """A group as the kernels have it.

    Attributes:
        edges: int64[2, E, 9], reads of maps along rows and along columns, by source.
        first: int64[M + 1], where those of each map begin.
        sizes: int64[2, M], rows and columns.
        exported: bool[M].
        order: int64[M], from sinks to sources.
        maps: int64[4, M], :data:`OWN`, :data:`ARRIVING`, :data:`DEPARTING` and :data:`LAST`.
        members, images: layers, and images of a pass.
    """

    edges: Ints
    first: Ints
    sizes: Ints
    exported: NDArray[np.bool_]
    order: Ints
    maps: Ints
    members: int
    images: int


class AxisTiles(NamedTuple):
    """One axis of a group, cut into tiles.

    Attributes:
        tiles: how many.
        corners: int64[9, M, I], lengths of each map at the corner tiles; along rows, and along
            columns that are made again, at one of those that hold and move the same.
        totals: int64[3, M], :data:`MADE`, :data:`WRITTEN` and :data:`END`.
        lengths: int64[2, m, D], the distinct lengths above 0 that each layer makes in the order in
            which they come, and in how many tiles; 0 in places that are left.
    """

    tiles: int
    corners: Ints
    totals: Ints
    lengths: Ints


class TileWords(NamedTuple):
    """What the tiles of a group hold and move.

    Attributes:
        peak: most words of maps in the buffer at once.
        prefetching: the same with those of neighbouring tiles that move meanwhile.
        fetched, stored: words of maps of an image.
    """

    peak: int
    prefetching: int
    fetched: int
    stored: int


class TiledGroup:
    """Cuts one group into tiles, again and again.

    Args:
        shape, layers: maps of the group and its layers.
    """

    # searches remember thousands
    __slots__ = ("record", "whole")

    def __init__(self, shape: GroupShape, layers: tuple[Layer, ...]) -> None:
        edges, first = sorted_reads(shape, layers, (0, 1))
        count = len(shape.channels)
        exported = np.zeros(count, np.bool_)
        exported[list(shape.exported)] = True
        readers = [0] * count
        for edge in shape.edges:
            readers[edge.source] = max(readers[edge.source], edge.reader)
        last = np.array(readers, np.int64)
        last[exported] = shape.members - 1
        order = np.array([*reversed(range(shape.members)), *shape.externals], np.int64)
        self.whole = shape.sizes[shape.anchor]
        self.record = GroupRecord(
            edges,
            first,
            np.array(shape.sizes, np.int64).T.copy(),
            exported,
            order,
            _maps(shape, last),
            shape.members,
            layers[0].n,
        )

    def among(self, held: _Maps, kept: _Maps, unwritten: _Maps) -> "TiledGroup":
        """Return the same group with more maps whole in the buffer; its axes are the same.

        Args:
            held, kept, unwritten: as of a :class:`GroupShape`.
        """
        other, maps = copy(self), self.record.maps.copy()
        for t in held:
            maps[OWN, t] = maps[ARRIVING, t] = 0
        for t in kept:
            maps[OWN, t] = 0
        for t in unwritten:
            maps[DEPARTING, t] = 0
        other.record = self.record._replace(maps=maps)
        return other

    def axis(self, axis: int, tile: int, keep: bool) -> AxisTiles:
        """Cut an axis (0 rows, 1 columns) into tiles of ``tile`` on the anchor, remainder last.

        ``keep`` says whether what tiles share on this axis is kept rather than made again.
        """
        length = self.whole[axis]
        return AxisTiles(-(-length // tile), *_axis_tiles(self.record, axis, length, tile, keep))

    def words(self, rows: AxisTiles, columns: AxisTiles, halo: HaloPolicy) -> TileWords:
        """Return the words of the tiles of both axes, under a halo policy."""
        one, other = (rows.corners, rows.totals), (columns.corners, columns.totals)
        return TileWords(*tile_words(self.record, *one, *other, _POLICIES.index(halo)))


def _maps(shape: GroupShape, last: Ints) -> Ints:
    """Return maps of a :class:`GroupRecord`, given the last step at which each is held in full."""
    maps = np.zeros((4, len(last)), np.int64)
    maps[OWN], maps[LAST] = shape.own_channels, last
    for kind, some in ((ARRIVING, shape.arriving), (DEPARTING, shape.departing)):
        for t in some:
            maps[kind, t] = shape.channels[t]
    return maps


@compiled(brief=True)
def tile_sizes(rows: Ints, columns: Ints) -> Ints:
    """Return int64[4, n], the layer, rows, columns and number in an image of all tiles of a size.

    Args:
        rows, columns: lengths of :class:`AxisTiles`, along both axes.
    """
    members, high, wide = rows.shape[1], rows.shape[2], columns.shape[2]
    found, n = np.empty((4, members * high * wide), np.int64), 0
    for m in range(members):
        for i in range(high):
            for j in range(wide):
                times = rows[1, m, i] * columns[1, m, j]
                if times:
                    found[0, n], found[1, n], found[2, n] = m, rows[0, m, i], columns[0, m, j]
                    found[3, n] = times
                    n += 1
    return found[:, :n].copy()


@compiled(brief=True)
def _axis_tiles(
    group: GroupRecord, axis: int, length: int, tile: int, keep: bool
) -> tuple[Ints, Ints, Ints]:
    """Return corners, totals and lengths of :class:`AxisTiles`."""
    figures = swept(
        group.edges[axis],
        group.first,
        group.sizes[axis],
        group.exported,
        group.order,
        Cuts(length, tile, keep, ALL_TILES),
    )
    new, need, have, gone, share = figures
    maps, tiles = new.shape
    corner = np.zeros(tiles, np.bool_)
    corner[0] = corner[tiles - 1] = True
    for i in range(tiles - 1):
        if not alike(i, i + 1, figures):
            corner[i] = corner[i + 1] = True
    at = np.flatnonzero(corner)
    if axis == 0 or not keep:
        at = at[: leave_out_twins(at, figures, keep)]
    words = np.zeros((9, maps, len(at)), np.int64)
    totals = np.zeros((3, maps), np.int64)
    for u in range(maps):
        totals[MADE, u], totals[WRITTEN, u] = new[u].sum(), share[u].sum()
        totals[END, u] = have[u, tiles - 1]
        for n in range(len(at)):
            i = at[n]
            words[NEED, u, n], words[HAVE, u, n], words[GONE, u, n] = (
                need[u, i],
                have[u, i],
                gone[u, i],
            )
            words[NEW, u, n], words[SHARE, u, n] = new[u, i], share[u, i]
            if i:
                words[HAD, u, n], words[WENT, u, n] = have[u, i - 1], gone[u, i - 1]
                words[SHARED, u, n] = share[u, i - 1]
            if i + 1 < tiles:
                words[COMING, u, n] = new[u, i + 1]
    return words, totals, _distinct(new[: group.members])


@compiled
def _distinct(made: Ints) -> Ints:
    """Return lengths of :class:`AxisTiles`."""
    found, most = np.zeros((2, *made.shape), np.int64), 1
    for m in range(len(made)):
        count = 0
        for i in range(made.shape[1]):
            if made[m, i] == 0:
                continue
            n = 0
            while n < count and found[0, m, n] != made[m, i]:
                n += 1
            if n == count:
                found[0, m, n] = made[m, i]
                count += 1
            found[1, m, n] += 1
        most = max(most, count)
    return found[:, :, :most].copy()


@helper
def _between(rows: Ints, u: int, i: int, end: int, x0: int, x1: int) -> int:
    """Words held of a map's channel around the raster point, if all halos are kept."""
    # fusion model section 3: rows above the raster point are kept for columns still to come, and
    # the rows made now for columns already passed
    band = rows[HAVE, u, i] - rows[WENT, u, i]
    above, here = rows[HAD, u, i] - rows[WENT, u, i], rows[HAVE, u, i] - rows[GONE, u, i]
    return band * (x1 - x0) + above * (end - x1) + here * x0


@helper
def _held(
    rows: Ints, columns: Ints, end: Ints, policy: int, u: int, i: int, j: int
) -> tuple[int, int, int]:
    """Words of a map's channel before, during and after its step."""
    if policy == RECOMPUTE:
        return 0, rows[NEED, u, i] * columns[NEED, u, j], 0
    have, had = columns[HAVE, u, j], columns[HAD, u, j]
    gone, went = columns[GONE, u, j], columns[WENT, u, j]
    if policy == KEEP_INNER:
        height = rows[NEED, u, i]
        return height * (had - went), height * (have - went), height * (have - gone)
    return (
        _between(rows, u, i, end[u], went, had),
        _between(rows, u, i, end[u], went, have),
        _between(rows, u, i, end[u], gone, have),
    )


@helper
def _words(channels: Ints, high: Ints, wide: Ints) -> int:
    """Words of all maps."""
    words = 0
    for u in range(len(channels)):
        words += channels[u] * high[u] * wide[u]
    return words


@compiled(brief=True)
def tile_words(
    group: GroupRecord,
    rows: Ints,
    row_totals: Ints,
    columns: Ints,
    column_totals: Ints,
    policy: int,
) -> tuple[int, int, int, int]:
    """Return the figures of :class:`TileWords`."""
    maps, members, end = group.maps, group.members, column_totals[END]
    count, high, wide = maps.shape[1], rows.shape[2], columns.shape[2]
    changes = np.zeros(members + 1, np.int64)
    peak = prefetching = 0
    for i in range(high):
        for j in range(wide):
            fill_row(changes, 0)
            coming = leaving = 0
            for u in range(count):
                # of the next tile, in the next row after the last column, or of the next image
                if maps[ARRIVING, u]:
                    new = rows[NEW, u, i] * columns[COMING, u, j]
                    if j == wide - 1:
                        new = rows[COMING, u, i] * columns[NEW, u, 0]
                        if i == high - 1:
                            new = rows[NEW, u, 0] * columns[NEW, u, 0] * (group.images > 1)
                    coming += maps[ARRIVING, u] * new
                if maps[DEPARTING, u]:
                    old = rows[SHARE, u, i] * columns[SHARED, u, j]
                    if j == 0:
                        old = rows[SHARED, u, i] * columns[SHARE, u, wide - 1]
                        if i == 0:
                            old = rows[SHARE, u, high - 1] * columns[SHARE, u, wide - 1]
                            old *= group.images > 1
                    leaving += maps[DEPARTING, u] * old
                if maps[OWN, u]:
                    before, full, after = _held(rows, columns, end, policy, u, i, j)
                    step = u if u < members else 0
                    changes[0] += maps[OWN, u] * before
                    changes[step] += maps[OWN, u] * (full - before)
                    changes[maps[LAST, u] + 1] += maps[OWN, u] * (after - full)
            words = most = 0
            for step in range(members):
                words += changes[step]
                most = max(most, words)
            peak, prefetching = max(peak, most), max(prefetching, most + coming + leaving)
    fetched = _words(maps[ARRIVING], row_totals[MADE], column_totals[MADE])
    stored = _words(maps[DEPARTING], row_totals[WRITTEN], column_totals[WRITTEN])
    return peak, prefetching, fetched, stored
