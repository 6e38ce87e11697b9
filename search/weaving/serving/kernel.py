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
from archloom.search.weaving.rules import Run

from .requests import Outcome, Requests, Steps
from .rules import NOBODY, Facts, Heads, choice, least_slack

#: when a request may be turned away
NEVER: Final = 0
AT_START: Final = 1
AT_ARRIVAL: Final = 2

#: of nobody's time to spare
NO_WINDOW: Final = -(2**60)

_LATER: Final = 2**62


class Conduct(NamedTuple):
    """How requests are served.

    Attributes:
        rule: one of :mod:`.rules`.
        window: ticks to spare below which the request with the least goes first; ``NO_WINDOW`` for
            never.
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
        look: int64[k], tick from which its head may be another one, or may be turned away.
        last: int64[k], when the last of its requests so far ended.
        counts: int64[3], requests taken up in all; those missed or shed; networks whose head has
            arrived and is not turned away.
    """

    head: Ints
    seen: Ints
    waiting: Ints
    look: Ints
    last: Ints
    counts: Ints


_TAKEN: Final = 0
_MISSED: Final = 1
_READY: Final = 2


class Server(NamedTuple):
    """All that the loop reads and writes."""

    run: Run
    requests: Requests
    conduct: Conduct
    facts: Facts
    outcome: Outcome
    engines: Engines
    queues: Queues
    heads: Heads


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
    first, zero = requests.first[:-1], np.zeros(chains, np.int64)
    counts = np.zeros(3, np.int64)
    queues = Queues(first.copy(), first.copy(), zero, zero.copy(), zero.copy(), counts)
    heads = Heads(zero.copy(), zero.copy())
    engines = new_engines(conduct.room)
    # of its fields the rules read whose next layer is which, and who has one
    run = Run(work, zero.copy(), work.first[:-1].copy(), _LATER, steps.chain)
    server = Server(run, requests, conduct, facts, outcome, engines, queues, heads)
    return _loop(server, steps)


@helper
def _loop(server: Server, steps: Steps) -> int:
    """Run layers until no request is left; apart, so that records are passed on as they are."""
    engines, counts, most_missed = server.engines, server.queues.counts, server.conduct.most_missed
    state, next_look, ran = engines.state, 0, 0
    while counts[_MISSED] <= most_missed:
        now = state[FETCHED] + state[LAG]
        if now >= next_look:
            next_look = _look_at_all(server, now)
        if counts[_READY] == 0:
            if next_look == _LATER:
                break
            wait_until(engines, next_look)
            continue
        m = _chosen(server, now)
        if len(steps.chain):
            steps.chain[ran], steps.release[ran] = m, now
        ran += 1
        if _run(server, m, now):
            next_look = 0
    return ran


@helper
def _look_at_all(server: Server, now: int) -> int:
    """Look at the networks whose time has come; return when the next one's comes."""
    look = server.queues.look
    next_look = _LATER
    for m in range(len(look)):
        if now >= look[m]:
            _look(server, m, now)
        next_look = min(next_look, look[m])
    return next_look


@helper
def _look(server: Server, m: int, now: int) -> None:
    """Find the next request of a network, after those that are turned away now."""
    requests, outcome, queues, run = server.requests, server.outcome, server.queues, server.run
    shed, begun = server.conduct.shed, run.position[m] > run.work.first[m]
    queues.look[m] = _LATER
    if run.queries[m] and not begun:
        # a head that waits is looked at again
        run.queries[m] = 0
        queues.counts[_READY] -= 1
    while True:
        if shed == AT_ARRIVAL:
            _admit(server, m, now)
        r = queues.head[m]
        if begun or r == requests.first[m + 1]:
            return
        if outcome.shed[r]:
            _close(requests, queues, m, outcome.ended[r])
            continue
        if queues.counts[_TAKEN] == server.conduct.most:
            return
        arrival, deadline = requests.arrival[r], requests.arrival[r] + requests.within[r]
        if arrival > now:
            queues.look[m] = min(queues.look[m], arrival)
            return
        latest = deadline - server.conduct.margin[m]
        if shed == AT_START and now > latest:
            _turn_away(outcome, queues, r, now)
            continue
        if shed == AT_START:
            queues.look[m] = latest + 1
        server.heads.arrival[m], server.heads.deadline[m] = arrival, deadline
        run.queries[m] = 1
        queues.counts[_READY] += 1
        return


@helper
def _admit(server: Server, m: int, now: int) -> None:
    """Turn away those that have arrived and are expected to be late behind their own queue."""
    requests, queues, rest = server.requests, server.queues, server.facts.rest
    begin, part = server.run.work.first[m], server.run.position[m]
    while queues.seen[m] < requests.first[m + 1] and queues.counts[_TAKEN] < server.conduct.most:
        r = queues.seen[m]
        # of a closed loop, the next batch has no arrivals yet
        if requests.arrival[r] > now:
            queues.look[m] = requests.arrival[r]
            return
        queues.seen[m] += 1
        ahead = queues.waiting[m] * rest[begin]
        if part > begin:
            ahead += rest[part]
        if now + ahead + server.conduct.margin[m] > requests.arrival[r] + requests.within[r]:
            _turn_away(server.outcome, queues, r, now)
        else:
            queues.waiting[m] += 1


@helper
def _turn_away(outcome: Outcome, queues: Queues, r: int, now: int) -> None:
    outcome.begun[r], outcome.ended[r], outcome.shed[r] = now, now, 1
    queues.counts[_MISSED] += 1


@helper
def _chosen(server: Server, now: int) -> int:
    """Return the network whose next layer runs."""
    conduct, run = server.conduct, server.run
    if server.queues.counts[_READY] == 1:
        only = 0
        while not run.queries[only]:
            only += 1
        return only
    if conduct.window != NO_WINDOW:
        urgent = least_slack(run, server.heads, server.facts, now, conduct.window)
        if urgent != NOBODY:
            return urgent
    return choice(conduct.rule, run, server.engines, server.heads, server.facts)


@helper
def _run(server: Server, m: int, now: int) -> bool:
    """Run the next layer of a network; return whether heads may have changed."""
    run, queues, work = server.run, server.queues, server.run.work
    part, r = run.position[m], queues.head[m]
    done = run_layer(
        server.engines, work.fetch[part], work.maps[part], work.compute[part], work.buffer
    )
    changed = False
    if part == work.first[m]:
        changed = _begin(server, m, r, now)
    if part + 1 < work.first[m + 1]:
        run.position[m] = part + 1
        return changed
    requests = server.requests
    server.outcome.ended[r] = done
    queues.counts[_MISSED] += done - requests.arrival[r] > requests.within[r]
    queues.counts[_READY] -= 1
    run.position[m], run.queries[m], queues.look[m] = work.first[m], 0, 0
    _close(requests, queues, m, done)
    return True


@helper
def _begin(server: Server, m: int, r: int, now: int) -> bool:
    """Take a request up; return whether it was the last that may be."""
    queues = server.queues
    server.outcome.begun[r] = now
    queues.waiting[m] -= 1
    queues.counts[_TAKEN] += 1
    if server.conduct.shed == AT_START:
        queues.look[m] = _LATER
    if queues.counts[_TAKEN] < server.conduct.most:
        return False
    queues.look[:] = 0
    return True


@helper
def _close(requests: Requests, queues: Queues, m: int, ended: int) -> None:
    """Go to the next request of a network; of a closed loop, let the next batch arrive."""
    queues.last[m] = max(queues.last[m], ended)
    queues.head[m] += 1
    head, end = queues.head[m], requests.first[m + 1]
    batch = requests.batch[m]
    if batch and (head - requests.first[m]) % batch == 0:
        for r in range(head, min(end, head + batch)):
            requests.arrival[r] = queues.last[m]
