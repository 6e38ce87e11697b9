from dataclasses import replace

import pytest

from archloom.space.networks.registry import network
from archloom.space.workload.layer import Layer
from archloom.space.workload.network import INPUT, Network

A = Layer("a", "gemm", k=4, c=3)
B = Layer("b", "gemm", k=4, c=4)
ADD = Layer("sum", "add", g=4, operands=2)
DIAMOND = Network("diamond", (A, B, ADD), ((INPUT,), ("a",), ("b", "a")))


def test_edges_of_a_diamond() -> None:
    assert DIAMOND.producers == ((), (0,), (1, 0))
    assert DIAMOND.consumers == ((1, 2), (2,), ())
    assert DIAMOND.neighbours == (frozenset({1, 2}), frozenset({0, 2}), frozenset({0, 1}))
    assert DIAMOND.index("sum") == 2


def test_layers_that_read_the_same_map_are_neighbours() -> None:
    fork = Network("fork", (A, Layer("c", "gemm", k=2, c=3)), ((INPUT,), (INPUT,)))
    assert fork.neighbours == (frozenset({1}), frozenset({0}))


def test_a_map_that_is_read_twice_by_one_layer() -> None:
    twice = Network("twice", (A, ADD), ((INPUT,), ("a", "a")))
    assert twice.consumers == ((1,), ())
    assert twice.neighbours == (frozenset({1}), frozenset({0}))


def test_batch_reaches_every_layer() -> None:
    batched = network("tiny_cnn").with_batch(4)
    assert batched.batch == 4
    assert {layer.n for layer in batched.layers} == {4}
    assert batched.macs == 4 * network("tiny_cnn").macs
    assert batched.params == network("tiny_cnn").params


def test_a_batch_is_made_once() -> None:
    net = network("tiny_cnn")
    batched = net.with_batch(4)
    assert net.with_batch(4) is batched
    assert net.with_batch(net.batch) is net
    assert batched.with_batch(1) == net


@pytest.mark.parametrize(
    ("layers", "reads", "message"),
    [
        ((A, A), ((INPUT,), (INPUT,)), "layer names must be unique"),
        ((Layer("input", "gemm"),), ((INPUT,),), "must be unique and not 'input'"),
        ((Layer("input:a", "gemm"),), ((INPUT,),), "must be unique and not 'input'"),
        (
            (A, Layer("c", "gemm", k=2, c=5)),
            ((INPUT,), (INPUT,)),
            "layer c expects 5 words x batch 1 from input, which has 3 x 1",
        ),
        (
            (A, Layer("b", "matmul", k=2, c=4, operands=2)),
            ((INPUT,), ("a", "a")),
            "layer b expects 8 words x batch 1 from a, which makes 4 x 1",
        ),
        ((A, B), ((INPUT,),), "every layer needs an entry in reads"),
        ((A, ADD), ((INPUT,), ("a",)), r"layer sum reads 2 maps, got \('a',\)"),
        ((B, A), (("a",), (INPUT,)), "layer b reads 'a', which is not an earlier layer"),
        ((A, B), ((INPUT,), ("z",)), "layer b reads 'z', which is not an earlier layer"),
        (
            (A, Layer("b", "gemm", k=4, c=5)),
            ((INPUT,), ("a",)),
            "layer b expects 5 words x batch 1 from a, which makes 4 x 1",
        ),
        (
            (A, B.with_batch(2)),
            ((INPUT,), ("a",)),
            "layer b expects 4 words x batch 2 from a, which makes 4 x 1",
        ),
    ],
)
def test_broken_networks_are_refused(
    layers: tuple[Layer, ...], reads: tuple[tuple[str, ...], ...], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Network("broken", layers, reads)


def test_inputs_have_the_shape_that_a_window_expects() -> None:
    pool = Layer("pool", "maxpool", g=2, p=3, q=4, input_size=(3, 4))
    product = Layer("product", "matmul", c=3, k=8, operands=2)
    flat = Layer("flat", "gemm", c=24)
    net = Network("inputs", (product, flat, pool), (("input:a", INPUT), (INPUT,), (INPUT,)))
    # the product reads all of its second map, so it does not say what shape that has
    assert net.map_shape(INPUT) == (24, 1, 1)
    assert net.map_shape("input:a") == (3, 1, 1)
    other = Network("inputs", (product, pool, flat), (("input:a", INPUT), (INPUT,), (INPUT,)))
    assert other.map_shape(INPUT) == (2, 3, 4)
    assert other.map_shape("product") == (8, 1, 1)
    assert other.neighbours[0] == {1, 2}
    assert other.producers == ((), (), ())
    alone = Network("alone", (product,), (("input:a", "input:b"),))
    assert alone.map_shape("input:b") == (24, 1, 1)


def test_both_maps_of_a_product_are_as_dense_as_inputs() -> None:
    product = Layer("product", "matmul", c=3, k=8, operands=2)
    net = Network("two", (A, product), ((INPUT,), ("input:a", "input:b"))).with_density(0.25, 0.5)
    assert [layer.density for layer in net.layers] == [(0.25, 0.5), (0.5, 0.5)]


def test_densities_of_layers_are_kept_and_multiplied() -> None:
    pruned = replace(A, density=(0.2, 0.8))
    net = Network("one", (pruned,), ((INPUT,),))
    assert net.with_density(1.0, 1.0) == net
    assert net.with_density(0.5, 1.0).layers[0].density == (0.1, 0.8)
    with pytest.raises(ValueError, match="density"):
        net.with_density(10.0, 1.0)
