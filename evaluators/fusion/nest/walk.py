"""Iterations of a nest: which layers run in each, and what comes, leaves and stays.

Iterations are compressed: of a loop with many, some at its beginning and end and one for all
between them are looked at, since those between neither begin nor end anything and have neighbours
of the same kind. What is found holds for all iterations, and the number of them that each stands
for is known, so that sums and peaks are exact.
"""

from collections.abc import Callable, Iterator
from functools import cached_property, reduce
from math import prod
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from archloom.space.fusion import STREAMED, LoopNest

from ...arrays import Ints
from .iterations import ALL, BOTH, FIRST, LAST, LoopIterations, shown, uses
from .operands import NestGroup

Bools = NDArray[np.bool_]
_Value = TypeVar("_Value", bound=np.generic)
_When = Callable[[int], Bools]


class NestWalk:
    """What happens in the iterations of a nest around a group.

    Arrays over iterations have an axis for each loop, outermost first.

    Args:
        group: what runs.
        nest: that obeys :func:`nest_faults`.
        held: operands that lie in the buffer whatever the nest does.
        outermost: iterations of the outermost loop, if others than usual are to be looked at; some
            may be after the last one.
    """

    def __init__(
        self,
        group: NestGroup,
        nest: LoopNest,
        held: frozenset[int] = frozenset(),
        outermost: LoopIterations | None = None,
    ) -> None:
        self.group, self.nest = group, nest
        self._held = held
        self.loops = [shown(group.ranks.sizes[loop.rank], loop.tile) for loop in nest.loops]
        if outermost is not None:
            self.loops[0] = outermost
        self._place = {loop.rank: at for at, loop in enumerate(nest.loops)}
        self.shape = tuple(len(loop.index) for loop in self.loops)
        self.uses = uses(group, nest)

    @cached_property
    def times(self) -> Ints:
        """int64[...], iterations that each one stands for."""
        return reduce(np.multiply, (self._spread(at, x.times) for at, x in enumerate(self.loops)))

    @property
    def count(self) -> int:
        """All iterations."""
        return prod(loop.count for loop in self.loops)

    def _spread(self, at: int, values: NDArray[_Value]) -> NDArray[_Value]:
        return values.reshape([-1 if at == k else 1 for k in range(len(self.loops))])

    def _in(self, at: int, use: int) -> Bools:
        """Which iterations of a loop are in a use of it."""
        loop = self.loops[at]
        if use == ALL:
            return np.ones([1] * len(self.loops), np.bool_)
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
        """Loops that are not over any of some ranks."""
        return (at for at, loop in enumerate(self.nest.loops) if loop.rank not in ranks)

    def tile(self, rank: int) -> Ints:
        """int64[...], how much of a rank each iteration covers."""
        if rank in self._place:
            at = self._place[rank]
            return self._spread(at, self.loops[at].tile)
        return np.full([1] * len(self.loops), self.group.ranks.sizes[rank], np.int64)

    def tile_words(self, t: int) -> Ints:
        """int64[...], words of the piece of an operand that each iteration covers."""
        operand = self.group.operands[t]
        looped = [rank for rank in operand.ranks if rank in self._place]
        base = operand.words // prod(self.group.ranks.sizes[rank] for rank in looped)
        words = reduce(np.multiply, map(self.tile, looped), np.full([1] * len(self.loops), base))
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
        return self._all(
            self._in(at, self.uses.members[m][at]) for at in self._across(self.group.own[m])
        )

    def comes(self, t: int) -> Bools:
        """bool[...], whether a piece of an operand comes from DRAM, partial sums with them."""
        operand, depth = self.group.operands[t], self.nest.depth[t]
        if depth == STREAMED or t in self._held:
            return np.zeros(self.shape, np.bool_)
        if operand.kind == "made":
            return self._returns(t)
        use = self.uses.operands[t]
        return self._all(
            self._in(at, use[at]) if at < depth else self._start(at, use[at])
            for at in self._across(operand.ranks)
        )

    def _returns(self, t: int) -> Bools:
        """Whether partial sums come back."""
        operand = self.group.operands[t]
        m, depth = operand.maker, self.nest.depth[t]
        reduced = self.reducing(m)
        spilled = [at for at in reduced if at < depth]
        if not spilled:
            return np.zeros(self.shape, np.bool_)
        begins = self._all(self._in(at, FIRST) for at in reduced if at >= depth)
        return begins & self._leaving(t) & ~self._all(self._in(at, FIRST) for at in spilled)

    def _leaving(self, t: int) -> Bools:
        """Whether it is the one time that a piece leaves, as far as other loops than those say that
        its maker adds up over."""
        operand = self.group.operands[t]
        use, reduced = self.uses.members[operand.maker], set(self.reducing(operand.maker))
        return self._all(
            self._start(at, use[at]) for at in self._across(operand.ranks) if at not in reduced
        )

    def leaves(self, t: int) -> Bools:
        """bool[...], whether a piece of an operand goes to DRAM, partial sums with them."""
        operand, depth = self.group.operands[t], self.nest.depth[t]
        if operand.kind != "made" or not operand.exported or depth == STREAMED:
            return np.zeros(self.shape, np.bool_)
        ends = self._all(self._in(at, LAST) for at in self.reducing(operand.maker) if at >= depth)
        return ends & self._leaving(t)

    def reducing(self, m: int) -> list[int]:
        """Loops over which a member adds up."""
        return [at for at, x in enumerate(self.nest.loops) if x.rank in self.group.reduced[m]]

    def adds(self, m: int) -> Bools:
        """bool[...], whether a member adds to partial sums that are there."""
        reduced = self.reducing(m)
        if not reduced:
            return np.zeros(self.shape, np.bool_)
        return self.runs(m) & ~self._all(self._in(at, FIRST) for at in reduced)

    def passes(self, m: int) -> Bools:
        """bool[...], whether partial sums that a member adds to come from DRAM and stream."""
        if self.nest.depth[self.group.made[m]] != STREAMED:
            return np.zeros(self.shape, np.bool_)
        return self.adds(m)

    def rescales(self, m: int) -> Bools:
        """bool[...], whether a member rescales partial sums, since a softmax that it reads has met
        more of each vector."""
        over = {
            self._place[rank]
            for t in self.group.maps[m]
            for rank in self.group.online.get(self.group.operands[t].maker, ())
            if rank in self._place
        }
        if not over:
            return np.zeros(self.shape, np.bool_)
        return self.runs(m) & ~self._all(self._in(at, FIRST) for at in sorted(over))

    def online(self, m: int) -> bool:
        """Whether a member reads a softmax whose vectors come piece by piece."""
        return bool(
            self._place.keys()
            & {
                rank
                for t in self.group.maps[m]
                for rank in self.group.online.get(self.group.operands[t].maker, ())
            }
        )

    def lasts(self, t: int, depth: int) -> bool:
        """Whether an operand of some depth stays from one iteration to another."""
        operand = self.group.operands[t]
        beyond = [at for at in self._across(operand.ranks) if at >= depth]
        if operand.kind != "made":
            return any(self.uses.operands[t][at] in (BOTH, ALL) for at in beyond)
        mine, reduced = self.uses.members[operand.maker], self.reducing(operand.maker)
        return any(
            at in reduced
            or any(self.uses.members[reader][at] != mine[at] for reader in operand.readers)
            for at in beyond
        )

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
        one = np.full([1] * len(self.loops), 1, np.int64)
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
