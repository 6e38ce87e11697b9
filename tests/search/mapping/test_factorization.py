"""The three ways to search factors: exact, padded, imperfect."""

from dataclasses import replace
from math import prod

import pytest

from archloom.evaluators.bounds.compulsory import energy_bound_pj, latency_bound_cycles
from archloom.evaluators.fusion.plan import NetworkCost
from archloom.evaluators.loopnest.layer_cost import LayerCost, mapped_cost
from archloom.evaluators.loopnest.padding import padded_bounds
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.mapping.factorization import FACTORS, nest_of, nests, objective, shares
from archloom.search.mapping.mapper import Mapper, RecordedMapper
from archloom.search.mapping.simd.searches import LocalMapping
from archloom.search.software.search import (
    SoftwareSettings,
    SoftwareTask,
    advance,
    recorded_evaluator,
)
from archloom.space.fusion.plan import FusionPlan, layer_by_layer
from archloom.space.networks.registry import network
from archloom.space.workload.dims import C, K
from archloom.space.workload.layer import Layer
from archloom.space.workload.network import INPUT, Network

from ...cases.small_designs import casco_edge, conv
from ...oracles.mapping_rules import mapping_violations

CHIP = casco_edge(64, pe_x=14, pe_y=12)
PRIME = Layer("fc", "gemm", k=1009, c=61, p=7, input_size=(7, 1))
ODD = Network("odd", (conv("a", 13, 17), conv("b", 13, 17)), ((INPUT,), ("a",)))


def found(layer: Layer, factors: str, evaluations: int = 1200) -> LayerCost:
    problem = MappingProblem.of_layer(layer, CHIP)
    cost = Mapper(LocalMapping(), evaluations, 3, factors)(problem)
    assert isinstance(cost, LayerCost)
    return cost


def edp(layer: Layer, cost: LayerCost) -> float:
    return objective(MappingProblem.of_layer(layer, CHIP), cost)


def test_one_nest_is_searched_unless_padding_gives_another() -> None:
    even = MappingProblem.of_layer(conv(size=14, channels=168), CHIP)
    assert padded_bounds(even) == even.bounds
    prime = MappingProblem.of_layer(PRIME, CHIP)
    padded = padded_bounds(prime)
    for factors in FACTORS:
        assert nests(even, factors) == (even,)
    assert nests(prime, "exact") == (prime,)
    assert nests(prime, "padded") == (replace(prime, bounds=padded),)
    assert nests(prime, "imperfect") == (prime, replace(prime, loop_bounds=padded))
    assert [shares(5, 1), shares(5, 2), shares(1, 2)] == [[5], [3, 2], [1, 0]]


def test_a_prime_no_longer_empties_the_mesh() -> None:
    exact, padded, imperfect = (found(PRIME, factors) for factors in FACTORS)
    loops = padded_bounds(MappingProblem.of_layer(PRIME, CHIP))
    assert (loops[K], loops[C]) == (1056, 63)
    for cost in (padded, imperfect):
        assert edp(PRIME, cost) < edp(PRIME, exact) / 4
        assert cost.chip_cycles < exact.chip_cycles / 4
    assert exact.operations == imperfect.operations == PRIME.macs
    assert padded.operations == prod(loops)
    assert imperfect.mapping is not None
    assert mapping_violations(imperfect.mapping, PRIME, CHIP) == []


@pytest.mark.parametrize("evaluations", [1, 200])
def test_imperfect_is_no_worse_than_the_same_effort_on_exact_factors(evaluations: int) -> None:
    for layer in (conv(size=13, channels=17), conv(size=7, channels=11), PRIME):
        exact, imperfect = (found(layer, f, evaluations) for f in ("exact", "imperfect"))
        assert edp(layer, imperfect) <= edp(layer, exact)


@pytest.mark.parametrize("factors", FACTORS)
def test_recorded_mappings_have_the_price_that_they_were_found_with(factors: str) -> None:
    evaluator = MemoizedPlanEvaluator(ODD, CHIP, Mapper(LocalMapping(), 100, 3, factors))
    plan = layer_by_layer(ODD)
    mappings, _ = evaluator.record([plan])
    again = MemoizedPlanEvaluator(ODD, CHIP, RecordedMapper(mappings, factors))
    one, other = evaluator.plan(plan), again.plan(plan)
    assert isinstance(one, NetworkCost)
    assert isinstance(other, NetworkCost)
    assert (one.energy_pj, one.latency_cycles) == (other.energy_pj, other.latency_cycles)
    assert one.energy_pj >= energy_bound_pj(ODD, CHIP)
    assert one.latency_cycles >= latency_bound_cycles(ODD, CHIP)
    if factors == "padded":
        with pytest.raises(ValueError, match="mapping covers"):
            MemoizedPlanEvaluator(ODD, CHIP, RecordedMapper(mappings, "exact")).plan(plan)


def test_the_problem_of_a_recorded_mapping_follows_from_its_factors() -> None:
    problem = MappingProblem.of_layer(PRIME, CHIP)
    covered = padded_bounds(problem)
    assert nest_of(problem, problem.bounds, "exact") is problem
    assert nest_of(problem, covered, "padded").bounds == covered
    assert nest_of(problem, covered, "imperfect").loop_bounds == covered
    exact = found(PRIME, "exact", 50)
    assert exact.mapping is not None
    for factors in FACTORS:
        cost = mapped_cost(nest_of(problem, exact.mapping.factors, factors), exact.mapping)
        assert cost.energy_pj.tolist() == exact.energy_pj.tolist()


@pytest.mark.parametrize("factors", FACTORS)
def test_the_setting_reaches_the_mappings_of_a_trial(factors: str) -> None:
    settings = SoftwareSettings("casco", 4, "local", 60, factors)
    result = advance(SoftwareTask(CHIP, (network("tiny_cnn"),), settings, 7), None, 6)
    best = result.networks["tiny_cnn"]
    evaluator = recorded_evaluator(CHIP, network("tiny_cnn"), best.mappings, factors)
    cost = evaluator.plan(FusionPlan.from_list(best.plan))
    assert isinstance(cost, NetworkCost)
    assert (cost.energy_pj, cost.latency_cycles) == (best.energy_pj, best.latency_cycles)


def test_trials_are_mapped_with_factors_of_any_size_unless_they_say_otherwise() -> None:
    assert SoftwareSettings().factors == "imperfect"
    task = SoftwareTask(CHIP, (ODD,), SoftwareSettings("none"), 7)
    exact = replace(task, settings=SoftwareSettings("none", factors="exact"))
    best, other = (advance(t, None, 1).networks["odd"].edp_js for t in (task, exact))
    assert best < other


def test_unknown_factors_are_refused() -> None:
    with pytest.raises(
        ValueError, match="factors is 'padd', must be one of exact, padded, imperfect"
    ):
        SoftwareSettings(factors="padd")
