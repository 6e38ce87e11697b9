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
        weights: int64[k, 1 + chains], a tick, and the bytes of each chain in the weight buffer
            then: straight lines between them, and two points of one tick where a chain jumps.
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
    maps, fetches = _channel(work, order, stamps)
    began = np.maximum(np.append(0, stamps.done[:-1]), stamps.fetched)
    computes = [
        (int(a), int(b), step)
        for step, (a, b) in enumerate(zip(began, stamps.done, strict=True))
        if b > a
    ]
    return Timeline(
        order.chain,
        stamps.part,
        tuple(maps),
        tuple(fetches),
        tuple(computes),
        _weights_held(work, order, stamps, fetches),
        _maps_held(work, order, stamps, began),
    )


def _channel(work: Ticks, order: Order, stamps: Stamps) -> tuple[list[Stretch], list[Stretch]]:
    """Return what the fetch engine does: maps of a layer, then its weights as room appears.

    Weights beyond position W_{j-1} + B wait until layer j is done (docs/explanation/weaving.md,
    "Model").
    """
    maps: list[Stretch] = []
    fetches: list[Stretch] = []
    done = stamps.done.tolist()
    ends = [0, *accumulate(work.fetch[stamps.part].tolist())]
    release = order.release.tolist() or [0] * len(done)
    crossing = work.maps[stamps.part].tolist()
    if len(stamps.moves):
        # maps of paused networks are written and read with those of a layer
        crossing = stamps.moves[:, 1].tolist()
        release = np.maximum(release, stamps.moves[:, 0]).tolist()
    now, waiting = 0, 0
    for step, maps_bytes in enumerate(crossing):
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


def _weights_held(work: Ticks, order: Order, stamps: Stamps, fetches: Sequence[Stretch]) -> Ints:
    """Bytes of the weight buffer: one more each tick of a fetch, less a layer when it is done."""
    chain, sizes = order.chain.tolist(), work.fetch[stamps.part].tolist()
    # at equal times: completion, then fetch
    events = [
        (tick, 0, chain[step], sizes[step])
        for step, tick in enumerate(stamps.done.tolist())
        if sizes[step]
    ]
    events += [
        (tick, 1, chain[step], change)
        for start, end, step in fetches
        for tick, change in ((start, 1), (end, -1))
    ]
    held, slopes = [0] * work.chains, [0] * work.chains
    points = [(0, *held)]
    now = 0
    for tick, kind, m, change in sorted(events):
        held = [h + slope * (tick - now) for h, slope in zip(held, slopes, strict=True)]
        now = tick
        points.append((now, *held))
        if kind == 0:
            held[m] -= change
            points.append((now, *held))
        else:
            slopes[m] += change
    return _distinct(points)


def _maps_held(work: Ticks, order: Order, stamps: Stamps, began: Ints) -> Ints:
    """Bytes of the map buffer: what the running layer takes, and what paused networks keep."""
    held = [0] * work.chains
    points = [(0, *held)]
    steps = np.stack([order.chain, stamps.part, began, stamps.done], axis=1)
    for step, (m, part, start, end) in enumerate(steps.tolist()):
        points.append((start, *held))
        if len(stamps.moves):
            # paused networks whose maps are written out hold none
            held = [0 if out else h for h, out in zip(held, stamps.moves[step, 2:], strict=True)]
        held[m] = int(work.footprint[part])
        points += [(start, *held), (end, *held)]
        held[m] = int(work.live[part])
        points.append((end, *held))
    return _distinct(points)


def _distinct(points: Sequence[tuple[int, ...]]) -> Ints:
    """Return points without those that repeat the one before."""
    kept = [p for i, p in enumerate(points) if i == 0 or p != points[i - 1]]
    return np.array(kept, np.int64)
