"""Iterations of a nest that are looked at, and the tiles that each covers.

Iterations are compressed: of a loop with many, some at its beginning and end and one for all
between them are looked at, since those between neither begin nor end anything and have neighbours
of the same kind. What is found holds for all iterations, and the number of them that each stands
for is known, so that sums and peaks are exact.

Tiles of queries and keys that a mask drops as a whole are no iterations. Where there are any, the
loops over both count as one, over the tiles that run.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from math import prod
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from archloom.space.fusion import LoopNest

from ....arrays import Bools, Ints
from ..operands import NestGroup
from .cells import MaskedCells, masked_cells, shown_tiles
from .loops import LoopIterations, every, shown
from .masked import KEYS
from .when_used import ALL, FIRST, LAST, MaskedUses, masked_uses, uses

_Value = TypeVar("_Value", bound=np.generic)
_Tiles = Callable[[MaskedUses], Bools]


@dataclass(frozen=True, eq=False)
class CoreShare:
    """What some cores run of a nest whose outermost loop is shared out.

    Attributes:
        cores: how many do the same.
        size: indices of the outermost loop's rank that each covers.
        loop: its iterations of that loop.
        masked: where a mask drops iterations, in which of the others things are used.
        cells: iterations that are looked at, where the mask leaves other ones to other cores.
    """

    cores: int
    size: int
    loop: LoopIterations
    masked: MaskedUses | None = None
    cells: MaskedCells | None = None


class WalkedLoops:
    """Iterations of a nest around a group that are looked at.

    Arrays over iterations have an axis for each loop, outermost first; one axis for all loops where
    a mask drops iterations.

    Args:
        group: what runs.
        nest: that obeys :func:`nest_faults`.
        held: operands that lie in the buffer whatever the nest does.
        whole: tiles that a mask drops run, too; so they do where cores share out a loop, unless
            they take its iterations in turn.
        share: of a core, if cores share out the outermost loop; some of the iterations that are
            looked at may be after its last one.
    """

    def __init__(
        self,
        group: NestGroup,
        nest: LoopNest,
        held: frozenset[int] = frozenset(),
        whole: bool = False,
        share: CoreShare | None = None,
    ) -> None:
        self.group, self.nest = group, nest
        self._held = held
        self._place = {loop.rank: at for at, loop in enumerate(nest.loops)}
        self.uses = uses(group, nest)
        #: where a mask drops iterations, in which of the others things are used
        self.masked = share.masked if share else None
        if share is None and not whole and (nest.in_turn or not nest.dealt):
            self.masked = masked_uses(group, nest)
        self._share = share
        tiled = self.masked.places if self.masked else ()
        self.loops = [
            (every if at in tiled else shown)(group.ranks.sizes[loop.rank], loop.tile)
            for at, loop in enumerate(nest.loops)
        ]
        if share is not None:
            self.loops[0] = share.loop
        self.shape: tuple[int, ...] = tuple(len(loop.index) for loop in self.loops)
        # of members, operands, and loops, as they are asked for; none depends on what stays
        self._runs: dict[int, Bools] = {}
        self._uses: dict[tuple[int, int], Bools] = {}
        self._tile_words: dict[int, Ints] = {}
        if self.masked:
            self.shape = (len(self.cells.times),)

    @cached_property
    def cells(self) -> MaskedCells:
        """Iterations that are looked at, where a mask drops others."""
        masked = self.masked
        assert masked, "only where a mask drops iterations"
        if self._share is not None and self._share.cells is not None:
            return self._share.cells
        pair = [self.loops[at] for at in masked.places]
        tiles = shown_tiles(
            masked.grid, told_apart(self.group, self.nest, masked), (pair[0], pair[1])
        )
        return masked_cells(self.loops, masked.places, tiles)

    @cached_property
    def times(self) -> Ints:
        """int64[...], iterations that each one stands for."""
        times = reduce(np.multiply, (self._spread(at, x.times) for at, x in enumerate(self.loops)))
        return times * self.cells.times if self.masked else times

    @property
    def count(self) -> int:
        """All iterations."""
        return self._count(self.masked.grid.live if self.masked else None)

    @property
    def rounds(self) -> int:
        """All iterations, and those in which it waits for other cores between them or after."""
        return self._count(self.cells.tiles.live if self.masked else None)

    def _count(self, live: Bools | None) -> int:
        tiled = self.masked.places if self.masked else ()
        others = prod(x.count for at, x in enumerate(self.loops) if at not in tiled)
        return others if live is None else others * int(live.sum())

    def _spread(self, at: int, values: NDArray[_Value]) -> NDArray[_Value]:
        if self.masked:
            return values[self.cells.index[at]]
        return values.reshape([-1 if at == k else 1 for k in range(len(self.loops))])

    def _in_tiles(self, found: Bools, where: _Tiles) -> Bools:
        """Return which of some iterations are of some tiles of queries and keys; all where no mask
        drops any."""
        if not self.masked:
            return found
        some = found & where(self.masked).ravel()[self.cells.tile]
        return some if self.cells.live is None else some & self.cells.live

    def _stay(self, t: int, depth: int | None = None) -> tuple[int, ...]:
        """Axes of tiles along which an operand does not lie and stays; its depth or another."""
        assert self.masked, "only where a mask drops iterations"
        return _stay_axes(
            self.group, self.nest, self.masked, t, self.nest.depth[t] if depth is None else depth
        )

    def _once(self, t: int) -> Bools:
        """Of the tiles in which a result is made, those in which it leaves."""
        assert self.masked, "only where a mask drops iterations"
        return _leaving_tiles(self.group, self.nest, self.masked, t)

    def _in(self, at: int, use: int) -> Bools:
        """Which iterations of a loop are in a use of it."""
        if (at, use) not in self._uses:
            self._uses[at, use] = self._in_use(at, use)
        return self._uses[at, use]

    def _in_use(self, at: int, use: int) -> Bools:
        loop = self.loops[at]
        if use == ALL:
            return np.ones([1] * len(self.shape), np.bool_)
        first, last = (use & FIRST > 0) & (loop.index == 0), loop.index == loop.count - 1
        return self._spread(at, first | ((use & LAST > 0) & last))

    def _start(self, at: int, use: int) -> Bools:
        """Which iteration of a loop is the first in a use of it."""
        return self._in(at, LAST if use == LAST else FIRST)

    @cached_property
    def there(self) -> Bools:
        """bool[..., 1], iterations up to the last one."""
        if self.masked and self.cells.there is not None:
            return self.cells.there
        return self._spread(0, self.loops[0].index < self.loops[0].count)

    def _all(self, conditions: Iterator[Bools]) -> Bools:
        found = reduce(np.logical_and, conditions, self.there)
        return self._every(found)

    def _across(self, ranks: tuple[int, ...] | frozenset[int]) -> Iterator[int]:
        """Loops that are not over any of some ranks, but for two over tiles that a mask drops."""
        tiled = self.masked.places if self.masked else ()
        loops = enumerate(self.nest.loops)
        return (at for at, loop in loops if loop.rank not in ranks and at not in tiled)

    def _ends(self, use: int, loops: Iterable[int]) -> Bools:
        """Whether iterations are the first or the last of some loops, of queries none of them."""
        some, tiled = list(loops), self.masked.places[KEYS] if self.masked else -1
        found = self._all(self._in(at, use) for at in some if at != tiled)
        if tiled not in some:
            return found
        return self._in_tiles(found, lambda x: x.grid.last_key if use == LAST else x.grid.first_key)

    def tile(self, rank: int) -> Ints:
        """int64[...], how much of a rank each iteration covers."""
        if rank in self._place:
            at = self._place[rank]
            return self._spread(at, self.loops[at].tile)
        return np.full([1] * len(self.shape), self.group.ranks.sizes[rank], np.int64)

    def tile_words(self, t: int) -> Ints:
        """int64[...], words of the piece of an operand that each iteration covers."""
        if t not in self._tile_words:
            operand = self.group.operands[t]
            looped = [rank for rank in operand.ranks if rank in self._place]
            base = operand.words // prod(self.group.ranks.sizes[rank] for rank in looped)
            one = np.full([1] * len(self.shape), base)
            words = reduce(np.multiply, map(self.tile, looped), one)
            self._tile_words[t] = self._every(words)
        return self._tile_words[t]

    def _every(self, values: NDArray[_Value]) -> NDArray[_Value]:
        """Return values of all iterations, given those along some loops."""
        # asking for the shape takes a tenth of broadcasting to it
        return values if values.shape == self.shape else np.broadcast_to(values, self.shape)

    def box_words(self, t: int) -> int:
        """Words of an operand that stay from one iteration to another, at the most."""
        operand, depth = self.group.operands[t], self.nest.depth[t]
        words = operand.words
        for rank in operand.ranks:
            at = self._place.get(rank, depth)
            if at < depth:
                words = words // self.group.ranks.sizes[rank] * self.nest.loops[at].tile
        return words

    def reducing(self, m: int) -> list[int]:
        """Loops over which a member adds up."""
        return _reducing(self.group, self.nest, m)


def _reducing(group: NestGroup, nest: LoopNest, m: int) -> list[int]:
    return [at for at, x in enumerate(nest.loops) if x.rank in group.reduced[m]]


def _stay_axes(
    group: NestGroup, nest: LoopNest, masked: MaskedUses, t: int, least: int
) -> tuple[int, ...]:
    ranks, places = group.operands[t].ranks, enumerate(masked.places)
    return tuple(a for a, at in places if at >= least and nest.loops[at].rank not in ranks)


def _leaving_tiles(group: NestGroup, nest: LoopNest, masked: MaskedUses, t: int) -> Bools:
    maker = group.operands[t].maker
    reduced = _reducing(group, nest, maker)
    axes = (a for a in _stay_axes(group, nest, masked, t, 0) if masked.places[a] not in reduced)
    return masked.grid.first(masked.members[maker], *axes)


def told_apart(group: NestGroup, nest: LoopNest, masked: MaskedUses) -> list[Bools]:
    """Return bool[queries, keys], all that tiles which run differ in, but their sizes."""
    grid, operands = masked.grid, group.operands
    axes = [_stay_axes(group, nest, masked, t, nest.depth[t]) for t in range(len(operands))]
    return [
        *masked.members,
        grid.first_key,
        grid.last_key,
        *(grid.first(some, *axes[t]) for t, some in enumerate(masked.operands)),
        *(
            _leaving_tiles(group, nest, masked, t)
            for t, operand in enumerate(operands)
            if operand.kind == "made"
        ),
    ]
