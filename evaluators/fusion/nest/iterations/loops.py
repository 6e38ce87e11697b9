"""Iterations of one loop of a nest: which are looked at, and on which core."""

from dataclasses import dataclass, replace
from functools import lru_cache
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
        count: all of them; those after them, if any are looked at, are of other cores alone.
        index, times: int64[k], which these are, and for how many each stands.
        tile: int64[k], indices of the rank that each covers.
    """

    count: int
    index: Ints
    times: Ints
    tile: Ints


@lru_cache(maxsize=4096)
def shown(size: int, tile: int) -> LoopIterations:
    """Return the iterations of a loop over a rank of ``size`` in tiles. Arrays are shared: to be
    read only."""
    count = -(-size // tile)
    if count <= MOST_SHOWN:
        return every(size, tile)
    index = np.array([*range(_FIRST + 1), *range(count - _LAST, count)])
    _, times = shown_of(np.int64(count), index)
    return LoopIterations(count, index, times, np.minimum(tile, size - index * tile))


def every(size: int, tile: int) -> LoopIterations:
    """Return all iterations of a loop over a rank of ``size`` in tiles."""
    count = -(-size // tile)
    index = np.arange(count)
    times = np.ones(count, np.int64)
    return LoopIterations(count, index, times, np.minimum(tile, size - index * tile))


def shown_of(count: Ints | np.int64, place: Ints) -> tuple[Bools, Ints]:
    """Return which iterations of runs of ``count`` are looked at, by their places in these, and for
    how many each stands."""
    long = count > MOST_SHOWN
    kept: Bools = ~long | (place <= _FIRST) | (place >= count - _LAST)
    times: Ints = np.where(long & (place == _FIRST), count - _FIRST - _LAST, 1)
    return kept, times


@dataclass(frozen=True)
class Turns:
    """What some cores do of a loop that is shared out.

    Attributes:
        cores: how many do the same.
        size: indices of the rank that each covers.
        loop: its iterations; all cores look at the same ones.
    """

    cores: int
    size: int
    loop: LoopIterations


def shared_out(count: int, cores: int) -> tuple[int, int]:
    """Return how many of so many iterations a core runs at the most, and how many cores work.

    There are no more of these than that takes: others would finish no sooner, and make again what
    all make.
    """
    most = -(-count // cores)
    return most, -(-count // most)


def turns(size: int, tile: int, cores: int) -> tuple[Turns, ...]:
    """Share out the iterations of a loop over a rank of ``size`` in tiles.

    Each core runs as many, one after another; the last one runs what is left.
    """
    count = -(-size // tile)
    most, working = shared_out(count, cores)
    left = count - most * (working - 1)
    whole = shown(most * tile, tile)
    if left < most:
        # both parts begin and end something: the last core stops at the end of the first one
        whole = _beside(shown(left * tile, tile), shown((most - left) * tile, tile))
    rest = size - (count - 1) * tile
    tiles = np.where(whole.index == left - 1, rest, tile)
    last = Turns(1, size - most * tile * (working - 1), replace(whole, count=left, tile=tiles))
    if rest == tile and left == most:
        return (replace(last, cores=working),)
    all_but_last = Turns(working - 1, most * tile, whole)
    return (all_but_last, last) if working > 1 else (last,)


def turns_in_order(size: int, tile: int, cores: int) -> tuple[Turns, ...]:
    """Share out the iterations of a loop in turn: of n cores the first one runs those with number
    0, n, 2n and so on, the next one 1, n + 1 and so on.

    There are as many cores as :func:`turns` has.
    """
    count = -(-size // tile)
    most, working = shared_out(count, cores)
    # so many cores run as many as any, and the others one fewer
    full = count - (most - 1) * working
    whole = shown(most * tile, tile)
    if full < working and most > 1:
        # both parts begin and end something: some cores stop at the end of the first one
        whole = _beside(shown((most - 1) * tile, tile), shown(tile, tile))
    rest = size - (count - 1) * tile
    ends = whole.index == most - 1
    shares = [Turns(full, most * tile, whole)]
    if rest < tile:
        last = replace(whole, tile=np.where(ends, rest, tile))
        shares = [Turns(full - 1, most * tile, whole), Turns(1, (most - 1) * tile + rest, last)]
    fewer = replace(whole, count=most - 1)
    shares.append(Turns(working - full, (most - 1) * tile, fewer))
    return tuple(share for share in shares if share.cores)


def _beside(first: LoopIterations, other: LoopIterations) -> LoopIterations:
    """Return iterations with others after them."""
    return LoopIterations(
        first.count + other.count,
        np.concatenate([first.index, first.count + other.index]),
        np.concatenate([first.times, other.times]),
        np.concatenate([first.tile, other.tile]),
    )
