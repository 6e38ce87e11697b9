"""Goodput and stable load against what bounds them, and the bounds against a solver."""

import numpy as np
import pytest
from scipy.optimize import linprog

from archloom.search.weaving.serving.arrivals import draws_of, open_requests
from archloom.search.weaving.serving.loads import load_curve
from archloom.search.weaving.serving.metrics import latencies, serving_metrics
from archloom.search.weaving.serving.policy import RULES, Policy
from archloom.search.weaving.serving.serving import served
from archloom.search.weaving.serving.stability import stable_load
from archloom.search.weaving.serving.tenants import Deadline
from archloom.search.weaving.serving.upper_bounds import goodput_bound, load_bound

from ....cases.tenants import chain_of, opposed, random_chains, tenants


def test_the_bound_on_goodput_is_the_optimum_of_its_linear_program() -> None:
    rng = np.random.default_rng(0)
    for case in range(300):
        count = int(rng.integers(1, 6))
        demands = rng.random((count, 3)) * 10 ** rng.uniform(-2, 2, (count, 1))
        worth = rng.random(count) * 10 ** rng.uniform(-1, 1, count)
        offered = rng.random(count) * 3 / demands.max(axis=1)
        if case % 3 == 0:
            offered[:] = 1e3
        found = linprog(
            -worth, demands.T, np.ones(3), bounds=[(0, most) for most in offered.tolist()]
        )
        assert goodput_bound(demands, worth, offered) == pytest.approx(-found.fun, rel=1e-7)


def test_no_policy_gets_above_the_bounds() -> None:
    rng = np.random.default_rng(1)
    for case in range(12):
        chains = random_chains(rng, int(rng.integers(1, 4)))
        shared = tenants(chains, Deadline(float(rng.uniform(1.5, 6)), isolated=True))
        draws = draws_of(300, case)
        for rule in RULES:
            policy = Policy(rule, shed=None if case % 2 else 1.0)
            load = float(rng.choice([0.5, 1.0, 3.0]))
            found = served(shared, policy, open_requests(draws, shared.rates * load, shared.within))
            metrics = serving_metrics(found)
            assert metrics.goodput_stp <= metrics.goodput_bound_stp
            assert metrics.goodput_bound_stp <= metrics.offered_stp * (1 + 1e-6)
            stable = stable_load(shared, policy, draws, 0.05, 0.01)
            assert stable.load <= stable.bound
            assert stable.gap_percent >= 0


def test_the_bound_on_load_counts_the_requests_that_need_least() -> None:
    demands = np.array([[10.0, 1.0, 1.0], [1.0, 4.0, 4.0]])
    network = np.array([0, 0, 1, 1])
    # one may be missed: of the array 10 + 1 + 1, of the pins 4 + 1 + 1 must be done by the end
    found = load_bound(demands, network, 100.0, 2, 1)
    assert found == pytest.approx(100.0 / (12.0 - 2.0))
    assert load_bound(demands, network, 100.0, 50, 1) == np.inf


def test_a_stable_load_has_few_misses_and_one_above_it_too_many() -> None:
    shared = tenants(opposed(), Deadline(4, isolated=True))
    draws = draws_of(1000, 5)
    for share in (0.0, 0.01, 0.1):
        policy = Policy("strings", shed=1.0)
        found = stable_load(shared, policy, draws, share, 0.002)

        def missed(load: float, policy: Policy = policy) -> float:
            requests = open_requests(draws, shared.rates * load, shared.within)
            return serving_metrics(served(shared, policy, requests)).missed_share

        assert 0 < found.load < found.bound
        assert missed(found.load) <= share
        # bisection ended between this load and one that has too many, at most a tolerance away
        assert max(missed(found.load + 0.0005 * k) for k in range(1, 5)) > share
        assert found.qps == pytest.approx(found.load * shared.rates.sum() * shared.ticks_per_s)
    assert found.runs < 15


def test_no_load_is_stable_where_even_a_lone_request_is_late() -> None:
    shared = tenants(opposed(), Deadline(0.1, isolated=True))
    found = stable_load(shared, Policy(), draws_of(100, 1))
    assert (found.load, found.qps, found.gap_percent) == (0.0, 0.0, float("inf"))


def test_a_stable_load_needs_deadlines_and_a_share() -> None:
    with pytest.raises(ValueError, match="needs a deadline"):
        stable_load(tenants(opposed()), Policy(), draws_of(10, 1))
    with pytest.raises(ValueError, match="at least 0 and below 1"):
        stable_load(tenants(opposed(), Deadline(1.0)), Policy(), draws_of(10, 1), 1.0)


def test_metrics_of_a_run_that_can_be_followed_by_hand() -> None:
    # a fetch of 2 ticks and 4 of the array; the second request is fetched meanwhile
    shared = tenants([chain_of("one", [(2, 4)])], Deadline(9e-6))
    draws = draws_of(3, 1)
    requests = open_requests(draws, np.array([1e9]), shared.within)
    assert requests.arrival.tolist() == [0, 0, 0]
    metrics = serving_metrics(served(shared, Policy(), requests))
    # they end at 6, 10 and 14; only the first within 9 ticks
    assert metrics.horizon_s == pytest.approx(14e-6)
    assert metrics.missed_share == pytest.approx(2 / 3)
    assert metrics.goodput_qps == pytest.approx(1 / 14e-6)
    assert metrics.offered_qps == pytest.approx(3 / 14e-6)
    assert metrics.goodput_stp == pytest.approx(4 / 14)
    (one,) = metrics.tenants
    assert (one.requests, one.finished, one.shed, one.missed) == (3, 3, 0, 2)
    assert one.isolated_ms == pytest.approx(4e-3)
    assert one.p50 == pytest.approx(10 / 4)
    assert one.p50_ms == pytest.approx(10e-3)
    assert one.p99 == pytest.approx((10 + 0.98 * 4) / 4)


def test_shed_requests_count_as_missed_and_have_no_latency() -> None:
    shared = tenants([chain_of("one", [(2, 4)])], Deadline(9e-6))
    requests = open_requests(draws_of(3, 1), np.array([1e9]), shared.within)
    # at tick 4 the third has 5 ticks left
    found = served(shared, Policy("fcfs", shed=1.3), requests)
    metrics = serving_metrics(found)
    (one,) = metrics.tenants
    assert (one.finished, one.shed, one.missed) == (2, 1, 2)
    assert metrics.shed_share == pytest.approx(1 / 3)
    assert latencies(found).tolist() == [6 / 4, 10 / 4]


def test_a_network_without_requests_has_no_percentiles() -> None:
    shared = tenants(opposed(), shares=(1.0, 1e-6))
    requests = open_requests(draws_of(20, 1), shared.rates, shared.within)
    metrics = serving_metrics(served(shared, Policy(), requests))
    assert metrics.requests == 20
    idle = metrics.tenants[1]
    assert (idle.requests, idle.finished) == (0, 0)
    assert np.isnan([idle.p50, idle.p99, idle.p50_ms, idle.p99_ms]).all()


def test_curves_have_a_point_for_each_load() -> None:
    shared = tenants(opposed(), Deadline(3, isolated=True))
    points = load_curve(shared, Policy("fcfs"), draws_of(300, 1), (0.2, 0.6, 1.0))
    assert [point.load for point in points] == [0.2, 0.6, 1.0]
    misses = [point.metrics.missed_share for point in points]
    assert misses == sorted(misses)
    assert misses[-1] > misses[0]
    tails = [point.p99 for point in points if point.p99 is not None]
    assert len(tails) == 3
    assert tails[-1] > tails[0] >= 1.0
