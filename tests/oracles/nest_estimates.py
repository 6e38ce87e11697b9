"""Estimates of nests for all sizes of tiles at once, in arrays over these.

What each member takes and what each stay of an operand moves and holds, formula by formula, where
kernels go from one size of tiles to the next. Who runs when, and what lasts from one iteration to
another, comes from the walk of nests.

Independent of: the kernels that estimate nests, and the arrays that these are given.
"""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from archloom.evaluators.arrays import Floats, Ints
from archloom.evaluators.fusion.nest.iterations.when_used import (
    ALL,
    BOTH,
    MaskedRanks,
    masked_ranks,
)
from archloom.evaluators.fusion.nest.rules import depths
from archloom.evaluators.fusion.nest.walk import NestWalk
from archloom.search.fusion.nest.facts import NestFacts
from archloom.space.fusion.loop_nest import STREAMED, LoopNest, NestLoop


class OperandChoice(NamedTuple):
    """One depth of an operand.

    Attributes:
        depth: or ``STREAMED``.
        energy, words: of what moves, and words that cross DRAM's pins.
        held: words of the buffer, at each of ``steps``.
        steps: members while which run.
        piece: words that move at once, ahead of time; 0 of what comes once.
    """

    depth: int
    energy: Floats | float
    words: Floats | float
    held: Floats | float
    steps: range
    piece: Floats | float


def rows_of(figures: Sequence[Any], shape: tuple[int, ...]) -> Floats:
    """float64[n, cells], figures that need not depend on all loops."""
    found = np.empty((len(figures), *shape))
    for row, figure in zip(found, figures, strict=True):
        row[...] = figure
    return found.reshape(len(figures), -1)


class LoopFigures:
    """What nests with loops over some ranks cost.

    Args:
        facts: of the group.
        ranks: of the loops, outermost first.
        made: the depth of what each member makes and others read, else 0.
    """

    def __init__(self, facts: NestFacts, ranks: tuple[int, ...], made: tuple[int, ...]) -> None:
        self.facts, self.group = facts, facts.around(ranks)
        self.ranks = ranks
        self._members = len(self.group.layers)
        depth = [0] * len(self.group.operands)
        for t, d in zip(self.group.made, made, strict=True):
            depth[t] = d
        self._made = tuple(depth)
        # who runs when follows from loops and from how long results stay, whatever the tiles are
        nest = LoopNest(tuple(NestLoop(rank, 1) for rank in ranks), self._made)
        self.walk = NestWalk(self.group, nest, whole=True)
        self._uses = self.walk.uses
        self.shape = tuple(len(facts.tiles[rank]) for rank in ranks)
        self._tiles = [self._spread(at, facts.tiles[rank]) for at, rank in enumerate(ranks)]
        sizes = facts.group.ranks.sizes
        self._masked = masked_ranks(facts.whole(ranks), frozenset(ranks))
        self._counts = [
            np.ceil(sizes[rank] / tile) for rank, tile in zip(ranks, self._tiles, strict=True)
        ]

    def _spread(self, at: int, values: Floats | Ints) -> Floats:
        shape = [1] * len(self.ranks)
        shape[at] = -1
        return values.astype(np.float64).reshape(shape)

    def _full(self, values: Floats | float) -> Floats:
        return np.broadcast_to(np.asarray(values, np.float64), self.shape)

    def _number(self, at: int, use: int, along: Collection[int]) -> Floats | float:
        """Iterations of a loop in a use of it, of what lies along some ranks."""
        if use == ALL:
            return self._tiles_across(at, along)
        once = self._own_keys(along) if self._over_queries(at) else 1.0
        return 2.0 * once if use == BOTH else once

    def _over_queries(self, at: int) -> bool:
        return self._masked is not None and self.ranks[at] == self._masked.queries

    def _own_keys(self, along: Collection[int]) -> Floats | float:
        """Share of what lies along keys, not along queries, that a core's queries see."""
        masked = self._masked
        if masked is None or masked.queries in along or masked.keys not in along:
            return 1.0
        return self._spread_pair(masked, self.facts.seen_shares(masked).own_keys)

    def _tiles_across(self, at: int, along: Collection[int]) -> Floats:
        """Iterations of a loop, on average over what lies along some ranks: a mask drops some."""
        masked, rank = self._masked, self.ranks[at]
        if masked is None:
            return self._counts[at]
        shares = self.facts.seen_shares(masked)
        if rank == masked.keys and masked.queries in along:
            return self._spread_pair(masked, shares.queries)
        if rank == masked.queries and masked.keys in along:
            return self._spread_pair(masked, shares.keys)
        return self._counts[at]

    def _seen(self, along: Collection[int]) -> Floats | float:
        """Share of what lies along some ranks that is in tiles of which a mask leaves something."""
        masked = self._masked
        if masked is None or not {masked.queries, masked.keys} <= set(along):
            return 1.0
        return self._spread_pair(masked, self.facts.seen_shares(masked).pairs)

    def _spread_pair(self, masked: MaskedRanks, figures: Floats) -> Floats:
        """Return figures with an axis for tiles of queries and one of keys, one for each loop."""
        one, other = self.ranks.index(masked.queries), self.ranks.index(masked.keys)
        shape = [1] * len(self.ranks)
        shape[one], shape[other] = figures.shape
        return (figures if one < other else figures.T).reshape(shape)

    def runs(self) -> Floats:
        """Return how often members run, all together."""
        total: Floats | float = 0.0
        for m, own in enumerate(self.group.own):
            times: Floats | float = 1.0
            for at, rank in enumerate(self.ranks):
                use = ALL if rank in own else self._uses.members[m][at]
                times = times * self._number(at, use, ())
            total = total + times
        return self._full(total)

    def layers(self) -> list[Floats]:
        """Return least energy, cycles, and more cycles where sums stay, float64[m, cells]."""
        pairs = [self._layer(m) for m in range(self._members)]
        return [rows_of(part, self.shape) for part in zip(*pairs, strict=True)]

    def _layer(self, m: int) -> tuple[Floats, Floats, Floats]:
        own = [at for at, rank in enumerate(self.ranks) if rank in self.group.own[m]]
        table = self.facts.costs(m, tuple(self.ranks[at] for at in own))
        shape = [3, *(size if at in own else 1 for at, size in enumerate(self.shape))]
        times: Floats | float = 1.0
        sizes = self.facts.group.ranks.sizes
        for at, rank in enumerate(self.ranks):
            # a last tile that covers less is a part of one
            part = sizes[rank] / self._tiles[at] if at in own else None
            use, own_ranks = self._uses.members[m][at], self.group.own[m]
            times = times * (self._number(at, use, own_ranks) if part is None else part)
        energy, cycles, added = table.reshape(shape) * times
        own, masked = self.group.own[m], self._masked
        energy = energy * self._seen(own)
        if masked is not None and {masked.queries, masked.keys} <= own:
            rounds = self._spread_pair(masked, self.facts.seen_shares(masked).rounds)
            cycles, added = cycles * rounds, added * rounds
        # tiles that add to sums read all of them
        later = self._later_words(m) * self.facts.later_sums_pj(m)
        parts: Floats | float = 1.0
        for at in self.walk.reducing(m):
            whole = sizes[self.ranks[at]] / self._tiles[at]
            across = self._tiles_across(at, self.group.own[m])
            parts = parts * np.maximum(np.minimum(whole, across), 1.0)
        more = (added - cycles) * (1.0 - 1.0 / parts)
        return energy * self.facts.times(self.group.own[m]) + later, cycles, more

    def _later_words(self, m: int) -> Floats | float:
        """Words of partial sums that later parts of a member's sums add to."""
        reduced = self.walk.reducing(m)
        if not reduced:
            return 0.0
        made = self.group.operands[self.group.made[m]]
        words: Floats | float = made.words * self._seen(made.ranks)
        for at, rank in enumerate(self.ranks):
            if rank not in self.group.own[m]:
                use = self._uses.members[m][at]
                words = words * self._number(at, use, self.group.own[m])
        sums = words
        for at in reduced:
            sums = sums * self._tiles_across(at, self.group.own[m])
        return (sums - words) * self.facts.times(self.group.own[m])

    def rescaled(self) -> Floats:
        """Energy of partial sums that are read and written since they are rescaled."""
        energy: Floats | float = 0.0
        for m in range(self._members):
            if self.walk.online(m):
                energy = energy + self._later_words(m) * self.facts.rescale_pj
        return self._full(energy)

    def choices(self, t: int) -> list[OperandChoice]:
        """Return the depths of an operand, the one that moves least first."""
        operand, group = self.group.operands[t], self.group
        if operand.kind == "made" and operand.readers:
            return [self._choice(t, self._made[t])]
        some = depths(group, self.ranks, t)
        if operand.kind == "made":
            over = [
                at for at, rank in enumerate(self.ranks) if rank in group.reduced[operand.maker]
            ]
            if self.walk.online(operand.maker):
                some = tuple(depth for depth in some if depth <= min(over))
        users = (operand.maker,) if operand.kind == "made" else operand.readers
        array = group.layers[users[0]].uses_macs
        alone = len(users) == 1 and (array or operand.kind == "weights")
        if not self.facts.keeps_weights and any(t in second for second in group.weights):
            return [self._choice(t, STREAMED)]
        found = [self._choice(t, depth) for depth in some]
        if (alone and not self.walk.online(users[0])) or (operand.kind != "made" and alone):
            found.append(self._choice(t, STREAMED))
        return found

    def _choice(self, t: int, depth: int) -> OperandChoice:
        operand, facts = self.group.operands[t], self.facts
        until = len(self.ranks) if depth == STREAMED else depth
        across = [at for at, rank in enumerate(self.ranks) if rank not in operand.ranks]
        if operand.kind == "made":
            energy, words = self._left(t, until)
        else:
            again: Floats | float = 1.0
            if not any(self._over_queries(at) for at in range(until)):
                again = self._own_keys(operand.ranks)
            for at in across:
                if at < until:
                    again = again * self._number(at, self._uses.operands[t][at], operand.ranks)
            every = operand.words * again * self._seen(operand.ranks)
            energy, words = every * facts.price_pj(operand), every * facts.sent(operand)
        held: Floats | float = 0.0
        steps = range(0)
        if depth != STREAMED:
            stays = self.walk.lasts(t, depth)
            held = self._words(t, depth if stays else len(self.ranks))
            end = self._members - 1 if operand.exported else max(operand.readers, default=0)
            begin = operand.maker if operand.kind == "made" else 0
            steps = range(self._members) if stays else range(begin, end + 1)
        return OperandChoice(depth, energy, words, held, steps, self._piece(t, depth, words))

    def _piece(self, t: int, depth: int, words: Floats | float) -> Floats | float:
        """Words of an operand that come or leave at once; 0 of what does only once, or streams."""
        if depth == STREAMED:
            return 0.0
        piece = self._words(t, len(self.ranks))
        once = piece * self.facts.sent(self.group.operands[t])
        return np.where(np.asarray(words) > once, piece, 0.0)

    def _left(self, t: int, until: int) -> tuple[Floats | float, Floats | float]:
        """Energy and words of a result that leaves, partial sums with it."""
        operand = self.group.operands[t]
        if not operand.exported:
            return 0.0, 0.0
        spilled: Floats | float = 1.0
        for at in self.walk.reducing(operand.maker):
            if at < until:
                spilled = spilled * self._tiles_across(at, operand.ranks)
        every = operand.words * self.facts.times(operand.ranks)
        out, back = every * spilled, every * (spilled - 1.0)
        return out * self.facts.store_pj + back * self.facts.fetch_pj, out + back

    def _words(self, t: int, depth: int) -> Floats | float:
        """Words of an operand of which loops up to a depth cut a tile."""
        operand, sizes = self.group.operands[t], self.group.ranks.sizes
        words: Floats | float = float(operand.words)
        for at, rank in enumerate(self.ranks[:depth]):
            if rank in operand.ranks:
                words = words / sizes[rank] * self._tiles[at]
        return words


def kept_results(facts: NestFacts, ranks: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return depths of what each member makes, for loops over some ranks: results that others read
    stay until all have read them; besides, each that may be made again rather than stay.

    Results that nobody in the group reads have the depth 0 here.
    """
    group = facts.around(ranks)
    looped = {rank: at for at, rank in enumerate(ranks)}
    base, others = [0] * len(group.layers), []
    for m in range(len(group.layers)):
        operand = group.operands[group.made[m]]
        if not operand.readers:
            continue
        sums = [looped[rank] for rank in group.reduced[m] if rank in looped]
        most = min(sums, default=len(ranks))
        some = [d for d in depths(group, ranks, group.made[m]) if d <= most]
        if not some:
            return []
        stay = [d for d in some if not _made_again(group.own[m], ranks, d)]
        base[m] = stay[-1] if stay else some[0]
        others += [(m, d) for d in some if d > base[m]]
    found = [tuple(base)]
    found += [tuple(d if k == m else old for k, old in enumerate(base)) for m, d in others]
    return found


def _made_again(own: frozenset[int], ranks: tuple[int, ...], depth: int) -> bool:
    return any(rank not in own for rank in ranks[:depth])
