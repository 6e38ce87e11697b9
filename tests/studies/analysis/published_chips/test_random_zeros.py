"""Zeros at random places: distributions against numpy's random numbers and sums by hand."""

import numpy as np
import pytest

from archloom.studies.analysis.published_chips.random_zeros import (
    counted,
    in_vectors,
    mean,
    mean_of_largest,
    mixed,
    summed,
)


@pytest.mark.parametrize(("words", "share"), [(1, 0.3), (8, 0.5), (32, 0.9), (200, 0.04)])
def test_counts_are_binomial(words, share):
    found = counted(words, share)
    assert found.sum() == pytest.approx(1)
    assert mean(found) == pytest.approx(words * share)
    assert found[0] == pytest.approx((1 - share) ** words)
    assert found[words] == pytest.approx(share**words)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_nothing_is_random_where_all_or_none_are_left(share):
    assert mean(counted(7, share)) == 7 * share
    assert mean_of_largest(counted(7, share), 50) == 7 * share


def test_a_vector_in_part_is_a_vector():
    # of 3 words 0, 1, 2 or 3 are left: 0, 1, 1 or 2 pairs
    half = np.array([1, 3, 3, 1]) / 8
    assert in_vectors(counted(3, 0.5), 2) == pytest.approx([half[0], half[1] + half[2], half[3]])
    assert mean(mixed(0.25, np.array([0.0, 0.0, 1.0]))) == 0.5


def test_means_are_those_of_random_words():
    """16 children with 12 inputs each, and for each input that is left its pairs of 6 weights."""
    rng = np.random.default_rng(1)
    runs, children, inputs = 4000, 16, 12
    weights = rng.random((runs, children, inputs, 6)) < 0.4
    kept = rng.random((runs, children, inputs)) < 0.7
    cycles = (-(-weights.sum(axis=-1) // 2) * kept).sum(axis=-1)
    cost = summed(mixed(0.7, in_vectors(counted(6, 0.4), 2)), inputs)
    assert mean(cost) == pytest.approx(cycles.mean(), rel=0.01)
    assert mean_of_largest(cost, children) == pytest.approx(cycles.max(axis=1).mean(), rel=0.01)


def test_a_sum_is_what_adding_one_by_one_gives():
    cost, total = np.array([0.2, 0.5, 0.3]), np.ones(1)
    for _ in range(9):
        total = np.convolve(total, cost)
    assert summed(cost, 9) == pytest.approx(total, abs=1e-12)
