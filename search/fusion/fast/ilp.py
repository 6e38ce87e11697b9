"""FAST's integer program, as printed and with live intervals, solved by HiGHS.

    min sum T_i   (or a weighted sum of energy and latency)
    T_i >= T_i^min
    T_i >= T_i^max - sum_k t_i^k p_i^k
    C >= B_i + sum_k d_i^k p_i^k + sum_{j != i} W_j p_j^W
    p_i^O >= p_j^I   for j in the fan-out of i
    sum_j p_j^I >= p_i^O
    M (1 - p_i^I) >= o(i) - o(producer) - 1

(FAST, Zhang et al., ASPLOS 2022, section 4.5, equation 4.) A layer of theirs reads one map; for
layers that read several, each read has a p^I of its own.
"""

import ctypes
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Final

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from .model import Form, LinearCost, PinnedData, PinningProblem, Saving, linear_cost

#: coefficients by column
_LinearForm = dict[int, float]

#: branch-and-bound nodes of one solution at most: a limit that all machines share
MOST_NODES: Final = 100_000

#: how often an answer that breaks a capacity by the solver's tolerance is cut off
_CUTS: Final = 50


@dataclass(frozen=True, slots=True)
class IlpSolution:
    """An answer of the integer program.

    Attributes:
        pinned, cost: what stays, and what the linear model says of it.
        gap_percent: how far the objective may be above the least there is.
    """

    pinned: PinnedData
    cost: LinearCost
    gap_percent: float


@dataclass(frozen=True, slots=True)
class _Run:
    """A column of the time that a layer takes in some sub-batches.

    Attributes:
        layer: its number.
        times: how many sub-batches.
        loads: whether weights that stay come meanwhile.
    """

    layer: int
    times: int
    loads: bool


@dataclass
class IntegerProgram:
    """FAST's integer program: columns and rows of one form of it for one problem.

    Args:
        problem: what runs.
        form: which constraints.
        steady_weights: whether weights may stay: for ever, or for all sub-batches of a pass.
    """

    problem: PinningProblem
    form: Form
    steady_weights: bool
    _reads: dict[tuple[int, int], int] = field(init=False)
    _kept: dict[int, int] = field(init=False)
    _steady: dict[int, int] = field(init=False)
    _rows: list[tuple[_LinearForm, float, float]] = field(init=False)
    _capacity_rows: list[tuple[_LinearForm, int]] = field(init=False)

    def __post_init__(self) -> None:
        layers = self.problem.layers
        pairs = [(r.producer, i) for i, la in enumerate(layers) for r in la.reads if r.possible]
        self._reads = {pair: column for column, pair in enumerate(pairs)}
        self._kept = {}
        if self.form == "printed":
            self._kept = {i: len(pairs) + i for i in range(len(layers))}
        begin = len(pairs) + len(self._kept)
        owners = self.problem.owners if self.steady_weights else ()
        self._steady = {owner: begin + n for n, owner in enumerate(owners)}
        self._rows = list(self._printed_rows() if self.form == "printed" else self._live_rows())
        self._capacity_rows = [self._capacity_row(i) for i in range(len(layers))]

    @property
    def choices(self) -> int:
        """Number of yes-or-no columns; those of each layer's T follow them."""
        return len(self._reads) + len(self._kept) + len(self._steady)

    def _runs(self) -> Iterator[_Run]:
        """The columns of T: of all sub-batches together, or of the first by itself."""
        for i in range(len(self.problem.layers)):
            first = i in self._steady and self.problem.load(i) != Saving()
            if self.problem.sub_batches > first:
                yield _Run(i, self.problem.sub_batches - first, False)
            if first:
                yield _Run(i, 1, True)

    def _printed_rows(self) -> Iterable[tuple[_LinearForm, float, float]]:
        """The paper's constraints on who reads what."""
        # M must be at least n - 1
        most = len(self.problem.layers)
        for i, kept in self._kept.items():
            columns = [c for (producer, _), c in self._reads.items() if producer == i]
            for column in columns:
                yield {kept: 1.0, column: -1.0}, 0.0, inf
            yield {**dict.fromkeys(columns, 1.0), kept: -1.0}, 0.0, inf
        for (producer, reader), column in self._reads.items():
            yield {column: -float(most)}, float(reader - producer - 1 - most), inf

    def _live_rows(self) -> Iterable[tuple[_LinearForm, float, float]]:
        """Whoever reads a map on the chip, all who read it before do so too."""
        for producer, readers in enumerate(self.problem.readers):
            for at, reader in enumerate(readers):
                column = self._reads.get((producer, reader))
                if at == 0 or column is None:
                    continue
                before = self._reads.get((producer, readers[at - 1]))
                # after one who cannot, none does
                row = {column: -1.0} if before is None else {before: 1.0, column: -1.0}
                yield row, 0.0, inf

    def _unwritten(self, i: int) -> int | None:
        """The column that says that a result is not written, if there is one."""
        if self.form == "printed":
            return self._kept[i]
        readers = self.problem.readers[i]
        if self.problem.layers[i].leaves or not readers:
            return None
        return self._reads.get((i, readers[-1]))

    def _saved(self, i: int) -> Iterable[tuple[int, Saving]]:
        """Columns that save something in layer ``i``."""
        layer = self.problem.layers[i]
        for read in layer.reads:
            if (read.producer, i) in self._reads:
                yield self._reads[read.producer, i], read.saving
        unwritten = self._unwritten(i)
        if unwritten is not None:
            yield unwritten, layer.write
        if layer.weight_owner in self._steady:
            yield self._steady[layer.weight_owner], layer.weights

    def _capacity_row(self, i: int) -> tuple[_LinearForm, int]:
        """The words that columns take of the buffer while layer ``i`` runs, and its capacity for
        them."""
        layers = self.problem.layers
        row: _LinearForm = {}
        for producer in range(i + 1):
            column = self._holder(producer, i)
            if column is None:
                continue
            # d_i^k: the whole operand instead of its tile
            tile = layers[i].map_tile_words if producer == i else 0
            tile += sum(r.tile_words for r in layers[i].reads if r.producer == producer)
            row[column] = row.get(column, 0.0) + layers[producer].map_words - tile
        for owner, column in self._steady.items():
            row[column] = float(layers[owner].weight_words)
        if layers[i].weight_owner in self._steady:
            row[self._steady[layers[i].weight_owner]] -= layers[i].weight_tile_words
        return row, self.problem.capacity_words - layers[i].own_words

    def _holder(self, producer: int, i: int) -> int | None:
        """The column that says that a result is in the buffer while layer ``i`` runs."""
        if self.form == "printed":
            if producer == i:
                return self._kept[i]
            return self._reads.get((producer, i))
        ahead = [r for r in self.problem.readers[producer] if r >= i]
        return self._reads.get((producer, ahead[0])) if ahead else None

    def solve(self, energy: float, latency: float) -> IlpSolution:
        """Minimise ``energy`` times the energy and ``latency`` times the cycles of a pass.

        Returns the best answer within :data:`MOST_NODES`, with its gap.
        """
        cuts: list[tuple[_LinearForm, float, float]] = []
        while True:
            pinned, gap = self._solve(energy, latency, cuts)
            broken = self._cover_cut(pinned)
            if broken is None:
                return IlpSolution(pinned, linear_cost(self.problem, pinned, self.form), gap)
            if len(cuts) == _CUTS:
                raise AssertionError("answers of the solver go on to break capacities")
            cuts.append(broken)

    def _cover_cut(self, pinned: PinnedData) -> tuple[_LinearForm, float, float] | None:
        """A row that cuts off an answer which breaks a capacity by the solver's tolerance."""
        chosen = {self._reads[pair] for pair in pinned.reads}
        chosen |= {self._steady[owner] for owner in pinned.steady}
        chosen |= {self._kept[u] for u, _ in pinned.reads if u in self._kept}
        for row, left in self._capacity_rows:
            taken = [c for c in row if c in chosen]
            if sum(row[c] for c in taken) > max(left, 0):
                return dict.fromkeys(taken, 1.0), -inf, len(taken) - 1.0
        return None

    def _solve(
        self, energy: float, latency: float, cuts: list[tuple[_LinearForm, float, float]]
    ) -> tuple[PinnedData, float]:
        layers, n, runs = self.problem.layers, self.choices, tuple(self._runs())
        if n == 0:
            return PinnedData(), 0.0
        unit = max(max(layer.longest_cycles for layer in layers), 1.0)
        times = float(self.problem.sub_batches)
        objective = np.zeros(n + len(runs))
        price = (latency + energy * self.problem.leakage_pj_per_cycle) * unit
        objective[n:] = [price * run.times for run in runs]
        rows = [*self._rows, *cuts]
        # a layer that exceeds the capacity by itself leaves none for others, and runs all the same
        rows += [(row, -inf, float(max(left, 0))) for row, left in self._capacity_rows if row]
        for at, run in enumerate(runs, n):
            row = {at: 1.0}
            for column, saving in self._saved(run.layer):
                row[column] = row.get(column, 0.0) + saving.cycles / unit
            if run.loads:
                row[self._steady[run.layer]] -= self.problem.load(run.layer).cycles / unit
            rows.append((row, layers[run.layer].longest_cycles / unit, inf))
        for i in range(len(layers)):
            for column, saving in self._saved(i):
                objective[column] -= times * energy * saving.energy_pj
        for owner, column in self._steady.items():
            objective[column] += energy * self.problem.load(owner).energy_pj
        least = np.array([0.0] * n + [layers[run.layer].shortest_cycles / unit for run in runs])
        most = np.array([1.0] * n + [inf] * len(runs))
        fixed = times * energy * sum(layer.energy_pj for layer in layers)
        scale = fixed + float(objective[n:].sum()) or 1.0
        with stdout_silenced():
            result = milp(
                objective / scale * 1e3,
                integrality=np.array([1] * n + [0] * len(runs)),
                bounds=Bounds(least, most),
                constraints=_matrix(rows, n + len(runs)),
                options={"mip_rel_gap": 0.0, "node_limit": MOST_NODES},
            )
        if result.x is None:
            # nothing found within the nodes: what streams everything is always allowed
            return PinnedData(), inf
        taken = result.x[:n] > 0.5
        pinned = PinnedData(
            frozenset(pair for pair, column in self._reads.items() if taken[column]),
            frozenset(owner for owner, column in self._steady.items() if taken[column]),
        )
        short = max(0.0, float(result.fun) - float(result.mip_dual_bound)) / 1e3 * scale
        total = float(result.fun) / 1e3 * scale + fixed
        return pinned, 100 * short / (total - short) if total > short else inf


def _matrix(rows: list[tuple[_LinearForm, float, float]], columns: int) -> LinearConstraint:
    resident_members = [(r, c) for r, (row, _, _) in enumerate(rows) for c in row]
    values = [value for row, _, _ in rows for value in row.values()]
    at = np.array(resident_members, np.int64).reshape(-1, 2)
    matrix = csr_array((values, (at[:, 0], at[:, 1])), shape=(len(rows), columns))
    return LinearConstraint(matrix, [low for _, low, _ in rows], [high for _, _, high in rows])


@contextmanager
def stdout_silenced() -> Iterator[None]:
    """Throw away what compiled code in this process prints meanwhile, and what Python prints too.

    Some libraries print whatever their options say (HiGHS, where it mends a solution).
    """
    buffers = ctypes.CDLL(None)
    sys.stdout.flush()
    buffers.fflush(None)
    screen = os.dup(1)
    try:
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), 1)
        yield
    finally:
        buffers.fflush(None)
        os.dup2(screen, 1)
        os.close(screen)
