"""Intervals against scipy's figures, and what noise does to ratios."""

from math import inf

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import spearmanr, t

from archloom.evaluators.host.samples import Ratio
from archloom.studies.analysis.stack.intervals import (
    Quotient,
    Time,
    correlation_interval,
    difference_interval,
    geometric_mean,
    mean_interval,
    quotient,
    rank_correlation,
)

FIGURES = st.lists(st.integers(-5, 5).map(float), min_size=3, max_size=20)


@given(FIGURES, st.randoms(use_true_random=False))
def test_rank_correlations_are_those_of_scipy(xs: list[float], random: object) -> None:
    ys = list(xs)
    random.shuffle(ys)  # type: ignore[attr-defined]
    found = rank_correlation(xs, ys)
    if len(set(xs)) == 1:
        assert found is None
    else:
        assert found == pytest.approx(spearmanr(xs, ys).statistic)


def test_intervals_of_correlations_cover_as_they_should() -> None:
    """Of 40 samples of 40 pairs with a known correlation, 95% should have it inside."""
    generator, inside = np.random.default_rng(1), 0
    # Spearman's of a normal pair with Pearson's r is 6/pi asin(r/2): Pearson, 1907
    truth = 6 / np.pi * np.arcsin(0.6 / 2)
    for _ in range(40):
        pair = generator.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 40)
        interval = correlation_interval(list(pair[:, 0]), list(pair[:, 1]))
        assert interval is not None
        inside += interval[0] <= truth <= interval[1]
    assert 34 <= inside <= 40


def test_the_bootstrap_gives_the_same_each_time() -> None:
    xs, ys = [1.0, 2, 3, 4, 5, 6], [2.0, 1, 4, 3, 6, 5]
    assert correlation_interval(xs, ys) == correlation_interval(xs, ys)
    assert correlation_interval([1.0] * 6, ys) is None


@given(st.lists(st.floats(0, 100), min_size=2, max_size=9))
def test_means_have_students_interval(values: list[float]) -> None:
    found = mean_interval(values)
    assert found is not None
    mean, error = np.mean(values), np.std(values, ddof=1) / np.sqrt(len(values))
    half = t.ppf(0.975, len(values) - 1) * error
    assert found == pytest.approx((mean - half, mean + half), abs=1e-6)
    assert mean_interval(values[:1]) is None


def test_differences_are_never_narrower_than_welchs() -> None:
    ones, others = [9.0, 9.5, 10.0], [1.0, 4.0, 2.0, 3.0, 2.5]
    found = difference_interval(ones, others)
    assert found is not None
    errors = np.var(ones, ddof=1) / 3, np.var(others, ddof=1) / 5
    freedom = sum(errors) ** 2 / (errors[0] ** 2 / 2 + errors[1] ** 2 / 4)
    half = t.ppf(0.975, freedom) * np.sqrt(sum(errors))
    middle = np.mean(ones) - np.mean(others)
    assert found[0] <= middle - half < middle + half <= found[1]
    assert difference_interval([1.0], others) is None


@given(st.floats(1, 1e4), st.floats(1, 1e4), st.floats(0, 0.25), st.floats(0, 0.25))
def test_a_ratio_is_resolved_where_its_interval_leaves_out_one(
    one: float, other: float, noise: float, more: float
) -> None:
    found = quotient(Time(one, noise), Time(other, more))
    known = Ratio(one / other, max(noise, more))
    edge = abs(max(known.value, 1 / known.value) - (1 + 2 * known.noise)) < 1e-9
    assert edge or (found.below(1) is not None) == known.resolved


def test_refused_rows_leave_ends_open() -> None:
    open_time, time = Time(10.0, 0.1, at_most=True), Time(20.0, 0.1)
    assert quotient(open_time, time).low == 0
    assert quotient(time, open_time).high == inf
    assert quotient(open_time, time).below(1)
    assert quotient(time, open_time).below(1) is False
    assert quotient(Time(21.0, 0.1), open_time).below(5) is None
    inverse = Quotient(1, 1, 1).over(quotient(open_time, time))
    assert (inverse.value, inverse.high, inverse.closed) == (2.0, inf, False)
    assert str(inverse) == "2.00 (1.67 to unbounded)"


def test_means_of_ratios_are_geometric() -> None:
    found = geometric_mean([Quotient(2.0, 1.0, 4.0), Quotient(8.0, 4.0, 16.0)])
    assert (found.value, found.low, found.high) == pytest.approx((4.0, 2.0, 8.0))
    assert found.scaled(0.5).value == pytest.approx(2.0)
