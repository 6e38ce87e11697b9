"""Plans beside a plan: joins, cuts and layers that change sides."""

from itertools import permutations

import pytest

from archloom.search.fusion.joint.neighbours import (
    Regrouping,
    all_moves,
    better_neighbours,
    joins,
    regrouped,
    ways,
)
from archloom.search.fusion.joint.planner import JointPlanner
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator, ln_edp
from archloom.space.fusion.plan import FusionGroup, FusionPlan, Pin, layer_by_layer, plan_violations
from archloom.space.fusion.running_order import group_order
from archloom.space.workload.network import Network

from ....cases.small_designs import casco_edge, cheap_evaluator, graph
from ....cases.small_graphs import SMALL

NETWORKS = {name: SMALL[name] for name in ("wide chain", "diamond", "two heads", "residual")}


def evaluator(net: Network) -> MemoizedPlanEvaluator:
    return cheap_evaluator(net, casco_edge(32, pe_x=4, pe_y=4))


def descended(price: MemoizedPlanEvaluator, plan: FusionPlan) -> dict[FusionPlan, float]:
    """Return the ln EDP of all plans that are looked at from a plan."""
    costs = {plan: ln_edp(price, plan)}
    for other in better_neighbours(price, costs):
        assert other not in costs, "a plan is priced once"
        costs[other] = ln_edp(price, other)
    return costs


@pytest.mark.parametrize("name", NETWORKS)
def test_joins_are_all_two_groups_that_can_be_one(name: str) -> None:
    net = NETWORKS[name]
    plan = layer_by_layer(net)
    groups = [group.layers for group in plan.groups]
    can = set()
    for before, after in permutations(groups, 2):
        rest = [layers for layers in groups if layers not in (before, after)]
        reads = set(net.producers[after[0]]) & set(before)
        if reads and group_order(net, [*rest, tuple(sorted((*before, *after)))]) is not None:
            can.add((before, after))
    found = joins(net, plan)
    assert {(move.old[0].layers, move.old[1].layers) for move in found} == can
    assert len(found) == len(can)


@pytest.mark.parametrize("name", NETWORKS)
def test_what_is_regrouped_is_a_plan(name: str) -> None:
    """From the planner's best: every layer once, in an order that runs, its pins kept where their
    readers are in other groups."""
    price = evaluator(NETWORKS[name])
    planner = JointPlanner(price)
    best = planner.advance(planner.start(0), 5).best
    net, moves = price.network, all_moves(price.network, best)
    assert len(set(moves)) == len(moves)
    pins = {pin.layer for group in best.groups for pin in group.pins}
    for move in moves:
        for groups in ways(price, move):
            plans = list(regrouped(net, best, move, groups))
            for plan in plans:
                assert not plan_violations(net, plan)
                owner = {i: group for group in plan.groups for i in group.layers}
                inside = {i for i in pins if set(net.consumers[i]) <= set(owner[i].layers)}
                kept = {pin.layer for group in plan.groups for pin in group.pins}
                own = set() if plan is plans[0] else set(move.layers)
                assert kept == pins - inside - own


def test_groups_are_joined_where_that_pays_and_cut_where_not() -> None:
    price = evaluator(NETWORKS["wide chain"])
    net = price.network
    apart = descended(price, layer_by_layer(net))
    best = min(apart, key=apart.__getitem__)
    assert any(len(group.layers) > 1 for group in best.groups)
    assert apart[best] < apart[layer_by_layer(net)]
    # from a plan with one group of all
    whole = price.tiling(tuple(range(len(net.layers))))
    assert isinstance(whole, FusionGroup)
    together = descended(price, FusionPlan((whole,)))
    assert min(together.values()) == pytest.approx(apart[best], abs=0.02)


@pytest.mark.parametrize("name", NETWORKS)
def test_no_neighbour_of_the_last_plan_is_better(name: str) -> None:
    price = evaluator(NETWORKS[name])
    planner = JointPlanner(price)
    state = planner.advance(planner.start(0), 2000)
    assert state.evaluations < 2000
    for move in all_moves(price.network, state.best):
        for groups in ways(price, move):
            for other in regrouped(price.network, state.best, move, groups):
                assert ln_edp(price, other) >= state.history[-1] - 1e-9


def test_one_group_runs_where_the_pins_of_others_stay_short() -> None:
    net = graph([(-1,), (0,), (1,), (0,), (2, 3)], size=16)
    first, *others = layer_by_layer(net).groups
    pinned = FusionGroup((0,), pins=(Pin(0, 3),))
    plan = FusionPlan((pinned, *others))
    move = Regrouping((others[2], others[3]), ((3, 4),))
    (joined,) = regrouped(net, plan, move, (FusionGroup((3, 4)),))
    assert [group.layers for group in joined.groups] == [(0,), (1,), (2,), (3, 4)]
    assert joined.groups[0] == pinned
    move = Regrouping((pinned, others[2]), ((0, 3),))
    both, *_ = regrouped(net, plan, move, (FusionGroup((0, 3)),))
    assert [group.layers for group in both.groups] == [(0, 3), (1,), (2,), (4,)]
    assert both.groups[0].pins == ()
    assert first.layers == (0,)
