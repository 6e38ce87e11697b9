"""What a server is judged by: latencies, misses, goodput, each beside what bounds it."""

from dataclasses import dataclass
from math import nan

import numpy as np

from archloom.evaluators import Floats

from .serving import Served
from .upper_bounds import goodput_bound


@dataclass(frozen=True)
class TenantMetrics:
    """Figures of one network.

    Attributes:
        name: of the network.
        requests: that were begun or shed.
        finished: of them, those that were served to their end.
        shed: of them, those that were turned away.
        missed: of them, those that were shed or ended after their deadline.
        isolated_ms: time between its queries where nothing else runs.
        p50, p99: percentiles of the latency of finished requests, in isolated times; nan if none
            finished.
        p50_ms, p99_ms: the same in ms.
    """

    name: str
    requests: int
    finished: int
    shed: int
    missed: int
    isolated_ms: float
    p50: float
    p99: float
    p50_ms: float
    p99_ms: float


@dataclass(frozen=True)
class ServingMetrics:
    """Figures of all networks together, from time 0 until the last request has left.

    Attributes:
        tenants: of each network.
        horizon_s: when that was.
        missed_share: requests that were shed or late, as a share of all.
        shed_share: requests that were shed, as a share of all.
        offered_stp: isolated times of all requests, over the time.
        goodput_stp: isolated times of the requests in time, over the time.
        goodput_bound_stp: no policy's goodput is above it, with these requests in this time.
        offered_qps, goodput_qps: requests a second: all, and those in time.
    """

    tenants: tuple[TenantMetrics, ...]
    horizon_s: float
    missed_share: float
    shed_share: float
    offered_stp: float
    goodput_stp: float
    goodput_bound_stp: float
    offered_qps: float
    goodput_qps: float

    @property
    def requests(self) -> int:
        """Requests of all networks."""
        return sum(tenant.requests for tenant in self.tenants)


def latencies(found: Served, of: int | None = None) -> Floats:
    """Return latencies of finished requests in isolated times; of one network or of all."""
    chosen = found.finished if of is None else found.finished & (found.network == of)
    alone = found.tenants.isolated[found.network[chosen]]
    times: Floats = found.latency[chosen] / alone
    return times


def serving_metrics(found: Served) -> ServingMetrics:
    """Return the figures of served requests."""
    tenants, taken, in_time = found.tenants, found.taken, found.in_time
    horizon, per_s = max(1, found.horizon), tenants.ticks_per_s
    count = int(np.count_nonzero(taken))
    each = np.bincount(found.network[taken], minlength=len(tenants.chains))
    useful = np.bincount(found.network[in_time], minlength=len(tenants.chains))
    shed = int(np.count_nonzero(found.outcome.shed[taken]))
    return ServingMetrics(
        tuple(_of_tenant(found, m) for m in range(len(tenants.chains))),
        horizon / per_s,
        (count - int(useful.sum())) / count,
        shed / count,
        float(each @ tenants.isolated) / horizon,
        float(useful @ tenants.isolated) / horizon,
        goodput_bound(tenants.demands, tenants.isolated, each / horizon),
        count / horizon * per_s,
        int(useful.sum()) / horizon * per_s,
    )


def _of_tenant(found: Served, m: int) -> TenantMetrics:
    own = found.taken & (found.network == m)
    times = latencies(found, m)
    alone_ms = found.tenants.isolated[m] / found.tenants.ticks_per_s * 1e3
    p50, p99 = np.percentile(times, [50, 99]).tolist() if len(times) else (nan, nan)
    return TenantMetrics(
        found.tenants.chains[m].name,
        int(np.count_nonzero(own)),
        len(times),
        int(np.count_nonzero(own & (found.outcome.shed == 1))),
        int(np.count_nonzero(own & ~found.in_time)),
        alone_ms,
        p50,
        p99,
        p50 * alone_ms,
        p99 * alone_ms,
    )
