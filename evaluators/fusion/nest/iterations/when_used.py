"""In which iterations of the loops of a nest members run, and operands are read.

:func:`uses` has it for each loop by itself; of loops over queries and keys of which a mask drops
tiles, :func:`masked_uses` has it for both together.
"""

from dataclasses import dataclass
from functools import reduce
from math import prod
from operator import or_
from typing import Final

import numpy as np

from archloom.space.fusion import LoopNest
from archloom.space.workload import Mask

from ....arrays import Bools, Ints
from ..operands import NestGroup
from .masked import KEYS, QUERIES, TileGrid, seen_tiles

_K, _C, _P = 2, 3, 4

#: in which iterations of a loop something happens; sets are united by "or"
FIRST: Final = 1
LAST: Final = 2
BOTH: Final = FIRST | LAST
ALL: Final = 4 | BOTH

#: tiles of queries and keys of which it is followed which ones a mask drops; of more all run
#: (assumption: 128 each way are finer than any that pays)
MOST_TILES: Final = 2**14


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
        found[m] = _member_uses(group, nest, m, group.late[m], found, counts)
    operands = tuple(_any_of(found, operand.readers, len(counts)) for operand in group.operands)
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


def _member_uses(
    group: NestGroup,
    nest: LoopNest,
    m: int,
    late: frozenset[int],
    found: list[tuple[int, ...]],
    counts: list[int],
) -> tuple[int, ...]:
    """Return the uses of each loop by a member, given those of all that read its result."""
    made, own, some = group.operands[group.made[m]], group.own[m], list[int]()
    again = _any_of(found, made.readers, len(counts))
    for at, loop in enumerate(nest.loops):
        if loop.rank in own:
            some.append(ALL)
        elif loop.rank in late:
            some.append(LAST)
        elif not made.readers or at >= nest.depth[group.made[m]]:
            some.append(FIRST)
        else:
            use = again[at] | FIRST if made.exported else again[at]
            some.append(ALL if use == BOTH and counts[at] == 2 else use)
    return tuple(some)


def _any_of(found: list[tuple[int, ...]], members: tuple[int, ...], loops: int) -> tuple[int, ...]:
    """Return the uses of each loop by any of some members."""
    if len(members) == 1:
        return found[members[0]]
    some = [0] * loops
    for m in members:
        for at, use in enumerate(found[m]):
            some[at] |= use
    return tuple(some)


@dataclass(frozen=True, eq=False)
class MaskedUses:
    """In which iterations of a loop over queries and of one over keys things are used, where tiles
    that a mask drops as a whole do not run.

    Attributes:
        places: of the two loops.
        grid: tiles that run.
        members: for each member, bool[queries, keys], those in which it runs.
        operands: for each operand, those in which a member that reads it runs.
    """

    places: tuple[int, int]
    grid: TileGrid
    members: tuple[Bools, ...]
    operands: tuple[Bools, ...]


@dataclass(frozen=True)
class MaskedRanks:
    """Ranks of a group that a mask is along.

    Attributes:
        mask: of all its members that have one.
        queries, keys: the outermost rank of each.
        rows, inner_rows: of the masked layers, and of them inside of one index of ``queries``.
        size, inner_keys: all keys, and those inside of one index of ``keys``.
    """

    mask: Mask
    queries: int
    keys: int
    rows: int
    inner_rows: int
    size: int
    inner_keys: int

    def seen(self, tile: int, tile_keys: int) -> tuple[Ints, Ints]:
        """Return :func:`seen_tiles` for so much of each rank in one iteration."""
        queries = self.rows // self.mask.rows, tile * self.inner_rows, self.rows
        return seen_tiles(self.mask, queries, (self.size, tile_keys * self.inner_keys))


def masked_pair(group: NestGroup) -> tuple[int, int] | None:
    """Return the ranks of queries and keys over which loops may leave out tiles; None if there are
    none."""
    masked = (m for m, layer in enumerate(group.layers) if layer.mask is not None)
    first = next(masked, None)
    ranks = None if first is None else _ranks_of(group, first)
    if ranks is None or masked_ranks(group, frozenset((ranks.queries, ranks.keys))) is None:
        return None
    return ranks.queries, ranks.keys


def masked_ranks(group: NestGroup, looped: frozenset[int]) -> MaskedRanks | None:
    """Return the ranks that a mask is along, if loops over some ranks may leave out tiles.

    They may not, and all tiles run, where the loops are over other parts of queries or keys too,
    where what is made of both leaves the group, where anything but what the mask is for adds up
    over queries or keys, or depends on neither.
    """
    found = {_ranks_of(group, m) for m, layer in enumerate(group.layers) if layer.mask is not None}
    if len(found) != 1 or (ranks := found.pop()) is None:
        return None
    over = {ranks.queries, ranks.keys}
    if not over <= looped:
        return None
    for m, own in enumerate(group.own):
        made, layer = group.operands[group.made[m]], group.layers[m]
        if not own & over or ranks.queries in group.reduced[m]:
            return None
        sums = ranks.keys in group.reduced[m] or (layer.operator == "softmax" and over <= own)
        if sums and layer.mask is None:
            return None
        if over <= set(made.ranks) and made.exported:
            return None
        if layer.mask is not None and looped & _others(group, m, ranks):
            return None
    return ranks


def _ranks_of(group: NestGroup, m: int) -> MaskedRanks | None:
    layer, dims, sizes = group.layers[m], group.ranks.dims[m], group.ranks.sizes
    assert layer.mask is not None, "only masked layers have these"
    rows, keys = dims[_P], dims[_K if layer.mask.keys == "k" else _C]
    if not rows or not keys:
        return None
    inner = [prod(sizes[rank] for rank in some[1:]) for some in (rows, keys)]
    return MaskedRanks(
        Mask("k", layer.mask.rows, layer.mask.window),
        rows[0],
        keys[0],
        layer.p,
        inner[0],
        inner[1] * sizes[keys[0]],
        inner[1],
    )


def _others(group: NestGroup, m: int, ranks: MaskedRanks) -> frozenset[int]:
    """Ranks of a masked member's rows and keys over which no loop may run besides: all but those
    inside of the rows of one query."""
    mask, dims, sizes = group.layers[m].mask, group.ranks.dims[m], group.ranks.sizes
    assert mask is not None, "only masked layers have these"
    rows = dims[_P]
    free = {r for at, r in enumerate(rows) if mask.rows % prod(sizes[k] for k in rows[at:]) == 0}
    keys = dims[_K if mask.keys == "k" else _C]
    return frozenset((*rows, *keys)) - free - {ranks.queries, ranks.keys}


def masked_uses(group: NestGroup, nest: LoopNest, rows: slice | None = None) -> MaskedUses | None:
    """Return in which tiles of queries and keys things are used; None if all run.

    As :func:`uses` has it, of the tiles that run. What comes first or last of them comes in the
    order of the loops.

    Args:
        group, nest: all that runs.
        rows: tiles of queries of one core, if it does not run all.
    """
    places = {loop.rank: at for at, loop in enumerate(nest.loops)}
    ranks = masked_ranks(group, frozenset(places))
    if ranks is None:
        return None
    at = places[ranks.queries], places[ranks.keys]
    tile, tile_keys = (nest.loops[place].tile for place in at)
    count = -(-group.ranks.sizes[ranks.keys] // tile_keys)
    if -(-group.ranks.sizes[ranks.queries] // tile) * count > MOST_TILES:
        return None
    outer = QUERIES if at[0] < at[1] else KEYS
    grid = TileGrid.between(*ranks.seen(tile, tile_keys), count, outer)
    if grid.live.all():
        return None
    if rows is not None:
        grid = TileGrid(grid.live[rows], outer)
    members = [grid.live] * len(group.layers)
    for m in reversed(range(len(members))):
        if {ranks.queries, ranks.keys} <= group.own[m]:
            continue
        axis = KEYS if ranks.queries in group.own[m] else QUERIES
        made = group.operands[group.made[m]]
        goes = bool(made.readers) and at[axis] < nest.depth[group.made[m]]
        if axis == KEYS and ranks.keys in group.late[m]:
            members[m] = grid.last_key
            continue
        members[m] = grid.first(grid.live, axis)
        if goes:
            again = [members[reader] for reader in made.readers]
            members[m] = reduce(or_, again, members[m] & made.exported)
    none = np.zeros_like(grid.live)
    operands = (reduce(or_, (members[r] for r in o.readers), none) for o in group.operands)
    return MaskedUses(at, grid, tuple(members), tuple(operands))
