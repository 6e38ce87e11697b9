import numpy as np
import pytest

from archloom.evaluators.weaving import Order, makespan, simulated

from ...cases.sweeps import sweep
from ...cases.woven import order_of, random_order, random_ticks, ticks_of
from ...oracles.weaving_events import event_stamps


@pytest.mark.parametrize("seed", sweep(range(20), 3))
def test_every_time_stamp_is_that_of_the_events(seed: int) -> None:
    """A thousand random instances each, of 1 to 25 layers; every third one with maps or waits."""
    rng = np.random.default_rng(seed)
    for number in range(1000):
        counts = rng.multinomial(int(rng.integers(1, 26)), [1 / 3] * 3)
        work = random_ticks(rng, [n for n in counts if n], maps=number % 3 == 1)
        order = random_order(rng, work, queries=1 + number % 2)
        if number % 3 == 2:
            release = np.where(rng.random(len(order.chain)) < 0.3, rng.integers(0, 99), 0)
            order = Order(order.chain, release.astype(np.int64))
        stamps = simulated(work, order)
        layers = [
            (int(work.maps[p]), int(work.fetch[p]), int(work.compute[p])) for p in stamps.part
        ]
        fetched, done = event_stamps(layers, work.buffer, order.release.tolist())
        assert stamps.fetched.tolist() == fetched
        assert stamps.done.tolist() == done
        assert makespan(work, order) == done[-1]


def test_one_instance_by_hand() -> None:
    """Two layers of 3 bytes and 5 ticks in a buffer of 4: the second waits for 2 of its bytes."""
    work = ticks_of([[(3, 5)], [(3, 5)]], buffer=4)
    stamps = simulated(work, order_of([0, 1]))
    assert stamps.fetched.tolist() == [3, 10]
    assert stamps.done.tolist() == [8, 15]
    assert makespan(work, order_of([])) == 0


def test_orders_that_no_run_could_have_are_refused() -> None:
    work = ticks_of([[(3, 5)]], buffer=4)
    with pytest.raises(ValueError, match="a step of another one"):
        simulated(work, order_of([1]))
    with pytest.raises(ValueError, match="1 steps has 2 releases"):
        makespan(work, Order(np.array([0]), np.array([0, 0])))
    huge = ticks_of([[(2**50, 2**50)]], buffer=2**50)
    with pytest.raises(ValueError, match="schedule fewer queries"):
        makespan(huge, order_of([0] * 1000))
