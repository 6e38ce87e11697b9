"""All nests of up to two loops around a group that may be better than what is known, with bounds.

What a nest costs at the least is bounded twice. First for all sizes of tiles and all stays of
operands at once, operand by operand: what is chosen, and what the rest takes at the least. Then
iteration by iteration (``fits.py``), as its cost has it, with layers at the least that any mapping
takes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations, product
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators import Floats, Ints
from archloom.evaluators.bounds import HALF_GRAIN_PJ
from archloom.evaluators.fusion.nest import NestGroup, depths, nest_faults
from archloom.space.fusion import STREAMED, LoopNest, NestLoop

from .estimates import LoopArrays, LoopTable, loop_table
from .facts import NestFacts
from .fits import StaysOfCell

#: loops of which all orders, sizes and stays are looked at
MOST_LOOPS: Final = 2

#: stays of one order of loops that are told apart, at the most; and ways in which results of
#: members stay for others (ours): small groups have fewer
_MOST_STAYS: Final = 2**16
_MOST_RESULTS: Final = 64


Bools: TypeAlias = NDArray[np.bool_]


class NestLimit(NamedTuple):
    """What nests must be below to matter.

    Attributes:
        product: energy x latency of the best plan, in pJ and cycles.
        energy_pj, cycles: what the rest of any plan takes at the least, leakage included.
    """

    product: float
    energy_pj: float
    cycles: float

    def admits(self, energy_pj: Floats, cycles: Floats) -> Bools:
        """Return bool[...], whether a plan with such a group may be better than the best."""
        may: Bools = (energy_pj + self.energy_pj) * (cycles + self.cycles) < self.product
        return may


class BoundedNests(NamedTuple):
    """Nests that may be better.

    Attributes:
        nests: around the group.
        energy_pj, cycles: float64[n], what each takes at the least, leakage included.
    """

    nests: list[LoopNest]
    energy_pj: Floats
    cycles: Floats


def nests_below(facts: NestFacts, limit: NestLimit) -> BoundedNests | None:
    """Return all nests of up to :data:`MOST_LOOPS` loops over the sizes of tiles of ``facts`` that
    may be below a limit; None if that are too many to tell."""
    nests, figures, arrays = list[LoopNest](), [np.zeros((2, 0))], LoopArrays(facts)
    for count in range(1, MOST_LOOPS + 1):
        for ranks in permutations(facts.ranks, count):
            ways = kept_results(facts, ranks)
            if len(ways) > _MOST_RESULTS:
                return None
            for made in ways:
                found = _of_loops(facts, _Figures.of(arrays, facts, ranks, made), limit)
                if found is None:
                    return None
                for some, costs in found:
                    nests += some
                    figures.append(costs)
    energy, cycles = np.concatenate(figures, axis=1)
    return BoundedNests(nests, energy, cycles)


def kept_results(facts: NestFacts, ranks: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return all depths of what members make for others, 0 for what no other reads."""
    group = facts.around(ranks)
    looped = {rank: at for at, rank in enumerate(ranks)}
    options = list[list[int]]()
    for m, t in enumerate(group.made):
        if not group.operands[t].readers:
            options.append([0])
            continue
        most = min((looped[r] for r in group.reduced[m] if r in looped), default=len(ranks))
        options.append([depth for depth in depths(group, ranks, t) if depth <= most])
    return list(product(*options))


def _of_loops(
    facts: NestFacts, figures: "_Figures", limit: NestLimit
) -> list[tuple[list[LoopNest], Floats]] | None:
    """Return the nests with loops over some ranks, and their energy and cycles."""
    options, group = figures.table.options, figures.group
    cycles = options.layer_cycles
    base_pj = options.base_pj - _rounding(facts, figures.table.runs)
    busy = cycles.sum(axis=0)
    if not limit.admits(base_pj + facts.leakage_pj * busy, busy).any():
        return []
    plain = tuple(figures.table.depth[options.begin[:-1]].tolist())
    loops = tuple(NestLoop(rank, int(facts.tiles[rank][0])) for rank in figures.ranks)
    if any(nest_faults(group, LoopNest(loops, plain))):
        return []
    stays = _Stays(facts, figures, limit)
    found = stays.below(base_pj, cycles)
    if found is None:
        return None
    return list(_exactly(facts, figures, found, cycles, limit))


@dataclass(frozen=True)
class _Figures:
    """What nests with the same loops take, for all sizes of tiles.

    Attributes:
        group: as the loops see it.
        ranks: of the loops, outermost first.
        shape: how many sizes of tiles there are of each.
        table: of all of them.
    """

    group: NestGroup
    ranks: tuple[int, ...]
    shape: tuple[int, ...]
    table: LoopTable

    @staticmethod
    def of(
        arrays: LoopArrays, facts: NestFacts, ranks: tuple[int, ...], made: tuple[int, ...]
    ) -> "_Figures":
        """Return the figures of loops, given the depth of what each member makes."""
        table = loop_table(*arrays.of(ranks), np.array(made, np.int64))
        shape = tuple(len(facts.tiles[rank]) for rank in ranks)
        return _Figures(facts.around(ranks), ranks, shape, table)

    def user(self, t: int) -> int:
        """Return the member that waits for an operand if it streams."""
        operand = self.group.operands[t]
        return operand.maker if operand.kind == "made" else operand.readers[0]

    def options(self, t: int) -> slice:
        """Return where the options of an operand stand."""
        begin = self.table.options.begin
        return slice(int(begin[t]), int(begin[t + 1]))


def _rounding(facts: NestFacts, runs: Floats) -> Floats:
    """Energy that rounding may take off a cost: of each level and operand, for each tile."""
    entries = 3 * len(facts.hardware.levels) + 1
    rounded: Floats = (runs + 2.0) * entries * HALF_GRAIN_PJ
    return rounded


class _Chosen(NamedTuple):
    """Stays of the first operands, n of them.

    Attributes:
        cells: int64[n], the size of tiles.
        options: int64[n, t], of each operand.
        energy_pj, words: float64[n], of what moves, and what there is besides.
        used, passing: float64[n, m], words in use while a member runs, and that stream to it.
    """

    cells: Ints
    options: Ints
    energy_pj: Floats
    words: Floats
    used: Floats
    passing: Floats

    def some(self, which: Bools) -> "_Chosen":
        return _Chosen(
            self.cells[which],
            self.options[which],
            self.energy_pj[which],
            self.words[which],
            self.used[which],
            self.passing[which],
        )


def _joined(parts: list[_Chosen]) -> _Chosen:
    return _Chosen(
        np.concatenate([part.cells for part in parts]),
        np.concatenate([part.options for part in parts]),
        np.concatenate([part.energy_pj for part in parts]),
        np.concatenate([part.words for part in parts]),
        np.concatenate([part.used for part in parts]),
        np.concatenate([part.passing for part in parts]),
    )


class _Stays:
    """Stays of the operands of nests with the same loops, and what they take at the least."""

    def __init__(self, facts: NestFacts, figures: _Figures, limit: NestLimit) -> None:
        self._facts, self._figures, self._limit = facts, figures, limit
        options, places = figures.table.options, range(len(figures.group.operands))
        self._depths = [figures.table.depth[figures.options(t)].tolist() for t in places]
        #: float64[o, cells] for each operand
        self._energy, self._words, self._held = (
            [part[figures.options(t)] for t in places]
            for part in (options.energy, options.words, options.held)
        )

    def below(self, base_pj: Floats, cycles: Floats) -> _Chosen | None:
        """Return all that may be below the limit; None if they are too many.

        Args:
            base_pj: float64[cells], energy whatever is chosen.
            cycles: float64[m, cells], least cycles of each member.
        """
        operands, (members, cells) = len(self._depths), cycles.shape
        rest_pj, rest_words = (
            np.cumsum([some.min(axis=0) for some in reversed(part)], axis=0)[::-1]
            for part in (self._energy, self._words)
        )
        none = np.zeros(cells)
        now = _Chosen(
            np.arange(cells),
            np.zeros((cells, operands), np.int64),
            base_pj,
            none,
            np.zeros((cells, members)),
            np.zeros((cells, members)),
        )
        for t in range(operands):
            after = (rest[t + 1] if t + 1 < operands else none for rest in (rest_pj, rest_words))
            left_pj, left_words = after
            grown = [self._with(now, t, option) for option in range(len(self._depths[t]))]
            now = _joined([x.some(self._may_be(x, cycles, left_pj, left_words)) for x in grown])
            if len(now.cells) > _MOST_STAYS:
                return None
        return now

    def _with(self, now: _Chosen, t: int, option: int) -> _Chosen:
        """Return choices with an option of the next operand."""
        depth, cells = self._depths[t][option], now.cells
        options = now.options.copy()
        options[:, t] = option
        used, passing = now.used, now.passing
        if depth == STREAMED:
            passing = passing.copy()
            passing[:, self._figures.user(t)] += self._words[t][option, cells]
        else:
            used = used + self._held[t][option, cells][:, None] * self._there(t, option)
        energy = now.energy_pj + self._energy[t][option, cells]
        return _Chosen(
            cells, options, energy, now.words + self._words[t][option, cells], used, passing
        )

    def _there(self, t: int, option: int) -> Floats:
        """float64[m], 1 where an operand surely lies in the buffer while a member runs."""
        table = self._figures.table
        there: Floats = table.surely[table.options.begin[t] + option].astype(np.float64)
        return there

    def _may_be(self, now: _Chosen, cycles: Floats, left_pj: Floats, left_words: Floats) -> Bools:
        """bool[n], whether choices fit and may be below the limit."""
        facts, cells = self._facts, now.cells
        fits = now.used.max(axis=1) <= facts.capacity
        busy = np.maximum(cycles.T[cells], now.passing / facts.rate).sum(axis=1)
        latency = np.maximum(busy, (now.words + left_words[cells]) / facts.rate)
        energy = now.energy_pj + left_pj[cells] + facts.leakage_pj * latency
        may: Bools = fits & self._limit.admits(energy, latency)
        return may


def _exactly(
    facts: NestFacts,
    figures: _Figures,
    found: _Chosen,
    cycles: Floats,
    limit: NestLimit,
) -> Iterator[tuple[list[LoopNest], Floats]]:
    """Yield the nests of each size of tiles as they fit the buffer, and what they take at least."""
    ranks, operands = figures.ranks, range(len(figures.group.operands))
    depth = [figures.table.depth[figures.options(t)].tolist() for t in operands]
    for cell in np.unique(found.cells).tolist():
        at = np.unravel_index(cell, figures.shape)
        tiles = [int(facts.tiles[rank][k]) for rank, k in zip(ranks, at, strict=True)]
        loops = tuple(NestLoop(*pair) for pair in zip(ranks, tiles, strict=True))
        some = found.some(found.cells == cell)
        stays = StaysOfCell(facts, figures.group, loops, depth, figures.user)
        latency = stays.cycles(some.options, cycles[:, cell])
        energy = some.energy_pj + facts.leakage_pj * np.where(np.isfinite(latency), latency, 0.0)
        kept = np.flatnonzero(limit.admits(energy, latency))
        nests = [
            LoopNest(
                loops,
                tuple(depth[t][k] for t, k in enumerate(some.options[n].tolist())),
                facts.split,
            )
            for n in kept.tolist()
        ]
        yield nests, np.stack([energy, latency])[:, kept]
