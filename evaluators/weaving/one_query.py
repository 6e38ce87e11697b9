"""What one query of each chain gets from a schedule: STP, ANTT, slowdowns, active shares."""

from dataclasses import dataclass

import numpy as np

from ..arrays import Floats, Ints
from .simulator import Order, Stamps, makespan
from .ticks import Ticks


@dataclass(frozen=True, eq=False)
class QueryMetrics:
    """Figures of a schedule of one query of each chain.

    STP and ANTT are those of Eyerman and Eeckhout (IEEE Micro 28(3), 2008, equations 2 and 4): the
    sum of each chain's time alone over its time in the schedule, and the mean of the inverse.

    Attributes:
        done_ticks: int64[k], when the query of each is done.
        alone_ticks: int64[k], when it would be where nothing else runs.
        serial_ticks: when all are done one after another, in the order of the chains.
        compute_active, memory_active: shares of the makespan in which the engines worked.
    """

    done_ticks: Ints
    alone_ticks: Ints
    serial_ticks: int
    compute_active: float
    memory_active: float

    @property
    def slowdowns(self) -> Floats:
        """Of each chain: its time over that alone."""
        slowdowns: Floats = self.done_ticks / np.maximum(self.alone_ticks, 1)
        return slowdowns

    @property
    def stp(self) -> float:
        """System throughput."""
        return float((self.alone_ticks / np.maximum(self.done_ticks, 1)).sum())

    @property
    def antt(self) -> float:
        """Average normalized turnaround time."""
        return float(self.slowdowns.mean())


def alone_ticks(work: Ticks) -> Ints:
    """Return int64[k]: when a query of each chain is done that finds the chip empty."""
    lengths = np.diff(work.first)
    orders = (Order(np.full(length, m, np.int64)) for m, length in enumerate(lengths))
    return np.array([makespan(work, order) for order in orders], np.int64)


def query_metrics(work: Ticks, order: Order, stamps: Stamps) -> QueryMetrics:
    """Return the figures of one query of each chain.

    Raises:
        ValueError: a chain that does not run once from its first layer to its last.
    """
    lengths = np.diff(work.first)
    if not np.array_equal(np.bincount(order.chain, minlength=work.chains), lengths):
        raise ValueError("the schedule does not run each chain once")
    done = [int(stamps.done[np.flatnonzero(order.chain == m)[-1]]) for m in range(work.chains)]
    serial = makespan(work, Order(np.repeat(np.arange(work.chains), lengths)))
    whole = max(1, stamps.makespan)
    moved = int(work.fetch.sum()) + int(work.maps.sum()) + 2 * stamps.spilled_bytes
    return QueryMetrics(
        np.array(done, np.int64),
        alone_ticks(work),
        serial,
        int(work.compute.sum()) / whole,
        moved / whole,
    )
