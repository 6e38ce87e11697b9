"""Optimus' planner: what it hands over, and how that fits the common price."""

import numpy as np
import pytest

from archloom.evaluators.fusion.optimus.fused import line_buffers
from archloom.evaluators.fusion.plan import NetworkCost
from archloom.evaluators.fusion.tiling.sweep import axis_sweep
from archloom.search.fusion.optimus.planner import OptimusPlanner, optimus_plan
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.fusion.protocol import FusionSearch
from archloom.space.design_space.presets import preset
from archloom.space.errors import Infeasible
from archloom.space.fusion.plan import FusionGroup, layer_by_layer, plan_violations
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network
from archloom.space.workload.graph import positions

from ....cases.drawn_networks import all_groups, drawn_network
from ....cases.mappers import BufferMapper
from ....cases.small_designs import chain, cheap_evaluator, three_levels, two_levels
from ....contracts.fusion_search import FusionSearchContract


class TestDynamicFusion(FusionSearchContract):
    def make(self, price: MemoizedPlanEvaluator) -> FusionSearch:
        return OptimusPlanner(price)


def test_it_fuses_where_that_saves_traffic() -> None:
    price = cheap_evaluator(network("mobilenet_v2"), preset("eyeriss"))
    found = optimus_plan(price)
    assert found is not None
    assert plan_violations(price.network, found.plan) == []
    fused, alone = price.plan(found.plan), price.plan(layer_by_layer(price.network))
    assert isinstance(fused, NetworkCost)
    assert isinstance(alone, NetworkCost)
    assert fused.dram_bytes < 0.5 * alone.dram_bytes
    search = OptimusPlanner(price)
    state = search.advance(search.start(0), 2)
    assert state.best == found.plan
    assert state.notes == found.notes() != ()
    assert search.advance(search.start(0), 1).notes == ()
    assert search.advance(state, 5) == state


def test_every_plan_is_one_that_has_a_price() -> None:
    """Groups that the common price finds too large are mended, in the order that is said."""
    smaller = cut = fused = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        net = drawn_network(rng)
        hardware = three_levels(int(2 ** rng.uniform(7, 12)))
        price = cheap_evaluator(net, hardware)
        found = optimus_plan(price)
        if found is None:
            continue
        assert plan_violations(net, found.plan) == []
        assert len(found.plan.groups) >= len(found.least.groups)
        assert found.cut or len(found.plan.groups) == len(found.least.groups)
        for group in found.plan.groups:
            assert not isinstance(price.group(group), Infeasible)
            if len(group.layers) == 1:
                assert group == FusionGroup(group.layers)
                continue
            fused += 1
            weighted = tuple(i for i in group.layers if net.layers[i].weight_words)
            assert group.halo == "keep_all"
            assert group.resident in ((), weighted)
        assert (found.cut > 0) == any("split" in note for note in found.notes())
        assert (found.smaller > 0) == any("smaller" in note for note in found.notes())
        smaller, cut = smaller + found.smaller, cut + found.cut
    # all of it happens
    assert min(smaller, cut, fused) > 3


def test_bands_move_the_words_of_its_own_cost() -> None:
    """In a buffer that is large enough, the price counts the same words from and to DRAM."""
    hardware = three_levels(2**22)
    same = streamed = 0
    for seed in range(60):
        rng = np.random.default_rng(100 + seed)
        net = drawn_network(rng, most=6).with_batch(1)
        price = MemoizedPlanEvaluator(net, hardware, BufferMapper())
        for layers in map(positions, all_groups(net)):
            if len(layers) == 1:
                continue
            lines, stay = line_buffers(net, layers), bool(rng.random() < 0.5)
            rows, columns = lines.shape.sizes[lines.shape.anchor]
            band = lines.cost(int(rng.integers(lines.least, 2 * lines.words(rows, 1))), stay)
            weighted = tuple(i for i in layers if net.layers[i].weight_words)
            group = FusionGroup(layers, (band.rows, columns), "keep_all", weighted if stay else ())
            cost = price.group(group)
            assert not isinstance(cost, Infeasible)
            made = axis_sweep(lines.shape, list(lines.layers), 0, band.rows, keep=True).new > 0
            moved = cost.dram_reads + cost.dram_writes
            # what has made all of its rows in earlier bands needs no weights any more
            if stay or made[[layers.index(i) for i in weighted]].all():
                assert moved == band.words
                same, streamed = same + 1, streamed + (not stay and band.bands > 1)
            else:
                assert band.weights + band.inputs + band.outputs <= moved < band.words
    assert min(same, streamed) > 50


@pytest.mark.parametrize("hardware", [two_levels(), preset("tpu_v3")])
def test_without_a_shared_buffer_there_is_nothing_to_plan(hardware: Hardware) -> None:
    price = cheap_evaluator(chain(3), hardware)
    assert optimus_plan(price) is None
    search = OptimusPlanner(price)
    assert search.found is None
    state = search.advance(search.start(0), 2)
    assert state.best == layer_by_layer(price.network)


def test_what_was_left_out_is_said() -> None:
    price = cheap_evaluator(network("tiny_mobile"), three_levels(4096, (8, 8, 8)))
    full, short = optimus_plan(price), optimus_plan(price, most_work=30)
    assert full is not None
    assert short is not None
    assert not any("compared" in note for note in full.notes())
    run = short.least.longest_run
    assert f"only runs of at most {run} layers were compared" in short.notes()[0]


def test_a_buffer_without_weights_keeps_none() -> None:
    price = cheap_evaluator(network("tiny_mobile"), preset("eyeriss"))
    found = optimus_plan(price)
    assert found is not None
    assert any(len(g.layers) > 1 for g in found.plan.groups)
    assert all(g.resident == () for g in found.plan.groups)
