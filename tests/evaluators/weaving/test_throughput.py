from itertools import combinations

import numpy as np
import pytest

from archloom.evaluators import Floats
from archloom.evaluators.weaving import (
    demands,
    isolated_ticks,
    steady_rows,
    throughput_bound,
)

from ...cases.woven import layers_of, random_ticks, ticks_of
from ...oracles.weaving_events import event_stamps


def test_two_networks_in_closed_form() -> None:
    """m = W1 / C1 = 0.2 and p = C2 / W2 = 0.3: STP* = (2 - m - p) / (1 - m p)."""
    work = ticks_of([[(20, 100)], [(200, 60)]], buffer=10**6)
    bound = throughput_bound(work, isolated_ticks(work))
    assert bound.value == pytest.approx((2 - 0.2 - 0.3) / (1 - 0.2 * 0.3))
    # both engines are busy all the time at those rates
    assert bound.rates @ demands(work)[:, :2] == pytest.approx([1, 1])
    assert bound.compute_price + bound.memory_price == pytest.approx(bound.value)
    assert min(bound.compute_price, bound.memory_price) > 0


def test_networks_that_wait_for_the_same_engine_gain_nothing() -> None:
    work = ticks_of([[(20, 100)], [(10, 60)]], buffer=10**6)
    bound = throughput_bound(work, isolated_ticks(work))
    assert bound.value == pytest.approx(1)
    assert bound.compute_price == pytest.approx(1)


@pytest.mark.parametrize("seed", range(40))
def test_value_and_rates_are_those_of_all_vertices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    work = random_ticks(rng, [3] * int(rng.integers(1, 5)), maps=seed % 2 == 1)
    work = work._replace(compute=work.compute + 1)
    worth = rng.uniform(0.5, 9, work.chains)
    bound = throughput_bound(work, worth)
    rows = steady_rows(work)
    assert bound.value == pytest.approx(best_vertex(rows, worth), rel=1e-9)
    assert bound.rates @ worth == pytest.approx(bound.value, rel=1e-9)
    assert (bound.rates @ rows <= 1 + 1e-9).all()
    # the prices prove the value
    assert np.all(rows @ bound.prices >= worth * (1 - 1e-9))
    assert sum(bound.prices) == pytest.approx(bound.value)


def best_vertex(rows: Floats, worth: Floats) -> float:
    """The most of the linear program: the best of all points where as many limits meet as there
    are rates."""
    chains, resources = rows.shape
    limits = np.vstack([rows.T, -np.eye(chains)])
    most = np.concatenate([np.ones(resources), np.zeros(chains)])
    found = 0.0
    for chosen in combinations(range(len(limits)), chains):
        face = limits[list(chosen)]
        if abs(np.linalg.det(face / np.abs(face).max(axis=1)[:, None])) > 1e-12:
            rates = np.linalg.solve(face, most[list(chosen)])
            if np.all(limits @ rates <= most + 1e-9):
                found = max(found, float(rates @ worth))
    return found


def test_a_stretch_that_only_fetches_bounds_what_the_array_does() -> None:
    """Two convolutions of 40 ticks, then a classifier of 90 bytes, where 50 fit: 49 bytes of it are
    there when the last convolution is done, 41 come while the array rests. The other network has 10
    bytes and 2 ticks a query, which cannot fill the array meanwhile."""
    work = ticks_of([[(1, 40), (1, 40), (45, 1), (45, 1)], [(10, 2)]], buffer=50)
    rows = steady_rows(work)
    assert rows[:, :3].tolist() == [[82, 92, 92], [2, 10, 10]]
    assert isolated_ticks(work).tolist() == [122, 10]
    assert rows[:, 3:].tolist() == [[122, 4], [2, 10]]
    bound = throughput_bound(work, isolated_ticks(work))
    # 122 r + 2 q = 1 and 92 r + 10 q = 1; without the rows of orders 82 r + 2 q = 1
    assert bound.value == pytest.approx((122 * 8 + 10 * 30) / (122 * 10 - 2 * 92))
    assert bound.order_price > 0
    assert bound.order_price + bound.memory_price == pytest.approx(bound.value)


@pytest.mark.parametrize("seed", range(20))
def test_no_long_run_alone_is_shorter_than_the_least_period(seed: int) -> None:
    """C(n queries) >= n times the period (docs/explanation/weaving.md), in an account event by
    event."""
    rng = np.random.default_rng(seed)
    work = random_ticks(rng, [int(rng.integers(1, 7))])
    if not demands(work).any():
        pytest.skip("a chain that does nothing")
    (chain,) = layers_of(work)
    _, done = event_stamps(chain * 60, work.buffer)
    ends = np.array(done[len(chain) - 1 :: len(chain)])
    least = steady_rows(work)[0, 3]
    assert np.all(ends >= least * np.arange(1, 61) * (1 - 1e-12))
    # and what is measured is attained
    assert (ends[-1] - ends[29]) / 30 == pytest.approx(isolated_ticks(work)[0], rel=0.05, abs=1)


def test_the_isolated_time_is_the_period_of_a_long_run() -> None:
    rng = np.random.default_rng(2)
    for number in range(60):
        work = random_ticks(rng, [int(rng.integers(1, 7))], maps=number % 2 == 1)
        if not demands(work).any():
            continue
        (chain,) = layers_of(work)
        _, done = event_stamps(chain * 240, work.buffer)
        ends = done[len(chain) - 1 :: len(chain)]
        period = (ends[-1] - ends[119]) / 120
        assert isolated_ticks(work)[0] == pytest.approx(max(1, period), rel=0.02)


def test_what_has_no_bound_is_named() -> None:
    work = ticks_of([[(0, 0)], [(1, 1)]], buffer=3)
    with pytest.raises(ValueError, match="without bytes and cycles"):
        throughput_bound(work, [1, 1])
    with pytest.raises(ValueError, match="2 chains need as many positive weights"):
        throughput_bound(work, [1, -1])
