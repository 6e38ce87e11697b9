"""Periods of networks that run alone: ticks between two ends of queries, with prefetch.

Both engines repeat what they did once they stand as they stood before, relative to the clock: from
then on the period is exact. A queue that takes too many queries to settle is measured instead.
"""

from dataclasses import dataclass

import numpy as np

from archloom.evaluators.jit import compiled, helper

from ...arrays import Floats, Ints
from ..engines import (
    DONE,
    FETCHED,
    HEAD,
    LAG,
    TAIL,
    Engines,
    lead,
    new_engines,
    queue_room,
    run_layer,
)
from ..ticks import Ticks
from .resources import demands


@dataclass(frozen=True, eq=False)
class Periods:
    """Periods of each chain where nothing else runs.

    Attributes:
        measured: float64[k], ticks of a query in a long run; exact where the engines settle.
        least: float64[k], no long run has a period below it; the same where they settle.
    """

    measured: Floats
    least: Floats


@helper
def _stands_as(engines: Engines, then: Ints, places: Ints, lags: Ints) -> bool:
    """Whether engines stand as when a copy was made of them, relative to what they have done."""
    state = engines.state
    long = state[TAIL] - state[HEAD]
    if long != then[TAIL] or lead(engines) != then[DONE] - then[FETCHED] - then[LAG]:
        return False
    moved, later = state[FETCHED] - then[FETCHED], state[LAG] - then[LAG]
    for i in range(long):
        at = state[HEAD] + i
        if engines.places[at] - moved != places[i] or engines.lags[at] - later != lags[i]:
            return False
    return True


@helper
def _copy(engines: Engines, then: Ints, places: Ints, lags: Ints) -> None:
    state = engines.state
    for i in range(len(then)):
        then[i] = state[i]
    then[HEAD], then[TAIL] = 0, state[TAIL] - state[HEAD]
    for i in range(then[TAIL]):
        places[i], lags[i] = engines.places[state[HEAD] + i], engines.lags[state[HEAD] + i]


@helper
def _run_query(engines: Engines, work: Ticks, begin: int, end: int) -> None:
    for part in range(begin, end):
        run_layer(engines, work.fetch[part], work.maps[part], work.compute[part], work.buffer)


@compiled
def _periods(work: Ticks, buffers: int, queries: int, most_steps: int) -> Floats:
    """Return measured and least periods; the least is 0 where nothing is known of it."""
    first = work.first
    periods = np.zeros((2, len(first) - 1))
    then = np.zeros(5, np.int64)
    room = queue_room(work)
    places, lags = np.empty(room, np.int64), np.empty(room, np.int64)
    for m in range(len(first) - 1):
        begin, end = first[m], first[m + 1]
        weights, moved = work.fetch[begin:end].sum(), work.maps[begin:end].sum()
        count = max(queries, buffers * work.buffer // max(1, weights))
        count = 2 * max(1, min(count, most_steps // (end - begin)) // 2)
        engines = new_engines(room)
        half, kept = 0, 0
        for query in range(1, count + 1):
            _run_query(engines, work, begin, end)
            if kept and _stands_as(engines, then, places, lags):
                periods[:, m] = (engines.state[DONE] - then[DONE]) / (query - kept)
                break
            # Brent's way to find a cycle of any length: look back at powers of two
            if query & (query - 1) == 0:
                _copy(engines, then, places, lags)
                kept = query
            if query == count // 2:
                half = engines.state[DONE]
        else:
            periods[0, m] = (engines.state[DONE] - half) / (count - count // 2)
            # a cold start costs no more than the fetch of a buffer
            if moved == 0:
                periods[1, m] = (engines.state[DONE] - work.buffer) / count
    return periods


@compiled
def rest_alone(work: Ticks, begin: int, end: int) -> int:
    """Return how long the layers from one on take where nothing else runs, from a cold start."""
    engines = new_engines(queue_room(work))
    _run_query(engines, work, begin, end)
    done: int = engines.state[DONE]
    return done


def periods_alone(work: Ticks) -> Periods:
    """Return the periods of each chain where nothing else runs.

    Layers of the next query are fetched while the last ones of a query run, as everywhere. Where
    the engines do not settle within 64 buffers of weights and 16 queries, the second half of these
    is measured.
    """
    measured, least = _periods(work, 64, 16, 2_000_000)
    return Periods(measured, least)


def isolated_ticks(work: Ticks) -> Floats:
    """Return float64[k]: ticks between queries of each chain where nothing else runs."""
    # no measured period is below what the busier engine needs
    return np.maximum(np.maximum(periods_alone(work).measured, demands(work).max(axis=1)), 1.0)
