"""Schedules on a chip whose map buffer is too small for all networks at once.

A paused network keeps the maps that later layers of it read. While a layer runs, its own maps and
those of all paused networks must fit. If they do not, paused ones are written out, the largest
first, and read back before their next layer. Both take the pins, in the order of the schedule: a
network's maps are written when its last layer is done, and read when the layer before its next one
is done, for they need room. That is an assumption on the safe side: maps might come back earlier
where there is room. Every schedule under it can be run, so its makespan is an upper bound; time
stamps grow by it, so all lower bounds stand.
"""

import numpy as np

from archloom.evaluators.jit import compiled

from ..arrays import Ints
from .engines import FETCHED, LAG, new_engines, queue_room, run_layer, wait_until
from .ticks import Ticks


def may_spill(work: Ticks) -> bool:
    """Whether some order of the chains may need more room for maps than there is."""
    if not work.maps_bounded or work.chains == 1:
        return False
    largest = np.maximum(work.footprint, work.live)
    spans = zip(work.first[:-1].tolist(), work.first[1:].tolist(), strict=True)
    needed = sum(int(largest[begin:end].max(initial=0)) for begin, end in spans)
    return needed > work.map_buffer


@compiled
def spilled_stamps(
    work: Ticks, parts: Ints, chain: Ints, release: Ints, fetched: Ints, done: Ints
) -> int:
    """Set the time stamps of a schedule; return the bytes that were written out.

    Each layer alone fits (:func:`archloom.evaluators.weaving.ticked`). Arguments are those of
    :class:`archloom.evaluators.weaving.Order` and ``Stamps``.
    """
    chains = len(work.first) - 1
    engines = new_engines(queue_room(work))
    # of each chain: the maps that it keeps, whether they are off chip, when its last layer is done
    kept, ended = np.zeros(chains, np.int64), np.zeros(chains, np.int64)
    out = np.zeros(chains, np.bool_)
    written = 0
    for step in range(len(parts)):
        part, m = parts[step], chain[step]
        if len(release):
            wait_until(engines, release[step])
        needed = max(work.footprint[part], max(work.live[part], kept[m]))
        for other in range(chains):
            if other != m and not out[other]:
                needed += kept[other]
        moved = work.maps[part]
        while needed > work.map_buffer:
            largest = -1
            for other in range(chains):
                held = other != m and not out[other] and kept[other] > 0
                if held and (largest < 0 or kept[other] > kept[largest]):
                    largest = other
            out[largest] = True
            needed -= kept[largest]
            written += kept[largest]
            wait_until(engines, ended[largest])
            moved += kept[largest]
        if out[m]:
            out[m] = False
            wait_until(engines, ended[chain[step - 1]])
            moved += kept[m]
        done[step] = run_layer(engines, work.fetch[part], moved, work.compute[part], work.buffer)
        fetched[step] = engines.state[FETCHED] + engines.state[LAG]
        kept[m], ended[m] = work.live[part], done[step]
    return written
