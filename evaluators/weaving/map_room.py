"""Room for feature maps on the chip that a schedule needs."""

from dataclasses import dataclass

import numpy as np

from ..arrays import Ints
from .simulator import Stamps
from .ticks import Ticks


@dataclass(frozen=True)
class MapPeak:
    """The fullest moment of the map buffer in a schedule.

    Attributes:
        step: of the schedule, which runs then.
        running_bytes: maps of that layer, or what its network keeps after it if that is more.
        paused_bytes: maps that networks keep whose next layer has not begun.
    """

    step: int
    running_bytes: int
    paused_bytes: int

    @property
    def all_bytes(self) -> int:
        """Bytes of both."""
        return self.running_bytes + self.paused_bytes


def map_peak(work: Ticks, chain: Ints, stamps: Stamps) -> MapPeak:
    """Return when a schedule needs most room for maps.

    The running layer takes its footprint; every other network keeps what is live after the last of
    its layers that ran, unless that is written out meanwhile (``spills.py``).

    Args:
        work: the chains.
        chain: int64[steps], which one each step of the schedule is of; one at least.
        stamps: of the schedule.
    """
    part = stamps.part
    paused = np.zeros(len(part), np.int64)
    for m in range(work.chains):
        own = np.flatnonzero(chain == m)
        # live[i]: after i layers of this network
        live = np.append(0, work.live[part[own]])
        kept = live[np.searchsorted(own, np.arange(len(part)))]
        if len(stamps.moves):
            kept = np.where(stamps.moves[:, 2 + m] > 0, 0, kept)
        paused += np.where(chain == m, 0, kept)
    running = np.maximum(work.footprint, work.live)[part]
    step = int(np.argmax(running + paused))
    return MapPeak(step, int(running[step]), int(paused[step]))
