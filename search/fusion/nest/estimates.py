"""Estimated energy and latency of nests with the same loops, for all sizes of tiles at once.

For each size of tiles it is decided which operands stay: at first all that gain by it; while that
is too much for the buffer, the one goes (or streams) that frees most words for each word that then
moves besides.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from archloom.evaluators import Floats, Ints
from archloom.evaluators.fusion.nest import ALL, BOTH, NestWalk, depths
from archloom.space.fusion import STREAMED, LoopNest, NestLoop

from .facts import NestFacts
from .placement import OperandChoice, Placement, rows_of
from .stays import StayOptions, StayPrices, best_stays

#: share of the buffer that is left for what streams, so that mappings have a choice (ours)
FOR_STREAMS: Final = 1 / 128


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


def estimated(
    facts: NestFacts, ranks: tuple[int, ...], made: tuple[int, ...]
) -> Iterator[Estimate]:
    """Estimate nests with loops over some ranks, outermost first.

    First what comes for one layer alone and stays for no other iteration streams only where the
    buffer has no space for all of it; then it always streams. Nothing if no sizes of tiles fit.

    Args:
        facts: of the group.
        ranks: of the loops.
        made: the depth of what each member makes and others read.
    """
    return _Estimator(facts, ranks, made).results()


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

    def results(self) -> Iterator[Estimate]:
        if self._least_held() > self._facts.capacity:
            return
        choices = [self._choices(t) for t in range(len(self._group.operands))]
        taken = Placement(choices, self._members, self._shape)
        if not taken.may_fit(float(self._facts.capacity)):
            return
        pairs = [self._layer(m) for m in range(self._members)]
        layers = [
            rows_of(part, self._shape).reshape(-1, *self._shape)
            for part in zip(*pairs, strict=True)
        ]
        sums = self._partial_sums()
        yield from self._mixed(choices, layers, sums)
        if not taken.stream():
            return
        taken.shrink(float(self._facts.capacity))
        words = taken.words / self._facts.rate
        yield Estimate(taken.depth, layers[0], layers[1], taken.energy + sums, words, taken.peak)

    def _mixed(
        self, choices: list[list[OperandChoice]], layers: list[Floats], sums: Floats
    ) -> Iterator[Estimate]:
        """Estimate the best stays of all operands together, for each size of tiles."""
        every = [choice for some in choices for choice in some]
        users = [self._user(t) for t, some in enumerate(choices) for _ in some]
        words, energy, held, piece = (
            rows_of([choice[k] for choice in every], self._shape) for k in (2, 1, 3, 5)
        )
        facts, flat = self._facts, (self._members, -1)
        options = StayOptions(
            np.cumsum([0, *map(len, choices)]),
            np.array([[m in c.steps for m in range(self._members)] for c in every], np.uint8),
            np.array([m if c.depth == STREAMED else -1 for m, c in zip(users, every, strict=True)]),
            energy,
            words,
            held,
            piece,
            np.ascontiguousarray(layers[1].reshape(flat)),
            np.ascontiguousarray((layers[0].sum(axis=0) + sums).ravel()),
        )
        capacity = float(facts.capacity)
        prices = StayPrices(
            capacity, capacity * FOR_STREAMS, facts.rate, facts.leakage_pj, 1e-6, np.inf
        )
        edp, found = best_stays(options, prices)
        cells = np.arange(found.shape[1])
        steps = np.einsum("tnm,tn->mn", options.there[found].astype(np.float64), held[found, cells])
        peak = np.where(np.isfinite(edp), steps.max(axis=0), np.inf).reshape(self._shape)
        depth = np.array([choice.depth for choice in every], np.int64)[found]
        yield Estimate(
            depth.reshape(-1, *self._shape),
            layers[0],
            layers[1],
            energy[found, cells].sum(axis=0).reshape(self._shape) + sums,
            words[found, cells].sum(axis=0).reshape(self._shape) / facts.rate,
            peak,
        )

    def _user(self, t: int) -> int:
        operand = self._group.operands[t]
        return operand.maker if operand.kind == "made" else operand.readers[0]

    def _least_held(self) -> float:
        """Words that the smallest tiles take at the fullest step, whatever goes."""
        sizes, group = self._facts.group.ranks.sizes, self._group
        share = {rank: float(self._facts.tiles[rank][-1]) / sizes[rank] for rank in self._ranks}
        steps = [0.0] * self._members
        for t, operand in enumerate(group.operands):
            made, alone = operand.kind == "made", len(operand.readers) == 1
            if not made and alone and group.layers[operand.readers[0]].uses_macs:
                continue  # it may stream
            if made and not operand.readers and group.layers[operand.maker].uses_macs:
                continue
            stays = made and bool(operand.readers)
            depth = self._made[t] if stays else len(self._ranks)
            lasts = stays and self._walk.lasts(t, depth)
            words = float(operand.words)
            for rank in self._ranks[: depth if lasts else len(self._ranks)]:
                words *= share[rank] if rank in operand.ranks else 1.0
            end = self._members - 1 if operand.exported else max(operand.readers, default=0)
            begin = operand.maker if made else 0
            for m in range(self._members) if lasts else range(begin, end + 1):
                steps[m] += words
        return max(steps)

    def _layer(self, m: int) -> tuple[Floats, Floats]:
        own = [at for at, rank in enumerate(self._ranks) if rank in self._group.own[m]]
        table = self._facts.costs(m, tuple(self._ranks[at] for at in own))
        shape = [2, *(size if at in own else 1 for at, size in enumerate(self._shape))]
        times: Floats | float = 1.0
        sizes = self._facts.group.ranks.sizes
        for at, rank in enumerate(self._ranks):
            # a last tile that covers less is a part of one
            part = sizes[rank] / self._tiles[at] if at in own else None
            more = self._number(at, self._uses.members[m][at]) if part is None else part
            times = times * more
        energy, cycles = table.reshape(shape) * times
        return energy * self._facts.times(self._group.own[m]), cycles

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
            again = (sums - words) * self._facts.times(self._group.own[m])
            energy = energy + again * (more * self._facts.again_pj)
        return self._full(energy)

    def _choices(self, t: int) -> list[OperandChoice]:
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
        array = group.layers[users[0]].uses_macs
        alone = len(users) == 1 and (array or operand.kind == "weights")
        if not self._facts.keeps_weights and any(t in second for second in group.weights):
            return [self._choice(t, STREAMED)]
        found = [self._choice(t, depth) for depth in some]
        if (alone and not self._walk.online(users[0])) or (operand.kind != "made" and alone):
            found.append(self._choice(t, STREAMED))
        return found

    def _choice(self, t: int, depth: int) -> OperandChoice:
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
            energy = operand.words * again * facts.price_pj(operand)
            words = operand.words * again * facts.sent(operand)
        held: Floats | float = 0.0
        steps = range(0)
        if depth != STREAMED:
            stays = self._walk.lasts(t, depth)
            held = self._words(t, depth if stays else len(self._ranks))
            end = self._members - 1 if operand.exported else max(operand.readers, default=0)
            begin = operand.maker if operand.kind == "made" else 0
            steps = range(self._members) if stays else range(begin, end + 1)
        return OperandChoice(depth, energy, words, held, steps, self._piece(t, depth, words))

    def _piece(self, t: int, depth: int, words: Floats | float) -> Floats | float:
        """Words of an operand that come or leave at once; 0 of what does only once, or streams."""
        if depth == STREAMED:
            return 0.0
        piece = self._words(t, len(self._ranks))
        once = piece * self._facts.sent(self._group.operands[t])
        return np.where(np.asarray(words) > once, piece, 0.0)

    def _left(self, t: int, until: int) -> tuple[Floats | float, Floats | float]:
        """Energy and words of a result that leaves, partial sums with it."""
        operand = self._group.operands[t]
        if not operand.exported:
            return 0.0, 0.0
        spilled: Floats | float = 1.0
        for at in self._walk.reducing(operand.maker):
            if at < until:
                spilled = spilled * self._counts[at]
        every = operand.words * self._facts.times(operand.ranks)
        out, back = every * spilled, every * (spilled - 1.0)
        return out * self._facts.store_pj + back * self._facts.fetch_pj, out + back

    def _words(self, t: int, depth: int) -> Floats | float:
        """Words of an operand of which loops up to a depth cut a tile."""
        operand, sizes = self._group.operands[t], self._group.ranks.sizes
        words: Floats | float = float(operand.words)
        for at, rank in enumerate(self._ranks[:depth]):
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
