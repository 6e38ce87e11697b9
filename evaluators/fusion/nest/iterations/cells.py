"""Iterations that are looked at of loops of which a mask drops some.

Of the two loops over queries and keys those are looked at that have other neighbours than the ones
beside them: in each row of the outer loop, and of the rows.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from ....arrays import Bools, Ints
from .loops import LoopIterations, shown_of
from .masked import QUERIES, TileGrid

#: kinds are numbered anew before they are more
_MOST_KINDS: Final = 2**61


@dataclass(frozen=True, eq=False)
class ShownTiles:
    """Tiles of queries and keys that are looked at, in the order of their loops.

    Attributes:
        queries, keys: int64[n], which these are.
        times: for how many each stands.
        live: bool[queries, keys], all that run.
        stands: int64[queries, keys], the number of the tile that stands for each that runs.
    """

    queries: Ints
    keys: Ints
    times: Ints
    live: Bools
    stands: Ints


@dataclass(frozen=True, eq=False)
class MaskedCells:
    """Iterations of all loops that are looked at, one after another.

    Attributes:
        index: for each loop int64[n], which of its iterations that are looked at.
        tile: int64[n], place of its tile among all of queries and keys, row by row.
        times: int64[n], tiles of queries and keys that each stands for.
        tiles: that are looked at.
        place: int64[m], the place of each, in the order of the other loops, then of tiles.
        live: bool[n], which of them this core runs, if it waits in some for others; else None.
        there: bool[n], those up to the last one that it runs; None as above.
    """

    index: tuple[Ints, ...]
    tile: Ints
    times: Ints
    tiles: ShownTiles
    place: Ints
    live: Bools | None = None
    there: Bools | None = None


def shown_tiles(
    grid: TileGrid, what: Iterable[Bools], loops: tuple[LoopIterations, LoopIterations]
) -> ShownTiles:
    """Return the tiles that are looked at: of neighbours along the inner loop with the same sizes
    and of the same kind as many as of one loop, and as many of neighbouring rows of the same kinds.

    Args:
        grid: of tiles.
        what: bool[queries, keys], all that tiles differ in but size.
        loops: over queries and keys, with all iterations.
    """
    return tiles_of_kinds([grid.live, *size_kinds(loops), *what], grid)


def size_kinds(loops: tuple[LoopIterations, LoopIterations]) -> list[Bools]:
    """Return bool[queries, keys], tiles of another size than the first, along queries and keys."""
    queries, keys = (loop.tile != loop.tile[0] for loop in loops)
    return list(np.broadcast_arrays(queries[:, None], keys))


def tiles_of_kinds(what: Iterable[Bools], grid: TileGrid) -> ShownTiles:
    """Return the tiles that are looked at, given bool[queries, keys], all that they differ in."""
    kinds, live = _kinds(what), grid.live
    if grid.outer != QUERIES:
        kinds, live = kinds.T, live.T
    begins = np.ones_like(live)
    begins[:, 1:] = kinds[:, 1:] != kinds[:, :-1]
    kept, times = _shown(begins.ravel())
    kept, times = kept.reshape(live.shape) & live, times.reshape(live.shape)
    rows, row_of = _shown_rows(kinds, kept, times)
    # tiles are numbered in the rows that are looked at
    numbers = np.cumsum(np.where(rows, kept.sum(axis=1), 0))
    first = np.append(0, numbers[:-1])[row_of]
    stands = first[:, None] + np.cumsum(kept, axis=1) - 1
    outer, inner = np.nonzero(kept & rows[:, None])
    if grid.outer == QUERIES:
        return ShownTiles(outer, inner, times[outer, inner], live, stands)
    return ShownTiles(inner, outer, times[outer, inner], live.T, stands.T)


def _kinds(what: Iterable[Bools]) -> Ints:
    """Number tiles by all that they differ in."""
    found: Ints | None = None
    for some in what:
        number = np.zeros(some.shape, np.int64) if found is None else found
        if 2 * int(number.max()) + 1 >= _MOST_KINDS:
            number = np.unique(number, return_inverse=True)[1].reshape(some.shape)
        found = 2 * number + some
    assert found is not None, "tiles run or not, at the least"
    return found


def _shown(begins: Bools) -> tuple[Bools, Ints]:
    """Return what of runs of the same kind is looked at, and how many of its run each stands for;
    ``begins`` are the first of each run."""
    start = np.flatnonzero(begins)
    number = np.cumsum(begins) - 1
    count = np.diff(np.append(start, len(begins)))
    return shown_of(count[number], np.arange(len(begins)) - start[number])


def _shown_rows(kinds: Ints, kept: Bools, times: Ints) -> tuple[Bools, Ints]:
    """Return bool[rows], those that are looked at, and int64[rows], which stands for each; adds the
    times of all rows that one stands for to its own."""
    count = len(kinds)
    row_kinds = [kinds[row, kept[row]].tobytes() for row in range(count)]
    begins = np.array([True, *(a != b for a, b in pairwise(row_kinds))])
    rows, each = _shown(begins)
    for row in np.flatnonzero(each > 1).tolist():
        block = slice(row, row + int(each[row]))
        times[row, kept[row]] = times[block][kept[block]].reshape(int(each[row]), -1).sum(axis=0)
    stands: Ints = np.maximum.accumulate(np.where(rows, np.arange(count), 0))
    return rows, stands


def masked_cells(
    loops: Sequence[LoopIterations], places: tuple[int, int], tiles: ShownTiles
) -> MaskedCells:
    """Return the iterations of ``loops`` with tiles of the two at ``places``, in their order."""
    rest = [at for at in range(len(loops)) if at not in places]
    sizes = [len(loops[at].index) for at in rest]
    *others, tile = np.indices((*sizes, len(tiles.times))).reshape(len(rest) + 1, -1)
    pair = tiles.queries[tile], tiles.keys[tile]
    found = dict(zip((*rest, *places), (*others, *pair), strict=True))
    index = [found[at] for at in range(len(loops))]
    order = np.lexsort(index[::-1])
    at_tile = np.ravel_multi_index(pair, tiles.live.shape)[order]
    return MaskedCells(
        tuple(some[order] for some in index),
        at_tile,
        tiles.times[tile[order]],
        tiles,
        np.argsort(order),
    )


def unfolded_cells(
    loops: Sequence[LoopIterations], places: tuple[int, int], cells: MaskedCells
) -> Ints:
    """Return for all iterations, one after another, which of those that are looked at stands for
    each."""
    pairs = np.argwhere(cells.tiles.live)
    rest = [at for at in range(len(loops)) if at not in places]
    *others, pair = np.indices((*(loops[at].count for at in rest), len(pairs))).reshape(
        len(rest) + 1, -1
    )
    index = dict(zip((*rest, *places), (*others, *pairs[pair].T), strict=True))
    order = np.lexsort([index[at] for at in reversed(range(len(loops)))])
    stands = [np.searchsorted(loops[at].index, index[at], side="right") - 1 for at in rest]
    stands.append(cells.tiles.stands[tuple(pairs[pair].T)])
    shape = (*(len(loops[at].index) for at in rest), len(cells.tiles.times))
    found: Ints = cells.place[np.ravel_multi_index(stands, shape)][order]
    return found
