"""Stream of several networks in given shares: none gets further ahead of the others than agreed.

A query of a network is begun only while its share of the work that was asked for is no further than
the others', and a layer runs only if the maps that paused networks keep leave room for it, now and
until every open query has ended (the banker's algorithm: Dijkstra, EWD 623, 1977). So no map is
spilled, and the stream cannot get stuck. What is left is decided as by :mod:`.rules.strings`.
"""

from typing import NamedTuple

import numpy as np

from archloom.evaluators import Ints
from archloom.evaluators.jit import allocating, compiled, helper
from archloom.evaluators.weaving import (
    DONE,
    Engines,
    Ticks,
    lead,
    new_engines,
    queue_room,
    run_layer,
)

from .rules import string_rank

#: target of a stream that runs one query after another
SERIAL = -1


class Mix(NamedTuple):
    """What a stream is asked for.

    Attributes:
        queries: int64[k], of each chain, in all.
        ahead: queries that a chain may begin before its turn.
        needs: int64[n], lead that the string at each layer needs (:func:`.rules.strings.deficits`).
        target: lead up to which strings are taken; :data:`SERIAL` for one query after another.
    """

    queries: Ints
    ahead: int
    needs: Ints
    target: int


class Progress(NamedTuple):
    """Where each chain stands.

    Attributes:
        begun: int64[k], queries so far, the open one with them.
        part: int64[k], the next layer.
        live: int64[k], bytes of maps that an open query keeps; 0 if none is open.
        peak: int64[n], largest footprint from each layer to the end of a query, as far as it fits.
        closed: int64[k], of the banker: chains that have ended.
    """

    begun: Ints
    part: Ints
    live: Ints
    peak: Ints
    closed: Ints


@allocating
def _start(work: Ticks) -> Progress:
    chains = len(work.first) - 1
    peak = np.minimum(work.footprint, work.map_buffer)
    for m in range(chains):
        for part in range(work.first[m + 1] - 2, work.first[m] - 1, -1):
            peak[part] = max(peak[part], peak[part + 1])
    none = np.zeros(chains, np.int64)
    return Progress(none, work.first[:-1].copy(), none.copy(), peak, none.copy())


@helper
def _turn(m: int, work: Ticks, mix: Mix, progress: Progress) -> bool:
    """Whether a chain may run its next layer, as far as shares are concerned."""
    if progress.part[m] > work.first[m]:
        return True
    mine = progress.begun[m]
    if mine == mix.queries[m]:
        return False
    for other in range(len(mix.queries)):
        # in the same stretch of the whole stream, or so many queries before it
        if (mine - mix.ahead) * mix.queries[other] > progress.begun[other] * mix.queries[m]:
            return False
    return True


@helper
def _fits(m: int, work: Ticks, progress: Progress) -> bool:
    """Whether the maps of all open queries have room if a chain runs its next layer, and can all
    be brought to their ends afterwards, one after another."""
    part, live, closed = progress.part[m], progress.live, progress.closed
    chains = len(live)
    held = 0
    for other in range(chains):
        if other != m:
            held += live[other]
    if held + min(work.footprint[part], work.map_buffer) > work.map_buffer:
        return False
    before = live[m]
    last = part + 1 == work.first[m + 1]
    live[m] = 0 if last else work.live[part]
    held += live[m]
    left = 0
    for other in range(chains):
        is_open = (other == m and not last) or (
            other != m and progress.part[other] > work.first[other]
        )
        closed[other] = 0 if is_open else 1
        left += is_open
    found = True
    while left and found:
        found = False
        for other in range(chains):
            follows = part + 1 if other == m else progress.part[other]
            if not closed[other] and (
                held - live[other] + progress.peak[follows] <= work.map_buffer
            ):
                closed[other], found = 1, True
                held -= live[other]
                left -= 1
    live[m] = before
    return left == 0


@helper
def _chosen(work: Ticks, mix: Mix, progress: Progress, engines: Engines) -> int:
    """Return the chain whose next layer runs; -1 once all have ended."""
    chains = len(mix.queries)
    if mix.target == SERIAL:
        best = -1
        for m in range(chains):
            if progress.part[m] > work.first[m]:
                return m
            if _turn(m, work, mix, progress) and (
                best < 0
                or progress.begun[m] * mix.queries[best] < progress.begun[best] * mix.queries[m]
            ):
                best = m
        return best
    low = lead(engines) <= mix.target
    best, least = -1, (2, 0)
    for m in range(chains):
        if _turn(m, work, mix, progress) and _fits(m, work, progress):
            rank = string_rank(work, mix.needs, progress.part[m], low)
            if rank < least:
                best, least = m, rank
    return best


@compiled
def stream_order(work: Ticks, mix: Mix, order: Ints) -> int:
    """Write the order of a stream of all queries of a mix; return when the last of them is done.

    Args:
        work: the chains.
        mix: what is asked for.
        order: int64[steps], whose layer runs at each step.
    """
    progress, engines = _start(work), new_engines(queue_room(work))
    for step in range(len(order)):
        m = _chosen(work, mix, progress, engines)
        order[step] = m
        part = progress.part[m]
        if part == work.first[m]:
            progress.begun[m] += 1
        run_layer(engines, work.fetch[part], work.maps[part], work.compute[part], work.buffer)
        if part + 1 == work.first[m + 1]:
            progress.part[m], progress.live[m] = work.first[m], 0
        else:
            progress.part[m], progress.live[m] = part + 1, work.live[part]
    done: int = engines.state[DONE]
    return done
