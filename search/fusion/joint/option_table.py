"""Table of all options of a network's edges: estimated or evaluated energy and cycles, as arrays.

Every row is one way to run the group of an edge, or stands for all of them until they are listed.
Rows hold the least that their layers can cost; the ratio of cost to least is learned from evaluated
rows, kind by kind, once for layers that stream and once for those in tiles.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators import Floats, Ints
from archloom.evaluators.fusion import GroupCost, LayerShare
from archloom.evaluators.fusion.buffer import streams
from archloom.space.fusion import FusionGroup, Residents
from archloom.space.workload import Network

from ..group_equivalence import layer_kinds


@dataclass(frozen=True, eq=False)
class RoughOptions:
    """Rough estimates for all tilings of each of K groups.

    Attributes:
        groups, layers: int64[n], group and layer of each member; members of a group follow each
            other.
        members: int64[K], how many each group has.
        layer_pj, layer_cycles: float64[n], least energy and cycles of each member over all tiles.
        moved_pj, moved_cycles: float64[K], as of a :class:`GroupOption`.
    """

    groups: Ints
    layers: Ints
    members: Ints
    layer_pj: Floats
    layer_cycles: Floats
    moved_pj: Floats
    moved_cycles: Floats


@dataclass(frozen=True, eq=False)
class GroupOption:
    """One way to run the group of an edge.

    Attributes:
        group, residents: what is evaluated.
        layer_pj, layer_cycles: float64[m], least energy and cycles of each member over all tiles.
        moved_pj: of what moves between DRAM and buffer for the group.
        moved_cycles: of what moves while layers run.
        late_cycles: in which layers wait: the first tile for weights that stay, all of them for
            maps if there is no space to move these ahead.
    """

    group: FusionGroup
    residents: Residents
    layer_pj: Floats
    layer_cycles: Floats
    moved_pj: float
    moved_cycles: float
    late_cycles: float


def best_options(options: list[GroupOption]) -> list[GroupOption]:
    """Return the options of the least products, and those of the least energy and latency."""

    costs = [(_energy(option), _cycles(option)) for option in options]
    order = sorted(range(len(options)), key=lambda n: costs[n][0] * costs[n][1])[:_MOST_OPTIONS]
    for kind in (0, 1):
        best = min(range(len(options)), key=lambda n: costs[n][kind], default=None)
        if best is not None and best not in order:
            order.append(best)
    return [options[n] for n in order]


def _energy(option: GroupOption) -> float:
    return float(option.layer_pj.sum()) + option.moved_pj


def _cycles(option: GroupOption) -> float:
    return max(float(option.layer_cycles.sum()), option.moved_cycles) + option.late_cycles


#: weight of the last observation in the ratio of a kind of layer (exponential smoothing)
_SMOOTHING = 0.5

#: least ratio that is learned (ours): estimates of layers are near bounds
_LEAST = 0.1

#: share by which tilings that are not listed may be better than those that stand for them (ours)
_BETTER = 0.1


class _GrowingArray:
    """Rows of an array that grows: space is doubled when it is full."""

    def __init__(self, columns: int) -> None:
        self._all = np.zeros((64, columns))
        self._count = 0
        self.now = self._all[:0]

    def add(self, rows: Floats) -> None:
        """Add float64[rows, columns]."""
        count = self._count + len(rows)
        if count > len(self._all):
            grown = np.zeros((max(count, 2 * len(self._all)), self._all.shape[1]))
            grown[: self._count] = self.now
            self._all = grown
        self._all[self._count : count] = rows
        self._count = count
        #: float64[rows, columns]
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
        network: whose layers run.
        leakage_pj: of the chip, in a cycle.
    """

    def __init__(self, network: Network, leakage_pj: float) -> None:
        self._kinds = np.array(layer_kinds(network), np.int64)
        self._columns = 2 * (int(self._kinds.max()) + 1)
        self._leakage_pj = leakage_pj
        # least energy and cycles by kind of layer; energy and cycles of what moves, and wait;
        # whether a row stands for more than its option
        self._layer_pj, self._layer_cycles = (
            _GrowingArray(self._columns),
            _GrowingArray(self._columns),
        )
        self._moved, self._rough = _GrowingArray(3), _GrowingArray(1)
        self._energy, self._cycles = _LearnedRatios(self._columns), _LearnedRatios(self._columns)
        self._ratios = self._energy.factors(0.0), self._cycles.factors(0.0)
        self.options: list[GroupOption | None] = []
        self.evaluated: list[bool] = []
        # energy and cycles of each row, and for which optimism
        self._figures, self._optimism = _GrowingArray(2), -1.0
        #: how often energy and cycles of all rows changed
        self.changes = 0

    def add_rough(self, options: RoughOptions) -> None:
        """Add a row for each group, which has no option of its own."""
        count = len(options.members)
        columns = 2 * self._kinds[options.layers] + (options.members > 1)[options.groups]
        places = options.groups * self._columns + columns
        for rows, figures in (
            (self._layer_pj, options.layer_pj),
            (self._layer_cycles, options.layer_cycles),
        ):
            sums = np.bincount(places, figures, count * self._columns).astype(np.float64)
            rows.add(sums.reshape(count, self._columns))
        late = np.zeros(count)
        self._moved.add(np.stack([options.moved_pj, options.moved_cycles, late], axis=1))
        self._rough.add(np.ones((count, 1)))
        self.options += [None] * count
        self.evaluated += [False] * count

    def add(self, option: GroupOption, rough: bool) -> int:
        """Add a row and return its number; a ``rough`` one stands for more than this option."""
        columns = self._columns_of(option)
        for rows, figures in (
            (self._layer_pj, option.layer_pj),
            (self._layer_cycles, option.layer_cycles),
        ):
            rows.add(np.bincount(columns, figures, self._columns).astype(np.float64)[None])
        self._moved.add(np.array([[option.moved_pj, option.moved_cycles, option.late_cycles]]))
        self._rough.add(np.array([[float(rough)]]))
        self.options.append(option)
        self.evaluated.append(False)
        return len(self.options) - 1

    def option(self, row: int) -> GroupOption:
        """Return the option of a row that is not rough for a whole kind of edge."""
        option = self.options[row]
        assert option is not None, "what is listed has options"
        return option

    def drop(self, row: int) -> None:
        """Mark a row as one that cannot be taken."""
        self._moved.now[row] = np.inf
        if row < len(self._figures.now):
            self._figures.now[row] = np.inf

    def alone(self, row: int) -> None:
        """Mark a row as one that stands for its own option only."""
        self._rough.now[row] = 0.0
        if row < len(self._figures.now):
            self._figures.now[row] = self._worked_out(row, row + 1)[0]

    def settle(self, row: int, cost: GroupCost) -> None:
        """Put a cost in the place of an estimate, and learn from it."""
        option = self.option(row)
        members = self._columns_of(option)
        columns = np.unique(members)
        # what is spent besides on DRAM, by how much each layer takes on the chip
        taken = np.array([_on_chip(share) for share in cost.layers])
        taken *= (cost.dynamic_pj - option.moved_pj) / taken.sum()
        spent = np.bincount(members, taken)[columns]
        self._energy.learn(columns, spent / np.bincount(members, option.layer_pj)[columns])
        busy = np.bincount(members, [share.latency_cycles for share in cost.layers])
        missed = busy[columns] / np.bincount(members, option.layer_cycles)[columns]
        # mappings of a layer that DRAM holds up have no need of fewer cycles
        free = cost.wait_cycles > 0 and streams(option.group)
        (self._cycles.learn_most if free else self._cycles.learn)(columns, missed)
        self._layer_pj.now[row] = self._layer_cycles.now[row] = 0.0
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
            self._ratios = self._energy.factors(optimism), self._cycles.factors(optimism)
            self._figures = _GrowingArray(2)
            self.changes += 1
        known = len(self._figures.now)
        if known < len(self.options):
            self._figures.add(self._worked_out(known, len(self.options)))
        return self._figures.now

    def is_less(self, rows: list[int], than: int) -> bool:
        """Whether some rows take less energy or cycles than another one, as :meth:`figures` are
        now; they will change anyway once they are asked for after a cost was learned."""
        if self._optimism < 0:
            return False
        figures = self.figures(self._optimism)
        return bool((figures[rows] < figures[than]).any())

    def _worked_out(self, first: int, end: int) -> Floats:
        """float64[rows, 2], :meth:`figures` of some rows."""
        rows, (energy, cycles) = slice(first, end), self._ratios
        moved_pj, moved_cycles, late = self._moved.now[rows].T
        # sums in one thread: figures must not depend on how many there are
        busy = np.einsum("rc,c->r", self._layer_cycles.now[rows], cycles)
        latency = np.maximum(busy, moved_cycles) + late
        dynamic = np.einsum("rc,c->r", self._layer_pj.now[rows], energy) + moved_pj
        better = 1.0 - _BETTER * self._optimism * self._rough.now[rows, 0]
        total = dynamic + self._leakage_pj * latency
        return np.stack([total * better, np.maximum(latency, 1.0) * better], axis=1)

    def _columns_of(self, option: GroupOption) -> Ints:
        tiled = option.group.tile is not None or len(option.group.layers) > 1
        columns: Ints = 2 * self._kinds[list(option.group.layers)] + tiled
        return columns


def _on_chip(share: LayerShare) -> float:
    """Energy of a layer's tiles without DRAM and without leakage."""
    return sum(
        n * (cost.dynamic_pj - float(cost.energy_pj[-1].sum())) for n, cost in share.evaluations
    )


#: tilings of a group that go on to be evaluated, those of the least estimates
_MOST_OPTIONS: Final = 16
