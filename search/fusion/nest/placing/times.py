"""When the iterations of a nest end: fill, drain and waits, as the cost of a nest has them."""

import numpy as np

from archloom.evaluators import Floats
from archloom.evaluators.jit import allocating, helper
from archloom.search.fusion.nest.estimates import GroupArrays
from archloom.space.fusion import STREAMED

from .group_loops import PlacedBuffer, PlacedGroup, PlacedLoops
from .iterations import Walk


@allocating
def iteration_times(
    group: PlacedGroup, loops: PlacedLoops, walk: Walk, buffer: PlacedBuffer, layer_cycles: Floats
) -> Floats:
    """Time of all that each iteration stands for, as ``iteration_cycles`` has it."""
    n, rate, port = len(walk.times), buffer.rate, buffer.port
    body, dram = np.zeros(n), np.zeros(n)
    for m in range(len(layer_cycles)):
        _add_layer(group, loops, walk, buffer, layer_cycles, m, body, dram)
    idle, early, store = np.zeros(n), np.zeros(n), np.zeros(n)
    found = np.zeros(n)
    for cell in range(n):
        early[cell] = np.ceil(walk.ahead[cell] / rate)
        store[cell] = np.ceil(walk.behind[cell] / rate)
        dram[cell] = dram[cell] + early[cell] + store[cell]
        # the first fetch and the last store overlap with the iterations that they belong to
        if cell == 0:
            dram[cell] += np.ceil(walk.fetched[cell] / rate)
        if cell == n - 1:
            dram[cell] += np.ceil(walk.stored[cell] / rate)
        through = np.ceil((walk.fetched[cell] + walk.stored[cell]) / port)
        busy = max(body[cell], through)
        idle[cell] = busy - dram[cell]
        found[cell] = max(busy, dram[cell])
    _spare(walk, idle, early, store, found)
    for cell in range(n):
        waiting = 0.0
        if cell > 0:
            waiting += np.ceil((walk.fetched[cell] - walk.ahead[cell - 1]) / rate)
        if cell < n - 1:
            waiting += np.ceil((walk.stored[cell] - walk.behind[cell + 1]) / rate)
        found[cell] = (found[cell] + waiting) * walk.times[cell]
    return found


@helper
def _add_layer(
    group: PlacedGroup,
    loops: PlacedLoops,
    walk: Walk,
    buffer: PlacedBuffer,
    layer_cycles: Floats,
    m: int,
    body: Floats,
    streamed: Floats,
) -> None:
    """Add cycles of a member's tiles, and of DRAM for what streams to it, to each iteration."""
    whole, users = 0.0, group.users.shape[1]
    for cell in range(len(body)):
        whole += _work(group.flags, loops, walk, m, cell) * walk.times[cell]
    for cell in range(len(body)):
        chip = layer_cycles[m] * _work(group.flags, loops, walk, m, cell) / whole
        dram = 0.0
        for n in range(users if walk.runs[m, cell] else 0):
            t = group.users[m, n]
            if t >= 0 and loops.depth[t] == STREAMED:
                dram += walk.pieces[t, cell] * buffer.sent[t] / buffer.rate
        body[cell] += max(chip, dram)
        streamed[cell] += dram


@helper
def _work(flags: GroupArrays, loops: PlacedLoops, walk: Walk, m: int, cell: int) -> float:
    """How much of a member's work an iteration has, in indices of its loops."""
    work = 1.0 if walk.runs[m, cell] else 0.0
    for at in range(len(loops.rank)):
        if flags.own[m, loops.rank[at]]:
            work *= loops.covers[at, walk.place[at, cell]]
    return work


@helper
def _spare(walk: Walk, idle: Floats, fetch: Floats, store: Floats, found: Floats) -> None:
    """Take off cycles that each iteration need not wait for DRAM, since its neighbours leave DRAM
    idle and the buffer has room; ``idle`` is below 0 where DRAM takes longest."""
    n = len(idle)
    before, after = 0.0, 0.0
    for cell in range(1, n - 1):
        late = max(-idle[cell], 0.0)
        before = after = 0.0
        # words for the next iteration that come in the one before rather than in this one
        if walk.ahead[cell] <= walk.room[cell - 1]:
            before = min(min(late, fetch[cell]), max(idle[cell - 1], 0.0))
        # words that left after the last iteration, in the next one
        if walk.behind[cell] <= walk.room[cell + 1]:
            free = max(idle[cell + 1], 0.0) - _sooner(walk, idle, fetch, cell + 2)
            after = min(min(late - before, store[cell]), free)
        found[cell] -= before + after


@helper
def _sooner(walk: Walk, idle: Floats, fetch: Floats, cell: int) -> float:
    """Cycles that an iteration spares since words for the next one come in the one before."""
    if not 0 < cell < len(idle) - 1 or walk.ahead[cell] > walk.room[cell - 1]:
        return 0.0
    sooner: float = min(min(max(-idle[cell], 0.0), fetch[cell]), max(idle[cell - 1], 0.0))
    return sooner
