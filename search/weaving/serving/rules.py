"""Rules that choose whose next layer runs, as parts of the kernel.

A rule is asked when the fetch engine is free. It sees the next layer of each network that has a
request waiting, and the engines; it never looks further. Where it sees no difference, the first
network in order comes first.
"""

from typing import Final, NamedTuple

from archloom.evaluators import Ints
from archloom.evaluators.jit import helper
from archloom.evaluators.weaving import (
    DONE,
    FETCHED,
    HEAD,
    TAIL,
    Engines,
    Ticks,
    lag_after,
    lead,
)

FCFS: Final = 0
EDF: Final = 1
LAYERWEAVER: Final = 2
EXACT_IDLE: Final = 3
STRINGS: Final = 4

NOBODY: Final = -1


class Heads(NamedTuple):
    """The next layer of each network, and the request that it belongs to.

    Attributes:
        part: int64[k], row of :class:`~archloom.evaluators.weaving.Ticks`; -1 if none waits.
        arrival: int64[k], ticks.
        deadline: int64[k], ticks.
    """

    part: Ints
    arrival: Ints
    deadline: Ints


class Facts(NamedTuple):
    """What rules know of the networks before any request comes.

    Attributes:
        need: int64[parts], lead that the layers from here on need until they pay for themselves;
            -1 if they never do.
        gain: int64[parts], ticks by which the array works longer on the layer than its bytes take.
        rest: int64[parts], ticks of the busier engine for this layer and those after it.
        largest: int64[k], most bytes that a layer of the network moves.
        computes: int64[k], 1 if the network takes longer to compute than to fetch.
        low: ticks of lead up to which ``strings`` builds up more.
    """

    need: Ints
    gain: Ints
    rest: Ints
    largest: Ints
    computes: Ints
    low: int


@helper
def earliest(heads: Heads, times: Ints) -> int:
    """Return the network with the least time."""
    chosen = NOBODY
    for m in range(len(heads.part)):
        if heads.part[m] != NOBODY and (chosen == NOBODY or times[m] < times[chosen]):
            chosen = m
    return chosen


@helper
def least_slack(heads: Heads, facts: Facts, now: int, window: int) -> int:
    """Return the network whose request has the least time to spare, if that is below a window."""
    chosen, least = NOBODY, window
    for m in range(len(heads.part)):
        if heads.part[m] != NOBODY:
            slack = heads.deadline[m] - now - facts.rest[heads.part[m]]
            if slack < least:
                chosen, least = m, slack
    return chosen


@helper
def by_strings(engines: Engines, heads: Heads, facts: Facts) -> int:
    """Return the network that keeps the lead near its target.

    While the lead is low: the network whose next layers pay for themselves with the least lead.
    While it is high: of those that never pay, the layer that spends most. If there is none of the
    wanted kind, the layer that comes nearest to it.
    """
    rising = lead(engines) <= facts.low
    chosen, wanted, best = NOBODY, False, 0
    for m in range(len(heads.part)):
        part = heads.part[m]
        if part == NOBODY:
            continue
        gain = facts.gain[part]
        fits = (facts.need[part] >= 0) == rising
        value = gain if rising else -gain
        if fits and rising:
            value = -facts.need[part]
        if chosen == NOBODY or (fits and not wanted) or (fits == wanted and value > best):
            chosen, wanted, best = m, fits, value
    return chosen


@helper
def fetched_until(work: Ticks, engines: Engines, part: int, lag: int) -> int:
    """Return how many bytes after a layer could be fetched until the layers before it are done.

    ``fetch(S'[t_m], S[t_c])`` of the Layerweaver paper, Section III-D: the layer itself keeps its
    weights meanwhile, each of those before it frees its own when it is done.
    """
    state, places, lags = engines.state, engines.places, engines.lags
    until, after = state[DONE], state[FETCHED] + work.fetch[part]
    reached = until - lag
    for at in range(state[HEAD], state[TAIL]):
        if places[at] < after:
            continue
        if reached <= places[at]:
            break
        reached = min(reached, max(places[at], until - lags[at]))
    return max(0, min(reached, state[FETCHED] + work.buffer) - after)


@helper
def by_idle_time(
    work: Ticks, engines: Engines, heads: Heads, facts: Facts, exact: bool, now: int
) -> int:
    """Return the network whose layer makes the engines idle least (Section III-D of the paper).

    As printed, all that could be fetched while the layers before are computed counts as idle time
    of the fetch engine; ``exact`` counts what the decision adds to the layer's inherent idle time.
    """
    largest, waiting = 0, 0
    for m in range(len(heads.part)):
        if heads.part[m] != NOBODY:
            largest = max(largest, facts.largest[m])
            waiting += 1
    # of all, of networks that are compute-bound, and of those that are not
    chosen = (NOBODY, NOBODY, NOBODY)
    best = ((0, 0, 0), (0, 0, 0), (0, 0, 0))
    starved, stalled = True, True
    for m in range(len(heads.part)):
        part = heads.part[m]
        if part == NOBODY:
            continue
        fetch, compute = work.fetch[part], work.compute[part]
        lag = lag_after(engines, fetch, work.maps[part])
        fetched = engines.state[FETCHED] + fetch + lag
        done = max(engines.state[DONE], fetched) + compute
        waits = max(0, fetch + work.maps[part] - max(0, engines.state[DONE] - now))
        blocks = fetched_until(work, engines, part, lag)
        inherent = compute + fetch - work.buffer
        if exact:
            blocks = max(0, inherent + blocks) - max(0, inherent)
        starved, stalled = starved and waits > 0, stalled and blocks > 0
        idle = waits + blocks + max(0, largest - (done - fetched))
        # only of layers without any idle time those come first that have none wherever they stand
        value = (idle, int(idle == 0 and inherent > 0), fetched - done)
        if chosen[0] == NOBODY or value < best[0]:
            chosen, best = (m, chosen[1], chosen[2]), (value, best[1], best[2])
        if facts.computes[m]:
            if chosen[1] == NOBODY or value < best[1]:
                chosen, best = (chosen[0], m, chosen[2]), (best[0], value, best[2])
        elif chosen[2] == NOBODY or value < best[2]:
            chosen, best = (chosen[0], chosen[1], m), (best[0], best[1], value)
    if starved and chosen[1] != NOBODY:
        return chosen[1]
    if stalled and chosen[2] != NOBODY:
        return chosen[2]
    return chosen[0]
