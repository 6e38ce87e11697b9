"""Iterations of one loop that are looked at."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from ....arrays import Bools, Ints

#: iterations of a loop that are looked at: so many at its beginning and end, and one for all
#: between them, whose neighbours, and those of its neighbours, are of the same kind
_FIRST: Final = 3
_LAST: Final = 4

#: of so many all are looked at
MOST_SHOWN: Final = _FIRST + 1 + _LAST


@dataclass(frozen=True)
class LoopIterations:
    """Iterations of one loop that are looked at.

    Attributes:
        count: all of them.
        index, times: int64[k], which these are, and for how many each stands.
        tile: int64[k], indices of the rank that each covers.
    """

    count: int
    index: Ints
    times: Ints
    tile: Ints


def shown(size: int, tile: int) -> LoopIterations:
    """Return the iterations of a loop over a rank of ``size`` in tiles."""
    count = -(-size // tile)
    index = np.arange(count)
    times = np.ones(count, np.int64)
    if count > MOST_SHOWN:
        index = np.array([*range(_FIRST + 1), *range(count - _LAST, count)])
        times = np.ones(len(index), np.int64)
        times[_FIRST] = count - _FIRST - _LAST
    return LoopIterations(count, index, times, np.minimum(tile, size - index * tile))


def every(size: int, tile: int) -> LoopIterations:
    """Return all iterations of a loop over a rank of ``size`` in tiles."""
    count = -(-size // tile)
    index = np.arange(count)
    times = np.ones(count, np.int64)
    return LoopIterations(count, index, times, np.minimum(tile, size - index * tile))


def shown_of(count: Ints, place: Ints) -> tuple[Bools, Ints]:
    """Return which iterations of runs of ``count`` are looked at, by their places in these, and for
    how many each stands."""
    long = count > MOST_SHOWN
    kept: Bools = ~long | (place <= _FIRST) | (place >= count - _LAST)
    times: Ints = np.where(long & (place == _FIRST), count - _FIRST - _LAST, 1)
    return kept, times
