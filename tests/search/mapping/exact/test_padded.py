"""The best mapping over all paddings, against a list of all of them."""

from dataclasses import replace
from itertools import product
from math import inf, log, prod
from random import Random

import numpy as np
import pytest

from archloom.evaluators.loopnest.layer_cost import LayerCost
from archloom.evaluators.loopnest.padding import padded_bounds
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.exact.padded import paddings, provable, prove_padded, worth_padding_to
from archloom.search.mapping.exact.search import ExactMapping, prove
from archloom.search.mapping.factorization import least_score, objective
from archloom.search.mapping.mapper import Mapper
from archloom.search.mapping.simd.searches import LocalMapping
from archloom.space.design_space.presets import preset
from archloom.space.hardware.effects import Effects
from archloom.space.mapping.constraints import MappingConstraints
from archloom.space.workload.layer import Layer

from ....cases.small_designs import casco_edge, conv, three_levels
from ....cases.small_problems import filled
from ....cases.sweeps import sweep
from ....cases.wide_problems import Wide, wide_problem
from ....oracles.enumerated_mappings import all_prices, kept, orders, tilings

PLENTY = 10**9
MOST = 60_000


def least_of_all(wide: Wide) -> float | None:
    """Least ln EDP over all mappings of all paddings to less than twice the bounds, and to that."""
    problem, least, total = wide.problem, inf, 0
    for bounds in product(*(range(b, 2 * b + 1) if b > 1 else (1,) for b in problem.bounds)):
        setup = replace(problem, bounds=bounds).setup
        tiled = tilings(setup, MOST)
        if tiled is None:
            return None
        total += orders(tiled)
        if total > MOST:
            return None
        energy, cycles = all_prices(setup, kept(setup), tiled)
        if len(energy):
            with np.errstate(divide="ignore"):
                least = min(least, float((np.log(energy) + np.log(cycles)).min()))
    return least


def small(first: int, count: int) -> list[tuple[int, Wide]]:
    """Problems of which all paddings can be listed: few moving dimensions, small bounds."""
    found, number = [], first
    while len(found) < count:
        wide = wide_problem(number)
        moving = [b for b in wide.problem.bounds if b > 1]
        if 1 <= len(moving) <= 3 and prod(2 * b for b in moving) <= 150 and wide.mappings < 150:
            found.append((number, wide))
        number += 1
    return found


@pytest.mark.parametrize("block", sweep(range(3), 1))
def test_no_padding_is_better_than_the_best(block: int) -> None:
    compared = 0
    for number, wide in small(10_000 * block, 5):
        problem, least = wide.problem, least_of_all(wide)
        if least is None:
            continue
        compared += 1
        found = prove_padded(problem, PLENTY, warm_up=0)
        assert found.proof.proven, number
        score = inf if found.proof.best is None else found.proof.best.score
        assert score == pytest.approx(least, abs=1e-9), number
        assert least_score(problem) <= least + 1e-9, number
    assert compared > 2


@pytest.mark.parametrize("block", sweep(range(6), 1))
def test_no_padding_is_better_where_arrays_fill_and_drain(block: int) -> None:
    compared = 0
    for number, wide in small(10_000 * block + 5000, 8):
        problem = wide.problem
        if problem.setup.fanout.max() == 1 or provable(problem) == 0:
            continue
        problem = filled(Random(number), problem, number=0)
        least = least_of_all(replace(wide, problem=problem))
        if least is None:
            continue
        compared += 1
        found = prove_padded(problem, PLENTY, warm_up=0).proof
        assert found.proven, number
        score = inf if found.best is None else found.best.score
        assert score == pytest.approx(least, abs=1e-9), number
    assert compared > 1


def test_bounds_that_may_be_worth_padding_to() -> None:
    assert list(worth_padding_to(1, window=True)) == [1]
    assert list(worth_padding_to(3, window=True)) == [3, 4]
    assert list(worth_padding_to(7, window=False)) == [7, 8, 9]
    # 12 = 6 x 2: one step less of two would no longer cover 7
    assert list(worth_padding_to(7, window=True)) == [7, 8, 9, 10, 12]
    for bound, window in product(range(1, 40), (False, True)):
        kept = list(worth_padding_to(bound, window))
        tiles = {tile * -(-bound // tile) for tile in range(1, bound + 1)}
        assert set(kept) == tiles if window else set(kept) <= tiles


def test_paddings_are_listed_once_each_by_what_they_multiply_to() -> None:
    bounds = (1, 1, 7, 5, 3, 1, 1, 2)
    listed = list(paddings(bounds))
    each = [list(worth_padding_to(b, d >= 4)) for d, b in enumerate(bounds)]
    assert sorted(listed) == sorted(product(*each))
    assert [prod(one) for one in listed] == sorted(map(prod, listed))


def test_more_budget_never_gives_worse_and_bounds_hold() -> None:
    for _, wide in small(500, 6):
        whole = prove_padded(wide.problem, PLENTY)
        if whole.proof.best is None:
            continue
        before = inf
        for budget in (1, 10, 100, 1100, 2000, 5000, 20_000):
            found = prove_padded(wide.problem, budget).proof
            assert found.evaluations <= budget
            assert found.best is not None
            assert found.best.score <= before
            assert found.bound <= whole.proof.best.score + 1e-12
            assert found.proven == (found.gap_percent == 0)
            before = found.best.score


def test_a_prime_is_padded_and_proven() -> None:
    layer = Layer("fc", "gemm", k=1009, c=61, p=7, input_size=(7, 1))
    problem = MappingProblem.of_layer(layer, casco_edge(64, pe_x=14, pe_y=12))
    one = replace(problem, bounds=padded_bounds(problem))
    found, alone = prove_padded(problem, 10**7), prove(one, 10**7)
    assert found.proof.proven
    assert found.proof.best is not None
    assert alone.best is not None
    assert found.proof.best.score <= alone.best.score
    cost = Mapper(ExactMapping(), 10**7, 3, "padded")(problem)
    assert isinstance(cost, LayerCost)
    assert log(objective(problem, cost)) == pytest.approx(found.proof.best.score, abs=1e-9)
    assert cost.gap_percent == 0
    assert cost.operations == prod(found.nest.bounds)


@pytest.mark.parametrize("factors", ["padded", "imperfect"])
def test_gaps_of_other_searches_hold_for_all_coverings(factors: str) -> None:
    compared = 0
    for _, wide in small(2000, 8):
        least = least_of_all(wide)
        cost = Mapper(LocalMapping(), 200, 3, factors)(wide.problem)
        if least is None or not isinstance(cost, LayerCost):
            continue
        compared += 1
        score = log(objective(wide.problem, cost))
        assert 0 <= cost.gap_percent < inf
        if factors == "padded":
            assert score - least <= log(1 + cost.gap_percent / 100) + 1e-9
        # what is found is itself above the bound, cut at the edges or not
        assert score >= least_score(wide.problem) - 1e-9
    assert compared > 2


def test_where_factors_are_prescribed_one_nest_is_searched() -> None:
    problem = MappingProblem.of_layer(conv(), three_levels())
    assert provable(problem)
    for mode, holds in (("exposed", True), ("overlapped", False)):
        meshed = replace(preset("eyeriss"), effects=Effects(fill_drain=mode))
        assert provable(MappingProblem.of_layer(conv(), meshed)) == holds
    rules = MappingConstraints(dataflow="row_stationary")
    fixed = replace(MappingProblem.of_layer(conv(), preset("eyeriss")), constraints=rules)
    assert not provable(fixed)
    found = prove_padded(fixed, 2000).proof
    assert found.best is not None
    assert not found.proven
    assert 0 < found.gap_percent < inf
