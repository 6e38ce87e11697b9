"""Constraints on mappings: all searches obey them, and the exact one finds the best that does."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from archloom.evaluators.kernel import VALID, evaluate_batch
from archloom.search.exact import prove
from archloom.search.exact_spread import keeps_of
from archloom.search.mapping_search import LocalMapping, RandomMapping
from archloom.space.mapping_constraints import UNCONSTRAINED

from .constrained_cases import constrained_problem, satisfied
from .exact_cases import all_loops

OBJECTIVES = {"edp": (1.0, 1.0), "energy": (1.0, 0.0), "latency": (0.0, 1.0)}
BLOCKS, BLOCK = 8, 60


def permitted_costs(number: int) -> tuple[np.ndarray, np.ndarray]:
    """Energy (leakage included) and cycles of all valid mappings that satisfy the constraints."""
    problem = constrained_problem(number)
    setup = replace(problem, constraints=UNCONSTRAINED).setup
    every = all_loops(setup)
    energies, latencies = [np.zeros(0)], [np.zeros(0)]
    for keep in keeps_of(setup):
        loops = every[satisfied(problem, every, keep)]
        held = np.broadcast_to(keep, (len(loops), *keep.shape)).copy()
        status, energy, chip, dram = evaluate_batch(setup, loops, held)
        cycles = np.maximum(chip, dram)[status == VALID]
        energies.append(energy[status == VALID] + setup.leakage_pj * cycles)
        latencies.append(cycles)
    return np.concatenate(energies), np.concatenate(latencies)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_the_exact_search_finds_the_least_of_all_that_satisfy_them(block: int) -> None:
    for number in range(block * BLOCK, (block + 1) * BLOCK):
        problem = constrained_problem(number)
        energy, cycles = permitted_costs(number)
        assert (problem.impossible() is None) == bool(len(energy)), number
        for name, weights in OBJECTIVES.items():
            found = prove(problem, 10**8, weights=weights, warm_up=0)
            assert found.proven, (number, name)
            if not len(energy):
                assert found.best is None, (number, name)
                continue
            assert found.best is not None, (number, name)
            loops, keep = found.best.loops, found.best.keep
            assert satisfied(problem, loops[None], keep).all(), (number, name)
            score = weights[0] * np.log(energy) + weights[1] * np.log(cycles)
            assert found.best.score == pytest.approx(score.min(), abs=1e-9), (number, name)
