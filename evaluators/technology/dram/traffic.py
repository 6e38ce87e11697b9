"""Bandwidth and energy of streams on one channel: what the recorded runs are compared with."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np

from .device import DramChannel
from .energy import channel_energy
from .streams import (
    ACTIVATE,
    BURSTS_A_BYTE,
    FITTED,
    Fitted,
    channel_figures,
    rows_of_run,
    slots_per_burst,
)
from .walk import address_places, walk


@dataclass(frozen=True, slots=True)
class Stream:
    """Runs of consecutive bytes.

    Attributes:
        run_bytes: length of a run; infinite for one after another.
        share: of the bytes of all streams, in any unit.
        writes: share of its bytes that are written.
        stride_bytes: from the start of a run to the next; 0 for runs at independent addresses.
        height: runs after which a walk with a stride goes on beside the first one.
    """

    run_bytes: float
    share: float = 1.0
    writes: float = 0.0
    stride_bytes: int = 0
    height: int = 1

    @property
    def sequential(self) -> bool:
        """Whether all its runs follow each other."""
        return self.run_bytes == inf


class Service(NamedTuple):
    """How a channel serves streams that always have requests waiting.

    Attributes:
        efficiency: bytes moved over what the peak bandwidth would move.
        opened: rows that a burst opens on average.
        writes: share of bursts that write.
        ranks: share of the ranks that are used.
        sequential: whether all streams are.
    """

    efficiency: float
    opened: float
    writes: float
    ranks: float
    sequential: bool

    def at_most(self, efficiency: float) -> "Service":
        """Return it for requests that come no faster than an efficiency."""
        return self._replace(efficiency=min(self.efficiency, efficiency))


def served(
    channel: DramChannel,
    streams: Sequence[Stream],
    chunk_bytes: float = inf,
    fitted: Fitted = FITTED,
) -> Service:
    """Return how a channel serves streams.

    Args:
        channel: that all of them use.
        streams: at least one; each stream's share counts against the sum of all.
        chunk_bytes: that one stream gets before the next one has its turn.
        fitted: constants of the controller.
    """
    total = sum(stream.share for stream in streams)
    figures = channel_figures(channel, fitted)
    opened, writes, runs, same = 0.0, 0.0, 0.0, 0.0
    for stream in streams:
        share = stream.share / total
        opened += share * _opened(channel, stream, fitted)
        writes += share * stream.writes
        runs += share * min(stream.run_bytes, channel.row_bytes)
        same += share * share
    # a controller has 512 bytes in sight before the next stream begins: one run at a time
    alike = 1.0 if chunk_bytes > 512 else same
    slots, ranks = slots_per_burst(figures, opened, writes, runs, alike), 1.0
    if len(streams) == 1 and _walked(channel, streams[0]):
        slots, ranks = _slots_of_walk(channel, streams[0])
    efficiency = (1.0 - channel.refresh_share) / slots
    return Service(efficiency, opened, writes, ranks, all(s.sequential for s in streams))


def _walked(channel: DramChannel, stream: Stream) -> bool:
    return stream.stride_bytes > 0 or (channel.closed_page and stream.sequential)


def _pattern(channel: DramChannel, stream: Stream) -> tuple[int, int, int]:
    if stream.sequential:
        return channel.row_bytes, 0, 1
    return int(stream.run_bytes), stream.stride_bytes, stream.height


def _opened(channel: DramChannel, stream: Stream, fitted: Fitted) -> float:
    if channel.closed_page:
        return 1.0
    if not stream.stride_bytes:
        # of one that never ends, what a long one opens
        run = max(float(channel.burst_bytes), min(stream.run_bytes, 1e12))
        figures = channel_figures(channel, fitted)
        return rows_of_run(figures, run) / (run * figures[BURSTS_A_BYTE])
    pattern = np.array([*_pattern(channel, stream), channel.burst_bytes], np.int64)
    return walk(address_places(channel), pattern, closed_page=False).opened


def _slots_of_walk(channel: DramChannel, stream: Stream) -> tuple[float, float]:
    """Return slots of a burst, and the share of the ranks used, for one stream with a stride."""
    t, slot = channel.timing, channel.slot_cycles
    pattern = np.array([*_pattern(channel, stream), channel.burst_bytes], np.int64)
    found = walk(address_places(channel), pattern, channel.closed_page)
    bursts = 1.0 / found.opened
    apart = max(t["tCCD_L"], slot)
    # JEDEC: rows of a bank are tRC apart, and a row closes tRTP after its last read
    visit = max(channel.row_cycle, bursts * apart + t["tRTP"] + t["tRP"] + t["tRCD"])
    by_banks = visit / (found.banks * bursts * slot)
    by_activates = found.opened * channel_figures(channel)[ACTIVATE]
    return max(1.0, by_activates, by_banks), found.ranks


class Energy(NamedTuple):
    """Energy in pJ of a stretch of time, by part."""

    activate_pj: float
    read_pj: float
    write_pj: float
    refresh_pj: float
    standby_pj: float

    @property
    def total_pj(self) -> float:
        """Sum of all parts."""
        return sum(self)


def energy_of(
    channel: DramChannel, service: Service, bursts: float, time_ns: float, open_share: float
) -> Energy:
    """Return what a channel takes to move bursts within a time.

    Args:
        channel: that moves them.
        service: of the streams.
        bursts: how many.
        time_ns: all the time, in which refresh goes on.
        open_share: see :func:`open_share`.
    """
    costs = channel_energy(channel)
    standby_mw = open_share * costs.open_mw + (1.0 - open_share) * costs.closed_mw
    return Energy(
        service.opened * bursts * costs.activate_pj,
        (1.0 - service.writes) * bursts * costs.read_pj,
        service.writes * bursts * costs.write_pj,
        costs.refresh_mw * time_ns,
        standby_mw * time_ns,
    )


def open_share(
    channel: DramChannel, service: Service, busy_ns: float = inf, idle_ns: float = 0.0
) -> float:
    """Return the share of the time in which a rank has a row open, under the open-page policy.

    Refresh closes all rows of a rank, and the next access opens one. Where a rank is left alone,
    for the time that sequential streams take in the other ranks or while nothing is asked for, it
    stays closed from the next refresh on; that comes at a moment that is spread evenly.

    Args:
        channel: that is used.
        service: of the streams.
        busy_ns: time without a gap; infinite if there are none.
        idle_ns: length of the gaps.
    """
    period_ns = channel.timing["tREFI"] * channel.timing["tCK_ns"]
    share, others = 1.0, channel.ranks - 1
    if service.sequential and others:
        rate = service.efficiency * channel.peak_gbytes_per_s
        turn_ns = channel.banks * channel.row_bytes / rate
        share = (turn_ns + _still_open(others * turn_ns, period_ns)) / (channel.ranks * turn_ns)
    share = (share - channel.refresh_share) * service.ranks
    if idle_ns:
        share *= (busy_ns + _still_open(idle_ns, period_ns)) / (busy_ns + idle_ns)
    return share


def _still_open(alone_ns: float, period_ns: float) -> float:
    """Return how long a rank that is left alone has a row open, until refresh or an access."""
    if alone_ns < period_ns:
        return alone_ns - alone_ns * alone_ns / (2.0 * period_ns)
    return period_ns / 2.0
