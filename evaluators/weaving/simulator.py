"""Time stamps of a schedule: when each layer is fetched and done."""

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from archloom.evaluators.jit import compiled

from ..arrays import Ints
from .engines import (
    FETCHED,
    LAG,
    Clock,
    after_layer,
    new_engines,
    queue_room,
    run_layer,
    wait_until,
)
from .spills import may_spill, spilled_stamps
from .ticks import Ticks

#: what all ticks and bytes of a schedule may add up to, so that no sum leaves int64
MOST_SCHEDULED: Final = 2**61


@dataclass(frozen=True, eq=False)
class Order:
    """In which order layers run: a merge of the chains, each as often as it is served.

    Attributes:
        chain: int64[steps], whose next part runs; after its last part a chain begins again.
        release: int64[steps], tick before which no byte of a step is fetched; empty if none waits.
    """

    chain: Ints
    release: Ints = field(default_factory=lambda: np.zeros(0, np.int64))


@dataclass(frozen=True, eq=False)
class Stamps:
    """When the steps of a schedule happen, in ticks.

    Attributes:
        part: int64[steps], which part of :class:`Ticks` runs.
        fetched: int64[steps], when its last byte is there.
        done: int64[steps], when it is done.
        spilled_bytes: feature maps of paused networks that were written out, and read again.
        moves: int64[steps, 2 + chains] where maps may be spilled, else empty: before which tick no
            map of a step crosses the pins, bytes of all that do, and of each chain whether its maps
            are off the chip meanwhile.
    """

    part: Ints
    fetched: Ints
    done: Ints
    spilled_bytes: int = 0
    moves: Ints = field(default_factory=lambda: np.zeros((0, 0), np.int64))

    @property
    def makespan(self) -> int:
        """When all is done."""
        return int(self.done[-1]) if len(self.done) else 0


@compiled
def parts_of(first: Ints, chain: Ints) -> Ints:
    """Return which part each step runs; chains begin again after their last."""
    position = first[:-1].copy()
    parts = np.empty(len(chain), np.int64)
    for step in range(len(chain)):
        m = chain[step]
        parts[step] = position[m]
        position[m] += 1
        if position[m] == first[m + 1]:
            position[m] = first[m]
    return parts


@compiled
def _stamped(work: Ticks, parts: Ints, release: Ints, fetched: Ints, done: Ints) -> None:
    engines = new_engines(queue_room(work))
    for step in range(len(parts)):
        part = parts[step]
        if len(release):
            wait_until(engines, release[step])
        done[step] = run_layer(
            engines, work.fetch[part], work.maps[part], work.compute[part], work.buffer
        )
        fetched[step] = engines.state[FETCHED] + engines.state[LAG]


@compiled
def _makespan(work: Ticks, chain: Ints, release: Ints) -> int:
    queue, clock = new_engines(queue_room(work)), Clock(0, 0, 0, 0, 0)
    position = work.first[:-1].copy()
    for step in range(len(chain)):
        m = chain[step]
        part = position[m]
        if len(release):
            lag = max(clock.lag, release[step] - clock.fetched)
            clock = Clock(lag, clock.done, clock.fetched, clock.head, clock.tail)
        fetch, maps, compute = work.fetch[part], work.maps[part], work.compute[part]
        clock = after_layer(clock, queue.places, queue.lags, fetch, maps, compute, work.buffer)
        position[m] = part + 1 if part + 1 < work.first[m + 1] else work.first[m]
    return clock.done


def simulated(work: Ticks, order: Order) -> Stamps:
    """Return the time stamps of a schedule.

    Raises:
        ValueError: a step of a chain that there is none of, or ticks beyond 2**61.
    """
    _check(work, order)
    parts = parts_of(work.first, order.chain)
    fetched, done = np.empty_like(parts), np.empty_like(parts)
    if may_spill(work):
        moves: Ints = np.zeros((len(parts), 2 + work.chains), np.int64)
        choices = (order.chain, order.release)
        spilled = spilled_stamps(work, parts, choices, fetched, done, moves)
        return Stamps(parts, fetched, done, spilled, moves)
    _stamped(work, parts, order.release, fetched, done)
    return Stamps(parts, fetched, done)


def makespan(work: Ticks, order: Order) -> int:
    """Return when all of a schedule is done, in ticks.

    Raises:
        ValueError: as of :func:`simulated`.
    """
    if may_spill(work):
        return simulated(work, order).makespan
    _check(work, order)
    return int(_makespan(work, order.chain, order.release))


def _check(work: Ticks, order: Order) -> None:
    chain, release = order.chain, order.release
    if len(chain) and not 0 <= chain.min() <= chain.max() < work.chains:
        raise ValueError(f"an order of {work.chains} chains has a step of another one")
    if len(release) not in (0, len(chain)):
        raise ValueError(f"an order of {len(chain)} steps has {len(release)} releases")
    longest = max(int(row.max(initial=0)) for row in (work.fetch, work.compute, work.maps))
    if may_spill(work):
        longest += work.chains * int(work.live.max())
    latest = int(release.max()) if len(release) else 0
    if 3 * len(chain) * longest + latest > MOST_SCHEDULED:
        raise ValueError(
            f"a schedule of {len(chain)} steps of up to {longest} ticks may take more than 2**61 "
            "ticks; schedule fewer queries"
        )
