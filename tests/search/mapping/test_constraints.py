"""Constraints on mappings: all searches obey them, and the exact one finds the best that does."""

from collections import Counter
from dataclasses import replace
from itertools import product
from random import Random

import numpy as np
import pytest

from archloom.evaluators.loopnest.kernel import VALID, evaluate_batch
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.exact.proof import covered
from archloom.search.mapping.exact.search import prove
from archloom.search.mapping.exact.spatial.unrollings import keeps_of
from archloom.search.registry import MAPPING_SEARCHES
from archloom.space.mapping.constraints import UNCONSTRAINED

from ...cases.constrained_problems import constrained_problem, satisfied
from ...cases.small_problems import OBJECTIVES, all_loops, filled, unrolled_orders
from ...cases.sweeps import sweep
from ...contracts.mapping_search import objective

BLOCKS, BLOCK = 16, 30


def permitted_costs(problem: MappingProblem) -> tuple[np.ndarray, np.ndarray]:
    """Energy (leakage included) and cycles of all valid mappings that satisfy the constraints."""
    setup = replace(problem, constraints=UNCONSTRAINED).setup
    every = all_loops(setup)
    energies, latencies = [np.zeros(0)], [np.zeros(0)]
    for keep, across in product(keeps_of(setup), unrolled_orders(setup)):
        loops = every[satisfied(problem, every, keep)]
        held = np.broadcast_to(keep, (len(loops), *keep.shape)).copy()
        status, energy, chip, dram = evaluate_batch(setup._replace(across=across), loops, held)
        cycles = np.maximum(chip, dram)[status == VALID]
        energies.append(energy[status == VALID] + setup.leakage_pj * cycles)
        latencies.append(cycles)
    return np.concatenate(energies), np.concatenate(latencies)


@pytest.mark.parametrize("block", sweep(range(BLOCKS), BLOCKS // 8))
def test_the_exact_search_finds_the_least_of_all_that_satisfy_them(block: int) -> None:
    for number in range(block * BLOCK, (block + 1) * BLOCK):
        problem = constrained_problem(number)
        energy, cycles = permitted_costs(problem)
        assert (problem.impossible() is None) == bool(len(energy)), number
        for name, weights in OBJECTIVES.items():
            found = prove(problem, 10**8, weights=weights, warm_up=0)
            # where routers carry inputs past a level, permitted orders are not all tried
            routed = problem.setup.router_pj.any() and problem.setup.ranks.shape[1] > 0
            assert found.proven or routed, (number, name)
            if found.best is None:
                assert not (found.proven and len(energy)), (number, name)
                continue
            loops, keep = found.best.loops, found.best.keep
            assert satisfied(problem, loops[None], keep).all(), (number, name)
            score = weights[0] * np.log(energy) + weights[1] * np.log(cycles)
            least = pytest.approx(score.min(), abs=1e-9)
            assert found.best.score == least or not found.proven, (number, name)
            assert found.bound <= score.min() + 1e-9, (number, name)


@pytest.mark.parametrize("block", sweep(range(BLOCKS), 1))
def test_it_does_where_arrays_fill_and_drain(block: int) -> None:
    for number in range(block * BLOCK, (block + 1) * BLOCK):
        problem = constrained_problem(number)
        if problem.setup.fanout.max() == 1:
            continue
        problem = filled(Random(number), problem, number)
        if problem.impossible() is not None or not covered(problem):
            continue
        energy, cycles = permitted_costs(problem)
        for name, weights in OBJECTIVES.items():
            found = prove(problem, 10**8, weights=weights, warm_up=0)
            score = weights[0] * np.log(energy) + weights[1] * np.log(cycles)
            assert found.best is not None
            assert found.proven, (number, name)
            assert satisfied(problem, found.best.loops[None], found.best.keep).all(), number
            assert found.best.score == pytest.approx(score.min(), abs=1e-9), (number, name)


def test_the_constraints_are_of_every_kind() -> None:
    problems = [constrained_problem(number) for number in range(BLOCKS * BLOCK)]
    setups = [problem.setup for problem in problems]
    kinds = Counter(p.constraints.dataflow for p in problems)
    kinds["one axis"] = sum(not s.both_axes for s in setups)
    kinds["fixed unrolling"] = sum(bool((s.fixed > 1).any()) for s in setups)
    kinds["several ways to order loops"] = sum(s.ranks.shape[1] > 1 for s in setups)
    kinds["forced"] = sum(any(v.keep or v.bypass for v in p.constraints.levels) for p in problems)
    assert len(kinds) == 9
    assert min(kinds.values()) >= 25, kinds


def test_they_cost_what_they_exclude() -> None:
    """The least that satisfies them is often more than the least of all, and never less."""
    gaps = []
    for number in range(0, BLOCKS * BLOCK, 8):
        problem = constrained_problem(number)
        bound = prove(problem, 10**8, warm_up=0).bound
        gaps.append(bound - prove(replace(problem, constraints=UNCONSTRAINED), 10**8).bound)
    assert min(gaps) >= -1e-9
    assert sum(gap > 1e-3 for gap in gaps) > len(gaps) / 4


@pytest.mark.parametrize("name", sorted(set(MAPPING_SEARCHES) - {"exact", "auto"}))
def test_the_other_searches_obey_them_and_never_find_less(name: str) -> None:
    search, reached = MAPPING_SEARCHES[name](), 0
    for number in range(0, BLOCKS * BLOCK, 4):
        problem = constrained_problem(number)
        if problem.impossible() is not None:
            continue
        least = prove(problem, 10**8)
        assert least.best is not None
        state = search.start(problem, number)
        scores = []
        for budget in (1, 300, 1700):
            state = search.advance(problem, state, budget)
            found = search.best(problem, state)
            assert found.mapping is not None
            loops, keep = found.mapping.arrays()
            assert satisfied(problem, loops[None], keep).all(), number
            scores.append(objective(problem, found))
        assert scores == sorted(scores, reverse=True)
        assert scores[-1] >= least.best.score - 1e-9, number
        reached += scores[-1] <= least.best.score + 1e-9
    assert reached > BLOCKS * BLOCK / 4 * 0.75
