"""Partitions of networks and the operators of the genetic search on them."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st

from archloom.search.fusion.partition import (
    MUTATIONS,
    Group,
    Partition,
    crossover,
    merge,
    normalise,
    repair,
    singletons,
    split,
    steal,
)
from archloom.space.fusion.plan import FusionGroup, FusionPlan, plan_violations
from archloom.space.fusion.running_order import group_order
from archloom.space.networks.registry import network
from archloom.space.workload.graph import components, connected
from archloom.space.workload.network import Network

from ...cases.small_designs import chain, graph, valid_partitions

REAL = {name: network(name) for name in ("resnet18", "mobilenetv2", "tiny_mobile")}


@st.composite
def networks(draw: st.DrawFn) -> Network:
    """Random graphs of convolutions and adds; several sources and sinks are allowed."""
    if draw(st.integers(0, 9)) == 0:
        return REAL[draw(st.sampled_from(sorted(REAL)))]
    reads = []
    for i in range(draw(st.integers(1, 12))):
        earlier = st.integers(-1, i - 1)
        reads.append(tuple(draw(st.lists(earlier, min_size=1, max_size=2))))
    return graph(reads)


@st.composite
def cuts(draw: st.DrawFn, net: Network) -> list[Group]:
    """Any grouping of the layers, however senseless."""
    n = len(net.layers)
    owner = draw(st.lists(st.integers(0, n - 1), min_size=n, max_size=n))
    return [tuple(i for i in range(n) if owner[i] == g) for g in sorted(set(owner))]


rngs = st.integers(0, 2**32).map(np.random.default_rng)


@st.composite
def valid(draw: st.DrawFn, net: Network) -> Partition:
    """A valid partition: half of the time as grown by random mutations."""
    if draw(st.booleans()):
        return repair(net, draw(cuts(net)))
    rng, plan = draw(rngs), singletons(net)
    for _ in range(draw(st.integers(0, 10))):
        plan = repair(net, merge(net, list(plan), rng))
    return plan


def violations(net: Network, partition: Partition) -> list[str]:
    order = group_order(net, partition)
    if order is None:
        return ["the groups wait for each other"]
    return plan_violations(net, FusionPlan(tuple(FusionGroup(partition[g]) for g in order)))


def covers(net: Network, groups: list[Group]) -> bool:
    return sorted(i for g in groups for i in g) == list(range(len(net.layers)))


@given(st.data())
def test_repair_makes_any_grouping_valid_and_only_cuts(data: st.DataObject) -> None:
    net = data.draw(networks())
    groups = data.draw(cuts(net))
    repaired = repair(net, groups)
    assert violations(net, repaired) == []
    assert all(any(set(part) <= set(group) for group in groups) for part in repaired)
    assert repair(net, repaired) == repaired
    # neither the order of groups nor that of their layers matters
    assert repair(net, [tuple(reversed(g)) for g in reversed(groups)]) == repaired


@given(st.data())
def test_repair_keeps_what_is_valid(data: st.DataObject) -> None:
    net = data.draw(networks())
    order = data.draw(cuts(net))
    if violations(net, normalise(order)) == []:
        assert repair(net, order) == normalise(order)
    assert repair(net, singletons(net)) == singletons(net)
    whole = tuple(range(len(net.layers)))
    if connected(net, whole):
        assert repair(net, [whole]) == (whole,)


def test_every_valid_partition_of_a_residual_block_is_kept() -> None:
    # conv, conv, add of both, conv: {0, 2} alone would be entered again
    net = graph([(-1,), (0,), (0, 1), (2,)])
    plans = valid_partitions(net)
    assert all(violations(net, p) == [] for p in plans)
    # 15 groupings of 4 layers; {3} shares no data with 0 or 1, and 2 waits for 1 waits for 0
    expected = {
        ((0,), (1,), (2,), (3,)),
        ((0, 1), (2,), (3,)),
        ((0,), (1, 2), (3,)),
        ((0,), (1,), (2, 3)),
        ((0, 1), (2, 3)),
        ((0, 1, 2), (3,)),
        ((0,), (1, 2, 3)),
        ((0, 1, 2, 3),),
    }
    assert set(plans) == expected


def test_repair_cuts_a_circle_of_two_groups() -> None:
    # two chains from the input that feed each other's groups
    net = graph([(-1,), (-1,), (0, 1), (1, 0), (2, 3)])
    repaired = repair(net, [(0, 3), (1, 2), (4,)])
    assert violations(net, repaired) == []
    assert len(repaired) == 4


@given(st.data())
def test_components_hang_together_and_are_as_large_as_can_be(data: st.DataObject) -> None:
    net = data.draw(networks())
    members = data.draw(st.sets(st.sampled_from(range(len(net.layers))), min_size=1))
    parts = components(net, members)
    assert sorted(i for p in parts for i in p) == sorted(members)
    assert all(connected(net, p) for p in parts)
    assert not any(connected(net, a + b) for a in parts for b in parts if a < b)


@given(st.data())
def test_crossover_takes_groups_from_its_parents(data: st.DataObject) -> None:
    net = data.draw(networks())
    one, other = data.draw(valid(net)), data.draw(valid(net))
    child = crossover(one, other, data.draw(rngs))
    assert covers(net, child)
    assert [g[0] for g in child] == sorted(g[0] for g in child)
    taken: set[int] = set()
    for group in child:
        sources = [set(g) - taken for g in (*one, *other) if group[0] in g]
        assert set(group) in sources
        taken |= set(group)


@given(st.data())
def test_crossover_of_equals_changes_nothing(data: st.DataObject) -> None:
    net = data.draw(networks())
    plan = data.draw(valid(net))
    assert normalise(crossover(plan, plan, data.draw(rngs))) == plan


def test_crossover_reaches_every_mix_of_its_parents() -> None:
    one, other = ((0, 1), (2, 3)), ((0,), (1, 2), (3,))
    found = {normalise(crossover(one, other, np.random.default_rng(s))) for s in range(200)}
    assert found == {
        ((0, 1), (2, 3)),
        ((0, 1), (2,), (3,)),
        ((0,), (1,), (2, 3)),
        ((0,), (1,), (2,), (3,)),
        ((0,), (1, 2), (3,)),
    }


def changed(before: Partition, after: list[Group]) -> tuple[set[Group], set[Group]]:
    """Groups that vanished and groups that came."""
    return set(before) - set(after), set(after) - set(before)


@given(st.data())
def test_merge_joins_two_neighbours(data: st.DataObject) -> None:
    net = data.draw(networks())
    plan = data.draw(valid(net))
    after = merge(net, list(plan), data.draw(rngs))
    assert covers(net, after)
    gone, come = changed(plan, after)
    if gone:
        (joined,), (a, b) = come, gone
        assert joined == tuple(sorted(a + b))
        assert connected(net, joined)
    else:
        assert any(connected(net, g) and _isolated(net, g) for g in plan)


def _isolated(net: Network, group: Group) -> bool:
    """Whether a group shares data with no layer outside."""
    return set().union(*(net.neighbours[i] for i in group)) <= set(group)


@given(st.data())
def test_split_cuts_one_group_in_two(data: st.DataObject) -> None:
    net = data.draw(networks())
    plan = data.draw(valid(net))
    after = split(net, list(plan), data.draw(rngs))
    assert covers(net, after)
    gone, come = changed(plan, after)
    if gone:
        (whole,) = gone
        first, second = sorted(come)
        assert first + second == whole
        assert first
        assert second
    else:
        assert plan == singletons(net)


@given(st.data())
def test_steal_moves_one_layer_to_a_group_that_shares_data_with_it(data: st.DataObject) -> None:
    net = data.draw(networks())
    plan = data.draw(valid(net))
    after = steal(net, list(plan), data.draw(rngs))
    assert covers(net, after)
    assert all(after)
    homes = [{i: set(g) for g in groups for i in g} for groups in (plan, after)]
    gone, come = changed(plan, after)
    if not gone:
        assert any(_isolated(net, g) for g in plan)
        return
    # the thief: a group that grew by one layer
    moved = [(i, old) for g in come for old in plan if set(old) < set(g) for i in set(g) - set(old)]
    assert any(
        net.neighbours[i] & set(old) and homes[1][i] == {*old, i} and i in homes[0]
        for i, old in moved
    )
    assert sum(len(g) for g in gone) == sum(len(g) for g in come)
    assert len(gone) == 2


@pytest.mark.parametrize("mutate", MUTATIONS)
def test_a_network_of_one_layer_cannot_be_mutated(mutate: object) -> None:
    assert callable(mutate)
    net = chain(1)
    assert mutate(net, [(0,)], np.random.default_rng(0)) == [(0,)]


def test_mutations_connect_all_partitions_of_a_chain() -> None:
    """Merges and splits lead from any plan to any other, so nothing is out of reach."""
    net, rng = chain(4), np.random.default_rng(0)
    seen = {singletons(net)}
    plan = singletons(net)
    for _ in range(400):
        mutate = MUTATIONS[int(rng.integers(3))]
        plan = repair(net, mutate(net, list(plan), rng))
        seen.add(plan)
    # a chain of n layers has 2 ** (n - 1) valid partitions: a cut or none between neighbours
    assert len(seen) == 8
    assert all(b[0] == a[-1] + 1 for p in seen for a, b in pairwise(p))
