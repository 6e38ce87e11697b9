"""Words over DRAM beyond those that must move once, for large maps between two layers
(docs/explanation/bounds_proofs.md, lemma 12).

A map that the buffer does not hold crosses DRAM, or both layers run in one group, piece by piece:
then weights or partial sums of the reader move again for each piece, or the map is made again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from archloom.evaluators.fusion.buffer import buffer_words
from archloom.space.fusion import computations
from archloom.space.hardware import Hardware
from archloom.space.workload import OUTPUTS, TENSORS, Layer, Network

from ...arrays import Bools, Floats

#: mixtures of DRAM's time and the chip's, of which each bounds the cycles of a pass
MIXTURES: Final = (0.0, 1 / 32, 1 / 8, 1 / 4, 1 / 2)

#: words that an on-chip level without a limit counts with
_UNLIMITED: Final = 2**53

#: price of a map so many times more
_Again: TypeAlias = Callable[[Floats], Floats]


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
        plain = layer.stride[0] <= layer.r and layer.stride[1] <= layer.s
        if alone and plain and before.uses_macs and whole[i]:
            words = layer.map_read_words[network.reads[maker].index(before.name)]
            if words >= least:
                return i, before.output_words, words
    return -1, 0, 0


@dataclass(frozen=True)
class Crossings:
    """Figures of crossings, one after another, of all images of a pass.

    Attributes:
        moved: float64[E], words that DRAM moves if the map crosses it, but for what leaves anyway.
        weights, inputs, outputs: float64[E], words of the reader's operands.
        images: of the pass.
        windows: bool[E], whether results of the reader need more than the position at their place.
        known: bool[E], whether anything is known of what is made again.
        stored, fetched: float64[E], as in :class:`Crossing`; infinite if the maker runs again
            itself.
    """

    moved: Floats
    weights: Floats
    inputs: Floats
    outputs: Floats
    images: int
    windows: Bools
    known: Bools
    stored: Floats
    fetched: Floats

    @classmethod
    def of(cls, network: Network, found: Sequence[Crossing]) -> "Crossings":
        """Return the figures of some crossings of a network."""
        made = [network.layers[one.maker] for one in found]
        readers = [network.layers[one.reader] for one in found]
        inputs = np.array([one.words for one in found], np.float64)
        written = [0 if la.name in network.leaving else la.output_words for la in made]
        stored, fetched = (
            np.array([words or np.inf for words in column], np.float64)
            for column in ([one.stored for one in found], [one.fetched for one in found])
        )
        return cls(
            np.array(written, np.float64) + inputs,
            np.array([layer.weight_words for layer in readers], np.float64),
            inputs,
            np.array([layer.output_words for layer in readers], np.float64),
            network.batch,
            np.array([not _windowless(layer) for layer in readers], np.bool_),
            np.array([one.remade >= 0 for one in found], np.bool_),
            stored,
            fetched,
        )

    def least(self, hardware: Hardware, word: float, again: Floats) -> float:
        """Return what the crossings cost at the least, all together.

        Args:
            hardware: with one buffer between groups.
            word: price of a word over DRAM.
            again: float64[E], price of running once more the layer that makes the map.
        """
        held = buffer_words(hardware)
        large = self.inputs > self.images * held
        if not large.any():
            return 0.0
        most = held_words(hardware)
        w, i, o = word * self.weights, word * self.inputs, word * 2 * self.outputs
        all_words = self.weights, self.inputs, self.outputs
        pieces = [_pieces(words, room) for words, room in zip(all_words, most, strict=True)]

        def made_again(times: Floats) -> Floats:
            other = word * (self.stored + self.fetched * (1 + times))
            return np.where(self.known & (times > 0), np.minimum(times * again, other), 0.0)

        def fetched_again(times: Floats) -> Floats:
            return times * i

        apart = word * self.moved + _moved_again(pieces, w, o, fetched_again)
        # a tile holds its part of what the reader reads, and of what it makes
        tiles = _pieces(self.inputs + self.outputs, held)
        resident = "weights" in hardware.levels[-2].keeps
        tiled = np.where(resident & (self.weights <= held), 0.0, (tiles - 1) * w)
        # in a loop nest the map lies in the buffer, and no loop cuts rows and columns of windows
        at_hand = [pieces[0], _pieces(self.inputs, held), pieces[2]]
        nested = np.where(
            self.windows,
            self._by_channels(held, most[OUTPUTS], o, made_again),
            _moved_again(at_hand, w, o, made_again),
        )
        least = np.minimum(np.minimum(apart, tiled), nested)
        return float(least[large].sum())

    def _by_channels(self, held: int, most: int, o: Floats, made_again: _Again) -> Floats:
        """Return what loops over channels cost, of an image whose map is ``held`` in pieces."""
        n_i = _pieces(self.inputs / self.images, held)
        n_o = _pieces(self.outputs / self.images, most)
        summed = np.where(n_o > 1, (n_i - 1) * o, 0.0)
        both = np.where(n_o > 1, made_again(np.ones_like(n_o)) + o, 0.0)
        return np.minimum(np.minimum(summed, made_again(n_o - 1)), both)


def _windowless(layer: Layer) -> bool:
    """Whether each position of a result needs the position at its place alone."""
    return (layer.r, layer.s, layer.stride, layer.padding) == (1, 1, (1, 1), (0, 0))


def _moved_again(pieces: Sequence[Floats], w: Floats, o: Floats, inputs: _Again) -> Floats:
    """Return what operands that move again cost at the least.

    Args:
        pieces: in which weights, inputs and outputs are at the least.
        w, o: price of the weights, and of the outputs, once more.
        inputs: price of the inputs, so many times more.
    """
    n_w, n_i, n_o = pieces
    once = inputs(np.ones_like(n_w))
    one = (
        w * (np.minimum(n_i, n_o) - 1),
        inputs(np.minimum(n_w, n_o) - 1),
        o * (np.minimum(n_w, n_i) - 1),
    )
    least: Floats = np.minimum.reduce([*one, w + once, once + o, w + o])
    return least


def _pieces(words: Floats, most: int) -> Floats:
    """Return the pieces of at most so many words that some words are cut into at the least."""
    counts: Floats = np.ceil(words / max(1, most))
    return counts


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
