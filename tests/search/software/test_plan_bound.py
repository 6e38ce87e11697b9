"""The bound of a plan's EDP with any mappings, found without a search."""

import numpy as np
import pytest

from archloom.evaluators.bounds.gaps import mapping_gaps
from archloom.evaluators.fusion.plan import NetworkCost
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.mapping.auto import auto_mapping
from archloom.search.mapping.exact.search import ExactMapping
from archloom.search.mapping.mapper import Mapper
from archloom.search.software.plan_bound import _close, least_edp_of
from archloom.search.software.plan_tiles import Tile, cost_of, plan_tiles
from archloom.search.software.prove_mappings import proven_plan
from archloom.search.software.search import (
    SoftwareSettings,
    SoftwareTask,
    advance,
    recorded_evaluator,
)
from archloom.space.design_space.presets import preset
from archloom.space.fusion.plan import FusionPlan, layer_by_layer
from archloom.space.networks.registry import network

from ...cases.mapped_plans import EDGE, PLANS, TINY, Draws


def evaluator(name: str) -> tuple[MemoizedPlanEvaluator, FusionPlan]:
    net, hardware, plan = PLANS[name]
    mapper = Mapper(auto_mapping(), 100_000, 1, "imperfect")
    return MemoizedPlanEvaluator(net, hardware, mapper), plan


def _own(tile: Tile, due_pj: float) -> float:
    return tile.run.cost.dynamic_pj + due_pj * tile.run.cost.latency_cycles


def edp(cost: NetworkCost) -> float:
    return cost.energy_pj * cost.latency_cycles


@pytest.mark.parametrize("factors", ["exact", "imperfect"])
@pytest.mark.parametrize("name", PLANS)
def test_no_mappings_go_below_it(name: str, factors: str) -> None:
    found, plan = evaluator(name)
    rough, close = (least_edp_of(found, plan, closely) for closely in (False, True))
    assert 0 < rough <= close <= edp(cost_of(found, plan))
    rng = np.random.default_rng(11)
    net, hardware, _ = PLANS[name]
    for _ in range(30):
        other = MemoizedPlanEvaluator(net, hardware, Draws(rng, factors))
        assert close <= edp(cost_of(other, plan))


@pytest.mark.parametrize("name", PLANS)
def test_proven_mappings_are_above_it(name: str) -> None:
    """Where nothing is left to be found, what is not cut off at the plan's own EDP is no more."""
    net, hardware, plan = PLANS[name]
    mapper = Mapper(ExactMapping(), 10**7, 1)
    best = proven_plan(MemoizedPlanEvaluator(net, hardware, mapper), plan, mapper)
    found, _ = evaluator(name)
    for closely in (False, True):
        assert least_edp_of(found, plan, closely) <= edp(best.cost)
        assert least_edp_of(best.evaluator, plan, closely) <= best.least
    tiles = plan_tiles(best.evaluator, plan)
    price = best.cost.energy_pj / best.cost.latency_cycles
    for share in (0.01, 1.0, 100.0):
        line = tiles.line(share * price, _close)
        touched = best.cost.energy_pj + share * price * best.cost.latency_cycles
        assert line <= touched * (1 + 1e-9)


@pytest.mark.parametrize("name", PLANS)
def test_lines_are_below_what_a_plan_takes(name: str) -> None:
    """Tiles at their own costs add up to no more than the plan, which may wait besides."""
    found, plan = evaluator(name)
    tiles, cost = plan_tiles(found, plan), cost_of(found, plan)
    for price in (0.0, 1.0, 1e3):
        line = tiles.line(price, _own)
        assert line <= (cost.energy_pj + price * cost.latency_cycles) * (1 + 1e-6)
    assert tiles.least([(1.0, 0.0)]).edp <= edp(cost)


@pytest.mark.parametrize(("name", "preset_name"), [("resnet18", "tpu_v3"), ("alexnet", "eyeriss")])
def test_it_is_nearer_than_what_mappings_say_each_by_itself(name: str, preset_name: str) -> None:
    net, hardware = network(name), preset(preset_name)
    found = MemoizedPlanEvaluator(net, hardware, Mapper(auto_mapping(), 20_000, 1, "imperfect"))
    plan = layer_by_layer(net)
    cost = cost_of(found, plan)
    alone = mapping_gaps(cost).plan_percent
    gaps = [
        mapping_gaps(cost, least_edp_of(found, plan, closely)).plan_percent
        for closely in (False, True)
    ]
    assert gaps[1] < gaps[0] <= alone
    assert gaps[1] < 0.9 * alone


def test_a_trial_knows_the_bound_of_its_plan() -> None:
    settings = SoftwareSettings()
    found = advance(SoftwareTask(EDGE, (TINY,), settings, 3), None, 4).networks[TINY.name]
    known = recorded_evaluator(EDGE, TINY, found.mappings, settings.factors, found.gaps)
    plan = FusionPlan.from_list(found.plan)
    cost = cost_of(known, plan)
    ratio = edp(cost) / least_edp_of(known, plan)
    assert found.edp_js / found.least_edp_js() == pytest.approx(ratio, rel=1e-9)
    assert mapping_gaps(cost).plan_percent > 100 * (ratio - 1)
