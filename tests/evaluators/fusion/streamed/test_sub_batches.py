"""Sub-batches: a plan in parts costs its parts, and weights that are loaded once come once."""

from dataclasses import replace
from math import ceil

import pytest

from archloom.evaluators.fusion import NetworkCost, network_cost
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.space.errors import Infeasible
from archloom.space.fusion.plan import (
    FusionGroup,
    FusionPlan,
    Pin,
    layer_by_layer,
    plan_violations,
)

from ....cases.designs import edge
from ....cases.mappers import BufferMapper
from ....cases.small_designs import chain

BATCH = 8
NET = chain(3).with_batch(BATCH)
ROOMY = edge(1 << 20)


def evaluator(net=NET):
    return MemoizedPlanEvaluator(net, ROOMY, BufferMapper())


def cost_of(plan, net=NET):
    assert plan_violations(net, plan) == []
    cost = evaluator(net).plan(plan)
    assert isinstance(cost, NetworkCost)
    return cost


def plan_in(parts, pinned=True, once=(), steady=()):
    """A group for each layer of the chain, each result kept for the next one."""
    return FusionPlan(
        tuple(
            FusionGroup(
                (i,),
                pins=(Pin(i, i + 1),) if pinned and i < 2 else (),
                steady=(i,) if i in steady else (),
                sub_batches=parts,
                loaded_once=(i,) if i in once else (),
            )
            for i in range(3)
        )
    )


@pytest.mark.parametrize("parts", [2, 4, 8])
@pytest.mark.parametrize("steady", [(), (0, 1, 2)])
def test_a_plan_in_parts_costs_so_many_runs_of_a_part(parts, steady):
    cost = cost_of(plan_in(parts, steady=steady))
    part = cost_of(plan_in(1, steady=steady), NET.with_batch(BATCH // parts))
    assert cost.latency_cycles == parts * part.latency_cycles
    assert cost.dram_reads == parts * part.dram_reads
    assert cost.dram_writes == parts * part.dram_writes
    assert sum(g.dynamic_pj for g in cost.groups) == parts * sum(g.dynamic_pj for g in part.groups)
    assert cost.one_part.energy_pj == part.energy_pj
    assert cost.network.batch == BATCH
    # EDP of an image, with the latency of the whole pass
    assert cost.edp_js == pytest.approx(parts * part.edp_js, rel=1e-6)
    # a part has that much less in the buffer
    kept = [g.residents.words for g in cost.groups]
    assert kept == [g.residents.words for g in part.groups]
    assert max(kept) < max(g.residents.words for g in cost_of(plan_in(1, steady=steady)).groups)


@pytest.mark.parametrize("parts", [1, 2, 4, 8])
def test_weights_that_are_loaded_once_come_once(parts):
    """Closed form: input, results and weights, each word once."""
    cost = cost_of(plan_in(parts, once=(0, 1, 2)))
    weights = sum(layer.weight_words for layer in NET.layers)
    assert cost.dram_reads == NET.layers[0].input_words + weights
    assert cost.dram_writes == NET.layers[-1].output_words
    again = cost_of(plan_in(parts))
    assert again.dram_reads == NET.layers[0].input_words + parts * weights
    # each group takes the longest of its own time, that of DRAM and that of the buffer's ports
    steady = cost_of(plan_in(1, steady=(0, 1, 2)), NET.with_batch(BATCH // parts))
    rate, port = (ROOMY.levels[i].bandwidth_words for i in (-1, -2))
    for whole, part, layer in zip(cost.groups, steady.groups, NET.layers, strict=True):
        moved = part.dram_reads + part.dram_writes + layer.weight_words
        through = int(part.layers[0].words[-2].sum()) + layer.weight_words
        first = max(part.latency_cycles, ceil(moved / rate), ceil(through / port))
        assert whole.latency_cycles == (parts - 1) * part.latency_cycles + first
        # a read of DRAM and a write of the buffer for each word more
        extra = whole.dynamic_pj - parts * part.dynamic_pj
        assert extra > 0
    assert {g.residents.words for g in cost.groups} >= {
        weights + NET.layers[0].output_words // parts
    }


def test_the_load_shows_where_dram_is_the_bottleneck():
    slow = replace(ROOMY.levels[-1], bandwidth_words=1 / 4096)
    hardware = replace(ROOMY, levels=(*ROOMY.levels[:-1], slow))
    pricer = MemoizedPlanEvaluator(NET, hardware, BufferMapper())
    once, steady = (
        pricer.plan(plan_in(4, **kind)) for kind in ({"once": (0, 1, 2)}, {"steady": (0, 1, 2)})
    )
    assert isinstance(once, NetworkCost)
    assert isinstance(steady, NetworkCost)
    late = once.groups[1].latency_cycles - steady.groups[1].latency_cycles
    busy = steady.groups[1].latency_cycles // 4
    assert late == 4096 * NET.layers[1].weight_words - busy > 0


def test_a_plan_without_parts_is_as_it_was():
    plan = plan_in(1, steady=(1,))
    assert all(not {"sub_batches", "loaded_once"} & data.keys() for data in plan.to_list())
    assert all(group.part is None for group in cost_of(plan).groups)


def test_a_record_of_a_plan_has_its_parts():
    plan = plan_in(4, once=(0, 2))
    again = FusionPlan.from_list(plan.to_list())
    assert again == plan
    assert again.sub_batches == 4
    assert cost_of(again).energy_pj == cost_of(plan).energy_pj


def test_groups_of_a_kind_share_a_cost_only_if_they_load_alike():
    """Layers 0 and 2 of the chain are alike; what differs is who loads weights, and how often."""
    pricer = evaluator()
    for once in ((), (0,), (2,), (0, 2)):
        for parts in (2, 4):
            plan = plan_in(parts, pinned=False, once=once)
            found, fresh = pricer.plan(plan), cost_of(plan)
            assert isinstance(found, NetworkCost)
            assert found.dram_reads == fresh.dram_reads
            assert found.energy_pj == fresh.energy_pj
            assert [g.part and g.part.group for g in found.groups] == [
                g.group.one_part for g in found.groups
            ]


def test_mistakes_in_plans():
    mixed = FusionPlan((*plan_in(2).groups[:2], *plan_in(4).groups[2:]))
    assert plan_violations(NET, mixed) == ["sub_batches must be the same in all groups, got 2, 4"]
    uneven = layer_by_layer(NET)
    uneven = FusionPlan(tuple(replace(group, sub_batches=3) for group in uneven.groups))
    assert plan_violations(NET, uneven) == [
        "sub_batches is 3, must divide the batch of 8 images: 1, 2, 4, 8"
    ]
    cost = evaluator().plan(uneven)
    assert isinstance(cost, Infeasible)
    assert cost.reason == "uneven_sub_batches"
    fused = FusionPlan((FusionGroup((0, 1, 2), sub_batches=2, loaded_once=(1,)),))
    assert (
        "streams only" in plan_violations(NET, fused)[0]
        or "stream only" in (plan_violations(NET, fused)[0])
    )
    with pytest.raises(ValueError, match="in groups that stream only"):
        FusionGroup((0,), (2, 2), loaded_once=(0,))
    with pytest.raises(ValueError, match="steady or loaded once"):
        FusionGroup((0,), steady=(0,), loaded_once=(0,))
    with pytest.raises(ValueError, match="must be at least 1"):
        FusionGroup((0,), sub_batches=0)


def test_tiles_and_nests_run_in_parts_as_well():
    """Groups that hold their maps in the buffer: two layers in tiles, resident weights."""
    net = chain(2).with_batch(4)
    group = FusionGroup((0, 1), (4, 4), "keep_all", (0, 1))
    whole, parts = (cost_of(FusionPlan((replace(group, sub_batches=k),)), net) for k in (1, 4))
    one = cost_of(FusionPlan((group,)), net.with_batch(1))
    assert parts.latency_cycles == 4 * one.latency_cycles
    assert parts.dram_reads - whole.dram_reads == 3 * sum(la.weight_words for la in net.layers)


def test_the_cost_of_a_network_is_asked_for_once_for_each_group():
    asked = []

    def evaluate(group, residents):
        asked.append((group, residents))
        return evaluator().group(group, residents)

    cost = network_cost(NET, plan_in(2), ROOMY, evaluate)
    assert isinstance(cost, NetworkCost)
    assert [group for group, _ in asked] == list(plan_in(2).groups)
