"""Both engines of a woven schedule, from one event to the next.

Independent of: the recursion over lags and its queue. Here bytes are in a buffer, engines are busy
or not, and time moves to what happens next.
"""

from collections.abc import Sequence


def event_stamps(
    layers: Sequence[tuple[int, int, int]], buffer: int, release: Sequence[int] = ()
) -> tuple[list[int], list[int]]:
    """Return when each layer is fetched and when it is done.

    Args:
        layers: (bytes of maps, bytes of weights, ticks of the array), in order of the schedule.
        buffer: bytes of weights that fit.
        release: ticks before which no byte of a layer is fetched.
    """
    count = len(layers)
    fetched: list[int] = []
    done: list[int] = []
    now, held = 0, 0
    maps, weights = (layers[0][0], layers[0][1]) if count else (0, 0)
    busy_until: int | None = None
    while len(done) < count:
        # at equal times: completion, start, fetch
        if busy_until is not None and busy_until <= now:
            held -= layers[len(done)][1]
            done.append(now)
            busy_until = None
            continue
        if busy_until is None and len(fetched) > len(done):
            busy_until = now + layers[len(done)][2]
            continue
        at = len(fetched)
        waits = at < count and at < len(release) and now < release[at]
        if at < count and not waits and maps == 0 and weights == 0:
            fetched.append(now)
            if at + 1 < count:
                maps, weights = layers[at + 1][:2]
            continue
        steps = [] if busy_until is None else [busy_until - now]
        moved = 0
        if waits:
            steps.append(release[at] - now)
        elif at < count:
            moved = maps or min(weights, buffer - held)
            if moved:
                steps.append(moved)
        step = min(steps)
        if moved:
            if maps:
                maps -= step
            else:
                weights -= step
                held += step
        now += step
    return fetched, done
