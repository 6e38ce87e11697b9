"""How much of every map a tile of a stack needs, wherever on the map the tile is.

DeepFrack's geometry: a tile of t rows needs (t-1)*stride + dilation*(kernel-1) + 1 rows of what
it reads, halos are computed again, and nothing is cut at the borders where a tile happens to
be. No tile of a map is larger than the map, though.
"""

from collections.abc import Sequence
from math import prod
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..evaluators.group_shape import Edge, GroupShape
from ..space.layer import Layer

Ints = NDArray[np.int64]

#: so far from the border, in lengths of the anchor, that maps read at another pace drift apart by
#: more than their size
_AWAY: Final = 2**20

#: places of a tile at which interleaved maps are looked at, at most
_PLACES: Final = 64


def tile_extents(shape: GroupShape, layers: Sequence[Layer], axis: int) -> Ints:
    """Return what tiles of the anchor need of each map along one axis.

    Of what the readers of a map leave out between them, all counts. Where an interleave makes the
    needs of tiles take turns, the most counts. Maps that leave the group and are read in it ask
    for nothing of their own.

    Args:
        shape, layers: the group and its layers.
        axis: 0 for rows, 1 for columns.

    Returns:
        int64[M, L + 1], for tiles of 0 to L (the anchor's length) positions.
    """
    length = shape.sizes[shape.anchor][axis]
    places = min(_PLACES, prod({e: e.patch[axis] for e in shape.edges}.values()))
    start = length * _AWAY + np.arange(places)[:, None]
    ends = start + np.arange(length + 1)
    read = {e.source for e in shape.edges}
    # what moves with the tile, and what every tile needs
    moving: list[tuple[Ints, Ints] | None] = [None] * len(shape.sizes)
    fixed: list[tuple[int, int] | None] = [None] * len(shape.sizes)
    extents = np.zeros((len(shape.sizes), length + 1), np.int64)
    for u in (*reversed(range(shape.members)), *shape.externals):
        size = shape.sizes[u][axis]
        if u not in read:
            moving[u] = (start * size // length + 0 * ends, -(-ends * size // length))
        for edge in (e for e in shape.edges if e.source == u):
            _ask(edge, layers[edge.reader], axis, size, moving, fixed)
        moved, held = moving[u], fixed[u]
        if moved is not None and held is not None:
            moving[u], fixed[u] = moved, held = None, (0, size)
        if held is not None:
            extents[u] = held[1] - held[0]
        elif moved is not None:
            extents[u] = np.minimum(size, (moved[1] - moved[0]).max(axis=0))
    extents[:, 0] = 0
    return extents


def _ask(
    edge: Edge,
    layer: Layer,
    axis: int,
    size: int,
    moving: list[tuple[Ints, Ints] | None],
    fixed: list[tuple[int, int] | None],
) -> None:
    """Add what one reader needs of a map to what others need."""
    u, moved, held = edge.source, moving[edge.reader], fixed[edge.reader]
    if edge.full:
        fixed[u] = (0, size)
        return
    stride, pad = layer.stride[axis], layer.padding[axis]
    reach = ((layer.r, layer.s)[axis] - 1) * layer.dilation[axis]
    patch, cut = edge.patch[axis], edge.start[axis]
    if held is not None:
        # clamped: it is the whole of a map that is read
        lo, hi = max(0, held[0] * stride - pad), (held[1] - 1) * stride - pad + reach + 1
        hi = min(layer.input_size[axis], hi)
        if lo < hi:
            lo, hi = (lo + cut) // patch, (hi - 1 + cut) // patch + 1
            other = fixed[u] or (lo, hi)
            fixed[u] = (min(lo, other[0]), max(hi, other[1]))
    if moved is not None:
        first = (moved[0] * stride - pad + cut) // patch
        last = ((moved[1] - 1) * stride - pad + reach + cut) // patch + 1
        old = moving[u] or (first, last)
        moving[u] = (np.minimum(first, old[0]), np.maximum(last, old[1]))
