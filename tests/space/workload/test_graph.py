"""Ranks, what depends on what, and which layers can share a group."""

from itertools import chain, combinations

import pytest
from hypothesis import given, strategies as st

from archloom.space.errors import Infeasible
from archloom.space.fusion.plan import FusionGroup, FusionPlan, plan_violations
from archloom.space.fusion.running_order import group_order, runnable
from archloom.space.networks.registry import network
from archloom.space.workload.graph import (
    ancestors,
    between,
    bits,
    can_share,
    descendants,
    positions,
    rank_order,
    ranks,
)
from archloom.space.workload.network import Network

from ...cases.graphs import descending, graph, graphs

# l0 -> l1 -> l2 -> l4 and l0 -> l3 -> l4
BLOCK = graph([[-1], [0], [1], [0], [2, 3]])


def subsets(net: Network) -> list[tuple[int, ...]]:
    layers = range(len(net.layers))
    return list(chain.from_iterable(combinations(layers, size) for size in range(1, len(layers))))


def with_singles(net: Network, group: tuple[int, ...]) -> FusionPlan:
    """The group and single layers, in an order in which they can run if there is one."""
    above = set(positions(sum(1 << i for i in range(len(net.layers)) if i not in group)))
    early = [i for i in above if not any(i in descending(net, g) for g in group)]
    late = [i for i in above if i not in early]
    single = [FusionGroup((i,)) for i in sorted(early)], [FusionGroup((i,)) for i in sorted(late)]
    return FusionPlan((*single[0], FusionGroup(group), *single[1]))


def test_ranks_are_longest_paths_from_an_input() -> None:
    assert ranks(BLOCK) == (1, 2, 3, 2, 4)
    assert rank_order(BLOCK) == (0, 1, 3, 2, 4)
    assert ranks(graph([[-1], [-1], [0, -1], [1, 2]])) == (1, 1, 2, 3)


@given(graphs())
def test_ranks_do_not_depend_on_how_layers_are_listed(net: Network) -> None:
    order = rank_order(net)
    assert sorted(order) == list(range(len(net.layers)))
    listed = Network(
        "listed", tuple(net.layers[i] for i in order), tuple(net.reads[i] for i in order)
    )
    assert ranks(listed) == tuple(ranks(net)[i] for i in order)
    assert list(ranks(listed)) == sorted(ranks(net))
    for i, producers in enumerate(net.producers):
        assert ranks(net)[i] == 1 + max((ranks(net)[p] for p in producers), default=0)


@given(st.sets(st.integers(0, 300)))
def test_sets_of_layers_as_numbers(layers: set[int]) -> None:
    assert positions(bits(layers)) == tuple(sorted(layers))


@given(graphs())
def test_what_depends_on_a_layer(net: Network) -> None:
    below = [descending(net, i) - {i} for i in range(len(net.layers))]
    assert list(map(set, map(positions, descendants(net)))) == below
    above = [{j for j in range(len(below)) if i in below[j]} for i in range(len(below))]
    assert list(map(set, map(positions, ancestors(net)))) == above


@given(graphs(most=7))
def test_a_group_is_possible_if_and_only_if_a_plan_with_it_is(net: Network) -> None:
    for group in subsets(net):
        broken = plan_violations(net, with_singles(net, group))
        found = can_share(net, group)
        assert (found is None) == (broken == [])
        if found is not None:
            assert found.needed != found.available
            assert ("share no data" in broken[0]) == (found.reason == "no_shared_data")


@given(graphs(), st.data())
def test_layers_between_make_a_group_convex(net: Network, data: st.DataObject) -> None:
    layers = st.integers(0, len(net.layers) - 1)
    group = data.draw(st.sets(layers, min_size=1))
    lacking = set(between(net, group))
    on_paths = {
        i
        for i in set(range(len(net.layers))) - group
        if any(i in descending(net, a) for a in group)
        and any(b in descending(net, i) for b in group)
    }
    assert lacking == on_paths
    assert between(net, group | lacking) == ()


def test_the_broken_rule_has_a_name_and_amounts() -> None:
    assert can_share(BLOCK, (0, 1, 2, 3, 4)) is None
    assert can_share(BLOCK, [3, 1]) is None  # both read l0
    assert can_share(BLOCK, (0, 2, 3, 4)) == Infeasible(
        "not_convex",
        "l0, l2, l3, l4",
        5,
        4,
        "layers",
        "a path leaves the group and returns through l1: add these layers, or split the group",
    )
    assert can_share(BLOCK, (0, 1, 4)) == Infeasible(
        "no_shared_data", "l0, l1, l4", 1, 2, "parts", "run these apart: l0, l1; l4"
    )
    long = graph([[-1], *([i] for i in range(9))])
    found = can_share(long, (0, *range(2, 10)))
    assert found is not None
    assert found.where == "l0, l2, l3, l4, l5, l6, 3 more"


@pytest.mark.parametrize("layers", [(), (-1, 0), (3, 5)])
def test_layers_that_are_not_there_are_refused(layers: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"at least one position of graph, which are 0 to 4"):
        can_share(BLOCK, layers)


def test_groups_of_a_residual_network() -> None:
    net = network("resnet18")
    at = net.index
    block = [at(f"stage2.0.{n}") for n in ("conv1", "conv2", "shortcut", "add")]
    assert can_share(net, block) is None
    assert can_share(net, block[1:]) is None
    missing = can_share(net, [block[0], block[2], block[3]])
    assert missing is not None
    assert "returns through stage2.0.conv2: add" in missing.hint


def test_facts_are_computed_once_for_each_network() -> None:
    net = graph([[-1], [0]])
    assert ranks(net) is ranks(net)
    assert ranks(graph([[-1], [0]])) == ranks(net)
    assert descendants(net) != ancestors(net)


@given(graphs(), st.data())
def test_groups_run_by_earliest_layer_but_for_those_that_wait_for_each_other(
    net: Network, data: st.DataObject
) -> None:
    count = len(net.layers)
    owner = data.draw(st.lists(st.integers(0, 4), min_size=count, max_size=count))
    groups = [tuple(i for i in range(count) if owner[i] == g) for g in sorted(set(owner))]
    groups = data.draw(st.permutations(groups))
    home = {i: g for g, members in enumerate(groups) for i in members}
    done: list[int] = []
    while True:
        ready = [
            (groups[g][0], g)
            for g in range(len(groups))
            if g not in done
            and all(home[p] in (*done, g) for i in groups[g] for p in net.producers[i])
        ]
        if not ready:
            break
        done.append(min(ready)[1])
    assert runnable(net, groups) == done
    assert group_order(net, groups) == (done if len(done) == len(groups) else None)
