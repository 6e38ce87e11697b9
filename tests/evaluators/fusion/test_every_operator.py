"""Networks of every operator: priced layer by layer, fused and searched."""

from dataclasses import replace

import numpy as np
import pytest

from archloom.evaluators.bounds.compulsory import demand
from archloom.evaluators.fusion import GroupCost, group_cost
from archloom.evaluators.fusion.plan import NetworkCost
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.fusion.casco.genetic import GeneticPlanner
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.mapping.mapper import Mapper
from archloom.search.mapping.random_sampling import RandomMapping
from archloom.space.errors import Infeasible
from archloom.space.fusion.plan import FusionGroup, layer_by_layer
from archloom.space.workload.layer import OPERATORS
from archloom.space.workload.layer_builders import linear, matmul
from archloom.space.workload.network import Network
from archloom.space.workload.vector_layer_builders import softmax

from ...cases.designs import edge, eyeriss_like, tpu_like
from ...cases.every_operator import every_operator
from ...cases.mappers import BufferMapper
from .test_plan import check_bounds, priced

ROOMY = edge(1 << 20)


@pytest.fixture(scope="session")
def network():
    return every_operator()


def attention():
    """Softmax of a product of maps, times a third; two heads, five queries, seven keys."""
    layers = (
        linear("query", 6, 8, 5),
        linear("key", 6, 8, 7),
        linear("value", 6, 8, 7),
        matmul("scores", 2, 5, 4, 7),
        softmax("weights", 7, 5, heads=2),
        matmul("mixed", 2, 5, 7, 4),
    )
    reads = (
        ("input",),
        ("input:memory",),
        ("input:memory",),
        ("query", "key"),
        ("scores",),
        ("weights", "value"),
    )
    return Network("attention", layers, reads)


def test_it_has_every_operator(network):
    assert {layer.operator for layer in network.layers} == set(OPERATORS)


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("hardware", [ROOMY, eyeriss_like(), tpu_like()], ids=lambda h: h.name)
def test_every_operator_has_a_price(network, hardware, batch):
    net = network.with_batch(batch)
    mapper = Mapper(RandomMapping(), 20, seed=1)
    cost = priced(net, layer_by_layer(net), hardware, mapper)
    assert isinstance(cost, NetworkCost)
    for layer, group in zip(net.layers, cost.groups, strict=True):
        (share,) = group.layers
        assert share.compute_pj > 0
        assert group.latency_cycles > 0
        assert share.operations == layer.macs + layer.vector_ops > 0
        # both maps, weights and learned values come from DRAM, at least once
        read = sum(layer.map_words) if layer.vector is None else layer.read_words // batch
        if layer.stride == (1, 1):
            assert group.dram_reads >= batch * read + layer.weight_words, layer.name
        assert group.dram_writes >= layer.output_words


def test_with_a_roomy_buffer_each_word_of_dram_moves_once(network):
    cost = priced(network, layer_by_layer(network), ROOMY, BufferMapper())
    reads = sum(layer.read_words + layer.weight_words for layer in network.layers)
    assert cost.dram_reads == reads
    assert cost.dram_writes == sum(layer.output_words for layer in network.layers)


@pytest.mark.parametrize("batch", [1, 4])
def test_both_maps_of_a_product_come_from_dram_for_every_image(batch):
    layer = matmul("qk", 3, 5, 4, 7).with_batch(batch)
    net = Network("one", (layer,), (("input:query", "input:key"),))
    cost = group_cost(net, FusionGroup((0,)), ROOMY, BufferMapper())
    assert (
        cost.dram_reads == batch * 3 * (5 * 4 + 4 * 7) == demand(net).dram_words - cost.dram_writes
    )
    assert cost.dram_writes == batch * 3 * 5 * 7
    assert MappingProblem.of_layer(layer, ROOMY).bounds == (1, 3 * batch, 7, 4, 5, 1, 1, 1)
    assert cost.layers[0].operations == batch * 3 * 5 * 4 * 7


@pytest.mark.parametrize("rows", [5, 2, 1])
@pytest.mark.parametrize("batch", [1, 2])
def test_fused_attention_keeps_its_scores_on_the_chip(rows, batch):
    net = attention().with_batch(batch)
    group = FusionGroup(tuple(range(6)), (rows, 1), "keep_all", (0, 1, 2))
    mapper = BufferMapper()
    cost = group_cost(net, group, ROOMY, mapper)
    assert isinstance(cost, GroupCost)
    # inputs of queries and memory, three weights once, one result
    assert cost.dram_reads == batch * (6 * 5 + 6 * 7) + 3 * 6 * 8
    assert cost.dram_writes == batch * 8 * 5
    # keys and values whole, with what one band of queries needs
    assert cost.peak_words >= 2 * 8 * 7 + rows * 8
    products = {problem.bounds for problem in mapper.asked if problem.bounds[1] == 2}
    assert products >= {(1, 2, 7, 4, rows, 1, 1, 1), (1, 2, 4, 7, rows, 1, 1, 1)}
    assert all(problem.staged == (True, True, True) for problem in mapper.asked)


def test_streamed_weights_leave_the_second_map_in_the_buffer():
    mapper = BufferMapper()
    cost = group_cost(attention(), FusionGroup(tuple(range(6)), (1, 1), "keep_all"), ROOMY, mapper)
    products = [p.staged for p in mapper.asked if p.bounds[1] == 2]
    assert set(products) == {(True, True, True)}
    # queries in five tiles fetch their weights again; keys and values are made in the first
    assert cost.dram_reads == 6 * 5 + 6 * 7 + (5 + 1 + 1) * 48


def test_a_buffer_without_weights_cannot_fuse_a_product():
    why = group_cost(attention(), FusionGroup((3, 4), (5, 1)), eyeriss_like(), BufferMapper())
    assert isinstance(why, Infeasible)
    assert why.reason == "second_map_not_kept"
    assert "which glb does not keep" in why.hint
    assert "run scores unfused" in why.hint


@pytest.mark.parametrize("hardware", [ROOMY, tpu_like()], ids=lambda h: h.name)
@pytest.mark.parametrize("name", ["every", "attention"])
def test_no_plan_is_below_the_bounds(network, hardware, name):
    net = (network if name == "every" else attention()).with_batch(2)
    mapper = Mapper(RandomMapping(), 10, seed=1)
    seen = [check_bounds(net, hardware, seed, mapper) for seed in range(48)]
    assert sum(cost is not None for cost in seen) >= 2
    assert any(len(g.layers) > 1 for cost in seen if cost is not None for g in cost.plan.groups)


@pytest.mark.parametrize("hardware", [ROOMY, eyeriss_like()], ids=lambda h: h.name)
def test_the_partition_search_fuses_every_operator(network, hardware):
    mapper = Mapper(RandomMapping(), 10, seed=1)
    evaluator = MemoizedPlanEvaluator(network, hardware, mapper)
    search = GeneticPlanner(evaluator, 6)
    state = search.advance(search.start(1), 40)
    best, apart = (evaluator.plan(p) for p in (state.best, layer_by_layer(network)))
    assert isinstance(best, NetworkCost)
    assert isinstance(apart, NetworkCost)
    assert best.edp_js < apart.edp_js
    assert best.dram_bytes < apart.dram_bytes


def test_an_upsampled_map_is_as_large_as_its_reader_expects(network):
    up = network.layers[network.index("up")]
    assert network.map_shape("up") == up.map_shape == (4, 6, 4)
    assert (up.p, up.q, up.output_channels) == (3, 2, 16)
    # fused with its reader, bands of whole patches fetch what a band of inputs needs
    group = tuple(network.index(name) for name in ("up", "peaks"))
    cost = group_cost(
        network, FusionGroup(group, (6, 4), "keep_all", group[:1]), ROOMY, BufferMapper()
    )
    assert cost.dram_reads == up.input_words + up.weight_words
    assert cost.dram_writes == 4 * 6 * 4


def test_random_sizes_of_attention_are_priced_word_by_word():
    rng = np.random.default_rng(3)
    for _ in range(10):
        heads, m, k, n = (int(rng.integers(1, 9)) for _ in range(4))
        layer = matmul("x", heads, m, k, n)
        net = Network("one", (layer,), (("input:a", "input:b"),))
        cost = group_cost(net, FusionGroup((0,)), ROOMY, BufferMapper())
        assert cost.dram_reads == heads * k * (m + n)


@pytest.mark.parametrize("rows", [1, 3])
def test_resident_weights_that_layers_share_come_and_are_held_once(rows):
    first = linear("first", 6, 6, 3)
    second = replace(linear("second", 6, 6, 3, bias=False), weights_of="first")
    net = Network("twice", (first, second), (("input",), ("first",)))
    costs = [
        group_cost(n, FusionGroup((0, 1), (rows, 1), "recompute", (0, 1)), ROOMY, BufferMapper())
        for n in (net, replace(net, layers=(first, replace(second, weights_of=""))))
    ]
    shared, apart = costs
    assert shared.dram_reads == 18 + 36 == apart.dram_reads - 36
    assert shared.peak_words == apart.peak_words - 36
    # the bound counts them once as well
    assert demand(net).dram_words == 18 + 36 + 18 == shared.dram_reads + shared.dram_writes


def test_an_output_that_a_fused_layer_reads_is_written_all_the_same():
    net = attention()
    group = FusionGroup(tuple(range(6)), (5, 1), "keep_all")
    inside = group_cost(net, group, ROOMY, BufferMapper())
    leaving = replace(net, outputs=("key", "value"))
    outside = group_cost(leaving, group, ROOMY, BufferMapper())
    assert outside.dram_writes == inside.dram_writes + 2 * 8 * 7
    assert outside.dram_reads == inside.dram_reads
    assert demand(leaving).dram_words == demand(net).dram_words + 2 * 8 * 7
