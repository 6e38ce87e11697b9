"""The largest load under which hardly any request is missed."""

from dataclasses import dataclass
from math import inf

from .arrivals import Draws, networks_of, open_requests
from .policy import Policy
from .serving import few_missed
from .tenants import Tenants
from .upper_bounds import load_bound


@dataclass(frozen=True)
class StableLoad:
    """The largest load that was found, beside its bound.

    Attributes:
        load: share of the networks' rates at load 1 (:attr:`Tenants.rates`) up to which misses stay
            allowed; 0 if they do not even at the least load that was tried.
        qps: the same in requests a second.
        bound: no policy keeps misses allowed above it, with these requests.
        missed_share: share of requests that may be missed.
        runs: loads that were tried.
    """

    load: float
    qps: float
    bound: float
    missed_share: float
    runs: int

    @property
    def gap_percent(self) -> float:
        """How far the bound is above the load, in percent of the load."""
        return 100.0 * (self.bound / self.load - 1.0) if self.load else inf


def stable_load(
    tenants: Tenants,
    policy: Policy,
    draws: Draws,
    missed_share: float = 0.01,
    tolerance: float = 0.002,
) -> StableLoad:
    """Return the largest load with few misses, by bisection on common random numbers.

    All loads are tried on the same draws. Misses do not quite rise with the load: what is found is
    a load with few enough of them, near a higher one that has too many.

    Args:
        tenants: the networks; their deadlines decide what a miss is.
        policy: how they are served.
        draws: of all loads.
        missed_share: share of requests that may be missed or shed.
        tolerance: of the load.

    Raises:
        ValueError: no network has a deadline, or a share that is not below 1.
    """
    if all(deadline is None for deadline in tenants.deadlines):
        raise ValueError("a stable load needs a deadline: without one no request is missed")
    if not 0.0 <= missed_share < 1.0:
        raise ValueError(f"a share of misses must be at least 0 and below 1, got {missed_share!r}")
    count = len(draws.times)
    # 0.29 x 100 is a hair below 29
    missed = int(missed_share * count + 1e-9)
    total = float(tenants.rates.sum())
    at_one = open_requests(draws, tenants.rates, tenants.within)
    bound = load_bound(
        tenants.demands,
        networks_of(at_one),
        float(draws.times[-1]) / total,
        int(tenants.within.max()),
        missed,
    )
    few = few_missed(tenants, policy, count, missed)
    # beyond load 1 a resource is overloaded; a short run may still get there
    low, high, runs = 0.0, min(bound, 2.0), 0
    while high - low > tolerance:
        middle = (low + high) / 2
        runs += 1
        if few(open_requests(draws, tenants.rates * middle, tenants.within)):
            low = middle
        else:
            high = middle
    return StableLoad(low, low * total * tenants.ticks_per_s, bound, missed_share, runs)
