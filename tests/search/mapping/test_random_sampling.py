"""Random candidates: what is drawn, how evenly, and that the best of them is found."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations
from math import comb, log, prod

import numpy as np
import pytest

from archloom.evaluators.loopnest.data_reuse import ORDER
from archloom.evaluators.loopnest.kernel import VALID, evaluate_batch
from archloom.evaluators.loopnest.kernel_inputs import KernelInputs, unlimited
from archloom.evaluators.loopnest.simd.inputs import simd_inputs
from archloom.evaluators.loopnest.simd.records import LANES
from archloom.search.mapping.random_sampling import Sample, sample
from archloom.search.mapping.simd.draws import (
    ROWS,
    blank_nests,
    draw_blocks,
    draw_candidates,
    draws_of,
    factorisations,
)

from ...cases.random_kernel_inputs import random_setup
from .exact.test_annealing import well_formed


def open_setup(levels: int = 3, **changes: object) -> KernelInputs:
    """Return a setup whose middle level unrolls onto 16 x 16 children, with limits that bind."""
    bounds, window = np.array([1, 1, 64, 32, 14, 14, 3, 3]), np.array([[1, 1, 0, 16]] * 2)
    base = unlimited(bounds, window, levels)
    fanout = np.ones((levels, 2), np.int64)
    fanout[1] = 16
    shared = np.append([64, 2048], np.full(levels - 2, -1))
    price = np.arange(1.0, 3 * levels + 1).reshape(levels, 3)
    prices = {"read_pj": price, "fill_pj": price * 2, "update_pj": price * 3}
    return base._replace(fanout=fanout, shared=shared, **prices, leakage_pj=5.0)._replace(**changes)


@pytest.mark.parametrize(
    ("value", "slots"), [(1, 3), (2, 1), (7, 4), (64, 5), (56, 5), (36, 3), (30, 2), (210, 3)]
)
def test_a_table_holds_every_ordered_factorisation_once(value: int, slots: int) -> None:
    table = factorisations(value, slots)
    columns = {tuple(column) for column in table.T}
    assert len(columns) == table.shape[1]
    assert (table.prod(axis=0) == value).all()
    if (value + 1) ** slots < 50_000:
        brute = (f for f in np.ndindex(*[value + 1] * slots) if prod(f) == value)
        assert columns == set(brute)


def test_the_number_of_factorisations_is_that_of_stars_and_bars() -> None:
    assert factorisations(2**6 * 3**2 * 5, 4).shape[1] == comb(9, 6) * comb(5, 2) * 4


def test_candidates_are_well_formed() -> None:
    for seed in range(60):
        setup = random_setup(np.random.default_rng(seed))
        loops, keep = draw_candidates(setup, seed, 1, 50)
        for one in range(50):
            assert well_formed(setup, loops[one], keep[one])


def test_bounds_with_many_factorisations_are_drawn_in_parts() -> None:
    bounds = np.array([1, 1, 2**12 * 3**6, 2**20, 128256, 1, 1, 1])
    setup = unlimited(bounds, np.array([[1, 1, 0, 128256], [1, 1, 0, 1]]), 6)
    draws = draws_of(setup)
    assert len(draws.parts) - 1 > 3
    assert draws.parts[:, 2].max() <= ROWS
    loops, keep = draw_candidates(setup, 0, 0, 500)
    assert all(well_formed(setup, lp, kp) for lp, kp in zip(loops, keep, strict=True))
    # no level is left out
    assert (loops[:, :, 0, 2].max(axis=0) > 30).all()


def chi_square(seen: Counter[object], outcomes: int, draws: int) -> float:
    """Return how far counts are from even, in standard deviations of the statistic."""
    even = draws / outcomes
    missing = (outcomes - len(seen)) * even
    statistic = sum((n - even) ** 2 / even for n in seen.values()) + missing
    return (statistic - (outcomes - 1)) / np.sqrt(2 * (outcomes - 1))


DRAWS = 40_000


def test_factorisations_orders_and_bypasses_are_even_and_independent() -> None:
    setup = open_setup(optional=np.array([[1, 1, 0], [0, 1, 0], [0, 0, 0]], np.uint8))
    loops, keep = draw_candidates(setup, 12, 0, DRAWS)
    factors = loops[:, :, :ORDER].reshape(DRAWS, 9, 8)
    slots = [0, 3, 4, 5, 6]
    for d, table in ((2, 64), (4, 14), (6, 3)):
        seen = Counter(map(bytes, factors[:, slots, d].astype(np.uint8)))
        assert abs(chi_square(seen, factorisations(table, 5).shape[1], DRAWS)) < 4
    pairs = Counter(zip(map(bytes, factors[:, :, 6]), map(bytes, factors[:, :, 7]), strict=True))
    assert abs(chi_square(pairs, 25, DRAWS)) < 4
    for level in (1, 2):
        orders = Counter(map(bytes, loops[:, level, ORDER]))
        assert abs(chi_square(orders, len(list(permutations(range(6)))), DRAWS)) < 4
    both = Counter(map(bytes, loops[:, 1:, ORDER, 0]))
    assert abs(chi_square(both, 36, DRAWS)) < 4
    bits = Counter(map(bytes, keep[:, [0, 0, 1], [0, 1, 1]]))
    assert abs(chi_square(bits, 8, DRAWS)) < 4
    assert (keep[:, [0, 1, 1], [2, 0, 2]] == 1).all()


def test_a_candidate_has_a_number_and_nothing_else_decides() -> None:
    setup = open_setup(optional=np.ones((3, 3), np.uint8))
    loops, keep = draw_candidates(setup, 3, 0, 3 * LANES)
    for first, count in ((1, 1), (LANES - 1, 2), (5, 2 * LANES)):
        part = draw_candidates(setup, 3, first, count)
        assert np.array_equal(part[0], loops[first : first + count])
        assert np.array_equal(part[1], keep[first : first + count])
    assert not np.array_equal(draw_candidates(setup, 4, 0, 8)[0], loops[:8])
    far = draw_candidates(setup, 3, 2**40, 8)[0]
    assert len({bytes(one) for one in (*far, *loops)}) == 8 + 3 * LANES


def reference(setup: KernelInputs, seed: int, first: int, count: int) -> Sample:
    """Return the best candidate by the kernel and Python's logarithm."""
    loops, keep = draw_candidates(setup, seed, first, count)
    status, energy, chip, dram = evaluate_batch(setup, loops, keep)
    best = Sample(np.inf, -1)
    for i in np.flatnonzero(status == VALID):
        cycles = max(chip[i], dram[i])
        score = setup.weights @ [log(energy[i] + setup.leakage_pj * cycles), log(cycles)]
        if score < best.score - 1e-12:
            best = Sample(float(score), first + int(i))
    return best


def test_the_best_of_a_stretch_is_found() -> None:
    setups = [open_setup(), open_setup(weights=np.array([1.0, 0.0]))]
    setups += [open_setup(weights=np.array([0.0, 1.0]))]
    setups += [random_setup(np.random.default_rng(seed)) for seed in range(25)]
    for seed, setup in enumerate(setups):
        for first, count in ((1, 1), (1, 63), (3, 130), (40, 777)):
            found, expected = (
                sample(setup, seed, first, count),
                reference(setup, seed, first, count),
            )
            assert found.score == pytest.approx(expected.score, rel=1e-12)
            assert found.number == expected.number


def test_lanes_and_kernel_find_the_same() -> None:
    setup = open_setup()
    leaking = setup._replace(extras=1)
    assert simd_inputs(setup) is not None
    assert simd_inputs(leaking) is None
    for count in (1, 64, 2500):
        ours, theirs = sample(setup, 5, 2, count), sample(leaking, 5, 2, count)
        assert ours.number == theirs.number
        assert ours.score == pytest.approx(theirs.score, rel=1e-12)


def test_no_valid_candidate_is_none() -> None:
    full = open_setup(shared=np.array([0, 0, -1]), optional=np.zeros((3, 3), np.uint8))
    assert sample(full, 0, 1, 300) == (np.inf, -1)
    assert sample(open_setup(), 0, 1, 0) == (np.inf, -1)


def test_stretches_on_threads_find_what_one_thread_finds() -> None:
    setup = open_setup()
    whole = sample(setup, 9, 1, 20_000)
    with ThreadPoolExecutor(4) as pool:
        stretches = pool.map(lambda i: sample(setup, 9, 1 + 2500 * i, 2500), range(8))
    assert min(stretches) == whole


def test_blocks_hold_what_is_drawn() -> None:
    setup = open_setup()
    blocks = blank_nests(setup, 2)
    draw_blocks(draws_of(setup), np.uint64(8), 0, blocks)
    loops, _ = draw_candidates(setup, 8, 0, 2 * LANES)
    factors = blocks["factors"].transpose(0, 4, 1, 2, 3).reshape(2 * LANES, 3, 3, 8)
    assert np.array_equal(factors, loops[:, :, :ORDER])
