"""Estimated energy and latency of nests with the same loops, for all sizes of tiles at once.

For each size of tiles it is decided which operands stay: at first all that gain by it; while that
is too much for the buffer, the one goes (or streams) that frees most words for each word that then
moves besides.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from archloom.evaluators import Floats, Ints
from archloom.evaluators.fusion.nest import ALL, BOTH, NestWalk, depths
from archloom.space.fusion import STREAMED, LoopNest, NestLoop

from .facts import NestFacts


@dataclass(frozen=True)
class Estimate:
    """Estimates of nests; arrays have an axis for each loop, with the tiles of its rank.

    Attributes:
        depth: int64[t, ...], of each operand.
        layer_pj, layer_cycles: float64[m, ...], least energy and cycles of each member.
        moved_pj: of what moves between DRAM and buffer, and of partial sums.
        moved_cycles: of DRAM.
        peak: words of the buffer in use at the most.
    """

    depth: Ints
    layer_pj: Floats
    layer_cycles: Floats
    moved_pj: Floats
    moved_cycles: Floats
    peak: Floats

    def edp(self, leakage_pj: float) -> Floats:
        """Return energy x latency, in pJ and cycles."""
        latency = np.maximum(self.layer_cycles.sum(axis=0), self.moved_cycles)
        energy = self.layer_pj.sum(axis=0) + self.moved_pj + leakage_pj * latency
        product: Floats = energy * latency
        return product


class _Choice(NamedTuple):
    """One depth of an operand.

    Attributes:
        depth: or :data:`STREAMED`.
        energy, words: of what moves, and words that cross DRAM's pins.
        held: words of the buffer, at each of ``steps``.
        steps: members while which run.
    """

    depth: int
    energy: Floats
    words: Floats
    held: Floats
    steps: range


def estimated(
    facts: NestFacts, ranks: tuple[int, ...], made: tuple[int, ...], stream: bool
) -> Estimate:
    """Estimate nests with loops over some ranks, outermost first.

    Args:
        facts: of the group.
        ranks: of the loops.
        made: the depth of what each member makes and others read.
        stream: whether all streams that comes for one layer alone and stays for no other
            iteration; else it streams where the buffer has no space for all of it.
    """
    return _Estimator(facts, ranks, made).result(stream)


class _Estimator:
    def __init__(self, facts: NestFacts, ranks: tuple[int, ...], made: tuple[int, ...]) -> None:
        self._facts, self._group = facts, facts.around(ranks)
        self._ranks = ranks
        self._members = len(self._group.layers)
        depth = [0] * len(self._group.operands)
        for t, d in zip(self._group.made, made, strict=True):
            depth[t] = d
        self._made = tuple(depth)
        # who runs when follows from loops and from how long results stay, whatever the tiles are
        nest = LoopNest(tuple(NestLoop(rank, 1) for rank in ranks), self._made)
        self._walk = NestWalk(self._group, nest)
        self._uses = self._walk.uses
        self._shape = tuple(len(facts.tiles[rank]) for rank in ranks)
        self._tiles = [self._spread(at, facts.tiles[rank]) for at, rank in enumerate(ranks)]
        sizes = facts.group.ranks.sizes
        self._counts = [
            np.ceil(sizes[rank] / tile) for rank, tile in zip(ranks, self._tiles, strict=True)
        ]

    def _spread(self, at: int, values: Floats | Ints) -> Floats:
        shape = [1] * len(self._ranks)
        shape[at] = -1
        return values.astype(np.float64).reshape(shape)

    def _full(self, values: Floats | float) -> Floats:
        return np.broadcast_to(np.asarray(values, np.float64), self._shape)

    def _number(self, at: int, use: int) -> Floats | float:
        """Iterations of a loop in a use of it."""
        if use == ALL:
            return self._counts[at]
        return 2.0 if use == BOTH else 1.0

    def result(self, stream: bool) -> Estimate:
        choices = [self._choices(t) for t in range(len(self._group.operands))]
        taken = _Placement(choices, self._members, self._shape)
        if stream:
            taken.stream()
        taken.shrink(float(self._facts.capacity))
        pairs = [self._layer(m) for m in range(self._members)]
        return Estimate(
            taken.depth,
            np.stack([self._full(pj) for pj, _ in pairs]),
            np.stack([self._full(cycles) for _, cycles in pairs]),
            taken.energy + self._partial_sums(),
            taken.words / self._facts.rate,
            taken.peak,
        )

    def _layer(self, m: int) -> tuple[Floats, Floats]:
        own = [at for at, rank in enumerate(self._ranks) if rank in self._group.own[m]]
        table = self._facts.costs(m, tuple(self._ranks[at] for at in own))
        shape = [2, *(size if at in own else 1 for at, size in enumerate(self._shape))]
        times: Floats | float = 1.0
        for at in range(len(self._ranks)):
            times = times * self._number(at, self._uses.members[m][at])
        energy, cycles = table.reshape(shape) * times
        return energy, cycles

    def _partial_sums(self) -> Floats:
        """Energy of partial sums that are read again; if rescaled, read and written besides."""
        energy: Floats | float = 0.0
        for m in range(self._members):
            reduced = self._walk.reducing(m)
            if not reduced:
                continue
            words: Floats | float = float(self._group.operands[self._group.made[m]].words)
            for at, rank in enumerate(self._ranks):
                if rank not in self._group.own[m]:
                    words = words * self._number(at, self._uses.members[m][at])
            sums = words
            for at in reduced:
                sums = sums * self._counts[at]
            more = 3.0 if self._walk.online(m) else 1.0
            energy = energy + (sums - words) * (more * self._facts.again_pj)
        return self._full(energy)

    def _choices(self, t: int) -> list[_Choice]:
        """Return the depths of an operand, the one that moves least first."""
        operand, group = self._group.operands[t], self._group
        if operand.kind == "made" and operand.readers:
            return [self._choice(t, self._made[t])]
        some = depths(group, self._ranks, t)
        if operand.kind == "made":
            over = [
                at for at, rank in enumerate(self._ranks) if rank in group.reduced[operand.maker]
            ]
            if self._walk.online(operand.maker):
                some = tuple(depth for depth in some if depth <= min(over))
        users = (operand.maker,) if operand.kind == "made" else operand.readers
        alone = len(users) == 1 and group.layers[users[0]].uses_macs
        if not self._facts.keeps_weights and any(t in second for second in group.weights):
            return [self._choice(t, STREAMED)]
        found = [self._choice(t, depth) for depth in some]
        if (alone and not self._walk.online(users[0])) or (operand.kind != "made" and alone):
            found.append(self._choice(t, STREAMED))
        return found

    def _choice(self, t: int, depth: int) -> _Choice:
        operand, facts = self._group.operands[t], self._facts
        until = len(self._ranks) if depth == STREAMED else depth
        across = [at for at, rank in enumerate(self._ranks) if rank not in operand.ranks]
        if operand.kind == "made":
            energy, words = self._left(t, until)
        else:
            again: Floats | float = 1.0
            for at in across:
                if at < until:
                    again = again * self._number(at, self._uses.operands[t][at])
            words = operand.words * again
            energy = words * (facts.weight_pj if operand.kind == "weights" else facts.fetch_pj)
        held: Floats | float = 0.0
        steps = range(0)
        if depth != STREAMED:
            stays = self._lasts(t, [at for at in across if at >= depth])
            held = self._words(t, depth if stays else len(self._ranks))
            end = self._members - 1 if operand.exported else max(operand.readers, default=0)
            begin = operand.maker if operand.kind == "made" else 0
            steps = range(self._members) if stays else range(begin, end + 1)
        return _Choice(depth, self._full(energy), self._full(words), self._full(held), steps)

    def _left(self, t: int, until: int) -> tuple[Floats | float, Floats | float]:
        """Energy and words of a result that leaves, partial sums with it."""
        operand = self._group.operands[t]
        if not operand.exported:
            return 0.0, 0.0
        spilled: Floats | float = 1.0
        for at in self._walk.reducing(operand.maker):
            if at < until:
                spilled = spilled * self._counts[at]
        out, back = operand.words * spilled, operand.words * (spilled - 1.0)
        return out * self._facts.store_pj + back * self._facts.fetch_pj, out + back

    def _lasts(self, t: int, beyond: Sequence[int]) -> bool:
        """Whether an operand stays from one iteration to another, as :meth:`NestWalk.lasts`."""
        operand = self._group.operands[t]
        if operand.kind != "made":
            return any(self._uses.operands[t][at] in (BOTH, ALL) for at in beyond)
        mine, reduced = self._uses.members[operand.maker], self._walk.reducing(operand.maker)
        return any(
            at in reduced
            or any(self._uses.members[reader][at] != mine[at] for reader in operand.readers)
            for at in beyond
        )

    def _words(self, t: int, depth: int) -> Floats | float:
        """Words of an operand of which loops up to a depth cut a tile."""
        operand, sizes = self._group.operands[t], self._group.ranks.sizes
        words: Floats | float = float(operand.words)
        for at, rank in enumerate(self._ranks[:depth]):
            if rank in operand.ranks:
                words = words / sizes[rank] * self._tiles[at]
        return words


class _Placement:
    """Which depth each operand has, for each size of tiles.

    Args:
        choices: of each operand, the one that stays longest first.
        members: layers of the group.
        shape: of sizes of tiles.
    """

    def __init__(
        self, choices: Sequence[Sequence[_Choice]], members: int, shape: tuple[int, ...]
    ) -> None:
        self._shape = shape
        every = [choice for some in choices for choice in some]
        self._begin = np.cumsum([0, *map(len, choices)])
        self._depth = np.array([choice.depth for choice in every], np.int64)
        self._words, self._held, self._energy = (
            np.stack([figure.ravel() for figure in figures])
            for figures in zip(*((c.words, c.held, c.energy) for c in every), strict=True)
        )
        # float64[options, members], 1 where an option takes words
        self._there = np.array([[m in c.steps for m in range(members)] for c in every], np.float64)
        # the option of each operand in each cell
        self._at = np.repeat(self._begin[:-1, None], self._words.shape[1], axis=1)

    def _sum(self, figures: Floats) -> Floats:
        cells = np.arange(figures.shape[1])
        total: Floats = figures[self._at, cells].sum(axis=0)
        return total.reshape(self._shape)

    @property
    def energy(self) -> Floats:
        """Energy of what moves."""
        return self._sum(self._energy)

    @property
    def words(self) -> Floats:
        """Words that cross DRAM's pins."""
        return self._sum(self._words)

    @property
    def peak(self) -> Floats:
        """Words of the buffer in use at the most."""
        most: Floats = self._steps(np.arange(self._at.shape[1])).max(axis=0)
        return most.reshape(self._shape)

    @property
    def depth(self) -> Ints:
        """int64[t, ...], depths of operands."""
        found: Ints = self._depth[self._at].reshape(-1, *self._shape)
        return found

    def _steps(self, cells: Ints) -> Floats:
        """float64[m, n], words in use while each member runs."""
        at = self._at[:, cells]
        found: Floats = np.einsum("tnm,tn->mn", self._there[at], self._held[at, cells])
        return found

    def stream(self) -> None:
        """Let stream what moves no more words by it."""
        cells = np.arange(self._at.shape[1])
        for t, (begin, end) in enumerate(pairwise(self._begin.tolist())):
            for option in range(begin, end):
                if self._depth[option] == STREAMED:
                    same = self._words[option] <= self._words[self._at[t], cells]
                    self._at[t] = np.where(same, option, self._at[t])

    def shrink(self, capacity: float) -> None:
        """Let operands go until all fits, where that can be."""
        least = self._least()
        cells = np.flatnonzero((self.peak.ravel() > capacity) & (least <= capacity))
        owners = np.repeat(np.arange(len(self._begin) - 1), np.diff(self._begin))
        for _ in range(2 * len(owners)):
            if not len(cells):
                return
            worst = self._steps(cells).argmax(axis=0)
            now = self._at[:, cells][owners]
            held = self._held[:, cells] * self._there[:, worst]
            freed = self._held[now, cells] * self._there[now, worst] - held
            moved = np.maximum(self._words[:, cells] - self._words[now, cells], 0.0)
            # words freed at the fullest step for each word that moves besides
            gain = np.where(freed > 0, freed / (moved + 1.0), 0.0)
            best = gain.argmax(axis=0)
            able = gain[best, np.arange(len(cells))] > 0
            self._at[owners[best[able]], cells[able]] = best[able]
            cells = cells[able]
            cells = cells[self._steps(cells).max(axis=0) > capacity]

    def _least(self) -> Floats:
        """float64[n], words that are in use at the most, whatever goes."""
        total = 0.0
        for begin, end in pairwise(self._begin.tolist()):
            held = self._held[begin:end, None] * self._there[begin:end, :, None]
            total = total + held.min(axis=0)
        most: Floats = np.asarray(total).max(axis=0)
        return most


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
