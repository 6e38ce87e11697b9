"""What the joint planner believes of groups on several cores."""

from dataclasses import replace

import pytest

from archloom.evaluators.fusion import GroupCost, group_cost
from archloom.evaluators.fusion.buffer.words import buffer_words
from archloom.search.fusion.joint.multicore_options import MulticoreOptions
from archloom.search.fusion.nest.facts import NestFacts
from archloom.space.design_space.presets import preset
from archloom.space.fusion.plan import FusionGroup
from archloom.space.hardware.cores import Cores, fusion_cores
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network
from archloom.space.workload.network import Network

from ....cases.designs import several
from ....cases.mappers import BufferMapper
from ....cases.small_designs import chain, cheap_evaluator

CHIPS = {"four": several((2, 2)), "edgetpu": preset("edgetpu"), "tpu_v3": preset("tpu_v3")}
STEPS = [(0, 1, 2), (0, 1), (1, 2, 3)]


def cores_of(hardware: Hardware) -> Cores:
    cores = fusion_cores(hardware)
    assert isinstance(cores, Cores)
    return cores


def kind_of(options: MulticoreOptions, layers: tuple[int, ...]) -> int:
    edges = options.edges()
    return next(k for k, edge in enumerate(edges.firsts) if edge.layers == layers)


@pytest.mark.parametrize("batch", [1, 2, 4])
@pytest.mark.parametrize("chip", CHIPS)
def test_estimates_are_the_least_that_a_tiling_costs(chip: str, batch: int) -> None:
    net, hardware = network("tiny_mobile").with_batch(batch), CHIPS[chip]
    options = MulticoreOptions(cheap_evaluator(net, hardware, 300), cores_of(hardware))
    price = cheap_evaluator(net, hardware, 300)
    seen = even = 0
    for layers in STEPS:
        for option in options.all_options(kind_of(options, layers)):
            cost = price.group(option.group)
            if isinstance(cost, GroupCost):
                cycles = max(option.layer_cycles.sum(), option.moved_cycles)
                assert cycles <= cost.latency_cycles
                if comes_out_even(net, hardware, option.group):
                    assert option.layer_pj.sum() + option.moved_pj <= cost.dynamic_pj
                    even += 1
                assert cost.peak_words <= buffer_words(cores_of(hardware).one)
                seen += 1
    assert seen >= even >= 6


def comes_out_even(net: Network, hardware: Hardware, group: FusionGroup) -> bool:
    """Whether a core's share of a nest is a number of tiles: otherwise less runs than is
    estimated."""
    if group.nest is None:
        return True
    outermost = group.nest.loops[0]
    share = NestFacts(net, group.layers, hardware).dealing(outermost.rank).share
    return share % outermost.tile == 0


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("batch", [1, 4])
def test_what_crosses_the_pins_is_known_exactly(shared: bool, batch: int) -> None:
    """With mappings that stream weights once in a tile."""
    net, hardware = chain(4, size=12, channels=4).with_batch(batch), several((2, 2))
    if not shared:
        dram = replace(hardware.levels[-1], multicast=("inputs", "outputs"))
        hardware = replace(hardware, levels=(*hardware.levels[:-1], dram))
    options, rate = MulticoreOptions(cheap_evaluator(net, hardware, 300), cores_of(hardware)), 8.0
    for layers in STEPS:
        found = options.all_options(kind_of(options, layers))
        assert len(found) >= 4
        for option in found:
            cost = group_cost(net, option.group, hardware, BufferMapper())
            assert isinstance(cost, GroupCost)
            assert option.moved_cycles * rate == cost.dram_reads + cost.dram_writes


def test_a_rough_estimate_is_below_all_tilings() -> None:
    net, hardware = network("tiny_mobile"), preset("edgetpu")
    options = MulticoreOptions(cheap_evaluator(net, hardware, 300), cores_of(hardware))
    rough = options.rough()
    for layers in STEPS:
        kind = kind_of(options, layers)
        cycles, moved = rough.layer_cycles[rough.groups == kind], rough.moved_cycles[kind]
        for option in (*options.first_options([kind])[0], *options.all_options(kind)):
            assert cycles.sum() <= option.layer_cycles.sum() * (1 + 1e-9)
            assert moved <= option.moved_cycles
