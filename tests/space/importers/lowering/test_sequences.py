"""Lowering of sequence networks: attention, norms, lookups."""

from __future__ import annotations

import pytest

from archloom.space.importers.errors import ImportProblem
from archloom.space.importers.lowering.lower_graph import lower
from archloom.space.importers.patterns.rewrite import simplify
from archloom.space.networks.transformers.llama import Decoder, decode, prefill
from archloom.space.networks.transformers.transformer import Heads
from archloom.space.workload.network import Network
from archloom.space.workload.slice import Slice

from ....cases.graph_maker import GraphMaker, plain


def kinds(network: Network) -> list[str]:
    return [layer.operator for layer in network.layers]


def heads(g: GraphMaker, x: str, count: int) -> str:
    """(B, S, H d) to (B, H, S, d)."""
    batch, length, width = g.shape(x)
    return g.transpose(g.reshape(x, batch, length, count, width // count), 0, 2, 1, 3)


def repeated(g: GraphMaker, x: str, times: int) -> str:
    """(B, G, T, d) to (B, G times, T, d), as PyTorch's repeat_interleave does it."""
    batch, count, length, width = g.shape(x)
    each = g.reshape(x, batch, count, 1, length, width)
    wide = g.op("expand", [each], (batch, count, times, length, width))
    return g.reshape(wide, batch, count * times, length, width)


def merged(g: GraphMaker, x: str) -> str:
    """(B, H, S, d) to (B, S, H d)."""
    batch, count, length, width = g.shape(x)
    return g.reshape(g.transpose(x, 0, 2, 1, 3), batch, length, count * width)


def rms_norm(g: GraphMaker, x: str) -> str:
    shape = g.shape(x)
    return g.op("rms_norm", [x, g.weight(shape[-1])], shape, dimensions=1)


def layer_norm(g: GraphMaker, x: str) -> str:
    shape = g.shape(x)
    inputs = [x, g.weight(shape[-1]), g.weight(shape[-1])]
    return g.op("layer_norm", inputs, shape, dimensions=1)


SIZES = Decoder(2, 64, 160, Heads(2, 8, sharing=4), 100)


def llama(batch: int, tokens: int, cached: int, *, written_out: bool) -> GraphMaker:
    """A decoder as a front end hands it over, with a cache if tokens are cached."""
    heads_of = SIZES.heads
    width = heads_of.count * heads_of.features
    g = GraphMaker(
        ids=(batch, tokens),
        **{
            f"{part}{i}": (batch, heads_of.count, cached, heads_of.features)
            for i in range(SIZES.layers)
            for part in ("keys", "values")
            if cached
        },
    )
    table = g.weight(SIZES.vocabulary, SIZES.features)
    x = g.op("embedding", [table, "ids"], (batch, tokens, SIZES.features))
    left = []
    for i in range(SIZES.layers):
        y = rms_norm(g, x)
        query = heads(g, g.linear(y, width * heads_of.sharing, bias=False), 8)
        query = g.op("rotary", [query], g.shape(query))
        key = heads(g, g.linear(y, width, bias=False), heads_of.count)
        key = g.op("rotary", [key], g.shape(key))
        value = heads(g, g.linear(y, width, bias=False), heads_of.count)
        if cached:
            key, value = g.concat(2, f"keys{i}", key), g.concat(2, f"values{i}", value)
        left += [key, value]
        shape = g.shape(query)
        if written_out:
            key, value = repeated(g, key, 4), repeated(g, value, 4)
            scores = g.two("mul", g.matmul(query, g.transpose(key, 0, 1, 3, 2)), g.constant())
            scores = g.two("add", scores, g.constant(1, 1, tokens, tokens + cached))
            shares = g.op("softmax", [scores], g.shape(scores), axis=3)
            mixed = g.matmul(shares, value)
        else:
            mixed = g.op("attention", [query, key, value], shape)
        x = g.two("add", g.linear(merged(g, mixed), SIZES.features, bias=False), x)
        y = rms_norm(g, x)
        gate = g.act(g.linear(y, SIZES.hidden, bias=False), "silu")
        y = g.two("mul", gate, g.linear(y, SIZES.hidden, bias=False))
        x = g.two("add", g.linear(y, SIZES.features, bias=False), x)
    last = g.cut(rms_norm(g, x), 1, tokens - 1, tokens)
    g.outputs = (g.linear(last, SIZES.vocabulary, bias=False), *left)
    return g


@pytest.mark.parametrize("written_out", [True, False])
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize(("tokens", "cached"), [(12, 0), (1, 11)])
def test_a_decoder_is_the_one_of_the_catalogue(
    batch: int, tokens: int, cached: int, written_out: bool
) -> None:
    g = llama(batch, tokens, cached, written_out=written_out)
    made = lower(simplify(g.graph(*g.outputs)))
    known = decode("net", SIZES, 12) if cached else prefill("net", SIZES, 12)
    assert plain(made) == plain(known.with_batch(batch))
    assert [made.index(name) for name in made.outputs] == [
        known.index(name) for name in known.outputs
    ]


def test_a_fused_projection_is_read_by_slices() -> None:
    g = GraphMaker(x=(1, 10, 32))
    qkv = g.reshape(g.linear("x", 96), 1, 10, 3, 4, 8)
    qkv = g.transpose(qkv, 2, 0, 3, 1, 4)
    parts = [g.reshape(g.cut(qkv, 0, i, i + 1), 1, 4, 10, 8) for i in range(3)]
    g.linear(merged(g, g.op("attention", parts, (1, 4, 10, 8))), 32)
    made = lower(g.graph())
    assert kinds(made) == ["gemm", "matmul", "softmax", "matmul", "gemm"]
    boxes = [Slice((32 * i, 0, 0), (32, 10, 1), (96, 10, 1)) for i in range(3)]
    assert made.layers[1].slices == (boxes[0], boxes[1])
    assert made.layers[3].slices == (None, boxes[2])


def test_heads_that_lie_scattered_are_copied() -> None:
    g = GraphMaker(x=(1, 10, 32))
    qkv = g.transpose(g.reshape(g.linear("x", 96), 1, 10, 4, 3, 8), 3, 0, 2, 1, 4)
    parts = [g.reshape(g.cut(qkv, 0, i, i + 1), 1, 4, 10, 8) for i in range(3)]
    g.op("attention", parts, (1, 4, 10, 8))
    made = lower(g.graph())
    assert kinds(made) == ["gemm", "copy", "copy", "matmul", "softmax", "copy", "matmul"]
    assert made.layers[1].map_shape == (32, 10, 1)


def test_a_class_token_is_copied_before_patches_and_positions_are_learned() -> None:
    g = GraphMaker(image=(1, 3, 32, 32))
    x = g.reshape(g.conv("image", 24, 8, 8), 1, 24, 16)
    token = g.op("expand", [g.weight(1, 1, 24)], (1, 1, 24))
    x = g.concat(1, token, g.transpose(x, 0, 2, 1))
    x = layer_norm(g, g.two("add", x, g.weight(1, 17, 24)))
    g.linear(g.reshape(g.cut(x, 1, 0, 1), 1, 24), 10)
    made = lower(g.graph())
    assert kinds(made) == ["conv", "copy", "add", "layer_norm", "gemm"]
    copy, add, _, head = made.layers[1:]
    assert (copy.map_shape, copy.whole_parts, copy.params) == ((24, 17, 1), (24, 384), 24)
    assert (add.operands, add.params) == (2, 17 * 24)
    assert head.slices == (Slice((0, 0, 0), (24, 1, 1), (24, 17, 1)),)


@pytest.mark.parametrize("folded", [False, True])
@pytest.mark.parametrize("batch", [1, 2])
def test_a_class_token_for_each_image_of_a_batch(batch: int, folded: bool) -> None:
    """Front ends repeat the token themselves, or leave it to the network."""
    g = GraphMaker(rows=(batch, 16, 24))
    x = g.linear("rows", 24)
    token = g.weight(1, 1, 24, name="token")
    wide = (batch, 1, 24)
    token = g.part(token, *wide) if folded else g.op("expand", [token], wide)
    x = g.two("add", g.concat(1, token, x), g.part(g.weight(17, 24, name="places"), batch, 17, 24))
    g.linear(x, 10)
    made = lower(g.graph())
    assert kinds(made) == ["gemm", "copy", "add", "gemm"]
    assert [layer.extra_params for layer in made.layers[1:3]] == [24, 17 * 24]
    assert made.batch == batch
    assert made.layers[3].p == 17


def test_sums_of_lookups_are_one_sum_whose_tables_count() -> None:
    g = GraphMaker(ids=(1, 16), kinds=(1, 16))
    words = g.op("embedding", [g.weight(100, 8), "ids"], (1, 16, 8))
    sorts = g.op("embedding", [g.weight(2, 8), "kinds"], (1, 16, 8))
    table = g.weight(64, 8)
    places = g.part(table, 1, 16, 8)
    layer_norm(g, g.two("add", g.two("add", words, sorts), places))
    made = lower(g.graph())
    assert kinds(made) == ["add", "layer_norm"]
    assert made.layers[0].operands == 3
    assert made.layers[0].params == (100 + 2 + 64) * 8


def test_a_tied_table_counts_with_the_output_layer() -> None:
    g = GraphMaker(ids=(1, 16))
    table = g.weight(100, 8)
    x = g.op("embedding", [table, "ids"], (1, 16, 8))
    g.op("linear", [g.linear(x, 8, bias=False), table], (1, 16, 100))
    first, last = lower(g.graph()).layers
    assert (first.params, last.params) == (64, 800)


def test_parts_of_one_learned_tensor_count_each() -> None:
    g = GraphMaker(x=(1, 16, 8))
    whole, biases = g.weight(24, 8), g.weight(24)
    results = [
        g.op("linear", ["x", g.part(whole, 8, 8), g.part(biases, 8)], (1, 16, 8)) for _ in range(3)
    ]
    layers = lower(g.graph(*results)).layers
    assert [layer.params for layer in layers] == [72, 72, 72]
    assert not any(layer.weights_of for layer in layers)


def test_a_learned_matrix_on_either_side_is_a_gemm() -> None:
    g = GraphMaker(x=(1, 16, 8))
    x = g.matmul("x", g.weight(8, 32))
    x = g.two("add", x, g.weight(32))
    g.matmul(g.weight(4, 16), x)
    first, second = lower(g.graph()).layers
    assert (first.operator, first.c, first.k, first.p, first.params) == ("gemm", 8, 32, 16, 288)
    assert (second.operator, second.c, second.k, second.p) == ("gemm", 16, 4, 32)


def test_mixing_as_many_positions_as_features_needs_a_copy() -> None:
    for length, expected in ((16, ["gemm", "gemm"]), (8, ["gemm", "copy", "gemm"])):
        g = GraphMaker(x=(1, length, 8))
        g.linear(g.transpose(g.linear("x", 8), 0, 2, 1), 4)
        assert kinds(lower(g.graph())) == expected


def test_one_map_for_all_heads_makes_rows_of_them() -> None:
    g = GraphMaker(x=(1, 6, 4, 8), y=(1, 8, 5))
    x = g.act("x")
    g.op("matmul", [x, g.reshape(g.act("y"), 1, 1, 8, 5)], (1, 6, 4, 5))
    layer = lower(g.graph()).layers[-1]
    assert (layer.g, layer.p, layer.c, layer.k) == (1, 24, 8, 5)
    g = GraphMaker(y=(1, 8, 5), x=(1, 6, 4, 8))
    turned = [g.transpose(name, *range(len(g.shape(name)) - 2), -1, -2) for name in ("y", "x")]
    g.op("matmul", [g.reshape(turned[0], 1, 1, 5, 8), turned[1]], (1, 6, 5, 4))
    layer = lower(g.graph()).layers[-1]
    assert (layer.g, layer.p, layer.c, layer.k) == (1, 24, 8, 5)


def test_maps_that_are_repeated_inside_a_matrix_are_copied() -> None:
    g = GraphMaker(x=(1, 4, 8), y=(1, 8, 1))
    y = g.op("expand", [g.act("y")], (1, 8, 5))
    g.matmul(g.act("x"), y)
    layers = lower(g.graph()).layers
    assert [layer.operator for layer in layers] == ["relu", "relu", "copy", "matmul"]
    assert layers[3].whole_words == 40


def test_heads_in_pieces_are_copied() -> None:
    g = GraphMaker(x=(1, 2, 4, 8), y=(1, 2, 8, 4))
    x, y = (g.concat(1, g.act(name), g.act(name, "tanh")) for name in ("x", "y"))
    g.matmul(x, y)
    layer = lower(g.graph()).layers[-1]
    assert (layer.g, layer.p, layer.c, layer.k) == (4, 4, 8, 4)


def test_norms_without_learned_values_learn_none() -> None:
    g = GraphMaker(x=(1, 16, 8))
    x = g.op("layer_norm", ["x", "", ""], (1, 16, 8), dimensions=1)
    x = g.op("layer_norm", [x, g.weight(8), ""], (1, 16, 8), dimensions=1)
    g.op("rms_norm", [x, g.weight(8)], (1, 16, 8), dimensions=1)
    layers = lower(g.graph()).layers
    assert [layer.params for layer in layers] == [0, 8, 8]
    assert all((layer.c, layer.p) == (8, 16) for layer in layers)


def test_a_norm_over_each_head() -> None:
    g = GraphMaker(x=(1, 16, 32))
    rms_norm(g, heads(g, g.linear("x", 32), 4))
    layer = lower(g.graph()).layers[1]
    assert (layer.c, layer.p, layer.params) == (8, 64, 8)


def test_group_norm_takes_its_activation() -> None:
    g = GraphMaker(image=(1, 8, 4, 4))
    x = g.conv("image", 8)
    inputs = [x, g.weight(8), g.weight(8)]
    x = g.act(g.op("group_norm", inputs, (1, 8, 4, 4), groups=2), "silu")
    g.conv(x, 4, 3)
    conv, norm, last = lower(g.graph()).layers
    assert (norm.operator, norm.g, norm.c, norm.params) == ("group_norm", 2, 64, 16)
    assert (norm.activation, last.input_size) == ("silu", (4, 4))
    assert conv.activation == ""


def test_softmax_over_channels_and_over_positions() -> None:
    g = GraphMaker(image=(1, 8, 4, 4))
    x = g.conv("image", 8)
    channels = g.op("softmax", [x], (1, 8, 4, 4), axis=1)
    rows = g.op("softmax", [x], (1, 8, 4, 4), axis=2)
    _, first, second = lower(g.graph(channels, rows)).layers
    assert (first.c, first.p, first.g) == (8, 16, 1)
    assert (second.c, second.p, second.g) == (4, 32, 1)


def test_tables_that_are_computed_are_a_problem() -> None:
    g = GraphMaker(x=(1, 16, 8), ids=(1, 4))
    x = g.reshape(g.linear("x", 8), 16, 8)
    g.op("embedding", [x, "ids"], (1, 4, 8), "pick")
    with pytest.raises(ImportProblem, match=r"pick \(embedding\): looks up rows"):
        lower(g.graph())
