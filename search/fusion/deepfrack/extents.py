"""What tiles of an anchor need of other feature maps along one axis, for tiles of every length.

Of what the readers of a map leave out between them, all counts. Where an interleave makes the
needs of tiles take turns, the most counts. Maps that leave a group and are read in it ask for
nothing of their own.
"""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators import Ints
from archloom.evaluators.fusion import MapRead
from archloom.space.workload import Layer

#: so far from the border, in lengths of the anchor, that maps read at another pace drift apart by
#: more than their size
_AWAY: Final = 2**20

#: places of a tile at which interleaved maps are looked at, at most
MOST_PLACES: Final = 64


class Needs(NamedTuple):
    """Positions of one map along an axis that tiles need.

    Attributes:
        moving: int64[places, L + 1], first and end of what moves with a tile, for tiles of 0 to L
            positions of the anchor; None if nothing does.
        fixed: first and end of what every tile needs, or None.
    """

    moving: tuple[Ints, Ints] | None = None
    fixed: tuple[int, int] | None = None


#: nobody asks for anything
NOTHING: Final = Needs()


class TileExtents:
    """Goes back along one axis from tiles of an anchor to the maps that they need.

    Args:
        length: of the anchor.
        places: of a tile at which to look.
    """

    def __init__(self, length: int, places: int = 1) -> None:
        self._length = length
        self._start = length * _AWAY + np.arange(places)[:, None]
        self._ends = self._start + np.arange(length + 1)

    def own(self, size: int) -> Needs:
        """Return what tiles make of a map that leaves and that nobody reads."""
        first = self._start * size // self._length + 0 * self._ends
        return Needs((first, -(-self._ends * size // self._length)))

    def lengths(self, needs: Needs, size: int) -> Ints:
        """int64[L + 1], positions that tiles need of a map of that size."""
        found = np.zeros(self._length + 1, np.int64)
        if needs.fixed is not None:
            found[1:] = needs.fixed[1] - needs.fixed[0]
        elif needs.moving is not None:
            found[1:] = np.minimum(size, (needs.moving[1] - needs.moving[0]).max(axis=0))[1:]
        return found


def settled(needs: Needs, size: int) -> Needs:
    """Return the needs of a map that all of its readers have told: all of it, if some of them move
    and others do not."""
    return needs if None in needs else Needs(None, (0, size))


def joined(one: Needs, other: Needs) -> Needs:
    """Return what two readers of a map need."""
    moving, fixed = one.moving or other.moving, one.fixed or other.fixed
    if one.moving is not None and other.moving is not None:
        moving = (
            np.minimum(one.moving[0], other.moving[0]),
            np.maximum(one.moving[1], other.moving[1]),
        )
    if one.fixed is not None and other.fixed is not None:
        fixed = (min(one.fixed[0], other.fixed[0]), max(one.fixed[1], other.fixed[1]))
    return Needs(moving, fixed)


def asked(read: MapRead, inside: bool, layer: Layer, axis: int, size: int, made: Needs) -> Needs:
    """Return what a layer needs of a map of that size for what it makes itself.

    Args:
        read: how it reads the map.
        inside: whether the map is made in the group.
        layer: the reader.
        axis: 0 for rows, 1 for columns.
        size: of the map along it.
        made: of the result of the reader.
    """
    if read.full:
        return Needs(None, (0, size))
    patches, starts = read.inside if inside else read.outside
    patch, cut = patches[axis], starts[axis]
    stride, pad = layer.stride[axis], layer.padding[axis]
    reach = ((layer.r, layer.s)[axis] - 1) * layer.dilation[axis]
    moving, fixed = None, None
    if made.fixed is not None:
        # clamped: it is the whole of a map that is read
        lo = max(0, made.fixed[0] * stride - pad)
        hi = min(layer.input_size[axis], (made.fixed[1] - 1) * stride - pad + reach + 1)
        if lo < hi:
            fixed = ((lo + cut) // patch, (hi - 1 + cut) // patch + 1)
    if made.moving is not None:
        first, end = made.moving[0] * stride + (cut - pad), made.moving[1] * stride
        end += reach + cut - pad - stride
        moving = (first, end + 1) if patch == 1 else (first // patch, end // patch + 1)
    return Needs(moving, fixed)
