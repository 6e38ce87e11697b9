"""Prices with memos: they must be the prices without them."""

from math import exp, inf, log

import pytest
from hypothesis import given, settings, strategies as st

from archloom.evaluators.fusion import group_cost
from archloom.evaluators.fusion.plan import NetworkCost, network_cost
from archloom.evaluators.loopnest.layer_cost import LayerCost
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.fusion.partition import repair, singletons
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.mapping.mapper import Mapper, RecordedMapper
from archloom.search.mapping.random_sampling import RandomMapping
from archloom.search.mapping.simd.searches import LocalMapping
from archloom.space.errors import Infeasible
from archloom.space.fusion.plan import FusionPlan, layer_by_layer, plan_violations
from archloom.space.networks.registry import network

from ...cases.small_designs import (
    casco_edge,
    chain,
    cheap_evaluator,
    conv,
    three_levels,
    two_levels,
)

SMALL = casco_edge(32, pe_x=4, pe_y=4)
REAL = network("mobilenetv2")


def mapper(evaluations: int = 50, seed: int = 5) -> Mapper:
    return Mapper(LocalMapping(), evaluations, seed)


def test_a_mapping_depends_on_its_problem_and_not_on_what_came_before() -> None:
    problems = [MappingProblem.of_layer(conv(size=s), SMALL) for s in (4, 8, 16)]
    ahead, back = mapper(), mapper()
    forwards = [ahead(p) for p in problems]
    backwards = [back(p) for p in reversed(problems)][::-1]
    for one, other in zip(forwards, backwards, strict=True):
        assert isinstance(one, LayerCost)
        assert isinstance(other, LayerCost)
        assert one.mapping == other.mapping
    assert ahead(problems[0]) is forwards[0]


def test_layers_that_differ_in_name_only_share_a_mapping() -> None:
    remember = mapper()
    one, other = (remember(MappingProblem.of_layer(conv(n), SMALL)) for n in ("a", "b"))
    assert one is other


def test_residency_and_free_words_are_part_of_a_problem() -> None:
    whole = MappingProblem.of_layer(conv(), SMALL)
    window = (whole.stride, whole.dilation, whole.padding, whole.input_size)
    staged = MappingProblem(whole.bounds, *window, SMALL, staged=(False, True, True))
    small = MappingProblem(whole.bounds, *window, SMALL, (False, True, True), free_words=8)
    assert len({p.key for p in (whole, staged, small)}) == 3


def test_more_effort_finds_no_worse_mappings() -> None:
    problem = MappingProblem.of_layer(conv(size=16, channels=16), SMALL)
    for search in (LocalMapping(), RandomMapping()):
        edp = []
        for evaluations in (10, 100, 1000):
            cost = Mapper(search, evaluations, seed=1)(problem)
            assert isinstance(cost, LayerCost)
            leak = problem.setup.leakage_pj * cost.latency_cycles
            edp.append((cost.dynamic_pj + leak) * cost.latency_cycles)
        assert edp == sorted(edp, reverse=True)


def test_recorded_mappings_price_a_plan_without_a_search() -> None:
    evaluator = MemoizedPlanEvaluator(network("tiny_cnn"), SMALL, mapper())
    plan = layer_by_layer(evaluator.network)
    mappings, _ = evaluator.record([plan])
    again = MemoizedPlanEvaluator(evaluator.network, SMALL, RecordedMapper(mappings))
    found, recorded = evaluator.plan(plan), again.plan(plan)
    assert isinstance(found, NetworkCost)
    assert isinstance(recorded, NetworkCost)
    assert recorded.energy_pj == found.energy_pj
    assert recorded.latency_cycles == found.latency_cycles
    with pytest.raises(ValueError, match="no mapping was recorded"):
        MemoizedPlanEvaluator(evaluator.network, SMALL, RecordedMapper({})).plan(plan)


def test_what_cannot_be_mapped_is_named_and_remembered() -> None:
    problem = MappingProblem.of_layer(conv(), three_levels(spad_bytes=(1, 4, 4), word_bits=16))
    remember = mapper()
    why = remember(problem)
    assert isinstance(why, Infeasible)
    assert why.reason == "no_mapping"
    assert "weights" in why.hint
    assert remember(problem) is why


@st.composite
def groupings(draw: st.DrawFn) -> list[tuple[int, ...]]:
    n = len(REAL.layers)
    cuts = sorted(draw(st.sets(st.integers(1, n - 1), max_size=12)))
    return [tuple(range(a, b)) for a, b in zip([0, *cuts], [*cuts, n], strict=True)]


EVALUATOR = cheap_evaluator(REAL, casco_edge(64), 20)


@settings(max_examples=6)
@given(groupings())
def test_a_priced_partition_is_valid_and_its_price_is_the_network_cost(
    groups: list[tuple[int, ...]],
) -> None:
    asked = repair(REAL, groups)
    valid, cost = EVALUATOR(asked)
    plan = EVALUATOR.plan_of(valid)
    assert plan_violations(REAL, plan) == []
    # what did not fit was cut, and nothing was joined
    assert all(any(set(g) <= set(a) for a in asked) for g in valid)
    # it is a fixed point, for the same price
    assert EVALUATOR(valid) == (valid, cost)
    fresh = mapper(20)
    priced = network_cost(
        REAL,
        plan,
        EVALUATOR.hardware,
        lambda g, residents: group_cost(REAL, g, EVALUATOR.hardware, fresh, residents),
    )
    assert isinstance(priced, NetworkCost)
    assert log(priced.edp_js) == cost


def test_a_group_that_fits_nowhere_is_cut_until_it_does() -> None:
    net = network("resnet18")
    evaluator = cheap_evaluator(net, three_levels(600), 5)
    whole = (tuple(range(len(net.layers))),)
    valid, cost = evaluator(whole)
    assert cost < inf
    assert len(valid) > 5
    assert plan_violations(net, evaluator.plan_of(valid)) == []


def test_without_a_shared_buffer_every_plan_is_layer_by_layer() -> None:
    net = network("tiny_cnn")
    evaluator = cheap_evaluator(net, two_levels(), 20)
    valid, cost = evaluator((tuple(range(len(net.layers))),))
    assert valid == singletons(net)
    base = evaluator.plan(layer_by_layer(net))
    assert isinstance(base, NetworkCost)
    assert exp(cost) == pytest.approx(base.edp_js)


def test_hardware_that_cannot_run_a_layer_has_no_price() -> None:
    net = network("tiny_cnn")
    evaluator = cheap_evaluator(net, three_levels(spad_bytes=(1, 4, 4), word_bits=16), 20)
    assert evaluator(singletons(net)) == (singletons(net), inf)
    assert isinstance(evaluator.plan(layer_by_layer(net)), Infeasible)


def test_a_plan_needs_groups_that_can_run_and_fit() -> None:
    net = chain(3)
    evaluator = cheap_evaluator(net, SMALL, 5)
    with pytest.raises(ValueError, match="wait for each other"):
        evaluator.plan_of(((0, 2), (1,)))
    evaluator = cheap_evaluator(net, three_levels(40), 5)
    with pytest.raises(ValueError, match="glb_overflow at glb"):
        evaluator.plan_of(((0, 1, 2),))


def test_the_layer_by_layer_plan_is_that_of_the_singletons() -> None:
    evaluator = MemoizedPlanEvaluator(REAL, casco_edge(), mapper(5))
    plan = evaluator.plan_of(singletons(REAL))
    assert plan == layer_by_layer(REAL)
    assert FusionPlan.from_list(plan.to_list()) == plan
