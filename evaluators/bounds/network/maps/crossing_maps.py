"""Words over DRAM beyond those that must move once, for large maps between two layers
(docs/explanation/bounds_proofs.md, lemma 16).

A map that the buffer does not hold crosses DRAM, or both layers run in one group, piece by piece:
then weights or partial sums of the reader move again for each piece, or the map is made again.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators.fusion.buffer import buffer_words
from archloom.space.fusion import computations
from archloom.space.hardware import Hardware
from archloom.space.workload import TENSORS, Layer, Network

from ....arrays import Floats
from .crossing_kernel import (
    FETCHED,
    FIGURES,
    IMAGES,
    KNOWN,
    MOVED,
    STORED,
    WEIGHTS,
    WINDOWS,
    Room,
)

#: words that an on-chip level without a limit counts with
_UNLIMITED: Final = 2**53


class Crossing(NamedTuple):
    """A map between layers that both run whole, and a reader on MACs whose only map it is.

    Attributes:
        maker, reader: positions in the network.
        words: of the map that the reader needs.
        remade: position of the layer on MACs that runs again if the map is made again: the maker,
            or what alone makes a map for it; -1 if nothing is known of that.
        stored, fetched: words of what ``remade`` makes for the maker: written to DRAM, and read
            from there each time, if that does not run again; 0 if ``remade`` is the maker.
    """

    maker: int
    reader: int
    words: int
    remade: int
    stored: int
    fetched: int


def crossings(network: Network, read: Sequence[int], left_out: frozenset[int]) -> list[Crossing]:
    """Return the maps of a network that have such a reader; one reader for each.

    Args:
        network: whose.
        read: output positions of each layer that are read.
        left_out: layers whose maps other parts of a bound count.
    """
    before = {i for found in computations(network) for i in found.before}
    shared = {layer.weights_of for layer in network.layers}
    whole = [_whole(layer, read[i]) for i, layer in enumerate(network.layers)]
    found = []
    for u, maker in enumerate(network.layers):
        if not whole[u] or u in before or u in left_out or _cut(network, u):
            continue
        for v in network.consumers[u]:
            reader = network.layers[v]
            own = not reader.weights_of and reader.name not in shared and reader.weight_words > 0
            plain = reader.uses_macs and not reader.multiplies_maps and reader.g == 1
            plain &= whole[v] and reader.dilation == (1, 1) and not _cut(network, v)
            if own and plain and network.reads[v] == (maker.name,):
                words = _read_words(reader)
                found.append(Crossing(u, v, words, *_made_again(network, u, words, whole)))
                break
    return found


def _whole(layer: Layer, outputs: int) -> bool:
    """Whether all of a layer runs, its result being one map."""
    odd = layer.mask or layer.interleave or layer.parts or layer.whole_parts
    return outputs == layer.p * layer.q and not odd and layer.packed_words is None


def _cut(network: Network, maker: int) -> bool:
    """Whether a reader takes some of the channels of a map, so that its maker may run in parts."""
    name = network.layers[maker].name
    return any(
        source == name and network.layers[v].slice_of(operand) is not None
        for v in network.consumers[maker]
        for operand, source in enumerate(network.reads[v])
    )


def _read_words(layer: Layer) -> int:
    """Words of its map that a layer needs; rows and columns that strides leave out do not count."""
    words = layer.n * layer.read_channels[0]
    for axis, (made, taps) in enumerate(((layer.p, layer.r), (layer.q, layer.s))):
        stride, padding = layer.stride[axis], layer.padding[axis]
        size = min((made - 1) * stride - padding + taps, layer.input_size[axis])
        words *= size if stride <= taps else max(0, min(size, made * taps - 2 * padding))
    return words


def _made_again(
    network: Network, maker: int, least: int, whole: Sequence[bool]
) -> tuple[int, int, int]:
    """Return what runs again if ``maker`` does, and the words that move if it need not."""
    layer = network.layers[maker]
    if layer.uses_macs:
        return maker, 0, 0
    for i in network.producers[maker]:
        before = network.layers[i]
        alone = network.consumers[i] == (maker,) and network.reads[maker].count(before.name) == 1
        alone &= before.name not in network.leaving and not _cut(network, i)
        # it reads all of a box: no stride or dilation leaves anything out
        plain = layer.stride[0] <= layer.r and layer.stride[1] <= layer.s
        plain &= layer.dilation == (1, 1)
        if alone and plain and before.uses_macs and whole[i]:
            words = layer.map_read_words[network.reads[maker].index(before.name)]
            if words >= least:
                return i, before.output_words, words
    return -1, 0, 0


def figures_of(network: Network, found: Sequence[Crossing]) -> Floats:
    """Return float64[E, 9], figures of some crossings of a network as
    :func:`archloom.evaluators.bounds.network.maps.crossing_kernel.least_crossings` takes them."""
    figures = np.zeros((len(found), FIGURES))
    for row, one in zip(figures, found, strict=True):
        maker, reader = network.layers[one.maker], network.layers[one.reader]
        stored = 0 if maker.name in network.leaving else maker.output_words
        row[MOVED] = stored + one.words
        row[WEIGHTS:MOVED] = reader.weight_words, one.words, reader.output_words
        row[IMAGES], row[WINDOWS] = network.batch, not _windowless(reader)
        row[KNOWN] = one.remade >= 0
        row[STORED], row[FETCHED] = one.stored, one.fetched
    return figures


def _windowless(layer: Layer) -> bool:
    """Whether each position of a result needs the position at its place alone."""
    return (layer.r, layer.s, layer.stride, layer.padding) == (1, 1, (1, 1), (0, 0))


@lru_cache(maxsize=1024)
def room_of(hardware: Hardware) -> Room:
    """Return what a chip with one buffer between groups has room for."""
    weights, inputs, outputs = held_words(hardware)
    held = buffer_words(hardware)
    resident = held if "weights" in hardware.levels[-2].keeps else 0
    return Room(*map(float, (held, resident, weights, inputs, outputs)))


@lru_cache(maxsize=1024)
def held_words(hardware: Hardware) -> tuple[int, int, int]:
    """Return the most words of weights, inputs and outputs that lie in one on-chip level.

    In the buffer between groups, if it keeps them and no mapping passes it by.
    """
    most = []
    for tensor in TENSORS:
        rooms = [0]
        for at, level in enumerate(hardware.levels[:-1]):
            if tensor not in level.keeps:
                continue
            bits = min(hardware.bits(at, tensor), hardware.word_bits)
            room = level.buffer_bytes(tensor)
            all_of_it = _UNLIMITED if room is None else room * level.instances * 8 / bits
            if at == len(hardware.levels) - 2 and not level.optional:
                rooms = []
            rooms.append(int(min(all_of_it / level.multiple_buffering, _UNLIMITED)))
        most.append(max(rooms))
    return most[0], most[1], most[2]
