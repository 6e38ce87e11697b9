"""The least plan by dynamic programming against all valid partitions, one by one."""

from math import inf

import numpy as np
import pytest

from archloom.search.fusion.optimus.partition_dp import GroupWordCosts, least_partition
from archloom.search.fusion.optimus.planner import OptimusCosts
from archloom.space.fusion.plan import FusionGroup, FusionPlan, plan_violations
from archloom.space.workload.graph import ancestors, bits, positions
from archloom.space.workload.network import Network

from ....cases.drawn_networks import all_groups, drawn_network, partitions
from ....cases.small_designs import casco_edge
from ....cases.sweeps import sweep


def fewest_words(network: Network, price: GroupWordCosts, groups: list[int]) -> float:
    """The least cost of all valid partitions."""
    words = {g: price.words(positions(g)) for g in groups}
    able = [g for g in words if words[g] < inf]
    return min((sum(words[bits(g)] for g in p) for p in partitions(network, able)), default=inf)


def check(network: Network, price: GroupWordCosts, groups: list[int]) -> float:
    """The plan that is found is valid, costs what it says, and no other costs less."""
    found = least_partition(network, price)
    assert found.longest_run is None
    assert found.words == fewest_words(network, price, groups)
    if found.words == inf:
        assert found.groups == ()
    else:
        plan = FusionPlan(tuple(FusionGroup(g) for g in found.groups))
        assert plan_violations(network, plan) == []
        assert sum(map(price.words, found.groups)) == found.words
    return found.words


class AnyBuffer(OptimusCosts):
    """Optimus' costs with a buffer of any size."""

    def __init__(self, network: Network, words: int, holds_weights: bool) -> None:
        super().__init__(network, casco_edge(32))
        self.capacity = words
        self._holds_weights = holds_weights


@pytest.mark.parametrize("chunk", sweep(range(8), 1))
def test_no_partition_moves_fewer_words(chunk: int) -> None:
    """320 networks, each in buffers of three sizes."""
    fused = 0
    for seed in range(40 * chunk, 40 * chunk + 40):
        rng = np.random.default_rng(seed)
        network = drawn_network(rng)
        words = sum(layer.output_words + layer.weight_words for layer in network.layers)
        groups = all_groups(network)
        alone = tuple((i,) for i in range(len(network.layers)))
        for _ in range(3):
            room = int(2 ** rng.uniform(2, np.log2(2 * words + 4)))
            costs = AnyBuffer(network, room, bool(rng.random() < 0.7))
            found = check(network, costs.group_costs(), groups)
            fused += found < sum(map(costs.words, alone))
    assert fused > 30


@pytest.mark.parametrize("chunk", sweep(range(4), 2))
def test_any_cost_that_adds_up_is_least(chunk: int) -> None:
    """Costs that follow from nothing; some groups cannot run."""
    for seed in range(20 * chunk, 20 * chunk + 20):
        rng = np.random.default_rng(1000 + seed)
        network = drawn_network(rng, most=8)
        numbers = rng.integers(1, 50, 1 << len(network.layers)).astype(float)
        numbers[rng.random(len(numbers)) < rng.random()] = inf
        words = {positions(g): float(numbers[g]) for g in range(1, len(numbers))}
        never = dict.fromkeys(words, False)
        nothing = (0.0,) * len(network.layers)
        price = GroupWordCosts(words.__getitem__, never.__getitem__, nothing)
        check(network, price, all_groups(network))


def test_what_is_hopeless_stays_so() -> None:
    """No group that can run has a part, done first, that is hopeless."""
    never_fits = 0
    for seed in range(40):
        rng = np.random.default_rng(2000 + seed)
        network = drawn_network(rng, most=7)
        words = sum(layer.output_words for layer in network.layers)
        costs = AnyBuffer(network, int(2 ** rng.uniform(2, np.log2(words + 4))), True)
        groups = all_groups(network)
        never_fits += sum(costs.never_fits(positions(g)) for g in groups)
        for group in groups:
            if group & (group - 1) and costs.words(positions(group)) < inf:
                parts = [group & (above | 1 << i) for i, above in enumerate(ancestors(network))]
                assert not any(costs.never_fits(positions(part)) for part in parts if part)
    assert never_fits > 100


def test_what_costs_too_much_work_is_said() -> None:
    """With little work allowed, runs of layers alone are compared; the answer says so."""
    said = 0
    for seed in range(30):
        rng = np.random.default_rng(3000 + seed)
        network = drawn_network(rng)
        if len(network.layers) < 4:
            continue
        costs = AnyBuffer(network, 400, True)
        best = least_partition(network, costs.group_costs())
        short = least_partition(network, costs.group_costs(), most_work=12)
        if len(best.groups) == 1:
            # nothing costs less than the one group that was looked at first
            assert short == best
            continue
        said += 1
        assert short.longest_run == int((24 / len(network.layers)) ** 0.5)
        assert short.words >= best.words
        assert all(g == tuple(range(g[0], g[-1] + 1)) for g in short.groups)
        assert max(map(len, short.groups)) <= short.longest_run
        plan = FusionPlan(tuple(FusionGroup(g) for g in short.groups))
        assert plan_violations(network, plan) == []
    assert said > 5
