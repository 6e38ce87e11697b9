"""Which weights of a stack stay in the buffer: a knapsack, solved for many tiles at once.

DeepFrack tries all 2^depth patterns and merges neighbours beyond depth 20 (algorithm 1). Weights
that are cached save the same on every tile of a size, so the best pattern is that of a knapsack,
and dynamic programming over its capacity finds it exactly, however deep the stack is. Where the
room is more than :data:`MOST_PLACES` times what all sizes are multiples of, sizes are rounded up to
that share of the room: what is found fits, and would be the best with that much less of the room
for each unit.
"""

from math import gcd
from typing import Final

import numpy as np
from numpy.typing import NDArray

#: rooms that the program tells apart
MOST_PLACES: Final = 2**14

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Caching:
    """The most that weights in the buffer save, for every room up to ``room``.

    Args:
        words: int64[U], of the weights of each unit.
        saved: float64[S, U], what each saves on each of S tiles, of any sign.
        room: most words of the buffer for weights; none if negative.
    """

    def __init__(self, words: Ints, saved: Floats, room: int) -> None:
        fits = (words <= room) & (saved > 0).any(axis=0)
        self._units = np.flatnonzero(fits)
        sizes = words[self._units]
        self._whole = int(sizes.sum())
        # all sums of words are multiples of it
        grain = gcd(*sizes.tolist()) or 1
        self._grain = max(grain, -(-min(max(0, room), self._whole) // MOST_PLACES))
        self._sizes = -(-sizes // self._grain)
        places = self._place(max(0, room))
        self._best = np.zeros((places + 1, len(saved)))
        self._taken = np.zeros((len(self._units), places + 1, len(saved)), np.bool_)
        for n, unit in enumerate(self._units):
            size = int(self._sizes[n])
            with_it = self._best[: places + 1 - size] + saved[:, unit]
            self._taken[n, size:] = with_it > self._best[size:]
            self._best[size:] = np.maximum(self._best[size:], with_it)

    def most(self, room: int) -> Floats:
        """float64[S], the most that can be saved in ``room`` words on each tile."""
        saved: Floats = self._best[self._place(room)]
        return saved

    def pattern(self, room: int, tile: int) -> tuple[int, ...]:
        """Return the units that save most in ``room`` words on a tile, ascending."""
        place, found = self._place(room), []
        for n in reversed(range(len(self._units))):
            if self._taken[n, place, tile]:
                found.append(int(self._units[n]))
                place -= int(self._sizes[n])
        return tuple(reversed(found))

    def _place(self, room: int) -> int:
        # more room than for all units changes nothing
        return int(self._sizes.sum()) if room >= self._whole else room // self._grain
