"""Bounds of any plan for maps that the buffer does not hold, against all plans of two layers."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pytest
from hypothesis import given, strategies as st

from archloom.evaluators.bounds.compulsory import demand, latency_bound_cycles
from archloom.evaluators.bounds.needed_outputs import needed
from archloom.evaluators.bounds.network.maps import crossing_kernel
from archloom.evaluators.bounds.network.maps.crossing_maps import crossings, held_words, room_of
from archloom.evaluators.bounds.network.plans import any_plan_bound
from archloom.evaluators.bounds.network.work import network_work
from archloom.evaluators.fusion.group import group_cost
from archloom.evaluators.fusion.group_share import GroupCost
from archloom.evaluators.fusion.plan import NetworkCost, network_cost
from archloom.search.mapping.mapper import Mapper
from archloom.search.registry import MAPPING_SEARCHES
from archloom.search.software.planners import fusion_search
from archloom.space.errors import Infeasible
from archloom.space.fusion.plan import FusionGroup
from archloom.space.fusion.residency import ALONE, Residents
from archloom.space.hardware.effects import AccessEnergy
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network as known_network
from archloom.space.workload import INPUT, Builder, Network

from ...cases.bound_triples import held_against
from ...cases.designs import eyeriss_like, several
from ...cases.large_maps import large_costs, large_network, small_chip, words_of_maps
from ...cases.small_designs import casco_edge, cheap_evaluator, three_levels
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


@dataclass(frozen=True)
class Case:
    """Two layers, the words of a buffer, and how many times the bound the best plans of some kinds
    move at the price at which they are nearest.

    Attributes:
        channels: of the map and of the result.
        size: rows and columns.
        kernel, batch, between: window of the reader, images, and what stands between the layers.
        words: of the buffer.
        near: that ratio by kind of plan.
    """

    channels: tuple[int, int]
    size: int
    kernel: int
    batch: int
    between: str
    words: int
    near: dict[str, float]


CASES: Final = [
    Case((4, 5), 4, 1, 1, "nothing made", 19, {"tiles": 1.0, "apart": 1.02}),
    Case((8, 8), 3, 3, 1, "", 71, {"apart": 1.0, "nest": 1.0}),
    Case((6, 7), 3, 1, 1, "", 23, {"nest": 1.14}),
    Case((4, 4), 4, 3, 2, "", 60, {"apart": 1.72}),
    Case((4, 4), 4, 3, 1, "pool", 50, {"nest": 2.5}),
    Case((4, 4), 4, 1, 1, "scale", 15, {"apart": 1.67}),
]


def costs(network: Network, chip: Hardware) -> Iterator[NetworkCost]:
    pricing = Pricing(network, chip)
    for plan in every_plan(network, 2):
        cost = network_cost(network, plan, chip, pricing)
        if not isinstance(cost, Infeasible):
            yield cost


@pytest.mark.parametrize("case", sweep(CASES, 2), ids=str)
def test_no_plan_of_two_layers_moves_less(case: Case) -> None:
    network = two(case.channels, case.size, case.kernel, case.batch, case.between)
    chip, ratios = chip_of(case.words), dict[str, list[float]]()
    bound = any_plan_bound(network, chip)
    for cost in costs(network, chip):
        assert bound.energy_pj <= cost.energy_pj
        assert bound.latency_cycles <= cost.latency_cycles
        words, again = moved(cost)
        kind = kind_of(cost)
        for price, least in zip(PRICES, least_of(kind, network, chip), strict=True):
            assert least <= words + price * again + 1e-9
            if least:
                ratios.setdefault(kind, []).append((words + price * again) / least)
    assert {kind: min(ratios[kind]) for kind in case.near} == pytest.approx(case.near, rel=0.01)


@pytest.mark.parametrize("seed", sweep(range(200), 12))
def test_no_random_plan_is_below(seed: int) -> None:
    for cost in large_costs(seed, 12):
        above = [found for found in held_against(cost) if not found[1] <= found[2]]
        assert above == []


@pytest.mark.parametrize(
    ("name", "kib", "planner"),
    sweep(
        [
            (name, kib, planner)
            for name in ("resnet18", "mobilenetv2", "vgg16")
            for planner in ("joint", "casco", "deepfrack", "fast", "optimus")
            for kib in (32, 64)
        ],
        1,
    ),
)
def test_no_plan_that_is_found_on_a_small_buffer_is_below(
    name: str, kib: int, planner: str
) -> None:
    network = known_network(name)
    evaluator = cheap_evaluator(network, casco_edge(kib, pe_x=8, pe_y=8), 2000)
    search = fusion_search(planner, evaluator)
    cost = evaluator.plan(search.advance(search.start(1), 20).best)
    assert isinstance(cost, NetworkCost)
    above = [found for found in held_against(cost) if not found[1] <= found[2]]
    assert above == []


def test_random_plans_are_of_maps_that_cost_words() -> None:
    kinds = Counter[str]()
    for seed in range(20):
        for cost in large_costs(seed, 3):
            if words_of_maps(cost.network, cost.hardware):
                kinds["any"] += 1
                kinds["nest"] += any(group.group.nest is not None for group in cost.groups)
                kinds["tiles"] += any(group.tiles > 1 for group in cost.groups)
    assert kinds["any"] > 15
    assert min(kinds["nest"], kinds["tiles"]) > 5


def test_maps_of_resnet_cost_more_the_smaller_the_buffer_is() -> None:
    network = known_network("resnet18")
    words = [words_of_maps(network, casco_edge(kib)) for kib in (32, 64, 128, 256)]
    assert words == sorted(words, reverse=True)
    # the maps of stages 1 to 3 have 200,704, 100,352 and 50,176 words for 32,768 of the buffer
    assert words[0] == 4_339_712
    assert words[-1] == 0


@given(st.integers(0, 10**6), st.floats(1.0, 3.0), st.floats(0.0, 1.0))
def test_better_chips_have_no_higher_bound(seed: int, larger: float, cheaper: float) -> None:
    rng = np.random.default_rng(seed)
    network = large_network(rng)
    chip = small_chip(rng, network)
    *inside, buffer, dram = chip.levels
    assert isinstance(buffer.capacity_bytes, int)
    pj = dram.energy.read_pj if dram.energy else 0.0
    less = AccessEnergy(pj * cheaper, pj * cheaper, pj * cheaper)
    roomy = replace(buffer, capacity_bytes=int(buffer.capacity_bytes * larger))
    fast = replace(dram, energy=less, bandwidth_words=dram.bandwidth_words * larger)
    better = any_plan_bound(network, replace(chip, levels=(*inside, roomy, fast)))
    bound = any_plan_bound(network, chip)
    assert better.energy_pj <= bound.energy_pj
    assert better.latency_cycles <= bound.latency_cycles
    assert better.dram_bytes <= bound.dram_bytes


def test_time_is_that_of_dram_or_of_the_chip() -> None:
    """Where both take as long, maps that cross DRAM and maps that are made again take longer."""
    network, chip = known_network("resnet18"), casco_edge(32, pe_x=4, pe_y=4)
    *inside, dram = chip.levels
    slow = replace(chip, levels=(*inside, replace(dram, bandwidth_words=0.1)))
    bound, compulsory = any_plan_bound(network, slow), latency_bound_cycles(network, slow)
    assert 1.05 * compulsory < bound.latency_cycles
    assert bound.latency_cycles < compulsory + 10 * words_of_maps(network, slow)


def test_words_that_cost_nothing_add_nothing() -> None:
    """Rounding may take all of the energy of a cheap word, and making maps again may be free."""
    network, chip = known_network("resnet18"), casco_edge(32)
    found, words = network_work(network).crossing, np.array([0.0, 0.0, 1.0])
    again = np.array([[0.0], [1e6], [0.0]]) * np.ones(len(found))
    free, made, moved = crossing_kernel.least_crossings(found, room_of(chip), words, again)
    assert free == made == 0.0
    assert moved == 0.0


def test_several_cores_add_nothing() -> None:
    network = known_network("resnet18")
    assert (
        any_plan_bound(network, several((2, 2), 32 << 10)).dram_bytes == demand(network).dram_words
    )


def test_a_buffer_without_weights_gets_them_for_each_tile() -> None:
    """Weights of stage 1 have 36,864 words, its maps 200,704, so that tiles are eight or more."""
    network, chip = known_network("resnet18"), eyeriss_like()
    *inside, buffer, dram = chip.levels
    roomy = replace(buffer, keeps=("weights", "inputs", "outputs"))
    less = words_of_maps(network, replace(chip, levels=(*inside, roomy, dram)))
    assert room_of(chip).held == 55_296
    assert words_of_maps(network, chip) - less == 4 * 7 * 36_864


@pytest.mark.parametrize("optional", [False, True])
def test_what_lies_in_one_level(optional: bool) -> None:
    """A buffer of 96 words; spads of 4, 4 and 2 words in each of four PEs."""
    assert held_words(three_levels(96, optional=optional)) == (96, 96, 96)
    small = three_levels(6, optional=optional)
    assert held_words(small) == ((16, 16, 8) if optional else (6, 6, 6))


def found_in(net: Builder) -> list[tuple[str, str, str]]:
    network = net.network("drawn")
    names = [*(layer.name for layer in network.layers), ""]
    found = crossings(network, needed(network).outputs, frozenset())
    return [(names[one.maker], names[one.reader], names[one.remade]) for one in found]


def test_which_maps_are_looked_at() -> None:
    net = Builder((4, 8, 8))
    x = net.conv("first", INPUT, 8)
    y = net.conv("second", x, 8, kernel=3)
    z = net.add("sum", y, x)
    z = net.depthwise("depthwise", z, stride=1, activation="")
    z = net.conv("third", z, 8, weights_of="second", kernel=3)
    net.conv("last", z, 8)
    # weights of the second layer are used twice, and a depthwise one has groups
    assert found_in(net) == [("third", "last", "third")]


def test_an_operator_is_made_again_from_what_it_alone_reads() -> None:
    net = Builder((4, 8, 8))
    x = net.conv("first", INPUT, 8)
    y = net.conv("second", x, 8, kernel=3)
    net.conv("last", net.add("sum", y, x), 8)
    assert found_in(net) == [("first", "second", "first"), ("sum", "last", "second")]


def test_maps_in_parts_are_left_out() -> None:
    net = Builder((4, 8, 8))
    x = net.conv("first", INPUT, 8)
    net.conv("middle", net.crop(x, 4, 4), 8)
    net.conv("last", x, 8)
    assert found_in(net) == []
