"""In which iterations of the loops of a nest members run, and operands are read."""

from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Final

from archloom.space.fusion import LoopNest

from .operands import NestGroup

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
        tuple(found),
        tuple(
            tuple(two[at] if use == BOTH else use for at, use in enumerate(some))
            for some in operands
        ),
    )


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
