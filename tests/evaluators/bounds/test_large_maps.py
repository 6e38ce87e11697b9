"""Bounds of any plan for maps that the buffer does not hold, against all plans of small networks."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np
import pytest

from archloom.evaluators.bounds.compulsory import demand
from archloom.evaluators.bounds.needed_outputs import needed
from archloom.evaluators.bounds.network import crossing_kernel
from archloom.evaluators.bounds.network.crossings import crossings, held_words, room_of
from archloom.evaluators.bounds.network.plans import any_plan_bound
from archloom.evaluators.bounds.network.work import network_work
from archloom.evaluators.fusion.group import group_cost
from archloom.evaluators.fusion.group_share import GroupCost
from archloom.evaluators.fusion.plan import NetworkCost, network_cost
from archloom.search.mapping.mapper import Mapper
from archloom.search.registry import MAPPING_SEARCHES
from archloom.space.errors import Infeasible
from archloom.space.fusion.plan import FusionGroup
from archloom.space.fusion.residency import ALONE, Residents
from archloom.space.hardware.effects import AccessEnergy
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network as known_network
from archloom.space.workload import INPUT, Builder, Network

from ...cases.designs import eyeriss_like, several
from ...cases.large_maps import large_network, large_plan, small_chip
from ...cases.small_designs import casco_edge, three_levels
from ...cases.sweeps import sweep
from ...oracles.every_pair_plan import every_plan

#: prices of making a map again, in words over DRAM
PRICES: Final = np.array([0.0, 1.0, 10.0, 30.0, 100.0, 300.0, 1e5])


def two(channels: tuple[int, int], size: int, kernel: int, batch: int, between: str) -> Network:
    """Return a layer that makes a map of one channel's, perhaps an operator, and a reader."""
    net = Builder((channels[0] if between == "nothing made" else 1, size, size))
    if between == "nothing made":
        x = net.maxpool("make", INPUT, kernel=1, stride=1)
    else:
        x = net.conv("make", INPUT, channels[0], kernel=1)
    if between == "pool":
        x = net.maxpool("between", x, kernel=3, stride=1, pad=1)
    elif between == "scale":
        x = net.norm("between", x)
    net.conv("read", x, channels[1], kernel=kernel)
    return net.network("two").with_batch(batch)


def chip_of(words: int, *, optional: bool = False) -> Hardware:
    """Return a chip with a buffer of so many words, on which DRAM costs nearly all."""
    *inside, dram = three_levels(words, (1, 1, 1), optional=optional).levels
    cheap, dear = AccessEnergy(0.01, 0.01, 0.01), AccessEnergy(1000.0, 1000.0, 1000.0)
    levels = (*(replace(level, energy=cheap) for level in inside), replace(dram, energy=dear))
    return replace(three_levels(words), levels=levels, mac_pj=0.01)


class Pricing:
    """Costs of the groups of a network by searched mappings, each group once."""

    def __init__(self, network: Network, chip: Hardware) -> None:
        self._network, self._chip = network, chip
        self._mapper = Mapper(MAPPING_SEARCHES["auto"](), 500, seed=1, factors="imperfect")
        self._known: dict[tuple[FusionGroup, Residents], GroupCost | Infeasible] = {}

    def __call__(self, group: FusionGroup, residents: Residents = ALONE) -> GroupCost | Infeasible:
        key = group, residents
        if key not in self._known:
            self._known[key] = group_cost(
                self._network,
                group,
                self._chip,
                lambda problem: self._mapper(replace(problem, weights=(1.0, 0.0))),
                residents,
            )
        return self._known[key]


def moved(cost: NetworkCost) -> tuple[int, float]:
    """Return words over DRAM beyond those of every plan, and how often layers run again."""
    again = 0.0
    for group in cost.groups:
        for share in group.layers:
            layer = cost.network.layers[share.layer]
            if layer.uses_macs:
                again += max(0.0, share.operations / layer.macs - 1)
    return cost.dram_reads + cost.dram_writes - demand(cost.network).dram_words, again


def kind_of(cost: NetworkCost) -> str:
    """Return how the reader runs."""
    last = cost.groups[-1].group
    if len(last.layers) == 1:
        return "apart"
    return "nest" if last.nest else "tiles"


def least_of(kind: str, network: Network, chip: Hardware) -> list[float]:
    """Return the words that the map costs at the least in plans of a kind, at each price."""
    ((one,), room) = network_work(network).crossing, room_of(chip)
    if kind == "apart":
        return [crossing_kernel._apart(one, room, 1.0)] * len(PRICES)
    if kind == "tiles":
        return [crossing_kernel._tiled(one, room, 1.0)] * len(PRICES)
    return [crossing_kernel._nested(one, room, 1.0, again) for again in PRICES]


#: channels made and results, rows, window, images, operator between, words of the buffer; how much
#: more than the bound the best plan of each kind moves at the price at which it is nearest
CASES: Final = [
    ((8, 8), 3, 3, 1, "", 71, {"apart": 1.0, "nest": 1.0}),
    ((4, 5), 4, 1, 1, "nothing made", 19, {"tiles": 1.0}),
    ((6, 7), 3, 1, 1, "", 23, {"nest": 1.143}),
    ((4, 4), 4, 3, 2, "", 60, {}),
    ((4, 4), 4, 3, 1, "pool", 50, {}),
    ((4, 4), 4, 1, 1, "scale", 15, {}),
]


def costs(network: Network, chip: Hardware) -> Iterator[NetworkCost]:
    pricing = Pricing(network, chip)
    for plan in every_plan(network, 2):
        cost = network_cost(network, plan, chip, pricing)
        if not isinstance(cost, Infeasible):
            yield cost


@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_plan_of_two_layers_moves_less(case) -> None:
    channels, size, kernel, batch, between, words, near = case
    network, chip = two(channels, size, kernel, batch, between), chip_of(words)
    ratios = dict[str, list[float]]()
    for cost in costs(network, chip):
        bound = any_plan_bound(network, chip)
        assert bound.energy_pj <= cost.energy_pj
        assert bound.latency_cycles <= cost.latency_cycles
        words_moved, again = moved(cost)
        kind = kind_of(cost)
        for price, least in zip(PRICES, least_of(kind, network, chip), strict=True):
            assert least <= words_moved + price * again + 1e-9
            if least:
                ratios.setdefault(kind, []).append((words_moved + price * again) / least)
    print({k: min(v) for k, v in ratios.items()})
    assert {kind: min(ratios[kind]) for kind in near} == pytest.approx(near, rel=0.01)
