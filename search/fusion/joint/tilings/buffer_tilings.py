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
from archloom.evaluators.fusion.tiling import WeightPlaces
from archloom.search.fusion.joint.cuts import EdgeKinds, WholeGroups
from archloom.search.fusion.tiling import Tile, WeightUsers, staying_weights, weight_users
from archloom.space.fusion import FusionGroup, HaloPolicy, Pin, Residents
from archloom.space.workload import Network

from ...partition import Group
from .columns import OptionColumns
from .group_tiles import GroupTiling, TiledLayers

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
        kinds, kind: whose first edge runs the group.
        tile, halo, resident: as of its :class:`archloom.space.fusion.FusionGroup`.
        running: what runs in tiles.
        stays: int64[m], 1 for each member whose weights are in the buffer while it runs.
        moved: what moves.
    """

    kinds: EdgeKinds
    kind: int
    tile: Tile | None
    halo: HaloPolicy
    resident: tuple[int, ...]
    running: TiledLayers
    stays: Ints
    moved: MovedWords

    @property
    def group(self) -> FusionGroup:
        """The group. No cost depends on who reads a map last; that follows from groups to come."""
        layers, kept = self.kinds.firsts.layers(self.kind), self.kinds.firsts.kept[self.kind]
        pins = tuple(Pin(i, self.kinds.network.consumers[i][-1]) for i in kept)
        return FusionGroup(layers, self.tile, self.halo, self.resident, pins=pins)

    @property
    def residents(self) -> Residents:
        """What its plan keeps in the buffer."""
        return self.kinds.residents(self.kind)


class _Weights(NamedTuple):
    """Weights of a group.

    Attributes:
        group: by number.
        layers: who uses any.
        words: of all of them; what layers share counts once.
        each: int64[m], words that each member uses.
        all_stay, none_stays: int64[m], 1 for members whose weights stay, if all do and if none.
    """

    group: int
    layers: tuple[int, ...]
    words: int
    each: Ints
    all_stay: Ints
    none_stays: Ints


class _Place(NamedTuple):
    """Where tilings of a kind are placed.

    Attributes:
        kind: of edge.
        tiling: tilings of its group.
        free: words of the buffer that pinned maps leave.
        weights: of its group.
    """

    kind: int
    tiling: GroupTiling
    free: int
    weights: _Weights


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
        self._least: dict[tuple[int, tuple[int, ...]], int] = {}
        self._owners = [network.weight_owner(i) for i in range(len(network.layers))]
        self._weight_words = [layer.weight_words for layer in network.layers]
        self._weights: dict[int, _Weights] = {}
        self._users: dict[int, tuple[WeightUsers, ...]] = {}

    @property
    def known(self) -> int:
        """How many tilings are remembered."""
        remembered = (*self._first.values(), *self._even.values())
        return sum(map(len, remembered)) + len(remembered)

    def forget(self, kinds: Iterable[int]) -> None:
        """Forget the tilings of some kinds; they are worked out again if they are asked for."""
        some = set(kinds)
        for kind in some:
            self._first.pop(kind, None)
            self._tiling(kind).forget()
        self._even = {key: even for key, even in self._even.items() if key[0] not in some}

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
                place = self._place(kind)
                found = self._largest_of(place, place.tiling.tilings.even(sides))
            self._even[kind, sides] = tuple(found)
        return self._even[kind, sides]

    def least_weight_words(self, kind: int, sides: tuple[int, ...]) -> int:
        """Return words of weights that come for a pass, at the least, for the largest tiles of a
        kind that fit; -1 if none does.

        Args:
            kind: of edges, with several layers.
            sides: of tiles as in :meth:`even`; none for bands as in :meth:`first`.
        """
        found = self._least.get((kind, sides))
        if found is None:
            found = self._least[kind, sides] = self._least_weight_words(kind, sides)
        return found

    def _least_weight_words(self, kind: int, sides: tuple[int, ...]) -> int:
        if self.blocked(kind):
            return -1
        place = self._place(kind)
        tilings, weights = place.tiling.tilings, place.weights
        shared = int(weights.each.sum()) > weights.words
        # what layers share is taken to come once
        each = weights.none_stays if shared else weights.each
        places = WeightPlaces(each, place.free, self._buffer.keeps_weights)
        tiles = tilings.even(sides) if sides else tilings.bands
        words = place.tiling.least_weight_words(tiles, places)
        return weights.words if shared and words >= 0 else words

    def all(self, kind: int) -> list[PlacedTiling]:
        """Return the tilings of a kind, but for those of :meth:`even`."""
        if self.alone(kind) or self.blocked(kind):
            return list(self.first(kind))
        place = self._place(kind)
        cuts = place.tiling.tilings.several()
        return [t for tile, halo in cuts for t in self._tiled(place, tile, halo)]

    def _listed_first(self, kind: int) -> list[PlacedTiling]:
        blocked = self.blocked(kind)
        if not self.alone(kind):
            place = None if blocked else self._place(kind)
            return [] if place is None else self._largest_of(place, place.tiling.tilings.bands)
        found = [self._in_one_piece(kind)]
        if self.kinds.words[kind] and not blocked:
            place = self._place(kind)
            found += self._tiled(place, place.tiling.tilings.whole, _KEEP_ALL)
        return found

    def _place(self, kind: int) -> _Place:
        free = self._buffer.words - int(self.kinds.words[kind])
        return _Place(kind, self._tiling(kind), free, self._weights_of(kind))

    def _largest_of(self, place: _Place, tiles: list[Tile]) -> list[PlacedTiling]:
        kept = self._largest(place, tiles, "keep_all")
        return kept or self._largest(place, tiles, "recompute")

    def _largest(self, place: _Place, tiles: list[Tile], halo: HaloPolicy) -> list[PlacedTiling]:
        """Return the largest tiles that fit, by bisection: smaller ones fit where larger do."""
        words, free = place.tiling.words, place.free
        first = bisect_left(tiles, True, key=lambda tile: words(tile, halo).peak < free)
        some = tiles[first : first + _FIRST_BANDS]
        return [option for tile in some for option in self._tiled(place, tile, halo)]

    def _tiled(self, place: _Place, tile: Tile, halo: HaloPolicy) -> list[PlacedTiling]:
        """Return one tile, with resident weights and without; nothing if it does not fit."""
        kind, tiling, free, weights = place
        words, images = tiling.words(tile, halo), self._network.batch
        if words.peak >= free:
            return []
        running = tiling.runs(tile, halo)
        runs = running.tiles * images
        found = []
        for resident in self._resident_weights(weights, runs, free - words.peak):
            stays = self._staying(kind, weights, resident)
            every = stays is weights.all_stay
            loaded = weights.words if every else self._owned_words(resident)
            streamed = 0 if every else int(running.loads @ (weights.each * (1 - stays)))
            moved = MovedWords(
                loaded,
                loaded,
                images * streamed,
                words.fetched * images,
                words.stored * images,
                runs,
                int(loaded <= free - words.prefetching),
            )
            found.append(
                PlacedTiling(self.kinds, kind, tile, halo, resident, running, stays, moved)
            )
        return found

    def _staying(self, kind: int, weights: _Weights, resident: Group) -> Ints:
        """int64[m], 1 for each member of a kind's group whose weights are resident."""
        if len(resident) == len(weights.layers):
            return weights.all_stay
        if not resident:
            return weights.none_stays
        return np.array([i in resident for i in self.kinds.firsts.layers(kind)], np.int64)

    def _in_one_piece(self, kind: int) -> PlacedTiling:
        """Return a layer by itself in one piece."""
        layers, whole, images = self.kinds.firsts.layers(kind), self.whole, self._network.batch
        words = self._owned_words(layers)
        fetched, stored = (int(of[kind]) * images for of in (whole.fetched, whole.stored))
        moved = MovedWords(words, 0, 0, fetched, stored, images, 1)
        sizes = whole.sizes[np.searchsorted(whole.kinds, kind)][None]
        columns = self._columns.at(np.array(layers, np.int64), np.int64(0))
        once = np.ones(1, np.int64)
        # a layer that streams has its weights at hand
        stays, parts = once, np.stack([columns, np.arange(1), sizes, once])
        running = TiledLayers(parts, once, 1)
        return PlacedTiling(self.kinds, kind, None, "recompute", (), running, stays, moved)

    def _owned_words(self, layers: Iterable[int]) -> int:
        """Words of the weights of some layers; what they share counts once."""
        return sum(self._weight_words[i] for i in {self._owners[i] for i in layers})

    def _weights_of(self, kind: int) -> _Weights:
        group = int(self.kinds.firsts.groups[kind])
        found = self._weights.get(group)
        if found is None:
            layers, arrays = self.kinds.firsts.layers(kind), self.kinds.firsts.arrays
            weighted = tuple([i for i in layers if self._weight_words[i]])
            each = np.array([self._weight_words[i] for i in layers], np.int64)
            every, none = (each > 0).astype(np.int64), np.zeros_like(each)
            words = int(arrays.weights[group])
            found = self._weights[group] = _Weights(group, weighted, words, each, every, none)
        return found

    def _users_of(self, group: int) -> tuple[WeightUsers, ...]:
        if group not in self._users:
            layers = self.kinds.firsts.arrays.group(group)
            self._users[group] = weight_users(self._network, layers)
        return self._users[group]

    def _resident_weights(
        self, weights: _Weights, runs: int, capacity: int
    ) -> list[tuple[int, ...]]:
        """Return which weights may stay: what saves most, and all if they fit.

        Those of a single tile save nothing by it, but their layers then wait for no DRAM.
        """
        keeps = self._buffer.keeps_weights
        fit = keeps and weights.words < capacity
        if fit and runs > 1:
            # all of them save something
            return [weights.layers]
        users = self._users_of(weights.group)
        resident, _ = staying_weights(users, keeps, runs, capacity)
        return list(dict.fromkeys([resident, weights.layers])) if fit else [resident]
