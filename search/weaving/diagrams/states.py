"""States of partial schedules: what later layers depend on, and which states are needless.

In a cell (so many layers done of each chain) the bytes fetched are the same for all orders. What
differs is when the last layer is done, C, and the least lag of the stream of weights beyond each
position x: E(x) = max(lag, lags of the queue at positions below x). One state dominates another in
its cell if C <= C' and E(x) <= E'(x) for all x: every later time stamp is a maximum of sums of
these, so whatever follows is done no later (docs/explanation/weaving.md, "States").
"""

from typing import NamedTuple

import numpy as np

from archloom.evaluators import Ints
from archloom.evaluators.jit import allocating, helper


class States(NamedTuple):
    """States, one a row; their queues stand in one pool.

    Attributes:
        cell: int64[n], number of the cell.
        fetched: int64[n], bytes of weights of the layers done.
        lag: int64[n], of the last fetch.
        done: int64[n], when the last layer is done.
        bound: int64[n], no schedule from here is done before.
        rank: int64[n], sum of three bounds; breaks ties.
        parent: int64[n], number of the step that led here; -1 at the start.
        chain: int64[n], whose layer was the last.
        begin, end: int64[n], the queue in the pool.
        places, lags: int64[room], the pool.
        used: int64[2], states, and words of the pool.
    """

    cell: Ints
    fetched: Ints
    lag: Ints
    done: Ints
    bound: Ints
    rank: Ints
    parent: Ints
    chain: Ints
    begin: Ints
    end: Ints
    places: Ints
    lags: Ints
    used: Ints


@allocating
def new_states(count: int, room: int) -> States:
    """Return no states, with space for so many and for queues of so many entries in all."""
    rows = np.empty((10, count), np.int64)
    pool = np.empty((2, room), np.int64)
    return States(
        rows[0],
        rows[1],
        rows[2],
        rows[3],
        rows[4],
        rows[5],
        rows[6],
        rows[7],
        rows[8],
        rows[9],
        pool[0],
        pool[1],
        np.zeros(2, np.int64),
    )


@helper
def dominates(states: States, a: int, b: int) -> bool:
    """Whether state ``a`` makes state ``b`` of the same cell needless."""
    if states.done[a] > states.done[b] or states.lag[a] > states.lag[b]:
        return False
    at, end = states.begin[b], states.end[b]
    least = states.lag[b]
    for i in range(states.begin[a], states.end[a]):
        while at < end and states.places[at] <= states.places[i]:
            least = states.lags[at]
            at += 1
        if states.lags[i] > least:
            return False
    return True


@helper
def meet(states: States, a: int, b: int) -> int:
    """Append the state that dominates two of one cell and nothing more than it must; return it.

    Its schedule is none: it stands for both in a relaxation.
    """
    into = states.used[0]
    begin = states.used[1]
    states.cell[into], states.fetched[into] = states.cell[a], states.fetched[a]
    states.lag[into] = min(states.lag[a], states.lag[b])
    states.done[into] = min(states.done[a], states.done[b])
    states.bound[into] = min(states.bound[a], states.bound[b])
    states.rank[into] = min(states.rank[a], states.rank[b])
    states.parent[into], states.chain[into] = states.parent[a], states.chain[a]
    i, j = states.begin[a], states.begin[b]
    of_a, of_b, last, at = states.lag[a], states.lag[b], states.lag[into], begin
    while i < states.end[a] or j < states.end[b]:
        from_a = j == states.end[b]
        if not from_a and i < states.end[a]:
            from_a = states.places[i] <= states.places[j]
        if from_a:
            place, of_a = states.places[i], states.lags[i]
            i += 1
        else:
            place, of_b = states.places[j], states.lags[j]
            j += 1
        least = min(of_a, of_b)
        if least > last:
            if at > begin and states.places[at - 1] == place:
                at -= 1
            states.places[at], states.lags[at] = place, least
            at, last = at + 1, least
    states.begin[into], states.end[into] = begin, at
    states.used[0], states.used[1] = into + 1, at
    return into
