"""Estimates and prices of all options of a network's steps, in arrays that are looked at at once.

Every row is one way to run one step, or stands for all of them until they are listed. Rows know the
least that their layers can cost; by how much layers miss that is learned from what was priced, kind
by kind, once for layers that stream and once for those in tiles.
"""

import numpy as np
from numpy.typing import NDArray

from ..evaluators.group_cost import GroupCost, LayerShare, streams
from ..space.network import Network
from .group_kinds import layer_kinds
from .option import Option

Floats = NDArray[np.float64]

#: weight of what was seen last in what is believed of a kind of layer
_NEWS = 0.5

#: least factor that is believed (ours): estimates of layers are near bounds
_LEAST = 0.1

#: share by which tilings that are not listed may be better than those that stand for them (ours)
_BETTER = 0.1


class _Rows:
    """Rows of an array that grows: space is doubled when it is full."""

    def __init__(self, columns: int) -> None:
        self._all = np.zeros((64, columns))
        self.count = 0

    def add(self, row: Floats) -> None:
        """Add a row."""
        if self.count == len(self._all):
            self._all = np.concatenate([self._all, np.zeros_like(self._all)])
        self._all[self.count] = row
        self.count += 1

    @property
    def now(self) -> Floats:
        """float64[rows, columns]."""
        return self._all[: self.count]


class _Misses:
    """By how much layers miss their least energy, or cycles, by column of the table."""

    def __init__(self, columns: int) -> None:
        self._factors = np.ones(columns)
        self._most = np.full(columns, np.inf)
        self._seen = np.zeros(columns, np.bool_)

    def learn(self, columns: NDArray[np.int64], missed: float | Floats) -> None:
        """Believe what was seen, as far as it is news."""
        missed = np.maximum(missed, _LEAST)
        news = np.where(self._seen[columns], _NEWS, 1.0)
        self._factors[columns] = (1 - news) * self._factors[columns] + news * missed
        self._seen[columns] = True

    def learn_most(self, columns: NDArray[np.int64], missed: float | Floats) -> None:
        """Believe no more than what was seen of layers that had no need to do better."""
        self._most[columns] = np.minimum(self._most[columns], np.maximum(missed, _LEAST))

    def factors(self, optimism: float) -> Floats:
        """Factors by column; of what was never seen, the mean of what was."""
        known = self._factors[self._seen]
        usual = float(np.exp(np.log(known).mean())) if len(known) else 1.0
        factors = np.where(self._seen, self._factors, np.minimum(usual, self._most))
        # what costs less than was taken for its least does so whatever is believed of others
        believed: Floats = np.where(factors < 1.0, factors, factors ** (1.0 - optimism))
        return believed


class OptionTable:
    """Rows of options.

    Args:
        network: whose layers run.
        leakage_pj: of the chip, in a cycle.
    """

    def __init__(self, network: Network, leakage_pj: float) -> None:
        self._kinds = layer_kinds(network)
        self._columns = 2 * (max(self._kinds) + 1)
        self._leakage_pj = leakage_pj
        # least energy and cycles by kind of layer; energy and cycles of what moves, and wait
        self._layer_pj, self._layer_cycles = _Rows(self._columns), _Rows(self._columns)
        self._moved = _Rows(3)
        self._energy, self._cycles = _Misses(self._columns), _Misses(self._columns)
        self._rough = _Rows(1)
        self.options: list[Option] = []
        self.priced: list[bool] = []

    def add(self, option: Option, rough: bool) -> int:
        """Add a row and return its number; a ``rough`` one stands for more than this option."""
        columns = self._columns_of(option)
        for rows, figures in (
            (self._layer_pj, option.layer_pj),
            (self._layer_cycles, option.layer_cycles),
        ):
            rows.add(np.bincount(columns, figures, self._columns).astype(np.float64))
        self._moved.add(
            np.array([option.moved_pj, option.moved_cycles, option.late_cycles], np.float64)
        )
        self._rough.add(np.array([float(rough)]))
        self.options.append(option)
        self.priced.append(False)
        return len(self.options) - 1

    def drop(self, row: int) -> None:
        """Say that a row cannot be taken."""
        self._moved.now[row] = np.inf

    def alone(self, row: int) -> None:
        """Say that a row stands for its own option only."""
        self._rough.now[row] = 0.0

    def settle(self, row: int, cost: GroupCost) -> None:
        """Put a price in the place of an estimate, and learn from it."""
        option = self.options[row]
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
        self.priced[row] = True

    def figures(self, optimism: float) -> tuple[Floats, Floats]:
        """Return float64[rows], energy with leakage and cycles.

        ``optimism`` is 0 for what is believed of layers, 1 for the least that they can cost; what
        a rough row stands for may then be better than the row by a tenth.
        """
        energy, cycles = self._energy.factors(optimism), self._cycles.factors(optimism)
        moved_pj, moved_cycles, late = self._moved.now.T
        # sums in one thread: figures must not depend on how many there are
        busy = np.einsum("rc,c->r", self._layer_cycles.now, cycles)
        latency = np.maximum(busy, moved_cycles) + late
        dynamic = np.einsum("rc,c->r", self._layer_pj.now, energy) + moved_pj
        better = 1.0 - _BETTER * optimism * self._rough.now[:, 0]
        total = dynamic + self._leakage_pj * latency
        return total * better, np.maximum(latency, 1.0) * better

    def _columns_of(self, option: Option) -> NDArray[np.int64]:
        tiled = option.group.tile is not None or len(option.group.layers) > 1
        return np.array([2 * self._kinds[i] + tiled for i in option.group.layers], np.int64)


def _on_chip(share: LayerShare) -> float:
    """Energy of a layer's tiles without DRAM and without leakage."""
    return sum(
        n * (cost.dynamic_pj - float(cost.energy_pj[-1].sum())) for n, cost in share.evaluations
    )
