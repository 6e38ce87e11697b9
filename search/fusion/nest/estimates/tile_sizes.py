"""One size of tiles for each loop of a nest, and how often what depends on them happens."""

from math import ceil
from typing import Final, NamedTuple

from archloom.evaluators import Flags, Floats, Ints
from archloom.evaluators.fusion.nest import ALL, BOTH
from archloom.evaluators.jit import helper

from .loop_arrays import GroupArrays, LoopSizes
from .loop_uses import LoopUses

QUERIES: Final = 0
_KEYS: Final = 1
_PAIRS: Final = 0
_OF_QUERIES: Final = 1
_OF_KEYS: Final = 2
ROUNDS: Final = 3
_OWN_KEYS: Final = 4


class TileSizes(NamedTuple):
    """One size of tiles for each loop.

    Attributes:
        place: int64[loops], its number among those of the loop.
        tile, times: float64[loops], indices that a tile covers, and how many tiles there are.
    """

    place: Ints
    tile: Floats
    times: Floats


@helper
def set_tiles(sizes: LoopSizes, cell: int, tiles: TileSizes) -> None:
    """Set tiles to the sizes of a number, of which the innermost loop's counts fastest."""
    rest = cell
    for at in range(len(sizes.sizes) - 1, -1, -1):
        place = rest % sizes.counts[at]
        rest //= sizes.counts[at]
        tiles.place[at] = place
        tiles.tile[at] = sizes.tiles[at, place]
        tiles.times[at] = ceil(sizes.sizes[at] / tiles.tile[at])


@helper
def _pair_share(sizes: LoopSizes, tiles: TileSizes, which: int) -> float:
    queries, keys = tiles.place[sizes.masked[QUERIES]], tiles.place[sizes.masked[_KEYS]]
    share: float = sizes.shares[which, queries, keys]
    return share


@helper
def across(sizes: LoopSizes, tiles: TileSizes, along: Flags, row: int, at: int) -> float:
    """Iterations of a loop, on average over what lies along some loops: a mask drops some."""
    queries, keys = sizes.masked[QUERIES], sizes.masked[_KEYS]
    if queries >= 0 and at == keys and along[row, queries]:
        return _pair_share(sizes, tiles, _OF_QUERIES)
    if queries >= 0 and at == queries and along[row, keys]:
        return _pair_share(sizes, tiles, _OF_KEYS)
    times: float = tiles.times[at]
    return times


@helper
def number(sizes: LoopSizes, tiles: TileSizes, use: int, along: Flags, row: int, at: int) -> float:
    """Iterations of a loop in a use of it, of what lies along some loops."""
    if use == ALL:
        return across(sizes, tiles, along, row, at)
    once = own_keys(sizes, tiles, along, row) if at == sizes.masked[QUERIES] else 1.0
    return 2.0 * once if use == BOTH else once


@helper
def own_keys(sizes: LoopSizes, tiles: TileSizes, along: Flags, row: int) -> float:
    """Share of what lies along some loops that a core needs: of keys those its queries see."""
    queries, keys = sizes.masked[QUERIES], sizes.masked[_KEYS]
    if queries < 0 or along[row, queries] or not along[row, keys]:
        return 1.0
    return _pair_share(sizes, tiles, _OWN_KEYS)


@helper
def seen(sizes: LoopSizes, tiles: TileSizes, along: Flags, row: int, which: int = _PAIRS) -> float:
    """Share of what lies along some loops in tiles of which a mask leaves something; or of time."""
    queries, keys = sizes.masked[QUERIES], sizes.masked[_KEYS]
    if queries < 0 or not along[row, queries] or not along[row, keys]:
        return 1.0
    return _pair_share(sizes, tiles, which)


@helper
def runs(group: GroupArrays, sizes: LoopSizes, tiles: TileSizes, uses: LoopUses) -> float:
    """Return how often members run, all together; what a mask drops counts."""
    total = 0.0
    for m in range(group.own.shape[0]):
        times = 1.0
        for at in range(len(sizes.sizes)):
            use = ALL if group.own[m, at] else uses.members[m, at]
            times *= tiles.times[at] if use == ALL else (2.0 if use == BOTH else 1.0)
        total += times
    return total


@helper
def later_runs(group: GroupArrays, sizes: LoopSizes, tiles: TileSizes, m: int) -> float:
    """Share of a member's runs that add to sums."""
    parts = 1.0
    for at in range(len(sizes.sizes)):
        if group.reduced[m, at]:
            # a last tile that covers less is a part of one, and a mask drops some
            whole = sizes.sizes[at] / tiles.tile[at]
            parts *= max(min(whole, across(sizes, tiles, group.own, m, at)), 1.0)
    return 1.0 - 1.0 / parts
