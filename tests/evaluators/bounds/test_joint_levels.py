"""Energy on all levels together, against random mappings, cut ones, and searches to the end."""

from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from archloom.evaluators.bounds.layer import design_and_prices, least_costs, nest_arrays
from archloom.evaluators.bounds.layer_kernel import CYCLES, ENERGY_PJ, LayerBatch, layer_costs
from archloom.evaluators.bounds.layer_work import works_of
from archloom.evaluators.bounds.level_capacity import shares_of
from archloom.evaluators.bounds.network.joint_levels import joint_energies
from archloom.evaluators.bounds.network.whole_steps import whole_shares
from archloom.evaluators.bounds.rounding import evaluation_pj
from archloom.evaluators.loopnest.imperfect.kernel import imperfect_cost
from archloom.evaluators.loopnest.kernel import VALID, evaluate_batch
from archloom.evaluators.loopnest.problem import STREAMED, MappingProblem
from archloom.search.mapping.auto import auto_mapping
from archloom.search.mapping.mapper import Mapper
from archloom.space.hardware.hardware import StorageLevel
from archloom.space.workload.dims import DIMS, TENSORS

from ...cases.bound_cases import pick, random_hardware, random_mappings, random_problem, some
from ...cases.sweeps import sweep


def split_level(rng, level: StorageLevel, spread: bool) -> StorageLevel:
    """Return a level that keeps one or two tensors, so that neighbours keep others."""
    keeps = some(rng, TENSORS, 0.4) or (pick(rng, TENSORS),)
    sizes = dict.fromkeys(keeps, float(rng.integers(2, 60)))
    spatial = [DIMS if rng.random() < 0.2 else some(rng, DIMS, 0.4) for _ in range(2)]
    return replace(
        level,
        keeps=keeps,
        mesh=level.mesh if spread else (1, 1),
        capacity_bytes=tuple(sizes.items()) if rng.random() < 0.5 else sum(sizes.values()),
        spatial_x=spatial[0],
        spatial_y=spatial[1],
        optional=False,
        cluster_size=1,
        multicast=TENSORS if rng.random() < 0.8 else level.multicast,
        tensor_bits=(),
    )


def problem_of(seed: int) -> MappingProblem:
    """Return a whole layer on hardware none of whose levels may be bypassed; half of the levels
    outside of the array have one instance, as in most chips."""
    rng = np.random.default_rng(seed)
    hardware = random_hardware(rng)
    while len(hardware.levels) < 3:
        hardware = random_hardware(rng)
    inner = hardware.levels[:-1]
    if rng.random() < 0.7:
        spread = 1 if rng.random() < 0.7 else 2
        inner = tuple(split_level(rng, level, i < spread) for i, level in enumerate(inner))
    levels = tuple(replace(level, optional=False) for level in inner)
    return replace(
        random_problem(rng, replace(hardware, levels=(*levels, hardware.levels[-1]))),
        staged=STREAMED,
    )


def joint(problem: MappingProblem) -> tuple[float, float]:
    """Return the energy (pJ) on all levels together, and that of each level by itself."""
    design, prices = design_and_prices(problem.hardware, problem.sparsity)
    design = design._replace(strict=True)
    bounds, window = (part[None] for part in nest_arrays(problem))
    apart = layer_costs(design, prices, bounds, window)[0]
    shares = whole_shares(design, bounds, shares_of(design, bounds))
    unused = np.empty((1, 1, 1, 1))
    nothing = np.zeros(len(problem.hardware.levels), np.int64)
    batch = LayerBatch(works_of(bounds, window), shares, unused, unused, nothing)
    found = joint_energies(design, prices, batch, bounds, window, apart[CYCLES:].copy())
    return float(found[0]), float(apart[ENERGY_PJ])


@pytest.mark.parametrize("part", sweep(range(40), 4))
def test_no_mapping_needs_less_whole_or_cut(part: int) -> None:
    seen = 0
    for seed in range(50 * part, 50 * part + 50):
        problem, rng = problem_of(seed), np.random.default_rng(seed + 1)
        least, _ = joint(problem)
        for more in (0, 3):
            wider = [int(b + rng.integers(0, more + 1)) if b > 1 else 1 for b in problem.bounds]
            loops, keep = random_mappings(replace(problem, bounds=tuple(wider)), rng, 12)
            for i in np.flatnonzero(evaluate_batch(problem.setup, loops, keep)[0] == VALID):
                assert imperfect_cost(problem.setup, loops[i], keep[i]).dynamic_pj >= least
                seen += 1
    assert seen > 200


@cache
def searched(part: int) -> list[tuple[float, float, float]]:
    """The least energy that a search of factors of any size finds, and both bounds."""
    found = []
    for seed in range(60 * part, 60 * part + 60):
        problem = replace(problem_of(seed), weights=(1.0, 0.0))
        if problem.impossible() is not None:
            continue
        cost = Mapper(auto_mapping(), 20_000, 0, "imperfect")(problem)
        # costs are rounded, bounds of layers are not
        exact_pj = cost.dynamic_pj + evaluation_pj(len(problem.hardware.levels))
        found.append((exact_pj, *joint(problem)))
        assert exact_pj >= least_costs(problem)[0]
    return found


@pytest.mark.parametrize("part", sweep(range(20), 2))
def test_no_search_gets_below(part: int) -> None:
    counts = Counter()
    for energy_pj, together, apart in searched(part):
        assert energy_pj >= together
        counts["higher"] += together > 1.001 * apart
        counts["close"] += energy_pj < 1.01 * together and together > 1.001 * apart
    assert counts["higher"] > 3
    # 1% more would be wrong
    assert counts["close"] or part


def test_levels_that_may_be_bypassed_have_no_such_bound() -> None:
    """All of them are compared in the other bound."""
    from archloom.evaluators.bounds.network.plans import layer_by_layer_pass
    from archloom.space.design_space.presets import preset
    from archloom.space.networks.registry import network

    net = network("tiny_mobile")
    for name in ("edgetpu", "simba", "fast_small", "tpu_v3", "eyeriss"):
        hardware = preset(name)
        energy_pj, cycles = layer_by_layer_pass(net, hardware, joint=True)
        before_pj, same = layer_by_layer_pass(net, hardware)
        optional = any(level.optional for level in hardware.levels)
        assert cycles == same
        assert energy_pj == before_pj if optional else energy_pj >= before_pj
