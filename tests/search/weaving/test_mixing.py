"""Streams in given shares: what they promise is what the simulator makes of their order."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from archloom.evaluators.weaving import Order, Ticks, simulated
from archloom.search.weaving.mix_kernel import SERIAL, Mix, stream_order
from archloom.search.weaving.mixing import _AHEAD, TARGETS, _blank, _queries, mixed_stream
from archloom.search.weaving.rules import deficits

from ...cases.woven import random_ticks, ticks_of
from ...oracles.weaving_events import event_stamps


def with_maps(rng: np.random.Generator, work: Ticks) -> Ticks:
    """Return chains whose maps take room: some of a layer, some until later ones have run."""
    footprint = rng.integers(0, 10, len(work.fetch))
    live = np.minimum(rng.integers(0, 10, len(footprint)), footprint)
    live[work.first[1:] - 1] = 0
    return work._replace(footprint=footprint, live=live, map_buffer=int(rng.integers(5, 25)))


def random_mix(seed: int) -> tuple[Ticks, list[float]]:
    rng = np.random.default_rng(seed)
    chains = int(rng.integers(1, 5))
    work = with_maps(rng, random_ticks(rng, rng.integers(2, 10, chains).tolist(), maps=True))
    shares = np.maximum(rng.dirichlet(np.ones(chains)), 0.02)
    return work, (shares / shares.sum()).tolist()


def mixed_order(work: Ticks, shares: Sequence[float], target: float | None, layers: int) -> Order:
    """Return the order of a stream of about so many layers, by the rule of a target."""
    queries = _queries(work, np.asarray(shares, np.float64), layers)
    at = SERIAL if target is None else int(target * work.buffer)
    order = _blank(work, queries)
    stream_order(work, Mix(queries, _AHEAD, deficits(work, True), at), order)
    return Order(order)


def event_check(work: Ticks, chain: Sequence[int]) -> int:
    """Return when all is done, event by event."""
    position, layers = work.first[:-1].tolist(), []
    for m in chain:
        part = position[m]
        layers.append((int(work.maps[part]), int(work.fetch[part]), int(work.compute[part])))
        position[m] = part + 1 if part + 1 < work.first[m + 1] else int(work.first[m])
    return event_stamps(layers, work.buffer)[1][-1]


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6))
def test_no_stream_is_above_its_bound_and_its_order_gives_its_rate(seed: int) -> None:
    work, shares = random_mix(seed)
    found = mixed_stream(work, shares)
    assert 0 < found.rate <= found.bound
    assert 0 < max(found.busy) <= 1
    order = mixed_order(work, shares, found.target, 400)
    counts = np.bincount(order.chain, minlength=work.chains) / np.diff(work.first)
    assert (counts == counts.astype(int)).all()
    done = event_check(work, order.chain)
    assert done == simulated(work, order).makespan
    assert (counts / shares).min() / done <= found.bound


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), target=st.sampled_from((None, *TARGETS)))
def test_maps_of_paused_networks_always_have_room(seed: int, target: float | None) -> None:
    """Followed step by step: what runs and what waits never takes more than there is."""
    work, shares = random_mix(seed)
    position, begun = work.first[:-1].copy(), np.zeros(work.chains)
    held = np.zeros(work.chains, np.int64)
    order = mixed_order(work, shares, target, 400).chain
    queries = np.bincount(order, minlength=work.chains) / np.diff(work.first)
    for m in order:
        part = position[m]
        if part == work.first[m]:
            # no further ahead of any other than two queries
            assert ((begun[m] - 2) / queries[m] <= begun / queries + 1e-9).all()
            begun[m] += 1
        alone = min(work.footprint[part], work.map_buffer)
        assert held.sum() - held[m] + alone <= work.map_buffer
        last = part + 1 == work.first[m + 1]
        held[m], position[m] = (0, work.first[m]) if last else (work.live[part], part + 1)
        if target is None:
            assert np.count_nonzero(position > work.first[:-1]) <= 1


def test_networks_that_complement_each_other_keep_both_engines_busy() -> None:
    # one computes three ticks for each that it fetches, the other the other way round
    work = ticks_of([[(2, 6)] * 10, [(6, 2)] * 10], 40)
    found = mixed_stream(work, [0.5, 0.5])
    # 20 ticks of either engine for two layers; one at a time would take 60 + 60 for two queries
    assert found.bound == pytest.approx(2 / 80)
    assert found.rate > 0.999 * found.bound
    assert found.busy == pytest.approx((1.0, 1.0), abs=1e-3)
    # three to one: the array has 3 x 60 + 20 ticks for four queries
    assert mixed_stream(work, [0.75, 0.25]).bound == pytest.approx(4 / 200)


def test_without_room_for_maps_networks_run_one_after_another() -> None:
    work = ticks_of([[(2, 6)] * 10, [(6, 2)] * 10], 40)
    size = len(work.fetch)
    live = np.full(size, 5)
    live[work.first[1:] - 1] = 0
    tight = work._replace(footprint=np.full(size, 10), live=live, map_buffer=14)
    wide = tight._replace(map_buffer=15)
    assert mixed_stream(wide, [0.5, 0.5]).rate > 1.04 * mixed_stream(tight, [0.5, 0.5]).rate
    chain = mixed_order(tight, [0.5, 0.5], 0.5, 400).chain
    assert np.count_nonzero(np.diff(chain)) <= len(chain) // 10


def test_shares_that_are_no_ratios_of_small_numbers_are_kept() -> None:
    work = ticks_of([[(2, 6)] * 3, [(6, 2)] * 4, [(1, 1)] * 2], 40)
    shares = [0.61803, 0.38, 0.00197]
    counts = np.bincount(mixed_order(work, shares, 0.5, 50_000).chain) / np.diff(work.first)
    assert counts / counts.sum() == pytest.approx(shares, rel=5e-3)
