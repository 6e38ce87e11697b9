"""Chains of layers whose maps and weights are larger than the buffer, and random plans of them."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from archloom.evaluators.bounds.network.maps.crossing_kernel import least_crossings
from archloom.evaluators.bounds.network.maps.crossing_maps import room_of
from archloom.evaluators.bounds.network.work import network_work
from archloom.evaluators.fusion import GroupCost, NetworkCost, group_cost, network_cost
from archloom.search.mapping.mapper import Mapper
from archloom.search.mapping.simd.searches import LocalMapping
from archloom.space.errors import Infeasible
from archloom.space.fusion.plan import FusionGroup, FusionPlan, Pin, plan_violations
from archloom.space.fusion.residency import ALONE, Residents
from archloom.space.hardware.effects import AccessEnergy
from archloom.space.hardware.hardware import Hardware
from archloom.space.workload import INPUT, Builder, Network

from .designs import edge
from .groups import POLICIES
from .random_nests import random_nest
from .small_designs import three_levels


def large_network(rng: np.random.Generator) -> Network:
    """Return layers one after another, some with a pool, an add or an activation between them."""
    size, channels = int(rng.integers(2, 7)), int(rng.choice([2, 4, 6, 8]))
    net = Builder((channels, size, size))
    x = skip = INPUT
    for number in range(int(rng.integers(2, 5))):
        made = int(rng.choice([channels, channels, 4, 8, 12]))
        kernel, stride = int(rng.choice([1, 3])), int(rng.choice([1, 1, 1, 2]))
        x = net.conv(f"conv{number}", x, made, kernel=kernel, stride=stride, padding=kernel // 2)
        same = net.shape(x) == net.shape(skip)
        draw = float(rng.random())
        if draw < 0.25 and same:
            x = net.add(f"add{number}", x, skip)
        elif draw < 0.4:
            x = net.maxpool(f"pool{number}", x, kernel=3, stride=1, pad=1)
        elif draw < 0.5:
            x = net.conv(f"wide{number}", x, made, kernel=1)
        if rng.random() < 0.4:
            skip = x
    return net.network("large").with_batch(int(rng.choice([1, 1, 2, 4])))


def small_chip(rng: np.random.Generator, network: Network) -> Hardware:
    """Return a chip whose buffer mostly holds a part of what a layer reads, makes and has weights
    for; its DRAM often costs most."""
    on_macs = [layer for layer in network.layers if layer.uses_macs]
    layer = on_macs[rng.integers(len(on_macs))]
    maps = min(layer.map_read_words[0], layer.output_words) // network.batch
    words = max(16, int(min(maps, layer.weight_words) * rng.uniform(0.2, 1.1)))
    if rng.random() < 0.5:
        hardware = three_levels(words, (1, 1, 1), optional=bool(rng.random() < 0.5))
    else:
        hardware = edge(words)
        spad = replace(hardware.levels[0], capacity_bytes=int(rng.integers(3, 12)))
        hardware = replace(hardware, levels=(spad, *hardware.levels[1:]))
    *inside, dram = hardware.levels
    if rng.random() < 0.25:
        inside[-1] = replace(inside[-1], keeps=("inputs", "outputs"), optional=False)
    chip_pj = float(rng.choice([0.05, 0.5, 5.0]))
    own = AccessEnergy(chip_pj, chip_pj, chip_pj)
    inside = [replace(level, energy=own) for level in inside]
    dram_pj = float(rng.choice([2.0, 50.0, 1000.0]))
    rate = float(rng.choice([0.05, 0.5, 4.0]))
    dram = replace(dram, energy=AccessEnergy(dram_pj, dram_pj, dram_pj), bandwidth_words=rate)
    return replace(hardware, levels=(*inside, dram), mac_pj=chip_pj)


def large_plan(
    rng: np.random.Generator, network: Network, fits: Callable[[FusionGroup], bool]
) -> FusionPlan | None:
    """Return neighbouring layers in groups: alone, in tiles, or in loop nests, some with pins,
    steady weights and sub-batches; None if they break the rules of plans.

    Groups are such that ``fits`` says so, as far as some tries find any.
    """
    count, at, groups = len(network.layers), 0, list[FusionGroup]()
    steady = {i for i, la in enumerate(network.layers) if la.weight_words and rng.random() < 0.05}
    while at < count:
        group = _fitting(rng, network, at, steady, fits)
        end = group.layers[-1] + 1
        pins = [
            Pin(i, max(network.consumers[i]))
            for i in group.layers
            if any(v >= end for v in network.consumers[i]) and rng.random() < 0.03
        ]
        groups.append(replace(group, pins=tuple(pins)))
        at = end
    parts = int(rng.choice([p for p in (1, 1, 1, 2, 4) if network.batch % p == 0]))
    plan = FusionPlan(tuple(replace(group, sub_batches=parts) for group in groups))
    return None if plan_violations(network, plan) else plan


def _fitting(
    rng: np.random.Generator,
    network: Network,
    start: int,
    steady: set[int],
    fits: Callable[[FusionGroup], bool],
) -> FusionGroup:
    for _ in range(40):
        end = int(rng.integers(start + 1, min(len(network.layers), start + 4) + 1))
        group = _group(rng, network, tuple(range(start, end)))
        if group is not None and fits(group):
            always = tuple(i for i in group.layers if i in steady and i not in group.resident)
            return replace(group, steady=always)
    return FusionGroup((start,), steady=(start,) if start in steady else ())


def _group(
    rng: np.random.Generator, network: Network, members: tuple[int, ...]
) -> FusionGroup | None:
    if rng.random() < 0.6:
        found = random_nest(rng, network, members)
        return None if found is None else FusionGroup(members, nest=found[1])
    if len(members) == 1 and rng.random() < 0.4:
        return FusionGroup(members)
    last = network.layers[members[-1]]
    tile = int(rng.integers(1, last.p + 1)), int(rng.integers(1, last.q + 1))
    own = [i for i in members if network.layers[i].weight_words]
    resident = tuple(i for i in own if rng.random() < 0.2)
    return FusionGroup(members, tile, POLICIES[rng.integers(3)], resident=resident)


def large_costs(seed: int, plans: int) -> Iterator[NetworkCost]:
    """Yield costs of random plans of a random network on a chip, with mappings for some
    objective; of at most so many plans, as the evaluator refuses some."""
    rng = np.random.default_rng(seed)
    network = large_network(rng)
    chip = small_chip(rng, network)
    weights = ((1.0, 0.0), (1.0, 1.0), (0.0, 1.0))[int(rng.integers(3))]
    mapper = Mapper(LocalMapping(), 300, seed=1, factors="imperfect")

    def price(group: FusionGroup, residents: Residents = ALONE) -> GroupCost | Infeasible:
        return group_cost(
            network, group, chip, lambda found: mapper(replace(found, weights=weights)), residents
        )

    for _ in range(plans):
        plan = large_plan(rng, network, lambda group: isinstance(price(group), GroupCost))
        cost = None if plan is None else network_cost(network, plan, chip, price)
        if isinstance(cost, NetworkCost):
            yield cost


def words_of_maps(network: Network, chip: Hardware) -> float:
    """Return the words that large maps cost at the least if nothing is made again."""
    found = network_work(network).crossing
    dear = np.full((1, len(found)), 1e15)
    return float(least_crossings(found, room_of(chip), np.ones(1), dear)[0])
