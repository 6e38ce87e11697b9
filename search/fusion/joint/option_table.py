"""Table of all options of a network's edges: estimated or evaluated energy and cycles, as arrays.

Every row is one way to run the group of an edge, or stands for all of them until they are listed.
Rows hold the least that their layers can cost; the ratio of cost to least is learned from evaluated
rows, kind by kind, once for layers that stream and once for those in tiles.
"""

from collections.abc import Sequence
from typing import Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators import Floats, Ints
from archloom.evaluators.fusion import GroupCost, LayerShare
from archloom.evaluators.fusion.buffer import streams

from .option_batch import GroupWay, OptionBatch, RoughOptions
from .tilings import OptionColumns

#: weight of the last observation in the ratio of a kind of layer (exponential smoothing)
_SMOOTHING: Final = 0.5

#: least ratio that is learned (ours): estimates of layers are near bounds
_LEAST: Final = 0.1

#: share by which tilings that are not listed may be better than those that stand for them (ours)
_BETTER: Final = 0.1


_Number = TypeVar("_Number", np.float64, np.int64)


class _GrowingArray(Generic[_Number]):
    """Rows of an array that grows, by an eighth when it is full: the tables of two dozen searches
    are remembered, each with its room, and to copy one is nothing beside filling it."""

    def __init__(self, of: type[_Number], columns: int = 0) -> None:
        self._all: NDArray[_Number] = np.zeros((64, columns) if columns else 64, of)
        #: what was added
        self.now: NDArray[_Number] = self._all[:0]

    def add(self, rows: NDArray[_Number]) -> None:
        """Add rows."""
        known = len(self.now)
        count = known + len(rows)
        if count > len(self._all):
            room = max(count, len(self._all) * 9 // 8)
            grown = np.empty((room, *self._all.shape[1:]), self._all.dtype)
            grown[:known] = self.now
            self._all = grown
        self._all[known:count] = rows
        self.now = self._all[:count]


class _LearnedRatios:
    """Ratio of layers' energy, or cycles, to the least estimate, by column of the table."""

    def __init__(self, columns: int) -> None:
        self._factors = np.ones(columns)
        self._most = np.full(columns, np.inf)
        self._seen = np.zeros(columns, np.bool_)

    def learn(self, columns: NDArray[np.int64], observed: float | Floats) -> None:
        """Smooth observed ratios into those known; the first one counts in full."""
        observed = np.maximum(observed, _LEAST)
        news = np.where(self._seen[columns], _SMOOTHING, 1.0)
        self._factors[columns] = (1 - news) * self._factors[columns] + news * observed
        self._seen[columns] = True

    def learn_most(self, columns: NDArray[np.int64], observed: float | Floats) -> None:
        """Bound unknown ratios by those of layers that DRAM held up anyway."""
        self._most[columns] = np.minimum(self._most[columns], np.maximum(observed, _LEAST))

    def factors(self, optimism: float) -> Floats:
        """Ratios by column; of what was never observed, the mean of what was."""
        known = self._factors[self._seen]
        usual = float(np.exp(np.log(known).mean())) if len(known) else 1.0
        factors = np.where(self._seen, self._factors, np.minimum(usual, self._most))
        # a ratio below 1 holds whatever the optimism
        ratios: Floats = np.where(factors < 1.0, factors, factors ** (1.0 - optimism))
        return ratios


class OptionTable:
    """Rows of options.

    Args:
        columns: of the network's layers.
        leakage_pj: of the chip, in a cycle.
    """

    def __init__(self, columns: OptionColumns, leakage_pj: float) -> None:
        self._columns = columns
        self._leakage_pj = leakage_pj
        # where the layers of each row end; their columns, and least energy and cycles in these
        self._ends, self._layers = _GrowingArray(np.int64), _GrowingArray(np.int64)
        self._least = _GrowingArray(np.float64, 2)
        # energy and cycles of what moves, and wait; whether a row stands for more than its option
        self._moved, self._rough = _GrowingArray(np.float64, 3), _GrowingArray(np.float64)
        self._ratios = _LearnedRatios(columns.count), _LearnedRatios(columns.count)
        self._factors = self._factors_for(0.0)
        self.ways: list[GroupWay | None] = []
        self.evaluated: list[bool] = []
        # energy and cycles of each row, and for which optimism
        self._figures, self._optimism = _GrowingArray(np.float64, 2), -1.0
        #: how often energy and cycles of all rows changed
        self.changes = 0

    def add_rough(self, options: RoughOptions) -> None:
        """Add a row for each group, which has no option of its own."""
        count = len(options.members)
        tiled = (options.members > 1)[options.groups].astype(np.int64)
        keys = options.groups * self._columns.count + self._columns.at(options.layers, tiled)
        places, of = np.unique(keys, return_inverse=True)
        rows, columns = np.divmod(places, self._columns.count)
        least = [np.bincount(of, each) for each in (options.layer_pj, options.layer_cycles)]
        ends = np.searchsorted(rows, np.arange(count), side="right")
        moved = np.stack([options.moved_pj, options.moved_cycles, np.zeros(count)], axis=1)
        self._append([None] * count, ends, columns, np.stack(least, axis=1), moved)
        self._rough.add(np.ones(count))

    def add(self, options: OptionBatch, rough: Sequence[bool]) -> list[int]:
        """Add rows and return their numbers; ``rough`` ones stand for more than their option."""
        first = len(self.ways)
        least = np.stack([options.layer_pj, options.layer_cycles], axis=1)
        self._append(options.ways, options.starts[1:], options.columns, least, options.moved)
        self._rough.add(np.array(rough, np.float64))
        return list(range(first, len(self.ways)))

    def _append(
        self,
        ways: Sequence[GroupWay | None],
        ends: Ints,
        columns: Ints,
        least: Floats,
        moved: Floats,
    ) -> None:
        self._ends.add(ends + len(self._layers.now))
        self._layers.add(columns)
        self._least.add(least)
        self._moved.add(moved)
        self.ways += ways
        self.evaluated += [False] * len(ways)

    def way(self, row: int) -> GroupWay:
        """Return what is evaluated of a row that does not stand for a whole kind of edge."""
        way = self.ways[row]
        assert way is not None, "what is listed has options"
        return way

    def drop(self, row: int) -> None:
        """Mark a row as one that cannot be taken."""
        self._moved.now[row] = np.inf
        if row < len(self._figures.now):
            self._figures.now[row] = np.inf

    def set_moved(self, rows: Sequence[int], moved: Floats) -> bool:
        """Put nearer estimates of what moves, float64[n, 2], in the place of those of some rows;
        whether energy or cycles of any become less."""
        numbers = np.array(rows, np.int64)
        self._moved.now[numbers, :2] = moved
        known = numbers[numbers < len(self._figures.now)]
        if not len(known):
            return False
        now = self._worked_out(known)
        less = bool((now < self._figures.now[known]).any())
        self._figures.now[known] = now
        return less

    def alone(self, row: int) -> None:
        """Mark a row as one that stands for its own option only."""
        self._rough.now[row] = 0.0
        if row < len(self._figures.now):
            self._figures.now[row] = self._worked_out(np.array([row]))[0]

    def settle(self, row: int, cost: GroupCost) -> None:
        """Put a cost in the place of an estimate, and learn from it."""
        group = self.way(row).group
        layers = self._layers_of(row)
        columns, (least_pj, least_cycles) = self._layers.now[layers], self._least.now[layers].T
        members = np.searchsorted(columns, self._columns.of(group))
        # what is spent besides on DRAM, by how much each layer takes on the chip
        taken = np.array([_on_chip(share) for share in cost.layers])
        taken *= (cost.dynamic_pj - self._moved.now[row, 0]) / taken.sum()
        energy, cycles = self._ratios
        energy.learn(columns, np.bincount(members, taken) / least_pj)
        busy = np.bincount(members, [share.latency_cycles for share in cost.layers])
        # mappings of a layer that DRAM holds up have no need of fewer cycles
        free = cost.wait_cycles > 0 and streams(group)
        (cycles.learn_most if free else cycles.learn)(columns, busy / least_cycles)
        self._least.now[layers] = 0.0
        self._moved.now[row] = cost.dynamic_pj, cost.latency_cycles, 0.0
        self.evaluated[row] = True
        self._optimism = -1.0

    def figures(self, optimism: float) -> Floats:
        """Return float64[rows, 2], energy with leakage and cycles.

        ``optimism`` is 0 for the learned ratios of layers, 1 for the least that they can cost; what
        a rough row stands for may then be better than the row by a tenth.
        """
        if optimism != self._optimism:
            self._optimism = optimism
            self._factors = self._factors_for(optimism)
            self._figures = _GrowingArray(np.float64, 2)
            self.changes += 1
        known = len(self._figures.now)
        if known < len(self.ways):
            self._figures.add(self._worked_out(np.arange(known, len(self.ways))))
        figures: Floats = self._figures.now
        return figures

    def evaluated_figures(self) -> Floats:
        """Return float64[rows, 2], energy with leakage and cycles of rows that were evaluated,
        infinite of others; nothing is estimated, and no row stands for more than its option."""
        found = np.full((len(self.ways), 2), np.inf)
        rows = np.flatnonzero(self.evaluated)
        moved_pj, cycles, _ = self._moved.now[rows].T
        leaked = self._leakage_pj * cycles if self._leakage_pj else 0.0
        found[rows] = np.stack([moved_pj + leaked, np.maximum(cycles, 1.0)], axis=1)
        return found

    def is_less(self, rows: slice, than: int) -> bool:
        """Whether some rows take less energy or cycles than another one, as :meth:`figures` are
        now; they will change anyway once they are asked for after a cost was learned."""
        if self._optimism < 0:
            return False
        figures = self.figures(self._optimism)
        return bool((figures[rows] < figures[than]).any())

    def _factors_for(self, optimism: float) -> Floats:
        """float64[columns, 2], ratios of energy and cycles."""
        return np.stack([ratios.factors(optimism) for ratios in self._ratios], axis=1)

    def _layers_of(self, row: int) -> slice:
        """Where the layers of a row stand."""
        begin = int(self._ends.now[row - 1]) if row else 0
        return slice(begin, int(self._ends.now[row]))

    def _worked_out(self, rows: Ints) -> Floats:
        """float64[n, 2], :meth:`figures` of n rows."""
        ends = self._ends.now
        begins = np.where(rows > 0, ends[rows - 1], 0)
        counts = ends[rows] - begins
        starts = np.cumsum(counts) - counts
        layers = np.repeat(begins - starts, counts) + np.arange(counts.sum())
        likely = self._least.now[layers] * self._factors.take(self._layers.now[layers], axis=0)
        energy, busy = np.add.reduceat(likely, starts).T
        moved_pj, moved_cycles, late = self._moved.now[rows].T
        latency = np.maximum(busy, moved_cycles) + late
        better = 1.0 - _BETTER * self._optimism * self._rough.now[rows]
        # a chip without leakage has none however long what cannot run takes
        leaked = self._leakage_pj * latency if self._leakage_pj else 0.0
        total = energy + moved_pj + leaked
        return np.stack([total * better, np.maximum(latency, 1.0) * better], axis=1)


def _on_chip(share: LayerShare) -> float:
    """Energy of a layer's tiles without DRAM and without leakage."""
    return sum(
        n * (cost.dynamic_pj - float(cost.energy_pj[-1].sum())) for n, cost in share.evaluations
    )
