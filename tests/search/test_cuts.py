"""Cuts of networks: which plans are paths through them."""

import pytest

from archloom.search.cuts import MOST_STEPS, CutGraph, cut_graph
from archloom.search.partition import Partition, normalise
from archloom.space.fusion import connected, group_order
from archloom.space.network import Network
from archloom.space.networks import network

from .small_cases import chain, graph, valid_partitions

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
    for step in cuts.steps:
        if not step.held and not step.kept:
            ahead.setdefault(step.start, []).append((step.end, step.layers))
    ends = {step.end for step in cuts.steps} - {step.start for step in cuts.steps}
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
    for step in cuts.steps:
        assert step.start < step.end < cuts.cuts
        before = done[step.start]
        assert done.setdefault(step.end, before | set(step.layers)) == before | set(step.layers)
        assert connected(net, step.layers)
        held = sum(net.layers[i].output_words for i in (*step.held, *step.kept))
        assert held <= words
        assert set(step.kept) <= set(step.layers)
        assert all(net.consumers[i] for i in step.kept)
        assert set(step.held) <= before
        # a map is held as long as some reader of it has still to come
        assert all(set(net.consumers[i]) - before for i in step.held)
    assert set(done) == set(range(cuts.cuts))


@pytest.mark.parametrize("words", [0, 300, 1024, 10**9])
@pytest.mark.parametrize("name", SMALL)
def test_pinned_maps_fit_and_are_still_to_be_read(name: str, words: int) -> None:
    cuts = cut_graph(SMALL[name], words)
    check(SMALL[name], cuts, words)
    assert words < 10**9 or name == "one layer" or any(step.held for step in cuts.steps)


@pytest.mark.parametrize("name", ["googlenet", "densenet161", "unet", "efficientnet_b0"])
def test_large_networks_have_paths_and_few_steps(name: str) -> None:
    net = network(name)
    cuts = cut_graph(net, 10**9)
    assert len(cuts.steps) <= MOST_STEPS
    check(net, cuts, 10**9)
    assert any(step.kept for step in cuts.steps)
    last = [step for step in cuts.steps if step.end == cuts.cuts - 1]
    assert last
    singles = [(i,) for i in range(len(net.layers))]
    assert group_order(net, singles) is not None
    assert set(singles) <= {step.layers for step in cuts.steps}
