"""Strings: an online rule that spends the lead of the array on layers that fetch much.

Without a limit to the buffer, least makespan is Johnson's two-machine flow shop for chains
(S. M. Johnson, Naval Research Logistics Quarterly 1(1), 1954; J. B. Sidney, Management Science
22(3), 1975): a chain falls into strings, shortest stretches of layers that compute longer than they
fetch, and the string that needs the least lead to hide its fetches goes first. Here strings are
taken while the lead is at most a target, a share of the buffer; above it, layers that fetch longer
than they compute, the largest difference first. What a rule looks through: a layer that only
fetches is worth its wait if computing follows behind it.
"""

import numpy as np

from archloom.evaluators import Ints
from archloom.evaluators.jit import compiled, helper
from archloom.evaluators.weaving import (
    Clock,
    Engines,
    Ticks,
    after_layer,
    lead,
    new_engines,
    queue_room,
)

from .run import Run, advance


@compiled
def deficits(work: Ticks, cyclic: bool) -> Ints:
    """Return int64[n]: the lead that the string which begins at each layer needs; -1 if none does.

    The shortest stretch from that layer on which computes longer than it fetches needs the most
    that fetches up to one of its layers exceed computing before it. ``cyclic``: the first layer
    follows on the last.
    """
    found = np.full(work.first[-1], -1, np.int64)
    for m in range(len(work.first) - 1):
        begin, end = work.first[m], work.first[m + 1]
        for at in range(begin, end):
            fetches, computes, need = 0, 0, 0
            part = at
            for _ in range(end - begin if cyclic else end - at):
                fetches += work.fetch[part] + work.maps[part]
                need = max(need, fetches - computes)
                computes += work.compute[part]
                if computes > fetches:
                    found[at] = need
                    break
                part = part + 1 if part + 1 < end else begin
    return found


@helper
def strings_choice(run: Run, engines: Engines, needs: Ints, target: int) -> int:
    """Return the chain whose layer goes next; -1 if no chain has queries left.

    At most ``target`` ticks of lead: the string of least need. Above: of the layers that begin no
    string, the one that fetches most beyond its computing. If there is none of the wanted kind, the
    layer of the other kind that does the least harm.
    """
    return _chosen(run, needs, lead(engines) <= target)


@helper
def _chosen(run: Run, needs: Ints, low: bool) -> int:
    best, least = -1, (2, 0)
    for m in range(len(run.queries)):
        if run.queries[m]:
            rank = string_rank(run.work, needs, run.position[m], low)
            if rank < least:
                best, least = m, rank
    return best


@helper
def string_rank(work: Ticks, needs: Ints, part: int, low: bool) -> tuple[int, int]:
    """Return the rank of a layer among those that may go next: the least one goes.

    Args:
        work: the chains.
        needs: of :func:`deficits`.
        part: the layer.
        low: whether the lead is at most the target.
    """
    surplus = work.compute[part] - work.fetch[part] - work.maps[part]
    if (needs[part] >= 0) == low:
        return 0, needs[part] if low else surplus
    return 1, -surplus if low else surplus


@compiled
def strings_steps(run: Run, needs: Ints, target: int) -> int:
    """Choose by strings up to a lead of ``target`` ticks; return the number of steps."""
    work = run.work
    queue, clock = new_engines(queue_room(work)), Clock(0, 0, 0, 0, 0)
    step = 0
    while step < len(run.chain) and clock.done < run.horizon:
        m = _chosen(run, needs, clock.done - clock.fetched - clock.lag <= target)
        if m < 0:
            break
        part = run.position[m]
        fetch, maps, compute = work.fetch[part], work.maps[part], work.compute[part]
        clock = after_layer(clock, queue.places, queue.lags, fetch, maps, compute, work.buffer)
        advance(run, step, m)
        step += 1
    return step
