"""Iterations of a nest: which layers run in each, and what comes, leaves and stays.

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

from archloom.space.fusion import STREAMED, LoopNest

from ...arrays import Ints
from .iterations import (
    ALL,
    BOTH,
    FIRST,
    KEYS,
    LAST,
    LoopIterations,
    MaskedCells,
    MaskedUses,
    every,
    masked_cells,
    masked_uses,
    shown,
    shown_tiles,
    uses,
)
from .operands import NestGroup

Bools = NDArray[np.bool_]
_Value = TypeVar("_Value", bound=np.generic)
_When = Callable[[int], Bools]
_Tiles = Callable[[MaskedUses], Bools]


class NestWalk:
    """What happens in the iterations of a nest around a group.

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
        self._runs: dict[int, Bools] = {}
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

    def _tiles(self, where: _Tiles) -> Bools:
        """Return which iterations are of some tiles of queries and keys; all where no mask drops
        any."""
        if not self.masked:
            return np.ones([1] * len(self.shape), np.bool_)
        return where(self.masked).ravel()[self.cells.tile]

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
        return np.broadcast_to(found, self.shape)

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
        return found & self._tiles(lambda x: x.grid.last_key if use == LAST else x.grid.first_key)

    def tile(self, rank: int) -> Ints:
        """int64[...], how much of a rank each iteration covers."""
        if rank in self._place:
            at = self._place[rank]
            return self._spread(at, self.loops[at].tile)
        return np.full([1] * len(self.shape), self.group.ranks.sizes[rank], np.int64)

    def tile_words(self, t: int) -> Ints:
        """int64[...], words of the piece of an operand that each iteration covers."""
        operand = self.group.operands[t]
        looped = [rank for rank in operand.ranks if rank in self._place]
        base = operand.words // prod(self.group.ranks.sizes[rank] for rank in looped)
        words = reduce(np.multiply, map(self.tile, looped), np.full([1] * len(self.shape), base))
        return np.broadcast_to(words, self.shape)

    def box_words(self, t: int) -> int:
        """Words of an operand that stay from one iteration to another, at the most."""
        operand, depth = self.group.operands[t], self.nest.depth[t]
        words = operand.words
        for rank in operand.ranks:
            at = self._place.get(rank, depth)
            if at < depth:
                words = words // self.group.ranks.sizes[rank] * self.nest.loops[at].tile
        return words

    def runs(self, m: int) -> Bools:
        """bool[...], whether a member runs."""
        if m not in self._runs:
            self._runs[m] = self._found_runs(m)
        return self._runs[m]

    def _found_runs(self, m: int) -> Bools:
        found = self._all(
            self._in(at, self.uses.members[m][at]) for at in self._across(self.group.own[m])
        )
        return found & self._tiles(lambda masked: masked.members[m])

    def comes(self, t: int) -> Bools:
        """bool[...], whether a piece of an operand comes from DRAM, partial sums with them."""
        operand, depth = self.group.operands[t], self.nest.depth[t]
        if depth == STREAMED or t in self._held:
            return np.zeros(self.shape, np.bool_)
        if operand.kind == "made":
            return self._returns(t)
        use = self.uses.operands[t]
        found = self._all(
            self._in(at, use[at]) if at < depth else self._start(at, use[at])
            for at in self._across(operand.ranks)
        )
        return found & self._tiles(lambda x: x.grid.first(x.operands[t], *self._stay(t)))

    def _returns(self, t: int) -> Bools:
        """Whether partial sums come back."""
        operand = self.group.operands[t]
        m, depth = operand.maker, self.nest.depth[t]
        reduced = self.reducing(m)
        spilled = [at for at in reduced if at < depth]
        if not spilled:
            return np.zeros(self.shape, np.bool_)
        begins = self._ends(FIRST, (at for at in reduced if at >= depth))
        return begins & self._leaving(t) & ~self._ends(FIRST, spilled)

    def _leaving(self, t: int) -> Bools:
        """Whether it is the one time that a piece leaves, as far as other loops than those say that
        its maker adds up over."""
        operand = self.group.operands[t]
        use, reduced = self.uses.members[operand.maker], set(self.reducing(operand.maker))
        found = self._all(
            self._start(at, use[at]) for at in self._across(operand.ranks) if at not in reduced
        )
        return found & self._tiles(lambda _: self._once(t))

    def leaves(self, t: int) -> Bools:
        """bool[...], whether a piece of an operand goes to DRAM, partial sums with them."""
        operand, depth = self.group.operands[t], self.nest.depth[t]
        if operand.kind != "made" or not operand.exported or depth == STREAMED:
            return np.zeros(self.shape, np.bool_)
        ends = self._ends(LAST, (at for at in self.reducing(operand.maker) if at >= depth))
        return ends & self._leaving(t)

    def reducing(self, m: int) -> list[int]:
        """Loops over which a member adds up."""
        return [at for at, x in enumerate(self.nest.loops) if x.rank in self.group.reduced[m]]

    def adds(self, m: int) -> Bools:
        """bool[...], whether a member adds to partial sums that are there."""
        reduced = self.reducing(m)
        if not reduced:
            return np.zeros(self.shape, np.bool_)
        return self.runs(m) & ~self._ends(FIRST, reduced)

    def passes(self, m: int) -> Bools:
        """bool[...], whether partial sums that a member adds to come from DRAM and stream."""
        if self.nest.depth[self.group.made[m]] != STREAMED:
            return np.zeros(self.shape, np.bool_)
        return self.adds(m)

    def rescales(self, m: int) -> Bools:
        """bool[...], whether a member rescales partial sums, since a softmax that it reads has met
        more of each vector."""
        over = self._pieces(m)
        return self.runs(m) & ~self._ends(FIRST, over) if over else np.zeros(self.shape, np.bool_)

    def online(self, m: int) -> bool:
        """Whether a member reads a softmax whose vectors come piece by piece."""
        return bool(self._pieces(m))

    def _pieces(self, m: int) -> list[int]:
        """Loops over the vectors of softmaxes that a member reads."""
        makers = (self.group.operands[t].maker for t in self.group.maps[m])
        ranks = {rank for maker in makers for rank in self.group.online.get(maker, ())}
        return sorted(self._place[rank] for rank in ranks if rank in self._place)

    def lasts(self, t: int, depth: int) -> bool:
        """Whether an operand of some depth stays from one iteration to another."""
        operand = self.group.operands[t]
        loops = enumerate(self.nest.loops)
        beyond = [at for at, x in loops if at >= depth and x.rank not in operand.ranks]
        if self.masked and self._used_apart(t, depth):
            return True
        if operand.kind != "made":
            return any(self.uses.operands[t][at] in (BOTH, ALL) for at in beyond)
        mine, reduced = self.uses.members[operand.maker], self.reducing(operand.maker)
        return any(
            at in reduced
            or any(self.uses.members[reader][at] != mine[at] for reader in operand.readers)
            for at in beyond
        )

    def _used_apart(self, t: int, depth: int) -> bool:
        """Whether an operand is used in several tiles of queries and keys while it stays, or in
        others than those in which it is made."""
        assert self.masked, "only where a mask drops iterations"
        axes, operand = self._stay(t, depth), self.group.operands[t]
        if operand.kind != "made":
            some = self.masked.operands[t]
            return bool((some != self.masked.grid.first(some, *axes)).any())
        members = self.masked.members
        mine = members[operand.maker]
        return bool(axes) and any((members[r] != mine).any() for r in operand.readers)

    @cached_property
    def steps(self) -> Bools:
        """bool[m, n], which members run in the iterations, one after another. Where none does, the
        first one stands for what lies in the buffer meanwhile."""
        found = np.stack([self.runs(m).ravel() for m in range(len(self.group.layers))])
        found[0] |= ~found.any(axis=0)
        return found

    @cached_property
    def occupancy(self) -> Ints:
        """int64[m, ...], words of the buffer in use while each member runs, without what is in
        flight or streams."""
        members = len(self.group.layers)
        found = np.zeros((members, *self.shape), np.int64)
        for t in range(len(self.group.operands)):
            for m, words in self.taken(t):
                found[m] += words
        return found

    def taken(self, t: int) -> Iterator[tuple[int, Ints]]:
        """Yield the steps at which an operand takes words, and how many in each iteration."""
        operand, members = self.group.operands[t], len(self.group.layers)
        if self.nest.depth[t] == STREAMED or t in self._held:
            return
        made = operand.kind == "made"
        if self.lasts(t, self.nest.depth[t]):
            words: Ints = np.broadcast_to(self.there * np.int64(self.box_words(t)), self.shape)
            steps = range(members)
        else:
            comes, tile = self.comes(t), self.tile_words(t)
            words = np.where(self.runs(operand.maker) if made else comes, tile, 0)
            if made and comes.any():
                # partial sums that come back are there from the start
                early = np.where(comes, tile, 0)
                yield from ((m, early) for m in range(operand.maker))
            end = members - 1 if operand.exported else max(operand.readers)
            steps = range(operand.maker if made else 0, end + 1)
        if made and self.online(operand.maker):
            words = words + self.there * self._statistics(operand.maker)
        for m in steps:
            yield m, words

    def _statistics(self, m: int) -> int:
        """Maxima and sums of the vectors whose weighted rows stay, two for each."""
        t, ranks = self.group.made[m], self.group.ranks
        depth = self.nest.depth[t]
        columns = prod(
            self.nest.loops[self._place[rank]].tile
            if self._place.get(rank, depth) < depth
            else ranks.sizes[rank]
            for rank in ranks.dims[m][2]
        )
        return 2 * self.box_words(t) // columns

    def columns(self, m: int) -> Ints:
        """int64[...], words of a row that a product makes."""
        ranks = self.group.ranks.dims[m][2]
        one = np.full([1] * len(self.shape), 1, np.int64)
        return np.broadcast_to(reduce(np.multiply, map(self.tile, ranks), one), self.shape)

    @cached_property
    def fetched(self) -> Ints:
        """int64[...], words that come for each iteration."""
        return self._moved(self.comes)

    @cached_property
    def stored(self) -> Ints:
        """int64[...], words that leave after each iteration."""
        return self._moved(self.leaves)

    def _moved(self, when: _When) -> Ints:
        found = np.zeros(self.shape, np.int64)
        for t in range(len(self.group.operands)):
            found += np.where(when(t), self.tile_words(t), 0)
        return found

    @cached_property
    def in_flight(self) -> Ints:
        """int64[...], words that come for the next iteration or left in the last one."""
        found = np.zeros(self.fetched.size, np.int64)
        found[:-1] += self.fetched.ravel()[1:]
        found[1:] += self.stored.ravel()[:-1]
        return found.reshape(self.shape)
