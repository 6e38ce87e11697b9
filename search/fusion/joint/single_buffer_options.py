"""Ways to run one group from one shared buffer, each with an estimate of its cost.

An option is a tiling: rows and columns of a tile, a halo policy, and the layers with resident
weights; pinned feature maps take part of the buffer.
"""

from bisect import bisect_left
from collections.abc import Mapping as Dict
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators.fusion.buffer import buffer_words
from archloom.search.fusion.tiling import (
    Tile,
    WeightUsers,
    even_sides,
    staying_weights,
    weight_users,
)
from archloom.space.fusion import FusionGroup, HaloPolicy, Pin, Residents
from archloom.space.hardware import Hardware
from archloom.space.workload import Network

from ..group_equivalence import resident_members
from ..partition import Group
from .cut_graph import CutEdge
from .group_options import GroupOptions
from .group_tiles import GroupTiling, TiledLayers
from .option_table import GroupOption, RoughOptions, best_options

#: bands of a group that are looked at first
_FIRST_BANDS: Final = 3

#: cycles of whole maps with exact factors, over the least, from which even tiles are looked at
_UNEVEN_RATIO: Final = 1.03

_KEEP_ALL: Final[HaloPolicy] = "keep_all"


@dataclass(frozen=True, slots=True)
class _MovedWords:
    """Words between DRAM and buffer.

    Attributes:
        weights: that come to the buffer; ``loaded`` of them in the first tile, and stay.
        streamed: weights that come tile by tile, each time all of them.
        fetched, stored: of maps, for each of the images.
        images, tiles: of the pass, and of an image.
        prefetch: whether the buffer has space to move maps while neighbouring tiles run.
    """

    weights: int
    loaded: int
    streamed: int
    fetched: int
    stored: int
    images: int
    tiles: int
    prefetch: bool

    @property
    def runs(self) -> int:
        """Tiles in all."""
        return self.images * self.tiles


class _Place(NamedTuple):
    """An edge, what lies in the buffer beside its group, its tilings, and words that it may use."""

    edge: CutEdge
    residents: Residents
    tilings: GroupTiling
    free: int


class SingleBufferOptions(GroupOptions):
    """Lists the options of edges on a chip with one shared buffer.

    Args:
        network, hardware: what runs where.
    """

    def __init__(self, network: Network, hardware: Hardware) -> None:
        super().__init__(network, hardware, hardware)
        self._sides = even_sides(hardware)
        self._words = buffer_words(hardware)
        self._keeps_weights = (
            hardware.fusion_level is not None and "weights" in hardware.levels[-2].keeps
        )
        self._users: dict[Group, tuple[WeightUsers, ...]] = {}

    def group_for(self, option: GroupOption, edge: CutEdge, turns: Dict[int, int]) -> FusionGroup:
        """Return the group of an option as another edge of the same kind runs it in a plan."""
        resident = tuple(edge.layers[m] for m in resident_members(option.group))
        group = self._group(edge, option.group.tile, option.group.halo, resident)
        readers = (self._network.consumers[i] for i in edge.kept)
        last = [max(some, key=lambda reader: (turns[reader], reader)) for some in readers]
        return replace(group, pins=tuple(map(Pin, edge.kept, last)))

    def rough(self) -> RoughOptions:
        """Return rough estimates for all tilings of every kind of edge."""
        _, whole = self._known.graph(self._words)
        energy, cycles = self._whole_costs(whole)
        images = self._network.batch
        banded = self._banded_weights(whole, images, share=1)
        weights = np.where(whole.members > 1, banded, whole.weights)
        fetched = weights + whole.fetched * images
        stored = whole.stored * images
        maps = (whole.fetched + whole.stored) * images / self._rate
        return RoughOptions(
            whole.kinds,
            whole.layers,
            whole.members,
            energy * images,
            cycles * images,
            fetched * self._fetch_pj + stored * self._store_pj,
            weights / self._rate + maps,
        )

    def first_options(self, edge: CutEdge) -> list[GroupOption]:
        """Return some options of an edge: the largest bands of rows that fit, if any do.

        All halos are kept, or none if that does not fit. Where layers gain by tiles that fill the
        meshes, some of these as well.
        """
        if len(edge.layers) == 1:
            return self.all_options(edge)
        if self._blocked(edge):
            return []
        place = self._place(edge)
        bands = place.tilings.tilings.bands
        first = self._largest(place, bands, "keep_all")
        first = first or self._largest(place, bands, "recompute")
        return first + self._even(place)

    def all_options(self, edge: CutEdge) -> list[GroupOption]:
        """Return the options of an edge, those of the least estimated energy x latency first."""
        alone = len(edge.layers) == 1
        place = self._place(edge)
        options = [self._alone(place)] if alone else []
        if self._blocked(edge):
            return options
        # a layer by itself has its tiles in its mapping
        tilings = place.tilings.tilings
        whole = [(tilings.whole, _KEEP_ALL)] if place.residents.words else []
        for tile, halo in whole if alone else tilings.several():
            options += self._tiled(place, tile, halo)
        return best_options(options + self._even(place))

    def _place(self, edge: CutEdge) -> _Place:
        residents = self._known.kinds.residents(edge)
        return _Place(edge, residents, self._known.tiling(edge), self._words - residents.words)

    def _even(self, place: _Place) -> list[GroupOption]:
        """Return tiles that fill the meshes, the largest that fit, if layers gain by them."""
        if not self._uneven(place.tilings):
            return []
        tiles = place.tilings.tilings.even(self._sides)
        kept = self._largest(place, tiles, "keep_all")
        return kept or self._largest(place, tiles, "recompute")

    def _uneven(self, tilings: GroupTiling) -> bool:
        """Whether whole maps leave MACs idle that tiles may use."""
        if not self._sides:
            return False
        stay = np.ones_like(tilings.alone)
        exact, least = (
            sum(self._costs.of(tilings.alone, stay, cut)[1].tolist()) for cut in (False, True)
        )
        return bool(exact > _UNEVEN_RATIO * least)

    def _largest(self, place: _Place, tiles: list[Tile], halo: HaloPolicy) -> list[GroupOption]:
        """Return the largest tiles that fit, by bisection: smaller ones fit where larger do."""
        words, free = place.tilings.words, place.free
        first = bisect_left(tiles, True, key=lambda tile: words(tile, halo).peak < free)
        some = tiles[first : first + _FIRST_BANDS]
        return [option for tile in some for option in self._tiled(place, tile, halo)]

    def _tiled(self, place: _Place, tile: Tile, halo: HaloPolicy) -> list[GroupOption]:
        """Return options of one tile, with resident weights and without; none if it does not
        fit."""
        edge, free, words = place.edge, place.free, place.tilings.words(tile, halo)
        if words.peak >= free:
            return []
        runs, images = place.tilings.runs(tile, halo), self._network.batch
        count = place.tilings.count(tile, halo)
        found = []
        for stay in self._resident_weights(edge.layers, count * images, free - words.peak):
            loaded = self._owned_words(stay)
            moved = _MovedWords(
                loaded,
                loaded,
                images * self._streamed(edge.layers, runs, stay),
                words.fetched,
                words.stored,
                images,
                count,
                loaded <= free - words.prefetching,
            )
            found.append(self._option(place, self._group(edge, tile, halo, stay), runs, moved))
        return found

    def _streamed(self, layers: Group, runs: TiledLayers, resident: tuple[int, ...]) -> int:
        """Words of weights that stream through the buffer for an image."""
        pairs = zip(layers, runs.loads, strict=True)
        return sum(self._weight_words[i] * times for i, times in pairs if i not in resident)

    def _resident_weights(self, layers: Group, runs: int, capacity: int) -> list[tuple[int, ...]]:
        """Return which weights may stay: what saves most, and all if they fit.

        Those of a single tile save nothing by it, but their layers then wait for no DRAM.
        """
        if layers not in self._users:
            self._users[layers] = weight_users(self._network, layers)
        users, keeps = self._users[layers], self._keeps_weights
        resident, _ = staying_weights(users, keeps, runs, capacity)
        if not keeps or sum(weights.words for weights in users) >= capacity:
            return [resident]
        weighted = tuple(i for i in layers if self._weight_words[i])
        return list(dict.fromkeys([resident, weighted]))

    def _alone(self, place: _Place) -> GroupOption:
        """Return the option of a layer by itself, in one piece: its mapping has its tiles."""
        edge, images = place.edge, self._network.batch
        words, whole = self._owned_words(edge.layers), self._known.whole(edge)
        moved = _MovedWords(words, 0, 0, whole.fetched, whole.stored, images, 1, True)
        runs = self._known.runs(edge, whole.made)
        return self._option(place, self._group(edge, None), runs, moved)

    def _group(
        self,
        edge: CutEdge,
        tile: Tile | None,
        halo: HaloPolicy = "recompute",
        resident: tuple[int, ...] = (),
    ) -> FusionGroup:
        # no cost depends on who reads a map last; that follows from the groups to come
        pins = tuple(Pin(i, self._network.consumers[i][-1]) for i in edge.kept)
        return FusionGroup(edge.layers, tile, halo, resident, pins=pins)

    def _option(
        self, place: _Place, group: FusionGroup, runs: TiledLayers, moved: _MovedWords
    ) -> GroupOption:
        """Add up tiles of each member, and what moves."""
        layers = group.layers
        stays = np.array([i in group.resident or group.tile is None for i in layers], np.int64)
        costs = self._costs.of(runs.sizes, stays[runs.members])
        times = runs.times * moved.images
        pj, cycles = (
            np.bincount(runs.members, of * times, len(layers)).astype(np.float64) for of in costs
        )
        fetched = moved.weights + moved.fetched * moved.images
        stored = moved.stored * moved.images
        maps = (moved.fetched + moved.stored) * moved.images / self._rate
        late = max(0.0, moved.loaded / self._rate - float(cycles.sum()) / moved.runs)
        return GroupOption(
            group,
            place.residents,
            pj,
            cycles,
            fetched * self._fetch_pj + stored * self._store_pj + moved.streamed * self._weight_pj,
            (moved.weights + moved.streamed) / self._rate + (maps if moved.prefetch else 0.0),
            late + (0.0 if moved.prefetch else maps),
        )
