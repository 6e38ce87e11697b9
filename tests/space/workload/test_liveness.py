"""Lives of maps, their peak, and the largest working set."""

import random
from dataclasses import replace
from math import prod

import pytest
from hypothesis import given, strategies as st

from archloom.space.networks.registry import NETWORKS, network
from archloom.space.workload.graph import rank_order
from archloom.space.workload.layer_builders import (
    activation,
    add,
    conv2d,
    conv_transpose2d,
    linear,
    max_pool2d,
)
from archloom.space.workload.liveness import Span, alive, largest_working_set
from archloom.space.workload.network import INPUT, Network, is_input

from ...cases.graphs import graph, graphs


def test_lives_in_a_residual_block() -> None:
    """A long branch of 4 channels and a short one of 8, over maps of 2x2 in a batch of 3."""
    layers = (
        conv2d("wide", 2, 8, 2, 1),
        conv2d("narrow", 8, 4, 2, 1),
        conv2d("back", 4, 8, 2, 1),
        add("add", 8, 2),
        conv2d("end", 8, 1, 2, 1),
    )
    reads = ((INPUT,), ("wide",), ("narrow",), ("back", "wide"), ("add",))
    lives = alive(Network("block", layers, reads).with_batch(3))
    assert lives.spans == (
        Span(INPUT, 3 * 8, 0, 0),
        Span("wide", 3 * 32, 0, 3),
        Span("narrow", 3 * 16, 1, 2),
        Span("back", 3 * 32, 2, 3),
        Span("add", 3 * 32, 3, 4),
        Span("end", 3 * 4, 4, 4),
    )
    assert lives.words == tuple(12 * channels for channels in (10, 12, 20, 24, 9))
    assert (lives.peak_words, lives.peak_step) == (288, 3)
    assert lives.at(2) == ("wide", "narrow", "back")


@given(graphs(), st.integers(0, 2**32))
def test_a_map_is_alive_from_its_maker_to_its_last_reader(net: Network, seed: int) -> None:
    draw = random.Random(seed)
    outputs = tuple(layer.name for layer in net.layers if draw.random() < 0.2)
    net = replace(net, outputs=outputs)
    order = []
    while len(order) < len(net.layers):
        done = {i for i in range(len(net.layers)) if i in order}
        ready = [i for i, made in enumerate(net.producers) if i not in done and set(made) <= done]
        order.append(draw.choice(ready))
    lives = alive(net, order)
    held: set[str] = {source for sources in net.reads for source in sources if is_input(source)}
    for step, i in enumerate(order):
        held.add(net.layers[i].name)
        assert set(lives.at(step)) == held
        assert lives.words[step] == len(held)  # sums of one word
        later = {source for j in order[step + 1 :] for source in net.reads[j]}
        sinks = {
            la.name for la, readers in zip(net.layers, net.consumers, strict=True) if not readers
        }
        held &= later | sinks | set(outputs)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_peak_holds_the_largest_working_set(name: str) -> None:
    net = network(name)
    lives = alive(net)
    assert lives.order == tuple(range(len(net.layers)))
    # a layer that reads one map twice needs it once
    sets = [
        layer.output_words + layer.n * sum(prod(net.map_shape(s)) for s in set(sources))
        for layer, sources in zip(net.layers, net.reads, strict=True)
    ]
    assert all(words >= own for words, own in zip(lives.words, sets, strict=True))
    assert alive(net, rank_order(net)).peak_words >= max(sets)


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ((0, 1), "an order of graph must hold each layer from 0 to 2 once"),
        ((0, 1, 1), "each layer from 0 to 2 once"),
        ((1, 0, 2), "l1 runs before l0, which it reads"),
    ],
)
def test_orders_that_are_none_are_refused(order: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        alive(graph([[-1], [0], [0]]), order)


def test_an_interleaved_map_is_held_as_it_is_made() -> None:
    """Five patches of 2x2 on each axis, of whose ten rows eight are read."""
    up = conv_transpose2d("up", 3, 2, 4, 4, 2, 1)
    net = Network("up", (up, max_pool2d("pool", 2, 8, 2)), ((INPUT,), ("up",)))
    assert alive(net).words == (3 * 16 + 2 * 100, 2 * 100 + 2 * 16)
    assert largest_working_set(net) == 3 * 16 + 2 * 100


@pytest.mark.parametrize(
    ("model", "mib"),
    [(0, 2.87), (1, 3.3), (2, 3.9), (4, 12.4), (5, 17.8), (6, 31.9), (7, 41.2)],
)
def test_the_largest_working_set_is_that_of_fast(model: int, mib: float) -> None:
    """Zhang et al., ASPLOS 2022, Table 1, in bfloat16; of B3 see the catalogue's own test."""
    net = network(f"efficientnet_b{model}")
    assert round(largest_working_set(net) * 2 / 2**20, 2 if model == 0 else 1) == mib
    assert largest_working_set(net.with_batch(4)) == 4 * largest_working_set(net)


def test_weights_are_no_part_of_a_working_set() -> None:
    layers = (linear("fc", 10, 20), activation("relu", "relu", 20))
    net = Network("mlp", layers, ((INPUT,), ("fc",)))
    assert largest_working_set(net) == 40
