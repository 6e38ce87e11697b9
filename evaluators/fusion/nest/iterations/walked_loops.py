"""Iterations of a nest that are looked at, and the tiles that each covers.

Iterations are compressed: of a loop with many, some at its beginning and end and one for all
between them are looked at, since those between neither begin nor end anything and have neighbours
of the same kind. What is found holds for all iterations, and the number of them that each stands
for is known, so that sums and peaks are exact.

Tiles of queries and keys that a mask drops as a whole are no iterations. Where there are any, the
loops over both count as one, over the tiles that run.
"""

from collections.abc import Callable, Iterable, Iterator
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


class WalkedLoops:
    """Iterations of a nest around a group that are looked at.

    Arrays over iterations have an axis for each loop, outermost first; one axis for all loops where
    a mask drops iterations.

    Args:
        group: what runs.
        nest: that obeys :func:`nest_faults`.
        held: operands that lie in the buffer whatever the nest does.
        whole: tiles that a mask drops run, too; so they do where cores share out a loop.
        outermost: iterations of the outermost loop, if others than usual are to be looked at; some
            may be after the last one.
    """

    def __init__(
        self,
        group: NestGroup,
        nest: LoopNest,
        held: frozenset[int] = frozenset(),
        whole: bool = False,
        outermost: LoopIterations | None = None,
    ) -> None:
        self.group, self.nest = group, nest
        self._held = held
        self._place = {loop.rank: at for at, loop in enumerate(nest.loops)}
        self.uses = uses(group, nest)
        #: where a mask drops iterations, in which of the others things are used
        self.masked = None if whole or nest.dealt else masked_uses(group, nest)
        tiled = self.masked.places if self.masked else ()
        self.loops = [
            (every if at in tiled else shown)(group.ranks.sizes[loop.rank], loop.tile)
            for at, loop in enumerate(nest.loops)
        ]
        if outermost is not None:
            self.loops[0] = outermost
        self.shape: tuple[int, ...] = tuple(len(loop.index) for loop in self.loops)
        # of members, operands, and loops, as they are asked for; none depends on what stays but
        # what comes, which is known by how its operand does
        self._comes: dict[tuple[int, int], Bools] = {}
        self._runs: dict[int, Bools] = {}
        self._uses: dict[tuple[int, int], Bools] = {}
        self._tile_words: dict[int, Ints] = {}
        self._tiles: dict[int, Ints] = {}
        if self.masked:
            self.shape = (len(self.cells.times),)

    @cached_property
    def cells(self) -> MaskedCells:
        """Iterations that are looked at, where a mask drops others."""
        assert self.masked, "only where a mask drops iterations"
        masked, operands = self.masked, self.group.operands
        pair = [self.loops[at] for at in masked.places]
        grid = masked.grid
        what = [grid.first_key, grid.last_key]
        what += [grid.first(some, *self._stay(t)) for t, some in enumerate(masked.operands)]
        what += [self._once(t) for t, operand in enumerate(operands) if operand.kind == "made"]
        tiles = shown_tiles(grid, (*masked.members, *what), (pair[0], pair[1]))
        return masked_cells(self.loops, masked.places, tiles)

    @cached_property
    def times(self) -> Ints:
        """int64[...], iterations that each one stands for."""
        times = reduce(np.multiply, (self._spread(at, x.times) for at, x in enumerate(self.loops)))
        return times * self.cells.times if self.masked else times

    @property
    def count(self) -> int:
        """All iterations."""
        if self.masked:
            others = [x.count for at, x in enumerate(self.loops) if at not in self.masked.places]
            return prod(others) * int(self.masked.grid.live.sum())
        return prod(loop.count for loop in self.loops)

    def _spread(self, at: int, values: NDArray[_Value]) -> NDArray[_Value]:
        if self.masked:
            return values[self.cells.index[at]]
        return values.reshape([-1 if at == k else 1 for k in range(len(self.loops))])

    def _in_tiles(self, found: Bools, where: _Tiles) -> Bools:
        """Return which of some iterations are of some tiles of queries and keys; all where no mask
        drops any."""
        if not self.masked:
            return found
        return found & where(self.masked).ravel()[self.cells.tile]

    def _stay(self, t: int, depth: int | None = None) -> tuple[int, ...]:
        """Axes of tiles along which an operand does not lie and stays; its depth or another."""
        assert self.masked, "only where a mask drops iterations"
        least, ranks = self.nest.depth[t] if depth is None else depth, self.group.operands[t].ranks
        places = enumerate(self.masked.places)
        return tuple(a for a, at in places if at >= least and self.nest.loops[at].rank not in ranks)

    def _once(self, t: int) -> Bools:
        """Of the tiles in which a result is made, those in which it leaves."""
        assert self.masked, "only where a mask drops iterations"
        operand = self.group.operands[t]
        reduced = self.reducing(operand.maker)
        axes = (a for a in self._stay(t, 0) if self.masked.places[a] not in reduced)
        return self.masked.grid.first(self.masked.members[operand.maker], *axes)

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
        if rank not in self._tiles:
            at = self._place.get(rank)
            self._tiles[rank] = (
                np.full([1] * len(self.shape), self.group.ranks.sizes[rank], np.int64)
                if at is None
                else self._spread(at, self.loops[at].tile)
            )
        return self._tiles[rank]

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
        # asking for the shape takes a tenth of broadcasting to it, and copying a fifth
        if values.shape == self.shape:
            return values
        found = np.empty(self.shape, values.dtype)
        found[...] = values
        return found

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
        return [at for at, x in enumerate(self.nest.loops) if x.rank in self.group.reduced[m]]
