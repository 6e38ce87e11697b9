"""Mappings of a plan that make its EDP least together, and the proof of that."""

from dataclasses import replace
from itertools import product
from math import log, prod

import numpy as np
import pytest

from archloom.evaluators.bounds.gaps import mapping_gaps
from archloom.evaluators.bounds.rounding import evaluation_pj
from archloom.evaluators.fusion.plan import NetworkCost
from archloom.evaluators.fusion.tile import ProblemMapper
from archloom.evaluators.loopnest.layer_cost import mapped_cost
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.mapping.exact.energy_latency_front import front
from archloom.search.mapping.exact.search import ExactMapping
from archloom.search.mapping.mapper import Mapper
from archloom.search.software.prove_mappings import Chosen, ProvenPlan, _Lines, proven_plan
from archloom.search.software.search import (
    SoftwareSettings,
    SoftwareTask,
    advance,
    recorded_evaluator,
)
from archloom.space.design_space.presets import preset
from archloom.space.fusion.plan import FusionPlan, layer_by_layer
from archloom.space.hardware.hardware import pass_batch
from archloom.space.networks.registry import network
from archloom.space.workload.layer_builders import conv2d
from archloom.space.workload.network import Network

from ...cases.designs import several
from ...cases.mapped_plans import EDGE, PLANS, THREE, TINY, Draws
from ...cases.small_designs import three_levels, two_levels


def exact() -> Mapper:
    return Mapper(ExactMapping(), 10**7, 1)


def proven(name: str) -> ProvenPlan:
    net, hardware, plan = PLANS[name]
    return proven_plan(MemoizedPlanEvaluator(net, hardware, exact()), plan, exact())


def cost_with(name: str, mapper: ProblemMapper) -> NetworkCost:
    net, hardware, plan = PLANS[name]
    cost = MemoizedPlanEvaluator(net, hardware, mapper).plan(plan)
    assert isinstance(cost, NetworkCost)
    return cost


def edp(cost: NetworkCost) -> float:
    return cost.energy_pj * cost.latency_cycles


def rounding_pj(cost: NetworkCost) -> float:
    """Return what rounding may do to the energy of a plan (lemma 4 of bounds_proofs.md)."""
    tiles = sum(times for g in cost.groups for s in g.layers for times, _ in s.evaluations)
    return (tiles + 1) * evaluation_pj(len(cost.hardware.levels))


@pytest.mark.parametrize("name", PLANS)
def test_no_choice_of_mappings_goes_below_the_bound(name: str) -> None:
    found = proven(name)
    rng = np.random.default_rng(7)
    others = [edp(cost_with(name, Draws(rng))) for _ in range(40)]
    assert 0 < found.least <= edp(found.cost)
    assert edp(found.cost) <= min(others) * (1 + 1e-9)
    assert edp(found.cost) <= edp(cost_with(name, exact()))


@pytest.mark.parametrize("name", PLANS)
def test_no_mappings_go_below_any_line(name: str) -> None:
    """At prices far from what a cycle of the plan is worth, too; where a line touches, it is
    exact for plans that never wait."""
    net, hardware, plan = PLANS[name]
    rng = np.random.default_rng(8)
    others = [cost_with(name, Draws(rng)) for _ in range(20)]
    lines = _Lines(MemoizedPlanEvaluator(net, hardware, exact()), plan, exact())
    middle = others[0].energy_pj / others[0].latency_cycles
    for scale in (0.0, 0.01, 0.3, 1.0, 3.0, 200.0):
        line = lines.add(scale * middle)
        best = cost_with(name, Chosen(exact(), line.chosen))
        for cost in (*others, best):
            priced = cost.energy_pj + line.price * cost.latency_cycles
            assert line.least <= priced * (1 + 1e-9) + rounding_pj(cost)
        touched = line.energy_pj + line.price * line.cycles
        assert line.least == pytest.approx(touched, rel=1e-9, abs=rounding_pj(best))
        assert line.energy_pj <= best.energy_pj + rounding_pj(best)
        assert line.cycles <= best.latency_cycles
        if name in ("layer by layer", "with vector operators"):
            assert line.cycles == best.latency_cycles
            assert line.energy_pj == pytest.approx(best.energy_pj, abs=rounding_pj(best))
    assert lines.least().edp <= min(map(edp, others)) * (1 + 1e-9)


@pytest.mark.parametrize("name", ["layer by layer", "with vector operators", "on four cores"])
def test_plans_that_never_wait_are_proven(name: str) -> None:
    found = proven(name)
    if name != "on four cores":
        assert found.least == edp(found.cost)
        assert mapping_gaps(found.cost, found.least).plan_percent == 0
    # what the mappings prove one by one is less
    assert found.least >= edp(found.cost) / (1 + mapping_gaps(found.cost).plan_percent / 100)


def drawn(rng: np.random.Generator) -> Network:
    """Return three convolutions one after another, of random channels and kernels."""
    size, channels = int(rng.choice([4, 6, 8])), [int(c) for c in rng.choice([2, 3, 4, 6, 8], 4)]
    kernels = [int(k) for k in rng.choice([1, 3], 3)]
    layers = tuple(
        conv2d(f"c{i}", *channels[i : i + 2], size, kernel, 1, kernel // 2)
        for i, kernel in enumerate(kernels)
    )
    return Network("drawn", layers, (("input",), ("c0",), ("c1",)))


@pytest.mark.parametrize("seed", range(30))
def test_it_is_the_least_of_all_combinations(seed: int) -> None:
    """Of all mappings on the fronts of energy against latency of two or three layers."""
    rng = np.random.default_rng(seed)
    net = drawn(rng)
    hardware = two_levels(int(rng.choice([16, 32]))) if seed % 2 else three_levels()
    problems = [MappingProblem.of_layer(layer, hardware) for layer in net.layers]
    leaking = problems[0].setup.leakage_pj
    totals = []
    for problem in {one.key: one for one in problems}.values():
        times = sum(one.key == problem.key for one in problems)
        points = front(problem, 10**7)
        assert points.proven
        costs = [mapped_cost(problem, point.mapping) for point in points.points]
        totals.append([(times * c.dynamic_pj, times * c.latency_cycles) for c in costs])
    sums = [tuple(map(sum, zip(*chosen, strict=True))) for chosen in product(*totals)]
    best = min((pj + leaking * cycles) * cycles for pj, cycles in sums)
    start = MemoizedPlanEvaluator(net, hardware, exact())
    found = proven_plan(start, layer_by_layer(net), exact())
    slack = rounding_pj(found.cost) * found.cost.latency_cycles
    assert edp(found.cost) == pytest.approx(best, abs=slack)
    assert found.least == edp(found.cost)


def test_mappings_that_each_are_best_may_not_be_best_together() -> None:
    """A case in which the search changes something, and hardly proves anything one by one."""
    eyeriss, net = preset("eyeriss"), network("mobilenetv2")
    net = net.with_batch(pass_batch(net, eyeriss))
    start = MemoizedPlanEvaluator(net, eyeriss, Mapper(ExactMapping(), 10**5, 1))
    before = start.plan(layer_by_layer(net))
    assert isinstance(before, NetworkCost)
    found = proven_plan(start, before.plan, Mapper(ExactMapping(), 10**5, 1))
    assert edp(found.cost) < edp(before) * (1 - 1e-6)
    assert mapping_gaps(before).plan_percent > 2
    assert mapping_gaps(found.cost, found.least).plan_percent < 1


def test_a_trial_with_a_proof_records_what_it_costs() -> None:
    nets = (network("tiny_cnn"), TINY)
    settings = SoftwareSettings(fusion="none", mapping="exact", factors="exact")
    plain = advance(SoftwareTask(EDGE, nets, settings, 3), None, 1)
    better = advance(SoftwareTask(EDGE, nets, replace(settings, prove_mappings=10**6), 3), None, 1)
    for net in nets:
        one, other = better.networks[net.name], plain.networks[net.name]
        assert one.edp_js <= other.edp_js
        assert other.least_edp_js() < one.least_edp_js() == one.edp_js
        again = recorded_evaluator(EDGE, net, one.mappings, "exact", one.gaps)
        cost = again.plan(FusionPlan.from_list(one.plan))
        assert isinstance(cost, NetworkCost)
        assert (cost.energy_pj, cost.latency_cycles) == (one.energy_pj, one.latency_cycles)
        assert one.baseline_edp_js == one.edp_js
    mean = log(prod(one.edp_js for one in better.networks.values())) / len(nets)
    assert log(better.curve.edp[-1]) == pytest.approx(mean, rel=1e-12)
    assert better.curve.edp[-1] <= plain.curve.edp[-1] * (1 + 1e-12)


def test_fused_trials_are_proven_too() -> None:
    settings = SoftwareSettings(mapping="exact", factors="exact", prove_mappings=10**6)
    for hardware in (EDGE, several((2, 2))):
        plain = advance(
            SoftwareTask(hardware, (TINY,), replace(settings, prove_mappings=0), 3), None, 6
        )
        found = advance(SoftwareTask(hardware, (TINY,), settings, 3), None, 6)
        one, other = found.networks["tiny_mobile"], plain.networks["tiny_mobile"]
        assert one.edp_js <= other.edp_js
        assert one.least_edp_js() >= other.least_edp_js()


def test_unproven_mappings_leave_a_gap() -> None:
    """With few evaluations and factors of any size little is proven, and the bound says so."""
    settings = SoftwareSettings(fusion="none", mapping="local", mapping_evaluations=60)
    few = advance(SoftwareTask(EDGE, (TINY,), replace(settings, prove_mappings=60), 3), None, 1)
    one = few.networks["tiny_mobile"]
    best = SoftwareSettings(fusion="none", mapping="exact", prove_mappings=10**6)
    known = advance(SoftwareTask(EDGE, (TINY,), best, 3), None, 1).networks["tiny_mobile"]
    assert one.least_edp_js() < one.edp_js
    assert one.least_edp_js() <= known.edp_js <= one.edp_js


def test_a_problem_with_a_price_is_another_problem() -> None:
    plain = MappingProblem.of_layer(THREE.layers[0], EDGE)
    priced = replace(plain, cycle_pj=2.5)
    assert plain.key != priced.key
    assert priced.setup.leakage_pj == plain.setup.leakage_pj + 2.5
    with pytest.raises(ValueError, match="cycle_pj must be a number from 0"):
        replace(plain, cycle_pj=-1.0)
    with pytest.raises(ValueError, match="prove_mappings is -1, must be at least 0"):
        SoftwareSettings(prove_mappings=-1)
