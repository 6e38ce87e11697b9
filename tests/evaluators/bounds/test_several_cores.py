"""Bounds of any plan on chips whose cores read nothing of each other."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise, product
from typing import Final, get_args

import numpy as np
import pytest

from archloom.evaluators.bounds.needed_outputs import needed
from archloom.evaluators.bounds.network import plans as plans_module
from archloom.evaluators.bounds.network.maps.gathered import best_corner, gathered_maps
from archloom.evaluators.bounds.network.plans import any_plan_bound
from archloom.evaluators.fusion.group import group_cost
from archloom.evaluators.fusion.plan import NetworkCost, network_cost
from archloom.search.mapping.mapper import Mapper
from archloom.search.registry import MAPPING_SEARCHES
from archloom.space.errors import Infeasible
from archloom.space.fusion.plan import FusionGroup, FusionPlan, HaloPolicy, plan_violations
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network as known_network
from archloom.space.workload import INPUT, Builder, Network

from ...cases.designs import edge, several

Tiling = tuple[tuple[int, int] | None, HaloPolicy]

TILES: Final[tuple[Tiling, ...]] = (
    (None, "recompute"),
    *(((4, 8), halo) for halo in get_args(HaloPolicy)),
    ((2, 4), "recompute"),
    ((2, 4), "keep_inner"),
)


def scaled(channels: int, rows: int, batch: int = 1) -> Network:
    """A depthwise layer with squeeze and excitation, between two other layers."""
    net = Builder((4, rows, rows))
    x = net.conv("expand", INPUT, channels)
    x = net.depthwise("depthwise", x, kernel=3, stride=1, activation="relu")
    mean = net.global_avgpool("squeeze", x)
    gates = net.conv("reduce", mean, 2)
    gates = net.conv("excite", gates, channels)
    x = net.scale("scale", x, gates)
    net.conv("project", x, 4)
    return net.network("scaled").with_batch(batch)


def with_dram(hardware: Hardware, rate: float) -> Hardware:
    """The same with DRAM that moves so many words in a cycle."""
    *inside, dram = hardware.levels
    return replace(hardware, levels=(*inside, replace(dram, bandwidth_words=rate)))


def all_plans(network: Network, tiles: Iterable[Tiling]) -> Iterator[FusionPlan]:
    """Yield the plans of neighbouring layers in each group, with each of the tiles in each."""
    count = len(network.layers)
    for cuts in product([False, True], repeat=count - 1):
        starts = [0, *(i + 1 for i, cut in enumerate(cuts) if cut), count]
        members = [tuple(range(a, b)) for a, b in pairwise(starts)]
        if plan_violations(network, FusionPlan(tuple(FusionGroup(m) for m in members))):
            continue
        for tile, halo in tiles:
            fused = {m: FusionGroup(m, tile, halo) for m in members if len(m) > 1}
            yield FusionPlan(tuple(fused.get(m, FusionGroup(m)) for m in members))


def costs_of(network: Network, plans: Iterator[FusionPlan], chip: Hardware) -> list[NetworkCost]:
    mapper = Mapper(MAPPING_SEARCHES["auto"](), 2000, seed=1, factors="imperfect")
    found = []
    for plan in plans:
        cost = network_cost(
            network,
            plan,
            chip,
            lambda group, residents: group_cost(network, group, chip, mapper, residents),
        )
        if not isinstance(cost, Infeasible):
            found.append(cost)
    return found


@pytest.mark.parametrize(
    ("batch", "mesh", "rate"),
    [(1, (2, 2), 8.0), (1, (1, 2), 0.5), (2, (2, 2), 8.0), (3, (1, 2), 8.0), (3, (2, 2), 0.5)],
    ids=str,
)
def test_no_plan_of_a_small_network_is_below(
    batch: int, mesh: tuple[int, int], rate: float
) -> None:
    network, chip = scaled(8, 8, batch), with_dram(several(mesh), rate)
    costs = costs_of(network, all_plans(network, TILES), chip)
    assert len(costs) >= 64
    least = any_plan_bound(network, chip)
    assert all(least.energy_pj <= cost.energy_pj for cost in costs)
    assert all(least.latency_cycles <= cost.latency_cycles for cost in costs)
    assert all(least.edp_js <= cost.edp_js for cost in costs)


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("kilobytes", [2, 3, 4, 6])
@pytest.mark.parametrize("rate", [0.25, 4.0])
def test_no_plan_on_a_small_buffer_is_below(kilobytes: int, batch: int, rate: float) -> None:
    """The map that is scaled has 4,096 words for each image."""
    network, chip = scaled(16, 16, batch), with_dram(edge(kilobytes << 10), rate)
    tiles = (*TILES, ((1, 16), "recompute"), ((1, 16), "keep_all"))
    costs = costs_of(network, all_plans(network, tiles), chip)
    assert len(costs) > 2
    least = any_plan_bound(network, chip)
    assert all(least.edp_js <= cost.edp_js for cost in costs)


def test_a_map_that_the_buffer_does_not_hold_is_made_again_or_moved() -> None:
    """The bound grows as the buffer falls short of a map, which bounds of a layer do not see."""
    network, ratios = scaled(16, 16), []
    for kilobytes in (8, 4, 3, 2):
        chip = edge(kilobytes << 10)
        bound = any_plan_bound(network, chip)
        seconds = bound.latency_cycles / (chip.frequency_mhz * 1e6)
        ratios.append(bound.edp_js / (bound.energy_pj * 1e-12 * seconds))
    assert ratios[0] == pytest.approx(1.0, rel=1e-9)
    assert 1 - 1e-9 < ratios[1] < ratios[2] < ratios[3]


def test_a_map_that_one_core_needs_whole_takes_time_or_words() -> None:
    """The product of the least energy and the least cycles, which no plan has both of, is less."""
    chip = several((2, 2))
    for batch, choosing in ((1, True), (2, True), (4, False)):
        network = scaled(16, 16, batch)
        bound = any_plan_bound(network, chip)
        seconds = bound.latency_cycles / (chip.frequency_mhz * 1e6)
        both = bound.energy_pj * 1e-12 / batch * seconds
        assert (bound.edp_js > 1.01 * both) == choosing
        assert bound.edp_js >= both * (1 - 1e-9)


def test_maps_of_squeeze_and_excitation_are_found() -> None:
    for name, count in (("efficientnet_b0", 16), ("mobilenetv2", 0), ("resnet18", 0)):
        net = known_network(name)
        found = gathered_maps(net, needed(net).outputs)
        assert len(found) == count
        for one in found:
            block = net.layers[one.maker].name.removesuffix(".depthwise")
            assert net.layers[one.reader].name == f"{block}.scale"
            assert one.words == 2 * net.layers[one.maker].output_words


def test_factors_of_half_the_channels_gather_nothing() -> None:
    """Each result of the scaling then depends on a part of the map alone."""
    net = Builder((4, 8, 8))
    x = net.conv("make", INPUT, 8)
    gates = net.conv("gates", net.global_avgpool("mean", x), 8, groups=2)
    net.conv("last", net.scale("scale", x, gates), 4)
    made = net.network("partly")
    assert gathered_maps(made, needed(made).outputs) == ()


def test_factors_beside_others_gather_nothing() -> None:
    """Half of the factors do not depend on the map."""
    net = Builder((4, 8, 8))
    x = net.conv("make", INPUT, 8)
    factors = net.conv("factors", net.global_avgpool("mean", x), 4)
    others = net.global_avgpool("others", INPUT)
    both = net.conv("both", (factors, others), 8, groups=8)
    net.conv("last", net.scale("scale", x, both), 4)
    made = net.network("beside")
    assert gathered_maps(made, needed(made).outputs) == ()


def test_corners_have_the_least_product_of_all_choices() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        count = int(rng.integers(1, 8))
        energies, cycles = rng.exponential(size=(2, count)) * rng.choice([0, 1], p=[0.1, 0.9])
        start = rng.exponential(size=2) * 2 + 0.01
        spent, waited = best_corner(energies, cycles)
        corners = (start[0] + spent) * (start[1] + waited)
        every = [
            (start[0] + energies @ pick) * (start[1] + cycles @ (1 - pick))
            for pick in map(np.array, product([0, 1], repeat=count))
        ]
        assert corners.min() == pytest.approx(min(every), rel=1e-12)


def test_operators_on_cores_count_their_accesses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two pools in one group: without what their buffers take, the bound is less than half."""
    net = Builder((8, 16, 16))
    x = net.maxpool("first", INPUT, kernel=3, stride=1, pad=1)
    for i in range(6):
        x = net.maxpool(f"pool{i}", x, kernel=3, stride=1, pad=1)
    network, chip = net.network("pools").with_batch(2), several((1, 2))
    cost = min(costs_of(network, all_plans(network, TILES[:1]), chip), key=lambda c: c.energy_pj)
    bound = any_plan_bound(network, chip)
    assert bound.energy_pj <= cost.energy_pj <= 1.5 * bound.energy_pj
    assert bound.latency_cycles <= cost.latency_cycles
    monkeypatch.setattr(plans_module, "vector_least", lambda *_: (0.0, 0.0))
    assert any_plan_bound(network, chip).energy_pj < bound.energy_pj
