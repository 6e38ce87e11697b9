"""About the least words of weights that tiles of a group fetch, from its first tiles alone.

What a group moves besides is known without its tiles. So planners can tell most groups apart before
they work out any tiling.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators.jit import allocating, compiled

from ...arrays import Ints
from .sweep import Cuts, swept
from .tile_words import (
    END,
    GONE,
    HAD,
    HAVE,
    KEEP_ALL,
    NEED,
    NEW,
    RECOMPUTE,
    WENT,
    GroupRecord,
    TiledGroup,
    tile_words,
)

#: tiles of an axis that are looked at: the first, one beside no border, and one that is like most
_SEEN: Final = 3

#: tiles that are looked at of those that fit: the largest (as planners do)
_LARGEST: Final = 3


class WeightPlaces(NamedTuple):
    """Weights of a group, and where they may stay.

    Attributes:
        each: int64[m], words that each member uses, and no other one.
        free: words of the buffer for maps and weights of the group.
        stay: whether weights may stay in the buffer.
    """

    each: Ints
    free: int
    stay: bool


class _Axis(NamedTuple):
    """The first tiles of an axis.

    Attributes:
        corners, totals: as of :class:`.tile_words.AxisTiles`, as far as peaks depend on them.
        loads: int64[m], tiles in which each member makes anything, if all are like the first.
    """

    corners: Ints
    totals: Ints
    loads: Ints


def least_weight_words(
    group: TiledGroup, tiles: Sequence[tuple[int, int]], weights: WeightPlaces
) -> int:
    """Return about the least words of weights that come for a pass, over the largest tiles that
    fit.

    All halos are kept, or none where that fits nowhere. What fits is judged by the first tiles, so
    that more may seem to fit than does; so is in how many tiles a layer runs. -1 if nothing fits,
    else words for all images.

    Args:
        group: what is cut.
        tiles: rows and columns on the anchor; later ones take no more space.
        weights: of the group.
    """
    if not tiles:
        return -1
    sizes = np.array([group.whole, *tiles], np.int64)
    return int(_least_weight_words(group.record, sizes, weights))


@compiled(brief=True)
def _least_weight_words(group: GroupRecord, sizes: Ints, weights: WeightPlaces) -> int:
    whole, tiles = sizes[0], sizes[1:]
    for keep in (True, False):
        least, seen = -1, 0
        low, high = 0, len(tiles)
        # smaller tiles fit where larger do
        while low < high:
            middle = (low + high) // 2
            if _words_of(group, tiles[middle], whole, weights, keep) < 0:
                low = middle + 1
            else:
                high = middle
        for n in range(low, min(low + _LARGEST, len(tiles))):
            words = _words_of(group, tiles[n], whole, weights, keep)
            if words >= 0 and (seen == 0 or words < least):
                least, seen = words, seen + 1
        if seen:
            return least
    return -1


@allocating
def _words_of(
    group: GroupRecord, tile: Ints, whole: Ints, weights: WeightPlaces, keep: bool
) -> int:
    """Return words of weights for tiles of one size; -1 if their maps do not fit."""
    rows = _first_tiles(group, 0, Cuts(whole[0], tile[0], keep or tile[0] == whole[0], _SEEN + 1))
    wide = _first_tiles(group, 1, Cuts(whole[1], tile[1], keep or tile[1] == whole[1], _SEEN + 1))
    policy = KEEP_ALL if keep else RECOMPUTE
    found = tile_words(group, rows.corners, rows.totals, wide.corners, wide.totals, policy)
    space = weights.free - found[0]
    if space <= 0:
        return -1
    words = small = 0
    often = 2**40
    for m in range(group.members):
        each, loads = weights.each[m], rows.loads[m] * wide.loads[m] * group.images
        if not weights.stay or each >= space:
            words += each * loads
        elif each:
            small += each
            often = min(often, loads)
    # what stays comes once, and what has no space as often as that of any
    return words + small + max(0, small - space) * (often - 1) * (small > 0)


@allocating
def _first_tiles(group: GroupRecord, axis: int, cuts: Cuts) -> _Axis:
    sizes = group.sizes[axis]
    where = group.edges[axis], group.first, sizes, group.exported, group.order
    new, need, have, gone, _ = swept(*where, cuts)
    tiles = (cuts.length + cuts.tile - 1) // cuts.tile
    maps, seen = len(sizes), min(tiles, _SEEN)
    corners, totals = np.zeros((9, maps, seen), np.int64), np.zeros((3, maps), np.int64)
    loads = np.ones(group.members, np.int64)
    all_of_it = swept(*where, Cuts(cuts.length, cuts.length, True, 1))[2]
    for u in range(maps):
        totals[END, u] = all_of_it[u, 0]
        for i in range(seen):
            corners[NEED, u, i], corners[NEW, u, i] = need[u, i], new[u, i]
            corners[HAVE, u, i], corners[GONE, u, i] = have[u, i], gone[u, i]
            if i:
                corners[HAD, u, i], corners[WENT, u, i] = have[u, i - 1], gone[u, i - 1]
    for m in range(group.members):
        if tiles <= new.shape[1]:
            some = 0
            for i in range(new.shape[1]):
                some += new[m, i] > 0
            loads[m] = max(1, some)
        else:
            most = max(1, max(new[m, 1], new[m, 2]))
            left = all_of_it[m, 0] - new[m, 0]
            loads[m] = min(tiles, 1 + (left + most - 1) // most)
    return _Axis(corners, totals, loads)
