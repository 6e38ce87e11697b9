"""Arrivals: draws that loads and designs share, and who they are for."""

import numpy as np
import pytest

from archloom.search.weaving.serving.arrivals import (
    closed_requests,
    draws_of,
    given_requests,
    networks_of,
    open_requests,
)
from archloom.search.weaving.serving.requests import Requests

WITHIN = np.array([100, 200], np.int64)


def in_order(requests: Requests) -> list[tuple[int, int]]:
    """Return (arrival, network) of all requests, by time."""
    pairs = zip(requests.arrival.tolist(), networks_of(requests).tolist(), strict=True)
    return sorted(pairs)


def test_a_seed_gives_the_same_draws_and_another_one_others() -> None:
    first, again, other = draws_of(50, 3), draws_of(50, 3), draws_of(50, 4)
    assert first.times.tolist() == again.times.tolist()
    assert first.points.tolist() == again.points.tolist()
    assert first.times.tolist() != other.times.tolist()
    assert first.points.tolist() != other.points.tolist()
    # more requests are the same ones and others after them
    assert draws_of(80, 3).times[:50].tolist() == first.times.tolist()


def test_gaps_are_exponential_with_a_mean_of_one() -> None:
    gaps = np.diff(draws_of(200_000, 1).times)
    assert gaps.mean() == pytest.approx(1.0, rel=0.01)
    assert gaps.std() == pytest.approx(1.0, rel=0.01)
    # an exponential variable is above its mean with probability 1/e
    assert (gaps > 1.0).mean() == pytest.approx(np.exp(-1.0), rel=0.01)


def test_loads_scale_the_same_requests() -> None:
    draws, rates = draws_of(300, 5), np.array([2e-6, 1e-6])
    low = open_requests(draws, rates, WITHIN)
    high = open_requests(draws, 2 * rates, WITHIN)
    assert low.first.tolist() == high.first.tolist()
    assert np.abs(low.arrival - 2 * high.arrival).max() <= 2
    assert low.arrival.max() == int(draws.times[-1] / 3e-6)


def test_networks_get_their_shares_and_deadlines() -> None:
    requests = open_requests(draws_of(30_000, 2), np.array([3e-4, 1e-4]), WITHIN)
    assert np.diff(requests.first) / 30_000 == pytest.approx([0.75, 0.25], abs=0.01)
    assert set(requests.within[: requests.first[1]]) == {100}
    assert set(requests.within[requests.first[1] :]) == {200}
    assert requests.batch.tolist() == [0, 0]
    for m in range(2):
        assert np.all(np.diff(requests.arrival[requests.first[m] : requests.first[m + 1]]) >= 0)


def test_requests_of_a_burst_come_at_once_for_one_network() -> None:
    draws = draws_of(8000, 6, burst=8)
    for column in (draws.times, draws.points):
        assert np.all(column.reshape(-1, 8) == column[::8, None])
    # as many requests in the long run as without bursts
    assert draws.times[-1] / 8000 == pytest.approx(1.0, rel=0.1)
    assert len(draws_of(13, 6, burst=8).times) == 13


def test_given_requests_are_sorted_by_network_and_time() -> None:
    found = given_requests(np.array([30, 10, 20, 0]), np.array([0, 1, 0, 1]), WITHIN)
    assert in_order(found) == [(0, 1), (10, 1), (20, 0), (30, 0)]
    assert found.first.tolist() == [0, 2, 4]
    lonely = given_requests(np.array([7]), np.array([1]), WITHIN)
    assert lonely.first.tolist() == [0, 0, 1]


def test_of_closed_loops_the_first_batches_come_at_once() -> None:
    found = closed_requests(4, [1, 3], WITHIN)
    assert [int((row == 0).sum()) for row in found.arrival.reshape(2, 4)] == [1, 3]
    assert found.arrival[found.arrival > 0].min() > 2**60
    assert found.batch.tolist() == [1, 3]
