"""Maps that one core needs whole, or DRAM carries (docs/explanation/bounds.md, several cores).

Squeeze and excitation scales a map by what is computed from all of it. In one group with that, the
map is made on one core, or made anew on each: no core reads what another one holds. Otherwise it
is written to DRAM and read again. So a plan pays with time or with energy, map by map, and a bound
of the product of both may ask it to choose.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from archloom.space.workload import Layer, Network, is_input

from ....arrays import Floats


class Gathered(NamedTuple):
    """A map that every result of a reader needs all of.

    Attributes:
        maker, reader: positions in the network; ``maker`` runs on MACs.
        words: that DRAM moves if they are in different groups, beyond those that leave anyway.
    """

    maker: int
    reader: int
    words: int


def gathered_maps(network: Network, read: Sequence[int]) -> tuple[Gathered, ...]:
    """Return the maps of a network that a reader needs all of; one reader for each map.

    Args:
        network: whose.
        read: output positions of each layer that are read.
    """
    found = []
    for i, layer in enumerate(network.layers):
        if not layer.uses_macs or layer.mask or layer.interleave or layer.parts:
            continue
        if read[i] != layer.p * layer.q:
            continue
        after = _after(network, set(_mixers(network, i)))
        for v in network.consumers[i]:
            if v in after and _reads_all(network, v, i, read):
                times = 1 if layer.name in network.leaving else 2
                found.append(Gathered(i, v, times * layer.output_words))
                break
    return tuple(found)


def _mixers(network: Network, maker: int) -> Iterator[int]:
    """Layers of which every result depends on every word that ``maker`` makes for its image."""
    for pool in network.consumers[maker]:
        if not _pools_all(network, pool, maker):
            continue
        for i in network.consumers[pool]:
            layer = network.layers[i]
            plain = layer.uses_macs and not layer.multiplies_maps and layer.g == 1
            small = (layer.p, layer.q, layer.r, layer.s) == (1, 1, 1, 1)
            if plain and small and _only(network, i, pool) and layer.c == network.layers[pool].g:
                yield i


def _only(network: Network, reader: int, maker: int) -> bool:
    """Whether a layer reads the map that ``maker`` makes, all of it, and no other."""
    reads = network.reads[reader]
    return reads == (network.layers[maker].name,) and _whole(network.layers[reader], 0)


def _whole(layer: Layer, operand: int) -> bool:
    return layer.slice_of(operand) is None


def _pools_all(network: Network, pool: int, maker: int) -> bool:
    """Whether an operator makes one word of each channel, of all words of it."""
    layer, made = network.layers[pool], network.layers[maker]
    return (
        not layer.uses_macs
        and _only(network, pool, maker)
        and (layer.p, layer.q, layer.k, layer.c) == (1, 1, 1, 1)
        and layer.g == made.output_channels
        and (layer.r, layer.s) == layer.input_size == (made.p, made.q)
        and layer.padding == (0, 0)
        and layer.dilation == (1, 1)
        and layer.interleave is None
    )


def _after(network: Network, start: set[int]) -> set[int]:
    """Layers of which every result depends on what ``start`` make, or on what these make."""
    reached = set(start)
    for i, layer in enumerate(network.layers):
        # of maps that are read side by side, a layer with groups may use one and not the other
        each = len(layer.map_channels) == 1 or (layer.uses_macs and layer.g == 1)
        if each and any(p in reached for p in network.producers[i]):
            reached.add(i)
    return reached - start


def _reads_all(network: Network, reader: int, maker: int, read: Sequence[int]) -> bool:
    """Whether a layer that runs at every position reads each word of a map, as it is."""
    layer, made = network.layers[reader], network.layers[maker]
    size = (made.p, made.q)
    if (layer.r, layer.s, *layer.stride, *layer.padding) != (1, 1, 1, 1, 0, 0):
        return False
    if layer.input_size != size or (layer.p, layer.q) != size or read[reader] != made.p * made.q:
        return False
    operands = [k for k, name in enumerate(network.reads[reader]) if name == made.name]
    return len(operands) == 1 and _whole(layer, operands[0]) and layer.interleave is None


def words_between(network: Network, gathered: Sequence[Gathered]) -> tuple[int, ...]:
    """Return for each operator of the vector unit words of maps between layers that it moves over
    DRAM if it runs by itself, and that no other part of a bound counts; 0 for layers on MACs.
    """
    counted = {(one.reader, one.maker) for one in gathered}
    words = []
    for i, layer in enumerate(network.layers):
        if layer.uses_macs:
            words.append(0)
            continue
        moved = 0 if layer.name in network.leaving else layer.output_words
        for name, size in zip(network.reads[i], layer.map_read_words, strict=True):
            if not is_input(name) and (i, network.index(name)) not in counted:
                moved += size
        words.append(moved)
    return tuple(words)


def best_corner(energies: Floats, cycles: Floats) -> tuple[Floats, Floats]:
    """Return what to add to energy (pJ) and to cycles at the corners of all mixtures of choices.

    Each of n choices takes ``energies[n]`` or ``cycles[n]`` more. Any selection lies on or above
    the lines between these n + 1 corners, and a product is least at a corner.
    """
    costly = np.argsort(energies / np.maximum(cycles, 1e-300), kind="stable")
    spent = np.concatenate([[0.0], np.cumsum(energies[costly])])
    waited = np.concatenate([np.cumsum(cycles[costly][::-1])[::-1], [0.0]])
    return spent, waited
