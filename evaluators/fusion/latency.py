"""Latency of a fused group, round by round (fusion model section 5, fill and drain hidden)."""

from dataclasses import dataclass
from math import ceil
from typing import Final

import numpy as np

from archloom.space.hardware import Hardware

from .core_rounds import Grid, Rounds
from .tile import LayerActivity, WeightLoad

#: repeats that are looked at: all between the first and the last take the same time
_SHOWN: Final = 3


@dataclass
class GroupWork:
    """What the rounds of one repeat do, summed over layers.

    Attributes:
        body, dram: float64[R], cycles of the layers one after another, and cycles that DRAM needs
            for what streams.
        ports: float64[R, C], words through the ports of each core's buffer.
        loads: float64[3, R], more of each (of every core) in the first repeat: resident weights
            arrive during the first round in which their layer runs.
    """

    body: Grid
    dram: Grid
    ports: Grid
    loads: Grid

    def add(self, activity: LayerActivity, load: WeightLoad, hardware: Hardware) -> None:
        """Add one layer: what it does, and the resident weights that come for it."""
        busy = activity.busy
        self.body += busy
        self.dram += activity.dram_cycles
        self.ports += activity.port_words
        if load.words:
            r = int(np.argmax(activity.chip_cycles > 0))
            cycles = ceil(load.words * load.reads / hardware.levels[-1].bandwidth_words)
            # a layer waits for its own weights (s in max(t, s))
            late = max(busy[r], activity.dram_cycles[r] + cycles) - busy[r]
            self.loads[:, r] += late, cycles, load.words


def no_work(rounds: Rounds) -> GroupWork:
    """Return the work of no layers."""
    count = len(rounds.at)
    return GroupWork(
        np.zeros(count), np.zeros(count), np.zeros(rounds.at.shape), np.zeros((3, count))
    )


def round_cycles(rounds: Rounds, hardware: Hardware, prefetch: bool, work: GroupWork) -> Grid:
    """Return float64[V, R], the cycles of each round of V repeats: the first, one, the last.

    A round takes the longest of: its layers one after another, the DRAM transfers that run
    meanwhile, and the words through the ports of one of its buffers. Without prefetch the transfers
    of a round come before and after it instead.
    """
    rate, port = (hardware.levels[i].bandwidth_words for i in (-1, -2))
    shown = min(rounds.repeats, _SHOWN)
    tiles = rounds.tiles
    words = (work.ports + rounds.by_core(tiles.fetched + tiles.stored)).max(axis=1)
    images = np.repeat(np.stack([work.body, work.dram, words])[:, None], shown, axis=1)
    images[:, 0] += work.loads
    body, dram, words = (figure.ravel() for figure in images)
    fetch, store = (
        np.tile(np.ceil(rounds.moved(moving) / rate), shown)
        for moving in (tiles.fetched, tiles.stored)
    )
    if prefetch:
        dram[:-1] += fetch[1:]
        dram[1:] += store[:-1]
        dram[0] += fetch[0]
        dram[-1] += store[-1]
    time: Grid = np.maximum(np.maximum(body, dram), np.ceil(words / port))
    if not prefetch:
        time += fetch + store
    return time.reshape(shown, -1)


def group_cycles(rounds: Rounds, time: Grid) -> int:
    """Return the cycles of all repeats from those of :func:`round_cycles`."""
    of_image = [int(part.sum()) for part in time]
    return sum(of_image) + (rounds.repeats - len(time)) * of_image[len(time) // 2]
