from dataclasses import replace
from math import prod

import numpy as np
import pytest

from archloom.evaluators.bounds.compulsory import (
    demand,
    edp_bound,
    energy_bound_pj,
    latency_bound_cycles,
    rates_of,
)
from archloom.evaluators.bounds.network.plans import any_plan_bound, layer_by_layer_bound
from archloom.evaluators.fusion import group_cost
from archloom.evaluators.fusion.group_graph import group_shape
from archloom.evaluators.fusion.plan import NetworkCost, network_cost
from archloom.evaluators.hardware import access_costs, edp_js
from archloom.evaluators.loopnest.layer_cost import mapped_cost
from archloom.search.fusion.nest import NestFacts, best_nests
from archloom.search.mapping.mapper import Mapper
from archloom.search.registry import MAPPING_SEARCHES
from archloom.space.fusion.plan import FusionGroup, FusionPlan, layer_by_layer, plan_violations
from archloom.space.hardware.effects import Effects
from archloom.space.hardware.hardware import packed
from archloom.space.mapping.mapping import LevelMapping, Mapping
from archloom.space.networks.registry import network
from archloom.space.networks.transformers.transformer import Causal, Heads, SequenceBuilder
from archloom.space.workload.layer import Layer
from archloom.space.workload.network import Network

from ...cases.designs import edge, eyeriss_like, several, tpu_like
from ...cases.groups import POLICIES, any_tile, random_group
from ...cases.mappers import BufferMapper
from ...cases.pinned_plans import pinned_plan
from ...cases.random_plans import priced, random_plan
from ...cases.small_designs import three_levels
from ...cases.sweeps import sweep

NETWORKS = ["tiny_cnn", "tiny_mobile", "tiny_mlp"]


def strict(hardware):
    """Return the hardware with a buffer that nothing may bypass."""
    levels = list(hardware.levels)
    levels[-2] = replace(levels[-2], optional=False, bandwidth_words=2.0)
    return replace(hardware, levels=tuple(levels))


DESIGNS = [
    edge(),
    edge(8 << 10),
    edge(channels=16),
    strict(edge()),
    strict(edge(channels=64)),
    eyeriss_like(),
    tpu_like(),
    several((2, 2)),
    strict(several((4, 4))),
]
IDS = ["edge", "edge-small", "edge-fast-dram", "strict", "strict-fast-dram", "eyeriss", "tpu"]
IDS += ["four-cores", "strict-cores"]


def check(cost, net, hardware):
    steady = any(group.group.steady for group in cost.groups)
    assert cost.energy_pj >= energy_bound_pj(net, hardware, steady)
    assert cost.latency_cycles >= latency_bound_cycles(net, hardware, steady)
    bounds = [any_plan_bound(net, hardware, steady)]
    if all(group.peak_words == 0 for group in cost.groups):
        bounds.append(layer_by_layer_bound(net, hardware))
    for bound in bounds:
        assert cost.energy_pj >= bound.energy_pj
        assert cost.latency_cycles >= bound.latency_cycles
        assert cost.dram_bytes >= bound.dram_bytes
        assert cost.edp_js >= bound.edp_js
    # the sharper the more is known
    assert bounds[0].energy_pj >= energy_bound_pj(net, hardware, steady)
    assert bounds[0].latency_cycles >= latency_bound_cycles(net, hardware, steady)
    assert bounds[-1].edp_js >= bounds[0].edp_js


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("hardware", DESIGNS, ids=IDS)
def test_no_random_mapping_is_below_the_bounds(name, hardware):
    net = network(name)
    for seed in range(6):
        cost = priced(net, layer_by_layer(net), hardware, seed)
        assert isinstance(cost, NetworkCost)
        check(cost, net, hardware)


@pytest.mark.parametrize("zeros", [("gated", "computed"), ("skipped", "gated"), ("gated", "gated")])
def test_zeros_that_are_gated_or_skipped_lower_the_bounds(zeros):
    hardware = replace(edge(), effects=Effects(weight_zeros=zeros[0], input_zeros=zeros[1]))
    net = network("tiny_cnn").with_density(0.3, 0.6)
    for seed in range(6):
        check(priced(net, layer_by_layer(net), hardware, seed), net, hardware)
    dense = network("tiny_cnn")
    assert energy_bound_pj(net, hardware) < energy_bound_pj(dense, hardware)
    skips = "skipped" in zeros
    assert (latency_bound_cycles(net, hardware) < latency_bound_cycles(dense, hardware)) == skips


@pytest.mark.parametrize("kind", ["bitmask", "run_length", "csr"])
@pytest.mark.parametrize("at", [0, 1, 3, 6, 8], ids=[IDS[i] for i in (0, 1, 3, 6, 8)])
def test_packed_weights_lower_the_bounds_and_no_plan_is_below_them(kind, at):
    hardware = replace(DESIGNS[at], effects=Effects(weight_format=kind))
    net, rng, checked = network("tiny_mobile").with_density(0.1, 0.6), np.random.default_rng(2), 0
    for seed in range(12):
        plan = random_plan(net, rng) if seed % 3 else layer_by_layer(net)
        cost = priced(net, plan, hardware, seed) if not plan_violations(net, plan) else None
        if isinstance(cost, NetworkCost):
            check(cost, net, hardware)
            checked += 1
    assert checked > 3
    plain = energy_bound_pj(net, DESIGNS[at])
    assert energy_bound_pj(net, hardware) < plain
    # what the network itself says is no matter: bounds are those of the hardware
    assert energy_bound_pj(packed(net, hardware), hardware) == energy_bound_pj(net, hardware)
    dense = network("tiny_mobile")
    assert energy_bound_pj(dense, hardware) == energy_bound_pj(dense, DESIGNS[at])


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("hardware", [*DESIGNS[:5], *DESIGNS[-2:]], ids=[*IDS[:5], *IDS[-2:]])
def test_no_fused_plan_is_below_the_bounds(name, hardware):
    net = network(name)
    rng = np.random.default_rng(1)
    checked = 0
    for seed in range(20):
        plan = random_plan(net, rng)
        if plan_violations(net, plan):
            continue
        cost = priced(net, plan, hardware, seed)
        if isinstance(cost, NetworkCost):
            check(cost, net, hardware)
            checked += 1
    assert checked > 0


def test_rows_that_no_reader_reads_are_not_in_the_bounds():
    """A 1x1 stride of 2 behind a convolution: a fused group makes a quarter of its map."""
    layers = (
        Layer("a", "conv", k=16, c=16, p=8, q=8, r=3, s=3, padding=(1, 1), input_size=(8, 8)),
        Layer("b", "conv", k=16, c=16, p=4, q=4, stride=(2, 2), input_size=(8, 8)),
    )
    net, hardware = Network("holes", layers, (("input",), ("a",))), edge(1 << 20, channels=64)
    plan = FusionPlan((FusionGroup((0, 1), (1, 1), "recompute", (0, 1)),))
    cost = priced(net, plan, hardware, 1)
    assert sum(s.operations for s in cost.groups[0].layers) < net.macs
    check(cost, net, hardware)


@pytest.mark.parametrize(
    ("seed", "kind"),
    [
        *sweep(((i, "any") for i in range(120)), 40),
        *sweep(((i, "operators") for i in range(80)), 30),
    ],
)
def test_no_group_of_a_random_network_is_below_the_bounds(seed, kind):
    rng = np.random.default_rng(seed)
    net, members = random_group(rng, kind)
    net = net.with_batch(1 + seed // 5 % 4)
    policy = str(rng.choice(POLICIES))
    tile = any_tile(group_shape(net, members), rng)
    rest = tuple(FusionGroup((i,)) for i in range(len(members), len(net.layers)))
    hardware = edge(1 << 20, channels=int(rng.choice([1, 64])))
    if seed % 3 == 2:
        hardware = several(((2, 2), (4, 4), (1, 4))[seed // 3 % 3])
    hardware = strict(hardware) if seed % 2 else hardware
    resident = tuple(i for i in members if net.layers[i].uses_macs and rng.random() < 0.5)
    plan = FusionPlan((FusionGroup(members, tile, policy, resident), *rest))
    check(priced(net, plan, hardware, seed), net, hardware)


@pytest.mark.parametrize(
    ("seed", "kind"),
    [
        *sweep(((i, "any") for i in range(40)), 20),
        *sweep(((i, "operators") for i in range(20)), 10),
    ],
)
def test_no_plan_with_pins_is_below_the_bounds(seed, kind):
    net, plan = pinned_plan(seed, kind)
    hardware = edge(1 << 20, channels=1 + 63 * (seed // 2 % 2))
    hardware = strict(hardware) if seed % 2 else hardware
    cost = priced(net, plan, hardware, seed)
    if isinstance(cost, NetworkCost):
        check(cost, net, hardware)
    else:
        assert cost.reason == "pinned_in_part"


@pytest.mark.parametrize("sees", [Causal(), Causal(5)], ids=["causal", "window"])
def test_no_nest_that_leaves_out_what_masks_drop_is_below_the_bounds(sees):
    hardware = three_levels(4096, (8, 8, 8))
    levels = list(hardware.levels)
    levels[-1] = replace(levels[-1], bandwidth_words=64.0)
    hardware, heads, nets = replace(hardware, levels=tuple(levels)), Heads(2, 8), []
    for what in (sees, None):
        builder = SequenceBuilder()
        query, key, value = (builder.input(name, 16, 24) for name in "qkv")
        scores = builder.scores("scores", heads, query, key, sees=what)
        builder.weigh("weigh", heads, scores, value, sees=what)
        nets.append(builder.network("attention"))
    masked, dense = nets
    mapper, costs = Mapper(MAPPING_SEARCHES["auto"](), 4000, seed=1), []
    for choice in best_nests(NestFacts(masked, (0, 1, 2), hardware)):
        plan = FusionPlan((FusionGroup((0, 1, 2), nest=choice.nest),))
        cost = network_cost(
            masked, plan, hardware, lambda g, r: group_cost(masked, g, hardware, mapper, r)
        )
        assert isinstance(cost, NetworkCost), cost
        check(cost, masked, hardware)
        costs.append(cost)
    # what holds for all pairs does not hold here, layer by layer it does
    bound = any_plan_bound(dense, hardware)
    assert min(cost.latency_cycles for cost in costs) < bound.latency_cycles
    assert min(cost.energy_pj for cost in costs) < bound.energy_pj
    assert layer_by_layer_bound(masked, hardware) == layer_by_layer_bound(dense, hardware)


def test_steady_weights_go_below_what_other_plans_must_fetch():
    """One layer, all in the buffer but its input and its result: the bound is what it fetches."""
    layer = conv(k=64, c=64, p=2, q=2, input_size=(2, 2))
    net, hardware = single(layer), edge(1 << 20)
    always = FusionPlan((FusionGroup((0,), steady=(0,)),))
    cost = network_cost(
        net, always, hardware, lambda g, a: group_cost(net, g, hardware, BufferMapper(), a)
    )
    assert cost.dram_bytes == any_plan_bound(net, hardware, steady=True).dram_bytes == 2 * 256
    assert any_plan_bound(net, hardware).dram_bytes == 2 * 256 + 64 * 64
    # of a buffer for a quarter of the weights, a quarter
    small = any_plan_bound(net, edge(1 << 10), steady=True)
    assert small.dram_bytes == 2 * 256 + 64 * 64 - 1024
    # one that keeps no weights has no steady ones
    assert any_plan_bound(net, eyeriss_like(), True) == any_plan_bound(net, eyeriss_like())


def test_a_layer_that_waits_for_its_weights_hides_no_other_layer():
    """Cycles add up although one layer has most of the work and the other most of the words."""
    worker = conv(name="worker", k=64, c=64, p=16, q=16, input_size=(16, 16))
    waiter = conv(name="waiter", k=8, c=64, p=1, q=1, r=16, s=16, input_size=(16, 16))
    net, hardware = Network("both", (worker, waiter), (("input",), ("worker",))), edge(1 << 20)
    bound = any_plan_bound(net, hardware)
    alone = [any_plan_bound(single(layer), hardware) for layer in net.layers]
    words = waiter.weight_words / hardware.levels[-1].bandwidth_words
    assert bound.latency_cycles > latency_bound_cycles(net, hardware)
    assert bound.latency_cycles >= words
    assert bound.latency_cycles <= sum(one.latency_cycles for one in alone)


def conv(**changes):
    return Layer(**({"name": "conv", "operator": "conv"} | changes))


def single(layer):
    return Network("one", (layer,), (("input",) * layer.operands,))


def test_one_layer_by_hand():
    """4x4 PEs at 400 MHz, 8 words a cycle from DRAM, 64 pJ each."""
    layer = conv(k=4, c=8, p=8, q=8, input_size=(8, 8))
    hardware, net = edge(), single(conv(k=4, c=8, p=8, q=8, input_size=(8, 8)))
    words = 4 * 8 + 8 * 64 + 4 * 64
    assert demand(net).dram_words == words
    assert latency_bound_cycles(net, hardware) == max(layer.macs / 16, words / 8)
    costs = access_costs(hardware)
    # each MAC reads a weight and an input from its registers and writes a partial sum
    registers = costs.read_pj[0, 0] + costs.read_pj[0, 1] + costs.write_pj[0, 2]
    least = rates_of(demand(net), hardware)
    assert least.mac_pj == costs.mac_pj + registers
    # rounding takes some hundredths of a pJ off each tile, which writes to DRAM at least once
    assert 64 - 0.03 < least.word_pj < 64
    exactly = (
        layer.macs * least.mac_pj
        + words * least.word_pj
        + layer.macs / 16 * costs.leakage_pj_per_cycle
    )
    assert 0 < exactly - energy_bound_pj(net, hardware) < 0.04


def test_a_mapping_can_reach_the_latency_bound():
    layer = conv(k=4, c=4, p=16, q=16, input_size=(16, 16))
    hardware, net = edge(channels=64), single(layer)
    one = (1,) * 8
    order = tuple(range(8))
    levels = (
        LevelMapping(one, order, one, one, (True,) * 3),
        LevelMapping((1, 1, 1, 1, 16, 16, 1, 1), order, (1, 1, 4, *one[3:]),
                     (1, 1, 1, 4, *one[4:]), (True,) * 3),
        LevelMapping(one, order, one, one, (True,) * 3),
    )  # fmt: skip
    wide = (replace(level, bandwidth_words=64) for level in hardware.levels[:2])
    hardware = replace(hardware, levels=(*wide, hardware.levels[2]))
    cost = group_cost(
        net, FusionGroup((0,)), hardware, lambda problem: mapped_cost(problem, Mapping(levels))
    )
    assert cost.latency_cycles == latency_bound_cycles(net, hardware) == layer.macs / 16


@pytest.mark.parametrize(
    ("layer", "words"),
    [
        # a 1x1 window with stride 2 reads every second row and column
        (conv(p=4, q=4, stride=(2, 2), input_size=(8, 8)), 16),
        # padding is not in DRAM
        (conv(p=8, q=8, r=3, s=3, padding=(1, 1), input_size=(8, 8)), 64),
        # a dilated window of 3 with stride 4 touches rows 0, 2, 4 | 4, 6, 8: five of nine
        (conv(p=2, q=1, r=3, stride=(4, 1), dilation=(2, 1), input_size=(9, 1)), 5),
    ],
)
def test_only_input_words_that_a_window_reads_count(layer, words):
    assert demand(single(layer)).dram_words == words + layer.weight_words + layer.output_words


def test_two_readers_of_the_input_may_share_its_fetch():
    a, b = conv(name="a", c=3, k=2), conv(name="b", c=3, k=5)
    net = Network("fork", (a, b), (("input",), ("input",)))
    assert demand(net).dram_words == 3 + (6 + 15) + (2 + 5)


def test_narrow_words_and_clusters_lower_the_bounds():
    """Half as wide in DRAM: half the cycles, two words in an access. A cluster of four: one."""
    hardware, net = edge(), single(conv(k=4, c=8, p=8, q=8, input_size=(8, 8)))
    levels, words = hardware.levels, demand(net).dram_words
    half = tuple((tensor, hardware.word_bits // 2) for tensor in levels[-1].keeps)
    slow = replace(levels[-1], bandwidth_words=0.25, width_words=1)
    narrow = [
        replace(hardware, levels=(*levels[:-1], replace(slow, tensor_bits=bits)))
        for bits in ((), half)
    ]
    assert latency_bound_cycles(net, narrow[0]) == words * 4
    assert latency_bound_cycles(net, narrow[1]) == words * 2
    clustered = replace(hardware, levels=(replace(levels[0], cluster_size=4), *levels[1:]))
    saved = 4 * 8 * 64 * sum(access_costs(hardware).read_pj[0, :2] * 0.75)
    assert energy_bound_pj(net, clustered) < energy_bound_pj(net, hardware) - saved
    for seed in range(4):
        for built in (*narrow, clustered):
            check(priced(net, layer_by_layer(net), built, seed), net, built)


def test_maps_between_layers_cost_nothing():
    a, b = conv(name="a", k=1000), conv(name="b", c=1000)
    net = Network("chain", (a, b), (("input",), ("a",)))
    assert demand(net).dram_words == 1 + 2000 + 1


def test_a_depthwise_layer_cannot_fill_an_array_that_unrolls_channels_alone():
    """Rows add up over C, R, S and columns run K: one group has 9 taps and one channel."""
    layer = conv(g=64, p=16, q=16, r=3, s=3, padding=(1, 1), input_size=(16, 16))
    cycles = latency_bound_cycles(single(layer), tpu_like())
    assert cycles == layer.macs / 9


def test_vector_operators_run_on_their_lanes():
    pool = Layer("pool", "maxpool", g=64, p=8, q=8, r=2, s=2, stride=(2, 2), input_size=(16, 16))
    hardware = edge(channels=64)
    assert latency_bound_cycles(single(pool), hardware) == 64 * 64 * 4 / 4


def test_edp_is_the_geometric_mean_and_takes_the_batch_of_the_hardware():
    nets = [network(name) for name in NETWORKS]
    hardware = replace(edge(), native_batch=4)
    values = []
    for net in nets:
        batch = net.with_batch(4)
        energy, cycles = energy_bound_pj(batch, hardware), latency_bound_cycles(batch, hardware)
        values.append(edp_js(energy, cycles, hardware, 4))
    assert edp_bound(nets, hardware) == pytest.approx(prod(values) ** (1 / 3), rel=1e-12)
    assert edp_bound(nets[:1], hardware) == pytest.approx(values[0], rel=1e-12)


def test_a_demand_is_of_the_very_network_that_was_given():
    """Found by identity: an equal network and one at another batch are not confused."""
    net = network("tiny_cnn")
    assert demand(net) is demand(net)
    assert demand(net, 1).dram_words == demand(net).dram_words
    assert demand(net, 3).vector_ops == 3 * demand(net).vector_ops
    for _ in range(50):  # ids of networks that are gone come again
        other = network("tiny_mlp")
        assert demand(other).vector_ops == 0
        del other


def test_a_bound_needs_a_network():
    with pytest.raises(ValueError, match="at least one network"):
        edp_bound([], edge())
