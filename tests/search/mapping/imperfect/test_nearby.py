"""Descents from mappings that searches found, against bounds, the kernel and a mapping by hand."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from archloom.evaluators.bounds.layer import least_costs
from archloom.evaluators.loopnest.layer_cost import mapped_cost
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.auto import auto_mapping
from archloom.search.mapping.factorization import objective
from archloom.search.mapping.imperfect.nearby import best_nearby
from archloom.search.mapping.mapper import Mapper
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.design_space.presets import preset
from archloom.space.hardware.hardware import Hardware
from archloom.space.mapping.constraints import MappingConstraints
from archloom.space.mapping.mapping import Mapping
from archloom.space.workload.dims import DIMS

from ....cases.small_chips import small_problem
from ....cases.sweeps import sweep

SPACES = Path(__file__).parents[4] / "examples" / "spaces"


def found(problem: MappingProblem, evaluations: int = 3000):
    return Mapper(auto_mapping(), evaluations, 0, "imperfect")(problem)


@pytest.mark.parametrize("part", sweep(range(12), 2))
def test_a_descent_gets_no_worse_and_no_lower_than_bounds(part: int) -> None:
    better = 0
    for seed in range(30 * part, 30 * part + 30):
        problem = small_problem(seed, seed % 4)
        if problem is None:
            continue
        for weights in ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0)):
            asked = replace(problem, weights=weights)
            before = found(asked)
            after = best_nearby(asked, before, 5000)
            assert objective(asked, after) <= objective(asked, before)
            # what was proven stays as it was
            bounds = [objective(asked, c) / (1 + c.gap_percent / 100) for c in (before, after)]
            assert bounds[1] == pytest.approx(bounds[0], rel=1e-6) or after is before
            energy_pj, cycles = least_costs(asked)
            assert after.dynamic_pj >= energy_pj * (1 - 1e-9) - 1.0
            assert after.latency_cycles >= cycles * (1 - 1e-9)
            again = mapped_cost(replace(asked, loop_bounds=after.mapping.factors), after.mapping)
            assert (again.dynamic_pj, again.latency_cycles) == (
                after.dynamic_pj,
                after.latency_cycles,
            )
            better += objective(asked, after) < objective(asked, before) * (1 - 1e-6)
    assert better > 1


def test_tiles_that_fill_a_buffer() -> None:
    """Of 256 channels 29 fit; a search of divisors takes 16."""
    space = HardwareSpace.load(SPACES / "weight_stationary" / "hardware.yaml")
    sizes = {"columns": 32, "rows": 128, "accumulators": 16, "weight_kib": 128, "unified_kib": 32}
    hardware = space.build(sizes | {"dram_channels": 2})
    assert isinstance(hardware, Hardware)
    bounds, window = (1, 1, 256, 256, 14, 14, 3, 3), ((1, 1), (1, 1), (1, 1), (14, 14))
    problem = MappingProblem(bounds, *window, hardware, weights=(1.0, 0.0))
    before = found(problem, 100_000)
    after = best_nearby(problem, before, 20_000)
    loops, keep = before.mapping.arrays()
    # by hand: 28 channels in the array, 14 of them at a time
    loops[:, :3] = 1
    c, k = DIMS.index("C"), DIMS.index("K")
    loops[0, 0, c], loops[1, 1, k], loops[1, 2, c] = 2, 32, 14
    loops[1, 2, 6], loops[1, 2, 7] = 3, 3
    loops[3, 0, k], loops[3, 0, 4], loops[3, 0, 5] = 4, 14, 14
    loops[4, 0, k], loops[4, 0, c] = 2, 10
    rows = [[v[0], v[3], v[1], v[2], kept] for v, kept in zip(loops, keep, strict=True)]
    mapping = Mapping.from_rows(rows)
    by_hand = mapped_cost(replace(problem, loop_bounds=mapping.factors), mapping)
    assert by_hand.dynamic_pj < 0.99 * before.dynamic_pj
    assert after.dynamic_pj <= by_hand.dynamic_pj * (1 + 1e-5)


def test_constraints_and_no_evaluations_leave_a_mapping() -> None:
    problem = small_problem(1, 0)
    assert problem is not None
    asked = replace(problem, weights=(1.0, 0.0))
    cost = found(asked)
    assert best_nearby(asked, cost, 0) is cost
    fixed = replace(asked, constraints=MappingConstraints(dataflow="weight_stationary"))
    assert best_nearby(fixed, cost, 1000) is cost


def test_the_same_again() -> None:
    hardware = preset("edgetpu")
    bounds, window = (1, 1, 61, 17, 13, 13, 3, 3), ((1, 1), (1, 1), (1, 1), (13, 13))
    problem = MappingProblem(bounds, *window, hardware, weights=(1.0, 0.0))
    cost = found(problem)
    one, two = (best_nearby(problem, cost, 4000) for _ in range(2))
    assert one == replace(two, words=one.words, energy_pj=one.energy_pj)
    assert np.array_equal(one.words, two.words)
