"""What tilings of groups add up, before anything is known of the design that they run on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators import Floats, Ints, access_costs
from archloom.evaluators.bounds import HALF_GRAIN_PJ
from archloom.evaluators.jit import compiled
from archloom.space.hardware import Hardware
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS


class MovedPrices(NamedTuple):
    """What a design asks for words between DRAM and its buffer.

    Attributes:
        fetch_pj: a word that comes to the buffer.
        fill_pj: of that, writing it there.
        store_pj: a word that leaves.
        weight_pj: a word of weights that passes the buffer by.
        rate: words in a cycle.
        rounded_pj: what rounding takes off the energy of a tile at the most.
    """

    fetch_pj: float
    fill_pj: float
    store_pj: float
    weight_pj: float
    rate: float
    rounded_pj: float

    def moved_pj(self, words: Ints) -> Floats:
        """Return float64[B], energy (pJ) of words as of :class:`TilingSums`."""
        fetched, stored, streamed = words
        moved: Floats = fetched * self.fetch_pj + stored * self.store_pj
        moved += streamed * self.weight_pj
        return moved


def moved_prices(hardware: Hardware, buffered: bool = True) -> MovedPrices:
    """Return the prices of a design, with a shared buffer or without."""
    costs, dram = access_costs(hardware), hardware.levels[-1]
    fill_pj = 0.0
    if buffered:
        fill_pj = float(costs.write_pj[-2, INPUTS]) / hardware.levels[-2].width_words
    return MovedPrices(
        fetch_pj=float(costs.read_pj[-1, INPUTS]) / dram.width_words + fill_pj,
        fill_pj=fill_pj,
        store_pj=float(costs.write_pj[-1, OUTPUTS]) / dram.width_words,
        weight_pj=float(costs.read_pj[-1, WEIGHTS]) / dram.width_words,
        rate=dram.bandwidth_words,
        rounded_pj=(3 * len(hardware.levels) + 1) * HALF_GRAIN_PJ,
    )


@dataclass(frozen=True, eq=False)
class TilingSums:
    """B tilings, with n sizes in which layers run.

    Attributes:
        starts: int64[B + 1], where the sizes of each tiling begin.
        places: int64[n], twice the number of each size, plus 1 where weights are resident.
        times: int64[n], tiles of that size, of all images.
        rounded: float64[B], energies that are rounded.
        words: int64[3, B], that come to the buffer, that leave it, and weights that pass it by.
        waiting: int64[B], of them maps that come and leave while no tile runs, as the buffer has no
            room for them before and after.
    """

    starts: Ints
    places: Ints
    times: Ints
    rounded: Floats
    words: Ints
    waiting: Ints

    def totals(self, costs: Floats, prices: MovedPrices) -> Floats:
        """Return float64[2, B], energy (pJ, without leakage) and cycles of each tiling. Of waiting
        times only those for :attr:`waiting` count.

        Args:
            costs: float64[2, n], energy inside the buffer (pJ) and cycles of one tile of each size.
            prices: of the design.
        """
        return self._with_moved(
            np.add.reduceat(costs * self.times, self.starts[:-1], axis=1), prices
        )

    def totals_of(self, costs: Floats, prices: MovedPrices) -> Floats:
        """Return :meth:`totals` with ``costs[2, places]`` of every size by its place."""
        table = np.ascontiguousarray(costs.T)
        return self._with_moved(_added(self.starts, self.places, self.times, table), prices)

    def _with_moved(self, inside: Floats, prices: MovedPrices) -> Floats:
        """Return energy and cycles from those inside the buffer."""
        moved_pj = prices.moved_pj(self.words) - self.rounded * prices.rounded_pj
        energy, busy = inside
        waiting = self.waiting_cycles(prices)
        meanwhile = self.words.sum(axis=0) / prices.rate - waiting
        return np.stack([energy + moved_pj, np.maximum(busy, meanwhile) + waiting])

    def waiting_cycles(self, prices: MovedPrices) -> Floats:
        """Return float64[B], cycles in which maps move and no tile runs."""
        cycles: Floats = self.waiting / prices.rate
        return cycles


@compiled
def _added(starts: Ints, places: Ints, times: Ints, costs: Floats) -> Floats:
    """Return float64[2, B], sums of ``costs[place, 2]`` over the sizes of each tiling."""
    found = np.empty((2, len(starts) - 1))
    for n in range(len(starts) - 1):
        energy = cycles = 0.0
        for i in range(starts[n], starts[n + 1]):
            energy += costs[places[i], 0] * times[i]
            cycles += costs[places[i], 1] * times[i]
        found[0, n], found[1, n] = energy, cycles
    return found


def joined_sums(parts: Sequence[TilingSums]) -> TilingSums:
    """Return several tilings, one part after another; there is at least one part."""
    counts = np.concatenate([np.diff(part.starts) for part in parts])
    return TilingSums(
        np.concatenate([[0], np.cumsum(counts)]),
        np.concatenate([part.places for part in parts]),
        np.concatenate([part.times for part in parts]),
        np.concatenate([part.rounded for part in parts]),
        np.concatenate([part.words for part in parts], axis=1),
        np.concatenate([part.waiting for part in parts]),
    )


#: no tiling
NO_TILINGS: Final = TilingSums(
    np.zeros(1, np.int64),
    np.zeros(0, np.int64),
    np.zeros(0, np.int64),
    np.zeros(0),
    np.zeros((3, 0), np.int64),
    np.zeros(0, np.int64),
)
