"""Which outputs of every layer some later layer really reads.

Strided readers leave rows and columns out, and a fused group never makes what nobody reads. A
lower bound may count only what is left, followed back from the network's outputs.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..space.layer import Layer
from ..space.network import INPUT, Network

Flags = NDArray[np.bool_]
Rectangle = tuple[Flags, Flags]


@dataclass(frozen=True)
class Needed:
    """What no plan can leave out.

    Attributes:
        outputs: for each layer, output positions (rows x columns) that must be made at least.
        input_words: words of the network's input that must be read at least.
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
    input_words = 0
    for layer, sources, consumers in reversed(
        list(zip(network.layers, network.reads, network.consumers, strict=True))
    ):
        if consumers:
            made = max(parts[layer.name], key=_size)
        else:
            made = (np.ones(layer.p, np.bool_), np.ones(layer.q, np.bool_))
        outputs.append(_size(made))
        for source in sources:
            part = _read(network, layer, source, made)
            parts.setdefault(source, []).append(part)
            if source == INPUT:
                # layers that read the input may share one fetch of it
                input_words = max(input_words, layer.n * layer.input_channels * _size(part))
    return Needed(tuple(reversed(outputs)), input_words)


def _size(rectangle: Rectangle) -> int:
    return int(rectangle[0].sum()) * int(rectangle[1].sum())


def _read(network: Network, layer: Layer, source: str, made: Rectangle) -> Rectangle:
    """Rows and columns of one map that ``layer`` reads for what it makes."""
    if source == INPUT:
        sizes = layer.input_size
    else:
        producer = network.layers[network.index(source)]
        sizes = (producer.p, producer.q)
    if sizes != layer.input_size:  # a flattened map: every output reads all of it
        return np.ones(sizes[0], np.bool_), np.ones(sizes[1], np.bool_)
    rows, columns = (_taps(layer, axis, made[axis]) for axis in (0, 1))
    return rows, columns


def _taps(layer: Layer, axis: int, made: Flags) -> Flags:
    kernel = (layer.r, layer.s)[axis]
    starts = np.flatnonzero(made) * layer.stride[axis] - layer.padding[axis]
    taps = np.add.outer(starts, np.arange(kernel) * layer.dilation[axis]).ravel()
    read = np.zeros(layer.input_size[axis], np.bool_)
    read[taps[(taps >= 0) & (taps < len(read))]] = True
    return read
