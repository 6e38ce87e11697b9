"""Price of whole networks: sums, infeasibility, and the bounds below every price."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from archloom.evaluators.bounds.compulsory import energy_bound_pj, latency_bound_cycles
from archloom.evaluators.fusion import group_cost
from archloom.evaluators.fusion.plan import NetworkCost, network_cost
from archloom.evaluators.hardware import access_costs
from archloom.evaluators.loopnest.layer_cost import whole_pj
from archloom.search.fusion.partition import merge, normalise, singletons
from archloom.search.mapping.mapper import Mapper
from archloom.search.mapping.random_sampling import RandomMapping
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.design_space.presets import preset
from archloom.space.design_space.shipped import PRESETS, TEMPLATES
from archloom.space.errors import Infeasible
from archloom.space.fusion.plan import FusionGroup, FusionPlan, layer_by_layer, plan_violations
from archloom.space.fusion.residency import ALONE
from archloom.space.fusion.running_order import group_order
from archloom.space.hardware.cores import Cores, fusion_cores
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network as catalogue

from ...cases.designs import edge, eyeriss_like, tpu_like
from ...cases.groups import POLICIES
from ...cases.mappers import BufferMapper

TINY = ("tiny_cnn", "tiny_mobile", "tiny_mlp")


def random_plan(network, hardware, rng):
    """Return a valid plan: neighbours merged at random, tiled and cached at random."""
    groups = list(singletons(network))
    if isinstance(fusion_cores(hardware), Cores):
        for _ in range(int(rng.integers(len(groups)))):
            groups = list(normalise(merge(network, groups, rng)))
    order = group_order(network, groups)
    if order is None:
        return layer_by_layer(network)
    return FusionPlan(tuple(_cut(network, groups[g], hardware, rng) for g in order))


def _cut(network, layers, hardware, rng):
    if len(layers) == 1 and rng.random() < 0.7:
        return FusionGroup(layers)
    if isinstance(fusion_cores(hardware), Infeasible):
        return FusionGroup(layers)
    tile = (int(rng.integers(1, 17)), int(rng.integers(1, 17))) if rng.random() < 0.8 else None
    resident = ()
    if "weights" in hardware.levels[-2].keeps:
        resident = tuple(i for i in layers if network.layers[i].uses_macs and rng.random() < 0.5)
    return FusionGroup(layers, tile, POLICIES[rng.integers(3)], resident)


def priced(network, plan, hardware, mapper):
    return network_cost(
        network,
        plan,
        hardware,
        lambda g, residents: group_cost(network, g, hardware, mapper, residents),
    )


@pytest.fixture(scope="session")
def fused():
    """Return prices of plans with groups of several layers and of single ones."""
    found = []
    for name in TINY:
        network, rng = catalogue(name).with_batch(2), np.random.default_rng(7)
        for hardware in (edge(), tpu_like()):
            mapper = Mapper(RandomMapping(), 20, seed=3)
            for _ in range(4):
                plan = random_plan(network, hardware, rng)
                assert plan_violations(network, plan) == []
                cost = priced(network, plan, hardware, mapper)
                if isinstance(cost, NetworkCost):
                    found.append(cost)
    assert sum(len(g.layers) > 1 for c in found for g in c.groups) >= 10
    return found


def test_levels_add_up_to_layers_and_layers_to_the_network_in_any_order(fused):
    for cost in fused:
        parts = [float(e) for g in cost.groups for s in g.layers for e in s.energy_pj.ravel()]
        parts += [s.compute_pj for g in cost.groups for s in g.layers]
        parts.append(cost.leakage_pj)
        for seed in range(3):
            np.random.default_rng(seed).shuffle(parts)
            assert sum(parts) == cost.energy_pj
        by_layer = [s.energy_pj.sum() + s.compute_pj for g in cost.groups for s in g.layers]
        assert sum(by_layer) + cost.leakage_pj == cost.energy_pj
        levels = sum(s.energy_pj for g in cost.groups for s in g.layers)
        compute = sum(s.compute_pj for g in cost.groups for s in g.layers)
        assert levels.sum(axis=1).sum() + compute + cost.leakage_pj == cost.energy_pj


def test_cycles_and_words_add_up(fused):
    for cost in fused:
        shares = [s for g in cost.groups for s in g.layers]
        waits = sum(g.wait_cycles for g in cost.groups)
        assert all(g.wait_cycles >= 0 for g in cost.groups)
        assert cost.latency_cycles == sum(s.latency_cycles for s in shares) + waits
        dram = sum(int(s.words[-1].sum()) for s in shares)
        assert dram == cost.dram_reads + cost.dram_writes
        assert cost.dram_bytes == dram * cost.hardware.word_bits / 8
        assert sorted(s.layer for s in shares) == list(range(len(cost.network.layers)))
        assert cost.plan.groups == tuple(g.group for g in cost.groups)


def test_leakage_runs_over_the_whole_pass_and_edp_is_per_image(fused):
    for cost in fused:
        per_cycle = access_costs(cost.hardware).leakage_pj_per_cycle
        assert cost.leakage_pj == whole_pj(per_cycle * cost.latency_cycles)
        assert cost.latency_s == cost.latency_cycles / (cost.hardware.frequency_mhz * 1e6)
        joules = cost.energy_pj * 1e-12 / cost.network.batch
        assert cost.edp_js == pytest.approx(joules * cost.latency_s, rel=1e-12)


def test_the_first_group_that_does_not_fit_is_the_answer():
    network, asked = catalogue("tiny_cnn"), []
    no = Infeasible("glb_overflow", "here", 2, 1, "bytes", "less")

    def price(group, residents):
        assert residents == ALONE
        asked.append(group.layers)
        return no if group.layers == (2,) else group_cost(network, group, edge(), BufferMapper())

    assert network_cost(network, layer_by_layer(network), edge(), price) is no
    assert asked == [(0,), (1,), (2,)]


def test_fusing_a_whole_network_leaves_only_its_ends_in_dram():
    network = catalogue("tiny_cnn")
    everything = FusionGroup(tuple(range(len(network.layers))))
    cost = priced(network, FusionPlan((everything,)), edge(1 << 20), BufferMapper())
    assert isinstance(cost, NetworkCost)
    weights = sum(layer.weight_words for layer in network.layers)
    assert cost.dram_reads == network.layers[0].input_words + weights
    assert cost.dram_writes == network.layers[-1].output_words
    apart = priced(network, layer_by_layer(network), edge(1 << 20), BufferMapper())
    between = 2 * sum(layer.output_words for layer in network.layers[:-1])
    # one map of the residual block is read twice
    again = network.layers[0].output_words
    moved = cost.dram_reads + cost.dram_writes + between + again
    assert apart.dram_reads + apart.dram_writes == moved


def check_bounds(network, hardware, seed, mapper):
    """Whether the price of a random plan is above both bounds; None if it does not fit."""
    plan = random_plan(network, hardware, np.random.default_rng(seed))
    cost = priced(network, plan, hardware, mapper)
    if isinstance(cost, Infeasible):
        assert cost.needed > cost.available
        return None
    assert cost.latency_cycles >= latency_bound_cycles(network, hardware), plan
    assert cost.energy_pj >= energy_bound_pj(network, hardware), plan
    return cost


@pytest.mark.parametrize("name", PRESETS)
def test_no_price_on_a_published_chip_is_below_the_bounds(name):
    hardware = preset(name)
    seen = 0
    for workload in TINY:
        network = catalogue(workload).with_batch(hardware.native_batch)
        mapper = Mapper(RandomMapping(), 10, seed=1)
        for seed in range(6):
            seen += check_bounds(network, hardware, seed, mapper) is not None
    assert seen >= 9


@pytest.fixture(scope="session")
def spaces():
    return {name: HardwareSpace.load(name) for name in TEMPLATES}


@pytest.mark.parametrize("template", TEMPLATES)
@settings(max_examples=40)
@given(seed=st.integers(0, 2**32), workload=st.sampled_from(TINY))
def test_no_price_in_a_hardware_space_is_below_the_bounds(spaces, template, seed, workload):
    rng = np.random.default_rng(seed)
    space = spaces[template]
    built = (space.build(space.sample(rng)) for _ in range(1000))
    hardware = next(h for h in built if isinstance(h, Hardware))
    network = catalogue(workload).with_batch(int(rng.choice([1, min(4, hardware.native_batch)])))
    mapper = Mapper(RandomMapping(), 5, seed=seed)
    for plan_seed in range(3):
        check_bounds(network, hardware, seed + plan_seed, mapper)


@pytest.mark.parametrize("name", TINY)
def test_more_dram_bandwidth_is_never_slower(name):
    """With the same mappings; a search could choose others."""
    network, rng = catalogue(name), np.random.default_rng(5)
    for _ in range(4):
        plan = random_plan(network, edge(), rng)
        latency = []
        for channels in (1, 2, 8):
            hardware = edge(1 << 20, channels=channels)
            latency.append(priced(network, plan, hardware, BufferMapper()).latency_cycles)
        assert latency == sorted(latency, reverse=True)


def test_chips_without_weights_in_the_shared_buffer_can_still_fuse():
    network, hardware = catalogue("tiny_cnn"), eyeriss_like()
    plan = FusionPlan(
        (FusionGroup((0, 1, 2, 3), (4, 16), "keep_all"), *(FusionGroup((i,)) for i in (4, 5, 6)))
    )
    mapper = Mapper(RandomMapping(), 50, seed=2)
    cost = priced(network, plan, hardware, mapper)
    apart = priced(network, layer_by_layer(network), hardware, mapper)
    assert isinstance(cost, NetworkCost)
    maps = cost.network.layers[0].input_words + cost.network.layers[3].output_words
    inputs = cost.groups[0].layers[0].words[-1, 1] + cost.groups[0].layers[3].words[-1, 2]
    assert inputs == maps
    assert cost.dram_writes < apart.dram_writes
