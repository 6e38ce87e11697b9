"""Exact schedules, beams and relaxed diagrams against all orders."""

import numpy as np
import pytest

from archloom.evaluators.weaving import Ticks, makespan, makespan_bounds, suffix_bounds
from archloom.search.weaving.certify import certified, narrow_beam
from archloom.search.weaving.diagrams import Limits, diagram, problem_of

from ...cases.sweeps import sweep
from ...cases.woven import layers_of, order_of, random_ticks
from ...oracles.woven_orders import least_makespan

NO_TABLE = np.zeros(0, np.int64)
LARGE = 10**9


def searched(work: Ticks, table: np.ndarray, **limits: int) -> tuple[int, int, bool]:
    """Return bound and makespan of a diagram, and whether it is exact."""
    order = np.empty(work.first[-1], np.int64)
    chosen = Limits(
        limits.get("upper", LARGE), limits.get("width", 0), limits.get("merge", 0), LARGE
    )
    found = diagram(problem_of(work, table), chosen, order)
    made = makespan(work, order_of(order)) if found.reached else chosen.upper
    return found.lower, made, found.exact


@pytest.mark.parametrize("seed", sweep(range(20), 4))
def test_exact_is_the_least_of_all_orders(seed: int) -> None:
    """Fifty instances each of two or three chains: all diagrams, all bounds."""
    rng = np.random.default_rng(seed)
    met = 0
    for number in range(50):
        counts = rng.integers(1, 5, 2) if number % 2 else rng.integers(1, 4, 3)
        work = random_ticks(rng, counts.tolist(), maps=number % 3 == 0)
        least = least_makespan(layers_of(work), work.buffer)
        table = suffix_bounds(work)
        bounds = makespan_bounds(work, table)
        assert bounds.best <= least
        met += bounds.suffixes == least
        assert searched(work, table) == (least, least, True)
        assert searched(work, NO_TABLE) == (least, least, True)
        assert searched(work, table, upper=least + 1) == (least, least, True)
        # nothing is better than what is at hand
        assert searched(work, table, upper=least) == (least, least, True)
        for size in (1, 2, 4):
            low, made, _ = searched(work, table, merge=size)
            assert low <= least <= made
            low, made, _ = searched(work, table, width=size)
            assert low <= least <= made
        woven = certified(work)
        assert woven.proven
        assert woven.upper_ticks == least == makespan(work, woven.order)
    assert met > 30


@pytest.mark.parametrize("seed", range(6))
def test_bounds_of_states_prune_no_optimum(seed: int) -> None:
    """Instances too large for all orders: with and without tables, upper bounds, meets."""
    rng = np.random.default_rng(seed)
    work = random_ticks(rng, [11, 12], largest=40, maps=seed % 2 == 1)
    least, made, exact = searched(work, NO_TABLE, upper=2**60)
    assert (least, exact) == (made, True)
    assert searched(work, suffix_bounds(work)) == (least, least, True)
    relaxed = [searched(work, NO_TABLE, merge=size)[0] for size in (1, 4, 64)]
    assert max(relaxed) <= least
    assert relaxed[-1] >= 0.99 * least
    beams = [searched(work, NO_TABLE, width=width)[1] for width in (1, 16, 256)]
    assert min(beams) >= least


def test_without_a_limit_to_the_buffer_the_table_is_exact() -> None:
    rng = np.random.default_rng(3)
    for _ in range(60):
        work = random_ticks(rng, rng.integers(1, 9, 2).tolist())
        work = work._replace(buffer=10**6)
        table = suffix_bounds(work)
        assert searched(work, table)[0] == table[0]


def test_a_search_ends_at_its_effort_with_a_bound() -> None:
    rng = np.random.default_rng(8)
    ended = 0
    for _ in range(20):
        work = random_ticks(rng, [20, 20], largest=60)
        whole, some = certified(work), certified(work, effort=1)
        assert whole.proven
        assert some.lower_ticks <= whole.upper_ticks <= some.upper_ticks
        assert 0 <= some.gap < 1
        ended += not some.proven
        beam = narrow_beam(work, 2)
        assert beam.lower_ticks <= whole.upper_ticks <= beam.upper_ticks
    assert ended


def test_three_chains_of_real_length() -> None:
    rng = np.random.default_rng(1)
    work = random_ticks(rng, [9, 8, 7], largest=30)
    woven = certified(work)
    assert woven.proven
    assert searched(work, NO_TABLE)[0] == woven.upper_ticks
