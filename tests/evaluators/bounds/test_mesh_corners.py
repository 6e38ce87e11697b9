"""Energy and cycles on one mesh of private buffers, together: against random mappings, whole and
cut, and against searches of several objectives."""

from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import product
from math import inf, prod

import numpy as np
import pytest

from archloom.evaluators.bounds.layer import design_and_prices, nest_arrays
from archloom.evaluators.bounds.network.mesh.private_tiles import Room, tiles_that_stay
from archloom.evaluators.bounds.network.mesh.unrollings import unrollings
from archloom.evaluators.bounds.network.work import nests_of
from archloom.evaluators.bounds.rounding import evaluation_pj
from archloom.evaluators.jit import compiled
from archloom.evaluators.loopnest.imperfect.kernel import imperfect_cost
from archloom.evaluators.loopnest.kernel import VALID, evaluate_batch
from archloom.evaluators.loopnest.layer_cost import LayerCost
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.auto import auto_mapping
from archloom.search.mapping.mapper import Mapper
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network

from ...cases.bound_cases import random_mappings
from ...cases.mesh_cases import mesh_problem
from ...cases.sweeps import sweep


def rows_of(problem: MappingProblem) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of energy and cycles, and those of levels by themselves."""
    design, prices = design_and_prices(problem.hardware, problem.sparsity, problem.staged)
    design = design._replace(strict=True)
    nests = nests_of(*(part[None] for part in nest_arrays(problem)))
    ways = nests.by_way(design, prices)
    corners = [nests.corners(design, prices, way)[1] for way in range(len(ways))]
    return np.concatenate(corners), ways.reshape(-1, 2)


@cache
def costs_of(seed: int) -> tuple[tuple[float, float], ...]:
    """Return energy (pJ) and cycles of random mappings, cut and whole, and of searches."""
    problem, rng = mesh_problem(seed), np.random.default_rng(seed + 1)
    found = []
    for more in (0, 3):
        wider = [int(b + rng.integers(0, more + 1)) if b > 1 else 1 for b in problem.bounds]
        loops, keep = random_mappings(replace(problem, bounds=tuple(wider)), rng, 20)
        for i in np.flatnonzero(evaluate_batch(problem.setup, loops, keep)[0] == VALID):
            cost = imperfect_cost(problem.setup, loops[i], keep[i])
            found.append((cost.dynamic_pj, max(cost.chip_cycles, cost.dram_cycles)))
    search = Mapper(auto_mapping(), 10_000, 0, "imperfect")
    price = found[-1][0] / found[-1][1]
    for weights, cycle_pj in (((1.0, 0.0), 0.0), ((0.0, 1.0), 0.0), ((1.0, 1.0), 0.0)):
        cost = search(replace(problem, weights=weights, cycle_pj=cycle_pj))
        found.append((cost.dynamic_pj, cost.latency_cycles))
    cost = search(replace(problem, weights=(1.0, 0.0), cycle_pj=price))
    return (*found, (cost.dynamic_pj, cost.latency_cycles))


def above(rows: np.ndarray, cost: tuple[float, float], off_pj: float) -> bool:
    return bool(((rows[:, 0] <= cost[0] + off_pj) & (rows[:, 1] <= cost[1])).any())


@pytest.mark.parametrize("part", sweep(range(12), 2))
def test_every_mapping_is_above_a_row(part: int) -> None:
    counts = Counter()
    for seed in range(30 * part, 30 * part + 30):
        problem = mesh_problem(seed)
        if problem.impossible() is not None:
            continue
        rows, apart = rows_of(problem)
        off_pj = evaluation_pj(len(problem.hardware.levels))
        for cost in costs_of(seed):
            assert above(rows, cost, off_pj), (seed, cost)
            counts["costs"] += 1
        if len(rows) > len(apart):
            best = min(prod(cost) for cost in costs_of(seed))
            counts["closer"] += rows.prod(axis=1).min() > 1.01 * apart.prod(axis=1).min()
            # 3% more would be wrong
            counts["close"] += best < 1.03 * rows.prod(axis=1).min()
    assert counts["costs"] > 200, counts
    assert counts["closer"] > 3, counts
    assert counts["close"] > 0, counts


@pytest.mark.parametrize("name", ["stage1.0.conv1", "stage2.0.conv2", "stage3.0.conv1"])
def test_tiles_further_out_count_with_those_of_a_mesh(name: str) -> None:
    """The pairs are within 5% of a search; with words further out by themselves they were not."""
    edge = {"pe_x": 14, "pe_y": 12, "weight_spad_bytes": 128, "input_spad_bytes": 32}
    edge |= {"output_spad_bytes": 32, "l2_kib": 32, "dram_channels": 2, "clock_mhz": 400}
    hardware = HardwareSpace.load("casco_edge").build(edge)
    assert isinstance(hardware, Hardware)
    layer = next(layer for layer in network("resnet18").layers if layer.name == name)
    problem = MappingProblem.of_layer(layer, hardware)
    found = Mapper(auto_mapping(), 200_000, 1, "imperfect")(problem)
    assert isinstance(found, LayerCost)
    energy, cycles = rows_of(problem)[0].T
    leakage_pj = problem.setup.leakage_pj
    bound = ((energy + leakage_pj * cycles) * cycles).min()
    edp = (found.dynamic_pj + leakage_pj * found.latency_cycles) * found.latency_cycles
    assert bound <= edp < 1.05 * bound


def test_with_too_many_ways_to_keep_tensors_each_level_counts_by_itself() -> None:
    problem = next(p for p in map(mesh_problem, range(50)) if p.staged == (False, False, False))
    first, *_, dram = problem.hardware.levels
    outer = [
        replace(first, name=f"l{i}", mesh=(1, 1), capacity_bytes=500.0, optional=True)
        for i in (1, 2, 3)
    ]
    hardware = replace(problem.hardware, levels=(first, *outer, dram))
    design, prices = design_and_prices(hardware, problem.sparsity)
    nests = nests_of(*(part[None] for part in nest_arrays(replace(problem, hardware=hardware))))
    apart = nests.costs(design, prices, uncut=True)
    assert (nests.by_way(design, prices) == apart[None]).all()
    _, rows = nests.corners(design, prices, 0)
    assert rows == pytest.approx(apart)
    assert (nests.joint_energies(design, prices, apart[:, 1]) == 0).all()


@compiled
def listed(bounds, along, most, enough):
    return unrollings(bounds, along, most, enough)


@pytest.mark.parametrize("seed", range(40))
def test_whatever_a_mesh_unrolls_is_no_more_than_one_of_the_list(seed: int) -> None:
    rng = np.random.default_rng(seed)
    bounds = np.array([1, 1, *rng.integers(1, 7, 4), *rng.integers(1, 4, 2)])
    along, most = rng.integers(1, 256, 2), rng.integers(1, 7, 2)
    found = listed(bounds, along, most, 1e9)
    assert len(np.unique(found, axis=0)) == len(found)
    for _ in range(200):
        factors = np.ones((2, 8), np.int64)
        for axis, d in product((0, 1), rng.permutation(8)):
            left = int(most[axis] // factors[axis].prod())
            if along[axis] >> d & 1:
                factors[axis, d] = rng.integers(1, min(left, bounds[d]) + 1)
        over = np.minimum(bounds, factors.prod(axis=0))
        assert (found >= over).all(axis=1).any()
    steps = [prod(-(-b // f) for b, f in zip(bounds, one, strict=True)) for one in found.tolist()]
    near = listed(bounds, along, most, 1.5 * min(steps))
    assert {tuple(one) for one in near.tolist()} == {
        tuple(one)
        for one, own in zip(found.tolist(), steps, strict=True)
        if own <= 1.5 * min(steps)
    }


@compiled
def staying(bounds, window, room, stays):
    return tiles_that_stay(bounds, window, room, stays)


@pytest.mark.parametrize("seed", range(40))
def test_tiles_that_fit_are_no_larger_than_one_of_the_list(seed: int) -> None:
    rng = np.random.default_rng(seed)
    bounds = np.array([1, 1, *rng.integers(1, 40, 2), *rng.integers(1, 12, 2), 3, 2])
    window = np.array([[rng.integers(1, 3), 1, 0, 99], [1, 1, 0, 99]])
    words, units = rng.integers(1, 60, 3).astype(float), rng.integers(1, 3, 3).astype(float)
    if rng.random() < 0.5:
        words[:] = inf
    room = Room(words, units, float(rng.integers(20, 90)) if words[0] == inf else inf)
    lists = [staying(bounds, window, room, stays) for stays in range(3)]
    # what decides the words while a tensor stays
    decide = ((2, 3, 4, 5, 6, 7), (3, 4, 5, 6, 7), (2, 4, 5, 6, 7))
    seen = 0
    for n in range(500):
        sizes = 2 ** rng.integers(0, 1 + n % 5, 8) + rng.integers(0, 2, 8) * (n % 2)
        tile = np.minimum(bounds, sizes)
        boxes = prod(
            (tile[4 + a] - 1) * window[a, 0] + (tile[6 + a] - 1) * window[a, 1] + 1 for a in (0, 1)
        )
        used = np.array([prod(tile[[2, 3, 6, 7]]), tile[3] * boxes, prod(tile[[2, 4, 5]])])
        if (used > words).any() or used @ units > room.shared:
            continue
        seen += 1
        for stays, own in enumerate(lists):
            some = list(decide[stays])
            assert (own[:, some] >= tile[some]).all(axis=1).any()
    assert seen or not any(map(len, lists))
