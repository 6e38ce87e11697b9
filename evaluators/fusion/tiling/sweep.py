"""Rows (or columns) of every map that each tile of a fused group makes and holds.

One axis at a time: intervals [lo, hi) per tile, propagated from the maps that leave the group
back to its inputs. Kernels, strides, padding and dilation widen them; a halo policy says
whether what two tiles share is made again or kept. After DeFiNES (Mei et al., HPCA 2023),
with maps clamped at their borders and several readers per map.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators.jit import compiled, lean
from archloom.space.workload import Layer

from ...arrays import Ints
from ..group_graph import Edge, GroupShape

#: entries of one read of a map: who makes and who reads it, whether it is read whole, stride and
#: padding of the window and how far it reaches past its start, and how the map is read: its
#: length, the patch of one position and the start of what is read
SOURCE, READER, WHOLE, STRIDE, PADDING, REACH, LENGTH, PATCH, START = range(9)

#: as many tiles as there are
ALL_TILES: Final = 2**40

_NONE: Final = 2**40  # start of an empty interval; its end is -1, so that hulls ignore it


@dataclass(frozen=True)
class AxisSweep:
    """One axis of a group's tiles; M maps (external ones last), T tiles.

    Attributes:
        new: int64[M, T], length made (or fetched) in the tile.
        need: int64[M, T], length that the tile's readers and owners need.
        have: int64[M, T], end of what was ever made up to the tile; positions count from the
            first that any tile needs.
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

    @cached_property
    def lengths(self) -> list[list[tuple[int, int]]]:
        """For each map the distinct lengths above 0 made in a tile, and in how many tiles."""
        return [
            [(length, times) for length, times in Counter(new).items() if length]
            for new in self.new.tolist()
        ]

    def corners(self) -> list[int]:
        """Return the first and last tile of every run of tiles that look alike.

        Occupancy is linear along a run, so its peak is at one of these.
        """
        return self._corners

    @cached_property
    def _corners(self) -> list[int]:
        # what the next tile fetches is in flight already (prefetch)
        coming = np.append(self.new[:, 1:], np.zeros_like(self.new[:, :1]), axis=1)
        corner = np.zeros(self.tiles, np.bool_)
        corner[[0, -1]] = True
        for figure in (
            self.new,
            coming,
            self.need,
            self.have - self.before(self.gone),
            self.kept,
            self.share,
            self.before(self.kept),
            self.before(self.share),
        ):
            change = (figure[:, 1:] != figure[:, :-1]).any(axis=0)
            corner[:-1] |= change
            corner[1:] |= change
        corners: list[int] = np.flatnonzero(corner).tolist()
        return corners


class Cuts(NamedTuple):
    """How one axis is cut.

    Attributes:
        length: of the anchor.
        tile: length of a tile there, the remainder last.
        keep: whether what tiles share on this axis is kept rather than made again.
        most: tiles from the first on that are looked at. After the last one of them nothing stays.
    """

    length: int
    tile: int
    keep: bool
    most: int


def axis_sweep(
    shape: GroupShape, layers: list[Layer], axis: int, tile: int, keep: bool
) -> AxisSweep:
    """Sweep one axis (0 rows, 1 columns) in tiles of ``tile`` on the anchor, remainder last.

    ``keep`` says whether what tiles share on this axis is kept rather than made again.
    ``layers`` are the group's layers.
    """
    sizes = np.array([size[axis] for size in shape.sizes], np.int64)
    exported = np.zeros(len(sizes), np.bool_)
    exported[list(shape.exported)] = True
    order = np.array([*reversed(range(shape.members)), *shape.externals], np.int64)
    edges, first = sorted_reads(shape, layers, (axis,))
    length = shape.sizes[shape.anchor][axis]
    figures = swept(edges[0], first, sizes, exported, order, Cuts(length, tile, keep, ALL_TILES))
    return AxisSweep(*figures)


def sorted_reads(
    shape: GroupShape, layers: Sequence[Layer], axes: Sequence[int]
) -> tuple[Ints, Ints]:
    """Return int64[axes, E, 9], reads of maps along axes by source, as kernels have them, and where
    those of each map begin."""
    # by source, so that the kernel finds the readers of a map side by side
    ordered = sorted(shape.edges, key=attrgetter("source"))
    figures = [x for axis in axes for e in ordered for x in _row(e, layers[e.reader], axis)]
    edges = np.array(figures, np.int64).reshape(len(axes), len(ordered), -1)
    return edges, np.searchsorted(edges[0, :, SOURCE], np.arange(len(shape.sizes) + 1))


def _row(edge: Edge, reader: Layer, axis: int) -> tuple[int, ...]:
    """Return one read as compiled code has it: entries are SOURCE, READER and so on."""
    kernel = reader.r if axis == 0 else reader.s
    reach = (kernel - 1) * reader.dilation[axis]
    window = (reader.stride[axis], reader.padding[axis], reach, reader.input_size[axis])
    return (edge.source, edge.reader, int(edge.full), *window, edge.patch[axis], edge.start[axis])


@lean
def _back(edge: Ints, size: int, lo: int, hi: int) -> tuple[int, int]:
    """The interval of a map that its reader needs for its own non-empty interval [lo, hi)."""
    stride, pad, reach, length = edge[STRIDE], edge[PADDING], edge[REACH], edge[LENGTH]
    if edge[WHOLE]:
        return 0, size
    # (hi-1)*stride - pad + (kernel-1)*dilation + 1, clamped at the map's end
    start, end = max(0, lo * stride - pad), min(length, (hi - 1) * stride - pad + reach + 1)
    patch, cut = edge[PATCH], edge[START]
    if end > start:
        # positions of an interleaved map lie in patches, after what is left out
        return (start + cut) // patch, (end - 1 + cut) // patch + 1
    return start, end


@compiled(brief=True)
def swept(
    edges: Ints,
    first: Ints,
    sizes: Ints,
    exported: NDArray[np.bool_],
    order: Ints,
    cuts: Cuts,
) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Return new, need, have, gone and share of :class:`AxisSweep`, from sinks to sources.

    Edges are sorted by source; those from map ``u`` begin at ``first[u]``.
    """
    length, tile, keep = cuts.length, cuts.tile, cuts.keep
    maps, tiles = len(sizes), min(cuts.most, (length + tile - 1) // tile)
    new_lo, new_hi = np.full((maps, tiles), _NONE), np.full((maps, tiles), -1)
    new, need = np.zeros((maps, tiles), np.int64), np.zeros((maps, tiles), np.int64)
    have, gone, share = np.zeros_like(new), np.zeros_like(new), np.zeros_like(new)
    low, wanted = np.empty(tiles, np.int64), np.empty((tiles, 2), np.int64)
    for u in order:
        base = _NONE
        for i in range(tiles):
            lo, hi = _NONE, -1
            for e in range(first[u], first[u + 1]):
                edge = edges[e]
                a, b = new_lo[edge[READER], i], new_hi[edge[READER], i]
                if b > a:
                    start, end = _back(edge, sizes[u], a, b)
                    if end > start:
                        lo, hi = min(lo, start), max(hi, end)
            low[i] = lo
            if exported[u]:
                begin = i * tile * sizes[u] // length
                stop = min((i + 1) * tile, length) * sizes[u] // length
                share[u, i] = stop - begin
                if stop > begin:
                    lo, hi = min(lo, begin), max(hi, stop)
            need[u, i] = max(0, hi - lo)
            wanted[i, 0], wanted[i, 1] = lo, hi
            base = min(base, lo)
        made = base
        for i in range(tiles):
            lo, hi = wanted[i, 0], wanted[i, 1]
            before, made = made, max(made, hi)
            have[u, i] = made - base
            if keep:
                lo, hi = (before, made) if made > before else (_NONE, -1)
                if exported[u]:
                    share[u, i] = max(0, hi - lo)
            new_lo[u, i], new_hi[u, i], new[u, i] = lo, hi, max(0, hi - lo)
        later = _NONE
        for i in range(tiles - 1, -1, -1):
            gone[u, i] = min(have[u, i], later - base)
            later = min(later, low[i])
    return new, need, have, gone, share
