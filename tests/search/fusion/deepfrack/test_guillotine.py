"""Coverings by squares against placing squares one by one, and caching against all subsets."""

from collections import Counter
from itertools import chain, combinations, product
from math import inf

import numpy as np
import pytest

from archloom.search.fusion.deepfrack.guillotine import least_costs, regular_faces, squares
from archloom.search.fusion.deepfrack.knapsack import WeightCaching, most_saved
from archloom.search.fusion.deepfrack.tile_sets import grid_counts, has_largest

from ....cases.sweeps import sweep
from ....oracles.enumerated_deepfrack import square_coverings

FACES = [(r, c) for r in range(1, 9) for c in range(1, 9)]


@pytest.mark.parametrize("face", FACES)
def test_cuts_from_side_to_side_give_the_least_cost_of_all_coverings(face):
    rng = np.random.default_rng(face[0] * 10 + face[1])
    coverings = square_coverings(*face)
    for _ in range(10):
        largest = int(rng.integers(2, 9))
        price = rng.random(largest + 1) * np.arange(largest + 1) ** rng.choice([1.5, 2, 2.5])
        price[:2] = inf
        first = np.full(largest + 1, inf)
        first[largest] = rng.random()
        any_cost, with_cost, any_cut, with_cut = least_costs(price, first, *face)
        within = [c for c in coverings if max(c) <= largest]
        costs = {c: float(sum(price[s] for s in c)) for c in within}
        assert any_cost[face] == pytest.approx(min(costs.values(), default=inf))
        most = min((costs[c] for c in within if largest in c), default=inf)
        assert with_cost[face] == pytest.approx(most + first[largest])
        if most < inf:
            check_covering(squares(any_cut, with_cut), face, price, most)


def check_covering(found, face, price, cost):
    cells = Counter(
        (r + i, c + j) for r, c, s in found.tolist() for i in range(s) for j in range(s)
    )
    assert cells == Counter(product(range(face[0]), range(face[1])))
    assert sum(price[s] for s in found[:, 2]) == pytest.approx(cost)
    assert len(price) - 1 in found[:, 2]


@pytest.mark.parametrize("face", FACES)
def test_largest_squares_are_those_of_some_covering(face):
    found = {max(c) for c in square_coverings(*face)}
    assert {s for s in range(2, 10) if has_largest(face, s)} == found


def test_a_face_beyond_the_longest_side_gets_grids_alone():
    assert has_largest((256, 4), 4)
    assert not has_largest((257, 4), 4)


@pytest.mark.parametrize("face", FACES)
def test_tiles_of_a_grid_are_counted(face):
    for height, width in product(range(1, face[0] + 1), range(1, face[1] + 1)):
        boxes = regular_faces(face, (height, width))
        found = Counter((f.rows, f.columns) for f in boxes)
        assert grid_counts(face, (height, width)) == found


@pytest.mark.parametrize("seed", sweep(range(60), 20))
def test_cached_weights_save_as_much_as_any_that_fit(seed):
    rng = np.random.default_rng(seed)
    units, tiles = int(rng.integers(0, 9)), int(rng.integers(1, 5))
    words = rng.integers(1, 40, units) * int(rng.choice([1, 9, 64]))
    saved = rng.normal(0.5, 1, (tiles, units))
    room = int(rng.integers(0, max(1, int(words.sum())) + 20))
    caching = WeightCaching(words, saved, room)
    for less in {room, room // 2, 0}:
        fitting = [
            list(s)
            for s in chain.from_iterable(combinations(range(units), n) for n in range(units + 1))
            if words[list(s)].sum() <= less
        ]
        for t in range(tiles):
            best = max(float(saved[t, s].sum()) for s in fitting)
            bound = most_saved(words, saved.T, np.full(tiles, less))[t]
            able = np.maximum(saved[t, words <= less], 0.0).sum()
            assert best * (1 - 1e-12) <= bound <= able * (1 + 1e-12)
            assert caching.most(less)[t] == pytest.approx(best)
            pattern = list(caching.pattern(less, t))
            assert words[pattern].sum() <= less
            assert saved[t, pattern].sum() == pytest.approx(best)
