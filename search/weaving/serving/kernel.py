"""The event loop: arrivals, admission, the choice of the next layer, and both engines."""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators import Ints
from archloom.evaluators.jit import compiled, helper
from archloom.evaluators.weaving import (
    FETCHED,
    LAG,
    Engines,
    Ticks,
    new_engines,
    run_layer,
    wait_until,
)

from .requests import Outcome, Requests, Steps
from .rules import (
    EDF,
    EXACT_IDLE,
    FCFS,
    NOBODY,
    STRINGS,
    Facts,
    Heads,
    by_idle_time,
    by_strings,
    earliest,
    least_slack,
)

#: when a request may be turned away
NEVER: Final = 0
AT_START: Final = 1
AT_ARRIVAL: Final = 2

_LATER: Final = 2**62


class Conduct(NamedTuple):
    """How requests are served.

    Attributes:
        rule: one of :mod:`.rules`.
        window: ticks to spare below which the request with the least goes first.
        shed: when requests are turned away.
        margin: int64[k], ticks that a request of each network is taken to need.
        most_missed: requests that may be missed or shed before the loop ends early.
        most: requests that are taken up in all.
        room: entries that the engines' queue can have.
    """

    rule: int
    window: int
    shed: int
    margin: Ints
    most_missed: int
    most: int
    room: int


class Queues(NamedTuple):
    """Where each network stands.

    Attributes:
        head: int64[k], its request that runs or is next.
        seen: int64[k], its first request whose arrival has not been looked at.
        waiting: int64[k], requests that were looked at, not turned away and not begun.
        part: int64[k], next layer of the head.
        last: int64[k], when the last of its requests so far ended.
        count: int64[2], requests taken up in all; and those missed or shed.
    """

    head: Ints
    seen: Ints
    waiting: Ints
    part: Ints
    last: Ints
    count: Ints


@compiled
def serve(
    work: Ticks,
    requests: Requests,
    conduct: Conduct,
    facts: Facts,
    outcome: Outcome,
    steps: Steps,
) -> int:
    """Serve requests; return how many layers ran.

    The loop ends when all requests have ended, or more were missed than may be. ``outcome.begun``
    must be -1 for all; it stays so for requests that were neither taken up nor turned away.
    """
    chains = len(work.first) - 1
    engines = new_engines(conduct.room)
    queues = Queues(
        requests.first[:-1].copy(),
        requests.first[:-1].copy(),
        np.zeros(chains, np.int64),
        work.first[:-1].copy(),
        np.zeros(chains, np.int64),
        np.zeros(2, np.int64),
    )
    none = np.empty(chains, np.int64)
    heads = Heads(none, none.copy(), none.copy())
    ran = 0
    while queues.count[1] <= conduct.most_missed:
        now = engines.state[FETCHED] + engines.state[LAG]
        waiting, next_arrival = 0, _LATER
        for m in range(chains):
            heads.part[m] = NOBODY
            r = _next(m, now, work, requests, conduct, facts, outcome, queues)
            if r == NOBODY:
                continue
            if requests.arrival[r] > now:
                next_arrival = min(next_arrival, requests.arrival[r])
                continue
            waiting += 1
            heads.part[m] = queues.part[m]
            heads.arrival[m] = requests.arrival[r]
            heads.deadline[m] = requests.arrival[r] + requests.within[r]
        if waiting == 0:
            if next_arrival == _LATER:
                break
            wait_until(engines, next_arrival)
            continue
        m = _chosen(work, engines, heads, facts, conduct, now)
        if len(steps.chain):
            steps.chain[ran], steps.release[ran] = m, now
        ran += 1
        _run(m, now, work, requests, engines, outcome, queues)
    return ran


@helper
def _next(
    m: int,
    now: int,
    work: Ticks,
    requests: Requests,
    conduct: Conduct,
    facts: Facts,
    outcome: Outcome,
    queues: Queues,
) -> int:
    """Return the next request of a network, after those that are turned away now; -1 for none."""
    end = requests.first[m + 1]
    if queues.part[m] > work.first[m] and conduct.shed != AT_ARRIVAL:
        return queues.head[m]
    while True:
        if conduct.shed == AT_ARRIVAL:
            _look(m, now, work, requests, conduct, facts, outcome, queues)
        r = queues.head[m]
        if queues.part[m] > work.first[m]:
            return r
        if r == end or (outcome.begun[r] == NOBODY and queues.count[0] == conduct.most):
            return NOBODY
        if requests.arrival[r] > now:
            return r
        if conduct.shed == AT_START and (
            now + conduct.margin[m] > requests.arrival[r] + requests.within[r]
        ):
            _turn_away(r, now, outcome, queues)
        if not outcome.shed[r]:
            return r
        _close(m, outcome.ended[r], requests, queues)


@helper
def _look(
    m: int,
    now: int,
    work: Ticks,
    requests: Requests,
    conduct: Conduct,
    facts: Facts,
    outcome: Outcome,
    queues: Queues,
) -> None:
    """Turn away those that have arrived and are expected to be late behind their own queue."""
    while queues.seen[m] < requests.first[m + 1] and queues.count[0] < conduct.most:
        r = queues.seen[m]
        # of a closed loop, the next batch has no arrivals yet
        if requests.arrival[r] > now:
            return
        queues.seen[m] += 1
        ahead = queues.waiting[m] * facts.rest[work.first[m]]
        if queues.part[m] > work.first[m]:
            ahead += facts.rest[queues.part[m]]
        if now + ahead + conduct.margin[m] > requests.arrival[r] + requests.within[r]:
            _turn_away(r, now, outcome, queues)
        else:
            queues.waiting[m] += 1


@helper
def _turn_away(r: int, now: int, outcome: Outcome, queues: Queues) -> None:
    outcome.begun[r], outcome.ended[r], outcome.shed[r] = now, now, 1
    queues.count[1] += 1


@helper
def _chosen(
    work: Ticks, engines: Engines, heads: Heads, facts: Facts, conduct: Conduct, now: int
) -> int:
    """Return the network whose next layer runs."""
    urgent = least_slack(heads, facts, now, conduct.window)
    if urgent != NOBODY:
        return urgent
    rule = conduct.rule
    if rule == FCFS:
        return earliest(heads, heads.arrival)
    if rule == EDF:
        return earliest(heads, heads.deadline)
    if rule == STRINGS:
        return by_strings(work, engines, heads, facts)
    return by_idle_time(work, engines, heads, facts, rule == EXACT_IDLE, now)


@helper
def _run(
    m: int,
    now: int,
    work: Ticks,
    requests: Requests,
    engines: Engines,
    outcome: Outcome,
    queues: Queues,
) -> None:
    """Run the next layer of a network; with its last one, end its request."""
    part, r = queues.part[m], queues.head[m]
    if part == work.first[m]:
        outcome.begun[r] = now
        queues.count[0] += 1
        queues.waiting[m] -= 1
    done = run_layer(engines, work.fetch[part], work.maps[part], work.compute[part], work.buffer)
    if part + 1 < work.first[m + 1]:
        queues.part[m] = part + 1
        return
    queues.part[m] = work.first[m]
    outcome.ended[r] = done
    queues.count[1] += done - requests.arrival[r] > requests.within[r]
    _close(m, done, requests, queues)


@helper
def _close(m: int, ended: int, requests: Requests, queues: Queues) -> None:
    """Go to the next request of a network; of a closed loop, let the next batch arrive."""
    queues.last[m] = max(queues.last[m], ended)
    queues.head[m] += 1
    head, end = queues.head[m], requests.first[m + 1]
    batch = requests.batch[m]
    if batch and (head - requests.first[m]) % batch == 0:
        for r in range(head, min(end, head + batch)):
            requests.arrival[r] = queues.last[m]
