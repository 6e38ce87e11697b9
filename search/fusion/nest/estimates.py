"""Estimated energy and latency of nests with the same loops, for all sizes of tiles at once."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from archloom.evaluators import Floats
from archloom.evaluators.fusion.nest import ALL, BOTH, NestWalk
from archloom.space.fusion import STREAMED, LoopNest, NestLoop

from .facts import NestFacts


@dataclass(frozen=True)
class Estimate:
    """Estimates of nests; arrays have an axis for each loop, with the tiles of its rank.

    Attributes:
        layer_pj, layer_cycles: float64[m, ...], least energy and cycles of each member.
        moved_pj: of what moves between DRAM and buffer, and of partial sums.
        moved_cycles: of DRAM.
        peak: words of the buffer in use at the most, some more than there are.
    """

    layer_pj: Floats
    layer_cycles: Floats
    moved_pj: Floats
    moved_cycles: Floats
    peak: Floats

    def energy(self, leakage_pj: float) -> Floats:
        """Return energy with leakage."""
        total: Floats = self.layer_pj.sum(axis=0) + self.moved_pj + leakage_pj * self.latency
        return total

    @property
    def latency(self) -> Floats:
        """Cycles."""
        cycles: Floats = np.maximum(self.layer_cycles.sum(axis=0), self.moved_cycles)
        return cycles


def estimated(facts: NestFacts, ranks: tuple[int, ...], depth: tuple[int, ...]) -> Estimate:
    """Estimate nests with loops over some ranks, outermost first, and the depths of operands."""
    return _Estimator(facts, ranks, depth).result()


class _Estimator:
    def __init__(self, facts: NestFacts, ranks: tuple[int, ...], depth: tuple[int, ...]) -> None:
        self._facts, self._group = facts, facts.around(ranks)
        self._ranks, self._depth = ranks, depth
        sizes = facts.group.ranks.sizes
        nest = LoopNest(tuple(NestLoop(rank, 1) for rank in ranks), depth)
        # who runs when follows from loops and depths, whatever the tiles are
        self._walk = NestWalk(self._group, nest)
        self._uses = self._walk.uses
        self._shape = tuple(len(facts.tiles[rank]) for rank in ranks)
        self._tiles = [self._spread(at, facts.tiles[rank]) for at, rank in enumerate(ranks)]
        self._counts = [
            np.ceil(sizes[rank] / tile) for rank, tile in zip(ranks, self._tiles, strict=True)
        ]

    def _spread(self, at: int, values: Floats) -> Floats:
        return values.astype(np.float64).reshape([-1 if at == k else 1 for k in self._places()])

    def _places(self) -> range:
        return range(len(self._ranks))

    def _number(self, at: int, use: int) -> Floats | float:
        """Iterations of a loop in a use of it."""
        if use == ALL:
            return self._counts[at]
        return 2.0 if use == BOTH else 1.0

    def _times(self, use: tuple[int, ...], where: list[int]) -> Floats | float:
        found: Floats | float = 1.0
        for at in where:
            found = found * self._number(at, use[at])
        return found

    def _runs(self, m: int) -> Floats | float:
        """How often a member runs for each of its tiles."""
        across = [at for at in self._places() if self._ranks[at] not in self._group.own[m]]
        return self._times(self._uses.members[m], across)

    def result(self) -> Estimate:
        members = range(len(self._group.layers))
        pairs = [self._layer(m) for m in members]
        moved_pj, words = self._moved()
        return Estimate(
            np.stack([np.broadcast_to(pj, self._shape) for pj, _ in pairs]),
            np.stack([np.broadcast_to(cycles, self._shape) for _, cycles in pairs]),
            np.broadcast_to(moved_pj, self._shape),
            np.broadcast_to(words / self._facts.rate, self._shape),
            np.broadcast_to(self._peak(), self._shape),
        )

    def _layer(self, m: int) -> tuple[Floats, Floats]:
        own = [at for at in self._places() if self._ranks[at] in self._group.own[m]]
        looped = tuple(self._ranks[at] for at in own)
        table = self._facts.costs(m, looped)
        shape = [2, *(self._shape[at] if at in own else 1 for at in self._places())]
        times = self._runs(m)
        for at in own:
            times = times * self._counts[at]
        energy, cycles = table.reshape(shape) * times
        return energy, cycles

    def _moved(self) -> tuple[Floats | float, Floats | float]:
        """Energy of transfers and partial sums, and words that cross DRAM's pins."""
        energy: Floats | float = 0.0
        total: Floats | float = 0.0
        facts = self._facts
        for t, operand in enumerate(self._group.operands):
            depth = len(self._ranks) if self._depth[t] == STREAMED else self._depth[t]
            across = [at for at in self._places() if self._ranks[at] not in operand.ranks]
            if operand.kind != "made":
                again = self._times(self._uses.operands[t], [at for at in across if at < depth])
                words = operand.words * again
                price = facts.weight_pj if operand.kind == "weights" else facts.fetch_pj
                energy, total = energy + words * price, total + words
                continue
            energy = energy + self._partial_sums(operand.maker, operand.words) * facts.again_pj
            if operand.exported:
                spilled: Floats | float = 1.0
                for at in self._walk.reducing(operand.maker):
                    spilled = spilled * (self._counts[at] if at < depth else 1.0)
                out, back = operand.words * spilled, operand.words * (spilled - 1.0)
                energy = energy + out * facts.store_pj + back * facts.fetch_pj
                total = total + out + back
        return energy, total

    def _partial_sums(self, m: int, words: int) -> Floats | float:
        """Words of partial sums that are read again, rescaled ones three times."""
        reduced = self._walk.reducing(m)
        if not reduced:
            return 0.0
        again = words * self._runs(m)
        for at in reduced:
            again = again * self._counts[at]
        return (again - words * self._runs(m)) * (3.0 if self._walk.online(m) else 1.0)

    def _peak(self) -> Floats:
        members = len(self._group.layers)
        peaks: list[Floats | float] = [0.0] * members
        for t, operand in enumerate(self._group.operands):
            if self._depth[t] == STREAMED:
                continue
            made = operand.kind == "made"
            if self._walk.lasts(t):
                steps, words = range(members), self._box(t)
            else:
                end = members - 1 if operand.exported else max(operand.readers)
                steps, words = range(operand.maker if made else 0, end + 1), self._tile(t)
            for m in steps:
                peaks[m] = peaks[m] + words
        found: Floats = np.zeros(self._shape)
        for peak in peaks:
            found = np.maximum(found, peak)
        return found

    def _tile(self, t: int) -> Floats | float:
        return self._words(t, lambda _: True)

    def _box(self, t: int) -> Floats | float:
        return self._words(t, lambda at: at < self._depth[t])

    def _words(self, t: int, cut: Callable[[int], bool]) -> Floats | float:
        operand, sizes = self._group.operands[t], self._group.ranks.sizes
        words: Floats | float = float(operand.words)
        for at, rank in enumerate(self._ranks):
            if rank in operand.ranks and cut(at):
                words = words / sizes[rank] * self._tiles[at]
        return words
