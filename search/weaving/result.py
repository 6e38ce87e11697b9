"""Results of weaving, each with what no schedule beats."""

from dataclasses import dataclass

from archloom.evaluators import Floats
from archloom.evaluators.weaving import (
    MakespanBounds,
    Order,
    StreamMetrics,
    ThroughputBound,
    Ticks,
    isolated_ticks,
    makespan,
    makespan_bounds,
    stream_metrics,
    throughput_bound,
)


@dataclass(frozen=True, eq=False)
class Woven:
    """A schedule of one query of each chain.

    Attributes:
        rule: what made it, with its settings.
        order: the schedule.
        upper_ticks: its makespan.
        lower_ticks: no schedule's makespan is less.
        bounds: in closed form and by tables; ``lower_ticks`` may be higher.
        effort: states and comparisons of the search behind it, 0 for a rule.
    """

    rule: str
    order: Order
    upper_ticks: int
    lower_ticks: int
    bounds: MakespanBounds
    effort: int = 0

    @property
    def gap(self) -> float:
        """How much of the makespan might be saved at most, as a share of it."""
        return 1.0 - self.lower_ticks / self.upper_ticks if self.upper_ticks else 0.0

    @property
    def proven(self) -> bool:
        """Whether no schedule is better."""
        return self.upper_ticks == self.lower_ticks


@dataclass(frozen=True, eq=False)
class Stream:
    """A schedule of endless queries.

    Attributes:
        rule: what made it, with its settings.
        order: the schedule, from time 0 until its horizon.
        isolated_ticks: float64[k], ticks of a query of each chain where nothing else runs.
        bound: on STP, with rates and the prices of the engines.
        metrics: what the schedule attains.
    """

    rule: str
    order: Order
    isolated_ticks: Floats
    bound: ThroughputBound
    metrics: StreamMetrics

    @property
    def share(self) -> float:
        """STP as a share of its bound."""
        return self.metrics.stp / self.bound.value


def woven(rule: str, order: Order, work: Ticks, bounds: MakespanBounds | None = None) -> Woven:
    """Return a schedule with its makespan and its bounds."""
    bounds = bounds or makespan_bounds(work)
    return Woven(rule, order, makespan(work, order), bounds.best, bounds)


@dataclass(frozen=True, eq=False)
class StreamLimits:
    """What streams of some chains are held against.

    Attributes:
        isolated_ticks: float64[k], ticks of a query of each where nothing else runs.
        bound: on STP.
        horizon_ticks: how long a schedule is that its figures are taken from: 2000 times the
            fetch of a buffer, 64 queries of the slowest chain at least.
    """

    isolated_ticks: Floats
    bound: ThroughputBound
    horizon_ticks: int


def stream_limits(work: Ticks) -> StreamLimits:
    """Return what streams of these chains are held against."""
    isolated = isolated_ticks(work)
    horizon = max(2000 * work.buffer, 64 * int(isolated.max()))
    return StreamLimits(isolated, throughput_bound(work, isolated), horizon)


def streamed(rule: str, order: Order, work: Ticks, limits: StreamLimits) -> Stream:
    """Return a schedule of endless queries with its figures."""
    isolated, bound = limits.isolated_ticks, limits.bound
    metrics = stream_metrics(work, order, isolated, bound.prices)
    return Stream(rule, order, isolated, bound, metrics)
