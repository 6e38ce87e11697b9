import pytest

from archloom.space.networks.registry import network
from archloom.space.workload.slice import Slice


def frames_of(width):
    """Two pools halve columns, two add one each with their padding, the last window takes one."""
    return width // 2 // 2 + 1 + 1 - 1


@pytest.mark.parametrize("width", [4, 100, 101])
def test_work_and_parameters(width):
    net = network("ocr_recognizer", width=width)
    # convolutions, three batch norms, two nn.LSTM and two nn.Linear, counted in PyTorch 2.13
    assert net.params == 8_331_301
    half, quarter = width // 2, width // 4
    frames = frames_of(width)
    convolutions = (
        9 * 64 * 32 * width
        + 9 * 64 * 128 * 16 * half
        + 9 * (128 * 256 + 256 * 256) * 8 * quarter
        + 9 * (256 * 512 + 512 * 512) * 4 * (quarter + 1)
        + 4 * 512 * 512 * frames
    )
    # four gates of 256, two ways; 512 and then 256 features in; two layers after them
    steps = 2 * 4 * 256 * ((512 + 256) + (256 + 256)) + 512 * 256 + 512 * 37
    assert net.macs == convolutions + frames * steps
    assert net.map_shape("conv7") == (512, 1, frames)
    assert net.map_shape("softmax") == (37, frames, 1)


def test_an_image_of_100_columns_has_26_frames():
    """As in the authors' implementation."""
    assert network("ocr_recognizer").map_shape("conv7") == (512, 1, 26) == (512, 1, frames_of(100))


@pytest.mark.parametrize(("way", "order"), [("forward", (0, 1, 2)), ("backward", (2, 1, 0))])
@pytest.mark.parametrize(("lstm", "source"), [("lstm1", "conv7"), ("lstm2", "join")])
def test_steps_follow_each_other_with_the_same_weights(way, order, lstm, source):
    net = network("ocr_recognizer", width=8)
    name = f"{lstm}.{way}"
    before = f"input:{name}"
    for frame in order:
        step = f"{name}.{frame}"
        gates = net.layers[net.index(f"{step}.gates")]
        assert net.reads[net.index(gates.name)] == (source, f"{before}.output")
        assert net.reads[net.index(f"{step}.state")] == (gates.name, f"{before}.state")
        assert net.reads[net.index(f"{step}.output")] == (gates.name, f"{step}.state")
        at = (0, 0, frame) if lstm == "lstm1" else (0, frame, 0)
        channels = 512 if lstm == "lstm1" else 256
        of = (channels, 1, 3) if lstm == "lstm1" else (channels, 3, 1)
        assert gates.slices == (Slice(at, (channels, 1, 1), of), None)
        first = frame == order[0]
        assert gates.weights_of == ("" if first else f"{name}.{order[0]}.gates")
        weights = 4 * 256 * (channels + 256) + 2 * 4 * 256
        assert gates.params == (weights if first else 0)
        before = step


def test_frames_gather_both_ways():
    net = network("ocr_recognizer", width=8)
    assert net.reads[net.index("lstm1.frames")] == tuple(
        f"lstm1.{way}.{frame}.output" for frame in range(3) for way in ("forward", "backward")
    )


@pytest.mark.parametrize(("width", "nearest"), [(3, 4), (2048, 2047)])
def test_a_width_that_cannot_be(width, nearest):
    why = f"width is {width}, must be from 4 to 2047; nearest: {nearest}"
    with pytest.raises(ValueError, match=why):
        network("ocr_recognizer", width=width)
    assert network("ocr_recognizer", width=nearest).params == 8_331_301
