"""Nests that cover more than their bounds, against a walk of every step of every child."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from archloom.evaluators.loopnest.imperfect.kernel import imperfect_cost
from archloom.evaluators.loopnest.kernel import OVER_CAPACITY, OVER_FANOUT, VALID
from archloom.evaluators.loopnest.kernel_inputs import EXPOSED

from ....cases.sweeps import sweep
from ....oracles import imperfect_nest as oracle
from ....oracles.walked_nest import INPUTS, OUTPUTS, WEIGHTS, C, K, Nest, P, Q, R, S
from ..test_kernel import arrays, bordered_nests, evaluated, nests, one_level_up, setup_of

#: dimensions that meet in one case: any, or those of a window and what shares its tiles
MIXES = ((P, R), (P, Q, R), (P, R, C), (Q, S, K), (K, C), (P, R, K, Q), (0, 1, P))


def draw_slots(rng, levels, alone, limit):
    """Small factors thrown into slots [L, 3, 8], at most ``limit`` in product."""
    kinds = [
        (v, k) for v in range(levels) for k in range(3) if not (alone and k and v == levels - 1)
    ]
    while True:
        slots = np.ones((levels, 3, 8), int)
        dims = rng.choice((*MIXES, tuple(rng.choices(range(8), k=rng.randint(1, 4)))))
        for _ in range(rng.randint(1, 6)):
            level, kind = rng.choice(kinds)
            slots[level, kind, rng.choice(dims)] *= rng.choice((2, 2, 3))
        if slots.prod() <= limit:
            return slots


def draw_bound(rng, slots, d):
    """A bound that the outermost loop of ``d`` is needed for; now and then any smaller one."""
    total = int(slots[:, :, d].prod())
    factors = [int(f) for level in slots[::-1, :, d] for f in (level[0], level[2], level[1])]
    outermost = next((f for f in factors if f > 1), 1)
    least = 1 if rng.random() < 0.1 else total - total // outermost + 1
    return rng.randint(least, total)


def draw(rng, limit):
    """Draw a nest and the bounds that it is cut at."""
    levels, alone = rng.randint(2, 4), rng.random() < 0.5
    slots = draw_slots(rng, levels, alone, limit)
    bounds = [draw_bound(rng, slots, d) for d in range(8)]
    keep = [[rng.random() < 0.6 for _ in range(3)] for _ in range(levels - 1)] + [[True] * 3]
    top = [levels - 1] * 3
    for t in range(3):
        if slots[-1, 1:].max() == 1 and rng.random() < 0.3:
            top[t], keep[levels - 2][t] = levels - 2, True
    stride, dilation = ((rng.randint(1, 3), rng.randint(1, 3)) for _ in range(2))
    padding, size = [], []
    for a in (0, 1):
        window = (bounds[R + a] - 1) * dilation[a] + 1
        padding.append(rng.randint(0, window - 1))
        least = max(1, (bounds[P + a] - 1) * stride[a] - padding[a] + 1)
        size.append(rng.randint(least, max(least, least + window - padding[a] + 1)))
    order = [rng.sample(range(8), 8) for _ in range(levels)]
    factors = (slots[:, kind].tolist() for kind in range(3))
    window = (stride, dilation, tuple(padding), tuple(size))
    multicast = [[rng.random() < 0.85 for _ in range(3)] for _ in range(levels)]
    return Nest(*factors, order, keep, tuple(top), *window, alone, multicast), bounds


def clipped(nest, bounds, **changes):
    if nest.multicast:
        changes["multicast"] = np.array(nest.multicast, np.uint8)
    setup = setup_of(nest, bounds=np.array(bounds, np.int64), **changes)
    return setup, imperfect_cost(setup, *arrays(nest))


@pytest.mark.parametrize("seed", sweep(range(8), 2))
def test_figures_are_those_of_the_walked_nest(seed):
    """Two thousand cases in all, of which almost half are cut somewhere."""
    rng = Random(seed)
    cut = 0
    for _ in range(260):
        nest, bounds = draw(rng, 80)
        setup, cost = clipped(nest, bounds)
        totals, busiest = expected = oracle.count(nest, bounds)
        assert cost.status == VALID
        assert cost.totals.tolist() == totals.tolist(), (nest, bounds)
        assert cost.busiest.tolist() == busiest.tolist(), (nest, bounds)
        assert cost.used.tolist() == [oracle.used(nest, bounds, v) for v in range(nest.levels)]
        energy, *cycles = oracle.price(nest, bounds, setup, expected)
        assert cost.dynamic_pj == pytest.approx(energy, rel=1e-12)
        assert [cost.chip_cycles, cost.dram_cycles] == cycles
        cut += bounds != nest.bounds
    assert cut > 100


@pytest.mark.parametrize("seed", sweep(range(8), 1))
def test_later_parts_of_sums_are_those_of_the_walked_nest(seed):
    rng = Random(1000 + seed)
    for _ in range(130):
        nest, bounds = draw(rng, 80)
        setup, _ = clipped(nest, bounds)
        cost = imperfect_cost(setup._replace(begun=1), *arrays(nest))
        totals, busiest = expected = oracle.count(nest, bounds, begun=True)
        assert cost.totals.tolist() == totals.tolist(), (nest, bounds)
        assert cost.busiest.tolist() == busiest.tolist(), (nest, bounds)
        energy, *cycles = oracle.price(nest, bounds, setup, expected)
        assert cost.dynamic_pj == pytest.approx(energy, rel=1e-12)
        assert [cost.chip_cycles, cost.dram_cycles] == cycles


@st.composite
def effects(draw, levels):
    """Draw switches of a setup beyond the plain model."""
    changes = {}
    flags = st.lists(st.booleans(), min_size=3 * levels, max_size=3 * levels)
    if draw(st.booleans()):
        changes["multicast"] = np.array(draw(flags), np.uint8).reshape(levels, 3)
    if draw(st.booleans()):
        changes["unit"] = 1 + np.array(draw(flags), np.int64).reshape(levels, 3)
    if draw(st.booleans()):
        changes |= {"served": np.array([0.5, 0.25, 0.125]), "working": 0.3, "busy": 0.7}
    if draw(st.booleans()):
        changes |= {"fill_drain": draw(st.integers(0, EXPOSED)), "array": np.array([3, 2, 1])}
    if draw(st.booleans()):
        changes |= {"instances": np.full(levels, 4), "cluster": np.full(levels, 2)}
    if draw(st.booleans()):
        prices = np.arange(1.0, levels + 1)
        changes |= {"extras": 1, "hop_pj": prices, "router_pj": 0.3 * prices}
        changes |= {"address_pj": 0.7 * prices, "used_leakage_pj": 0.01 * prices}
    return changes


@settings(max_examples=300)
@given(st.one_of(nests(), bordered_nests()), st.data())
def test_exact_factors_cost_what_the_kernel_says_to_the_last_bit(nest, data):
    setup = setup_of(nest, **data.draw(effects(nest.levels)))
    (status, *figures), counts, used = evaluated(nest, setup)
    cost = imperfect_cost(setup, *arrays(nest))
    assert cost.status == status == VALID
    assert [cost.dynamic_pj, cost.chip_cycles, cost.dram_cycles] == figures
    assert cost.totals.tolist() == (counts * used[:, None, None]).tolist()
    assert cost.busiest.tolist() == counts.tolist()
    assert cost.used.tolist() == used.tolist()
    macs_pj = np.prod(setup.bounds) * setup.working * setup.mac_pj
    assert cost.energy_pj.sum() + macs_pj == pytest.approx(cost.dynamic_pj, rel=1e-12)


@settings(max_examples=200)
@given(st.integers(0, 2**32), st.data())
def test_a_cut_nest_never_costs_more_than_the_whole_one(seed, data):
    nest, bounds = draw(Random(seed), 3000)
    changes = data.draw(effects(nest.levels))
    nest = replace(nest, multicast=[])
    changes.pop("extras", None)  # averages of hops may rise where children stand idle
    setup, cost = clipped(nest, bounds, **changes)
    whole = setup._replace(bounds=np.array(nest.bounds, np.int64))
    (_, energy, chip, dram), counts, used = evaluated(nest, whole)
    assert (cost.totals <= counts * used[:, None, None]).all()
    assert (cost.busiest <= counts).all()
    assert (cost.used <= used).all()
    assert cost.dynamic_pj <= energy * (1 + 1e-12)
    assert cost.chip_cycles <= chip
    assert cost.dram_cycles <= dram


def test_55_rows_on_14_columns_take_4_steps_and_move_each_word_once():
    nest = one_level_up({"P": 4}, "P", inner={"K": 2})
    x = [[1] * 8, [1] * 8]
    x[1][P] = 14
    nest = replace(nest, x=x, alone=False)
    bounds = list(nest.bounds)
    assert bounds[P] == 56
    bounds[P] = 55
    _, cost = clipped(nest, bounds)
    assert oracle.cycles(nest, bounds) == 4 * 2
    assert cost.used.tolist() == [14, 1]
    assert cost.totals[1, INPUTS].tolist() == [55, 0, 0]
    # the columns' weights are multicast, but each of them is written in a buffer of its own
    assert cost.totals[:, WEIGHTS, 0].tolist() == [55 * 2, 2]
    assert cost.totals[0, WEIGHTS, 1] == 14 * 2
    assert cost.totals[:, OUTPUTS, 2].tolist() == [55 * 2, 55 * 2]
    # the first column works in all four steps
    assert cost.busiest[0, INPUTS].tolist() == [8, 4, 0]


def test_a_last_tile_slides_onto_what_is_left_of_the_map():
    # tiles of 4 rows for 10 of them: windows of 3 rows reach 6, 6 and 4 rows, and share 2
    nest = one_level_up({"P": 3}, "P", inner={"P": 4, "R": 3})
    bounds = list(nest.bounds)
    bounds[P] = 10
    nest = replace(nest, input_size=(12, 1))
    _, cost = clipped(nest, bounds)
    assert cost.totals[1, INPUTS].tolist() == [12, 0, 0]
    assert cost.totals[0, INPUTS].tolist() == [30, 12, 0]


@pytest.mark.parametrize("bound", [13, 1009, 10**9 + 7])
def test_primes_are_counted_without_walking_them(bound):
    nest = one_level_up({"K": -(-bound // 14)}, "K", inner={"C": 3})
    y = [[1] * 8, [1] * 8]
    y[1][K] = 14
    bounds = list(nest.bounds)
    bounds[K] = bound
    _, cost = clipped(replace(nest, y=y, alone=False), bounds)
    assert cost.totals[1, WEIGHTS, 0] == cost.totals[0, WEIGHTS, 1] == 3 * bound
    assert cost.totals[0, OUTPUTS, 2] == 3 * bound
    assert cost.busiest[0, WEIGHTS, 1] == 3 * -(-bound // 14)


def test_what_does_not_cover_or_fit_has_no_price():
    nest = one_level_up({"K": 4}, "K", inner={"C": 3})
    bounds = list(nest.bounds)
    with pytest.raises(ValueError, match=r"factors cover \[1, 1, 4, 3, .* loops are \[1, 1, 5, 3,"):
        clipped(nest, [1, 1, 5, *bounds[3:]])
    # capacity and mesh are those of the full tile, though three rows of C are never full
    _, cost = clipped(nest, [1, 1, 4, 2, *bounds[4:]], shared=np.array([5, -1], np.int64))
    assert cost.status == OVER_CAPACITY
    assert not cost.totals.any()
    _, cost = clipped(replace(nest, x=[[1] * 8, [2] * 8]), bounds, fanout=np.ones((2, 2), np.int64))
    assert cost.status == OVER_FANOUT
    assert cost.dynamic_pj == np.inf


def test_an_array_loads_only_tiles_that_exist():
    nest = one_level_up({"K": 3, "P": 5}, "PK", inner={"K": 2})
    changes = {"fill_drain": EXPOSED, "array": np.array([4, 4, 1])}
    bounds = list(nest.bounds)
    bounds[K] = 5
    _, cost = clipped(nest, bounds, bandwidth=np.full((2, 3), np.inf), **changes)
    # weights stand still: 3 tiles, the last of one column; 5 rows of outputs for each
    assert cost.chip_cycles == 5 * 5 + 3
