"""What happens in the iterations of a nest: which layers run in each, and what comes, leaves and
stays."""

from collections.abc import Callable, Iterator
from functools import cached_property, reduce
from math import prod

import numpy as np

from archloom.space.fusion import STREAMED

from ...arrays import Bools, Ints
from .iterations import ALL, BOTH, FIRST, LAST, WalkedLoops

_When = Callable[[int], Bools]


class NestWalk(WalkedLoops):
    """What happens in the iterations of a nest around a group; arguments as of
    :class:`WalkedLoops`."""

    def runs(self, m: int) -> Bools:
        """bool[...], whether a member runs."""
        if m not in self._runs:
            self._runs[m] = self._found_runs(m)
        return self._runs[m]

    def _found_runs(self, m: int) -> Bools:
        found = self._all(
            self._in(at, self.uses.members[m][at]) for at in self._across(self.group.own[m])
        )
        return self._in_tiles(found, lambda masked: masked.members[m])

    def comes(self, t: int) -> Bools:
        """bool[...], whether a piece of an operand comes from DRAM, partial sums with them."""
        key = t, self.nest.depth[t]
        if key not in self._comes:
            self._comes[key] = self._found_comes(*key)
        return self._comes[key]

    def _found_comes(self, t: int, depth: int) -> Bools:
        operand = self.group.operands[t]
        if depth == STREAMED or t in self._held:
            return np.zeros(self.shape, np.bool_)
        if operand.kind == "made":
            return self._returns(t)
        use = self.uses.operands[t]
        found = self._all(
            self._in(at, use[at]) if at < depth else self._start(at, use[at])
            for at in self._across(operand.ranks)
        )
        return self._in_tiles(found, lambda x: x.grid.first(x.operands[t], *self._stay(t)))

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
        return self._in_tiles(found, lambda _: self._once(t))

    def leaves(self, t: int) -> Bools:
        """bool[...], whether a piece of an operand goes to DRAM, partial sums with them."""
        operand, depth = self.group.operands[t], self.nest.depth[t]
        if operand.kind != "made" or not operand.exported or depth == STREAMED:
            return np.zeros(self.shape, np.bool_)
        ends = self._ends(LAST, (at for at in self.reducing(operand.maker) if at >= depth))
        return ends & self._leaving(t)

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
            for steps, words in self.taken(t):
                found[steps.start : steps.stop] += words
        return found

    def taken(self, t: int) -> Iterator[tuple[range, Ints]]:
        """Yield the steps at which an operand takes words, and how many in each iteration; each
        step once."""
        operand, members = self.group.operands[t], len(self.group.layers)
        if self.nest.depth[t] == STREAMED or t in self._held:
            return
        made = operand.kind == "made"
        if self.lasts(t, self.nest.depth[t]):
            words: Ints = self._every(self.there * np.int64(self.box_words(t)))
            steps = range(members)
        else:
            comes, tile = self.comes(t), self.tile_words(t)
            words = np.where(self.runs(operand.maker) if made else comes, tile, 0)
            if made and comes.any():
                # partial sums that come back are there from the start
                yield range(operand.maker), np.where(comes, tile, 0)
            end = members - 1 if operand.exported else max(operand.readers)
            steps = range(operand.maker if made else 0, end + 1)
        if made and self.online(operand.maker):
            words = words + self.there * self._statistics(operand.maker)
        yield steps, words

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
        return self._every(reduce(np.multiply, map(self.tile, ranks), one))

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
            some = when(t)
            if some.any():
                found += some * self.tile_words(t)
        return found

    @cached_property
    def in_flight(self) -> Ints:
        """int64[...], words that come for the next iteration or left in the last one."""
        found = np.zeros(self.fetched.size, np.int64)
        found[:-1] += self.fetched.ravel()[1:]
        found[1:] += self.stored.ravel()[:-1]
        return found.reshape(self.shape)
