"""Borders of plans: what two neighbours would cost, or lack, as one group."""

from archloom.evaluators.fusion.plan import NetworkCost
from archloom.search.fusion.nest import NestFacts, best_nests
from archloom.space import Infeasible
from archloom.space.fusion import FusionGroup, FusionPlan, layer_by_layer
from archloom.studies.solve.borders import plan_borders

from ...cases.small_designs import casco_edge, chain, cheap_evaluator, three_levels


def edp(cost: NetworkCost | Infeasible) -> float:
    assert isinstance(cost, NetworkCost)
    return cost.edp_js


def test_borders_have_the_price_of_the_plan_with_one_group_more() -> None:
    price = cheap_evaluator(chain(3, size=32), casco_edge(32, pe_x=4, pe_y=4))
    plan = layer_by_layer(price.network)
    borders = plan_borders(price, plan)
    assert [(border.before, border.after) for border in borders] == [((0,), (1,)), ((1,), (2,))]
    for border in borders:
        layers = (*border.before, *border.after)
        tiled = price.tiling(layers)
        assert isinstance(tiled, FusionGroup)
        nests = best_nests(NestFacts(price.network, layers, price.hardware))
        rest = [other for other in plan.groups if other.layers[0] not in layers]
        joined = [
            FusionPlan(tuple(sorted((*rest, group), key=lambda some: some.layers)))
            for group in (tiled, FusionGroup(layers, nest=nests[0].nest))
        ]
        least = min(edp(price.plan(other)) for other in joined)
        assert border.why == least / edp(price.plan(plan))


def test_borders_of_one_kind_are_looked_at_once() -> None:
    price = cheap_evaluator(chain(6, size=8), casco_edge(32, pe_x=4, pe_y=4))
    borders = plan_borders(price, layer_by_layer(price.network))
    assert sum(1 + border.alike for border in borders) == 5
    assert len(borders) == 2


def test_what_does_not_fit_is_said_with_amounts() -> None:
    price = cheap_evaluator(chain(2, size=64, channels=64), three_levels(1024))
    (border,) = plan_borders(price, layer_by_layer(price.network))
    assert isinstance(border.why, Infeasible)
    assert border.why.reason == "glb_overflow"
    assert border.why.needed > border.why.available == 1024
