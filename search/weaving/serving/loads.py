"""Figures at several loads, all on the same requests."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .arrivals import Draws, open_requests
from .metrics import ServingMetrics, latencies, serving_metrics
from .policy import Policy
from .serving import served
from .tenants import Tenants


@dataclass(frozen=True)
class LoadPoint:
    """Figures at one load.

    Attributes:
        load: share of the rates at load 1.
        metrics: of the requests.
        p99: percentile of the latencies of all finished requests, in isolated times; None if none
            finished.
    """

    load: float
    metrics: ServingMetrics
    p99: float | None


def load_curve(
    tenants: Tenants, policy: Policy, draws: Draws, loads: Sequence[float]
) -> list[LoadPoint]:
    """Return figures at each load, on common random numbers."""
    points = []
    for load in loads:
        found = served(tenants, policy, open_requests(draws, tenants.rates * load, tenants.within))
        times = latencies(found)
        p99 = float(np.percentile(times, 99)) if len(times) else None
        points.append(LoadPoint(load, serving_metrics(found), p99))
    return points
