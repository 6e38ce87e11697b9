"""Lowering: maps that change their size, what is learned once, batches, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from archloom.space.importers.errors import ImportProblem
from archloom.space.importers.lowering.lower_graph import lower
from archloom.space.workload.layer import Interleave, Layer

from ....cases.graph_maker import GraphMaker


def test_pixel_shuffle_interleaves_the_convolution_before_or_is_a_copy() -> None:
    g = GraphMaker(image=(1, 3, 8, 8))
    named = {"block": 2, "order": "CRD"}
    x = g.op("depth_to_space", [g.conv("image", 16, 3, padding=1)], (1, 4, 16, 16), **named)
    x = g.act(x, "prelu", g.weight(4))
    g.op("depth_to_space", [g.pool(x, "max", 2, 2)], (1, 1, 16, 16), **named)
    conv, _, copy = lower(g.graph()).layers
    assert (conv.interleave, conv.activation, conv.params) == (
        Interleave(2, 2),
        "prelu",
        16 * 3 * 9 + 16 + 4,
    )
    assert (copy.operator, copy.map_shape) == ("copy", (1, 16, 16))


def test_resized_maps_are_copies_or_interpolated() -> None:
    for mode, operator in (("nearest", "copy"), ("linear", "bilinear")):
        g = GraphMaker(image=(1, 3, 8, 8))
        g.conv(g.op("resize", ["image"], (1, 3, 16, 16), mode=mode), 4)
        layer = lower(g.graph()).layers[0]
        assert (layer.operator, layer.map_shape) == (operator, (3, 16, 16))
        assert layer.whole_parts == (192,)


def test_transposed_convolutions() -> None:
    g = GraphMaker(image=(1, 8, 8, 8))
    inputs = ["image", g.weight(8, 4, 4, 4), g.weight(4)]
    window = {"stride": (2, 2), "dilation": (1, 1), "output_padding": (0, 0), "groups": 1}
    g.op("conv_transpose", inputs, (1, 4, 16, 16), start=(1, 1), end=(1, 1), **window)
    (layer,) = lower(g.graph()).layers
    assert layer.map_shape == (4, 16, 16)
    assert layer.params == 8 * 4 * 16 + 4


def test_dilated_transposed_convolutions() -> None:
    def made(stride: int) -> Layer:
        g = GraphMaker(image=(1, 8, 8, 8))
        window = {"stride": (stride, 2), "dilation": (2, 1), "output_padding": (0, 0), "groups": 1}
        inputs, shape = ["image", g.weight(8, 4, 3, 4)], (1, 4, 10 if stride == 1 else 17, 16)
        g.op("conv_transpose", inputs, shape, "up", start=(1, 1), end=(1, 1), **window)
        return lower(g.graph()).layers[0]

    layer = made(stride=1)
    assert (layer.map_shape, layer.dilation) == ((4, 10, 16), (2, 1))
    assert layer.params == 8 * 4 * 12
    both = made(stride=2)
    assert (both.map_shape, both.dilation) == ((4, 17, 16), (1, 1))
    assert both.params == 8 * 4 * 12
    # of rows o, taps j with o + 1 - 2 j even: all of every second one; two of four columns' taps
    assert both.useful_macs == 8 * 4 * (8 * 3) * (16 * 2)


def test_transposed_convolutions_that_are_cut_at_one_side() -> None:
    """As Keras pads: of 15 rows the last one, or the first, is left out."""
    made = []
    for start, end in ((0, 1), (1, 0)):
        g = GraphMaker(image=(1, 8, 7, 7))
        inputs = ["image", g.weight(8, 4, 3, 3)]
        window = {"stride": (2, 2), "dilation": (1, 1), "output_padding": (0, 0), "groups": 1}
        g.op("conv_transpose", inputs, (1, 4, 14, 14), start=[start] * 2, end=[end] * 2, **window)
        made += lower(g.graph()).layers
    assert made[0].map_shape == (4, 14, 14)
    assert made[0] == made[1]


def test_average_over_the_map_has_stride_one_and_pools_of_nothing_vanish() -> None:
    g = GraphMaker(image=(1, 8, 4, 4))
    g.pool(g.pool("image", "avg", 1, 1), "avg", 4, 4)
    (layer,) = lower(g.graph()).layers
    assert (layer.operator, layer.r, layer.stride) == ("avgpool", 4, (1, 1))


def test_means_over_some_dimensions() -> None:
    g = GraphMaker(image=(1, 8, 4, 6))
    x = g.conv("image", 8)
    rows = g.op("mean", [x], (1, 8, 6), axes=(2,))
    channels = g.op("max", [x], (1, 1, 4, 6), axes=(1,))
    _, first, second = lower(g.graph(rows, channels)).layers
    assert (first.operator, first.r, first.s, first.p, first.q) == ("avgpool", 4, 1, 1, 6)
    assert (second.operator, second.g, second.r) == ("maxpool", 24, 8)


def test_weights_used_again_count_once() -> None:
    g = GraphMaker(image=(1, 4, 8, 8))
    x = g.conv("image", 4, 3, padding=1)
    g.op("conv", [x, *g.ops[0].inputs[1:]], (1, 4, 8, 8), **g.ops[0].attributes)
    first, second = lower(g.graph()).layers
    assert (second.weights_of, second.params) == (first.name, 0)


def test_results_that_nobody_uses_make_no_layers() -> None:
    g = GraphMaker(image=(1, 4, 8, 8))
    x = g.conv("image", 4)
    g.conv(x, 16)
    assert len(lower(g.graph(x)).layers) == 1


def test_outputs_that_are_read_inside_are_named() -> None:
    g = GraphMaker(image=(1, 4, 8, 8))
    x = g.conv("image", 4)
    y = g.act(g.conv(x, 16))
    made = lower(g.graph(x, y))
    assert made.outputs == (made.layers[0].name,)
    assert made.layers[1].activation == "relu"


def test_what_cannot_be_lowered_is_told_together() -> None:
    g = GraphMaker(image=(1, 4, 8, 8))
    x = g.op("unary", [g.conv("image", 4)], (1, 4, 8, 8), "odd", function="log")
    x = g.op("unary", [x], (1, 4, 8, 8), "other", function="abs")
    deep = g.reshape(x, 1, 4, 2, 2, 2, 8)
    g.conv(deep, 8, 1, name="volume")
    with pytest.raises(ImportProblem) as caught:
        lower(g.graph())
    lines = caught.value.problems
    assert [line.split(" ")[0] for line in lines] == ["odd", "other", "volume"]
    assert "'log'" in lines[0]
    assert "4 spatial dimensions" in lines[2]


def test_a_graph_without_layers_is_a_problem() -> None:
    g = GraphMaker(image=(1, 4, 8, 8))
    g.reshape("image", 1, 256)
    with pytest.raises(ImportProblem, match="no operator that becomes a layer"):
        lower(g.graph())


def test_a_batch_that_is_mixed_into_positions_becomes_one_image_or_a_problem() -> None:
    g = GraphMaker(rows=(6, 4))
    g.linear(g.transpose("rows", 1, 0), 8)
    made = lower(g.graph())
    assert (made.batch, made.layers[0].p, made.layers[0].c) == (1, 4, 6)
    g = GraphMaker(image=(2, 4, 8, 8))
    g.conv(g.reshape("image", 4, 2, 8, 8), 8)
    with pytest.raises(ImportProblem, match="more than the batch"):
        lower(g.graph())


def test_images_of_a_batch_are_all_taken_alike() -> None:
    g = GraphMaker(image=(2, 4, 8, 8))
    x = g.conv("image", 4)
    for odd, name in (
        (g.cut(x, 0, 0, 1), "slice"),
        (g.concat(0, x, x), "concat"),
        (g.op("mean", [x], (4, 8, 8), axes=(0,)), "mean"),
    ):
        with pytest.raises(ImportProblem, match=rf"\({name}\): .*(images|batch)"):
            lower(g.graph(g.conv(odd, 4) if len(g.shape(odd)) == 4 else odd))


def test_an_input_that_is_read_in_two_shapes_and_in_boxes() -> None:
    g = GraphMaker(image=(1, 4, 6, 6))
    x = g.conv("image", 4)
    flat = g.linear(g.reshape("image", 1, 144), 8)
    part = g.linear(g.cut(g.reshape("image", 1, 4, 36), 1, 1, 2), 8)
    made = lower(g.graph(flat, part, x))
    # whoever comes first, all agree on the shape
    assert made.map_shape("input") == (4, 6, 6)
    ops = g.graph(flat, part, x)
    turned = replace(ops, ops=(*ops.ops[1:], ops.ops[0]))
    assert lower(turned).map_shape("input") in ((4, 6, 6), (144, 1, 1))


def test_a_learned_scalar_counts_with_the_layer_before_it() -> None:
    g = GraphMaker(image=(1, 4, 8, 8))
    g.two("mul", g.conv("image", 4), g.weight(1))
    (layer,) = lower(g.graph()).layers
    assert layer.params == 21


def test_weights_that_are_not_learned_are_not_taken_for_one() -> None:
    g = GraphMaker(image=(1, 4, 8, 8))
    named = {"stride": (1, 1), "start": (0, 0), "end": (0, 0), "dilation": (1, 1), "groups": 1}
    x = g.op("conv", ["image", g.constant(4, 4, 1, 1)], (1, 4, 8, 8), **named)
    g.op("conv", [x, g.constant(4, 4, 1, 1)], (1, 4, 8, 8), **named)
    assert not any(layer.weights_of for layer in lower(g.graph()).layers)


def test_tensors_without_values_are_a_problem() -> None:
    g = GraphMaker(image=(1, 0, 8, 8))
    g.act("image")
    with pytest.raises(ImportProblem, match="so it has no values"):
        lower(g.graph())


def test_sums_of_sums_are_one_up_to_sixteen_maps() -> None:
    g = GraphMaker(**{f"x{i}": (1, 4, 8, 8) for i in range(20)})
    x = "x0"
    for i in range(1, 20):
        x = g.two("add", x, f"x{i}")
    layers = lower(g.graph()).layers
    assert [layer.operands for layer in layers] == [16, 5]
    g = GraphMaker(image=(1, 4, 8, 8))
    x = g.two("add", "image", g.conv("image", 4))
    g.two("add", g.act(x), x)
    assert [layer.operator for layer in lower(g.graph()).layers] == ["conv", "add", "relu", "add"]


def test_thousands_of_operators_without_recursion() -> None:
    g = GraphMaker(image=(1, 4, 8, 8))
    x = "image"
    for _ in range(1500):
        x = g.act(g.two("add", x, g.conv(x, 4)))
    assert len(lower(g.graph()).layers) == 3000


@pytest.mark.parametrize("swapped", [True, False])
@pytest.mark.parametrize("batch", [1, 3])
def test_a_bias_apart_is_taken_up_at_a_single_position_too(batch: int, swapped: bool) -> None:
    g = GraphMaker(x=(batch, 8))
    product = g.matmul("x", g.weight(8, 4))
    g.two("add", *[product, g.weight(4)][:: -1 if swapped else 1])
    (layer,) = lower(g.graph()).layers
    assert (layer.operator, layer.params, layer.n) == ("gemm", 36, batch)


def test_those_who_want_the_same_copy_share_it_but_moves_are_their_own() -> None:
    g = GraphMaker(image=(1, 4, 6, 6), mask=(1, 1, 6, 6))
    x = g.conv("image", 4)
    both = [g.two("mul", x, "mask"), g.two("add", g.act(x), "mask")]
    assert [layer.operator for layer in lower(g.graph(*both)).layers].count("copy") == 1
    moves = [g.op("copy", [x], (1, 4, 6, 6), name) for name in ("flip", "roll")]
    assert [layer.name for layer in lower(g.graph(*moves)).layers[1:]] == ["flip.copy", "roll.copy"]
