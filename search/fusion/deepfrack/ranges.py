"""Ranges of consecutive layers of one network: their kinds, faces, and what tiles hold of maps.

All of it follows from the network, so that it is worked out once for all designs. What tiles of a
face need of a map follows from its readers up to the end of the range, wherever the range starts:
so ranges with the same end and face share it, and each earlier start adds one layer.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from math import prod
from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators import Ints
from archloom.evaluators.fusion import MapRead, group_reads, group_sources
from archloom.search.fusion.tiling import SizeNumbers
from archloom.space.workload import Network, connected, remembered

from ..group_equivalence import group_kind
from ..partition import Group
from .extents import MOST_PLACES, NOTHING, Needs, TileExtents, asked, joined, settled
from .tile_sets import Tile, TileSet, tile_set

#: words and sizes of tiles of one network that are remembered (some 12 bytes each)
_MOST_FIGURES: Final = 2**24

#: needs along rows and columns
_BothNeeds = tuple[Needs, Needs]


class OutsideMap(NamedTuple):
    """A map, or a box of one, that a range reads from outside.

    Attributes:
        first, last: the layers that read it first and last.
        words: int64[T], words of it for each size of tile.
    """

    first: int
    last: int
    words: Ints


@dataclass(frozen=True, eq=False)
class RangeShape:
    """A range with what its tiles hold and move, whatever the design.

    Attributes:
        layers: positions in the network.
        face: rows and columns of the map that tiles are cut on.
        tiles: sizes of its tiles.
        sizes: int64[m, T], numbers of the sizes in which each layer runs.
        held: int64[T], most words of maps at once.
        arriving: maps from outside.
        leaving: words of the maps that leave, by the layers that make them.
        units: layers that share weights, together.
        weights: int64[U], words of each unit's weights.
    """

    layers: Group
    face: Tile
    tiles: TileSet
    sizes: Ints
    held: Ints
    arriving: tuple[OutsideMap, ...]
    leaving: dict[int, int]
    units: tuple[Group, ...]
    weights: Ints


class KnownRanges:
    """Ranges of one network.

    Args:
        network: where they are.

    Attributes:
        numbers: of the sizes in which layers run.
    """

    def __init__(self, network: Network) -> None:
        self._network = network
        self.numbers = SizeNumbers(network)
        self._kinds: dict[tuple[int, int], int | None] = {}
        self._numbers: dict[Hashable, int] = {}
        self._spans: list[tuple[int, int]] = []
        self._shapes: dict[int, RangeShape] = {}
        self._grown: dict[tuple[int, Tile], _GrownBack] = {}

    def kind(self, start: int, end: int) -> int | None:
        """Return a number that ranges have that cost the same; None if they share no data."""
        span = (start, end)
        if span not in self._kinds:
            layers, found = tuple(range(start, end)), None
            if connected(self._network, layers):
                kind = group_kind(self._network, layers)
                found = self._numbers.setdefault(kind, len(self._numbers))
                if found == len(self._spans):
                    self._spans.append(span)
            self._kinds[span] = found
        return self._kinds[span]

    def figures(self, kind: int) -> int:
        """Return how many figures of a kind of range are tabulated: layers times sizes of tiles."""
        start, end = self._spans[kind]
        return (end - start) * len(tile_set(self._face(start, end)).rows)

    def shape(self, kind: int) -> RangeShape:
        """Return the first range of a kind."""
        if kind not in self._shapes:
            self._shapes[kind] = self._shape(*self._spans[kind])
        return self._shapes[kind]

    def _shape(self, start: int, end: int) -> RangeShape:
        layers, face = self._network.layers, self._face(start, end)
        if (end, face) not in self._grown:
            self._grown[end, face] = _GrownBack(self._network, end, face, self.numbers)
        grown, units = self._grown[end, face], dict[int, list[int]]()
        grown.reach(start)
        for i in range(start, end):
            if layers[i].weight_words:
                units.setdefault(self._network.weight_owner(i), []).append(i)
        weights = [layers[shared[0]].weight_words for shared in units.values()]
        made = {i: layers[i] for i in range(start, end) if grown.leaves[i]}
        return RangeShape(
            tuple(range(start, end)),
            face,
            grown.tiles,
            grown.sizes[start:end],
            grown.held(start),
            grown.outside[start],
            {i: layer.output_channels * layer.p * layer.q for i, layer in made.items()},
            tuple(tuple(shared) for shared in units.values()),
            np.array(weights, np.int64),
        )

    def _face(self, start: int, end: int) -> Tile:
        """Rows and columns of the largest map that no layer of the range reads."""
        consumers, layers = self._network.consumers, self._network.layers
        unread = (i for i in range(start, end) if not consumers[i] or consumers[i][0] >= end)

        def size(i: int) -> tuple[int, int, int]:
            return layers[i].p * layers[i].q, layers[i].output_channels, i

        anchor = layers[max(unread, key=size)]
        return anchor.p, anchor.q

    @property
    def full(self) -> bool:
        """Whether more is remembered than should be."""
        return sum(grown.sizes.size for grown in self._grown.values()) > _MOST_FIGURES


@remembered
def _known(network: Network) -> list[KnownRanges]:
    return [KnownRanges(network)]


def known_ranges(network: Network) -> KnownRanges:
    """Return what is known of the ranges of a network; nothing once it was too much."""
    known = _known(network)
    if known[0].full:
        # planners that are at work keep what they have
        known[0] = KnownRanges(network)
    return known[0]


class _Asked(NamedTuple):
    """A map from outside while ranges grow: its needs so far, and an :class:`OutsideMap`."""

    maker: int
    needs: _BothNeeds
    told: OutsideMap


class _GrownBack:
    """Ranges that end before one layer, with one face, grown from there layer by layer.

    Args:
        network: where they are.
        end: the layer before which they end.
        face: rows and columns of the map that tiles are cut on.
        numbers: of the sizes in which layers run.

    Attributes:
        tiles: sizes of tiles.
        sizes: int64[end, T], numbers of the sizes in which each layer runs.
        outside: maps from outside, by the start of the range.
        leaves: whether the map of each layer leaves a range.
    """

    def __init__(self, network: Network, end: int, face: Tile, numbers: SizeNumbers) -> None:
        self._network = network
        self._end = end
        self._numbers = numbers
        self._reads, self._sources = group_reads(network), group_sources(network)
        self.tiles = tile_set(face)
        count = len(self.tiles.rows)
        self.sizes = np.zeros((end, count), np.int64)
        self._words = np.zeros((end, count), np.int64)
        places = [_places([r for some in self._reads[:end] for r in some], a) for a in (0, 1)]
        self._axes = tuple(TileExtents(*found) for found in zip(face, places, strict=True))
        consumers, layers = network.consumers, network.layers
        self.leaves = [
            layers[i].name in network.leaving or consumers[i][-1] >= end for i in range(end)
        ]
        readers = [[c for c in consumers[i] if c < end] for i in range(end)]
        self._last = [
            end - 1 if leaves else some[-1]
            for leaves, some in zip(self.leaves, readers, strict=True)
        ]
        self._readers = readers
        self._needs: dict[int, _BothNeeds] = {}
        self._boxes: dict[int, _Asked] = {}
        self._start = end
        self.outside: dict[int, tuple[OutsideMap, ...]] = {}

    def reach(self, start: int) -> None:
        """Grow until the range starts there."""
        while self._start > start:
            self._start -= 1
            self._add(self._start)

    def held(self, start: int) -> Ints:
        """int64[T], most words of maps at once in the range that starts there."""
        outside, words = self.outside[start], self._words[start : self._end]
        every = np.concatenate([words, *(box.words[None] for box in outside)])
        last = np.array([*self._last[start:], *(box.last for box in outside)]) - start
        changes = np.zeros((len(words) + 1, words.shape[1]), np.int64)
        changes[:-1] = words
        changes[0] += every[len(words) :].sum(axis=0)
        order = np.argsort(last, kind="stable")
        steps, first = np.unique(last[order], return_index=True)
        changes[steps + 1] -= np.add.reduceat(every[order], first)
        most: Ints = changes.cumsum(axis=0).max(axis=0)
        return most

    def _add(self, i: int) -> None:
        layer = self._network.layers[i]
        made = self._asked_for(i)
        self._needs[i] = made
        rows, columns = self._lengths(made, (layer.p, layer.q))
        self._words[i] = layer.output_channels * rows * columns
        self.sizes[i] = self._numbers.of(np.array(i), rows, columns)
        # its map no longer comes from outside, what it reads does
        self._boxes = {box: of for box, of in self._boxes.items() if of.maker != i}
        for read, source in zip(self._reads[i], self._sources[i], strict=True):
            known = self._boxes.get(source.box)
            _, *sides = read.shape
            needs = self._asked(read, False, i, (sides[0], sides[1]))
            last = i
            if known is not None:
                needs = _both(known.needs, needs)
                last = known.told.last
            rows, columns = self._lengths(needs, (sides[0], sides[1]))
            told = OutsideMap(i, last, read.shape[0] * rows * columns)
            self._boxes[source.box] = _Asked(source.layer, needs, told)
        self.outside[i] = tuple(of.told for of in self._boxes.values())

    def _asked_for(self, i: int) -> _BothNeeds:
        """What tiles need of the map of a layer."""
        layer = self._network.layers[i]
        if not self._readers[i]:
            return self._axes[0].own(layer.p), self._axes[1].own(layer.q)
        needs: _BothNeeds = (NOTHING, NOTHING)
        for reader in self._readers[i]:
            for read, source in zip(self._reads[reader], self._sources[reader], strict=True):
                if source.layer == i:
                    asked_by = self._asked(read, True, reader, (layer.p, layer.q))
                    needs = _both(needs, asked_by)
        return settled(needs[0], layer.p), settled(needs[1], layer.q)

    def _asked(self, read: MapRead, inside: bool, reader: int, size: Tile) -> _BothNeeds:
        layer, made = self._network.layers[reader], self._needs[reader]
        rows, columns = (
            asked(read, inside, layer, axis, size[axis], made[axis]) for axis in (0, 1)
        )
        return rows, columns

    def _lengths(self, needs: _BothNeeds, size: Tile) -> tuple[Ints, Ints]:
        """int64[T], rows and columns of a map for each size of tile."""
        rows, columns = (
            axis.lengths(settled(need, side), side)
            for axis, need, side in zip(self._axes, needs, size, strict=True)
        )
        return rows[self.tiles.rows], columns[self.tiles.columns]


def _both(one: _BothNeeds, other: _BothNeeds) -> _BothNeeds:
    return joined(one[0], other[0]), joined(one[1], other[1])


def _places(reads: list[MapRead], axis: int) -> int:
    """Places of a tile at which maps may look different, at most :data:`MOST_PLACES`."""
    patches = (patch[axis] for read in reads for patch in {read.inside[0], read.outside[0]})
    return min(MOST_PLACES, prod(patches))
