"""Cuts of networks: which plans are paths through them."""

import pytest

from archloom.search.fusion.joint.cuts.cut_graph import MOST_EDGES, CutGraph, cut_graph
from archloom.search.fusion.partition import Partition, normalise
from archloom.space.fusion.running_order import group_order
from archloom.space.networks.registry import network
from archloom.space.workload.graph import connected
from archloom.space.workload.network import Network

from .....cases.small_designs import chain, graph, valid_partitions
from .....cases.sweeps import sweep

SMALL = {
    "one layer": chain(1),
    "chain": chain(6),
    "residual": network("tiny_cnn"),
    "diamond": graph([(-1,), (0,), (0,), (1, 2), (3,), (3, 4)]),
    "two heads": graph([(-1,), (0,), (1,), (0,), (3,), (-1, 4)]),
}


def partitions(cuts: CutGraph) -> set[Partition]:
    """Every partition that some path goes through, whatever is pinned."""
    ahead: dict[int, list[tuple[int, tuple[int, ...]]]] = {}
    for edge in cuts.edges:
        if not edge.held and not edge.kept:
            ahead.setdefault(edge.start, []).append((edge.end, edge.layers))
    ends = {edge.end for edge in cuts.edges} - {edge.start for edge in cuts.edges}
    found: set[Partition] = set()
    open_paths: list[tuple[int, tuple[tuple[int, ...], ...]]] = [(0, ())]
    while open_paths:
        cut, groups = open_paths.pop()
        if cut in ends:
            found.add(normalise(groups))
        open_paths += [(end, (*groups, layers)) for end, layers in ahead.get(cut, ())]
    return found


@pytest.mark.parametrize("name", SMALL)
def test_every_valid_partition_of_a_small_network_is_a_path(name: str) -> None:
    cuts = cut_graph(SMALL[name], 0)
    assert cuts.complete
    assert partitions(cuts) == set(valid_partitions(SMALL[name]))


def check(net: Network, cuts: CutGraph, words: int) -> None:
    done: dict[int, set[int]] = {0: set()}
    for edge in cuts.edges:
        assert edge.start < edge.end < cuts.cuts
        before = done[edge.start]
        assert done.setdefault(edge.end, before | set(edge.layers)) == before | set(edge.layers)
        assert connected(net, edge.layers)
        held = sum(net.layers[i].output_words for i in (*edge.held, *edge.kept))
        assert held <= words
        assert set(edge.kept) <= set(edge.layers)
        assert all(net.consumers[i] for i in edge.kept)
        assert set(edge.held) <= before
        # a map is held as long as some reader of it has still to come
        assert all(set(net.consumers[i]) - before for i in edge.held)
    assert set(done) == set(range(cuts.cuts))


@pytest.mark.parametrize("words", [0, 300, 1024, 10**9])
@pytest.mark.parametrize("name", SMALL)
def test_pinned_maps_fit_and_are_still_to_be_read(name: str, words: int) -> None:
    cuts = cut_graph(SMALL[name], words)
    check(SMALL[name], cuts, words)
    assert words < 10**9 or name == "one layer" or any(edge.held for edge in cuts.edges)


@pytest.mark.parametrize("name", sweep(["googlenet", "unet", "efficientnet_b0", "densenet161"], 3))
def test_large_networks_have_paths_and_few_steps(name: str) -> None:
    net = network(name)
    cuts = cut_graph(net, 10**9)
    assert len(cuts.edges) <= MOST_EDGES
    check(net, cuts, 10**9)
    assert any(edge.kept for edge in cuts.edges)
    last = [edge for edge in cuts.edges if edge.end == cuts.cuts - 1]
    assert last
    singles = [(i,) for i in range(len(net.layers))]
    assert group_order(net, singles) is not None
    assert set(singles) <= {edge.layers for edge in cuts.edges}
