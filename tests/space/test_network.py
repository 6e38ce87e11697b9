import pytest

from archloom.space.layer import Layer
from archloom.space.network import INPUT, Network
from archloom.space.networks import network

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


@pytest.mark.parametrize(
    ("layers", "reads", "message"),
    [
        ((A, A), ((INPUT,), (INPUT,)), "layer names must be unique"),
        ((Layer("input", "gemm"),), ((INPUT,),), "must be unique and not 'input'"),
        ((A, B), ((INPUT,),), "every layer needs an entry in reads"),
        ((A, ADD), ((INPUT,), ("a",)), r"layer sum reads 2 maps, got \('a',\)"),
        ((B, A), (("a",), (INPUT,)), "layer b reads 'a', which is no earlier layer"),
        ((A, B), ((INPUT,), ("z",)), "layer b reads 'z', which is no earlier layer"),
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
