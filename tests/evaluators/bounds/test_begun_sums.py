"""Tiles that add to sums which were begun before: mappings against the bounds of lemma 23."""

from dataclasses import replace

import pytest

from archloom.evaluators.arrays import Floats
from archloom.evaluators.bounds.layer import design_and_prices, nest_arrays
from archloom.evaluators.bounds.layer_kernel import layer_costs
from archloom.evaluators.bounds.level_capacity import design_of
from archloom.evaluators.bounds.rounding import evaluation_pj
from archloom.evaluators.loopnest.layer_cost import added_cost
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.auto import auto_mapping
from archloom.search.mapping.mapper import Mapper
from archloom.space.errors import Infeasible

from ...cases.mesh_cases import mesh_problem
from ...cases.small_designs import casco_edge
from ...cases.sweeps import sweep


def bounds_of(problem: MappingProblem, begun: bool) -> Floats:
    """Return the least energy and cycles, whether sums were begun or not."""
    _, prices = design_and_prices(problem.hardware, problem.sparsity, problem.staged)
    design = design_of(replace(problem, begun=begun).setup)._replace(strict=True)
    found: Floats = layer_costs(design, prices, *(part[None] for part in nest_arrays(problem)))[0]
    return found


def added(problem: MappingProblem) -> list[tuple[float, float]]:
    """Return energy (pJ) and cycles of mappings that add to sums, found for several objectives."""
    found = []
    for weights in ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0)):
        for evaluations, factors in ((100, "exact"), (4000, "exact"), (4000, "imperfect")):
            search = Mapper(auto_mapping(), evaluations, 0, factors)
            aim = replace(problem, weights=weights)
            cost = search(aim)
            if not isinstance(cost, Infeasible):
                for later in (added_cost(aim, cost), search(replace(aim, begun=True))):
                    assert not isinstance(later, Infeasible)
                    found.append((later.dynamic_pj, later.latency_cycles))
    return found


@pytest.mark.parametrize("seed", sweep(range(400), 40))
def test_tiles_that_add_to_sums_are_above_their_bounds(seed: int) -> None:
    problem = mesh_problem(seed)
    buffer, problems = problem.hardware.fusion_level, [problem]
    if buffer is not None and {"inputs", "outputs"} <= set(problem.hardware.levels[buffer].keeps):
        problems.append(replace(problem, staged=(problem.staged[0], True, True)))
    for there in problems:
        least, begin = bounds_of(there, begun=True), bounds_of(there, begun=False)
        off_pj = evaluation_pj(len(problem.hardware.levels))
        assert (least >= begin).all()
        for energy_pj, cycles in added(there):
            assert least[0] <= energy_pj + off_pj
            assert least[1] <= cycles


def test_sums_that_are_read_again_decide_the_cycles() -> None:
    """Twelve input channels of a projection of MobileNetV2: its sums are most of the words through
    the port of the buffer, and the mapping that is found takes as long as the bound."""
    problem = MappingProblem(
        (1, 1, 64, 12, 14, 14, 1, 1),
        (1, 1),
        (1, 1),
        (0, 0),
        (14, 14),
        casco_edge(32, pe_x=28, pe_y=12),
        staged=(False, True, True),
    )
    begin, least = (bounds_of(problem, begun=begun)[1] for begun in (False, True))
    assert least > 1.4 * begin
    cost = Mapper(auto_mapping(), 20_000, 0, "imperfect")(problem)
    assert not isinstance(cost, Infeasible)
    assert added_cost(problem, cost).latency_cycles == least
