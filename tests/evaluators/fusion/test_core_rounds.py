"""Fused groups on several cores against a slow account of every core's tiles."""

from dataclasses import replace

import numpy as np
import pytest

from archloom.evaluators.fusion import GroupCost, core_rounds, group_cost
from archloom.evaluators.fusion.buffer import tiles_of
from archloom.evaluators.fusion.buffer.words import buffer_words
from archloom.evaluators.fusion.core_rounds import rounds_of
from archloom.evaluators.fusion.group_graph import group_shape
from archloom.evaluators.loopnest.layer_cost import mapped_cost
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.mapper import Mapper
from archloom.search.mapping.simd.searches import LocalMapping
from archloom.space.design_space.presets import preset
from archloom.space.errors import Infeasible
from archloom.space.fusion.plan import FusionGroup, FusionPlan, Pin
from archloom.space.fusion.residency import ALONE, plan_residents
from archloom.space.hardware.cores import Cores, fusion_cores
from archloom.space.mapping.mapping import LevelMapping, Mapping
from archloom.space.workload.layer import Layer
from archloom.space.workload.network import Network

from ...cases.designs import several
from ...cases.groups import POLICIES, any_tile, random_group
from ...cases.mappers import ONES, BufferMapper
from ...cases.partitions import guillotine
from ...cases.sweeps import sweep
from ...oracles.core_account import core_account
from .tiling.test_sweep import two_convolutions

EDGETPU = preset("edgetpu")

MESHES = ((2, 1), (1, 2), (2, 2), (4, 1), (4, 4))


def case(seed, kind):
    """Return network, group, hardware and mapper; buffers from too small to roomy."""
    rng = np.random.default_rng(seed)
    network, members = random_group(rng, kind)
    network = network.with_batch((1, 2, 3, 4)[seed // 5 % 4])
    shape, halo = group_shape(network, members), POLICIES[seed % 3]
    weighty = [i for i in members if network.layers[i].weight_words]
    resident = tuple(i for i in weighty if rng.random() < 0.5)
    group = FusionGroup(members, any_tile(shape, rng), halo, resident)
    if halo == "recompute" and seed % 4 == 3:
        faces = guillotine(rng, *shape.sizes[shape.anchor])
        group = FusionGroup(members, None, halo, resident, tuple(faces))
    mesh = MESHES[seed % 5]
    peak = group_cost(network, group, several(mesh), BufferMapper()).peak_words
    size = (peak - 1, peak, max(1, peak // 2), 600, 1 << 18)[seed // 3 % 5]
    chip = several(mesh, size)
    register, buffer, dram = chip.levels
    buffer = replace(buffer, optional=seed % 4 < 2, bandwidth_words=(16, 0.5)[seed // 7 % 2])
    multicast = ("weights", "inputs", "outputs") if seed % 7 < 4 else ("inputs",)
    dram = replace(dram, bandwidth_words=(8, 0.1, 1.3)[seed // 2 % 3], multicast=multicast)
    mapper = BufferMapper() if size > 1 << 15 else Mapper(LocalMapping(), 5, seed)
    return network, group, replace(chip, levels=(register, buffer, dram)), mapper


@pytest.mark.parametrize(
    ("seed", "kind"),
    [
        *sweep(((i, "any") for i in range(120)), 40),
        *sweep(((i, "operators") for i in range(60)), 30),
        *sweep(((i, "wild") for i in range(120)), 40),
    ],
)
def test_a_group_costs_what_its_cores_do_one_by_one(seed, kind):
    check_cores(seed, kind)


def check_cores(seed, kind):
    network, group, hardware, mapper = case(seed, kind)
    cores = fusion_cores(hardware)
    assert isinstance(cores, Cores)
    assert cores.count == hardware.levels[1].instances
    cost = group_cost(network, group, hardware, mapper)
    if isinstance(cost, Infeasible):
        assert cost.reason == "glb_overflow"
        assert cost.needed > cost.available == hardware.levels[1].capacity_bytes
        return
    words = buffer_words(cores.one)
    slow = core_account(network, group, hardware, cores.one, cores.count, mapper, words)
    assert (cost.dram_reads, cost.dram_writes) == (slow.reads, slow.writes)
    assert (cost.peak_words, cost.prefetch) == (slow.peak, slow.prefetch)
    assert sum(share.operations for share in cost.layers) == slow.operations
    assert cost.latency_cycles == slow.latency
    # whole transfers are rounded to 2**-8 pJ, at most two an external map and layer
    assert cost.dynamic_pj == pytest.approx(slow.energy_pj, abs=0.1)


@pytest.mark.parametrize("seed", range(60))
def test_sizes_of_all_layers_are_those_of_each(seed, monkeypatch):
    """Looked at together, and axis by axis where tiles are many."""
    network, group, hardware, _ = case(seed, ("any", "operators", "wild")[seed % 3])
    tiles = tiles_of(network, group, hardware, ALONE)
    for cores in (1, fusion_cores(hardware).count):
        rounds = rounds_of(tiles, cores)
        each = [[m, *one] for m in range(len(group.layers)) for one in rounds.sizes(m).running]
        assert rounds.running().tolist() == each
        monkeypatch.setattr(core_rounds, "_MANY", 0)
        assert rounds.running().tolist() == each
        monkeypatch.undo()


def test_those_groups_are_of_every_kind():
    cases = [case(seed, "any") for seed in range(120)]
    costs = [group_cost(*one) for one in cases]
    priced = [c for c in costs if isinstance(c, GroupCost)]
    assert len(costs) - len(priced) >= 10
    assert sum(c.prefetch for c in priced) >= 50
    assert sum(not c.prefetch for c in priced) >= 10
    assert sum(c.cores == 1 for c in priced) >= 5
    assert sum(c.cores > 3 and c.tiles > c.cores for c in priced) >= 10
    assert sum(len(c.group.faces) > c.cores > 1 for c in priced) >= 3


def test_one_layer_in_a_tile_for_each_core_is_the_layer_with_positions_unrolled_over_them():
    """The chip's own mapping of it: rows over cores along x, columns along y."""
    layer = Layer("a", "conv", k=6, c=4, p=8, q=8, r=3, s=3, input_size=(10, 10))
    network = Network("one", (layer,), (("input",),))
    chip = several((2, 2))
    alone = MappingProblem.of_layer(layer, chip)
    order, keeps = tuple(range(8)), (True,) * 3
    inside = (1, 1, 6, 4, 4, 4, 3, 3)
    mapping = Mapping(
        (
            LevelMapping(ONES, order, ONES, ONES, keeps),
            LevelMapping(inside, order, ONES, ONES, keeps),
            LevelMapping(ONES, order, (1, 1, 1, 1, 2, 1, 1, 1), (1, 1, 1, 1, 1, 2, 1, 1), keeps),
        )
    )
    whole = mapped_cost(alone, mapping)
    tiled = FusionGroup((0,), (4, 4), "recompute", (0,))
    cost = group_cost(network, tiled, chip, BufferMapper())
    assert cost.cores == cost.tiles == 4
    assert cost.layers[0].words.tolist() == whole.words.tolist()
    assert np.abs(cost.layers[0].energy_pj - whole.energy_pj).max() < 0.05
    assert cost.dram_reads == 4 * 4 * 6 * 6 + 6 * 4 * 9
    # fetch, weights and results are rounded up to whole cycles one by one
    assert 0 <= cost.latency_cycles - whole.latency_cycles <= 3


def test_two_convolutions_on_four_cores_by_hand():
    """Two 3x3 layers, 4 channels of 8x8, in 4x4 tiles: golden case A of the fusion model."""
    network, chip = two_convolutions(), several((2, 2))
    fast = [replace(level, bandwidth_words=1e9) for level in chip.levels[:2]]
    chip = replace(chip, levels=(*fast, chip.levels[2]))
    group = FusionGroup((0, 1), (4, 4), "recompute", (0, 1))
    cost = group_cost(network, group, chip, BufferMapper())
    # each core fetches 6x6 words of 4 channels, and makes 5x5 and then 4x4
    assert cost.dram_reads == 4 * 4 * 36 + 288
    assert cost.dram_writes == 256
    assert [share.operations for share in cost.layers] == [4 * 25 * 144, 4 * 16 * 144]
    # 144 of the input and 100 made; there is one round, so nothing else is in flight
    assert cost.own_words == 244 + 288
    assert cost.prefetch
    # weights of both layers go to all four buffers
    fills = sum(share.words[1, 0] for share in cost.layers)
    reads = sum(share.operations for share in cost.layers)
    assert fills == 4 * 288 + reads
    # one round: 3600 and 2304 steps word by word, longer than DRAM needs for 1120 words
    assert [share.latency_cycles for share in cost.layers] == [3600, 2304]
    assert cost.latency_cycles == 3600 + 2304


def test_images_that_come_out_even_run_side_by_side_whatever_is_kept():
    """Four images on four cores: DRAM sends weights once, and each core does what one would."""
    network, chip = two_convolutions().with_batch(4), several((2, 2))
    for policy in POLICIES:
        group = FusionGroup((0, 1), (2, 3), policy, (0,))
        cost = group_cost(network, group, chip, BufferMapper())
        core = fusion_cores(chip).one
        one = group_cost(network.with_batch(1), group, core, BufferMapper())
        weights = 144 + 144 * one.tiles
        assert cost.dram_reads - weights == 4 * (one.dram_reads - weights)
        assert cost.dram_writes == 4 * one.dram_writes
        assert (cost.own_words, cost.tiles) == (one.own_words, one.tiles)
        assert [s.operations for s in cost.layers] == [4 * s.operations for s in one.layers]


def test_weights_that_cannot_be_sent_to_several_come_for_each_core():
    network, chip = two_convolutions(), several((2, 2))
    dram = replace(chip.levels[2], multicast=("inputs", "outputs"))
    apart = replace(chip, levels=(*chip.levels[:2], dram))
    for resident in ((0, 1), ()):
        group = FusionGroup((0, 1), (4, 4), "recompute", resident)
        costs = [group_cost(network, group, one, BufferMapper()) for one in (chip, apart)]
        assert costs[1].dram_reads - costs[0].dram_reads == 3 * 288
        assert costs[1].dram_writes == costs[0].dram_writes


def test_halos_that_are_kept_keep_the_rows_of_an_image_on_one_core():
    network, chip = two_convolutions(), several((2, 2))
    cores = {"recompute": 4, "keep_inner": 4, "keep_all": 1}
    for policy, count in cores.items():
        group = FusionGroup((0, 1), (2, 4), policy, ())
        assert group_cost(network, group, chip, BufferMapper()).cores == count


def test_what_stays_from_group_to_group_needs_one_buffer():
    network, chip = two_convolutions(), several((2, 2))
    pinned = FusionPlan((FusionGroup((0,), pins=(Pin(0, 1),)), FusionGroup((1,))))
    for plan in (pinned, FusionPlan((FusionGroup((0, 1), (4, 4), steady=(1,)),))):
        for group, residents in zip(plan.groups, plan_residents(network, plan), strict=True):
            why = group_cost(network, group, chip, BufferMapper(), residents)
            assert isinstance(why, Infeasible)
            assert why.reason == "pins_need_one_buffer"
            assert "glb has 4 instances" in why.hint


def test_resident_weights_need_buffers_that_keep_weights():
    why = group_cost(two_convolutions(), FusionGroup((0, 1), None, resident=(0,)), EDGETPU, None)
    assert (why.reason, why.where) == ("weights_not_kept", "a..b (2 layers)")
