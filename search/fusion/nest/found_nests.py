"""Nests of the least estimates that were found around a group, with all orders of loops."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from archloom.evaluators import Floats
from archloom.space.fusion import LoopNest, NestLoop

from .estimates import GoodNests, LoopArrays, good_nests, stay_prices, which_fit
from .facts import NestFacts

#: nests that are of interest, at least (ours): several times as many as are placed in the buffer
_WANTED: Final = 32

#: orders of loops whose best nest is known whatever the others are (ours)
_ORDERS: Final = 2


@dataclass(frozen=True)
class FoundNest:
    """A nest with its estimates, as of ``NestChoice``; ``edp`` in pJ and cycles."""

    edp: float
    nest: LoopNest
    layer_pj: Floats
    layer_cycles: Floats
    moved_pj: float
    moved_cycles: float

    def least_edp(self, facts: NestFacts) -> float:
        """Return energy x latency where no layer waits for what moves."""
        latency = max(float(self.layer_cycles.sum()), self.moved_cycles)
        energy = float(self.layer_pj.sum()) + self.moved_pj + facts.leakage_pj * latency
        return energy * latency


class FoundNests:
    """Nests around a group; those that are worse than enough others are left out.

    Args:
        facts: of the group.
    """

    def __init__(self, facts: NestFacts) -> None:
        self._facts = facts
        self._prices = stay_prices(facts)
        self._arrays = LoopArrays(facts)
        self._rows: dict[tuple[int, ...], GoodNests] = {}
        self._edp = np.zeros(0)
        #: energy x latency of the best nest of each order of loops
        self.orders: dict[tuple[int, ...], float] = {}

    def look_at(self, orders: Collection[tuple[int, ...]]) -> None:
        """Look for nests with loops over some ranks each, outermost first."""
        fit = set[tuple[int, ...]]()
        for some, group, sizes, words, places in self._arrays.alike(orders):
            fits = which_fit(group, sizes, words, places, self._prices.capacity)
            fit.update(ranks for ranks, may in zip(some, fits.tolist(), strict=True) if may)
        for ranks in orders:
            self.orders[ranks] = self._found(ranks) if ranks in fit else np.inf

    def _found(self, ranks: tuple[int, ...]) -> float:
        """Add the nests of one order of loops that are of interest; return the least estimate."""
        rows = good_nests(*self._arrays.of(ranks), self._prices, self._limit)
        some = rows.edp[rows.cell >= 0]
        if not len(some):
            return np.inf
        self._rows[ranks] = rows
        self._edp = np.sort(np.concatenate([self._edp, some]))
        return float(some.min())

    @property
    def _limit(self) -> float:
        """Energy x latency from which on nests are of no interest."""
        if len(self._edp) < _WANTED or len(self.orders) < _ORDERS:
            return np.inf
        return max(float(self._edp[_WANTED - 1]), sorted(self.orders.values())[_ORDERS - 1])

    def __len__(self) -> int:
        return len(self._edp)

    def edp(self, place: int) -> float:
        """Return energy x latency of a nest, of which the best one has place 0."""
        return float(self._edp[place])

    def best(self) -> Iterator[FoundNest]:
        """Yield nests, that of the least estimate first, each once."""
        orders = list(self._rows.items())
        if not orders:
            return
        cells = np.concatenate([rows.cell for _, rows in orders])
        edp = np.where(cells >= 0, np.concatenate([rows.edp for _, rows in orders]), np.inf)
        ends = np.cumsum([len(rows.cell) for _, rows in orders])
        seen = set[LoopNest]()
        for place in np.argsort(edp, kind="stable").tolist():
            if edp[place] == np.inf:
                return
            at = int(np.searchsorted(ends, place, side="right"))
            ranks, rows = orders[at]
            found = self._nest(ranks, rows, place - int(ends[at]) + len(rows.cell))
            if found.nest not in seen:
                seen.add(found.nest)
                yield found

    def _nest(self, ranks: tuple[int, ...], rows: GoodNests, row: int) -> FoundNest:
        facts = self._facts
        places = np.unravel_index(rows.cell[row], [len(facts.tiles[rank]) for rank in ranks])
        tiles = [int(facts.tiles[rank][k]) for rank, k in zip(ranks, places, strict=True)]
        loops = tuple(NestLoop(*pair) for pair in zip(ranks, tiles, strict=True))
        depth: list[int] = rows.depth[row].tolist()
        dealt = facts.dealt is not None
        # a mask drops tiles on cores that take turns
        in_turn = dealt and facts.masked(ranks) is not None
        return FoundNest(
            float(rows.edp[row]),
            LoopNest(loops, tuple(depth), facts.split, dealt, in_turn=in_turn),
            rows.layer_pj[row],
            rows.layer_cycles[row],
            float(rows.moved_pj[row]),
            float(rows.moved_cycles[row]),
        )
