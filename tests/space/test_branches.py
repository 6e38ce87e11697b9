"""Forks, joins, dominators, clean cuts and the segments between them."""

import pytest
from hypothesis import given

from archloom.space.branches import (
    Segment,
    clean_cuts,
    forks,
    immediate_dominators,
    immediate_postdominators,
    joins,
    segments,
)
from archloom.space.network import INPUT, Network
from archloom.space.networks import NETWORKS, network

from .graphs import descending, graph, graphs

# l0, a residual block of l1 to l4, l5, and two results that both read it
NET = graph([[-1], [0], [1], [0], [2, 3], [4], [5], [5]])


def roots(net: Network) -> list[int]:
    """Where paths from outside begin."""
    entrance = net.reads[0][0]
    return [i for i, made in enumerate(net.producers) if not made or entrance in net.reads[i]]


def sinks(net: Network) -> list[int]:
    return [i for i, readers in enumerate(net.consumers) if not readers]


def reached(net: Network, starts: list[int], avoid: int) -> set[int]:
    return set().union(*(descending(net, i, avoid) for i in starts))


def test_where_branches_begin_and_end() -> None:
    assert forks(NET) == {"l0": (1, 3), "l5": (6, 7)}
    assert joins(NET) == (4,)
    assert forks(graph([[-1], [-1, 0], ["input:table", 0, 0]])) == {INPUT: (0, 1), "l0": (1, 2)}
    assert joins(graph([[-1], [0, 0], [0, -1]])) == ()


def test_dominators_of_a_block() -> None:
    assert immediate_dominators(NET) == (None, 0, 1, 0, 0, 4, 5, 5)
    assert immediate_postdominators(NET) == (4, 2, 4, 4, 5, None, None, None)


@given(graphs())
def test_dominators_are_the_layers_without_which_there_is_no_path(net: Network) -> None:
    layers = range(len(net.layers))
    over = [{d for d in layers if i != d and i not in reached(net, roots(net), d)} for i in layers]
    for i, found in enumerate(immediate_dominators(net)):
        # the dominators of a layer are its immediate one and that one's dominators
        assert over[i] == (set() if found is None else over[found] | {found})


@given(graphs())
def test_postdominators_are_the_layers_without_which_there_is_no_result(net: Network) -> None:
    layers, ends = range(len(net.layers)), set(sinks(net))
    after = [{d for d in layers if d != i and not descending(net, i, d) & ends} for i in layers]
    for i, found in enumerate(immediate_postdominators(net)):
        assert after[i] == (set() if found is None else after[found] | {found})


@given(graphs())
def test_a_clean_cut_leaves_one_map_between_both_sides(net: Network) -> None:
    entrance = net.reads[0][0]
    for i in range(len(net.layers)):
        before = {j for j in range(len(net.layers)) if i in descending(net, j)}
        maps = {net.layers[j].name for j in before - {i}}
        if any(entrance in net.reads[j] for j in before):
            maps.add(entrance)
        crossing = {j for j, sources in enumerate(net.reads) if maps & set(sources)} - before
        assert (i in clean_cuts(net)) == (not crossing)


@given(graphs())
def test_segments_hold_every_layer_once_and_hide_all_but_their_exit(net: Network) -> None:
    found = segments(net)
    assert sorted(i for s in found for i in s.layers) == list(range(len(net.layers)))
    home = {i: at for at, s in enumerate(found) for i in s.layers}
    for i, producers in enumerate(net.producers):
        for p in producers:
            assert home[p] <= home[i]
            if home[p] != home[i]:
                assert found[home[p]].exit == p
    for s in found:
        if not s.branching:
            assert set(s.layers) <= set(clean_cuts(net))
            assert s.exit == s.layers[-1]
            for before, after in zip(s.layers, s.layers[1:], strict=False):
                assert set(net.producers[after]) == {before}
        elif s.exit is not None:
            assert set(s.layers) & set(clean_cuts(net)) == {s.exit}


def test_a_block_between_chains_and_a_loose_end() -> None:
    assert segments(NET) == (
        Segment((0,), False, 0),
        Segment((1, 2, 3, 4), True, 4),
        Segment((5,), False, 5),
        Segment((6, 7), True, None),
    )
    # two results that share a layer which is no clean cut: the input goes around it
    loose = graph([[-1], [0], [0, -1], [1, -1]])
    assert segments(loose) == (Segment((0, 1, 2, 3), True, None),)


def test_chains_that_meet_and_inputs_that_are_no_way_in() -> None:
    two = graph([[-1], [0], ["input:other"], [2], [1, 3], [4, "input:table"]])
    assert segments(two) == (
        Segment((0, 1), False, 1),
        Segment((2, 3), False, 3),
        Segment((4, 5), False, 5),
    )
    # a table that every layer reads cuts nothing; the network's input read twice makes a block
    table = graph([[-1], [0, "input:table"], [1, "input:table"]])
    assert segments(table) == (Segment((0, 1, 2), False, 2),)
    assert segments(graph([[-1], [0], [1, -1]])) == (Segment((0, 1, 2), True, 2),)


def test_the_blocks_of_resnet() -> None:
    net = network("resnet18")
    found = segments(net)
    names = [[net.layers[i].name for i in s.layers] for s in found]
    assert names[0] == ["conv1", "maxpool"]
    assert names[-1] == ["avgpool", "fc"]
    assert [s.branching for s in found] == [False, *[True] * 8, False]
    assert names[3] == [f"stage2.0.{n}" for n in ("conv1", "conv2", "shortcut", "add")]


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_of_the_catalogue_are_cut(name: str) -> None:
    net = network(name)
    found = segments(net)
    assert sorted(i for s in found for i in s.layers) == list(range(len(net.layers)))
    assert {s.branching for s in found} >= ({True} if joins(net) else {False})
