"""What a stream of endless queries gets: STP, ANTT, slowdowns, active shares.

System throughput and average normalized turnaround time are those of Eyerman and Eeckhout (IEEE
Micro 28(3), 2008), over the time of a query where nothing else runs. A query's turnaround is the
time since the one before it of the same chain was done: a stream sends the next one then.
"""

from dataclasses import dataclass
from math import inf

import numpy as np

from archloom.evaluators.jit import compiled

from ..arrays import Floats, Ints
from .bounds import inherent_idle
from .simulator import Order, simulated
from .throughput import rest_alone, steady_rows
from .ticks import Ticks


@dataclass(frozen=True, eq=False)
class StreamMetrics:
    """Figures of a stream, from time 0 to the end of its last layer.

    Attributes:
        elapsed_ticks: when that was.
        completed: int64[k], queries of each chain that ended.
        rates: float64[k], queries per tick; of an open one the share of its work that is done,
            in ticks of each row of the bound times its price, so that STP is never above it.
        stp: sum of rates times isolated times.
        mean_slowdown, worst_slowdown: float64[k], turnaround over isolated time; infinite where
            no query ended.
        compute_active, memory_active: shares of the time in which the engines worked.
        spilled_bytes: maps of paused networks that were written out, and read again.
    """

    elapsed_ticks: int
    completed: Ints
    rates: Floats
    stp: float
    mean_slowdown: Floats
    worst_slowdown: Floats
    compute_active: float
    memory_active: float
    spilled_bytes: int

    @property
    def antt(self) -> float:
        """Mean slowdown over the chains."""
        return float(np.mean(self.mean_slowdown))


@compiled
def _account(work: Ticks, parts: Ints, done: Ints) -> tuple[Ints, Ints]:
    """Return executed ticks and turnarounds of each chain.

    The first table has per chain the ticks of the array, of the pins, of weights with inherent
    idle time, and the smaller of fetch and compute; the second completed queries, when the last
    ended, the longest turnaround, and the next part of an open query.
    """
    first = work.first
    chains = len(first) - 1
    owner = np.empty(first[-1], np.int64)
    for m in range(chains):
        owner[first[m] : first[m + 1]] = m
    spent, ended = np.zeros((chains, 4), np.int64), np.zeros((chains, 4), np.int64)
    ended[:, 3] = first[:-1]
    for step in range(len(parts)):
        part = parts[step]
        m = owner[part]
        spent[m, 0] += work.compute[part]
        spent[m, 1] += work.fetch[part] + work.maps[part]
        spent[m, 2] += work.fetch[part] + inherent_idle(work, part)
        spent[m, 3] += min(work.fetch[part], work.compute[part])
        ended[m, 3] = part + 1
        if part + 1 == first[m + 1]:
            ended[m, 0] += 1
            ended[m, 2] = max(ended[m, 2], done[step] - ended[m, 1])
            ended[m, 1], ended[m, 3] = done[step], first[m]
    return spent, ended


def _spent(work: Ticks, executed: Ints, ended: Ints, rows: Floats) -> Floats:
    """Return float64[k, 3 + k]: ticks that each chain has spent in each row of the bound.

    In the row of its own order a chain has spent a period for each query that ended. Of an open
    one it has what the rest of it, from a cold start, leaves of another period: no schedule has
    done so much earlier.
    """
    orders = np.repeat(executed[:, 3:].astype(np.float64), len(rows), axis=1)
    for m, (whole, _, _, part) in enumerate(ended.tolist()):
        period = rows[m, 3 + m]
        open_ = 0.0
        if part > work.first[m]:
            open_ = max(0.0, period - rest_alone(work, part, int(work.first[m + 1])))
        orders[m, m] = whole * period + open_
    return np.hstack([executed[:, :3].astype(np.float64), orders])


def stream_metrics(
    work: Ticks, order: Order, isolated: Floats, prices: tuple[float, ...]
) -> StreamMetrics:
    """Return the figures of a schedule of endless queries.

    Args:
        work: the chains.
        order: at least one step.
        isolated: float64[k], ticks of a query of each where nothing else runs.
        prices: of the rows of the bound (:class:`ThroughputBound`).

    Raises:
        ValueError: an order without steps.
    """
    stamps = simulated(work, order)
    if not stamps.makespan:
        raise ValueError("an empty schedule has no throughput; schedule at least one layer")
    elapsed = stamps.makespan
    executed, ended = _account(work, stamps.part, stamps.done)
    rows = steady_rows(work)
    spent = _spent(work, executed, ended, rows)
    # sum of prices times ticks spent <= sum of prices times the time: STP stays below its bound
    queries = (spent @ prices) / (rows @ prices)
    completed = ended[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(completed > 0, ended[:, 1] / completed / isolated, inf)
    # a chain that was not served since counts as long as it waits
    longest = np.maximum(ended[:, 2], elapsed - ended[:, 1])
    rates = queries / elapsed
    return StreamMetrics(
        elapsed,
        completed,
        rates,
        float((rates * isolated).sum()),
        mean,
        np.where(completed > 0, longest / isolated, inf),
        float(executed[:, 0].sum() / elapsed),
        float((executed[:, 1].sum() + 2 * stamps.spilled_bytes) / elapsed),
        stamps.spilled_bytes,
    )
