"""Iterations of the loops of a nest: which are looked at, on which core, and who runs in them."""

from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import Final

import numpy as np

from archloom.space.fusion import LoopNest

from ...arrays import Ints
from .operands import NestGroup

#: iterations of a loop that are looked at: so many at its beginning and end, and one for all
#: between them, whose neighbours, and those of its neighbours, are of the same kind
_FIRST: Final = 3
_LAST: Final = 4


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


def shown(size: int, tile: int) -> LoopIterations:
    """Return the iterations of a loop over a rank of ``size`` in tiles."""
    count = -(-size // tile)
    index = np.arange(count)
    times = np.ones(count, np.int64)
    if count > _FIRST + 1 + _LAST:
        index = np.array([*range(_FIRST + 1), *range(count - _LAST, count)])
        times = np.ones(len(index), np.int64)
        times[_FIRST] = count - _FIRST - _LAST
    return LoopIterations(count, index, times, np.minimum(tile, size - index * tile))


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


def turns(size: int, tile: int, cores: int) -> tuple[Turns, ...]:
    """Share out the iterations of a loop over a rank of ``size`` in tiles.

    Each core runs as many, one after another; the last one runs what is left. There are no more
    cores than that takes: others would finish no sooner, and make again what all make.
    """
    count = -(-size // tile)
    most = -(-count // cores)
    working = -(-count // most)
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


def _beside(first: LoopIterations, other: LoopIterations) -> LoopIterations:
    """Return iterations with others after them."""
    return LoopIterations(
        first.count + other.count,
        np.concatenate([first.index, first.count + other.index]),
        np.concatenate([first.times, other.times]),
        np.concatenate([first.tile, other.tile]),
    )


#: in which iterations of a loop something happens; sets are united by "or"
FIRST: Final = 1
LAST: Final = 2
BOTH: Final = FIRST | LAST
ALL: Final = 4 | BOTH


@dataclass(frozen=True)
class Uses:
    """In which iterations of each loop (outermost first) things are used.

    Attributes:
        members: for each member, those in which it runs.
        operands: for each operand, those in which a member that reads it runs.
    """

    members: tuple[tuple[int, ...], ...]
    operands: tuple[tuple[int, ...], ...]


def uses(group: NestGroup, nest: LoopNest) -> Uses:
    """Return in which iterations of each loop members run and operands are read.

    A member runs in all iterations of a loop over one of its own ranks. Of another loop it runs in
    the last one, if what it depends on is added up over that loop; in those of its readers, if its
    result does not stay for them; else in the first.
    """
    members = len(group.layers)
    found: list[tuple[int, ...]] = [()] * members
    counts = [-(-group.ranks.sizes[loop.rank] // loop.tile) for loop in nest.loops]
    for m in reversed(range(members)):
        made = group.operands[group.made[m]]
        late = frozenset[int]().union(*(group.reduced[a] for a in group.ancestors[m]))
        found[m] = tuple(
            _use(
                loop.rank in group.own[m],
                loop.rank in late,
                at < nest.depth[group.made[m]],
                [found[reader][at] for reader in made.readers],
                made.exported,
                counts[at],
            )
            for at, loop in enumerate(nest.loops)
        )
    operands = tuple(
        tuple(reduce(or_, (found[r][at] for r in operand.readers), 0) for at in range(len(counts)))
        for operand in group.operands
    )
    two = [[BOTH, ALL][count == 2] for count in counts]
    return Uses(
        tuple(tuple(map(_of_few, some, counts)) for some in found),
        tuple(
            tuple(
                _of_few(two[at] if use == BOTH else use, counts[at]) for at, use in enumerate(some)
            )
            for some in operands
        ),
    )


def _of_few(use: int, count: int) -> int:
    """Return a use of a loop of which a core may have one iteration alone."""
    return FIRST if count == 1 else use


def _use(
    along: bool, late: bool, goes: bool, readers: list[int], exported: bool, count: int
) -> int:
    if along:
        return ALL
    if late:
        return LAST
    if not readers or not goes:
        return FIRST
    use = reduce(or_, readers, FIRST if exported else 0)
    return ALL if use == BOTH and count == 2 else use
