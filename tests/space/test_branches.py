"""Forks, joins, dominators, clean cuts and the segments between them."""

from itertools import pairwise

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


@given(graphs(concatenations=True))
def test_a_clean_cut_leaves_one_map_between_both_sides(net: Network) -> None:
    """One map, or several that all that follows reads side by side."""
    entrance, layers = net.reads[0][0], range(len(net.layers))
    lists = {
        made for i, made in enumerate(net.producers) if net.layers[i].parts and len(set(made)) > 1
    }
    found = []
    for made in [*((i,) for i in layers), *lists]:
        before = {j for j in layers if descending(net, j) & set(made)}
        crossing = [j for j in layers if j not in before and set(net.producers[j]) & before]
        behind = {p for j in crossing for p in net.producers[j]} & before
        # as long as it is read on the way to the cut, the entrance must not be read behind it
        at_cut = [j for j in crossing if net.layers[j].parts and net.producers[j] == made]
        sources = {s for j in (*before, *at_cut) for s in net.reads[j]}
        if len(made) == 1:
            entered = any(entrance in net.reads[j] for j in before)
            around = {j for j in layers if entrance in net.reads[j]} - before
            clean = behind <= set(made) and not (entered and around)
        else:
            around = {j for j in layers if entrance in net.reads[j]} - before - set(at_cut)
            clean = crossing == at_cut and not (entrance in sources and around)
        if clean:
            found.append(tuple(sorted(set(made))))
    assert sorted(clean_cuts(net)) == sorted(found)


@given(graphs(concatenations=True))
def test_segments_hold_every_layer_once_and_hide_all_but_their_cut(net: Network) -> None:
    found = segments(net)
    assert sorted(i for s in found for i in s.layers) == list(range(len(net.layers)))
    home = {i: at for at, s in enumerate(found) for i in s.layers}
    for i, producers in enumerate(net.producers):
        for p in producers:
            assert home[p] <= home[i]
            assert home[p] == home[i] or p in found[home[p]].cut
    ends = {i for cut in clean_cuts(net) for i in cut if len(cut) == 1}
    for s in found:
        assert not s.cut or s.cut in clean_cuts(net)
        if s.branching:
            assert set(s.layers) & ends <= set(s.cut)
        else:
            assert set(s.layers) <= ends
            assert s.cut == s.layers[-1:]
            for before, after in pairwise(s.layers):
                assert set(net.producers[after]) == {before}


def test_a_block_between_chains_and_a_loose_end() -> None:
    assert segments(NET) == (
        Segment((0,), False, (0,)),
        Segment((1, 2, 3, 4), True, (4,)),
        Segment((5,), False, (5,)),
        Segment((6, 7), True, ()),
    )
    # two results that share a layer which is no clean cut: the input goes around it
    loose = graph([[-1], [0], [0, -1], [1, -1]])
    assert segments(loose) == (Segment((0, 1, 2, 3), True, ()),)


def test_chains_that_meet_and_inputs_that_are_no_way_in() -> None:
    two = graph([[-1], [0], ["input:other"], [2], [1, 3], [4, "input:table"]])
    assert segments(two) == (
        Segment((0, 1), False, (1,)),
        Segment((2, 3), False, (3,)),
        Segment((4, 5), False, (5,)),
    )
    # a table that every layer reads cuts nothing; the network's input read twice makes a block
    table = graph([[-1], [0, "input:table"], [1, "input:table"]])
    assert segments(table) == (Segment((0, 1, 2), False, (2,)),)
    assert segments(graph([[-1], [0], [1, -1]])) == (Segment((0, 1, 2), True, (2,)),)


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
    one_way = all(len(set(made)) < 2 for made in net.producers) and not forks(net)
    assert one_way == (len(found) == 1 and not found[0].branching)


@pytest.mark.parametrize(
    ("name", "blocks"),
    # inception blocks; the one before a grid reduction is read by it side by side like any other
    [("googlenet", 9), ("inception_v3", 11), ("resnet50", 16), ("mobilenetv2", 10)],
)
def test_blocks_of_the_catalogue(name: str, blocks: int) -> None:
    assert sum(s.branching for s in segments(network(name))) == blocks


def test_a_concatenation_is_cut_like_one_map() -> None:
    """An inception block: three branches, which the next block reads side by side, twice."""
    side = [2, 3, 4]
    net = graph([[-1], [0], [1], [0], [0], side, side, [5, 6], [7]], beside=(5, 6))
    assert clean_cuts(net) == ((0,), (2, 3, 4), (7,), (8,))
    assert segments(net) == (
        Segment((0,), False, (0,)),
        Segment((1, 2, 3, 4), True, (2, 3, 4)),
        Segment((5, 6, 7), True, (7,)),
        Segment((8,), False, (8,)),
    )
    # once one of them is read alone, too, or they are added, the cut is gone
    assert clean_cuts(graph([[-1], [0], [0], [1, 2], [1, 2], [1]], beside=(3, 4))) == ((0,),)
    assert clean_cuts(graph([[-1], [0], [0], [1, 2], [1, 2]])) == ((0,),)
    # chains that meet there, and the chain that begins
    two = graph([["input:a"], ["input:b"], [0, 1], [2]], beside=(2,))
    assert [s.layers for s in segments(two)] == [(0,), (1,), (2, 3)]


def test_the_blocks_of_a_dense_network_are_cut_at_their_transitions() -> None:
    """Each layer reads all before it in the block side by side; the last one reads all."""
    net = graph([[-1], [0], [0, 1], [0, 1, 2], [3], [4]], beside=(2, 3))
    assert segments(net) == (
        Segment((0,), False, (0,)),
        Segment((1, 2), True, (0, 1, 2)),
        Segment((3, 4, 5), False, (5,)),
    )
