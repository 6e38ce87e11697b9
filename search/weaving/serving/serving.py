"""Requests served under a policy, and the time stamps of each."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from archloom.evaluators import Bools, Ints
from archloom.evaluators.weaving import Order, TickError

from .arrivals import networks_of
from .kernel import serve
from .policy import Policy
from .requests import Outcome, Requests, Steps
from .tenants import Tenants

_NO_STEPS = Steps(np.empty(0, np.int64), np.empty(0, np.int64))

#: no arrival or deadline may be later, so that no sum leaves int64
MOST_TICKS = 2**60


@dataclass(frozen=True, eq=False)
class Served:
    """What became of requests.

    Attributes:
        tenants: the networks.
        policy: how they were served.
        requests: the requests, with the arrivals of closed loops.
        outcome: when each began and ended.
        network: int64[n], which network each request is for.
        order: the schedule that was made, if it was asked for.
    """

    tenants: Tenants
    policy: Policy
    requests: Requests
    outcome: Outcome
    network: Ints
    order: Order | None

    @property
    def taken(self) -> Bools:
        """bool[n]: requests that were begun or shed; of a closed loop, not those beyond its end."""
        return self.outcome.begun >= 0

    @property
    def finished(self) -> Bools:
        """bool[n]: requests that were served to their end."""
        return self.taken & (self.outcome.shed == 0)

    @property
    def in_time(self) -> Bools:
        """bool[n]: requests that ended by their deadlines."""
        return self.finished & (self.latency <= self.requests.within)

    @property
    def latency(self) -> Ints:
        """int64[n]: ticks from arrival to end."""
        return self.outcome.ended - self.requests.arrival

    @property
    def horizon(self) -> int:
        """Tick at which the last request has left."""
        return int(self.outcome.ended[self.taken].max())


def served(
    tenants: Tenants,
    policy: Policy,
    requests: Requests,
    most: int | None = None,
    log: bool = False,
) -> Served:
    """Return what becomes of requests.

    Args:
        tenants: the networks.
        policy: how they are served.
        requests: of all networks.
        most: requests in all, of closed loops; None for all that there are.
        log: whether to keep the order of the layers.

    Raises:
        ValueError: no requests.
        TickError: an arrival too late to be counted in ticks.
    """
    count = len(requests.arrival)
    if count == 0:
        raise ValueError("there are no requests to simulate")
    _check(tenants, requests, most or count)
    outcome = _blank(count)
    # the kernel writes arrivals of closed loops
    requests = requests._replace(arrival=requests.arrival.copy())
    lengths = np.diff(tenants.work.first)
    network = networks_of(requests)
    room = int(lengths[network].sum()) if log else 0
    steps = Steps(np.empty(room, np.int64), np.empty(room, np.int64)) if log else _NO_STEPS
    conduct = policy.conduct(tenants.isolated, most or count, count)
    facts = policy.facts(tenants.work)
    ran = serve(tenants.work, requests, conduct, facts, outcome, steps)
    order = Order(steps.chain[:ran], steps.release[:ran]) if log else None
    return Served(tenants, policy, requests, outcome, network, order)


def few_missed(
    tenants: Tenants, policy: Policy, count: int, most_missed: int
) -> Callable[[Requests], bool]:
    """Return whether no more than so many of ``count`` requests are missed or shed, as a function
    of the requests. It ends early if more are.
    """
    work = tenants.work
    conduct = policy.conduct(tenants.isolated, count, most_missed)
    facts = policy.facts(work)

    def few(requests: Requests) -> bool:
        _check(tenants, requests, count)
        outcome = _blank(count)
        serve(work, requests, conduct, facts, outcome, _NO_STEPS)
        late = outcome.ended - requests.arrival > requests.within
        missed = late | (outcome.ended < 0) | (outcome.shed == 1)
        return int(np.count_nonzero(missed)) <= most_missed

    return few


def _blank(count: int) -> Outcome:
    return Outcome(
        np.full(count, -1, np.int64), np.full(count, -1, np.int64), np.zeros(count, np.int64)
    )


def _check(tenants: Tenants, requests: Requests, most: int) -> None:
    given = requests.batch == 0
    first = requests.first
    latest = max(
        (
            int(requests.arrival[first[m + 1] - 1])
            for m in np.flatnonzero(given)
            if first[m + 1] > first[m]
        ),
        default=0,
    )
    work = tenants.work
    busy = int(work.fetch.sum() + work.maps.sum() + work.compute.sum())
    if latest + most * busy > MOST_TICKS:
        raise TickError(
            f"{most} requests up to tick {latest} may take more than 2**60 ticks of one fetched "
            "byte; simulate fewer or earlier requests"
        )
