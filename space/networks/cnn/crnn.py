"""Recognition of text in images: convolutions, then two bidirectional LSTMs.

FAST (Zhang et al., ASPLOS 2022) names an OCR recognizer that is not published. CRNN (Shi et al.,
TPAMI 2017) stands for it (assumption): the network of that kind whose sizes are known.
"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from typing import Final

from archloom.space.networks.transformers import SequenceBuilder, check_option
from archloom.space.workload import INPUT, Network, copy, lstm_cell, max_pool2d, softmax

_ROWS: Final = 32
#: channels, and whether a batch norm follows, of each convolution (authors' implementation)
_CONVOLUTIONS: Final = (
    (64, False),
    (128, False),
    (256, True),
    (256, False),
    (512, True),
    (512, False),
)
#: stride and padding of the pools of 2x2 after some of them: the later ones halve rows alone
_POOLS: Final = {
    1: ((2, 2), (0, 0)),
    2: ((2, 2), (0, 0)),
    4: ((2, 1), (0, 1)),
    6: ((2, 1), (0, 1)),
}
#: two pools halve columns; 512 frames, a fourth of the columns and one, of two directions each
_NARROWEST, _WIDEST = 4, 2047
_HIDDEN: Final = 256
#: ten digits, 26 letters and the blank between two characters (section 3)
_LABELS: Final = 37


def ocr_recognizer(*, width: int = 100) -> Network:
    """CRNN for a grey image of 32 rows and ``width`` columns.

    Layers are those of the authors' implementation, whose parameters are the 8.3 M that the paper
    reports: 100 columns make 26 frames (the paper says 25), and a layer brings the two directions
    of the first LSTM from 512 to 256 features. LSTMs are unrolled: each step reads its frame, and
    states before the first are inputs. Ours: the two directions meet in one layer with one
    bias, where that implementation adds up two layers.

    Raises:
        ValueError: an image too narrow for the pools, or so wide that its frames are more than
            one layer gathers.
    """
    check_option("ocr_recognizer", "width", width, least=_NARROWEST, most=_WIDEST)
    net = SequenceBuilder((1, _ROWS, width))
    x = _frames(net)
    x = net.linear("join", _both_ways(net, "lstm1", x), _HIDDEN)
    x = net.linear("labels", _both_ways(net, "lstm2", x), _LABELS)
    net.append(softmax("softmax", _LABELS, net.shape(x)[1]), x)
    return net.network("ocr_recognizer")


def _frames(net: SequenceBuilder) -> str:
    """Convolutions and pools down to a single row, whose columns are the frames."""
    x = INPUT
    for i, (channels, norm) in enumerate(_CONVOLUTIONS, start=1):
        x = net.conv(
            f"conv{i}", x, channels, kernel=3, batch_norm=norm, bias=True, activation="relu"
        )
        if i in _POOLS:
            before, rows, columns = net.shape(x)
            x = net.append(max_pool2d(f"pool{i}", before, (rows, columns), 2, *_POOLS[i]), x)
    return net.conv(
        "conv7", x, 512, kernel=2, padding=0, batch_norm=True, bias=True, activation="relu"
    )


def _both_ways(net: SequenceBuilder, name: str, source: str) -> str:
    """Two LSTMs, one from each end, and their results of each frame side by side."""
    _, rows, columns = net.shape(source)
    frames = rows * columns
    ways = (
        _one_way(net, f"{name}.forward", source, range(frames)),
        _one_way(net, f"{name}.backward", source, reversed(range(frames))),
    )
    made = chain.from_iterable((way[frame] for way in ways) for frame in range(frames))
    words = (_HIDDEN,) * (2 * frames)
    return net.append(copy(f"{name}.frames", (2 * _HIDDEN, frames, 1), words), *made)


def _one_way(net: SequenceBuilder, name: str, source: str, order: Iterable[int]) -> dict[int, str]:
    """One LSTM over the positions of a map: results by position.

    Steps after the first use its weights again.
    """
    inputs = net.channels(source)
    output = net.input(f"{name}.output", _HIDDEN, 1)
    memory = net.input(f"{name}.state", _HIDDEN, 1)
    results: dict[int, str] = {}
    first = ""
    for frame in order:
        gates, state, made = lstm_cell(f"{name}.{frame}", inputs, _HIDDEN, biases=0 if first else 2)
        four = net.append(replace(gates, weights_of=first), net.position(source, frame), output)
        memory = net.append(state, four, memory)
        output = net.append(made, four, memory)
        results[frame] = output
        first = first or four
    return results
