"""Room for feature maps on the chip: whether a layer fits at all, and what a schedule needs."""

from dataclasses import dataclass

import numpy as np

from archloom.space import Infeasible

from ..arrays import Ints
from .chain import Chain, Npu
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


def unfit_layer(chain: Chain, npu: Npu) -> Infeasible | None:
    """Return the layer whose maps alone are too many for the map buffer; None if all fit."""
    widest = int(np.argmax(chain.footprint_bytes))
    needed = int(chain.footprint_bytes[widest])
    if needed <= npu.map_buffer_bytes:
        return None
    hint = "run fewer inferences at a time, or on a chip with a larger map buffer"
    where = f"{chain.name}, layer {chain.layers[widest]} on {npu.name}"
    return Infeasible("map_overflow", where, needed, npu.map_buffer_bytes, "bytes", hint)


def map_peak(work: Ticks, chain: Ints, part: Ints) -> MapPeak:
    """Return when a schedule needs most room for maps.

    The running layer takes its footprint; every other network keeps what is live after the last of
    its layers that ran (docs/weaving.md, "Activations").

    Args:
        work: the chains.
        chain, part: int64[steps], of each step of the schedule; one at least.
    """
    paused = np.zeros(len(part), np.int64)
    for m in range(work.chains):
        own = np.flatnonzero(chain == m)
        # live[i]: after i layers of this network
        live = np.append(0, work.live[part[own]])
        paused += np.where(chain == m, 0, live[np.searchsorted(own, np.arange(len(part)))])
    running = np.maximum(work.footprint, work.live)[part]
    step = int(np.argmax(running + paused))
    return MapPeak(step, int(running[step]), int(paused[step]))
