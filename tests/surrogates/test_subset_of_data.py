import numpy as np
import pytest

from archloom.surrogates.subset_of_data import farthest_points, informative_rows, last_refresh


def test_what_costs_much_is_done_anew_with_each_fifth_more() -> None:
    assert [last_refresh(n) for n in range(12)] == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10]
    times = {last_refresh(n) for n in range(1, 5001)}
    assert len(times) == 45
    assert all(last_refresh(n) == n for n in times)
    assert all(n / 1.2 - 1 < last_refresh(n) <= n for n in range(1, 5001))


def test_a_short_history_is_told_whole() -> None:
    rows = np.random.default_rng(0).random((9, 2))
    np.testing.assert_array_equal(informative_rows(rows, rows, rows[:1], most=9), np.arange(9))


def test_of_a_long_history_those_near_the_front_and_some_everywhere_tell() -> None:
    inputs = np.random.default_rng(1).random((600, 2))
    costs = inputs + np.array([0.0, 0.3])
    front = costs[np.argsort(costs.sum(axis=1))[:1]]
    rows = informative_rows(inputs, costs, front, most=60)
    assert (np.diff(rows) > 0).all()
    assert len(rows) == 60
    behind = (costs - front).min(axis=1)
    assert set(np.argsort(behind)[:30]) <= set(rows)
    # no design is far from one that tells
    gaps = np.linalg.norm(inputs[:, None] - inputs[rows], axis=2).min(axis=1)
    assert gaps.max() < 0.2


def test_rows_far_apart_go_on_with_the_farthest() -> None:
    line = np.array([[0.0], [0.1], [0.45], [0.9], [1.0]])
    assert farthest_points(line, 3, [2]).tolist() == [2, 4, 0]
    assert farthest_points(line, 2, [1]).tolist() == [1, 4]
    assert farthest_points(line, 3, [0, 4]).tolist() == [0, 4, 2]
    assert sorted(farthest_points(line, 99, [0])) == [0, 1, 2, 3, 4]
    assert sorted(farthest_points(np.zeros((3, 2)), 3, [1])) == [0, 1, 2]


@pytest.mark.parametrize("trials", [0, 1, 2])
def test_the_first_trials_are_all_told(trials: int) -> None:
    assert last_refresh(trials) == trials
