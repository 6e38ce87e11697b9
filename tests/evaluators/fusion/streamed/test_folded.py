"""Costs of folded layers: by hand, and against the same layers by themselves."""

import numpy as np
import pytest

from archloom.evaluators.bounds.network.plans import any_plan_bound, tight_pass_bounds
from archloom.evaluators.fusion.plan import NetworkCost
from archloom.search.fusion.fast.planner import live_plan
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.mapping.mapper import Mapper
from archloom.search.registry import MAPPING_SEARCHES
from archloom.space.design_space.presets import preset
from archloom.space.fusion.folding import fold
from archloom.space.fusion.plan import layer_by_layer, plan_violations
from archloom.space.workload.dims import INPUTS
from archloom.space.workload.layer_builders import activation, add, conv2d, global_pool, mul
from archloom.space.workload.network import INPUT, Network

from ....cases.foldable import random_foldable
from ....cases.small_designs import casco_edge, cheap_evaluator, two_levels


def evaluated(network, hardware, evaluations=300):
    mapper = Mapper(MAPPING_SEARCHES["auto"](), evaluations, 0)
    return MemoizedPlanEvaluator(network, hardware, mapper)


def unfused(network, hardware):
    cost = evaluated(network, hardware).plan(layer_by_layer(network))
    assert isinstance(cost, NetworkCost), cost
    return cost


def test_a_residual_add_by_hand():
    # a 1x1 convolution of 8 channels on 4 x 4, and its input added to its result
    layers = conv2d("a", 8, 8, 4, 1), add("b", 8, 4)
    net = Network("net", layers, ((INPUT,), ("a", INPUT)))
    hardware = casco_edge()
    words, weights = 8 * 16, 64
    alone, together = unfused(net, hardware), unfused(fold(net), hardware)
    assert (alone.dram_reads, alone.dram_writes) == (weights + 3 * words, 2 * words)
    # the convolution reads its input, the sum the same map once more where it lies
    assert (together.dram_reads, together.dram_writes) == (weights + 2 * words, words)
    (group,) = together.groups
    array, vector = group.layers
    assert (array.operations, vector.operations) == (8 * words, 2 * words)
    rate = hardware.levels[-1].bandwidth_words
    lanes = -(-2 * words // hardware.vector_lanes)
    least = max(array.latency_cycles, lanes, (weights + 3 * words) / rate)
    assert least <= together.latency_cycles < alone.latency_cycles
    # the same is done on the chip, but that one map does not come into the buffer from DRAM
    saved = np.zeros((len(hardware.levels), 3), np.int64)
    saved[hardware.fusion_level, INPUTS] = words
    by_itself = [group.layers[0] for group in alone.groups]
    assert np.array_equal(array.words[:-1], by_itself[0].words[:-1])
    assert np.array_equal((vector.words + saved)[:-1], by_itself[1].words[:-1])
    assert vector.compute_pj == by_itself[1].compute_pj


def test_squeeze_and_excite_by_hand():
    layers = (
        conv2d("a", 8, 8, 4, 1),
        global_pool("b", 8, 4),
        conv2d("c", 8, 8, 1, 1),
        mul("d", 8, 4, broadcast=True),
        conv2d("e", 8, 8, 4, 1),
    )
    reads = (INPUT,), ("a",), ("b",), ("a", "c"), ("d",)
    cost = unfused(fold(Network("net", layers, reads)), casco_edge())
    words, weights, channels = 8 * 16, 64, 8
    by_group = [(g.dram_reads, g.dram_writes) for g in cost.groups]
    assert by_group == [
        (weights + words, words + channels),
        (weights + channels, channels),
        (weights + words + channels, words),
    ]


@pytest.mark.parametrize("seed", range(40))
def test_folding_keeps_the_work_and_never_moves_more(seed):
    net, hardware = random_foldable(np.random.default_rng(seed)), casco_edge(l2_kib=32)
    alone, together = unfused(net, hardware), unfused(fold(net), hardware)

    def operations(cost):
        return sum(share.operations for group in cost.groups for share in group.layers)

    assert operations(together) >= operations(alone)
    assert together.dram_bytes <= alone.dram_bytes
    assert together.energy_pj <= alone.energy_pj
    assert together.latency_cycles <= alone.latency_cycles
    bound = any_plan_bound(fold(net), hardware)
    assert bound.energy_pj <= together.energy_pj
    assert bound.latency_cycles <= together.latency_cycles
    for plans in ("layer_by_layer", "any"):
        energy_pj, cycles = tight_pass_bounds(fold(net), hardware, plans)
        assert energy_pj <= together.energy_pj
        assert cycles <= together.latency_cycles


@pytest.mark.parametrize("seed", range(12))
def test_fast_keeps_maps_between_folded_layers(seed):
    net, hardware = fold(random_foldable(np.random.default_rng(seed))), casco_edge(l2_kib=32)
    evaluator = evaluated(net, hardware)
    found = live_plan(evaluator)
    assert plan_violations(net, found.plan) == []
    cost, alone = evaluator.plan(found.plan), evaluator.plan(layer_by_layer(net))
    assert isinstance(cost, NetworkCost)
    assert cost.dram_bytes <= alone.dram_bytes
    # the linear model counts the same words over DRAM
    assert cost.dram_reads + cost.dram_writes == pytest.approx(found.own.dram_words, rel=0.02)


def test_without_a_shared_buffer_layers_run_one_by_one():
    net = Network(
        "net", (conv2d("a", 2, 2, 4, 1), activation("b", "relu", 2, 4)), ((INPUT,), ("a",))
    )
    alone, together = unfused(net, two_levels()), unfused(fold(net), two_levels())
    assert together.energy_pj == alone.energy_pj
    assert together.latency_cycles == alone.latency_cycles


def test_several_cores_fold_as_well():
    net, hardware = random_foldable(np.random.default_rng(3)), preset("edgetpu")
    alone, together = unfused(net, hardware), unfused(fold(net), hardware)
    assert together.dram_bytes < alone.dram_bytes
    assert together.latency_cycles <= alone.latency_cycles


def test_groups_that_are_no_computation_cost_what_they_did():
    net = random_foldable(np.random.default_rng(1))
    plain, folded = cheap_evaluator(net, casco_edge()), cheap_evaluator(fold(net), casco_edge())
    for i in range(len(net.layers)):
        one, other = (e.group(layer_by_layer(net).groups[i]) for e in (plain, folded))
        assert (one.dynamic_pj, one.latency_cycles) == (other.dynamic_pj, other.latency_cycles)
