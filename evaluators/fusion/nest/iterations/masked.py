"""Tiles of queries and keys of which a mask leaves something: the others never run.

Arrays over tiles are [queries, keys], whichever loop is the outer one.
"""

from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Final

import numpy as np

from archloom.space.workload import Mask

from ....arrays import Bools, Ints

#: axes of arrays over tiles
QUERIES: Final = 0
KEYS: Final = 1
BOTH_AXES: Final = (QUERIES, KEYS)


def seen_tiles(
    mask: Mask, queries: tuple[int, int, int], keys: tuple[int, int]
) -> tuple[Ints, Ints]:
    """Return the first and the last tile of keys of which some query of each tile sees something.

    Tiles above the diagonal, and beyond the window, are left out as a whole; of one on the border
    everything is computed (Dao, arXiv:2307.08691, section 3.1.1, "Causal masking").

    Args:
        mask: with ``rows`` for each query.
        queries: how many there are; rows of the layer in one tile; all rows.
        keys: how many there are; of them in one tile.
    """
    count, tile, rows = queries
    size, tile_keys = keys
    first_row = np.arange(-(-rows // tile)) * tile
    last_row = np.minimum(first_row + tile, rows) - 1
    before = size - count
    last: Ints = (last_row // mask.rows + before) // tile_keys
    least = first_row // mask.rows + before - mask.window + 1 if mask.window else 0 * first_row
    first: Ints = np.maximum(least, 0) // tile_keys
    return first, last


@dataclass(frozen=True, eq=False)
class TileGrid:
    """Tiles that run.

    Attributes:
        live: bool[queries, keys].
        outer: the axis of the outer loop.
    """

    live: Bools
    outer: int

    @staticmethod
    def between(first: Ints, last: Ints, keys: int, outer: int) -> "TileGrid":
        """Return the tiles of keys from the first to the last of each tile of queries."""
        number = np.arange(keys)
        return TileGrid((first[:, None] <= number) & (number <= last[:, None]), outer)

    def first(self, of: Bools, *axes: int) -> Bools:
        """Return of some tiles those that come first along some axes, in the order of the loops."""
        if len(axes) < len(BOTH_AXES):
            return reduce(lambda some, axis: some & (np.cumsum(some, axis=axis) == 1), axes, of)
        inner = self.first(of, 1 - self.outer)
        begun = np.cumsum(inner.any(axis=1 - self.outer)) == 1
        found: Bools = inner & np.expand_dims(begun, 1 - self.outer)
        return found

    @cached_property
    def first_key(self) -> Bools:
        """The first tile of keys for each tile of queries."""
        return self.first(self.live, KEYS)

    @cached_property
    def last_key(self) -> Bools:
        """The last tile of keys for each tile of queries."""
        found: Bools = np.flip(self.first(np.flip(self.live, axis=KEYS), KEYS), axis=KEYS)
        return found
