"""Mappings that trade energy against latency, held against all sums over layers."""

from dataclasses import replace
from itertools import product

import pytest

from archloom.evaluators.fusion.plan import NetworkCost
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.mapping.exact.search import ExactMapping
from archloom.search.mapping.mapper import Mapper
from archloom.search.software.prove_mappings import ProvenPlan
from archloom.search.software.search import (
    SoftwareSettings,
    SoftwareTask,
    advance,
    recorded_evaluator,
)
from archloom.search.software.trade_offs import _PRICES, _SAME, _Plan, trade_offs
from archloom.space.fusion.plan import FusionPlan, layer_by_layer
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network
from archloom.space.workload.network import Network

from ...cases.mapped_plans import EDGE, THREE, TINY
from ...cases.small_designs import two_levels

CASES = {"edge": (TINY, EDGE), "two levels": (THREE, two_levels())}
SETTINGS = SoftwareSettings(fusion="none", mapping_evaluations=3000, trade_offs=True)


def exact() -> Mapper:
    return Mapper(ExactMapping(), 10**6, 1)


def searched(net: Network, hardware: Hardware) -> ProvenPlan:
    evaluator = MemoizedPlanEvaluator(net, hardware, exact())
    cost = evaluator.plan(layer_by_layer(net))
    assert isinstance(cost, NetworkCost)
    return ProvenPlan(evaluator, cost, 0.0)


@pytest.mark.parametrize("name", CASES)
def test_each_price_has_the_best_of_all_sums_of_known_mappings(name: str) -> None:
    net, hardware = CASES[name]
    found = searched(net, hardware)
    plan = _Plan(found, exact())
    keys = list(dict.fromkeys(choice.tile.problem.key for choice in plan._choices))
    known = {choice.tile.problem.key: choice.known for choice in plan._choices}
    assert max(map(len, known.values())) > 1
    some = keys[:10]
    ratio = found.cost.energy_pj / found.cost.latency_cycles
    base = plan.chosen(None)
    for price in _PRICES:
        chosen = plan.chosen(price)
        fixed = {key: chosen[key] for key in keys if key not in some}

        def value(each: dict, price: float = price) -> float:
            energy_pj, cycles = plan.sums(each)
            return energy_pj + price * ratio * cycles

        every = product(*(known[key] for key in some))
        least = min(value(fixed | dict(zip(some, combo, strict=True))) for combo in every)
        assert value(chosen) == pytest.approx(least, rel=1e-12)
        assert value(chosen) <= value(base) * (1 + 1e-12)


@pytest.mark.parametrize("name", CASES)
def test_plans_cost_what_their_sums_say_and_none_is_better_than_another(name: str) -> None:
    net, hardware = CASES[name]
    found = searched(net, hardware)
    plan = _Plan(found, exact())
    sums = {plan.sums(plan.chosen(price)) for price in _PRICES}
    others = trade_offs([found], exact())
    points = [(one.cost.energy_pj, one.cost.latency_cycles) for (one,) in others]
    assert points == sorted(points, key=lambda point: point[1])
    for energy_pj, cycles in points:
        assert any(energy_pj == pytest.approx(e, rel=1e-8) and cycles == c for e, c in sums)
    every = [(found.cost.energy_pj, found.cost.latency_cycles), *points]
    for a, b in product(points, every):
        assert a is b or a[0] < b[0] or a[1] < b[1]
        # nor nearly the same
        assert a is b or max(abs(x / y - 1) for x, y in zip(a, b, strict=True)) > _SAME / 2


def test_a_trial_keeps_its_plan_and_adds_others_that_records_tell_again() -> None:
    nets = (network("tiny_cnn"), TINY)
    task = SoftwareTask(EDGE, nets, SETTINGS, 3)
    plain = advance(replace(task, settings=replace(SETTINGS, trade_offs=False)), None, 1)
    found = advance(task, None, 1)
    assert replace(found, trade_offs=()) == plain
    assert plain.trade_offs == ()
    assert found.trade_offs
    assert any(
        other[net.name].energy_pj < found.networks[net.name].energy_pj
        for other in found.trade_offs
        for net in nets
    )
    for other in found.trade_offs:
        assert list(other) == [net.name for net in nets]
        for net in nets:
            one = other[net.name]
            told = recorded_evaluator(EDGE, net, one.mappings, "imperfect", one.gaps)
            cost = told.plan(FusionPlan.from_list(one.plan))
            assert isinstance(cost, NetworkCost)
            assert (cost.energy_pj, cost.latency_cycles) == (one.energy_pj, one.latency_cycles)
            assert one.costs() is not None
