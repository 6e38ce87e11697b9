"""Expansion: all states that follow on one by one more layer, with lower bounds."""

from typing import NamedTuple

from archloom.evaluators import Ints
from archloom.evaluators.jit import helper
from archloom.evaluators.weaving import Ticks, inherent_idle

from .states import States


class Problem(NamedTuple):
    """One query of each chain, and what bounds need.

    Attributes:
        work: the chains.
        strides: int64[k], by how much a cell's number grows with a layer of each chain.
        table: int64[cells], B3 of what is left from each cell; empty if it would be too large.
        left: int64[n, 4], for the layers of a chain from each on: ticks of the array, bytes of
            weights, of maps, inherent idle time.
        total: bytes of weights of all chains.
    """

    work: Ticks
    strides: Ints
    table: Ints
    left: Ints
    total: int


@helper
def fetched_until_done(states: States, s: int, most: int) -> int:
    """Return how many bytes of later weights can be there when the last layer is done."""
    free, lag, after = states.done[s], states.lag[s], states.fetched[s]
    for at in range(states.begin[s], states.end[s]):
        if states.places[at] + lag >= free:
            break
        lag = max(lag, states.lags[at])
    return max(0, min(free - lag - after, most))


@helper
def expand(problem: Problem, upper: int, old: States, s: int, step: int, new: States) -> int:
    """Append the states that follow on one; return how many were pruned.

    Args:
        problem: the chains.
        upper: states whose bound is not below it are pruned.
        old: holds the state.
        s: the state.
        step: its number, which its successors name as their parent.
        new: gets the successors; has room for them.
    """
    work, strides = problem.work, problem.strides
    chains = len(strides)
    pruned = 0
    for m in range(chains):
        length = work.first[m + 1] - work.first[m]
        position = old.cell[s] // strides[m] % (length + 1)
        if position == length:
            continue
        into = new.used[0]
        part = work.first[m] + position
        fetch, maps, compute = work.fetch[part], work.maps[part], work.compute[part]
        before = old.fetched[s]
        after = before + fetch
        lag = old.lag[s] + maps
        at, end = old.begin[s], old.end[s]
        while at < end and (old.places[at] < after or old.lags[at] <= lag):
            lag = max(lag, old.lags[at])
            at += 1
        begin = new.used[1]
        tail = begin
        for i in range(at, end):
            new.places[tail], new.lags[tail] = old.places[i], old.lags[i]
            tail += 1
        done = max(old.done[s], after + lag) + compute
        new.cell[into] = old.cell[s] + strides[m]
        new.fetched[into], new.lag[into], new.done[into] = after, lag, done
        new.parent[into], new.chain[into] = step, m
        new.begin[into] = begin
        place = before + work.buffer
        least = done - place
        # beyond the last byte nothing waits
        binds = least > lag and place < problem.total
        if binds and (tail == begin or least > new.lags[tail - 1]):
            if tail > begin and new.places[tail - 1] == place:
                tail -= 1
            new.places[tail], new.lags[tail] = place, least
            tail += 1
        new.end[into] = tail
        _set_bound(problem, new, into)
        new.bound[into] = max(new.bound[into], old.bound[s])
        if new.bound[into] < upper:
            new.used[0], new.used[1] = into + 1, tail
        else:
            pruned += 1
    return pruned


@helper
def _set_bound(problem: Problem, states: States, s: int) -> None:
    """Set bound and rank of a state (docs/explanation/weaving.md, "Bounds of a state")."""
    work, strides, left = problem.work, problem.strides, problem.left
    cell, lag, done = states.cell[s], states.lag[s], states.done[s]
    compute, weights, maps, idle = 0, 0, 0, 0
    last, last_idle = 2**62, 2**62
    for m in range(len(strides)):
        length = work.first[m + 1] - work.first[m]
        position = cell // strides[m] % (length + 1)
        if position < length:
            part, end = work.first[m] + position, work.first[m + 1] - 1
            compute += left[part, 0]
            weights += left[part, 1]
            maps += left[part, 2]
            idle += left[part, 3]
            last = min(last, work.compute[end])
            last_idle = min(last_idle, work.compute[end] - inherent_idle(work, end))
    if last == 2**62:
        states.bound[s], states.rank[s] = done, done
        return
    fetched = states.fetched[s] + lag
    # bytes that cannot be there when the last layer is done, and the idle time from then on
    early = fetched_until_done(states, s, min(work.buffer, weights))
    waits = max(weights - early + idle + last_idle, weights + maps - (done - fetched) + last)
    by_array = done + max(compute, waits)
    # the lag that the queue forces until the last byte
    final = lag + maps
    if states.end[s] > states.begin[s]:
        final = max(final, states.lags[states.end[s] - 1])
    by_lag = states.fetched[s] + weights + final + last
    by_table = fetched
    if len(problem.table):
        by_table += problem.table[cell]
    states.bound[s] = max(by_array, max(by_lag, by_table))
    states.rank[s] = by_array + by_lag + by_table
