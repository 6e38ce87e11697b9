"""Tilings of a network's groups in a shared buffer of one size, whatever else the design is.

Which tiles fit, which weights stay with them and what then moves follows from the network and from
the size of the buffer. Designs with such a buffer share it, and add what tiles cost.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators import Ints
from archloom.evaluators.fusion.buffer import without_second_map
from archloom.search.fusion.tiling import Tile, WeightUsers, staying_weights, weight_users
from archloom.space.fusion import FusionGroup, HaloPolicy, Pin
from archloom.space.workload import Network

from ..partition import Group
from .cuts import EdgeKinds, WholeGroups
from .group_tiles import GroupTiling, TiledLayers
from .option_batch import GroupWay, OptionColumns

#: bands of a group that are looked at first
_FIRST_BANDS: Final = 3

_KEEP_ALL: Final[HaloPolicy] = "keep_all"


class MovedWords(NamedTuple):
    """Words between DRAM and buffer in a pass over all images.

    Attributes:
        weights: that come to the buffer; ``loaded`` of them in the first tile, and stay.
        streamed: weights that come tile by tile, each time all of them.
        fetched, stored: of maps.
        runs: tiles in all.
        prefetch: 1 if the buffer has space to move maps while neighbouring tiles run, else 0.
    """

    weights: int
    loaded: int
    streamed: int
    fetched: int
    stored: int
    runs: int
    prefetch: int


class PlacedTiling(NamedTuple):
    """One way to run a group in the buffer.

    Attributes:
        way: what is evaluated.
        parts: int64[3, n], what runs in tiles: column of the table of options, ascending; place in
            the table of sizes' costs; how often in a pass.
        moved: what moves.
    """

    way: GroupWay
    parts: Ints
    moved: MovedWords


class BufferFacts(NamedTuple):
    """What tilings must know of a buffer.

    Attributes:
        words: that it holds.
        keeps_weights: whether weights may stay there.
    """

    words: int
    keeps_weights: bool


class BufferTilings:
    """Tilings of a network's groups in one buffer, worked out when they are first asked for.

    Args:
        network: where the groups are.
        buffer: where they run.
        graph: kinds of the edges of the network's cut graph, and their groups in one piece.
        columns: of the table of options.
        tiling: returns the tilings of the group of a kind.
    """

    def __init__(
        self,
        network: Network,
        buffer: BufferFacts,
        graph: tuple[EdgeKinds, WholeGroups],
        columns: OptionColumns,
        tiling: Callable[[int], GroupTiling],
    ) -> None:
        self._network = network
        self._buffer = buffer
        self.kinds, self.whole = graph
        self._columns = columns
        self._tiling = tiling
        self._first: dict[int, tuple[PlacedTiling, ...]] = {}
        self._even: dict[tuple[int, tuple[int, ...]], tuple[PlacedTiling, ...]] = {}
        self._owners = [network.weight_owner(i) for i in range(len(network.layers))]
        self._weight_words = [layer.weight_words for layer in network.layers]
        self._users: dict[Group, tuple[WeightUsers, ...]] = {}

    @property
    def known(self) -> int:
        """How many tilings are remembered."""
        remembered = (*self._first.values(), *self._even.values())
        return sum(map(len, remembered)) + len(remembered)

    def blocked(self, kind: int) -> bool:
        """Whether a buffer that keeps no weights has no place for a map that takes theirs."""
        if self._buffer.keeps_weights:
            return False
        group = FusionGroup(self.kinds.firsts.layers(kind), (1, 1))
        return without_second_map(self._network, group) is not None

    def alone(self, kind: int) -> bool:
        """Whether a kind of edge runs one layer."""
        return bool(self.kinds.members[kind] == 1)

    def first(self, kind: int) -> tuple[PlacedTiling, ...]:
        """Return some tilings of a kind: the largest bands of rows that fit, if any do.

        All halos are kept, or none if that does not fit. A layer by itself runs in one piece, since
        its mapping has its tiles, and beside pinned maps also as a tile.
        """
        if kind not in self._first:
            self._first[kind] = tuple(self._listed_first(kind))
        return self._first[kind]

    def even(self, kind: int, sides: tuple[int, ...]) -> tuple[PlacedTiling, ...]:
        """Return tiles with sides of some lengths, the largest that fit."""
        if (kind, sides) not in self._even:
            found = list[PlacedTiling]()
            if not self.blocked(kind):
                found = self._largest_of(kind, self._tiling(kind).tilings.even(sides))
            self._even[kind, sides] = tuple(found)
        return self._even[kind, sides]

    def all(self, kind: int) -> list[PlacedTiling]:
        """Return the tilings of a kind, but for those of :meth:`even`."""
        if self.alone(kind) or self.blocked(kind):
            return list(self.first(kind))
        tilings = self._tiling(kind).tilings
        return [t for cut in tilings.several() for t in self._tiled(kind, *cut)]

    def _listed_first(self, kind: int) -> list[PlacedTiling]:
        blocked = self.blocked(kind)
        if not self.alone(kind):
            return [] if blocked else self._largest_of(kind, self._tiling(kind).tilings.bands)
        found = [self._in_one_piece(kind)]
        if int(self.kinds.words[kind]) and not blocked:
            found += self._tiled(kind, self._tiling(kind).tilings.whole, _KEEP_ALL)
        return found

    def _largest_of(self, kind: int, tiles: list[Tile]) -> list[PlacedTiling]:
        kept = self._largest(kind, tiles, "keep_all")
        return kept or self._largest(kind, tiles, "recompute")

    def _largest(self, kind: int, tiles: list[Tile], halo: HaloPolicy) -> list[PlacedTiling]:
        """Return the largest tiles that fit, by bisection: smaller ones fit where larger do."""
        words, free = self._tiling(kind).words, self._free(kind)
        first = bisect_left(tiles, True, key=lambda tile: words(tile, halo).peak < free)
        some = tiles[first : first + _FIRST_BANDS]
        return [option for tile in some for option in self._tiled(kind, tile, halo)]

    def _free(self, kind: int) -> int:
        """Words of the buffer that pinned maps leave."""
        return self._buffer.words - int(self.kinds.words[kind])

    def _tiled(self, kind: int, tile: Tile, halo: HaloPolicy) -> list[PlacedTiling]:
        """Return one tile, with resident weights and without; nothing if it does not fit."""
        tiling, free, layers = self._tiling(kind), self._free(kind), self.kinds.firsts.layers(kind)
        words = tiling.words(tile, halo)
        if words.peak >= free:
            return []
        running, images = tiling.runs(tile, halo), self._network.batch
        runs = tiling.count(tile, halo) * images
        found = []
        for stay in self._resident_weights(layers, runs, free - words.peak):
            loaded = self._owned_words(stay)
            moved = MovedWords(
                loaded,
                loaded,
                images * self._streamed(layers, running, stay),
                words.fetched * images,
                words.stored * images,
                runs,
                int(loaded <= free - words.prefetching),
            )
            found.append(self._placed(kind, (tile, halo, stay), running, moved))
        return found

    def _in_one_piece(self, kind: int) -> PlacedTiling:
        """Return a layer by itself in one piece."""
        layers, whole, images = self.kinds.firsts.layers(kind), self.whole, self._network.batch
        words = self._owned_words(layers)
        fetched, stored = (int(of[kind]) * images for of in (whole.fetched, whole.stored))
        moved = MovedWords(words, 0, 0, fetched, stored, images, 1)
        sizes = whole.sizes[np.searchsorted(whole.kinds, kind)][None]
        running = TiledLayers(np.arange(1), sizes, np.ones(1, np.int64), (1,))
        return self._placed(kind, (None, "recompute", ()), running, moved)

    def _placed(
        self,
        kind: int,
        how: tuple[Tile | None, HaloPolicy, tuple[int, ...]],
        running: TiledLayers,
        moved: MovedWords,
    ) -> PlacedTiling:
        edge, (tile, halo, stay) = self.kinds.firsts[kind], how
        # no cost depends on who reads a map last; that follows from the groups to come
        pins = tuple(Pin(i, self._network.consumers[i][-1]) for i in edge.kept)
        group = FusionGroup(edge.layers, tile, halo, stay, pins=pins)
        stays = np.array([tile is None or i in stay for i in edge.layers], np.int64)
        parts = np.empty((3, len(running.members)), np.int64)
        parts[0] = self._columns.of(group)[running.members]
        parts[1] = 2 * running.sizes + stays[running.members]
        parts[2] = running.times * self._network.batch
        order = np.argsort(parts[0], kind="stable")
        way = GroupWay(group, self.kinds.residents(kind))
        return PlacedTiling(way, parts[:, order], moved)

    def _owned_words(self, layers: Iterable[int]) -> int:
        """Words of the weights of some layers; what they share counts once."""
        return sum(self._weight_words[i] for i in {self._owners[i] for i in layers})

    def _streamed(self, layers: Group, running: TiledLayers, resident: tuple[int, ...]) -> int:
        """Words of weights that stream through the buffer for an image."""
        pairs = zip(layers, running.loads, strict=True)
        return sum(self._weight_words[i] * times for i, times in pairs if i not in resident)

    def _resident_weights(self, layers: Group, runs: int, capacity: int) -> list[tuple[int, ...]]:
        """Return which weights may stay: what saves most, and all if they fit.

        Those of a single tile save nothing by it, but their layers then wait for no DRAM.
        """
        if layers not in self._users:
            self._users[layers] = weight_users(self._network, layers)
        users, keeps = self._users[layers], self._buffer.keeps_weights
        resident, _ = staying_weights(users, keeps, runs, capacity)
        if not keeps or sum(weights.words for weights in users) >= capacity:
            return [resident]
        weighted = tuple(i for i in layers if self._weight_words[i])
        return list(dict.fromkeys([resident, weighted]))
