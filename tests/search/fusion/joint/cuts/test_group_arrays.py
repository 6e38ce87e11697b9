"""Many groups at once, against one group at a time."""

from collections import defaultdict
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from archloom.evaluators.fusion.group_graph import group_shape, with_residents
from archloom.search.fusion.group_equivalence import group_kind
from archloom.search.fusion.joint.cuts.group_arrays import GroupArrays
from archloom.search.fusion.joint.known_groups import known_groups
from archloom.search.fusion.tiling.grid import in_one_piece, leaves_out, leaving_out
from archloom.space.networks.registry import network
from archloom.space.workload.graph import bits
from archloom.space.workload.network import Network

from .....cases.every_operator import every_operator
from .....cases.graphs import graphs
from .....cases.sweeps import sweep


def check(net: Network, groups: list[tuple[int, ...]]) -> None:
    arrays = GroupArrays(net, [bits(group) for group in groups])
    assert [arrays.group(n) for n in range(len(groups))] == groups
    assert arrays.lengths.tolist() == [len(group) for group in groups]
    outside, box_words, _ = arrays.fetched
    leaving, made_words = arrays.stored
    kinds = defaultdict(set)
    for n, group in enumerate(groups):
        kinds[arrays.numbers[n]].add(group_kind(net, group))
        shape = group_shape(net, group)
        members = [net.layers[i] for i in group]
        assert np.flatnonzero(leaving[n]).tolist() == [group[m] for m in shape.exported]
        fetched = (prod((shape.channels[t], *shape.sizes[t])) for t in shape.externals)
        assert box_words[outside[n]].sum() == sum(fetched)
        stored = (members[m].output_words // members[m].n for m in shape.exported)
        assert made_words[leaving[n]].sum() == sum(stored)
        owners = {net.weight_owner(i) for i in group}
        assert arrays.weights[n] == sum(net.layers[i].weight_words for i in owners)
        maps = ((layer.input_words + layer.output_words) // layer.n for layer in members)
        assert arrays.maps[n] == max(maps)
    assert all(len(same) == 1 for same in kinds.values())
    assert len(kinds) == len(set.union(*kinds.values()))
    alone = [leaves_out(net, group) for group in groups]
    assert leaving_out(net, arrays.members).tolist() == alone


@settings(max_examples=60, deadline=None)
@given(graphs(concatenations=True), st.data())
def test_groups_at_once_are_those_one_by_one(net: Network, data: st.DataObject) -> None:
    layers = st.sets(st.integers(0, len(net.layers) - 1), min_size=1).map(sorted).map(tuple)
    check(net, data.draw(st.lists(layers, min_size=1, max_size=12, unique=True)))


def test_so_are_groups_of_every_operator() -> None:
    net = every_operator()
    count = len(net.layers)
    check(net, [tuple(range(a, b)) for a in range(0, count, 3) for b in range(a + 1, count + 1, 4)])


NAMED = ["tiny_cnn", "resnet18", "vit_b_16", "googlenet"]


@pytest.mark.parametrize("words", [0, 60_000])
@pytest.mark.parametrize("name", sweep(NAMED, 2))
def test_groups_in_one_piece_are_those_that_are_tiled(name: str, words: int) -> None:
    net = network(name)
    kinds, whole = known_groups(net).graph(words)
    sizes = np.array(known_groups(net).numbers.sizes)[whole.sizes, 1:]
    ends = np.cumsum(whole.members)
    for kind in range(0, len(kinds.firsts), 1 + len(kinds.firsts) // 200):
        shape = group_shape(net, kinds.firsts.layers(kind))
        made, fetched, stored = in_one_piece(net, with_residents(net, shape, kinds.residents(kind)))
        assert sizes[ends[kind] - whole.members[kind] : ends[kind]].tolist() == list(
            map(list, made)
        )
        assert (whole.fetched[kind], whole.stored[kind]) == (fetched, stored)


def test_kinds_tell_apart_what_a_plan_keeps_in_the_buffer() -> None:
    net = network("tiny_cnn")
    kinds, _ = known_groups(net).graph(10**6)
    for edge, kind in zip(kinds.edges, kinds.kinds.tolist(), strict=True):
        first = kinds.firsts[kind]
        assert group_kind(net, edge.layers) == group_kind(net, first.layers)
        assert [edge.layers.index(i) for i in edge.kept] == [
            first.layers.index(i) for i in first.kept
        ]
        held = sum(net.layers[i].output_words for i in (*edge.held, *edge.kept))
        assert held == kinds.words[kind] == kinds.residents(kind).words
