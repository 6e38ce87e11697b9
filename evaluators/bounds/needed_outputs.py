"""Outputs of every layer that some later layer really reads.

Strided readers leave rows and columns out, and a fused group never makes what nobody reads. A
lower bound may count only what is left, followed back from the network's outputs.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from archloom.space.workload import Layer, Network, Slice, is_input

from ..arrays import Bools

Rectangle = tuple[Bools, Bools]


@dataclass(frozen=True)
class Needed:
    """Outputs and inputs that no plan can leave out.

    Attributes:
        outputs: for each layer, output positions (rows x columns) that must be made at least.
        input_words: words of the network's inputs that must be read at least.
    """

    outputs: tuple[int, ...]
    input_words: int


def needed(network: Network) -> Needed:
    """Follow reads back from the outputs of ``network``.

    A map with several readers counts the one that needs most of it: what the others need
    besides may overlap.
    """
    outputs: list[int] = []
    parts: dict[str, list[Rectangle]] = {}
    input_words: dict[str, int] = {}
    for layer, sources in reversed(list(zip(network.layers, network.reads, strict=True))):
        if layer.name in network.leaving:
            made = (np.ones(layer.p, np.bool_), np.ones(layer.q, np.bool_))
        else:
            made = max(parts[layer.name], key=_size)
        outputs.append(_size(made))
        for operand, source in enumerate(sources):
            if is_input(source):
                # layers that read an input may share one fetch of it
                words = _input_words(layer, operand, made)
                input_words[source] = max(input_words.get(source, 0), words)
            else:
                parts.setdefault(source, []).append(_read(network, layer, operand, source, made))
    return Needed(tuple(reversed(outputs)), sum(input_words.values()))


@lru_cache(maxsize=4096)
def touched(layer: Layer) -> tuple[int, int]:
    """Return rows and columns of its maps that windows of ``layer`` touch, padding left out: no
    mapping has to fetch those that strides and dilations skip."""
    rows, columns = _taken(layer, (np.ones(layer.p, np.bool_), np.ones(layer.q, np.bool_)))
    return int(rows.sum()), int(columns.sum())


def _size(rectangle: Rectangle) -> int:
    return int(rectangle[0].sum()) * int(rectangle[1].sum())


def _box(network: Network, layer: Layer, operand: int, source: str) -> Slice:
    """Part of a map that ``layer`` reads."""
    shape = network.map_shape(source)
    return layer.slice_of(operand) or Slice((0, 0, 0), shape, shape)


def _input_words(layer: Layer, operand: int, made: Rectangle) -> int:
    """Words that ``layer`` reads of an input, which may lie in DRAM in another shape."""
    if operand >= len(layer.map_channels):
        return layer.n * layer.map_words[operand]
    return layer.n * layer.read_channels[operand] * _size(_taken(layer, made))


def _taken(layer: Layer, made: Rectangle) -> Rectangle:
    """Rows and columns that the windows of ``layer`` read of what they are laid on."""
    return _taps(layer, 0, made[0]), _taps(layer, 1, made[1])


def _read(network: Network, layer: Layer, operand: int, source: str, made: Rectangle) -> Rectangle:
    """Rows and columns of a layer's result, as it is made, that ``layer`` reads."""
    box = _box(network, layer, operand, source)
    if operand < len(layer.map_channels) and box.size[1:] == layer.input_size:
        read = _taken(layer, made)
    else:
        # all of it, for every output
        read = (np.ones(box.size[1], np.bool_), np.ones(box.size[2], np.bool_))
    rows, columns = (_placed(read[axis], box, axis + 1) for axis in (0, 1))
    maker = network.layers[network.index(source)]
    spread = maker.interleave
    if spread is None:
        return rows, columns
    return (
        _patches(rows, maker.p, spread.rows, spread.start[0]),
        _patches(columns, maker.q, spread.columns, spread.start[1]),
    )


def _placed(read: Bools, box: Slice, axis: int) -> Bools:
    """Bools of a whole axis, from those of a box."""
    flags = np.zeros(box.of[axis], np.bool_)
    flags[box.start[axis] : box.start[axis] + len(read)] = read
    return flags


def _patches(read: Bools, made: int, patch: int, start: int) -> Bools:
    """Positions of the map as made, ``patch`` to one, in which something is read."""
    flags = np.zeros(made, np.bool_)
    flags[(np.flatnonzero(read) + start) // patch] = True
    return flags


def _taps(layer: Layer, axis: int, made: Bools) -> Bools:
    """Positions that windows read for the outputs that are made, without a list of all taps."""
    kernel, pad = (layer.r, layer.s)[axis], layer.padding[axis]
    stride, dilation = layer.stride[axis], layer.dilation[axis]
    read = np.zeros(layer.input_size[axis], np.bool_)
    if kernel <= len(made):
        for tap in range(kernel):
            _spread(read, tap * dilation - pad, stride, made)
    else:
        window = np.ones(kernel, np.bool_)
        for output in np.flatnonzero(made):
            _spread(read, int(output) * stride - pad, dilation, window)
    return read


def _spread(read: Bools, start: int, step: int, flags: Bools) -> None:
    """Set every ``step``-th flag of ``read`` from ``start`` on where ``flags`` are set."""
    first = max(0, -(start // step))
    last = min(len(flags), (len(read) - 1 - start) // step + 1)
    if first < last:
        read[start + first * step : start + (last - 1) * step + 1 : step] |= flags[first:last]
