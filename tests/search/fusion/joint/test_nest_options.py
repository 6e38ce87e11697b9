"""Plans with groups in loop nests: found where they are better, whole, and never worse."""

import json
from dataclasses import replace
from itertools import islice
from math import exp, inf

import pytest

from archloom.evaluators.bounds.network.plans import any_plan_bound
from archloom.evaluators.fusion.group import group_cost
from archloom.evaluators.fusion.group_share import GroupCost
from archloom.evaluators.loopnest.layer_cost import LayerCost
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.fusion.joint.nest_options import NestOptions
from archloom.search.fusion.joint.option_batch import listed
from archloom.search.fusion.joint.planner import candidate_plans
from archloom.search.fusion.nest.facts import NestFacts
from archloom.search.fusion.nest.nests import best_nests
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator, ln_edp
from archloom.search.mapping.mapper import Mapper
from archloom.search.registry import MAPPING_SEARCHES
from archloom.space.errors import Infeasible
from archloom.space.fusion.loop_nest import LoopNest, NestLoop
from archloom.space.fusion.plan import FusionGroup, FusionPlan, plan_violations
from archloom.space.fusion.residency import ALONE, Residents, plan_residents
from archloom.space.networks.transformers.llama import Decoder, prefill
from archloom.space.networks.transformers.transformer import Causal, Heads, SequenceBuilder
from archloom.space.workload.network import INPUT, Network

from ....cases.small_designs import three_levels
from ....cases.sweeps import sweep

HEADS = Heads(2, 8)


def attention(tokens: int = 64, sees: Causal | None = None) -> Network:
    """Two heads of 8 features, from maps that come from outside."""
    net = SequenceBuilder()
    queries, keys, values = (net.input(name, 16, tokens) for name in "qkv")
    scores = net.scores("scores", HEADS, queries, keys, sees=sees)
    net.weigh("weigh", HEADS, scores, values, sees=sees)
    return net.network("attention")


def blocks(count: int = 1, tokens: int = 16) -> Network:
    """Blocks of attention with projections, and a sum."""
    net, x = SequenceBuilder((16, tokens, 1)), INPUT
    for i in range(count):
        queries, keys, values = (net.linear(f"{n}{i}", x, 16, bias=False) for n in "qkv")
        scores = net.scores(f"scores{i}", HEADS, queries, keys)
        context = net.weigh(f"weigh{i}", HEADS, scores, values)
        x = net.sum(f"add{i}", x, net.linear(f"out{i}", context, 16, bias=False))
    return net.network("blocks")


def gated(tokens: int = 64) -> Network:
    """Two layers of 64 features, joined, and one that makes 16 of them, after a small chain."""
    net = SequenceBuilder((4, tokens, 1))
    x = INPUT
    for i in range(3):
        x = net.linear(f"before{i}", x, 4, bias=False)
    up, gate = (net.linear(name, x, 64, bias=False) for name in ("up", "gate"))
    net.linear("down", net.sum("join", up, gate), 16, bias=False)
    return net.network("gated")


def evaluator(network: Network, buffer_bytes: int) -> MemoizedPlanEvaluator:
    hardware = three_levels(buffer_bytes, (16, 16, 16))
    mapper = Mapper(MAPPING_SEARCHES["auto"](), 2000, seed=1)
    return MemoizedPlanEvaluator(network, hardware, mapper)


def found(price: MemoizedPlanEvaluator) -> list[tuple[float, FusionPlan]]:
    """Return plans that the joint planner evaluates, and their ln of energy x latency."""
    costs = dict[FusionPlan, float]()
    for plan in islice(candidate_plans(price, costs), 60):
        costs[plan] = ln_edp(price, plan)
    return [(cost, plan) for plan, cost in costs.items()]


def found_without(
    price: MemoizedPlanEvaluator, monkeypatch: pytest.MonkeyPatch
) -> list[tuple[float, FusionPlan]]:
    """Return the same where no nests are looked at."""
    with monkeypatch.context() as patch:
        patch.setattr(NestOptions, "of", lambda *_: listed([]))
        return found(price)


def least(plans: list[tuple[float, FusionPlan]]) -> tuple[float, FusionPlan]:
    return min(plans, key=lambda pair: pair[0])


def test_attention_with_a_small_buffer_runs_in_a_nest(monkeypatch: pytest.MonkeyPatch) -> None:
    cost, plan = least(found(evaluator(attention(), 1024)))
    assert [group.layers for group in plan.groups if group.nest] == [(0, 1, 2)]
    other, _ = least(found_without(evaluator(attention(), 1024), monkeypatch))
    assert exp(other - cost) > 1.3


CASES = {
    "attention": (attention(32), 512),
    "attention that fits": (attention(32), 4096),
    "a gate": (gated(32), 512),
    "a gate, more room": (gated(32), 2048),
    "a block": (blocks(), 512),
}


@pytest.mark.parametrize("name", sweep(CASES, sample=3))
def test_plans_with_nests_are_whole_and_none_the_worse(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing lies in the buffer beside a nest, nor is anything of it pinned; plans come back from
    JSON, and cost the same then."""
    network, words = CASES[name]
    price = evaluator(network, words)
    plans = found(price)
    for cost, plan in plans:
        assert plan_violations(network, plan) == []
        for group, residents in zip(plan.groups, plan_residents(network, plan), strict=True):
            if group.nest:
                assert residents == ALONE
                assert group.pins == group.steady == ()
        again = FusionPlan.from_list(json.loads(json.dumps(plan.to_list())))
        assert again == plan
        assert ln_edp(price, again) == cost < inf
    other, _ = least(found_without(evaluator(network, words), monkeypatch))
    assert least(plans)[0] <= other + 1e-12


def on_cores(network: Network, buffer_bytes: int) -> MemoizedPlanEvaluator:
    """Two cores, each with a buffer of its own."""
    spad, buffer, dram = three_levels(buffer_bytes, (16, 16, 16)).levels
    levels = (replace(spad, mesh=(4, 2)), replace(buffer, mesh=(2, 1)), dram)
    plain = three_levels(buffer_bytes, (16, 16, 16))
    hardware = replace(plain, pe_mesh=(4, 2), levels=levels, vector_lanes=4)
    mapper = Mapper(MAPPING_SEARCHES["auto"](), 2000, seed=1)
    return MemoizedPlanEvaluator(network, hardware, mapper)


def test_cores_share_out_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    network = attention()
    plans = found(on_cores(network, 1024))
    cost, plan = least(plans)
    (nested,) = [group for group in plan.groups if group.nest]
    assert nested.layers == (0, 1, 2)
    assert nested.nest is not None
    assert nested.nest.dealt
    other, _ = least(found_without(on_cores(network, 1024), monkeypatch))
    assert exp(other - cost) > 1.3
    assert all(plan_violations(network, plan) == [] for _, plan in plans)


@pytest.mark.parametrize("window", [0, 16])
def test_cores_take_tiles_in_turn_where_a_mask_drops_some(window: int) -> None:
    best = []
    for sees in (None, Causal(window)):
        cost, plan = least(found(on_cores(attention(128, sees), 1024)))
        (nested,) = [group.nest for group in plan.groups if group.nest]
        assert nested.dealt
        assert nested.in_turn == (sees is not None)
        best.append(cost)
    # half of the pairs, or fewer with a window, and no layers besides
    assert exp(best[0] - best[1]) > 1.5


@pytest.mark.parametrize("cores", [1, 2])
def test_plans_of_a_ragged_batch_fuse_attention_of_each_length(cores: int) -> None:
    tiny = Decoder(1, 16, 24, Heads(2, 8, sharing=2), 11)
    network = prefill("ragged", tiny, 48, 16, 16, 16, all_logits=True)
    price = (evaluator if cores == 1 else on_cores)(network, 1024)
    plans = found(price)
    cost, plan = least(plans)
    fused = {
        network.layers[i].name
        for group in plan.groups
        if len(group.layers) > 1
        for i in group.layers
    }
    for start in (0, 48):
        assert {f"layer0.at_{start}.{part}" for part in ("scores", "softmax", "context")} <= fused
    bound = any_plan_bound(network, price.hardware).edp_js
    assert all(exp(other) >= bound for other, _ in plans)
    assert exp(cost) < 4 * bound


class CountingMapper:
    """A mapper that counts what it is asked."""

    def __init__(self) -> None:
        self.asked = 0
        self._mapper = Mapper(MAPPING_SEARCHES["auto"](), 2000, seed=1)

    def __call__(self, problem: MappingProblem) -> LayerCost | Infeasible:
        self.asked += 1
        return self._mapper(problem)


def figures(cost: GroupCost | Infeasible) -> tuple[object, ...]:
    """Return what a group costs, or why it cannot run."""
    if isinstance(cost, Infeasible):
        return cost.reason, cost.needed, cost.available
    moved = (cost.dram_reads, cost.dram_writes, cost.own_words, cost.residents)
    return (cost.dynamic_pj, cost.latency_cycles, *moved)


def nested_block() -> FusionGroup:
    """Scores, softmax and context of one block, in a nest."""
    network, layers = blocks(), (3, 4, 5)
    assert [network.layers[i].operator for i in layers] == ["matmul", "softmax", "matmul"]
    nests = best_nests(NestFacts(network, layers, evaluator(network, 256).hardware))
    return FusionGroup(layers, nest=nests[0].nest)


def test_nests_around_equal_groups_share_their_cost() -> None:
    network, mapper, first = blocks(2), CountingMapper(), nested_block()
    half = len(network.layers) // 2
    second = FusionGroup(tuple(i + half for i in first.layers), nest=first.nest)
    price = MemoizedPlanEvaluator(network, evaluator(network, 256).hardware, mapper)
    cost, asked = price.group(first), mapper.asked
    other = price.group(second)
    assert mapper.asked == asked > 0
    assert isinstance(other, GroupCost)
    assert other.group == second
    assert tuple(share.layer for share in other.layers) == second.layers
    alone = group_cost(network, second, price.hardware, mapper)
    assert figures(other) == figures(alone) == figures(cost)
    # other sizes of tiles are another nest
    assert first.nest is not None
    loops = tuple(NestLoop(loop.rank, loop.tile + 1) for loop in first.nest.loops)
    changed = FusionGroup(first.layers, nest=LoopNest(loops, first.nest.depth))
    assert figures(price.group(changed)) != figures(cost)
    assert figures(price.group(changed)) == figures(
        group_cost(network, changed, price.hardware, mapper)
    )


def test_a_nest_has_what_pinned_maps_leave_of_the_buffer() -> None:
    network, group, mapper = blocks(), nested_block(), CountingMapper()
    price = MemoizedPlanEvaluator(network, evaluator(network, 256).hardware, mapper)
    kinds = set()
    for words in range(0, 256, 15):
        beside = Residents((), (), (), words)
        known = price.group(group, beside)
        assert figures(known) == figures(group_cost(network, group, price.hardware, mapper, beside))
        kinds.add(figures(known)[:2])
    assert len(kinds) > 2


def test_a_nest_keeps_no_result_for_later_groups() -> None:
    network, group = blocks(), nested_block()
    kept = Residents((), (group.layers[-1],), (), network.layers[group.layers[-1]].output_words)
    pinned = evaluator(network, 4096).group(group, kept)
    assert isinstance(pinned, Infeasible)
    assert pinned.reason == "nest_keeps_no_result"
