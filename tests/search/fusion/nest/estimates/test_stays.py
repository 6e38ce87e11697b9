"""Stays of operands that are chosen together: no other choice is estimated better."""

from itertools import pairwise, product

import numpy as np
import pytest

from archloom.evaluators.arrays import Ints
from archloom.search.fusion.nest.estimates.stay_limits import may_be_below
from archloom.search.fusion.nest.estimates.stays import (
    StayOptions,
    StayPrices,
    best_stays,
    least_product,
    prepare_stays,
    stay_search,
)


def random_options(rng: np.random.Generator, operands: int, cells: int) -> StayOptions:
    counts = rng.integers(1, 4, operands)
    options, members = int(counts.sum()), 3
    words = rng.integers(1, 60, (options, cells)).astype(np.float64)
    streams = np.where(rng.random(options) < 0.4, rng.integers(0, members, options), -1)
    held = rng.integers(0, 40, (options, cells)) * (streams < 0)[:, None].astype(np.float64)
    return StayOptions(
        np.cumsum([0, *counts]),
        (rng.random((options, members)) < 0.7).astype(np.uint8),
        streams,
        np.where(streams < 0, rng.integers(-1, members, options), -1),
        words * rng.uniform(0.5, 2.0, (options, cells)),
        words,
        held,
        # what comes once is never late
        np.zeros((options, cells)),
        rng.uniform(0, 40, (members, cells)),
        rng.uniform(0, 40, (members, cells)),
        rng.uniform(0, 100, cells),
        (rng.random((2, members)) < 0.4).astype(np.uint8),
        rng.uniform(1, 3, (2, cells)),
        rng.uniform(0, 1, (2, cells)),
    )


def best(options: StayOptions, prices: StayPrices, cell: int) -> tuple[float, Ints]:
    """What the search finds, run as Python."""
    search = stay_search(len(options.begin) - 1, options.there.shape[1])
    prepare_stays(options, cell, search)
    return best_stays(options, prices, cell, search), search.best


def least(options: StayOptions, prices: StayPrices, cell: int) -> float:
    """The least estimate of all choices that fit."""
    best = np.inf
    for chosen in product(*(range(a, b) for a, b in pairwise(options.begin))):
        some = list(chosen)
        streams = int((options.streams[some] >= 0).sum())
        used = (options.held[some, cell][:, None] * options.there[some]).sum(axis=0)
        if used.max() > prices.capacity - prices.aside * (streams > 0):
            continue
        passing = [options.words[some, cell][options.streams[some] == m].sum() for m in range(3)]
        later = [(options.sums[some] == m).sum() * options.later_cycles[m, cell] for m in range(3)]
        own = options.layer_cycles[:, cell] + later
        each, words = np.maximum(own, np.array(passing) / prices.rate), options.words[some, cell]
        cycles = max(each.sum(), words.sum() / prices.rate)
        # nothing comes in pieces
        space = 0.0
        rows = options.once.astype(bool), options.rounds[:, cell], options.inside[:, cell]
        for once, rounds, inside in zip(*rows, strict=True):
            left = (words.sum() - np.array(passing)[once].sum()) * (1 - inside) - rounds * space
            if once.any():
                cycles = max(cycles, each[once].sum() + max(0.0, left) / prices.rate)
        energy = options.base_pj[cell] + options.energy[some, cell].sum()
        edp = (energy + prices.leakage_pj * cycles) * cycles * (1 + 1e-6 * streams)
        best = min(best, edp)
    return best


@pytest.mark.parametrize("seed", range(20))
def test_no_other_choice_is_estimated_better(seed: int) -> None:
    rng = np.random.default_rng(seed)
    options = random_options(rng, int(rng.integers(1, 6)), 8)
    prices = StayPrices(float(rng.integers(10, 90)), 2.0, 2.0, 0.5)
    for cell in range(8):
        edp, found = best(options, prices, cell)
        assert edp == pytest.approx(least(options, prices, cell), rel=1e-12)
        if np.isfinite(edp):
            used = options.held[found, cell][:, None] * options.there[found]
            assert used.sum(axis=0).max() <= prices.capacity


def all_that_fit(options: StayOptions, prices: StayPrices, cell: int) -> list[float]:
    """Energy x latency of each choice that fits, with nobody waiting."""
    found = []
    for chosen in product(*(range(a, b) for a, b in pairwise(options.begin))):
        some = list(chosen)
        used = (options.held[some, cell][:, None] * options.there[some]).sum(axis=0)
        if used.max() <= prices.capacity:
            words = options.words[some, cell].sum()
            cycles = max(options.layer_cycles[:, cell].sum(), words / prices.rate)
            energy = options.base_pj[cell] + options.energy[some, cell].sum()
            found.append((energy + prices.leakage_pj * cycles) * cycles)
    return found


def test_nothing_that_fits_is_below_the_bound_of_what_fits() -> None:
    higher = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        options = random_options(rng, int(rng.integers(1, 6)), 8)
        prices = StayPrices(float(rng.integers(10, 90)), 2.0, 0.5, 0.5)
        search = stay_search(len(options.begin) - 1, options.there.shape[1])
        for cell in range(8):
            prepare_stays(options, cell, search)
            fitting = all_that_fit(options, prices, cell)
            if fitting:
                assert may_be_below(options, prices, cell, search, min(fitting))
            most = least_product(options, prices, cell, search) * 1.001
            higher += not may_be_below(options, prices, cell, search, most)
    # buffers are small: often something must go
    assert higher > 24


def test_what_the_buffer_has_no_space_for_ahead_of_time_is_waited_for() -> None:
    # one operand of 40 words in pieces of 10 stays, or streams; the buffer has place for 15
    options = StayOptions(
        np.array([0, 2]),
        np.array([[1], [1]], np.uint8),
        np.array([-1, 0]),
        np.array([-1, -1]),
        np.array([[40.0], [40.0]]),
        np.array([[40.0], [40.0]]),
        np.array([[10.0], [0.0]]),
        np.array([[10.0], [0.0]]),
        np.array([[50.0]]),
        np.array([[0.0]]),
        np.zeros(1),
        np.zeros((1, 1), np.uint8),
        np.ones((1, 1)),
        np.zeros((1, 1)),
    )
    tight, wide = (StayPrices(float(words), 0.0, 1.0, 0.0) for words in (15, 20))
    assert best(options, tight, 0)[1].tolist() == [1]
    assert best(options, wide, 0)[1].tolist() == [0]
