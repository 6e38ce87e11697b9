"""Fetch and compute engine, one layer after another, in O(1) amortised.

Both engines take layers in the order of the schedule and never wait on purpose. The fetch engine
moves a layer's feature maps, then its weights, byte by byte, as soon as fewer bytes of weights than
the buffer has room for are fetched and not yet freed. The compute engine starts a layer when all
its bytes are there and the layer before is done; a layer that is done frees its weights at once.

Let W_i be the weights of layers 1..i, M_i when the last byte of layer i is there, C_i when it is
done, and the lag L_i = M_i - W_i: how long the stream of weights was held up so far. A byte of
weights beyond position x_j = W_{j-1} + B waits until layer j is done, so with maps a_i

    L_i = max(L_{i-1} + a_i, max{C_j - x_j : x_j < W_i})
    C_i = max(C_{i-1}, W_i + L_i) + c_i

(docs/explanation/weaving.md, "Model"). The queue holds (x_j, C_j - x_j), strictly increasing in
both: an entry whose lag is not above that of an entry before it, or above the present one, never
decides.
"""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators.jit import allocating, helper

from ..arrays import Ints
from .ticks import Ticks

LAG: Final = 0
DONE: Final = 1
FETCHED: Final = 2
HEAD: Final = 3
TAIL: Final = 4


class Engines(NamedTuple):
    """State of both engines after some layers.

    Attributes:
        state: int64[5]: lag of the last fetch, when the last layer is done, bytes of weights so
            far, where the queue begins and ends.
        places: int64[room], positions x_j of the queue.
        lags: int64[room], least lags beyond those positions.
    """

    state: Ints
    places: Ints
    lags: Ints


class Clock(NamedTuple):
    """The words of :class:`Engines` by value, which loops over many layers keep in registers."""

    lag: int
    done: int
    fetched: int
    head: int
    tail: int


@helper
def queue_room(work: Ticks) -> int:
    """Return the room that a queue of any order of chains needs, twice over.

    Entries have distinct positions within a buffer's length, and of layers without weights one
    position at most, so there is one for each layer that the buffer holds: of a chain of n layers
    and W bytes no more than n (bytes / W + 1), and one. Twice that, it seldom has to be moved.
    """
    first, most, layers = work.first, 0, 0
    for m in range(len(first) - 1):
        length, weights = first[m + 1] - first[m], 0
        for part in range(first[m], first[m + 1]):
            weights += work.fetch[part]
        layers += length
        if weights > 0:
            most = max(most, work.buffer // weights * length + length)
    return 2 * (layers + most + 1)


@allocating
def new_engines(room: int) -> Engines:
    """Return engines that have done nothing, with room for a queue of that many layers."""
    return Engines(np.zeros(5, np.int64), np.empty(room, np.int64), np.empty(room, np.int64))


@helper
def lead(engines: Engines) -> int:
    """Return how long after the last fetch the last layer is done, in ticks."""
    state = engines.state
    return state[DONE] - state[FETCHED] - state[LAG]


@helper
def lag_after(engines: Engines, fetch: int, maps: int) -> int:
    """Return the lag after a layer with those bytes, which is not run."""
    state, places, lags = engines.state, engines.places, engines.lags
    lag = state[LAG] + maps
    after = state[FETCHED] + fetch
    at, tail = state[HEAD], state[TAIL]
    while at < tail and places[at] < after:
        lag = max(lag, lags[at])
        at += 1
    return lag


@helper
def run_layer(engines: Engines, fetch: int, maps: int, compute: int, buffer: int) -> int:
    """Run a layer; return when it is done."""
    state = engines.state
    clock = Clock(state[LAG], state[DONE], state[FETCHED], state[HEAD], state[TAIL])
    clock = after_layer(clock, engines.places, engines.lags, fetch, maps, compute, buffer)
    state[LAG], state[DONE], state[FETCHED] = clock.lag, clock.done, clock.fetched
    state[HEAD], state[TAIL] = clock.head, clock.tail
    return clock.done


@helper
def after_layer(
    clock: Clock, places: Ints, lags: Ints, fetch: int, maps: int, compute: int, buffer: int
) -> Clock:
    """Return the state after a layer; the queue changes in place."""
    after = clock.fetched + fetch
    lag = clock.lag + maps
    head, tail = clock.head, clock.tail
    while head < tail and places[head] < after:
        lag = max(lag, lags[head])
        head += 1
    done = max(clock.done, after + lag) + compute
    place = clock.fetched + buffer
    least = done - place
    if least > lag and (head == tail or least > lags[tail - 1]):
        if head < tail and places[tail - 1] == place:
            tail -= 1
        if tail == len(places):
            # what is left moves to the front, over what has been read
            for i in range(tail - head):
                places[i], lags[i] = places[head + i], lags[head + i]
            head, tail = 0, tail - head
        places[tail], lags[tail] = place, least
        tail += 1
    return Clock(lag, done, after, head, tail)


@helper
def wait_until(engines: Engines, time: int) -> None:
    """Let no byte of later layers be fetched before a time."""
    state = engines.state
    state[LAG] = max(state[LAG], time - state[FETCHED])
