"""Groups that are the same but for names and positions: they cost the same, and only they share."""

from collections.abc import Hashable
from dataclasses import replace
from itertools import chain, combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from archloom.evaluators.fusion import GroupCost, LayerShare, group_cost
from archloom.evaluators.fusion.group_graph import group_shape
from archloom.search.fusion.casco.genetic import GeneticPlanner
from archloom.search.fusion.group_equivalence import group_kind, layer_kinds
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.fusion.tiling.default import tile_group
from archloom.search.mapping.mapper import Mapper
from archloom.search.mapping.simd.searches import LocalMapping
from archloom.space.errors import Infeasible
from archloom.space.fusion.plan import FusionGroup
from archloom.space.networks.registry import network
from archloom.space.workload.graph import components
from archloom.space.workload.layer_builders import activation, add, conv_transpose2d, linear
from archloom.space.workload.network import INPUT, Network
from archloom.space.workload.slice import Slice

from ...cases.groups import random_group
from ...cases.small_designs import casco_edge, conv, graph, three_levels

Group = tuple[int, ...]

HARDWARE = {"a few words": three_levels(40), "32 KiB": casco_edge(32)}
MAPPERS = {name: Mapper(LocalMapping(), 2, seed=3) for name in HARDWARE}

BLOCKS = 3


def blocks(rng: np.random.Generator, kind: str) -> tuple[Network, int]:
    """Return a network of three equal random blocks, and in how many layers they are.

    The first block reads the input; the others the result of a layer that comes first. The last
    one uses the weights of the first.
    """
    block, _ = random_group(rng, kind)
    stem = activation("stem", "relu", block.map_shape(INPUT)[0], block.map_shape(INPUT)[1:])
    layers, reads, outputs = [stem], [(INPUT,)], []
    for b in range(BLOCKS):
        names = {layer.name: f"b{b}.{layer.name}" for layer in block.layers}
        names[INPUT] = "stem" if b else INPUT
        for layer, sources in zip(block.layers, block.reads, strict=True):
            shared = f"b0.{layer.name}" if b == BLOCKS - 1 and layer.weight_words else ""
            layers.append(replace(layer, name=names[layer.name], weights_of=shared))
            reads.append(tuple(names[s] for s in sources))
        outputs += [names[name] for name in block.outputs]
    return Network("blocks", tuple(layers), tuple(reads), tuple(outputs)), len(block.layers)


def some_groups(net: Network, length: int, rng: np.random.Generator, most: int = 12) -> list[Group]:
    """Return groups of the first block, and of all layers, that hang together."""
    inside = range(1, length + 1)
    sets = list(chain.from_iterable(combinations(inside, n) for n in range(1, length + 1)))
    picked = [sets[int(i)] for i in rng.integers(len(sets), size=most // 2)]
    everywhere = range(len(net.layers))
    picked += [
        tuple(sorted(map(int, rng.choice(everywhere, int(rng.integers(2, 6)), replace=False))))
        for _ in range(most // 2 if len(everywhere) > 5 else 0)
    ]
    return sorted({part for group in picked for part in components(net, group)})


def figures(cost: GroupCost | Infeasible) -> Any:
    """All of a price, as values that can be compared."""
    if isinstance(cost, Infeasible):
        return cost
    whole = (cost.group, cost.wait_cycles, cost.dram_reads, cost.dram_writes, cost.peak_words)
    sums = (cost.tiles, cost.prefetch, cost.latency_cycles, cost.dynamic_pj)
    return (*whole, *sums, [_share(share) for share in cost.layers])


def _share(share: LayerShare) -> Any:
    evaluations = [(n, c.mapping, c.words.tolist(), c.chip_cycles) for n, c in share.evaluations]
    arrays = (share.words.tolist(), share.energy_pj.tolist())
    rest = (share.layer, share.compute_pj, share.latency_cycles, share.operations)
    return (*arrays, *rest, evaluations)


def priced_groups(evaluator: MemoizedPlanEvaluator, group: Group) -> list[FusionGroup]:
    """The group as it is tiled, without tiles, and in tiles of one word with all weights held."""
    tiled = evaluator.tiling(group)
    found = [] if isinstance(tiled, Infeasible) else [tiled]
    return [*found, FusionGroup(group), FusionGroup(group, (1, 1), "keep_all", group)]


@pytest.mark.parametrize("design", HARDWARE)
@settings(max_examples=12)
@given(st.integers(0, 2**32), st.sampled_from(("any", "operators")))
def test_what_is_shared_is_what_each_group_costs(design: str, seed: int, kind: str) -> None:
    rng, hardware, mapper = np.random.default_rng(seed), HARDWARE[design], MAPPERS[design]
    net, length = blocks(rng, kind)
    evaluator = MemoizedPlanEvaluator(net, hardware, mapper)
    for group in some_groups(net, length, rng):
        copies = [group]
        if set(group) <= set(range(1, length + 1)):
            copies = [tuple(i + b * length for i in group) for b in range(BLOCKS)]
            assert len({group_kind(net, copy) for copy in copies}) == 1
        for copy in copies:
            assert evaluator.tiling(copy) == tile_group(net, copy, hardware)
            for tiled in priced_groups(evaluator, copy):
                alone = group_cost(net, tiled, hardware, mapper)
                assert figures(evaluator.group(tiled)) == figures(alone)


def read_by_prices(net: Network, group: Group) -> Any:
    """All that tiling and price read of a group, without names and positions."""
    free = {"name": "", "activation": "", "extra_params": 0, "weights_of": "", "slices": ()}
    owners = [net.weight_owner(i) for i in group]
    shape = replace(group_shape(net, group), layers=())
    members = [replace(net.layers[i], **free) for i in group]
    return shape, members, [owners.index(owner) for owner in owners]


def alike(rng: np.random.Generator) -> Network:
    """Return a network of few kinds of layers, so that many of its groups are nearly the same.

    All maps are of one shape, some read in part; weights are shared and results leave at random.
    """
    plain = conv(kernel=3)
    part = replace(conv(channels=2, kernel=1), k=4, name="box")
    choices = [
        plain,
        replace(plain, padding=(2, 0)),
        replace(plain, padding=(0, 2)),
        conv(kernel=1),
        *(replace(part, slices=(Slice((a, 0, 0), (2, 4, 4), (4, 4, 4)),)) for a in (0, 2)),
        add("sum", 4, (4, 4)),
    ]
    layers, reads = [], []
    for i in range(9):
        layer = replace(choices[int(rng.integers(len(choices)))], name=f"l{i}")
        owners = [la.name for la in layers if 0 < la.weight_words == layer.weight_words]
        if owners and rng.random() < 0.4:
            layer = replace(layer, weights_of=str(rng.choice(owners)))
        sources = [INPUT, *(la.name for la in layers)][-4:]
        reads.append(tuple(map(str, rng.choice(sources, layer.operands))))
        layers.append(layer)
    outputs = tuple(layer.name for layer in layers if rng.random() < 0.1)
    return Network("alike", tuple(layers), tuple(reads), outputs)


@settings(max_examples=20)
@given(st.integers(0, 2**32), st.sampled_from(("alike", "any", "operators")))
def test_no_two_groups_that_differ_are_of_one_kind(seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    net = alike(rng) if kind == "alike" else blocks(rng, kind)[0]
    groups = chain.from_iterable(combinations(range(len(net.layers)), n) for n in (1, 2, 3))
    known: dict[Hashable, Any] = {}
    for group in groups:
        facts = read_by_prices(net, group)
        assert known.setdefault(group_kind(net, group), facts) == facts


def test_of_what_shape_a_map_is_made_is_part_of_a_kind() -> None:
    makers = [conv("square", 4, 4, 1), conv("deep", 2, 16, 1)]
    makers.append(conv_transpose2d("patches", 4, 16, (1, 1), 2, 2))
    readers = [linear(f"after {maker.name}", 64, 8) for maker in makers]
    reads = [*((f"{INPUT}:{i}",) for i in range(3)), *((maker.name,) for maker in makers)]
    net = Network("flat", (*makers, *readers), tuple(reads))
    assert len({group_kind(net, (i,)) for i in (3, 4, 5)}) == 3


def test_layers_of_equal_blocks_are_of_one_kind() -> None:
    net = network("bert_base")
    kinds = [layer_kinds(net)[i] for i, la in enumerate(net.layers) if ".query" in la.name]
    assert len(kinds) == 12
    assert len(set(kinds)) == 1
    assert len(set(layer_kinds(net))) < 30


def test_whether_a_result_leaves_is_part_of_a_kind() -> None:
    net = graph([(-1,), (0,), (1,), (2,), (3, 2)])
    # both are two convolutions in a row; the result of layer 2 is read by layer 4 too
    assert group_kind(net, (0, 1)) != group_kind(net, (2, 3))
    assert group_kind(net, (0, 1)) == group_kind(net, (1, 2))
    assert group_kind(replace(net, outputs=("l0",)), (0, 1)) == group_kind(net, (2, 3))


def test_whether_two_members_read_one_map_is_part_of_a_kind() -> None:
    net = graph([(-1,), (0,), (0,), (1,), (2,)])
    assert group_kind(net, (1, 2)) != group_kind(net, (3, 4))
    tied = graph([(-1,), (-1,), (0,), (0,), (1,), (1,)])
    assert group_kind(tied, (2, 3)) == group_kind(tied, (4, 5))
    assert group_kind(tied, (2, 3)) != group_kind(tied, (3, 4))


def test_who_reads_whom_is_part_of_a_kind() -> None:
    net = graph([(-1,), (0,), (0, 1), (2,), (2, 2)])
    assert group_kind(net, (0, 1, 2)) != group_kind(net, (2, 3, 4))


def test_whose_weights_are_shared_is_part_of_a_kind() -> None:
    gemms = [linear(name, 8, 8) for name in "abcd"]
    gemms += [replace(linear(name, 8, 8), weights_of=of) for name, of in ("ea", "fa", "gb")]
    reads = tuple((f"{INPUT}:{i}",) for i in range(len(gemms)))
    net = Network("shared", tuple(gemms), reads)
    kinds = {
        pair: group_kind(net, pair) for pair in ((0, 1), (0, 4), (1, 6), (4, 5), (4, 6), (0, 6))
    }
    apart, together = kinds[0, 1], kinds[0, 4]
    assert apart != together
    assert kinds[1, 6] == kinds[4, 5] == together
    assert kinds[4, 6] == kinds[0, 6] == apart


def test_whether_two_members_read_one_box_is_part_of_a_kind() -> None:
    def half(name: str, start: int) -> Any:
        box = Slice((start, 0, 0), (4, 4, 4), (8, 4, 4))
        return replace(conv(name), slices=(box,))

    layers = (half("a", 0), half("b", 0), half("c", 4), conv("d", channels=8))
    net = Network("boxes", layers, ((INPUT,),) * len(layers))
    assert group_kind(net, (0, 1)) != group_kind(net, (0, 2)) == group_kind(net, (1, 2))
    # alone it does not matter where along the channels a box begins
    assert group_kind(net, (0,)) == group_kind(net, (2,))
    assert group_kind(net, (0,)) != group_kind(net, (3,))


def test_a_group_is_refused_by_its_own_name() -> None:
    net = graph([(-1,), (0,), (1,), (2,)], size=16)
    evaluator = MemoizedPlanEvaluator(net, three_levels(10), Mapper(LocalMapping(), 1, seed=0))
    assert group_kind(net, (0, 1)) == group_kind(net, (2, 3))
    for group in ((0, 1), (2, 3), (0, 1)):
        refused = evaluator.tiling(group)
        assert isinstance(refused, Infeasible)
        assert f"l{group[0]}..l{group[1]}" in refused.where
        dear = evaluator.group(FusionGroup(group))
        assert isinstance(dear, Infeasible)
        assert f"l{group[0]}..l{group[1]}" in dear.where


def test_searches_find_what_they_find_without_sharing() -> None:
    net = network("bert_base")
    asked: set[Group] = set()

    def apart(_: Network, layers: Group) -> Hashable:
        asked.add(layers)
        return layers

    found = []
    for kind_of in (group_kind, apart):
        evaluator = MemoizedPlanEvaluator(
            net, casco_edge(256), Mapper(LocalMapping(), 5, seed=1), kind_of
        )
        search = GeneticPlanner(evaluator, 4)
        found.append(search.advance(search.start(seed=2), 12))
    assert found[0] == found[1]
    # the twelve equal blocks leave less than half to price
    assert len({group_kind(net, group) for group in asked}) < 0.5 * len(asked)
