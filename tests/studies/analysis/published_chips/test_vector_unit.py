"""Depthwise layers on TPU v3's vector unit: cycles by hand, and what the page says of them."""

import pytest

from archloom.space.hardware import Hardware
from archloom.space.workload import Layer, conv2d
from archloom.studies.analysis.published_chips import Chapter, built_in
from archloom.studies.analysis.published_chips.chip_files import own_chips, read_chip
from archloom.studies.analysis.published_chips.vector_unit import (
    CHANNELS_IN_LANES,
    IMAGES_IN_LANES,
    IN_TURN,
    OF_DEPTHWISE,
    ON_VECTOR_UNIT,
    SHARE_OF_TIME,
    UTILISATION,
    Layout,
    vector_time,
)

CHIP = read_chip(own_chips()["tpu_v3_efficientnet"])
DESIGN: Hardware = CHIP.hardware.design


def depthwise(channels: int, size: int, kernel: int, images: int) -> Layer:
    made = conv2d("d", channels, channels, (size, size), kernel, 1, kernel // 2, groups=channels)
    return made.with_batch(images)


@pytest.fixture(scope="module")
def found() -> Chapter:
    return built_in()["tpu_v3_efficientnet"](lambda *_: None)


def test_a_layer_that_fills_all_lanes_takes_one_cycle_for_2048_macs() -> None:
    layer = depthwise(128, 32, 5, images=256)
    for layout in (CHANNELS_IN_LANES, IMAGES_IN_LANES):
        time = vector_time([layer], DESIGN, layout)
        lanes = layer.macs / 2048
        # two bytes for each input and output, 900 GB/s at 940 MHz
        dram = 2 * 2 * 128 * 32 * 32 * 256 / 900e9 * 940e6
        assert time.overlapped == max(lanes, dram)
        assert time.in_turn == pytest.approx(lanes + dram)
    # both are at work: the sum is more than either
    assert 1.1 * max(lanes, dram) < lanes + dram


@pytest.mark.parametrize(
    ("layout", "channels", "images", "more"),
    [
        (CHANNELS_IN_LANES, 192, 128, 256 / 192),
        (CHANNELS_IN_LANES, 64, 128, 2),
        (CHANNELS_IN_LANES, 128, 2, 8),
        (IMAGES_IN_LANES, 192, 128, 2),
        (IMAGES_IN_LANES, 60, 256, 64 / 60),
        (IMAGES_IN_LANES, 64, 2, 128),
    ],
)
def test_padding_takes_lanes_and_transfers(
    layout: Layout, channels: int, images: int, more: float
) -> None:
    layer = depthwise(channels, 32, 3, images)
    full = layer.macs / 2048 + (layer.input_words + layer.output_words) / (
        DESIGN.levels[-1].bandwidth_words
    )
    assert vector_time([layer], DESIGN, layout).in_turn == pytest.approx(more * full)


def test_switches_are_those_of_the_layers(found: Chapter) -> None:
    (row,) = (row for row in CHIP.layers if row.name == "depthwise layers")
    assert row.network is not None
    network = row.network.network
    layers = [network.layers[i] for i in row.layers]
    named = {f.name: f for f in found.figures}
    units = DESIGN.macs
    macs = sum(layer.macs for layer in layers)
    everything = sum(layer.macs for layer in network.layers if layer.uses_macs)
    others = named["utilisation of other convolutions, %"].ours / 100
    time = vector_time(layers, DESIGN, IMAGES_IN_LANES)
    for name, cycles in ((ON_VECTOR_UNIT, time.overlapped), (IN_TURN, time.in_turn)):
        own = named[OF_DEPTHWISE].switched[name]
        assert own == pytest.approx(100 * macs / (cycles * units))
        # other layers stay as they are
        rest = (everything - macs) / (others * units)
        whole = named[UTILISATION].switched[name]
        assert whole == pytest.approx(100 * everything / ((rest + cycles) * units), rel=1e-3)
        share = named[SHARE_OF_TIME].switched[name]
        assert share == pytest.approx(100 * cycles / (rest + cycles), rel=1e-3)


def test_what_the_page_says_of_the_two_layouts(found: Chapter) -> None:
    said = " ".join(found.text.split())
    figure = next(f for f in found.figures if f.name == OF_DEPTHWISE)
    assert "published utilisation of depthwise layers lies between these two" in said
    assert figure.switched[IN_TURN] < figure.theirs < figure.switched[ON_VECTOR_UNIT]
    (row,) = (row for row in CHIP.layers if row.name == "depthwise layers")
    assert row.network is not None
    layers = [row.network.network.layers[i] for i in row.layers]
    time = vector_time(layers, DESIGN, CHANNELS_IN_LANES)
    macs = sum(layer.macs for layer in layers) / DESIGN.macs
    assert "With the first layout it would be 2.40% and 1.48%" in said
    found_percent = (100 * macs / time.overlapped, 100 * macs / time.in_turn)
    assert [f"{value:.2f}" for value in found_percent] == ["2.40", "1.48"]
