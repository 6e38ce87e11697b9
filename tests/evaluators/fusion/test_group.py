"""Price of fused groups against a tile-by-tile account over the simulated run."""

from dataclasses import replace

import numpy as np
import pytest

from archloom.evaluators.fusion import GroupCost, group_cost
from archloom.evaluators.fusion.buffer.words import buffer_words
from archloom.evaluators.fusion.group_graph import group_shape
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.evaluators.loopnest.vector_unit import vector_cost
from archloom.search.mapping.mapper import Mapper
from archloom.search.mapping.simd.searches import LocalMapping
from archloom.space.errors import Infeasible
from archloom.space.fusion.plan import FusionGroup
from archloom.space.networks.registry import network as catalogue
from archloom.space.workload.layer_builders import activation
from archloom.space.workload.network import Network

from ...cases.designs import edge, eyeriss_like, tpu_like
from ...cases.groups import POLICIES, any_tile, random_group
from ...cases.mappers import BufferMapper
from ...cases.sweeps import sweep
from ...oracles.group_account import account
from ...oracles.tile_simulator import simulate
from .tiling.test_sweep import residual_block, two_convolutions

ROOMY = edge(glb_bytes=1 << 20)


@pytest.fixture(scope="session")
def searched():
    """Return a maker of mappers that search a little; one memo for each hardware."""
    mappers = {}

    def of(hardware):
        if hardware not in mappers:
            mappers[hardware] = Mapper(LocalMapping(), 20, seed=1)
        return mappers[hardware]

    return of


def drawn(seed, batch=1, kind="any"):
    """Return a random network, and a random group of its layers with tile and weights."""
    rng = np.random.default_rng(seed)
    network, members = random_group(rng, kind)
    network = network.with_batch(batch)
    shape = group_shape(network, members)
    halo = POLICIES[seed % 3]
    weighty = [i for i in members if network.layers[i].weight_words]
    resident = tuple(i for i in weighty if rng.random() < 0.5)
    return network, FusionGroup(members, any_tile(shape, rng), halo, resident)


def account_case(seed, kind="any"):
    """Return network, group, hardware and mapper; buffers from too small to roomy."""
    network, group = drawn(seed, batch=1 + seed % 2, kind=kind)
    peak = group_cost(network, group, ROOMY, BufferMapper()).peak_words
    glb_bytes = (peak - 1, peak, max(1, peak // 2), 600, 1 << 18)[seed % 5]
    hardware = edge(glb_bytes)
    port = (16, 0.5)[seed // 3 % 2]
    buffer = replace(hardware.levels[1], optional=seed % 4 < 2, bandwidth_words=port)
    # compute, DRAM or the buffer's ports set the pace
    dram = replace(hardware.levels[2], bandwidth_words=(8, 0.1, 1.3)[seed % 3])
    hardware = replace(hardware, levels=(hardware.levels[0], buffer, dram))
    mapper = BufferMapper() if glb_bytes > 1 << 15 else Mapper(LocalMapping(), 5, seed)
    return network, group, hardware, mapper


@pytest.mark.parametrize(
    ("seed", "kind"),
    [
        *sweep(((i, "any") for i in range(150)), 25),
        *sweep(((i, "operators") for i in range(80)), 20),
        *sweep(((i, "wild") for i in range(200)), 30),
    ],
)
def test_a_group_costs_what_its_tiles_cost_one_by_one(seed, kind):
    check_price(seed, kind)


def check_price(seed, kind):
    network, group, hardware, mapper = account_case(seed, kind)
    cost = group_cost(network, group, hardware, mapper)
    if isinstance(cost, Infeasible):
        assert cost.reason == "glb_overflow"
        assert cost.needed > cost.available == hardware.levels[1].capacity_bytes
        return
    slow = account(network, group, hardware, mapper)
    assert (cost.dram_reads, cost.dram_writes) == (slow.reads, slow.writes)
    assert (cost.peak_words, cost.prefetch) == (slow.peak, slow.prefetch)
    assert cost.latency_cycles == slow.latency
    # whole transfers are rounded to 2**-8 pJ, at most two an external map and layer
    assert cost.dynamic_pj == pytest.approx(slow.energy_pj, abs=0.1)


def test_those_groups_are_of_every_kind():
    costs = [group_cost(*account_case(seed)) for seed in range(150)]
    priced = [c for c in costs if isinstance(c, GroupCost)]
    assert len(costs) - len(priced) >= 10
    assert sum(c.prefetch for c in priced) >= 50
    assert sum(not c.prefetch for c in priced) >= 10
    assert sum(c.tiles > 4 for c in priced) >= 40


# weights: resident ones once, streamed ones once for each tile
GOLDEN = [
    (two_convolutions, (4, 4), (0, 1), dict(zip(POLICIES, (576, 384, 256), strict=True)), 288, 256),
    (
        residual_block,
        (2, 4),
        (0, 2),
        dict(zip(POLICIES, (5208, 3968, 2048), strict=True)),
        19712,
        1024,
    ),
]


@pytest.mark.parametrize(("build", "tile", "resident", "fetched", "weights", "out"), GOLDEN)
@pytest.mark.parametrize("policy", POLICIES)
def test_golden_dram_words(build, tile, resident, fetched, weights, out, policy):
    network = build()
    group = FusionGroup(tuple(range(len(network.layers))), tile, policy, resident)
    cost = group_cost(network, group, ROOMY, BufferMapper())
    assert isinstance(cost, GroupCost)
    assert (cost.dram_reads, cost.dram_writes) == (fetched[policy] + weights, out)


@pytest.mark.parametrize("name", ["tiny_cnn", "tiny_mobile", "tiny_mlp"])
@pytest.mark.parametrize("hardware", [edge(), eyeriss_like(), tpu_like()], ids=lambda h: h.name)
def test_a_single_layer_is_the_layer_model(name, hardware, searched):
    network, mapper = catalogue(name), searched(hardware)
    for i, layer in enumerate(network.layers):
        cost = group_cost(network, FusionGroup((i,)), hardware, mapper)
        alone = (
            mapper(MappingProblem.of_layer(layer, hardware))
            if layer.uses_macs
            else vector_cost(layer, hardware, layer.p, layer.q, staged=False)
        )
        assert isinstance(cost, GroupCost)
        assert cost.latency_cycles == alone.latency_cycles
        assert cost.dynamic_pj == alone.dynamic_pj
        assert (cost.dram_reads, cost.dram_writes) == (alone.dram_reads, alone.dram_writes)
        assert cost.layers[0].words.tolist() == alone.words.tolist()


@pytest.mark.parametrize("seed", range(40))
def test_staging_a_whole_layer_is_streaming_it_through_a_buffer_that_holds_it_whole(seed):
    network, group = drawn(seed)
    checked = 0
    for i in group.layers:
        layer = network.layers[i]
        if not layer.uses_macs or layer.input_size == (1, 1) != (layer.p, layer.q):
            continue
        streamed = group_cost(network, FusionGroup((i,)), ROOMY, BufferMapper())
        staged = group_cost(network, FusionGroup((i,), (layer.p, layer.q)), ROOMY, BufferMapper())
        assert (staged.dram_reads, staged.dram_writes) == (
            streamed.dram_reads,
            streamed.dram_writes,
        )
        assert staged.layers[0].words.tolist() == streamed.layers[0].words.tolist()
        assert staged.dynamic_pj == pytest.approx(streamed.dynamic_pj, abs=0.05)
        # fetch, weights and results are rounded up to whole cycles one by one
        assert 0 <= staged.latency_cycles - streamed.latency_cycles <= 3
        checked += 1
    assert checked or not any(network.layers[i].uses_macs for i in group.layers)


@pytest.mark.parametrize("seed", range(30))
def test_shares_add_up_to_the_group(seed, searched):
    network, group = drawn(seed)
    cost = group_cost(network, group, edge(), searched(edge()))
    assert isinstance(cost, GroupCost)
    assert cost.wait_cycles >= 0
    assert cost.latency_cycles == sum(s.latency_cycles for s in cost.layers) + cost.wait_cycles
    parts = [float(e) for s in cost.layers for e in s.energy_pj.ravel()]
    parts += [s.compute_pj for s in cost.layers]
    assert sum(parts) == sum(reversed(parts)) == cost.dynamic_pj
    words = sum(s.words[-1] for s in cost.layers)
    assert words.sum() == cost.dram_reads + cost.dram_writes
    for share in cost.layers:
        assert share.operations == sum(n * c.operations for n, c in share.evaluations)
        assert sum(n for n, _ in share.evaluations) <= cost.tiles


@pytest.mark.parametrize("seed", range(30))
def test_latency_lies_between_its_parts_and_their_sum(seed):
    network, group = drawn(seed)
    hardware = edge(glb_bytes=1 << 20)
    cost = group_cost(network, group, hardware, BufferMapper())
    compute = sum(n * c.chip_cycles for s in cost.layers for n, c in s.evaluations)
    words = cost.dram_reads + cost.dram_writes
    assert cost.latency_cycles >= max(compute, words / hardware.levels[-1].bandwidth_words)
    fast = replace(hardware.levels[-1], bandwidth_words=1e9)
    buffer = replace(hardware.levels[-2], bandwidth_words=1e9)
    ideal = replace(hardware, levels=(hardware.levels[0], buffer, fast))
    unhindered = group_cost(network, group, ideal, BufferMapper())
    assert unhindered.latency_cycles <= cost.latency_cycles
    # all one after another, each transfer of a tile in whole cycles: fast ports set no pace
    quick = replace(hardware, levels=(hardware.levels[0], buffer, hardware.levels[-1]))
    cost = group_cost(network, group, quick, BufferMapper())
    compute = sum(n * c.chip_cycles for s in cost.layers for n, c in s.evaluations)
    transfers = cost.tiles * (2 + 2 * len(group.layers))
    after = compute + words / hardware.levels[-1].bandwidth_words + transfers
    assert cost.latency_cycles <= after


@pytest.mark.parametrize("seed", range(40))
def test_prefetch_is_never_slower(seed):
    """The same tiles with room for transfers in flight, and with a word too little."""
    network, group = drawn(seed)
    group = replace(group, resident=tuple(i for i in group.layers if network.layers[i].uses_macs))
    roomy = group_cost(network, group, ROOMY, BufferMapper())
    assert roomy.prefetch
    tight = edge(glb_bytes=roomy.peak_words - 1)
    cost = group_cost(network, group, tight, BufferMapper())
    if isinstance(cost, GroupCost):
        assert not cost.prefetch
        assert cost.peak_words < roomy.peak_words
        assert cost.latency_cycles >= roomy.latency_cycles


@pytest.mark.parametrize("seed", range(30))
def test_a_larger_buffer_never_makes_a_group_infeasible(seed, searched):
    network, group = drawn(seed)
    feasible = []
    for glb_bytes in (128, 512, 2048, 8192, 1 << 17):
        hardware = edge(glb_bytes)
        cost = group_cost(network, group, hardware, searched(hardware))
        feasible.append(isinstance(cost, GroupCost))
        if isinstance(cost, GroupCost):
            assert cost.peak_words <= buffer_words(hardware)
    assert feasible == sorted(feasible)
    assert feasible[-1]


@pytest.mark.parametrize("seed", range(30))
def test_with_one_tile_resident_weights_are_streamed_weights_and_policies_agree(seed):
    network, group = drawn(seed)
    macs = tuple(i for i in group.layers if network.layers[i].uses_macs)
    shape = group_shape(network, group.layers)
    whole = shape.sizes[shape.anchor]
    found = set()
    for policy in POLICIES:
        for resident in ((), macs):
            one = FusionGroup(group.layers, whole, policy, resident)
            cost = group_cost(network, one, ROOMY, BufferMapper())
            found.add((cost.tiles, cost.dram_reads, cost.dram_writes))
    assert len(found) == 1


@pytest.mark.parametrize("seed", range(30))
def test_dram_words_of_one_tile_are_inputs_weights_and_outputs(seed):
    network, group = drawn(seed)
    shape = group_shape(network, group.layers)
    one = replace(group, tile=shape.sizes[shape.anchor])
    cost = group_cost(network, one, ROOMY, BufferMapper())
    run = simulate(shape, tuple(network.layers[i] for i in group.layers), one.tile, one.halo)
    weights = sum(network.layers[i].weight_words for i in group.layers)
    out = sum(network.layers[group.layers[m]].output_words for m in shape.exported)
    assert (cost.dram_reads, cost.dram_writes) == (run.fetched[0] + weights, out)


@pytest.mark.parametrize("seed", range(20))
def test_images_repeat_everything_but_the_load_of_resident_weights(seed):
    network, group = drawn(seed)
    one = group_cost(network, group, ROOMY, BufferMapper())
    four = group_cost(network.with_batch(4), group, ROOMY, BufferMapper())
    resident = sum(network.layers[i].weight_words for i in group.resident)
    assert four.dram_reads - resident == 4 * (one.dram_reads - resident)
    assert four.dram_writes == 4 * one.dram_writes
    assert [s.operations for s in four.layers] == [4 * s.operations for s in one.layers]
    assert four.latency_cycles <= 4 * one.latency_cycles


def test_an_overflow_says_what_is_needed_and_what_there_is():
    network = two_convolutions()
    group = FusionGroup((0, 1), (4, 4), "recompute", (0, 1))
    # 244 words of maps and 288 of weights; one byte each
    cost = group_cost(network, group, edge(glb_bytes=531), BufferMapper())
    assert isinstance(cost, Infeasible)
    assert (cost.reason, cost.needed, cost.available, cost.unit) == (
        "glb_overflow",
        532,
        531,
        "bytes",
    )
    assert "glb" in cost.where
    assert "a..b (2 layers)" in cost.where
    assert isinstance(group_cost(network, group, edge(glb_bytes=532), BufferMapper()), GroupCost)


def test_fusion_needs_a_shared_buffer_for_maps_and_one_for_weights():
    network = two_convolutions()
    hardware = edge()
    bare = replace(hardware, levels=(hardware.levels[0], hardware.levels[2]))
    cost = group_cost(network, FusionGroup((0, 1), (4, 4)), bare, BufferMapper())
    assert isinstance(cost, Infeasible)
    assert cost.reason == "no_shared_buffer"
    group = FusionGroup((0, 1), (4, 4), "recompute", (1,))
    cost = group_cost(network, group, eyeriss_like(), BufferMapper())
    assert isinstance(cost, Infeasible)
    assert (cost.reason, cost.where) == ("weights_not_kept", "a..b (2 layers)")


def test_an_impossible_mapping_makes_the_group_infeasible():
    network = two_convolutions()
    hardware = edge()
    spad = replace(hardware.levels[0], capacity_bytes=2)
    tiny = replace(hardware, levels=(spad, *hardware.levels[1:]))
    for group in (FusionGroup((0,)), FusionGroup((0, 1), (4, 4))):
        cost = group_cost(network, group, tiny, Mapper(LocalMapping(), 5, 0))
        assert isinstance(cost, Infeasible)
        assert (cost.reason, cost.where, cost.needed, cost.available) == (
            "no_mapping",
            "rf (weights, inputs, outputs), layer a",
            3,
            2,
        )


def test_equal_tiles_are_mapped_once():
    network, mapper = two_convolutions(), BufferMapper()
    cost = group_cost(network, FusionGroup((0, 1), (2, 2), "keep_all"), ROOMY, mapper)
    assert cost.tiles == 16
    # corner, edge and inner tiles of the first convolution; all of the second are alike
    assert len(mapper.asked) == 9 + 1
    assert [sorted(n for n, _ in share.evaluations) for share in cost.layers] == [
        [1, 1, 1, 1, 2, 2, 2, 2, 4],
        [16],
    ]


def test_more_tiles_than_memory_holds_are_refused():
    layer = activation("first", "relu", 1, 8192)
    net = Network("wide", (layer, replace(layer, name="second")), (("input",), ("first",)))
    why = group_cost(net, FusionGroup((0, 1), (1, 2)), ROOMY, BufferMapper())
    assert str(why) == (
        "too_many_tiles at first..second (2 layers): needs 33,554,432 tiles, 16,777,216 "
        "tiles available; "
        "use larger tiles or cut the group"
    )


@pytest.mark.parametrize("prefetch", [True, False])
@pytest.mark.parametrize("bandwidth", [8, 0.2])
def test_every_image_between_the_first_and_the_last_takes_as_long(prefetch, bandwidth):
    """Weights arrive with the first; what one image fetches comes while the one before runs."""
    network = two_convolutions()
    group = FusionGroup((0, 1), (4, 8), "keep_all", (0, 1))
    twice = network.with_batch(2)
    room = group_cost(twice, group, ROOMY, BufferMapper()).peak_words - (not prefetch)
    hardware = edge(room)
    dram = replace(hardware.levels[2], bandwidth_words=bandwidth)
    hardware = replace(hardware, levels=(*hardware.levels[:2], dram))
    costs = [
        group_cost(network.with_batch(n), group, hardware, BufferMapper()) for n in range(2, 8)
    ]
    assert {cost.prefetch for cost in costs} == {prefetch}
    assert len(set(np.diff([cost.latency_cycles for cost in costs]).tolist())) == 1
    slow = account(network.with_batch(7), group, hardware, BufferMapper())
    assert costs[-1].latency_cycles == slow.latency
