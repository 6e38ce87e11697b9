"""Figures of one query of each chain, by hand and against simulations of parts."""

import numpy as np
import pytest

from archloom.evaluators.weaving.one_query import alone_ticks, query_metrics
from archloom.evaluators.weaving.simulator import makespan, simulated

from ...cases.woven import order_of, random_order, random_ticks, ticks_of


def test_two_networks_by_hand():
    """One computes for 6 ticks on 1 byte, one fetches 6 bytes for 1 tick: they overlap."""
    work = ticks_of([[(1, 6)], [(6, 1)]], buffer=9)
    order = order_of([0, 1])
    found = query_metrics(work, order, simulated(work, order))
    assert found.alone_ticks.tolist() == [7, 7]
    assert found.done_ticks.tolist() == [7, 8]
    assert found.serial_ticks == 8
    assert found.stp == pytest.approx(1 + 7 / 8)
    assert found.antt == pytest.approx((1 + 8 / 7) / 2)
    assert found.compute_active == found.memory_active == 7 / 8


def test_a_query_alone_ends_when_the_simulator_says():
    work = ticks_of([[(4, 1), (3, 2)], [(1, 9)]], 5)
    # 4, then one byte beside the compute, two more after it, then compute
    assert alone_ticks(work).tolist() == [9, 10]


@pytest.mark.parametrize("seed", range(20))
def test_random_schedules_keep_to_what_must_hold(seed):
    rng = np.random.default_rng(seed)
    work = random_ticks(rng, [4, 6], maps=True)
    work = work._replace(compute=work.compute + 1)
    order = random_order(rng, work)
    stamps = simulated(work, order)
    found = query_metrics(work, order, stamps)
    assert found.done_ticks.max() == stamps.makespan
    assert (found.slowdowns >= 1).all()
    assert 0 < found.stp <= work.chains
    assert found.antt >= 1
    assert max(found.compute_active, found.memory_active) <= 1
    # each alone, in a buffer that it has for itself
    own = [ticks_of(chain, work.buffer) for chain in split(work)]
    alone = [makespan(w, order_of([0] * int(w.first[1]))) for w in own]
    assert found.alone_ticks.tolist() == alone
    assert found.serial_ticks <= sum(alone)


def split(work):
    rows = list(zip(work.fetch.tolist(), work.compute.tolist(), work.maps.tolist(), strict=True))
    return [[rows[a:b]] for a, b in zip(work.first[:-1], work.first[1:], strict=True)]


def test_a_schedule_of_other_queries_is_refused():
    work = ticks_of([[(1, 6)], [(6, 1)]], buffer=9)
    order = order_of([0, 0])
    with pytest.raises(ValueError, match="does not run each chain once"):
        query_metrics(work, order, simulated(work, order))
