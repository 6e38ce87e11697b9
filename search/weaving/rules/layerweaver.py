"""The greedy scheduler of Layerweaver, as printed (Oh et al., HPCA 2021).

Each step takes the layer of least idle time (Section III-D): idle time of the array, idle time of
the fetch engine beyond what the layer has wherever it stands, and the array's potential idle time
for the largest layer that may follow.
"""

from typing import NamedTuple

import numpy as np

from archloom.evaluators import Bools, Ints
from archloom.evaluators.jit import allocating, compiled, helper
from archloom.evaluators.weaving import (
    DONE,
    FETCHED,
    HEAD,
    TAIL,
    Engines,
    Ticks,
    inherent_idle,
    lag_after,
    lead,
    new_engines,
    queue_room,
    wait_until,
)

from .run import Run, goes_on, take


class Greedy(NamedTuple):
    """How idle time counts, and what is known of the chains.

    Attributes:
        computes: bool[k], chains that compute longer than they fetch.
        additional: whether only idle time counts that the fetch engine would not have otherwise;
            as printed, all that could be fetched until the array is free counts.
        pause: whether scheduling rests at each end of a query until all that was scheduled is
            done (``CheckEnd`` in Fig. 7): nothing is fetched ahead across it.
    """

    computes: Bools
    additional: bool
    pause: bool


@helper
def fetchable(engines: Engines, after: int, lag: int, most: int) -> int:
    """Return what could be fetched until the array is free, beyond the bytes up to ``after``.

    Lines 10 to 18 of Fig. 9, with ``<=`` in line 14 (docs/explanation/weaving.md says why).

    Args:
        engines: before the layer.
        after: bytes fetched with the layer.
        lag: that of the fetch of the layer.
        most: position up to which there is room before the layer is done.
    """
    state, places, lags = engines.state, engines.places, engines.lags
    free = state[DONE]
    at, tail = state[HEAD], state[TAIL]
    while at < tail and places[at] < after:
        at += 1
    while at < tail and places[at] + lag < free and places[at] < most:
        lag = max(lag, lags[at])
        at += 1
    return max(0, min(free - lag, most) - after)


@compiled
def greedy_steps(run: Run, rule: Greedy, release: Ints) -> int:
    """Choose by least idle time; return the number of steps.

    ``release`` gets the tick before which nothing is fetched for each step, where scheduling
    pauses; it is not touched otherwise.
    """
    queries = run.queries
    largest = largest_of(run.work)
    idle = np.empty((len(queries), 4), np.int64)
    engines = new_engines(queue_room(run.work))
    resume = 0
    step = 0
    while goes_on(run, engines, step):
        if rule.pause:
            wait_until(engines, resume)
            release[step] = resume
        m = greedy_choice(run, engines, rule, largest, idle)
        if m < 0:
            break
        left = queries[m]
        take(run, engines, step, m)
        step += 1
        if queries[m] < left:
            resume = engines.state[DONE]
    return step


@allocating
def largest_of(work: Ticks) -> Ints:
    """Return int64[k], the ticks of the longest fetch of each chain."""
    largest = np.zeros(len(work.first) - 1, np.int64)
    for m in range(len(largest)):
        for part in range(work.first[m], work.first[m + 1]):
            largest[m] = max(largest[m], work.fetch[part] + work.maps[part])
    return largest


@helper
def greedy_choice(run: Run, engines: Engines, rule: Greedy, largest: Ints, idle: Ints) -> int:
    """Return the chain whose layer goes next; -1 if no chain has queries left.

    Args:
        run: what is left.
        engines: both engines now.
        rule: how idle time counts.
        largest: int64[k] of :func:`largest_of`.
        idle: int64[k, 4], written over.
    """
    queries = run.queries
    most = 0
    for m in range(len(queries)):
        if queries[m] > 0:
            most = max(most, largest[m])
    all_compute, all_memory = True, True
    for m in range(len(queries)):
        if queries[m] > 0:
            _idle_times(run, rule, engines, m, most, idle[m])
            all_compute &= idle[m, 2] > 0
            all_memory &= idle[m, 3] > 0
    # starvation prevention: the chain whose next layers will be of the missing kind
    chosen = -1
    if all_compute:
        chosen = _least(idle, queries, rule.computes, 1)
    elif all_memory:
        chosen = _least(idle, queries, rule.computes, 0)
    return chosen if chosen >= 0 else _least(idle, queries, rule.computes, -1)


@helper
def _idle_times(run: Run, rule: Greedy, engines: Engines, m: int, most: int, idle: Ints) -> None:
    """Set what the next layer of a chain costs.

    ``idle`` gets the total, the tie breaker (less the lead afterwards, and more than any lead if
    idle time is inherent), and the shares of the array and of the fetch engine.
    """
    work, state, part = run.work, engines.state, run.position[m]
    fetch, maps, compute = work.fetch[part], work.maps[part], work.compute[part]
    lag = lag_after(engines, fetch, maps)
    after = state[FETCHED] + fetch
    fetched = after + lag
    done = max(state[DONE], fetched) + compute
    of_array = max(0, fetch + maps - lead(engines))
    room = state[FETCHED] + work.buffer
    of_memory = fetchable(engines, after, lag, room) if fetched < state[DONE] else 0
    inherent = inherent_idle(work, part)
    if rule.additional:
        of_memory = max(0, compute - (work.buffer - fetch - of_memory)) - inherent
    potential = max(0, most - (done - fetched))
    idle[0] = of_array + of_memory + potential
    idle[1] = fetched - done
    if idle[0] == 0 and inherent > 0:
        idle[1] += 2**61
    idle[2], idle[3] = of_array, of_memory


@helper
def _least(idle: Ints, queries: Ints, computes: Bools, kind: int) -> int:
    """Return the chain of least idle time, of those that compute longer (1), fetch longer (0), or
    of all (-1); -1 if none is left.
    """
    best = -1
    for m in range(len(queries)):
        if queries[m] > 0 and (kind < 0 or computes[m] == (kind > 0)):
            better = best < 0 or idle[m, 0] < idle[best, 0]
            if better or (idle[m, 0] == idle[best, 0] and idle[m, 1] < idle[best, 1]):
                best = m
    return best
