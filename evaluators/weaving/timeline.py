"""Timeline of a schedule: what both engines do and what the buffers hold, from its time stamps."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from ..arrays import Ints
from .simulator import Order, Stamps
from .ticks import Ticks

#: from, until, and the step that it is of
Stretch = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class Timeline:
    """Both engines and both buffers over time, in ticks and bytes.

    Attributes:
        chain, part: int64[n], of each step of the schedule.
        maps, fetches: stretches in which feature maps cross the pins, and in which weights are
            fetched. A fetch that waits for room in the buffer is several stretches.
        computes: stretches in which the array works; none of steps without cycles.
        weights: int64[k, 2], (tick, bytes) of the weight buffer: straight lines between them, and
            two points of one tick where it jumps.
        on_chip_maps: the same of the map buffer: what the running layer has there, and what paused
            networks keep.
    """

    chain: Ints
    part: Ints
    maps: tuple[Stretch, ...]
    fetches: tuple[Stretch, ...]
    computes: tuple[Stretch, ...]
    weights: Ints
    on_chip_maps: Ints


def schedule_timeline(work: Ticks, order: Order, stamps: Stamps) -> Timeline:
    """Return the timeline of a schedule with the time stamps that :func:`.simulator.simulated`
    gives it."""
    parts = stamps.part
    maps, fetches = _channel(work, order, stamps)
    began = np.maximum(np.append(0, stamps.done[:-1]), stamps.fetched)
    computes = [
        (int(a), int(b), step)
        for step, (a, b) in enumerate(zip(began, stamps.done, strict=True))
        if b > a
    ]
    return Timeline(
        order.chain,
        parts,
        tuple(maps),
        tuple(fetches),
        tuple(computes),
        _weights_held(work.fetch[parts], fetches, stamps.done),
        _maps_held(work, order.chain, parts, began, stamps.done),
    )


def _channel(work: Ticks, order: Order, stamps: Stamps) -> tuple[list[Stretch], list[Stretch]]:
    """Return what the fetch engine does: maps of a layer, then its weights as room appears.

    Weights beyond position W_{j-1} + B wait until layer j is done (docs/weaving.md, "Model").
    """
    maps: list[Stretch] = []
    fetches: list[Stretch] = []
    done = stamps.done.tolist()
    ends = [0, *accumulate(work.fetch[stamps.part].tolist())]
    release = order.release.tolist() or [0] * len(done)
    now, waiting = 0, 0
    for step, maps_bytes in enumerate(work.maps[stamps.part].tolist()):
        now = max(now, release[step])
        if maps_bytes:
            maps.append((now, now + maps_bytes, step))
            now += maps_bytes
        at, end = ends[step], ends[step + 1]
        while at < end:
            while waiting < step and ends[waiting] + work.buffer <= at:
                now = max(now, done[waiting])
                waiting += 1
            room = ends[waiting] + work.buffer if waiting < step else end
            until = min(end, room)
            _extend(fetches, (now, now + until - at, step))
            now, at = now + until - at, until
    return maps, fetches


def _extend(stretches: list[Stretch], new: Stretch) -> None:
    """Add a stretch; one that goes on with the last one makes it longer."""
    if stretches and stretches[-1][1:] == (new[0], new[2]):
        stretches[-1] = (stretches[-1][0], new[1], new[2])
    else:
        stretches.append(new)


def _weights_held(sizes: Ints, fetches: Sequence[Stretch], done: Ints) -> Ints:
    """Bytes of the weight buffer: one more each tick of a fetch, less a layer when it is done."""
    slopes = [(tick, change) for a, b, _ in fetches for tick, change in ((a, 1), (b, -1))]
    drops = zip(done.tolist(), sizes.tolist(), strict=True)
    # at equal times: completion, then fetch
    events = [(tick, 0, size) for tick, size in drops if size]
    events += [(tick, 1, change) for tick, change in slopes]
    points = [(0, 0)]
    now, held, slope = 0, 0, 0
    for tick, kind, change in sorted(events):
        held += slope * (tick - now)
        now = tick
        points.append((now, held))
        if kind == 0:
            held -= change
            points.append((now, held))
        else:
            slope += change
    return _distinct(points)


def _maps_held(work: Ticks, chain: Ints, parts: Ints, began: Ints, done: Ints) -> Ints:
    """Bytes of the map buffer: what the running layer takes, and what paused networks keep."""
    live = [0] * work.chains
    paused = 0
    points = [(0, 0)]
    steps = zip(chain.tolist(), parts.tolist(), began.tolist(), done.tolist(), strict=True)
    for m, part, start, end in steps:
        others = paused - live[m]
        footprint, after = int(work.footprint[part]), int(work.live[part])
        points += [(start, points[-1][1]), (start, others + footprint), (end, others + footprint)]
        live[m] = after
        paused = others + after
        points.append((end, paused))
    return _distinct(points)


def _distinct(points: Sequence[tuple[int, int]]) -> Ints:
    """Return points without those that repeat the one before."""
    kept = [p for i, p in enumerate(points) if i == 0 or p != points[i - 1]]
    return np.array(kept, np.int64).reshape(-1, 2)
