"""Layers in parts: a product whose result is cut costs what a product for each part costs."""

from dataclasses import replace

import numpy as np
import pytest

from archloom.evaluators.fusion.group import group_cost
from archloom.evaluators.fusion.group_share import GroupCost
from archloom.evaluators.fusion.nest import NestGroup, nest_group, operand_names, rank_names
from archloom.evaluators.fusion.nest.members import parts_of, splittable
from archloom.evaluators.fusion.plan import NetworkCost, network_cost
from archloom.evaluators.fusion.timeline import buffer_timeline
from archloom.space.errors import Infeasible
from archloom.space.fusion import FusionGroup, FusionPlan, LoopNest, NestLoop, group_order
from archloom.space.networks.registry import network as catalogued
from archloom.space.networks.transformers.transformer import Heads, SequenceBuilder
from archloom.space.workload import Network

from ....cases.cut_products import CutNetwork, cut_network
from ....cases.designs import edge
from ....cases.mappers import BufferMapper
from ....cases.random_nests import random_members, random_nest
from ....cases.sweeps import sweep
from ..test_decoupled import agrees
from ..test_timeline import planned_words


def both(seed: int) -> tuple[CutNetwork, tuple[int, ...], tuple[int, ...]]:
    """Return a network twice, and the same members of both."""
    case, rng = cut_network(seed), np.random.default_rng(seed)
    layers = random_members(rng, case.cut)
    return case, layers, tuple(sorted(i for m in layers for i in case.parts[m]))


def alike(case: CutNetwork, layers: tuple[int, ...]) -> bool:
    """Whether all products are cut; what nobody reads in the group may be a part together."""
    return all(len(case.parts[i]) in (1, len(parts_of(case.cut, layers, i))) for i in layers)


def shape(group: NestGroup) -> object:
    """Return all that loops see of a group."""
    operands = [replace(operand, source=-1) for operand in group.operands]
    return group.ranks, group.own, group.reduced, operands, group.weights, group.maps, group.online


@pytest.mark.parametrize("seed", sweep(range(400), sample=40))
def test_loops_see_the_same_group(seed: int) -> None:
    case, layers, apart = both(seed)
    split = splittable(case.cut, layers)
    one, other = (
        nest_group(case.cut, layers, frozenset(), split),
        nest_group(case.apart, apart, frozenset()),
    )
    for place in range(len(layers)):
        # a layer that no member reads runs as one
        inside = set(case.cut.consumers[layers[place]]) & set(layers)
        may = len(case.parts[layers[place]]) > 1 and inside
        assert (place in split) == bool(may)
    if alike(case, layers):
        assert one is not None
        assert other is not None
        assert shape(one) == shape(other)


def nested(network: Network, layers: tuple[int, ...], nest: LoopNest) -> NetworkCost | Infeasible:
    mine = FusionGroup(layers, nest=nest)
    groups = [mine, *(FusionGroup((i,)) for i in range(len(network.layers)) if i not in layers)]
    order = group_order(network, [group.layers for group in groups])
    assert order is not None
    plan, mapper = FusionPlan(tuple(groups[i] for i in order)), BufferMapper()
    hardware = edge(glb_bytes=1 << 20)
    return network_cost(
        network, plan, hardware, lambda g, r: group_cost(network, g, hardware, mapper, r)
    )


def figures(cost: GroupCost) -> tuple[object, ...]:
    return (
        *(cost.latency_cycles, cost.dram_reads, cost.dram_writes, cost.peak_words, cost.tiles),
        *(sum(getattr(s, part) for s in cost.layers) for part in ("operations", "latency_cycles")),
        sum(s.words for s in cost.layers).tolist(),
    )


@pytest.mark.parametrize("seed", sweep(range(300), sample=16))
def test_nests_cost_the_same(seed: int) -> None:
    case, layers, apart = both(seed)
    found = random_nest(np.random.default_rng(seed), case.apart, apart)
    split = splittable(case.cut, layers)
    if found is None or not alike(case, layers):
        return
    nest = replace(found[1], split=split)
    assert LoopNest.from_dict(nest.to_dict()) == nest
    one, other = nested(case.cut, layers, nest), nested(case.apart, apart, found[1])
    assert isinstance(one, NetworkCost)
    assert isinstance(other, NetworkCost)
    pair = [next(g for g in cost.groups if g.group.nest) for cost in (one, other)]
    assert figures(pair[0]) == figures(pair[1])
    assert pair[0].dynamic_pj == pytest.approx(pair[1].dynamic_pj, rel=1e-12)
    assert [share.layer for share in pair[0].layers] == list(layers)
    agrees(case.cut, pair[0], one.hardware, BufferMapper())
    held = [
        [
            (s.end_cycle - s.start_cycle, planned_words(s))
            for s in buffer_timeline(cost, 10**9)
            if cost.groups[s.group].group.nest
        ]
        for cost in (one, other)
    ]
    assert held[0] == held[1]


def test_queries_keys_and_values_of_one_product_have_ranks_of_their_own() -> None:
    net = catalogued("vit_b_16")
    layers = tuple(range(net.index("layer0.norm1"), net.index("layer0.add1") + 1))
    assert splittable(net, layers) == (1,)
    names = rank_names(net, layers, (1,))
    group = nest_group(net, layers, frozenset(), (1,))
    assert group is not None
    sizes = dict(zip(names, group.ranks.sizes, strict=True))
    told = ("heads", "head features", "value features", "queries", "keys")
    assert {name: sizes[name] for name in told} == dict(
        zip(told, (12, 64, 64, 197, 197), strict=True)
    )
    free = {n for n, may in zip(names, group.ranks.loopable, strict=True) if may}
    assert {"heads", "head features", "value features"} <= free
    made = [name for name in operand_names(net, group) if name.startswith("layer0.qkv")]
    assert made == ["layer0.qkv[0:768]", "layer0.qkv[768:1536]", "layer0.qkv[1536:2304]"]


def cut_by(*boxes: tuple[int, int], last: str = "") -> tuple[Network, tuple[int, ...]]:
    """Return a product of 12 features and its readers, and the members: all but ``last``."""
    net = SequenceBuilder()
    made = net.linear("made", net.input("x", 4, 5), 12)
    for i, (start, count) in enumerate(boxes):
        source = net.columns(made, start, count) if count < 12 else made
        net.linear(f"reader{i}", source, 3)
    found = net.network("cut")
    return found, tuple(i for i, layer in enumerate(found.layers) if layer.name != last)


@pytest.mark.parametrize(
    ("boxes", "last", "ends"),
    [
        (((0, 4), (4, 8)), "", [4, 12]),
        (((0, 4), (4, 8), (0, 4)), "", [4, 12]),
        # read outside alone: a part that leaves
        (((0, 4), (4, 8)), "reader1", [4, 12]),
        (((0, 4), (0, 12)), "reader1", [4, 12]),
        # boxes that overlap; all of it; features that nobody reads
        (((0, 5), (4, 8)), "", []),
        (((0, 4), (0, 12)), "", []),
        (((0, 4), (6, 6)), "", []),
        (((0, 12),), "", []),
    ],
)
def test_which_layers_run_in_parts(
    boxes: tuple[tuple[int, int], ...], last: str, ends: list[int]
) -> None:
    net, members = cut_by(*boxes, last=last)
    assert [part.stop for part in parts_of(net, members, 0)] == ends
    if ends and last:
        group = nest_group(net, members, frozenset(), (0,))
        assert group is not None
        made = [o for o in group.operands if o.kind == "made" and o.maker < len(ends)]
        # of what is read outside, the box that is read there leaves
        assert [o.exported for o in made] == [boxes[1][1] == 12, True]


def test_layers_that_cannot_run_in_parts_are_refused() -> None:
    net, members = cut_by((0, 5), (4, 8))
    group = nest_group(net, members, frozenset())
    assert group is not None
    assert nest_group(net, members, frozenset(), (0,)) is None
    rank = next(r for r, may in enumerate(group.ranks.loopable) if may)
    nest = LoopNest((NestLoop(rank, 1),), (0,) * len(group.operands), (0,))
    found = group_cost(net, FusionGroup(members, nest=nest), edge(), BufferMapper())
    assert isinstance(found, Infeasible)
    assert found.reason == "bad_nest"


def test_grouped_heads_of_one_product_are_cut_unevenly() -> None:
    net, heads = SequenceBuilder(), Heads(2, 4, sharing=3)
    made = net.linear("qkv", net.input("x", 6, 5), 40)
    q, k, v = (net.columns(made, start, count) for start, count in ((0, 24), (24, 8), (32, 8)))
    net.attention("a", heads, q, k, v)
    found = net.network("grouped")
    ranks = nest_group(found, (0, 1, 2, 3), frozenset(), (0,))
    assert ranks is not None
    assert [layer.k for layer in ranks.layers[:3]] == [24, 8, 8]
    heads_of = [dims[2][0] for dims in ranks.ranks.dims[:3]]
    assert len(set(heads_of)) == 1
    assert ranks.ranks.loopable[heads_of[0]]
