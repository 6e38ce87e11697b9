"""Mappings that are proven the best on one mesh of buffers, against lists of all mappings, and what
is known where a proof is cut short."""

from dataclasses import replace
from functools import cache
from math import inf

import numpy as np
import pytest

from archloom.evaluators.jit import compiled
from archloom.evaluators.loopnest.imperfect.kernel import evaluate_imperfect, imperfect_room
from archloom.evaluators.loopnest.layer_cost import LayerCost
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.auto import auto_mapping
from archloom.search.mapping.factorization import objective
from archloom.search.mapping.imperfect.further import FURTHER
from archloom.search.mapping.imperfect.on_mesh.settle import LOOKS, settled
from archloom.search.mapping.imperfect.on_mesh.unrolled import unrolled
from archloom.search.mapping.mapper import Mapper
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.design_space.presets import preset
from archloom.space.hardware.hardware import Hardware
from archloom.space.mapping.constraints import LevelConstraints, MappingConstraints
from archloom.space.networks.registry import network
from archloom.space.workload.dims import TENSORS

from ....cases.mesh_cases import small_mesh_problem
from ....cases.sweeps import sweep
from ....oracles.enumerated_imperfect import least_objective

#: mappings of a problem at most that is listed, and looks that are enough for all of these
MOST, PLENTY = 100_000, 10**8

EDGE = {"pe_x": 14, "pe_y": 12, "weight_spad_bytes": 128, "input_spad_bytes": 32}
EDGE |= {"output_spad_bytes": 32, "dram_channels": 2, "clock_mhz": 400, "l2_kib": 32}


@cache
def edge() -> Hardware:
    hardware = HardwareSpace.load("casco_edge").build(EDGE)
    assert isinstance(hardware, Hardware)
    return hardware


def mapped(problem: MappingProblem, evaluations: int) -> LayerCost:
    cost = Mapper(auto_mapping(), evaluations, 1, "imperfect")(problem)
    assert isinstance(cost, LayerCost)
    return cost


def start(problem: MappingProblem) -> LayerCost:
    """Return a mapping that few evaluations find, of which nothing is known."""
    cost = Mapper(auto_mapping(), 10, 1, "exact")(problem)
    assert isinstance(cost, LayerCost)
    return replace(cost, gap_percent=inf)


def value(problem: MappingProblem, cost: LayerCost) -> float:
    """Return the objective of a mapping, of exact energies: those of costs are rounded."""
    assert cost.mapping is not None
    setup, room, (a, b) = problem.setup, imperfect_room(len(problem.setup.fanout)), problem.weights
    _, energy, chip, dram = evaluate_imperfect(setup, *cost.mapping.arrays(), room)
    cycles = max(chip, dram)
    return float((energy + setup.leakage_pj * cycles) ** a * cycles**b)


def layer(name: str, of: str, hardware: Hardware) -> MappingProblem:
    found = next(one for one in network(of).layers if one.name == name)
    return MappingProblem.of_layer(found, hardware)


@pytest.mark.parametrize("block", sweep(range(60), 3))
def test_the_best_is_that_of_all_mappings(block: int) -> None:
    """Fifteen problems a block of which all mappings can be listed."""
    listed = proven = 0
    seed = 1000 * block
    while listed < 15:
        problem, seed = small_mesh_problem(seed), seed + 1
        if problem.impossible() is not None:
            continue
        least = least_objective(problem.setup, MOST)
        if least is None:
            continue
        listed += 1
        for looks in (0, 100, PLENTY):
            cost = settled(problem, start(problem), looks)
            found = value(problem, cost)
            assert found / (1 + cost.gap_percent / 100) <= least * (1 + 1e-8), seed - 1
            assert cost.gap_percent > 0 or found <= least * (1 + 1e-8), seed - 1
            assert found >= least * (1 - 1e-9), seed - 1
        # nothing is known of strides beyond the taps, nor of dilation
        proven += cost.gap_percent == 0
    assert proven > 7


@pytest.mark.parametrize(
    ("name", "design"),
    [
        ("stage3.0.shortcut", "eyeriss"),
        ("stage4.0.shortcut", "eyeriss"),
        ("stage4.0.shortcut", "casco_edge"),
        # it takes as long as all others
        pytest.param("stage3.0.shortcut", "casco_edge", marks=pytest.mark.exhaustive),
    ],
)
def test_layers_of_a_network_are_proven(name: str, design: str) -> None:
    problem = layer(name, "resnet18", edge() if design == "casco_edge" else preset(design))
    usual = mapped(problem, 100_000)
    best = settled(problem, usual, PLENTY)
    assert usual.gap_percent > 15
    assert best.gap_percent == 0
    least = objective(problem, usual) / (1 + usual.gap_percent / 100)
    assert least <= objective(problem, best) <= objective(problem, usual)
    if (name, design) == ("stage3.0.shortcut", "eyeriss"):
        # tiles that no search of nests finds
        assert objective(problem, best) < 0.85 * objective(problem, mapped(problem, 399_999))
    # where it begins is no matter
    other = settled(problem, start(problem), PLENTY)
    assert value(problem, other) == pytest.approx(value(problem, best), rel=1e-9)


def test_more_looks_know_no_less() -> None:
    problem = layer("stage4.0.shortcut", "resnet18", edge())
    usual = mapped(problem, 100_000)
    gaps, values = [usual.gap_percent], [objective(problem, usual)]
    for looks in (0, 1000, 10_000, 100_000, 1_000_000):
        cost = settled(problem, usual, looks)
        gaps.append(cost.gap_percent)
        values.append(objective(problem, cost))
        assert value(problem, cost) / (1 + cost.gap_percent / 100) <= values[0] * (1 + 1e-8)
    assert gaps == sorted(gaps, reverse=True)
    assert values == sorted(values, reverse=True)
    assert gaps[-1] == 0 < gaps[1] < gaps[0] / 2


def test_it_ends_when_it_is_told_to() -> None:
    problem = layer("stage4.0.shortcut", "resnet18", edge())
    usual, stop = mapped(problem, 100_000), np.ones(1, np.uint8)
    cost, bounded = settled(problem, usual, PLENTY, stop), settled(problem, usual, 0)
    assert cost == replace(usual, gap_percent=cost.gap_percent)
    assert bounded.gap_percent < cost.gap_percent <= usual.gap_percent


def test_larger_budgets_end_with_a_proof() -> None:
    problem = layer("stage4.0.shortcut", "resnet18", edge())
    mapper = Mapper(auto_mapping(), FURTHER, 1, "imperfect")
    cost = mapper(problem)
    assert isinstance(cost, LayerCost)
    assert cost.gap_percent == 0
    assert mapper.ended(problem)
    usual = settled(problem, mapped(problem, 100_000), LOOKS * FURTHER)
    assert objective(problem, cost) == pytest.approx(objective(problem, usual), rel=1e-9)


def test_what_is_prescribed_is_kept() -> None:
    free = layer("stage4.0.shortcut", "resnet18", edge())
    best = settled(free, mapped(free, 100_000), PLENTY)
    seen = set()
    for keep in (("weights",), ("inputs", "outputs"), TENSORS):
        bypass = tuple(t for t in TENSORS if t not in keep)
        rules = LevelConstraints(level="l2", keep=keep, bypass=bypass)
        problem = replace(free, constraints=MappingConstraints(levels=(rules,)))
        cost = settled(problem, mapped(problem, 100_000), PLENTY)
        assert cost.mapping is not None
        assert cost.gap_percent == 0
        assert cost.mapping.levels[1].keeps == tuple(t in keep for t in TENSORS)
        assert objective(problem, cost) >= objective(free, best) * (1 - 1e-9)
        seen.add(round(objective(problem, cost)))
    assert len(seen) == 3


def test_other_designs_and_rules_get_a_bound_alone() -> None:
    for hardware, rules in (
        (preset("simba"), MappingConstraints()),
        (edge(), MappingConstraints(dataflow="weight_stationary")),
    ):
        problem = layer("stage3.0.shortcut", "resnet18", hardware)
        problem = replace(problem, constraints=rules)
        usual = mapped(problem, 100_000)
        cost = settled(problem, usual, PLENTY)
        assert cost == replace(usual, gap_percent=cost.gap_percent)
        assert 0 < cost.gap_percent <= usual.gap_percent


@compiled
def _listed(setup, most):
    every, some = unrolled(setup, most)
    return every, some.over, some.reach, some.axes, some.steps


def test_all_that_axes_unroll_is_listed_once() -> None:
    problem = layer("stage4.0.shortcut", "resnet18", edge())
    problem = replace(problem, bounds=(1, 2, 5, 3, 1, 1, 1, 1))
    setup = problem.setup
    every, over, reach, axes, steps = _listed(setup, 8.0)
    fan_x, fan_y = setup.fanout[1]
    expected = {}
    for g, k, c in np.ndindex(2, 5, 3):
        for h, m, e in np.ndindex(2, 5, 3):
            x, y = (g + 1, k + 1, c + 1), (h + 1, m + 1, e + 1)
            allowed = all(
                (a == 1 or setup.spatial[1, 0, d]) and (b == 1 or setup.spatial[1, 1, d])
                for d, (a, b) in enumerate(zip(x, y, strict=True), 1)
            )
            if not allowed or np.prod(x) > fan_x or np.prod(y) > fan_y:
                continue
            both = tuple(a * b for a, b in zip(x, y, strict=True))
            need = np.prod([-(-n // s) for n, s in zip((2, 5, 3), both, strict=True)])
            if need <= 8:
                last = tuple((b - 1) * a if b > 1 else a - 1 for a, b in zip(x, y, strict=True))
                expected[both, last] = need
    found = {
        (tuple(o[1:4].tolist()), tuple(r[1:4].tolist())): n
        for o, r, n in zip(over, reach, steps, strict=True)
    }
    assert every
    assert len(found) == len(over) > 100
    assert found == expected
    assert (axes.prod(axis=1) == over).all()
    assert (np.diff(steps) >= 0).all()
