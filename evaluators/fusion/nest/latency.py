"""Latency of a nest, iteration by iteration (fusion model section 5, fill and drain hidden)."""

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from archloom.space.hardware import Hardware

from ...arrays import Bools, Ints
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
    walks = cores.walks
    stored = cores.total(walk.stored.ravel() for walk in walks)
    fetched = _of_all(cores, [walk.fetched.ravel() for walk in walks], cores.common)
    common = [some[1:] for some in cores.common]
    ahead = _of_all(cores, [fit.ahead[:-1] for fit in fits], common)
    behind = cores.total(fit.behind for fit in fits)
    through = [
        words + walk.fetched.ravel() + walk.stored.ravel()
        for words, walk in zip(ports, walks, strict=True)
    ]
    sooner, later = (np.all([fit.rooms[k] for fit in fits], axis=0) for k in range(2))
    moves = Moves(fetched, stored, np.append(ahead, 0), behind, sooner, later)
    return overlapped(cores.one, moves, body, streamed, np.max(through, axis=0))


class Moves(NamedTuple):
    """What moves between DRAM and buffer in n iterations, one after another along the last axis.

    Attributes:
        fetched, stored: int64[..., n], words that come for each and leave after it.
        ahead, behind: int64[..., n], words for the next one that come meanwhile, and of the last
            one that leave meanwhile.
        sooner, later: bool[..., n - 2], whether buffers have room for :attr:`ahead` in the
            iteration before, and for :attr:`behind` in the next one; not of the first and last.
    """

    fetched: Ints
    stored: Ints
    ahead: Ints
    behind: Ints
    sooner: Bools
    later: Bools


def overlapped(hardware: Hardware, moves: Moves, body: Grid, streamed: Grid, through: Ints) -> Grid:
    """Return float64[..., n], the time of iterations; see :func:`iteration_cycles`.

    Args:
        hardware: of a core, with the DRAM of all.
        moves: between DRAM and buffers.
        body, streamed: float64[..., n], cycles of layers, and of DRAM for what streams.
        through: int64[..., n], words through the ports of a buffer.
    """
    rate, port = (hardware.levels[i].bandwidth_words for i in (-1, -2))
    fetched, stored, ahead, behind, *_ = moves
    early, late = np.ceil(ahead / rate), np.ceil(behind / rate)
    dram = streamed + early + late
    # the first fetch and the last store overlap with the iterations that they belong to
    dram[..., 0] += np.ceil(fetched[..., 0] / rate)
    dram[..., -1] += np.ceil(stored[..., -1] / rate)
    busy = np.maximum(body, np.ceil(through / port))
    time = np.maximum(busy, dram) - _spared(busy - dram, early, late, moves)
    waiting = np.zeros_like(time)
    waiting[..., 1:] += np.ceil((fetched[..., 1:] - ahead[..., :-1]) / rate)
    waiting[..., :-1] += np.ceil((stored[..., :-1] - behind[..., 1:]) / rate)
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


def _spared(idle: Grid, fetch: Grid, store: Grid, moves: Moves) -> Grid:
    """Return cycles that each iteration need not wait for DRAM, since its neighbours leave DRAM
    idle and buffers have room; ``idle`` is below 0 where DRAM takes longest."""
    late, free = np.maximum(-idle, 0.0), np.maximum(idle, 0.0)
    early, after = np.zeros_like(late), np.zeros_like(late)
    # words for iteration i + 1 that come in iteration i - 1 rather than in i
    some = np.minimum(np.minimum(late[..., 1:-1], fetch[..., 1:-1]), free[..., :-2])
    early[..., 1:-1] = np.where(moves.sooner, some, 0.0)
    free[..., :-1] -= early[..., 1:]
    # words that left after iteration i - 1, in iteration i + 1
    some = np.minimum(np.minimum((late - early)[..., 1:-1], store[..., 1:-1]), free[..., 2:])
    after[..., 1:-1] = np.where(moves.later, some, 0.0)
    spared: Grid = early + after
    return spared
