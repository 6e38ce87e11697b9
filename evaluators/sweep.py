"""Which rows (or columns) of every map each tile of a fused group makes and holds.

One axis at a time: intervals [lo, hi) per tile, propagated from the maps that leave the group
back to its inputs. Kernels, strides, padding and dilation widen them; a halo policy says
whether what two tiles share is made again or kept. After DeFiNES (Mei et al., HPCA 2023),
with maps clamped at their borders and several readers per map.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..space.layer import Layer
from .group_shape import Edge, GroupShape

Ints = NDArray[np.int64]

_NONE = np.int64(2**40)  # start of an empty interval; its end is -1, so that hulls ignore it


@dataclass(frozen=True)
class AxisSweep:
    """One axis of a group's tiles; M maps (external ones last), T tiles.

    Attributes:
        new: int64[M, T], length made (or fetched) in the tile.
        need: int64[M, T], length that the tile's readers and owners need.
        have: int64[M, T], end of what was ever made up to the tile.
        gone: int64[M, T], start of what a later tile still reads.
        share: int64[M, T], length written out in the tile, 0 for maps that stay inside.
    """

    new: Ints
    need: Ints
    have: Ints
    gone: Ints
    share: Ints

    @property
    def tiles(self) -> int:
        """Number of tiles along the axis."""
        return int(self.new.shape[1])

    @property
    def kept(self) -> Ints:
        """int64[M, T], length that stays for later tiles."""
        kept: Ints = self.have - self.gone
        return kept

    def before(self, values: Ints) -> Ints:
        """``values[M, T]`` one tile earlier, 0 before the first."""
        shifted = np.zeros_like(values)
        shifted[:, 1:] = values[:, :-1]
        return shifted

    def corners(self) -> list[int]:
        """First and last tile of every run of tiles that look alike.

        Occupancy is linear along a run, so its peak is at one of these.
        """
        # what the next tile fetches is in flight already (prefetch)
        coming = np.append(self.new[:, 1:], np.zeros_like(self.new[:, :1]), axis=1)
        shape = np.concatenate(
            [
                self.new,
                coming,
                self.need,
                self.have - self.before(self.gone),
                self.kept,
                self.share,
                self.before(self.kept),
                self.before(self.share),
            ]
        )
        change = np.flatnonzero((shape[:, 1:] != shape[:, :-1]).any(axis=0))
        return sorted({0, self.tiles - 1, *map(int, change), *(int(i) + 1 for i in change)})


def axis_sweep(
    shape: GroupShape, layers: list[Layer], axis: int, tile: int, keep: bool
) -> AxisSweep:
    """Sweep one axis (0 rows, 1 columns) in tiles of ``tile`` on the anchor, remainder last.

    ``keep`` says whether what tiles share on this axis is kept rather than made again.
    ``layers`` are the group's layers.
    """
    length = shape.sizes[shape.anchor][axis]
    cuts = np.append(np.arange(0, length, tile), length)
    tiles, maps = len(cuts) - 1, len(shape.channels)
    new_lo = np.full((maps, tiles), _NONE)
    new_hi = np.full((maps, tiles), np.int64(-1))
    need = np.zeros((maps, tiles), np.int64)
    have, gone, share = need.copy(), need.copy(), need.copy()
    readers: list[list[Edge]] = [[] for _ in range(maps)]
    for edge in shape.edges:
        readers[edge.source].append(edge)
    for u in (*reversed(range(shape.members)), *shape.externals):
        size = shape.sizes[u][axis]
        lo, hi = np.full(tiles, _NONE), np.full(tiles, np.int64(-1))
        low = lo
        for e in readers[u]:
            at = _back(e, layers[e.reader], axis, size, new_lo[e.reader], new_hi[e.reader])
            low = np.minimum(low, at[0])
            hi = np.maximum(hi, at[1])
        lo = low
        if u in shape.exported:
            own = cuts * size // length
            filled = own[1:] > own[:-1]
            lo = np.minimum(lo, np.where(filled, own[:-1], _NONE))
            hi = np.maximum(hi, np.where(filled, own[1:], -1))
            share[u] = own[1:] - own[:-1]
        need[u] = np.maximum(0, hi - lo)
        have[u] = np.maximum.accumulate(np.maximum(hi, 0))
        if keep:
            lo, hi = np.append(0, have[u, :-1]), have[u]
            lo, hi = np.where(hi > lo, lo, _NONE), np.where(hi > lo, hi, -1)
            if u in shape.exported:
                share[u] = np.maximum(0, hi - lo)
        new_lo[u], new_hi[u] = lo, hi
        later = np.append(np.minimum.accumulate(low[::-1])[::-1][1:], _NONE)
        gone[u] = np.minimum(have[u], later)
    return AxisSweep(np.maximum(0, new_hi - new_lo), need, have, gone, share)


def _back(edge: Edge, reader: Layer, axis: int, size: int, lo: Ints, hi: Ints) -> tuple[Ints, Ints]:
    """The interval of a map that its reader needs for its own interval [lo, hi)."""
    if edge.full:
        start, end = np.zeros_like(lo), np.full_like(hi, size)
    else:
        kernel = reader.r if axis == 0 else reader.s
        stride, pad = reader.stride[axis], reader.padding[axis]
        start = np.maximum(0, lo * stride - pad)
        # (hi-1)*stride - pad + (kernel-1)*dilation + 1, clamped at the map's end
        end = np.minimum(size, (hi - 1) * stride - pad + (kernel - 1) * reader.dilation[axis] + 1)
    empty = (hi <= lo) | (end <= start)
    return np.where(empty, _NONE, start), np.where(empty, -1, end)
