"""Latency of a nest, iteration by iteration (fusion model section 5, fill and drain hidden)."""

from math import ceil

import numpy as np
from numpy.typing import NDArray

from archloom.space.hardware import Hardware

from .fit import NestFit
from .walk import NestWalk

Grid = NDArray[np.float64]


def nest_cycles(
    walk: NestWalk, hardware: Hardware, fit: NestFit, body: Grid, streamed: Grid, ports: Grid
) -> int:
    """Return the time of all iterations; see :func:`iteration_cycles`."""
    cycles = iteration_cycles(walk, hardware, fit, body, streamed, ports)
    return ceil(float((cycles * walk.times.ravel()).sum()))


def iteration_cycles(
    walk: NestWalk, hardware: Hardware, fit: NestFit, body: Grid, streamed: Grid, ports: Grid
) -> Grid:
    """Return float64[n], the time of each of the iterations that are looked at.

    An iteration takes the longest of: its layers one after another, DRAM with what streams and with
    what comes for the next iteration and leaves after the last one, and the words through the
    buffer's ports. What the buffer has no space for comes and leaves in between instead. Where DRAM
    takes longest, it begins in the iteration before and ends in the next one, as far as it is idle
    there and the buffer has room.

    Args:
        walk: what happens in each iteration.
        hardware: with DRAM and buffer.
        fit: what of it overlaps.
        body, streamed: float64[n], cycles of the layers that run in each iteration, one after
            another, and of DRAM for what streams.
        ports: float64[n], words through the ports for layers.
    """
    rate, port = (hardware.levels[i].bandwidth_words for i in (-1, -2))
    fetched, stored = walk.fetched.ravel(), walk.stored.ravel()
    early, late = np.ceil(fit.ahead / rate), np.ceil(fit.behind / rate)
    dram = streamed + early + late
    # the first fetch and the last store overlap with the iterations that they belong to
    dram[0] += ceil(fetched[0] / rate)
    dram[-1] += ceil(stored[-1] / rate)
    busy = np.maximum(body, np.ceil((ports + fetched + stored) / port))
    time = np.maximum(busy, dram) - _spared(fit, busy - dram, early, late)
    waiting = np.zeros_like(time)
    waiting[1:] += np.ceil((fetched[1:] - fit.ahead[:-1]) / rate)
    waiting[:-1] += np.ceil((stored[:-1] - fit.behind[1:]) / rate)
    cycles: Grid = time + waiting
    return cycles


def _spared(fit: NestFit, idle: Grid, fetch: Grid, store: Grid) -> Grid:
    """Return cycles that each iteration need not wait for DRAM, since its neighbours leave DRAM
    idle and the buffer has room; ``idle`` is below 0 where DRAM takes longest."""
    late, free = np.maximum(-idle, 0.0), np.maximum(idle, 0.0)
    early, after = np.zeros_like(late), np.zeros_like(late)
    # words for iteration i + 1 that come in iteration i - 1 rather than in i
    some = np.minimum(np.minimum(late[1:-1], fetch[1:-1]), free[:-2])
    early[1:-1] = np.where(fit.ahead[1:-1] <= fit.room[:-2], some, 0.0)
    free[:-1] -= early[1:]
    # words that left after iteration i - 1, in iteration i + 1
    some = np.minimum(np.minimum((late - early)[1:-1], store[1:-1]), free[2:])
    after[1:-1] = np.where(fit.behind[1:-1] <= fit.room[2:], some, 0.0)
    spared: Grid = early + after
    return spared
