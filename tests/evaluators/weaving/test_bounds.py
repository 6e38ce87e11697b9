import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from archloom.evaluators.weaving import (
    MakespanBounds,
    Ticks,
    isolated_ticks,
    makespan,
    makespan_bounds,
    simulated,
    stream_metrics,
    throughput_bound,
)

from ...cases.woven import order_of, random_order, random_ticks, ticks_of

LAYER = st.tuples(st.integers(0, 12), st.integers(0, 12), st.integers(0, 4))
CHAIN = st.lists(LAYER, min_size=1, max_size=7)
CHAINS = st.lists(CHAIN, min_size=1, max_size=3)


def values(bounds: MakespanBounds) -> list[int]:
    assert bounds.suffixes is not None
    return [bounds.engines, bounds.ends, bounds.suffixes, bounds.chain, bounds.best]


def smallest_buffer(chains: list[list[tuple[int, int, int]]]) -> int:
    return max(1, max(layer[0] for chain in chains for layer in chain))


@settings(max_examples=300, deadline=None)
@given(CHAINS, st.integers(0, 30), st.randoms(use_true_random=False))
def test_no_schedule_is_below_a_bound(chains, room, random) -> None:  # type: ignore[no-untyped-def]
    work = ticks_of(chains, smallest_buffer(chains) + room)
    steps = [m for m, chain in enumerate(chains) for _ in chain]
    random.shuffle(steps)
    assert max(values(makespan_bounds(work))) <= makespan(work, order_of(steps))


@settings(max_examples=120, deadline=None)
@given(CHAINS, st.integers(0, 30), st.integers(0, 20), st.integers(0, 20), st.integers(0, 4))
def test_no_bound_falls_when_hardware_gets_worse(  # type: ignore[no-untyped-def]
    chains, room, less, more, at
) -> None:
    """A smaller buffer, a slower array (longer compute), slower pins (all else takes fewer of the
    longer ticks: then fetches are longer at the same compute).
    """
    buffer = smallest_buffer(chains) + room + less
    work = ticks_of(chains, buffer)
    before = values(makespan_bounds(work))
    smaller = work._replace(buffer=buffer - less)
    assert all(a >= b for a, b in zip(values(makespan_bounds(smaller)), before, strict=True))
    compute = work.compute.copy()
    compute[at % len(compute)] += more
    slower = work._replace(compute=compute)
    assert all(a >= b for a, b in zip(values(makespan_bounds(slower)), before, strict=True))
    fetch = np.minimum(work.fetch + more, buffer)
    longer = work._replace(fetch=fetch)
    assert all(a >= b for a, b in zip(values(makespan_bounds(longer)), before, strict=True))
    if all(sum(map(sum, chain)) for chain in chains):
        worth = np.arange(1.0, len(chains) + 1)
        value = throughput_bound(work, worth).value
        for worse in (smaller, slower, longer):
            assert throughput_bound(worse, worth).value <= value * (1 + 1e-9)


def test_schedules_are_monotone_in_the_hardware() -> None:
    """Time stamps never fall when a buffer shrinks or a layer grows, in the same order."""
    rng = np.random.default_rng(4)
    for _ in range(300):
        work = random_ticks(rng, rng.integers(1, 9, 2).tolist(), maps=True)
        order = random_order(rng, work, 2)
        stamps = simulated(work._replace(buffer=work.buffer + 5), order)
        for worse in (work, work._replace(buffer=work.buffer + 5, compute=work.compute + 1)):
            later = simulated(worse, order)
            assert np.all(later.fetched >= stamps.fetched)
            assert np.all(later.done >= stamps.done)


def test_bounds_by_hand() -> None:
    """A compute-bound layer (1, 9) and a memory-bound one (8, 2) in a buffer of 8."""
    work = ticks_of([[(1, 9)], [(8, 2)]], buffer=8)
    bounds = makespan_bounds(work)
    # the array 11, the pins 9; fetches of 9, idle time of 2 for each layer, of which the last
    # layer's does not count before its end
    assert (bounds.engines, bounds.ends, bounds.suffixes) == (11, 13, 13)
    # one byte of the second layer waits until the first is done
    assert makespan(work, order_of([0, 1])) == 13


@pytest.mark.parametrize("seed", range(30))
def test_no_stream_is_above_the_bound_on_throughput(seed: int) -> None:
    rng = np.random.default_rng(seed)
    work = random_ticks(rng, rng.integers(1, 6, 1 + seed % 3).tolist(), maps=seed % 2 == 1)
    if not all(work.fetch[a:b].sum() + work.compute[a:b].sum() for a, b in spans(work)):
        pytest.skip("a chain does nothing")
    isolated = isolated_ticks(work)
    bound = throughput_bound(work, isolated)
    assert bound.value >= 1 - 1e-9
    for _ in range(20):
        order = random_order(rng, work, int(rng.integers(1, 40)))
        metrics = stream_metrics(work, order, isolated, bound.prices)
        assert metrics.stp <= bound.value
        whole = (metrics.completed * isolated).sum() / metrics.elapsed_ticks
        assert whole <= bound.value


def spans(work: Ticks) -> list[tuple[int, int]]:
    return list(zip(work.first[:-1].tolist(), work.first[1:].tolist(), strict=True))
