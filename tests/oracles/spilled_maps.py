"""Time stamps of a schedule whose paused networks write their maps out where these do not fit.

Each decision is taken by a list of what lies in the map buffer, and what it makes of the schedule
(more bytes over the pins, a wait) runs from event to event.

Independent of: the recursion over lags, and the state that the kernel keeps.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from .weaving_events import event_stamps


@dataclass(frozen=True)
class MappedLayer:
    """A layer: bytes of maps over the pins, weights, ticks, maps while it runs and after it."""

    maps: int
    fetch: int
    compute: int
    footprint: int
    live: int


def spilled_run(
    chains: Sequence[Sequence[MappedLayer]], order: Sequence[int], buffer: int, map_buffer: int
) -> tuple[list[int], list[int], int]:
    """Return when each step is fetched and done, and the bytes that were written out."""
    on_chip: dict[int, int] = {}
    off_chip: dict[int, int] = {}
    position = [0] * len(chains)
    steps: list[tuple[int, int, int]] = []
    release: list[int] = []
    fetched: list[int] = []
    done: list[int] = []
    written = 0
    for number, m in enumerate(order):
        layer = chains[m][position[m]]
        position[m] = (position[m] + 1) % len(chains[m])
        before = on_chip.pop(m, 0) or off_chip.get(m, 0)
        room = map_buffer - max(layer.footprint, layer.live, before)
        waits, moved = [0], layer.maps
        while sum(on_chip.values()) > room:
            # the largest, of equal ones the first
            goes = max(sorted(on_chip), key=lambda j: on_chip[j])
            waits.append(max(done[s] for s in range(number) if order[s] == goes))
            off_chip[goes] = on_chip.pop(goes)
            moved += off_chip[goes]
            written += off_chip[goes]
        if m in off_chip:
            waits.append(done[number - 1])
            moved += off_chip.pop(m)
        steps.append((moved, layer.fetch, layer.compute))
        release.append(max(waits))
        fetched, done = event_stamps(steps, buffer, release)
        if layer.live:
            on_chip[m] = layer.live
    return fetched, done, written
