"""Ranks of groups: which loops of their layers are the same, and which ones stay closed."""

from math import prod

import numpy as np
import pytest
from hypothesis import given, strategies as st

from archloom.evaluators.fusion.group_graph import group_sources
from archloom.evaluators.fusion.nest import GroupRanks, group_ranks, nest_group
from archloom.space.networks.transformers.transformer import Heads, SequenceBuilder
from archloom.space.workload import Network
from archloom.space.workload.layer import Layer
from archloom.space.workload.layer_builders import conv2d, linear, matmul
from archloom.space.workload.vector_layer_builders import copy, rotary, softmax

from ....cases.random_nests import random_members, random_network

N, G, K, C, P, Q = range(6)


def ranks_of(network: Network, members: tuple[int, ...] | None = None) -> GroupRanks:
    found = group_ranks(network, members or tuple(range(len(network.layers))))
    assert found is not None
    return found


def named(network: Network, ranks: GroupRanks) -> dict[str, tuple[tuple[int, ...], ...]]:
    return {x.name: d for x, d in zip(network.layers, ranks.dims, strict=True)}


def closed(ranks: GroupRanks) -> set[int]:
    return {r for r, may in enumerate(ranks.loopable) if not may}


def attention(heads: Heads, rows: int, length: int, width: int = 5) -> SequenceBuilder:
    """Return projections of two inputs, attention between them, and a projection of its result."""
    builder = SequenceBuilder()
    x, y = builder.input("x", width, rows), builder.input("y", width, length)
    features = heads.count * heads.features
    q = builder.linear("q", x, features * heads.sharing, bias=False)
    k, v = (builder.linear(name, y, features, bias=False) for name in "kv")
    context = builder.attention("a", heads, q, k, v)
    builder.linear("out", context, width, bias=False)
    return builder


def test_attention_with_shared_heads() -> None:
    network = attention(Heads(2, 3, sharing=4), rows=5, length=7).network("grouped")
    ranks = ranks_of(network)
    layers = named(network, ranks)
    (heads,), (keys,), (features,) = (
        layers["a.scores"][G],
        layers["a.scores"][K],
        layers["k"][K][1:],
    )
    rows, sharing = layers["a.scores"][P]
    assert [ranks.sizes[r] for r in (heads, keys, features, rows, sharing)] == [2, 7, 3, 5, 4]
    # channels of the queries are heads, those that share keys, and features
    assert layers["q"][K] == (heads, sharing, features)
    assert layers["k"][K] == (heads, features)
    assert layers["k"][P] == layers["v"][P] == (keys,)
    assert layers["a.softmax"] == ((), (heads,), (keys,), (keys,), (rows, sharing), ())
    assert layers["a.context"][C] == (keys,)
    assert layers["out"][P] == (rows,)
    assert layers["out"][C] == (heads, sharing, *layers["a.context"][K])
    assert layers["v"][K] == (heads, *layers["a.context"][K])
    assert closed(ranks) == set()


def test_images_are_one_rank() -> None:
    network = attention(Heads(2, 3), rows=5, length=7).network("batch").with_batch(3)
    ranks = ranks_of(network)
    assert {dims[N] for dims in ranks.dims} == {ranks.dims[0][N]}
    assert ranks.sizes[ranks.dims[0][N][0]] == 3


def test_queries_and_keys_of_one_input_are_different_ranks() -> None:
    builder = SequenceBuilder()
    x = builder.input("x", 6, 5)
    q, k, v = (builder.linear(name, x, 6, bias=False) for name in "qkv")
    builder.attention("a", Heads(2, 3), q, k, v)
    network = builder.network("self")
    layers = named(network, ranks_of(network))
    assert layers["q"][P] == layers["a.scores"][P] != layers["a.scores"][K] == layers["k"][P]
    # channels of the input are added up by all three: one rank
    assert layers["q"][C] == layers["k"][C] == layers["v"][C]


def test_an_input_read_along_two_ranks_is_one_operand_until_loops_tell_them_apart() -> None:
    builder = SequenceBuilder()
    x = builder.input("x", 6, 5)
    q, k = (builder.linear(name, x, 6, bias=False) for name in "qk")
    builder.scores("s", Heads(2, 3), q, k)
    network = builder.network("scores")
    layers = named(network, ranks_of(network))
    for looped, count in ((layers["q"][C], 1), (layers["q"][P], 2)):
        group = nest_group(network, (0, 1, 2), frozenset(looped))
        assert group is not None
        assert sum(o.kind == "read" for o in group.operands) == count


def test_mlp_with_gate_and_residual() -> None:
    builder = SequenceBuilder()
    x = builder.input("x", 6, 5)
    normed = builder.rms_norm("norm", x)
    up, gate = (builder.linear(name, normed, 9, bias=False) for name in ("up", "gate"))
    hidden = builder.sum("join", up, gate)
    down = builder.linear("down", hidden, 6, bias=False)
    builder.sum("add", x, down)
    network = builder.network("mlp")
    ranks = ranks_of(network)
    layers = named(network, ranks)
    width, (rows,) = layers["norm"][K], layers["norm"][P]
    assert layers["up"][C] == layers["gate"][C] == width
    # the sum reads what the norm reads: what comes out is along what goes in
    assert layers["down"][K] == layers["add"][G] == width
    assert layers["up"][K] == layers["gate"][K] == layers["join"][G] == layers["down"][C]
    assert all(dims[P] == (rows,) for dims in ranks.dims)
    # a norm needs all features of a position
    assert closed(ranks) == set(width)


def test_square_second_maps_are_read_as_attention_does() -> None:
    """Where both readings fit, rows are weighed behind a softmax and are columns otherwise."""
    network = attention(Heads(1, 4), rows=5, length=4).network("square")
    layers = named(network, ranks_of(network))
    assert layers["a.scores"][K] == layers["k"][P]
    assert layers["a.scores"][C] == layers["k"][K]
    assert layers["a.context"][C] == layers["v"][P]
    assert layers["a.context"][K] == layers["v"][K]


def test_a_square_map_from_outside_that_is_weighed_is_no_other_way_round() -> None:
    builder = SequenceBuilder()
    v = builder.input("v", 4, 4)
    builder.weigh("w", Heads(1, 4), builder.input("s", 4, 6), v)
    builder.linear("beside", v, 5, bias=False)
    network = builder.network("beside")
    layers = named(network, ranks_of(network))
    assert layers["beside"][C] == layers["w.context"][K]
    assert layers["beside"][P] == layers["w.context"][C]


def test_keys_that_are_values_come_once() -> None:
    builder = SequenceBuilder()
    both = builder.input("kv", 6, 7)
    builder.attention("a", Heads(2, 3), builder.input("q", 6, 5), both, both)
    network = builder.network("latent")
    ranks = ranks_of(network)
    group = nest_group(network, (0, 1, 2), frozenset(range(len(ranks.sizes))))
    assert group is not None
    assert [o.readers for o in group.operands if o.kind == "read"] == [(0,), (0, 2)]


def test_channels_are_split_where_another_layer_reads_them_as_positions() -> None:
    """Six channels of 4 positions are read as 3 channels of 8 rows."""
    builder = SequenceBuilder()
    made = builder.linear("made", builder.input("x", 5, 4), 6, bias=False)
    layer = matmul("rows", 1, 8, 3, 7)
    builder.append(layer, made, builder.input("y", 3, 7))
    network = builder.network("reshaped")
    layers = named(network, ranks_of(network))
    assert layers["rows"][P] == (*layers["made"][P], layers["made"][K][0])
    assert layers["rows"][C] == layers["made"][K][1:]


def test_a_flattened_map_is_its_positions_and_channels() -> None:
    network = Network("flat", (linear("a", 5, 4, 6), linear("b", 24, 3)), (("input",), ("a",)))
    made, read = ranks_of(network).dims
    assert read[C] == (*made[P], *made[K])


def test_what_does_not_divide_is_closed() -> None:
    """Six channels of 10 positions as 15 channels of 4: no part of one makes one of the other."""
    layers = (linear("a", 5, 6, 10), linear("b", 15, 3, 4))
    network = Network("torn", layers, (("input",), ("a",)))
    ranks = ranks_of(network)
    made, read = ranks.dims
    assert closed(ranks) == {*made[K], *made[P], *read[C], *read[P]}


@pytest.mark.parametrize(
    ("layer", "dims"),
    [
        (conv2d("x", 4, 3, 5, 3, padding=1), (P, Q)),
        (softmax("x", 4, 5), ()),
        (rotary("x", 4, 5), (G,)),
        (Layer("x", "layer_norm", k=4, c=4, p=5, input_size=(5, 1)), (K,)),
        (Layer("x", "group_norm", g=2, k=10, c=10), (G, K)),
        (Layer("x", "gemm", k=4, c=5, p=3, input_size=(3, 1), parts=(2, 3), operands=2), (C,)),
    ],
    ids=lambda case: getattr(case, "operator", ""),
)
def test_what_layers_need_all_of_at_once(layer: Layer, dims: tuple[int, ...]) -> None:
    reads = tuple(f"input:{i}" for i in range(layer.operands))
    ranks = ranks_of(Network("one", (layer,), (reads,)))
    assert closed(ranks) == {r for d in dims for r in ranks.dims[0][d]}


def test_keys_that_come_in_pieces_are_closed() -> None:
    builder = SequenceBuilder()
    cached, new = (builder.input(name, 8, size) for name, size in (("cached", 5), ("new", 4)))
    scores = builder.scores("s", Heads(2, 4), builder.input("q", 8, 4), cached, new)
    builder.weigh("w", Heads(2, 4), scores, cached, new)
    network = builder.network("pieces")
    ranks = ranks_of(network)
    assert closed(ranks) == set(ranks.dims[0][K]) == set(ranks.dims[2][C])


def test_operators_of_which_no_part_is_known_have_no_ranks() -> None:
    layers = (linear("a", 4, 6, 3), copy("b", (6, 3, 1), (18,)))
    network = Network("copied", layers, (("input",), ("a",)))
    assert group_ranks(network, (0, 1)) is None
    assert group_ranks(network, (0,)) is not None


@given(seed=st.integers(0, 2**32 - 1))
def test_makers_and_readers_agree_on_each_map(seed: int) -> None:
    """Sizes multiply to bounds, no layer has a rank twice, and loops never split a map into other
    pieces as it is made than as it is read."""
    rng = np.random.default_rng(seed)
    network = random_network(rng)
    members = random_members(rng, network)
    ranks = ranks_of(network, members)
    assert all(size > 1 for size in ranks.sizes)
    number = {i: m for m, i in enumerate(members)}
    for m, i in enumerate(members):
        layer, dims = network.layers[i], ranks.dims[m]
        bounds = (layer.n, layer.g, layer.k, layer.c, layer.p, layer.q)
        assert tuple(prod(ranks.sizes[r] for r in some) for some in dims) == bounds
        own = [r for d in (N, G, K, P, Q) for r in dims[d]]
        own += [] if layer.vector and layer.vector.whole_vectors else dims[C]
        assert len(set(own)) == len(own)
        for operand, source in enumerate(group_sources(network)[i]):
            if source.layer in number:
                made = ranks.dims[number[source.layer]]
                read = (C if layer.uses_macs else K, P, Q) if operand == 0 else (K, C)
                if operand and not layer.multiplies_maps:
                    read = (K, P, Q)
                written = {r for d in (N, G, K, P, Q) for r in made[d] if ranks.loopable[r]}
                taken = {r for d in (N, G, *read) for r in dims[d] if ranks.loopable[r]}
                assert written == taken, (network.layers[i].name, operand)
