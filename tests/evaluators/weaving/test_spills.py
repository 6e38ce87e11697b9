import numpy as np
import pytest

from archloom.evaluators.weaving import (
    Chain,
    Npu,
    Ticks,
    makespan,
    makespan_bounds,
    simulated,
    stream_metrics,
    ticked,
)
from archloom.search.weaving.certify import certified
from archloom.space import InfeasibleError

from ...cases.woven import order_of, random_order, random_ticks
from ...oracles.spilled_maps import MappedLayer, spilled_run


def with_maps(rng: np.random.Generator, work: Ticks, room: float) -> Ticks:
    """Return chains whose layers keep maps, in a buffer of so many times the largest."""
    count = int(work.first[-1])
    footprint, live = rng.integers(0, 12, count), rng.integers(0, 7, count)
    live[work.first[1:] - 1] = 0
    largest = int(np.maximum(footprint, live).max())
    room = max(1, int(largest * room))
    return work._replace(footprint=footprint, live=live, map_buffer=room, maps_bounded=True)


def mapped(work: Ticks) -> list[list[MappedLayer]]:
    columns = (work.maps, work.fetch, work.compute, work.footprint, work.live)
    rows = [MappedLayer(*row) for row in zip(*(c.tolist() for c in columns), strict=True)]
    return [rows[a:b] for a, b in zip(work.first[:-1], work.first[1:], strict=True)]


def test_time_stamps_are_those_of_the_events() -> None:
    rng = np.random.default_rng(0)
    spilled = 0
    for number in range(200):
        plain = random_ticks(rng, rng.integers(1, 5, 2 + number % 2).tolist(), maps=True)
        work = with_maps(rng, plain, 1 + 0.2 * (number % 4))
        order = random_order(rng, work, 2)
        stamps = simulated(work, order)
        fetched, done, written = spilled_run(
            mapped(work), order.chain.tolist(), work.buffer, work.map_buffer
        )
        assert stamps.fetched.tolist() == fetched
        assert stamps.done.tolist() == done
        assert stamps.spilled_bytes == written
        assert makespan(work, order) == done[-1]
        spilled += written > 0
        # spills only delay, so no bound is above
        assert makespan(plain, order) <= done[-1]
        assert makespan_bounds(work).best <= done[-1]
    assert spilled > 60


def test_without_a_limit_or_with_room_nothing_is_written_out() -> None:
    rng = np.random.default_rng(1)
    plain = random_ticks(rng, [5, 6])
    tight = with_maps(rng, plain, 1.0)
    order = random_order(rng, plain)
    assert simulated(tight, order).spilled_bytes > 0
    grown = tight._replace(maps_bounded=False)
    assert simulated(grown, order).done.tolist() == simulated(plain, order).done.tolist()
    roomy = tight._replace(map_buffer=1000)
    assert makespan(roomy, order) == makespan(plain, order)
    metrics = stream_metrics(tight, order, np.ones(2), (1.0, 1.0, 0.0, 0.0, 0.0))
    assert metrics.spilled_bytes == simulated(tight, order).spilled_bytes


def test_a_schedule_with_few_switches_is_preferred() -> None:
    """What is searched without spills is priced with them, and no bound is claimed too high."""
    rng = np.random.default_rng(6)
    for _ in range(10):
        work = with_maps(rng, random_ticks(rng, [6, 6], largest=20), 1.1)
        woven = certified(work, effort=10**6)
        assert woven.upper_ticks == makespan(work, woven.order)
        assert woven.lower_ticks <= certified(work._replace(maps_bounded=False)).upper_ticks
        assert woven.lower_ticks <= woven.upper_ticks


def test_a_layer_that_fits_in_no_way_is_named() -> None:
    chain = Chain("net", [1, 1], [1, 1], [0, 0], [5, 90], [2, 0], ("a", "b"))  # type: ignore[arg-type]
    npu = Npu("chip", 1, 1, 10, 64)
    with pytest.raises(InfeasibleError, match=r"map_overflow at net, layer b on chip: needs 90"):
        ticked([chain], npu, maps_bounded=True)
    assert not ticked([chain], npu).maps_bounded
    fits = ticked([chain], Npu("chip", 1, 1, 10, 90), maps_bounded=True)
    assert simulated(fits, order_of([0, 0])).spilled_bytes == 0
