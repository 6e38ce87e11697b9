"""Largest load of requests that come at random and still end in time, all but one in a hundred.

The requests are the same for all designs of a study: only the times between them are stretched
(common random numbers; Law, "Simulation Modeling and Analysis", section 11.2).
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from archloom.evaluators.weaving import Chain, Npu, Ticks
from archloom.search.weaving.serving import (
    Deadline,
    Policy,
    Tenants,
    draws_of,
    few_missed,
    open_requests,
)

#: requests of a load, and how many of them may be late
REQUESTS: Final = 500
_LATE: Final = 5

#: a load that is so much larger has too many late ones
_TOLERANCE: Final = 0.01

#: the least load that is looked for, as a share of the largest that the engines allow: there
#: hardly any two requests meet
_LEAST: Final = 2.0**-20

#: whoever came first is served to the end: the maps of one request at a time are on the chip
_ONE_BY_ONE: Final = Policy("fcfs")
_WOVEN: Final = (Policy("strings"), Policy("edf"), _ONE_BY_ONE)


def stable_rate(
    chains: Sequence[Chain],
    npu: Npu,
    shares: Sequence[float],
    deadlines_s: Sequence[float],
    seed: int,
) -> float:
    """Return requests of all networks per second.

    It is the best of several policies; those that run layers of one request between those of
    another count where all maps that wait meanwhile have room. No load above that which keeps an
    engine busy all the time is stable, however few requests there are.

    Args:
        chains: of one request of each network.
        npu: what they share.
        shares: of all requests.
        deadlines_s: of each network, after its requests come.
        seed: of the requests.
    """
    tenants = Tenants(tuple(chains), npu, tuple(map(Deadline, deadlines_s)), tuple(shares))
    draws = draws_of(REQUESTS, seed)
    policies = _WOVEN if all_fit(tenants.work) else (_ONE_BY_ONE,)
    few = [few_missed(tenants, policy, REQUESTS, _LATE) for policy in policies]

    def stable(load: float) -> bool:
        requests = open_requests(draws, tenants.rates * load, tenants.within)
        return any(kept(requests) for kept in few)

    most = float(tenants.rates.sum()) * tenants.ticks_per_s
    if stable(1.0):
        return most
    low, high = 1.0, 1.0
    while low > _LEAST:
        low, high = low / 2, low
        if stable(low):
            break
    while high > low * (1 + _TOLERANCE):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if stable(middle) else (low, middle)
    return most * low


def all_fit(work: Ticks) -> bool:
    """Whether the maps of any network fit beside all that the others may keep while they wait."""
    parts = list(zip(work.first[:-1], work.first[1:], strict=True))
    peak = np.array([min(int(work.footprint[a:b].max()), work.map_buffer) for a, b in parts])
    live = np.array([int(work.live[a:b].max()) for a, b in parts])
    return bool((peak + live.sum() - live <= work.map_buffer).all())
