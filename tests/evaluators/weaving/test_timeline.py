"""The timeline of a schedule against a run tick by tick."""

from itertools import pairwise

import numpy as np
import pytest

from archloom.evaluators.weaving.simulator import Order, simulated
from archloom.evaluators.weaving.ticks import Ticks
from archloom.evaluators.weaving.timeline import schedule_timeline

from ...cases.sweeps import sweep
from ...cases.woven import order_of, random_order, random_ticks, ticks_of


def run(work, order, parts, end):
    """What happens in each tick: the step whose map, weight and cycle it is (-1: none), and the
    bytes of weights that each chain holds when it begins."""
    steps = len(parts)
    maps, left = [work.maps[p] for p in parts], [work.fetch[p] for p in parts]
    cycles = [work.compute[p] for p in parts]
    release = order.release.tolist() or [0] * steps
    at, running, held, rows = 0, 0, [0] * work.chains, []
    chain = order.chain.tolist()
    for tick in range(end + 1):
        # layers that are done free their weights, and those without cycles at once
        while running < steps and at > running and cycles[running] == 0:
            held[chain[running]] -= work.fetch[parts[running]]
            running += 1
        while at < steps and release[at] <= tick and maps[at] == 0 and left[at] == 0:
            at += 1
            while running < steps and at > running and cycles[running] == 0:
                held[chain[running]] -= work.fetch[parts[running]]
                running += 1
        row = [-1, -1, -1, *held]
        if at > running:
            row[2], cycles[running] = running, cycles[running] - 1
        if at < steps and release[at] <= tick:
            if maps[at]:
                row[0], maps[at] = at, maps[at] - 1
            elif sum(held) < work.buffer:
                row[1], left[at] = at, left[at] - 1
                held[chain[at]] += 1
        rows.append(row)
        while at < steps and release[at] <= tick + 1 and maps[at] == 0 and left[at] == 0:
            at += 1
    return np.array(rows)


def marked(stretches, end):
    """Step of each tick, and -1 where there is none; no two may overlap."""
    steps = np.full(end + 1, -1)
    for a, b, step in stretches:
        assert a < b
        assert (steps[a:b] == -1).all()
        steps[a:b] = step
    return steps


def value_at(points, tick):
    """What each chain holds when a tick begins, after all jumps."""
    last = int(np.flatnonzero(points[:, 0] <= tick)[-1])
    t, *held = points[last].tolist()
    if last + 1 == len(points) or t == tick:
        return held
    end, *after = points[last + 1].tolist()
    return [v + (w - v) * (tick - t) // (end - t) for v, w in zip(held, after, strict=True)]


@pytest.mark.parametrize("seed", sweep(range(12), 4))
def test_both_engines_and_the_weight_buffer_tick_by_tick(seed):
    rng = np.random.default_rng(seed)
    for number in range(40):
        counts = rng.multinomial(int(rng.integers(1, 12)), [1 / 3] * 3)
        work = random_ticks(rng, [n for n in counts if n], maps=number % 2 == 1)
        order = random_order(rng, work, queries=1)
        if number % 4 == 3:
            release = np.where(rng.random(len(order.chain)) < 0.3, rng.integers(0, 99), 0)
            order = Order(order.chain, np.maximum.accumulate(release).astype(np.int64))
        stamps = simulated(work, order)
        found, end = schedule_timeline(work, order, stamps), stamps.makespan
        rows = run(work, order, stamps.part, end)
        for column, stretches in enumerate((found.maps, found.fetches, found.computes)):
            assert marked(stretches, end).tolist() == rows[:, column].tolist()
        held = [value_at(found.weights, tick) for tick in range(end + 1)]
        assert held == rows[:, 3:].tolist()
        assert found.weights[:, 1:].sum(axis=1).max() <= work.buffer
        assert not found.weights[-1, 1:].any()


@pytest.mark.parametrize("seed", range(3))
def test_stretches_end_with_the_time_stamps_and_curves_go_on_in_time(seed):
    rng = np.random.default_rng(seed)
    work = random_ticks(rng, [20, 30], maps=True)
    order = random_order(rng, work, queries=3)
    stamps = simulated(work, order)
    found = schedule_timeline(work, order, stamps)
    for stretches, ends in ((found.computes, stamps.done), (found.fetches, stamps.fetched)):
        last = {step: b for _, b, step in stretches}
        assert all(ends[step] == b for step, b in last.items())
    for curve in (found.weights, found.on_chip_maps):
        assert all(a[0] <= b[0] for a, b in pairwise(curve.tolist()))
        assert (curve[:, 1:] >= 0).all()
    moved = sum(b - a for a, b, _ in (*found.fetches, *found.maps))
    assert moved == work.fetch[stamps.part].sum() + work.maps[stamps.part].sum()


def test_a_fetch_that_waits_is_two_stretches():
    """Two layers of 3 bytes and 5 ticks in a buffer of 4: the second waits for 2 of its bytes."""
    work = ticks_of([[(3, 5)], [(3, 5)]], buffer=4)
    order = order_of([0, 1])
    found = schedule_timeline(work, order, simulated(work, order))
    assert found.fetches == ((0, 3, 0), (3, 4, 1), (8, 10, 1))
    assert found.computes == ((3, 8, 0), (10, 15, 1))
    # held by the first network, and by the second
    curve = [[0, 0, 0], [3, 3, 0], [4, 3, 1], [8, 3, 1], [8, 0, 1], [10, 0, 3], [15, 0, 3]]
    assert found.weights.tolist() == [*curve, [15, 0, 0]]


def test_the_map_buffer_holds_what_runs_and_what_paused_networks_keep():
    plain = ticks_of([[(1, 4), (1, 4)], [(1, 4)]], buffer=4)
    work = plain._replace(
        footprint=np.array([10, 20, 5], np.int64), live=np.array([7, 0, 0], np.int64)
    )
    assert isinstance(work, Ticks)
    order = order_of([0, 1, 0])
    found = schedule_timeline(work, order, simulated(work, order))
    # layer 1 of network 0, network 1 beside 7 bytes that are paused, layer 2 of network 0
    assert found.on_chip_maps.tolist() == [
        *([0, 0, 0], [1, 0, 0], [1, 10, 0], [5, 10, 0], [5, 7, 0], [5, 7, 5], [9, 7, 5]),
        *([9, 7, 0], [9, 20, 0], [13, 20, 0], [13, 0, 0]),
    ]
