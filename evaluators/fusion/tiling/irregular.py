"""A fused group whose anchor map is cut into rectangles of any sizes, and what each one needs.

Halos are computed again, so that rectangles have nothing to do with each other: intervals along
rows and columns go back from each of them to the group's inputs as in :mod:`.sweep`, clamped at
the borders of the maps where the rectangle stands. After DeepFrack (Glint et al.), which
tiles faces with squares of different sizes and clamps nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from archloom.space.fusion import TileRect
from archloom.space.workload import Layer

from ...arrays import Ints
from ..group_graph import Edge, GroupShape
from .geometry import DominatedRegion, Sizes, Tiles

_NONE: Final = 2**40  # start of an empty interval; its end is -1, so that hulls ignore it


@dataclass(frozen=True)
class FaceSpans:
    """One axis of F rectangles; M maps (external ones last).

    Attributes:
        new: int64[M, F], length made (or fetched) for the rectangle.
        share: int64[M, F], length written out for it, 0 for maps that stay inside.
    """

    new: Ints
    share: Ints


@dataclass(frozen=True)
class FaceTiles(Tiles):
    """A group cut into rectangles that run one after another; a grid of one row of tiles."""

    rows: FaceSpans
    columns: FaceSpans

    @property
    def grid(self) -> tuple[int, int]:
        """One row, and a column for each rectangle."""
        return 1, int(self.rows.new.shape[1])

    def made(self, tensor: int) -> Ints:
        """int64[1, F], words made (or fetched) of a map for each rectangle."""
        words: Ints = self.rows.new[tensor] * self.columns.new[tensor]
        return self.shape.channels[tensor] * words[None]

    def written(self, tensor: int) -> Ints:
        """int64[1, F], words of an exported map written out for each rectangle."""
        words: Ints = self.rows.share[tensor] * self.columns.share[tensor]
        return self.shape.channels[tensor] * words[None]

    def sizes(self, m: int) -> Sizes:
        """Return the distinct sizes in which layer ``m`` runs."""
        pairs = np.stack([self.rows.new[m], self.columns.new[m]], axis=1)
        found, at, times = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
        return Sizes(found[:, 0], found[:, 1], times, at.reshape(1, -1))

    @property
    def lengths(self) -> tuple[Ints, Ints]:
        """Those of each rectangle."""
        members = self.shape.members
        return self.rows.new[:members], self.columns.new[:members]

    @property
    def linked(self) -> int:
        """Each rectangle by itself."""
        return 1

    @property
    def corners(self) -> DominatedRegion:
        """All rectangles: no two need be alike."""
        rows, columns = np.ix_(np.zeros(1, np.intp), np.arange(self.grid[1]))
        return rows, columns

    @property
    def row_kinds(self) -> tuple[Ints, Ints]:
        """The only row."""
        return np.zeros(1, np.int64), np.zeros(1, np.int64)

    def states(self, at: DominatedRegion) -> Ints:
        """int64[3, M, 1, J]: nothing is there before the rectangle, and nothing stays."""
        channels = np.array(self.shape.own_channels)[:, None]
        full = (channels * self.rows.new * self.columns.new)[:, None, at[1][0]]
        return np.stack([np.zeros_like(full), full, np.zeros_like(full)])


def face_tiles(
    shape: GroupShape, layers: tuple[Layer, ...], faces: Sequence[TileRect]
) -> FaceTiles:
    """Cut a group into ``faces`` of its anchor map, which they cover exactly."""
    rows = np.array([(f.row, f.row + f.rows) for f in faces], np.int64)
    columns = np.array([(f.column, f.column + f.columns) for f in faces], np.int64)
    return FaceTiles(
        shape, layers, face_spans(shape, layers, 0, rows), face_spans(shape, layers, 1, columns)
    )


def face_spans(shape: GroupShape, layers: Sequence[Layer], axis: int, cuts: Ints) -> FaceSpans:
    """Go back from intervals of the anchor to every map.

    Args:
        shape, layers: the group and its layers.
        axis: 0 for rows, 1 for columns.
        cuts: int64[F, 2], start and end of each rectangle along the axis.
    """
    maps, length = len(shape.sizes), shape.sizes[shape.anchor][axis]
    lo, hi = np.full((maps, len(cuts)), _NONE), np.full((maps, len(cuts)), -1)
    share = np.zeros_like(lo)
    for u in (*reversed(range(shape.members)), *shape.externals):
        size = shape.sizes[u][axis]
        wanted = [
            _back(e, layers[e.reader], axis, size, lo[e.reader], hi[e.reader])
            for e in shape.edges
            if e.source == u
        ]
        if u in shape.exported:
            # own = [floor(a * size / length), floor(b * size / length)): fusion model, section 2
            own = cuts.T * size // length
            share[u] = own[1] - own[0]
            wanted.append((own[0], own[1]))
        for start, end in wanted:
            some = end > start
            lo[u] = np.where(some, np.minimum(lo[u], start), lo[u])
            hi[u] = np.where(some, np.maximum(hi[u], end), hi[u])
    return FaceSpans(np.maximum(0, hi - lo), share)


def _back(edge: Edge, layer: Layer, axis: int, size: int, lo: Ints, hi: Ints) -> tuple[Ints, Ints]:
    """The intervals of a map that its reader needs for its own [lo, hi); empty for empty ones."""
    made = hi > lo
    if edge.full:
        return np.zeros_like(lo), np.where(made, size, 0)
    stride, pad = layer.stride[axis], layer.padding[axis]
    reach = ((layer.r, layer.s)[axis] - 1) * layer.dilation[axis]
    # [lo*stride - pad, (hi-1)*stride - pad + (kernel-1)*dilation + 1), clamped at the borders
    start = np.maximum(0, lo * stride - pad)
    end = np.minimum(layer.input_size[axis], (hi - 1) * stride - pad + reach + 1)
    made &= end > start
    patch, cut = edge.patch[axis], edge.start[axis]
    # positions of an interleaved map lie in patches, after what is left out
    start, end = (start + cut) // patch, (end - 1 + cut) // patch + 1
    return np.where(made, start, 0), np.where(made, end, 0)
