"""What a design is worth as a server: a figure that is proven, and figures that are reached.

Weights of queries are fixed, and times are seconds: STP weighs queries by their isolated times,
which change with the design, so that STP of two designs says nothing about which one serves more.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from archloom.evaluators import Floats, Ints
from archloom.evaluators.weaving import Chain, Npu
from archloom.space import is_amount, is_whole

from .arrivals import Draws, draws_of, networks_of, open_requests
from .policy import Policy
from .serving import served
from .stability import stable_load
from .tenants import Deadline, Tenants
from .upper_bounds import goodput_bound


@dataclass(frozen=True)
class Demand:
    """What is asked of every design alike.

    Attributes:
        shares: how many of all requests are for each network.
        weights: what a query of each network is worth.
        deadlines_s: of each network, in seconds; None if it has none.
        offered_qps: requests a second of all networks; None for as many as keep a resource of the
            design busy all the time.
        requests: that are served in a run.
        seed: of a study; all designs get the same draws.
        missed_share: of a stable load, the share of requests that may be missed; None if nobody
            asks for one, which saves most of the time.
        policy: how requests are served.

    Raises:
        ValueError: lists of other lengths, or a number out of range.
    """

    shares: tuple[float, ...]
    weights: tuple[float, ...]
    deadlines_s: tuple[float | None, ...]
    offered_qps: float | None = None
    requests: int = 500
    seed: int = 0
    missed_share: float | None = 0.01
    policy: Policy = field(default_factory=lambda: Policy("strings", shed=1.3))

    def __post_init__(self) -> None:
        lengths = {len(self.shares), len(self.weights), len(self.deadlines_s)}
        if len(lengths) > 1 or 0 in lengths:
            raise ValueError(
                f"each network needs a share, a weight and a deadline (None for none); got "
                f"{len(self.shares)}, {len(self.weights)} and {len(self.deadlines_s)}"
            )
        for name in ("shares", "weights"):
            if not all(is_amount(value, 1e-9, 1e9) for value in getattr(self, name)):
                raise ValueError(
                    f"{name} must be from 1e-09 up to 1e+09, got {getattr(self, name)}"
                )
        if self.offered_qps is not None and not is_amount(self.offered_qps, 1e-6, 1e12):
            raise ValueError(
                f"offered_qps must be from 1e-06 up to 1e+12, got {self.offered_qps!r}"
            )
        if not is_whole(self.requests, 1, 10**7):
            raise ValueError(f"requests must be a whole number up to 10**7, got {self.requests!r}")
        share = self.missed_share
        if share is not None and not (is_amount(share, 0.0, 1.0) and share < 1.0):
            raise ValueError(f"missed_share must be from 0 and below 1, got {share!r}")


@dataclass(frozen=True)
class DesignValue:
    """Figures of one design, each larger where it is better.

    Attributes:
        bound_per_s: no policy gets more worth a second out of these requests.
        goodput_per_s: worth of the requests in time, per second.
        stable_qps: most requests a second with few misses; None if nobody asks, or no network has a
            deadline.
        stable_bound_qps: no policy has a higher one; None as before.
    """

    bound_per_s: float
    goodput_per_s: float
    stable_qps: float | None
    stable_bound_qps: float | None


def value_bound(chains: Sequence[Chain], npu: Npu, demand: Demand) -> float:
    """Return a bound on the worth per second that any policy gets out of a demand.

    It takes microseconds to milliseconds, needs no simulation, and never falls where bandwidth,
    clock or buffer grow, or where bytes and cycles shrink.
    """
    busy = seconds(chains, npu)
    shares = np.array(demand.shares) / sum(demand.shares)
    offered_qps = demand.offered_qps or 1.0 / float((shares @ busy).max())
    draws = _draws(demand.requests, demand.seed)
    # requests of each network until the last arrival; nothing ends before
    counts = _counts(draws, demand.shares)
    offered = counts * (offered_qps / float(draws.times[-1]))
    return goodput_bound(busy, np.array(demand.weights), offered)


def design_value(chains: Sequence[Chain], npu: Npu, demand: Demand) -> DesignValue:
    """Return what a design is worth.

    Args:
        chains: one for each network of the demand, in bytes and cycles of the design.
        npu: bandwidth, clock and buffer of the design.
        demand: the same for all designs that are compared.

    Raises:
        ValueError: another number of chains, or chains that cannot be counted in ticks.
    """
    if len(chains) != len(demand.shares):
        raise ValueError(f"{len(chains)} chains for a demand of {len(demand.shares)} networks")
    deadlines = tuple(None if s is None else Deadline(s) for s in demand.deadlines_s)
    tenants = Tenants(tuple(chains), npu, deadlines, demand.shares)
    draws = _draws(demand.requests, demand.seed)
    at_one = float(tenants.rates.sum()) * tenants.ticks_per_s
    load = 1.0 if demand.offered_qps is None else demand.offered_qps / at_one
    found = served(
        tenants, demand.policy, open_requests(draws, tenants.rates * load, tenants.within)
    )
    worth = float(np.array(demand.weights)[found.network[found.in_time]].sum())
    stable = None
    if demand.missed_share is not None and any(deadline is not None for deadline in deadlines):
        stable = stable_load(tenants, demand.policy, draws, demand.missed_share, 0.004)
    return DesignValue(
        value_bound(chains, npu, demand),
        worth / found.horizon * tenants.ticks_per_s,
        None if stable is None else stable.qps,
        None if stable is None else stable.bound * at_one,
    )


def seconds(chains: Sequence[Chain], npu: Npu) -> Floats:
    """Return float64[k, 3]: seconds that a query of each chain keeps array, pins and buffer busy.

    The last is the fetch of weights and the idle time that layers force on it. A layer of w bytes
    and c bytes' time of cycles forces w + c - B (Section III-D of the Layerweaver paper), one in p
    parts w + c - p B. The least of that over all buffers up to B is taken, in which parts are one
    more where that forces less: so it does not grow with the buffer.
    """
    rate, clock, buffer = float(npu.dram_bytes_per_s), float(npu.clock_hz), npu.weight_buffer_bytes
    rows = []
    for chain in chains:
        weights, maps = chain.weight_bytes.astype(np.float64), float(chain.map_bytes.sum())
        compute = chain.cycles * (rate / clock)
        parts = np.maximum(1.0, np.ceil(weights / buffer))
        idle = weights + compute - np.maximum(parts * buffer, weights * (parts + 1) / parts)
        room = float(weights.sum() + np.maximum(idle, 0.0).sum())
        rows.append((float(compute.sum()), float(weights.sum()) + maps, room))
    return np.array(rows) / rate


@lru_cache(maxsize=8)
def _draws(count: int, seed: int) -> Draws:
    return draws_of(count, seed)


def _counts(draws: Draws, shares: Sequence[float]) -> Floats:
    """Return float64[k]: how many requests are for each network."""
    requests = open_requests(draws, np.array(shares), np.zeros(len(shares), np.int64))
    counts: Ints = np.bincount(networks_of(requests), minlength=len(shares))
    return counts.astype(np.float64)
