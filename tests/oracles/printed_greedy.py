"""The greedy of Layerweaver (Oh et al., HPCA 2021), from its figures and Section III-D.

Its state is the printed one: two time stamps and a list of (size, completion) of the layers that
are not done when the last fetch ends.

Independent of: queues of lags, and everything compiled.
"""

from collections.abc import Sequence
from dataclasses import dataclass

Layer = tuple[int, int]
"""Size and compute time, in ticks of one fetched byte."""


@dataclass(frozen=True)
class State:
    """Printed as S: ends of communication and computation, and what holds the buffer."""

    t_m: int = 0
    t_c: int = 0
    held: tuple[tuple[int, int], ...] = ()


def fetch_end(state: State, size: int, buffer: int) -> int:
    """Fig. 9, with ``<=`` in line 14: a fetch that ends where a layer freed its weights is over."""
    free = buffer - sum(held for held, _ in state.held)
    now = state.t_m
    if size <= free:
        return now + size
    now, size = now + free, size - free
    for held, completion in state.held:
        now = max(now, completion)
        if size <= held:
            return now + size
        now, size = now + held, size - held
    raise AssertionError("a layer larger than the buffer")


def update(state: State, layer: Layer, buffer: int) -> State:
    """Return the state after a layer (Section III-C)."""
    size, compute = layer
    t_m = fetch_end(state, size, buffer)
    t_c = max(state.t_c, t_m) + compute
    held = tuple(entry for entry in state.held if entry[1] > t_m)
    return State(t_m, t_c, (*held, (size, t_c)))


def fetchable(state: State, until: int, buffer: int) -> int:
    """Return what could be fetched from the last fetch until a time."""
    now, fetched = state.t_m, 0
    free = buffer - sum(held for held, _ in state.held)
    for held, completion in ((free, now), *state.held):
        now = max(now, completion)
        part = max(0, min(held, until - now))
        now, fetched = now + part, fetched + part
        if part < held:
            break
    return fetched


def printed_order(chains: Sequence[Sequence[Layer]], buffer: int) -> list[int]:
    """Return whose layer runs at each step, for one query of each chain."""
    window = [0] * len(chains)
    state, order = State(), []
    computes = [sum(c for _, c in chain) > sum(s for s, _ in chain) for chain in chains]
    while any(at < len(chain) for at, chain in zip(window, chains, strict=True)):
        live = [m for m, chain in enumerate(chains) if window[m] < len(chain)]
        largest = max(size for m in live for size, _ in chains[m])
        costs = {}
        for m in live:
            size, compute = chains[m][window[m]]
            after = update(state, (size, compute), buffer)
            array = max(0, size - (state.t_c - state.t_m))
            memory = fetchable(after, state.t_c, buffer)
            potential = max(0, largest - (after.t_c - after.t_m))
            inherent = size + compute > buffer
            total = array + memory + potential
            tie = (total == 0 and inherent, after.t_m - after.t_c)
            costs[m] = ((total, *tie), array, memory)
        wanted = live
        if all(array for _, array, _ in costs.values()):
            wanted = [m for m in live if computes[m]] or live
        elif all(memory for *_, memory in costs.values()):
            wanted = [m for m in live if not computes[m]] or live
        best = min(wanted, key=lambda m: costs[m][0])
        state = update(state, chains[best][window[best]], buffer)
        order.append(best)
        window[best] += 1
    return order
