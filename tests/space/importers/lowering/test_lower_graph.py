"""Lowering of convolutional networks: layers, edges and learned values, rule by rule."""

from __future__ import annotations

from dataclasses import replace

import pytest

from archloom.space.importers.lowering.lower_graph import lower
from archloom.space.importers.patterns.rewrite import simplify
from archloom.space.networks.registry import network
from archloom.space.workload.slice import Slice

from ....cases.graph_maker import GraphMaker, plain


def basic_block(g: GraphMaker, x: str, channels: int) -> str:
    y = g.act(g.norm(g.conv(x, channels, 3, padding=1, bias=False)))
    y = g.norm(g.conv(y, channels, 3, padding=1, bias=False))
    return g.act(g.two("add", y, x))


def tiny(batch: int) -> GraphMaker:
    g = GraphMaker(image=(batch, 3, 16, 16))
    x = g.act(g.norm(g.conv("image", 8, 3, padding=1, bias=False)))
    x = g.pool(basic_block(g, x, 8), "max", 2, 2)
    x = g.op("mean", [x], (batch, 8, 1, 1), axes=(2, 3))
    g.linear(g.reshape(x, batch, 8), 10)
    return g


@pytest.mark.parametrize("batch", [1, 4])
def test_a_residual_network_is_the_one_of_the_catalogue(batch: int) -> None:
    made = lower(tiny(batch).graph())
    assert plain(made) == plain(network("tiny_cnn").with_batch(batch))
    assert made.batch == batch


def test_layers_carry_the_names_of_nodes() -> None:
    g = GraphMaker(image=(1, 3, 8, 8))
    x = g.conv("image", 4, name="first")
    g.conv(x, 4, name="input")
    made = lower(g.graph())
    assert [layer.name for layer in made.layers] == ["first", "input_"]
    assert made.reads == (("input",), ("first",))


def test_nodes_of_one_name_make_layers_of_two() -> None:
    g = GraphMaker(image=(1, 3, 8, 8))
    g.conv(g.conv("image", 4), 4)
    graph = g.graph()
    graph = replace(graph, ops=tuple(replace(op, name="conv") for op in graph.ops))
    assert [layer.name for layer in lower(graph).layers] == ["conv", "conv_2"]


def test_depthwise_grouped_dilated_and_strided_convolutions() -> None:
    g = GraphMaker(image=(1, 8, 16, 16))
    x = g.conv("image", 8, 3, 2, 1, groups=8)
    g.conv(x, 16, 3, padding=2, dilation=2, groups=4)
    depthwise, grouped = lower(g.graph()).layers
    assert depthwise.depthwise
    assert (grouped.g, grouped.k, grouped.c, grouped.dilation) == (4, 4, 2, (2, 2))
    assert depthwise.extra_params == 8


def test_unequal_padding_keeps_its_start_and_the_size_of_the_result() -> None:
    g = GraphMaker(image=(1, 3, 16, 16))
    g.conv("image", 4, 3, 2, padding=0, end=1)
    (layer,) = lower(g.graph()).layers
    assert (layer.padding, layer.p, layer.q) == ((0, 0), 8, 8)


def test_a_one_dimensional_convolution_runs_along_rows() -> None:
    g = GraphMaker(sound=(1, 4, 100))
    g.act(g.conv("sound", 8, 5, 2))
    (layer,) = lower(g.graph()).layers
    assert (layer.p, layer.q, layer.r, layer.s, layer.activation) == (48, 1, 5, 1, "relu")


def test_batch_norm_that_nobody_can_take_up_is_a_layer_and_takes_the_activation() -> None:
    g = GraphMaker(image=(1, 3, 8, 8))
    x = g.conv("image", 4)
    y = g.act(g.norm(x))
    g.two("add", x, g.conv(y, 4))
    made = lower(g.graph())
    assert [layer.operator for layer in made.layers] == ["conv", "scale_shift", "conv", "add"]
    assert made.layers[1].activation == "relu"
    assert made.params == (3 * 4 + 4) + 8 + (4 * 4 + 4)


def test_batch_norm_without_learned_values_is_free() -> None:
    g = GraphMaker(image=(1, 3, 8, 8))
    g.op("batch_norm", [g.conv("image", 4), "", ""], (1, 4, 8, 8))
    (layer,) = lower(g.graph()).layers
    assert layer.params == 16


def test_an_activation_that_is_not_alone_is_a_layer() -> None:
    g = GraphMaker(image=(1, 3, 8, 8))
    x = g.conv("image", 4)
    g.two("mul", x, g.act(x, "sigmoid"))
    assert [layer.operator for layer in lower(g.graph()).layers] == ["conv", "sigmoid", "mul"]


def test_a_second_activation_is_a_layer() -> None:
    g = GraphMaker(image=(1, 3, 8, 8))
    g.act(g.act(g.conv("image", 4)), "tanh")
    first, second = lower(g.graph()).layers
    assert (first.activation, second.operator) == ("relu", "tanh")


def test_slopes_of_a_prelu_count_for_each_channel_or_once() -> None:
    for slopes, function in ((4, "prelu"), (1, "leaky_relu")):
        g = GraphMaker(image=(1, 3, 8, 8))
        g.act(g.conv("image", 4), "prelu", g.weight(slopes))
        (layer,) = lower(g.graph()).layers
        assert (layer.activation, layer.params) == (function, 16 + slopes)


def test_concatenated_channels_are_parts_of_readers_that_take_one_map() -> None:
    g = GraphMaker(image=(1, 3, 8, 8))
    x, y, z = (g.conv("image", channels) for channels in (2, 4, 6))
    nested = g.concat(1, g.concat(1, x, y), z)
    made = lower(g.graph(g.conv(nested, 8), g.pool(nested, "max", 2, 2), g.act(g.norm(nested))))
    for layer, sources in zip(made.layers[3:], made.reads[3:], strict=True):
        assert layer.parts == (2, 4, 6)
        assert sources == tuple(layer.name for layer in made.layers[:3])
    assert [layer.operator for layer in made.layers[3:]] == ["conv", "maxpool", "scale_shift"]


def test_concatenated_channels_are_copied_for_a_sum_once() -> None:
    g = GraphMaker(image=(1, 3, 8, 8))
    x, y = (g.conv("image", 4) for _ in range(2))
    both = g.concat(1, x, y)
    again = g.two("add", both, g.conv("image", 8))
    made = lower(g.graph(g.two("mul", again, both)))
    kinds = [layer.operator for layer in made.layers]
    assert kinds == ["conv", "conv", "conv", "copy", "add", "mul"]
    assert made.layers[3].whole_parts == (256, 256)


def test_concatenated_rows_are_copied() -> None:
    g = GraphMaker(image=(1, 3, 8, 8))
    x, y = (g.conv("image", 4) for _ in range(2))
    g.conv(g.concat(2, x, y), 4, 3)
    copy, conv = lower(g.graph()).layers[2:]
    assert (copy.operator, copy.map_shape) == ("copy", (4, 16, 8))
    assert conv.input_size == (16, 8)


def test_slices_are_boxes_that_readers_take() -> None:
    g = GraphMaker(image=(1, 8, 8, 8))
    g.conv(g.cut(g.cut("image", 1, 2, 6), 2, 1, 7), 4)
    (layer,) = lower(g.graph()).layers
    assert layer.slices == (Slice((2, 1, 0), (4, 6, 8), (8, 8, 8)),)


def test_every_other_row_is_copied() -> None:
    g = GraphMaker(image=(1, 8, 8, 8))
    g.conv(g.cut("image", 2, 0, 8, 2), 4)
    copy, conv = lower(g.graph()).layers
    assert (copy.operator, copy.map_shape) == ("copy", (8, 4, 8))
    assert copy.slices == (Slice((0, 0, 0), (8, 7, 8), (8, 8, 8)),)
    assert conv.slices == ()


def test_rows_and_columns_exchanged_are_copied_for_a_square_map() -> None:
    g = GraphMaker(image=(1, 8, 6, 6))
    g.conv(g.transpose("image", 0, 1, 3, 2), 4, 3)
    # the input is as its first reader takes it
    assert [layer.operator for layer in lower(g.graph()).layers] == ["conv"]
    g = GraphMaker(image=(1, 8, 6, 6))
    g.conv(g.transpose(g.conv("image", 8), 0, 1, 3, 2), 4, 3)
    assert [layer.operator for layer in lower(g.graph()).layers] == ["conv", "copy", "conv"]


def test_pads_before_windows_become_their_padding() -> None:
    g = GraphMaker(image=(1, 3, 8, 8))
    padded = g.op("pad", ["image"], (1, 3, 10, 11), start=(0, 0, 1, 1), end=(0, 0, 1, 2))
    g.conv(padded, 4, 3)
    (layer,) = lower(simplify(g.graph())).layers
    assert (layer.padding, layer.input_size, layer.p, layer.q) == ((1, 1), (8, 8), 8, 9)


def test_pads_that_no_window_takes_are_copies() -> None:
    g = GraphMaker(image=(1, 3, 8, 8))
    x = g.conv("image", 4)
    padded = g.op("pad", [x], (1, 6, 8, 8), start=(0, 1, 0, 0), end=(0, 1, 0, 0))
    g.act(padded)
    conv, copy = lower(simplify(g.graph())).layers
    assert (copy.operator, copy.map_shape, copy.activation) == ("copy", (6, 8, 8), "relu")
    assert conv.activation == ""


def test_padding_as_large_as_the_window_is_a_copy_before_it() -> None:
    g = GraphMaker(image=(1, 3, 8, 8))
    g.conv("image", 4, 1, padding=1)
    copy, conv = lower(g.graph()).layers
    assert (copy.map_shape, conv.padding, conv.p) == ((3, 10, 10), (0, 0), 10)


def test_padding_below_zero_cuts_off() -> None:
    g = GraphMaker(image=(1, 3, 8, 8))
    cut = g.op("pad", ["image"], (1, 3, 6, 8), start=(0, 0, -1, 0), end=(0, 0, -1, 0))
    g.conv(cut, 4)
    (layer,) = lower(simplify(g.graph())).layers
    assert layer.slices == (Slice((0, 1, 0), (3, 6, 8), (3, 8, 8)),)


def test_gates_of_channels_are_a_broadcast() -> None:
    g = GraphMaker(image=(1, 8, 8, 8))
    x = g.conv("image", 8)
    gates = g.act(g.conv(g.op("mean", [x], (1, 8, 1, 1), axes=(2, 3)), 8), "sigmoid")
    for pair in ((x, gates), (gates, x)):
        made = lower(g.graph(g.two("mul", *pair)))
        assert made.layers[-1].broadcast
        assert made.reads[-1] == (made.layers[0].name, made.layers[-2].name)


def test_gates_of_positions_are_spread_by_a_copy() -> None:
    g = GraphMaker(image=(1, 8, 4, 4))
    x = g.conv("image", 8)
    g.two("mul", x, g.act(g.conv(x, 1), "sigmoid"))
    made = lower(g.graph())
    assert [layer.operator for layer in made.layers] == ["conv", "conv", "copy", "mul"]
    assert made.layers[2].map_shape == (8, 4, 4)
    assert made.layers[2].whole_parts == (16,)


def test_scalars_and_constants_of_a_channel_are_free() -> None:
    g = GraphMaker(image=(1, 3, 8, 8))
    x = g.two("sub", "image", g.constant(1, 3, 1, 1))
    x = g.two("mul", g.constant(value=2.0), g.conv(x, 4))
    x = g.act(g.two("div", x, g.constant(1, value=3.0)))
    (layer,) = lower(g.graph()).layers
    assert layer.activation == "relu"


def test_learned_vectors_are_biases_of_the_layer_before_or_inputs() -> None:
    g = GraphMaker(image=(1, 3, 8, 8))
    x = g.two("add", g.conv("image", 4, bias=False), g.weight(1, 4, 1, 1))
    x = g.two("mul", g.act(x), g.weight(4, 1, 1))
    made = lower(g.graph())
    conv, scale = made.layers
    assert (conv.params, conv.activation) == (12 + 4, "relu")
    assert (scale.operator, scale.broadcast, scale.params) == ("mul", True, 4)
    assert made.reads[1][1].startswith("input:")
