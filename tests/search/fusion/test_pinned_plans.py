"""Plans that keep maps and weights in the buffer: prices with memos are the prices without."""

from dataclasses import replace

import numpy as np
import pytest

from archloom.evaluators.fusion import GroupCost, group_cost
from archloom.evaluators.fusion.plan import NetworkCost, network_cost
from archloom.evaluators.loopnest.layer_cost import LayerCost
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.mapping.mapper import Mapper, RecordedMapper
from archloom.search.mapping.random_sampling import RandomMapping
from archloom.space.errors import Infeasible
from archloom.space.fusion.plan import FusionGroup, FusionPlan, Pin, layer_by_layer, plan_violations
from archloom.space.fusion.residency import Residents
from archloom.space.networks.registry import network

from ...cases.designs import edge
from ...cases.mappers import BufferMapper
from ...cases.pinned_plans import random_plan
from ...cases.small_designs import chain
from ...cases.sweeps import sweep

REAL = network("mobilenetv2")
SIZES = (2048, 8192)
"""KiB of buffers in which some of the plans and all of them fit."""


def mapper() -> Mapper:
    return Mapper(RandomMapping(), 3, seed=5)


PRICERS = {kib: MemoizedPlanEvaluator(REAL, edge(kib << 10), mapper()) for kib in SIZES}
PLANS = [random_plan(REAL, np.random.default_rng(seed)) for seed in range(6)]


def one_by_one(plan: FusionPlan, evaluator: MemoizedPlanEvaluator) -> NetworkCost | Infeasible:
    fresh = mapper()
    return network_cost(
        REAL,
        plan,
        evaluator.hardware,
        lambda g, residents: group_cost(REAL, g, evaluator.hardware, fresh, residents),
    )


#: each plan with one size first, sizes taking turns
PRICED = [
    (SIZES[(number + turn) % 2], plan) for turn in range(2) for number, plan in enumerate(PLANS)
]


@pytest.mark.parametrize(("kib", "plan"), sweep(PRICED, len(PLANS)))
def test_a_plan_with_pins_costs_what_its_groups_cost_one_by_one(kib: int, plan: FusionPlan) -> None:
    assert plan_violations(REAL, plan) == []
    found, slow = PRICERS[kib].plan(plan), one_by_one(plan, PRICERS[kib])
    if isinstance(slow, Infeasible):
        assert found == slow
        return
    assert isinstance(found, NetworkCost)
    assert found.plan == plan
    for one, other in zip(found.groups, slow.groups, strict=True):
        assert one.residents == other.residents
        for name in ("latency_cycles", "dynamic_pj", "dram_reads", "dram_writes", "peak_words"):
            assert getattr(one, name) == getattr(other, name)
        assert one.prefetch == other.prefetch
        assert [s.layer for s in one.layers] == list(one.group.layers)


def test_some_of_those_plans_fit_and_what_does_not_says_which_maps_are_in_the_way() -> None:
    priced = {kib: [PRICERS[kib].plan(plan) for plan in PLANS] for kib in SIZES}
    fits = {kib: sum(isinstance(c, NetworkCost) for c in costs) for kib, costs in priced.items()}
    assert 1 <= fits[SIZES[0]] < fits[SIZES[1]] == len(PLANS)
    refused = [c for c in priced[SIZES[0]] if isinstance(c, Infeasible)]
    assert "pinned_overflow" in {c.reason for c in refused}


def counting(kib: int) -> tuple[MemoizedPlanEvaluator, list[str]]:
    """A evaluator, and the keys of the problems that it has asked to be mapped."""
    asked: list[str] = []
    inner = mapper()

    def remembered(problem: MappingProblem) -> LayerCost | Infeasible:
        asked.append(problem.key)
        return inner(problem)

    return MemoizedPlanEvaluator(CHAIN, edge(kib << 10), remembered), asked


CHAIN = chain(6, size=8, channels=4)


@pytest.mark.parametrize("group", [FusionGroup((2,)), FusionGroup((2, 3), (4, 8))])
def test_words_are_part_of_a_kind_only_as_far_as_they_matter(group: FusionGroup) -> None:
    evaluator, asked = counting(4)
    few = [evaluator.group(group, Residents((), (), (), words)) for words in (100, 101, 102)]
    once = len(asked)
    assert once == len(group.layers)
    (own,) = {c.peak_words - c.residents.words for c in few if isinstance(c, GroupCost)}
    # so many that less is left than what streams
    for left in (100, 101):
        cost = evaluator.group(group, Residents((), (), (), 4096 - own - left))
        assert isinstance(cost, GroupCost)
        assert cost.peak_words == 4096 - left
    assert len(asked) == 2 * once
    assert len(set(asked)) == once + 1
    full = evaluator.group(group, Residents((), (), (), 4097))
    assert isinstance(full, Infeasible)
    assert full.reason == "pinned_overflow"


def test_groups_of_a_kind_that_are_placed_otherwise_are_priced_on_their_own() -> None:
    evaluator = MemoizedPlanEvaluator(CHAIN, edge(64 << 10), BufferMapper())
    resident_members = (
        Residents((), (), (), 256),
        Residents((1,), (), (), 256),
        Residents((), (2,), (), 256),
        Residents((), (2,), (2,), 256),
    )
    costs = [evaluator.group(FusionGroup((2,)), residents) for residents in resident_members]
    steady = evaluator.group(FusionGroup((2,), steady=(2,)), Residents((), (), (), 256))
    words = [(c.dram_reads, c.dram_writes) for c in (*costs, steady) if isinstance(c, GroupCost)]
    weights, maps = 4 * 4, 4 * 64
    assert words == [
        (weights + maps, maps),
        (weights, maps),
        (weights + maps, maps),
        (weights + maps, 0),
        (maps, maps),
    ]


def test_recorded_mappings_price_a_plan_with_pins() -> None:
    groups = [FusionGroup((i,)) for i in range(6)]
    groups[1] = replace(groups[1], pins=(Pin(1, 2),), steady=(1,))
    groups[3:5] = [FusionGroup((3, 4), (4, 8), pins=(Pin(4, 5),))]
    plan = FusionPlan(tuple(groups))
    evaluator = MemoizedPlanEvaluator(CHAIN, edge(4 << 10), mapper())
    found = evaluator.plan(plan)
    mappings, gaps = evaluator.record([plan, layer_by_layer(CHAIN)])
    again = MemoizedPlanEvaluator(CHAIN, edge(4 << 10), RecordedMapper(mappings, "exact", gaps))
    recorded = again.plan(FusionPlan.from_list(plan.to_list()))
    assert isinstance(found, NetworkCost)
    assert isinstance(recorded, NetworkCost)
    assert recorded.energy_pj == found.energy_pj
    assert recorded.latency_cycles == found.latency_cycles
    assert isinstance(again.plan(layer_by_layer(CHAIN)), NetworkCost)
