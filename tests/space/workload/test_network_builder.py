"""The builder: shapes follow, and what is read in parts or boxes says so."""

import pytest

from archloom.space.workload.layer import Interleave
from archloom.space.workload.network import INPUT
from archloom.space.workload.network_builder import Builder
from archloom.space.workload.slice import Slice


def test_kernels_and_paddings_may_be_rectangles() -> None:
    net = Builder((4, 10, 12))
    assert net.shape(net.conv("wide", INPUT, 4, kernel=(1, 7))) == (4, 10, 12)
    assert net.shape(net.conv("cut", INPUT, 4, kernel=(1, 7), padding=(0, 2))) == (4, 10, 10)
    assert net.shape(net.conv("halved", INPUT, 4, kernel=3, stride=(2, 1))) == (4, 5, 12)


@pytest.mark.parametrize(
    ("norm", "bias", "extra"),
    [(True, None, 16), (False, None, 8), (True, True, 24), (False, False, 0), (True, False, 16)],
)
def test_a_convolution_has_a_bias_unless_a_norm_follows(
    norm: bool, bias: bool | None, extra: int
) -> None:
    net = Builder((4, 6, 6))
    net.conv("conv", INPUT, 8, batch_norm=norm, bias=bias)
    assert net.network("net").layers[0].extra_params == extra


def test_slopes_are_learned_for_the_channels_after_a_shuffle() -> None:
    net = Builder((4, 6, 6))
    name = net.conv("conv", INPUT, 16, batch_norm=False, shuffle=2, activation="prelu")
    layer = net.network("net").layers[0]
    assert net.shape(name) == (4, 12, 12)
    assert (layer.interleave, layer.extra_params) == (Interleave(2, 2), 16 + 4)


def test_weights_of_another_layer_count_once() -> None:
    net = Builder((4, 6, 6))
    x = net.conv("one", INPUT, 4, kernel=3, batch_norm=False)
    net.conv("two", x, 4, kernel=3, batch_norm=False, weights_of="one")
    one, two = net.network("net").layers
    assert (one.params, two.params, two.weights_of) == (9 * 16 + 4, 0, "one")


def test_what_lies_side_by_side_is_read_in_parts() -> None:
    net = Builder((4, 6, 6))
    pieces = (INPUT, net.conv("conv", INPUT, 3))
    assert net.shape(pieces) == (7, 6, 6)
    net.conv("next", pieces, 5)
    net.maxpool("maxpool", pieces, kernel=2, stride=2)
    net.avgpool("avgpool", pieces, kernel=3, stride=1, pad=1)
    net.global_avgpool("mean", pieces)
    net.norm("norm", pieces, activation="relu")
    built = net.network("net")
    assert len(built.layers) == 1 + 5
    for layer, reads in zip(built.layers[1:], built.reads[1:], strict=True):
        assert (layer.parts, layer.operands, reads) == ((4, 3), 2, (INPUT, "conv"))


def test_one_map_has_no_parts() -> None:
    net = Builder((4, 6, 6))
    net.norm("norm", (INPUT,))
    layer = net.network("net").layers[0]
    assert (layer.parts, layer.operands, layer.slices) == ((), 1, ())


def test_a_crop_is_read_as_a_box() -> None:
    net = Builder((4, 9, 8))
    middle = net.crop(INPUT, 4, 4)
    # an odd row more is left at the bottom
    assert middle.box == Slice((0, 2, 2), (4, 4, 4), (4, 9, 8))
    net.conv("alone", middle, 2)
    x = net.maxpool("pool", INPUT, kernel=2, stride=2)
    net.conv("beside", (x, middle), 2)
    alone, _, beside = net.network("net").layers
    assert (alone.input_size, alone.slices) == ((4, 4), (middle.box,))
    assert (beside.parts, beside.slices) == ((4, 4), (None, middle.box))
    assert net.network("net").reads[-1] == ("pool", INPUT)


@pytest.mark.parametrize(
    ("rows", "kernel", "stride", "pad", "floor", "ceil"),
    [
        (7, 3, 2, 0, 3, 3),
        (8, 3, 2, 0, 3, 4),
        (8, 3, 3, 0, 2, 3),
        (6, 2, 4, 0, 2, 2),
        (9, 2, 3, 0, 3, 3),
        # a fourth window of 1 row would begin in the padding behind the map: left out
        (5, 2, 2, 1, 3, 3),
        (4, 2, 3, 1, 2, 2),
    ],
)
def test_the_last_window_may_reach_beyond_the_map(
    rows: int, kernel: int, stride: int, pad: int, floor: int, ceil: int
) -> None:
    """As in PyTorch: a window counts if it begins in the map or in the padding before it."""
    for beyond, expected in ((False, floor), (True, ceil)):
        net = Builder((4, rows, rows))
        pool = net.maxpool("pool", INPUT, kernel=kernel, stride=stride, pad=pad, ceil=beyond)
        assert net.shape(pool) == (4, expected, expected)


def test_maps_grow() -> None:
    net = Builder((4, 5, 6))
    assert net.shape(net.up_conv("up", INPUT, 2, kernel=2, stride=2)) == (2, 10, 12)
    assert net.shape(net.upsample("copies", INPUT, 3)) == (4, 15, 18)
    up, copies = net.network("net").layers
    assert (up.operator, up.params, copies.operator) == ("conv", 4 * 2 * 4 + 2, "copy")
    assert copies.map_words == (4 * 5 * 6,)
