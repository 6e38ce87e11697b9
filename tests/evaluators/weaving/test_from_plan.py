"""Chains of evaluated plans: totals of the plan, and small groups by hand."""

from dataclasses import replace

import numpy as np
import pytest

from archloom.evaluators.fusion import group_cost
from archloom.evaluators.fusion.buffer.words import buffer_words
from archloom.evaluators.fusion.plan import NetworkCost, network_cost
from archloom.evaluators.loopnest.layer_cost import mapped_cost
from archloom.evaluators.weaving.from_plan import plan_chain
from archloom.space.fusion.plan import FusionGroup, FusionPlan, Pin, layer_by_layer
from archloom.space.networks.registry import network as catalogue

from ...cases.designs import edge, eyeriss_like, several, tpu_like
from ...cases.mappers import BufferMapper, word_by_word
from ...cases.pinned_plans import pinned_plan
from ...cases.random_nests import masked_case, random_case
from ...cases.sweeps import sweep
from ..fusion.nest.test_activity import nested
from ..fusion.test_pins import ROOMY, priced
from ..fusion.tiling.test_sweep import two_convolutions

KINDS = ("any", "operators", "wild")


def cost_of(network, plan, hardware, mapper=None):
    mapper = mapper or BufferMapper()
    found = network_cost(
        network, plan, hardware, lambda g, rest: group_cost(network, g, hardware, mapper, rest)
    )
    assert isinstance(found, NetworkCost)
    return found


def from_dram(problem):
    """Map word by word from DRAM: every word comes for each operation."""
    return mapped_cost(problem, word_by_word(problem, -1))


def unsteady(plan):
    return FusionPlan(tuple(replace(group, steady=()) for group in plan.groups))


@pytest.mark.parametrize(("seed", "kind"), sweep([(s, k) for s in range(60) for k in KINDS], 60))
@pytest.mark.parametrize("most_rows", [1, 3, 10**9])
def test_a_chain_moves_what_its_plan_moves_and_computes_no_less(seed, kind, most_rows):
    network, plan = pinned_plan(seed, kind)
    cost = priced(network, unsteady(plan))
    if not isinstance(cost, NetworkCost):
        return
    chain = plan_chain(cost, most_rows)
    assert chain.weight_bytes.sum() + chain.map_bytes.sum() == cost.dram_bytes
    assert network.macs / cost.hardware.macs <= chain.cycles.sum() <= cost.latency_cycles
    assert len(plan.groups) <= len(chain) <= len(network.layers) + most_rows * len(plan.groups)
    assert len(set(chain.layers)) == len(chain.layers)
    capacity = buffer_words(cost.hardware) * cost.hardware.word_bits / 8
    # what is left behind was there before, and fits
    assert (chain.live_bytes <= chain.footprint_bytes).all()
    if most_rows > 1:
        assert chain.footprint_bytes.max() <= capacity


@pytest.mark.parametrize(
    ("cases", "seed"),
    [*((random_case, seed) for seed in range(6)), *((masked_case, seed) for seed in range(3))],
)
def test_a_group_in_a_loop_nest_is_rows_for_its_iterations(cases, seed):
    cost, g, _ = nested(seed, cases)
    group, chain = cost.groups[g], plan_chain(cost, 5)
    assert chain.weight_bytes.sum() + chain.map_bytes.sum() == cost.dram_bytes
    least = cost.network.seen_macs / cost.hardware.macs
    assert least <= chain.cycles.sum() <= cost.latency_cycles
    members = [cost.network.layers[i].name for i in group.group.layers]
    rows = [i for i, name in enumerate(chain.layers) if "iteration" in name]
    assert [chain.layers[i] for i in rows[: len(members)]] == [
        f"{name}, first iteration" for name in members
    ]
    assert 1 <= len(rows) - len(members) <= 5
    assert (chain.footprint_bytes[rows] == group.peak_words).all()


def test_a_fused_group_of_one_tile_is_its_layers_with_maps_on_chip():
    network, hardware = two_convolutions(), edge(glb_bytes=1 << 20, word_bits=16)
    plan = FusionPlan((FusionGroup((0, 1), None, "recompute", (1,)),))
    cost = cost_of(network, plan, hardware)
    chain = plan_chain(cost)
    assert chain.layers == ("a", "b")
    assert chain.weight_bytes.tolist() == [2 * 144, 2 * 144]
    # the input comes for one, the result leaves after the other
    assert chain.map_bytes.tolist() == [2 * 256, 2 * 256]
    # weights are in the weight buffer, not among the maps: 256 words in, 256 between them
    maps = 2 * (cost.groups[0].own_words - 144)
    assert maps == 2 * 512
    assert chain.footprint_bytes.tolist() == [maps, maps]
    assert chain.live_bytes.tolist() == [maps, 0]


def test_tiles_of_a_fused_group_are_rows_and_what_is_resident_comes_with_the_first():
    """Golden case A of the fusion model: 288 words of weights, 576 fetched, 256 stored."""
    network, hardware = two_convolutions(), edge(glb_bytes=1 << 20, word_bits=16)
    plan = FusionPlan((FusionGroup((0, 1), (4, 4), "recompute", (0, 1)),))
    cost = cost_of(network, plan, hardware)
    chain = plan_chain(cost)
    others = tuple(f"a..b (2 layers), other tiles {i}/3" for i in (1, 2, 3))
    assert chain.layers == ("a, first tile", "b, first tile", *others)
    assert chain.weight_bytes.tolist() == [2 * 144, 2 * 144, 0, 0, 0]
    # four channels of 6x6 words for each tile, of 4x4 from it
    assert chain.map_bytes.tolist() == [2 * 144, 2 * 64, *[2 * 208] * 3]
    # resident weights stay on the chip between tiles
    whole = 2 * cost.groups[0].own_words
    assert chain.footprint_bytes.tolist() == [whole] * 5
    assert chain.live_bytes.tolist() == [*[whole] * 4, 0]


def test_weights_that_come_again_are_in_the_row_of_each_tile():
    network, hardware = two_convolutions(), edge(glb_bytes=1 << 20, word_bits=16)
    plan = FusionPlan((FusionGroup((0, 1), (4, 4), "recompute", (0,)),))
    chain = plan_chain(cost_of(network, plan, hardware))
    assert chain.weight_bytes.tolist() == [2 * 144] * 5
    two = plan_chain(cost_of(network, plan, hardware), most_rows=2)
    assert two.layers[2:] == tuple(f"a..b (2 layers), other tiles {i}/2" for i in (1, 2))
    assert two.weight_bytes.tolist() == [2 * 144, 2 * 144, 2 * 144, 2 * 288]
    assert two.cycles[2:].tolist() == [chain.cycles[2], chain.cycles[3:].sum()]


def test_a_layer_whose_mapping_reads_weights_again_is_as_many_layers():
    network = two_convolutions()
    once = plan_chain(cost_of(network, layer_by_layer(network), edge()))
    assert once.layers == ("a", "b")
    assert once.weight_bytes.tolist() == [144, 144]
    again = cost_of(network, layer_by_layer(network), edge(), from_dram)
    # loops over K, C, P, Q, R, S from the outermost: weights come for each of 64 positions
    assert [int(group.layers[0].words[-1, 0]) for group in again.groups] == [64 * 144] * 2
    chain = plan_chain(again)
    assert len(chain) == 2 * 64
    assert set(chain.weight_bytes.tolist()) == {144}
    alone = [group.layers[0].evaluations[0][1] for group in again.groups]
    assert chain.cycles.sum() == sum(run.chip_cycles for run in alone)
    assert len(plan_chain(again, most_rows=10)) == 2 * 10


def test_a_pinned_map_is_live_from_the_group_that_makes_it_to_its_last_reader():
    network = two_convolutions()
    plan = FusionPlan((FusionGroup((0,), pins=(Pin(0, 1),)), FusionGroup((1,))))
    chain = plan_chain(priced(network, plan))
    size, words = ROOMY.word_bits // 8, 4 * 8 * 8
    assert chain.live_bytes.tolist() == [words * size, 0]
    # the input of one and the result of the other cross the pins
    assert chain.map_bytes.tolist() == [words * size, words * size]
    assert (chain.footprint_bytes >= words * size).all()


def test_the_second_map_of_a_product_is_a_map():
    network = catalogue("bert_base", sequence_length=16)
    hardware = edge(glb_bytes=1 << 25, word_bits=16)
    chain = plan_chain(cost_of(network, layer_by_layer(network), hardware))
    products = [i for i, layer in enumerate(network.layers) if layer.multiplies_maps]
    assert products
    assert chain.weight_bytes[products].tolist() == [0] * len(products)
    moved = [2 * (network.layers[i].input_words + network.layers[i].output_words) for i in products]
    assert chain.map_bytes[products].tolist() == moved


@pytest.mark.parametrize("hardware", [eyeriss_like(), tpu_like(), several((2, 2))])
def test_cycles_leave_out_what_dram_takes(hardware):
    """With a DRAM 100,000 times slower a plan takes longer, and its chain's cycles are equal."""
    network = catalogue("tiny_cnn")
    slow = replace(hardware.levels[-1], bandwidth_words=hardware.levels[-1].bandwidth_words / 1e5)
    slowed = replace(hardware, levels=(*hardware.levels[:-1], slow))
    costs = [cost_of(network, layer_by_layer(network), h) for h in (hardware, slowed)]
    assert costs[1].latency_cycles > 2 * costs[0].latency_cycles
    quick, late = map(plan_chain, costs)
    assert np.array_equal(quick.cycles, late.cycles)
    assert np.array_equal(quick.weight_bytes, late.weight_bytes)


def test_weights_that_never_leave_are_refused_by_name():
    network = two_convolutions()
    plan = FusionPlan((FusionGroup((0,), steady=(0,)), FusionGroup((1,))))
    with pytest.raises(ValueError, match="chain two: its plan keeps weights on chip permanently"):
        plan_chain(priced(network, plan))
