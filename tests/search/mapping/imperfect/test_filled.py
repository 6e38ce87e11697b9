"""Factors of any size on arrays that fill and drain, against a list of all mappings."""

from math import log

import pytest

from archloom.evaluators.loopnest.imperfect.kernel import evaluate_imperfect, imperfect_room
from archloom.evaluators.loopnest.layer_cost import LayerCost
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.auto import auto_mapping
from archloom.search.mapping.factorization import least_score
from archloom.search.mapping.mapper import Mapper

from ....cases.small_problems import awkward_filled
from ....cases.sweeps import sweep
from ....oracles.enumerated_imperfect import least_objective

#: mappings of a problem at most that is listed, and evaluations that prove its best one
MOST, PLENTY, USUAL = 20_000, 10**7, 100_000

#: gaps are those of reported energies, which are rounded to multiples of 2 ** -8 pJ
GRAIN, ROUNDING = 1 + 1e-4, 1e-9


def found(problem: MappingProblem, evaluations: int) -> LayerCost:
    cost = Mapper(auto_mapping(), evaluations, 1, "imperfect")(problem)
    assert isinstance(cost, LayerCost)
    return cost


def edp(problem: MappingProblem, cost: LayerCost) -> float:
    """Energy, leakage included, times cycles of a mapping, not rounded."""
    assert cost.mapping is not None
    loops, keep = cost.mapping.arrays()
    room = imperfect_room(len(loops))
    _, energy, chip, dram = evaluate_imperfect(problem.setup, loops, keep, room)
    cycles = max(chip, dram)
    return float((energy + problem.setup.leakage_pj * cycles) * cycles)


@pytest.mark.parametrize("block", sweep(range(50), 3))
def test_the_best_is_that_of_all_mappings_and_proven(block: int) -> None:
    """Twenty problems a block of which all mappings can be listed; the modes take turns."""
    modes, number = [], 1000 * block
    while len(modes) < 20:
        problem = awkward_filled(number)
        least, number = least_objective(problem.setup, MOST), number + 1
        if least is None:
            continue
        modes.append(problem.hardware.effects.fill_drain)
        cost = found(problem, PLENTY)
        assert cost.gap_percent == 0, number - 1
        assert edp(problem, cost) == pytest.approx(least, rel=ROUNDING), number - 1
        assert least_score(problem) <= log(least) + 1e-9, number - 1
        usual = found(problem, USUAL)
        value = edp(problem, usual)
        assert value / (1 + usual.gap_percent / 100) <= least * GRAIN, number - 1
        assert usual.gap_percent > 0 or value <= least * (1 + ROUNDING), number - 1
    assert {"exposed", "overlapped"} == set(modes)
