"""Knapsack of the weights of a stack that stay in the buffer, solved for many tiles at once.

DeepFrack tries all 2^depth patterns and merges neighbours beyond depth 20 (algorithm 1). Weights
that are cached save the same on every tile of a size, so the best pattern is that of a knapsack,
and dynamic programming over its capacity (Bellman 1957) finds it exactly, however deep the stack
is. Where the capacity is more than :data:`_MOST_PLACES` times what all sizes are multiples of,
sizes are rounded up to that share of the capacity: what is found fits, and would be the best with
that much less of the capacity for each unit.
"""

from functools import cached_property
from math import gcd
from typing import Final

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators import Floats, Ints

#: capacities that the program tells apart
_MOST_PLACES: Final = 2**14


def most_saved(words: Ints, saved: Floats, capacity: Ints) -> Floats:
    """Return float64[S], what cached weights do not save more than on each of S tiles.

    Of one unit a part may be cached (Dantzig's bound, 1957).

    Args:
        words: int64[U], of the weights of each unit.
        saved: float64[U, S], what each saves on each tile, of any sign.
        capacity: int64[S], words of the buffer for weights.
    """
    gains: Floats = np.where(words[:, None] <= capacity, np.maximum(saved, 0.0), 0.0)
    if capacity.size and int(words.sum()) > int(capacity.min()):
        order = np.argsort(-gains / words[:, None], axis=0)
        sizes = words[order]
        left = capacity - sizes.cumsum(axis=0) + sizes
        shares = np.minimum(np.maximum(left / sizes, 0.0), 1.0)
        gains = np.take_along_axis(gains, order, axis=0) * shares
    most: Floats = gains.sum(axis=0)
    return most


class WeightCaching:
    """The most that cached weights save, for every capacity up to ``capacity``.

    Args:
        words: int64[U], of the weights of each unit.
        saved: float64[S, U], what each saves on each of S tiles, of any sign.
        capacity: most words of the buffer for weights; none if negative.
    """

    def __init__(self, words: Ints, saved: Floats, capacity: int) -> None:
        fits = (words <= capacity) & (saved > 0).any(axis=0)
        self._units = np.flatnonzero(fits)
        self._saved = saved[:, self._units]
        sizes = words[self._units]
        self._whole = int(sizes.sum())
        # all sums of words are multiples of it
        grain = gcd(*sizes.tolist()) or 1
        self._grain = max(grain, -(-min(max(0, capacity), self._whole) // _MOST_PLACES))
        self._sizes = -(-sizes // self._grain)
        self._places = self._place(max(0, capacity))

    @cached_property
    def _tables(self) -> tuple[Floats, NDArray[np.bool_]]:
        """What is saved at most with each capacity, and which units that takes, one after
        another."""
        best = np.zeros((self._places + 1, len(self._saved)))
        taken = np.zeros((len(self._units), *best.shape), np.bool_)
        for n in range(len(self._units)):
            size = int(self._sizes[n])
            with_it = best[: self._places + 1 - size] + self._saved[:, n]
            taken[n, size:] = with_it > best[size:]
            best[size:] = np.maximum(best[size:], with_it)
        return best, taken

    def most(self, capacity: int) -> Floats:
        """float64[S], the most that can be saved in ``capacity`` words on each tile."""
        saved: Floats
        if capacity >= self._whole:
            saved = np.maximum(self._saved, 0.0).sum(axis=1)
        else:
            saved = self._tables[0][self._place(capacity)]
        return saved

    def pattern(self, capacity: int, tile: int) -> tuple[int, ...]:
        """Return the units that save most in ``capacity`` words on a tile, ascending."""
        if capacity >= self._whole:
            return tuple(self._units[self._saved[tile] > 0].tolist())
        place, found = self._place(capacity), []
        for n in reversed(range(len(self._units))):
            if self._tables[1][n, place, tile]:
                found.append(int(self._units[n]))
                place -= int(self._sizes[n])
        return tuple(reversed(found))

    def _place(self, capacity: int) -> int:
        # more capacity than for all units changes nothing
        return int(self._sizes.sum()) if capacity >= self._whole else capacity // self._grain
