import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from archloom.search.pareto import (
    dominated_by,
    hypervolume,
    hypervolume_after,
    nearest_to_ideal,
    non_dominated,
)

ROWS = arrays(np.float64, st.tuples(st.integers(0, 12), st.just(3)), elements=st.integers(1, 5))


@given(ROWS)
def test_non_dominated_is_the_definition(rows):
    def dominates(a, b):
        return (a <= b).all() and (a < b).any()

    expected = [not any(dominates(a, b) for a in rows) for b in rows]
    assert non_dominated(rows).tolist() == expected


@pytest.mark.parametrize("values", [3, 30, 10**6])
def test_a_front_is_the_same_in_one_piece_and_in_many(values):
    # each third is compared in pairs; the whole is filtered
    rows = np.random.default_rng(values).integers(1, values, (450, 3)).astype(float)
    some = np.concatenate([np.flatnonzero(non_dominated(rows[i::3])) * 3 + i for i in range(3)])
    assert len(some) <= 200
    front = some[non_dominated(rows[some])]
    assert np.flatnonzero(non_dominated(rows)).tolist() == sorted(front)


def test_hypervolume_is_measured_in_decades():
    assert hypervolume([[1.0, 1.0, 1.0]], (10, 100, 10)) == pytest.approx(2.0)
    # Two corners that overlap: 1 x 2 x 1 + 2 x 1 x 1 - 1 x 1 x 1.
    rows = [[10.0, 1.0, 10.0], [1.0, 10.0, 10.0]]
    assert hypervolume(rows, (100, 100, 100)) == pytest.approx(3.0)


@given(ROWS)
def test_only_the_front_counts_and_more_is_never_less(rows):
    whole = hypervolume(rows, (6, 6, 6))
    assert hypervolume(rows[non_dominated(rows)], (6, 6, 6)) == pytest.approx(whole)
    assert hypervolume(rows[:-1], (6, 6, 6)) <= whole + 1e-12


@given(ROWS)
def test_the_history_of_a_volume_is_that_of_every_prefix(rows):
    history = hypervolume_after(rows, (5, 6, 6))
    prefixes = [hypervolume(rows[: i + 1], (5, 6, 6)) for i in range(len(rows))]
    assert history == pytest.approx(prefixes)


def test_rows_beyond_the_reference_add_nothing():
    assert hypervolume([], (10, 10, 10)) == 0.0
    assert hypervolume([[1.0, 1.0, 10.0], [1.0, 20.0, 1.0]], (10, 10, 10)) == 0.0


@pytest.mark.parametrize(
    ("rows", "reference", "message"),
    [
        ([[0.0, 1.0, 1.0]], (1, 1, 1), "positive"),
        ([[1.0, 1.0, 1.0]], (1, 1, 0), "positive"),
        ([[1.0, 1.0, 1.0]], (1, 1), "reference has 2 values"),
        ([[np.nan, 1.0, 1.0]], (1, 1, 1), "finite"),
    ],
)
def test_hypervolume_names_what_it_cannot_measure(rows, reference, message):
    with pytest.raises(ValueError, match=message):
        hypervolume(rows, reference)


def test_the_pick_is_nearest_to_the_ideal_of_the_scaled_front():
    rows = [[1.0, 900.0, 5.0], [9.0, 100.0, 5.0], [3.0, 300.0, 5.0], [3.0, 310.0, 6.0]]
    assert nearest_to_ideal(rows) == 2


def test_a_dominated_row_is_never_picked_and_ties_take_the_first():
    assert nearest_to_ideal([[2.0, 2.0, 2.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]) == 1
    with pytest.raises(ValueError, match="at least one row"):
        nearest_to_ideal([])


def test_dominated_by_takes_equal_rows_and_empty_sides() -> None:
    front = [(1.0, 3.0), (2.0, 1.0)]
    rows = [(1.0, 3.0), (0.9, 9.0), (2.0, 1.1), (2.5, 0.9)]
    assert dominated_by(front, rows).tolist() == [True, False, True, False]
    assert dominated_by([], rows).tolist() == [False] * 4
    assert dominated_by(front, []).tolist() == []
