"""Latency of a nest, iteration by iteration (fusion model section 5, fill and drain hidden)."""

from collections.abc import Sequence
from math import ceil

import numpy as np
from numpy.typing import NDArray

from ...arrays import Ints
from .cores import NestCores
from .fit import NestFit, first_of

Grid = NDArray[np.float64]


def nest_cycles(
    cores: NestCores, fits: Sequence[NestFit], body: Grid, streamed: Grid, ports: Sequence[Grid]
) -> int:
    """Return the time of all iterations; see :func:`iteration_cycles`."""
    cycles = iteration_cycles(cores, fits, body, streamed, ports)
    return ceil(float((cycles * cores.times).sum()))


def iteration_cycles(
    cores: NestCores, fits: Sequence[NestFit], body: Grid, streamed: Grid, ports: Sequence[Grid]
) -> Grid:
    """Return float64[n], the time of each of the iterations that are looked at.

    An iteration takes the longest of: its layers one after another, DRAM with what streams and with
    what comes for the next iteration and leaves after the last one, and the words through the
    ports of one core's buffer. What a buffer has no space for comes and leaves in between instead.
    Where DRAM takes longest, it begins in the iteration before and ends in the next one, as far as
    it is idle there and each buffer has room.

    Args:
        cores: what happens in each iteration.
        fits: what of it overlaps, for each walk of the cores.
        body, streamed: float64[n], cycles of the layers that run in each iteration, one after
            another, and of DRAM for what streams to all cores.
        ports: float64[n] for each walk, words through the ports of a core's buffer for layers.
    """
    rate, port = (cores.one.levels[i].bandwidth_words for i in (-1, -2))
    walks = cores.walks
    stored = cores.total(walk.stored.ravel() for walk in walks)
    fetched = _of_all(cores, [walk.fetched.ravel() for walk in walks], cores.common)
    common = [some[1:] for some in cores.common]
    ahead = _of_all(cores, [fit.ahead[:-1] for fit in fits], common)
    behind = cores.total(fit.behind for fit in fits)
    early, late = np.ceil(np.append(ahead, 0) / rate), np.ceil(behind / rate)
    dram = streamed + early + late
    # the first fetch and the last store overlap with the iterations that they belong to
    dram[0] += ceil(fetched[0] / rate)
    dram[-1] += ceil(stored[-1] / rate)
    through = [
        words + walk.fetched.ravel() + walk.stored.ravel()
        for words, walk in zip(ports, walks, strict=True)
    ]
    busy = np.maximum(body, np.ceil(np.max(through, axis=0) / port))
    time = np.maximum(busy, dram) - _spared(fits, busy - dram, early, late)
    waiting = np.zeros_like(time)
    waiting[1:] += np.ceil((fetched[1:] - ahead) / rate)
    waiting[:-1] += np.ceil((stored[:-1] - behind[1:]) / rate)
    cycles: Grid = time + waiting
    return cycles


def _of_all(cores: NestCores, words: Sequence[Ints], common: Sequence[Ints]) -> Ints:
    """int64[n], words that DRAM sends if each core gets so many: of weights that all cores want
    one copy, which come before the rest.

    Args:
        cores: that get them.
        words: int64[n] for each walk.
        common: int64[n] for each walk, of such weights.
    """
    if len(words) == cores.working == 1:
        return words[0]
    once = first_of(common, words)
    shared = [np.where(some > 0, once, 0) for some in common]
    return once + cores.total(own - part for own, part in zip(words, shared, strict=True))


def _spared(fits: Sequence[NestFit], idle: Grid, fetch: Grid, store: Grid) -> Grid:
    """Return cycles that each iteration need not wait for DRAM, since its neighbours leave DRAM
    idle and buffers have room; ``idle`` is below 0 where DRAM takes longest."""
    late, free = np.maximum(-idle, 0.0), np.maximum(idle, 0.0)
    early, after = np.zeros_like(late), np.zeros_like(late)
    # words for iteration i + 1 that come in iteration i - 1 rather than in i
    some = np.minimum(np.minimum(late[1:-1], fetch[1:-1]), free[:-2])
    room = np.all([fit.ahead[1:-1] <= fit.room[:-2] for fit in fits], axis=0)
    early[1:-1] = np.where(room, some, 0.0)
    free[:-1] -= early[1:]
    # words that left after iteration i - 1, in iteration i + 1
    some = np.minimum(np.minimum((late - early)[1:-1], store[1:-1]), free[2:])
    room = np.all([fit.behind[1:-1] <= fit.room[2:] for fit in fits], axis=0)
    after[1:-1] = np.where(room, some, 0.0)
    spared: Grid = early + after
    return spared
