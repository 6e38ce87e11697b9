import moocore
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archloom.surrogates.improvement import expected_improvement

REFERENCE = np.array([1.0, 1.0, 1.0])


def by_sampling(front, exact, mean, std, draws):
    """Mean hypervolume that a design adds, by moocore's exact hypervolume of each draw."""
    before = moocore.hypervolume(front, ref=REFERENCE) if len(front) else 0.0
    total = 0.0
    for z in mean + std * draws:
        total += moocore.hypervolume(np.vstack([front, [z, *exact]]), ref=REFERENCE) - before
    return total / len(draws)


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), members=st.integers(0, 12))
def test_agrees_with_monte_carlo(seed, members):
    rng = np.random.default_rng(seed)
    front = rng.random((members, 3)) * 1.2
    exact = rng.random((3, 2))
    mean, std = rng.random(3), 0.05 + 0.4 * rng.random(3)
    # Stratified draws: one from each of 2000 slices of equal probability.
    from scipy.special import ndtri

    draws = ndtri((np.arange(2000) + 0.5) / 2000)
    closed = expected_improvement(front, REFERENCE, exact, mean, std)
    for i in range(3):
        assert closed[i] == pytest.approx(
            by_sampling(front, exact[i], mean[i], std[i], draws), abs=1e-3
        )


@settings(max_examples=50)
@given(seed=st.integers(0, 10_000), members=st.integers(0, 20))
def test_without_uncertainty_it_is_the_hypervolume_added(seed, members):
    rng = np.random.default_rng(seed)
    # Few distinct values: ties in every objective.
    front = rng.integers(0, 6, (members, 3)) / 5
    exact = rng.integers(0, 6, (8, 2)) / 5
    mean = rng.integers(0, 6, 8) / 5
    closed = expected_improvement(front, REFERENCE, exact, mean, np.zeros(8))
    before = moocore.hypervolume(front, ref=REFERENCE) if members else 0.0
    for i in range(8):
        rows = np.vstack([front, [mean[i], *exact[i]]])
        after = moocore.hypervolume(rows, ref=REFERENCE)
        assert closed[i] == pytest.approx(after - before, abs=1e-9)


def test_a_dominated_certainty_promises_nothing_but_doubt_promises_something():
    front = np.array([[0.2, 0.2, 0.2]])
    exact = np.array([[0.5, 0.5], [0.5, 0.5], [0.1, 0.5]])
    found = expected_improvement(
        front, REFERENCE, exact, np.array([0.5, 0.5, 0.5]), np.array([0.0, 0.3, 0.0])
    )
    assert found[0] == 0.0
    assert found[1] > 0.0
    assert found[2] == pytest.approx((1 - 0.5) * (0.2 - 0.1) * (1 - 0.5))


def test_designs_beyond_the_reference_promise_nothing():
    exact = np.array([[1.0, 0.5], [0.5, 1.5], [0.5, 0.5]])
    mean, std = np.array([0.5, 0.5, 2.0]), np.array([0.1, 0.1, 0.0])
    assert (expected_improvement(np.empty((0, 3)), REFERENCE, exact, mean, std) == 0).all()
