import numpy as np
import pytest
from scipy.optimize import linprog

from archloom.evaluators.weaving import demands, isolated_ticks, throughput_bound

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
def test_value_and_rates_are_those_of_another_solver(seed: int) -> None:
    rng = np.random.default_rng(seed)
    work = random_ticks(rng, [3] * int(rng.integers(1, 6)), maps=seed % 2 == 1)
    work = work._replace(compute=work.compute + 1)
    worth = rng.uniform(0.5, 9, work.chains)
    bound = throughput_bound(work, worth)
    rows = demands(work)
    other = linprog(-worth, A_ub=rows.T, b_ub=np.ones(3), method="highs")
    assert bound.value == pytest.approx(-other.fun, rel=1e-9)
    assert bound.rates @ worth == pytest.approx(bound.value, rel=1e-9)
    assert (bound.rates @ rows <= 1 + 1e-9).all()
    # at most as many networks as there are resources that bind; two without a third row
    assert np.count_nonzero(bound.rates) <= 3
    # the prices prove the value
    assert np.all(rows @ bound.prices >= worth * (1 - 1e-9))
    assert sum(bound.prices) == pytest.approx(bound.value)


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
