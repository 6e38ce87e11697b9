"""Paths over ends of ranges, and what ranges cost at the least on the way to the best one."""

from itertools import combinations
from math import inf

import numpy as np
import pytest

from archloom.search.fusion.deepfrack.face_tiling import best_tiling, least_score, rough_score
from archloom.search.fusion.deepfrack.planner import DeepFrackSearch
from archloom.search.fusion.deepfrack.range_paths import RangePaths
from archloom.search.fusion.deepfrack.range_scores import RangeScores
from archloom.search.fusion.deepfrack.ranges import known_ranges
from archloom.search.fusion.deepfrack.stack import Stack
from archloom.search.fusion.deepfrack.tile_benchmark import TileBenchmark
from archloom.search.mapping.mapper import Mapper
from archloom.search.mapping.simd.searches import LocalMapping

from ....cases.small_designs import cheap_evaluator, three_levels
from ....oracles.enumerated_deepfrack import small_network

WEIGHTS = [(1.0, 0.0), (0.0, 1.0), (3.0, 40.0), (0.5, 90.0)]


@pytest.mark.parametrize("seed", range(30))
def test_paths_are_the_shortest_of_all(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 7))
    spans = [(s, e) for s in range(count) for e in range(s + 1, count + 1)]
    kinds = {span: n for n, span in enumerate(spans) if rng.random() < 0.6}
    alone = np.where(rng.random(count) < 0.2, inf, rng.random(count))
    costs = np.where(rng.random(len(spans)) < 0.2, inf, rng.random(len(spans)) * 2)

    def cost(span):
        way = costs[kinds[span]] if span in kinds else inf
        return min(way, alone[span[0]] if span[1] == span[0] + 1 else inf)

    every = (
        sum(cost(span) for span in zip((0, *cuts), (*cuts, count), strict=True))
        for n in range(count)
        for cuts in combinations(range(1, count), n)
    )
    least = min(every)
    found = RangePaths(count, kinds).shortest(alone, costs)
    if found is None:
        assert least == inf
        return
    assert [a for (a, _), _ in found] == [0, *(b for (_, b), _ in found[:-1])]
    took = sum(alone[span[0]] if kind is None else costs[kind] for span, kind in found)
    assert took == pytest.approx(least)


def test_a_range_of_another_kind_costs_as_that_one():
    paths = RangePaths(2, {(0, 2): 0})
    alone = np.array([3.0, 3.0])
    assert paths.shortest(alone, np.array([1.0])) == [((0, 2), 0)]
    paths.change((0, 2), 1)
    assert paths.kind((0, 2)) == 1
    assert paths.shortest(alone, np.array([1.0, 9.0])) == [((0, 1), None), ((1, 2), None)]


def stacks(seed, buffer=200):
    network, hardware = small_network(seed), three_levels(buffer, (8, 8, 4), optional=False)
    known = known_ranges(network)
    bench = TileBenchmark(network, hardware, Mapper(LocalMapping(), 60, seed=5), known.numbers)
    count = len(network.layers)
    kinds = {known.kind(s, e) for s in range(count) for e in range(s + 1, count + 1)}
    found = [Stack(known.shape(kind), bench) for kind in sorted(kinds - {None})]
    return [stack for stack in found if stack.fits]


@pytest.mark.parametrize("seed", range(8))
def test_bounds_are_below_the_best_tiling(seed):
    compared = 0
    for stack in stacks(seed):
        for weights in WEIGHTS:
            rough, least = rough_score(stack, weights), least_score(stack, weights)
            assert rough <= least * (1 + 1e-12)
            best = best_tiling(stack, weights)
            assert least <= (inf if best is None else best.score) * (1 + 1e-12)
            compared += best is not None
    assert compared


@pytest.mark.parametrize("seed", range(8))
def test_ranges_cost_at_least_what_neighbouring_weights_say(seed):
    scores = RangeScores(stacks(seed))
    kinds = list(range(len(scores.stacks)))
    for weights in WEIGHTS:
        along = scores.along(weights)
        assert scores.along(weights) is along
        before = along.least.copy()
        while along.raise_some(kinds):
            pass
        assert np.all(before <= along.least * (1 + 1e-12))


def test_a_range_with_less_of_the_buffer_costs_no_less():
    scores = RangeScores(stacks(3))
    along = scores.along((1.0, 0.0))
    never, less = scores.without(0, None), scores.without(0, 20)
    while along.raise_some([0, never, less]):
        pass
    assert along.least[never] == inf
    assert along.least[less] >= along.least[0] * (1 - 1e-12)


def test_tiles_that_other_stacks_measured_are_known():
    found = stacks(3)
    for stack in found:
        best_tiling(stack, (1.0, 0.0))
    for stack in found:
        known = [tile for tile in stack.shape.tiles.number if stack.measured([tile])]
        stack.forget()
        assert stack.measured(known)
        costs = stack.costs.streamed[:, [stack.shape.tiles.number[tile] for tile in known]]
        for tile, cost in zip(known, costs.T, strict=True):
            assert stack.measure(tile) == np.isfinite(cost).all()


def test_a_network_of_which_a_layer_cannot_run_has_no_plan():
    network = small_network(1)
    evaluator = cheap_evaluator(network, three_levels(200, (8, 8, 4), optional=False))
    planner = DeepFrackSearch(evaluator)
    planner._alone = [None] * len(network.layers)
    planner._paths = RangePaths(len(network.layers), {})
    assert planner.plan() is None
