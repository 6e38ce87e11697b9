import moocore
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.special import ndtri

from archloom.surrogates.box_decomposition import DominatedRegion
from archloom.surrogates.ehvi import expected_improvement


def volume(rows, reference):
    return moocore.hypervolume(rows, ref=reference) if len(rows) else 0.0


def by_sampling(front, mean, std, draws):
    """Mean hypervolume that a design adds, by moocore's exact hypervolume of each draw."""
    reference = np.ones(len(mean))
    after = sum(volume(np.vstack([front, mean + std * z]), reference) for z in draws)
    return after / len(draws) - volume(front, reference)


@settings(max_examples=12)
@given(seed=st.integers(0, 10_000), members=st.integers(0, 12), unknown=st.integers(0, 2))
def test_agrees_with_monte_carlo(seed, members, unknown):
    rng = np.random.default_rng(seed)
    front = rng.random((members, 3)) * 1.2
    mean, std = rng.random((3, 3)), np.zeros((3, 3))
    std[:, unknown] = 0.05 + 0.4 * rng.random(3)
    # Stratified draws: one from each of 2000 slices of equal probability.
    draws = ndtri((np.arange(2000) + 0.5) / 2000)[:, None]
    closed = expected_improvement(DominatedRegion.of(front, np.ones(3)), mean, std)
    for i in range(3):
        assert closed[i] == pytest.approx(by_sampling(front, mean[i], std[i], draws), abs=1e-3)


@settings(max_examples=10)
@given(seed=st.integers(0, 10_000), members=st.integers(0, 8))
def test_agrees_with_monte_carlo_where_two_objectives_are_uncertain(seed, members):
    rng = np.random.default_rng(seed)
    front = rng.random((members, 3)) * 1.2
    mean, std = rng.random((1, 3)), 0.4 * rng.random((1, 3)) * [1, 0, 1]
    # A grid of 50 x 50 slices of equal probability.
    slices = ndtri((np.arange(50) + 0.5) / 50)
    draws = [(a, 0.0, b) for a in slices for b in slices]
    closed = expected_improvement(DominatedRegion.of(front, np.ones(3)), mean, std)
    assert closed[0] == pytest.approx(by_sampling(front, mean[0], std[0], draws), abs=1e-2)


@settings(max_examples=60)
@given(seed=st.integers(0, 10_000), members=st.integers(0, 20), objectives=st.integers(1, 5))
def test_without_uncertainty_it_is_the_hypervolume_added(seed, members, objectives):
    rng = np.random.default_rng(seed)
    # Few distinct values: ties in every objective.
    front = rng.integers(0, 6, (members, objectives)) / 5
    mean = rng.integers(0, 6, (8, objectives)) / 5
    reference = np.ones(objectives)
    closed = expected_improvement(DominatedRegion.of(front, reference), mean, np.zeros_like(mean))
    for i in range(8):
        added = volume(np.vstack([front, mean[i]]), reference) - volume(front, reference)
        assert closed[i] == pytest.approx(added, abs=1e-9)


@settings(max_examples=60)
@given(seed=st.integers(0, 10_000), members=st.integers(0, 30), objectives=st.integers(1, 5))
def test_boxes_fill_the_dominated_region_and_do_not_overlap(seed, members, objectives):
    rng = np.random.default_rng(seed)
    front = rng.integers(0, 9, (members, objectives)) / 8
    reference = np.ones(objectives)
    boxes = DominatedRegion.of(front, reference).boxes()
    sizes = np.prod(boxes.high - boxes.low, axis=1)
    assert sizes.sum() == pytest.approx(volume(front, reference))
    points = rng.random((50, objectives))
    holding = ((points[:, None] >= boxes.low) & (points[:, None] < boxes.high)).all(axis=2)
    dominated = (points[:, None] >= front).all(axis=2).any(axis=1)
    np.testing.assert_array_equal(holding.sum(axis=1), dominated)


def test_a_dominated_certainty_promises_nothing_but_doubt_promises_something():
    front = np.array([[0.2, 0.2, 0.2]])
    mean = np.array([[0.5, 0.5, 0.5], [0.5, 0.5, 0.5], [0.5, 0.1, 0.5]])
    std = np.array([[0.0, 0.0, 0.0], [0.3, 0.0, 0.0], [0.0, 0.0, 0.0]])
    found = expected_improvement(DominatedRegion.of(front, np.ones(3)), mean, std)
    assert found[0] == 0.0
    assert found[1] > 0.0
    assert found[2] == pytest.approx((1 - 0.5) * (0.2 - 0.1) * (1 - 0.5))


def test_designs_beyond_the_reference_promise_nothing():
    nothing = DominatedRegion.of(np.empty((0, 3)), np.ones(3))
    mean = np.array([[0.5, 1.0, 0.5], [0.5, 0.5, 1.5], [2.0, 0.5, 0.5]])
    std = np.array([[0.1, 0.0, 0.0], [0.1, 0.0, 0.0], [0.0, 0.0, 0.0]])
    assert (expected_improvement(nothing, mean, std) == 0).all()
