"""Which weights of a stack stay in the buffer: a knapsack, solved for many tiles at once.

DeepFrack tries all 2^depth patterns and merges neighbours beyond depth 20 (algorithm 1). Weights
that are cached save the same on every tile of a size, so the best pattern is that of a knapsack,
and dynamic programming over its capacity finds it exactly, however deep the stack is. Where the
room is more than :data:`MOST_PLACES` times what all sizes are multiples of, sizes are rounded up to
that share of the room: what is found fits, and would be the best with that much less of the room
for each unit.
"""

from functools import cached_property
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
        self._saved = saved[:, self._units]
        sizes = words[self._units]
        self._whole = int(sizes.sum())
        # all sums of words are multiples of it
        grain = gcd(*sizes.tolist()) or 1
        self._grain = max(grain, -(-min(max(0, room), self._whole) // MOST_PLACES))
        self._sizes = -(-sizes // self._grain)
        self._places = self._place(max(0, room))

    @cached_property
    def _tables(self) -> tuple[Floats, NDArray[np.bool_]]:
        """What is saved at most in each room, and which units that takes, one after another."""
        best = np.zeros((self._places + 1, len(self._saved)))
        taken = np.zeros((len(self._units), *best.shape), np.bool_)
        for n in range(len(self._units)):
            size = int(self._sizes[n])
            with_it = best[: self._places + 1 - size] + self._saved[:, n]
            taken[n, size:] = with_it > best[size:]
            best[size:] = np.maximum(best[size:], with_it)
        return best, taken

    def most(self, room: int) -> Floats:
        """float64[S], the most that can be saved in ``room`` words on each tile."""
        saved: Floats
        if room >= self._whole:
            saved = np.maximum(self._saved, 0.0).sum(axis=1)
        else:
            saved = self._tables[0][self._place(room)]
        return saved

    def pattern(self, room: int, tile: int) -> tuple[int, ...]:
        """Return the units that save most in ``room`` words on a tile, ascending."""
        if room >= self._whole:
            return tuple(self._units[self._saved[tile] > 0].tolist())
        place, found = self._place(room), []
        for n in reversed(range(len(self._units))):
            if self._tables[1][n, place, tile]:
                found.append(int(self._units[n]))
                place -= int(self._sizes[n])
        return tuple(reversed(found))

    def _place(self, room: int) -> int:
        # more room than for all units changes nothing
        return int(self._sizes.sum()) if room >= self._whole else room // self._grain
