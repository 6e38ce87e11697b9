"""What is known outside all meshes changes how long a proof takes, and nothing else."""

import numpy as np
import pytest

from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.exact import choices as exact_choices
from archloom.search.mapping.exact.proof import Proof
from archloom.search.mapping.exact.search import prove
from archloom.search.mapping.exact.spatial.unrollings import keeps_of

from .....cases.small_designs import casco_edge, resnet_conv
from .....cases.small_problems import OBJECTIVES, all_costs, drawn_problem

#: tiles of all extents at most, and tiles that a pair of factors is worth
WHEN = {"never": (0, 0), "where frames need it": (2**20, 0), "at once": (2**20, 10**6)}


def proofs(problem: MappingProblem, weights: tuple[float, float]) -> list[Proof]:
    found = []
    for most, of_a_pair in WHEN.values():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(exact_choices, "MOST_KNOWN", most)
            patch.setattr(exact_choices, "TILES_OF_A_PAIR", of_a_pair)
            found.append(prove(problem, 10**8, weights=weights, warm_up=0))
    return found


@pytest.mark.parametrize("name", OBJECTIVES)
def test_small_problems_end_with_the_least_of_all_mappings(name: str) -> None:
    weights = OBJECTIVES[name]
    for number in range(2, 300, 5):
        problem = drawn_problem(number)
        energy, cycles = all_costs(problem.setup, keeps_of(problem.setup))
        if not len(energy):
            continue
        least = (weights[0] * np.log(energy) + weights[1] * np.log(cycles)).min()
        for found in proofs(problem, weights):
            assert found.proven, number
            assert found.best is not None
            assert found.best.score == pytest.approx(least, rel=1e-9, abs=1e-9), number


@pytest.mark.parametrize("name", OBJECTIVES)
def test_a_layer_with_ports_has_one_optimum(name: str) -> None:
    problem = MappingProblem.of_layer(resnet_conv(), casco_edge())
    found = proofs(problem, OBJECTIVES[name])
    assert all(one.proven and one.best is not None for one in found)
    assert len({one.best.score for one in found if one.best is not None}) == 1
