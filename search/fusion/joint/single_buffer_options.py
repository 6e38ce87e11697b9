"""Ways to run one group from one shared buffer, each with an estimate of its cost.

An option is a tiling: rows and columns of a tile, a halo policy, and the layers with resident
weights; pinned feature maps take part of the buffer.
"""

from collections.abc import Hashable, Mapping as Dict, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from archloom.evaluators.fusion import GroupShape, group_sources, with_residents
from archloom.evaluators.fusion.buffer import buffer_words
from archloom.evaluators.fusion.tiling import GroupTiles
from archloom.search.fusion.tiling import (
    GroupTilings,
    LayerTile,
    Tile,
    choose_weights,
    even_sides,
    in_one_piece,
)
from archloom.space.fusion import FusionGroup, HaloPolicy, Pin, Residents
from archloom.space.hardware import Hardware
from archloom.space.workload import Network

from ..group_equivalence import group_kind, resident_members
from ..partition import Group
from .cut_graph import CutEdge
from .group_options import GroupOptions
from .option_table import GroupOption, best_options

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


class SingleBufferOptions(GroupOptions):
    """Lists the options of edges on a chip with one shared buffer.

    Args:
        network, hardware: what runs where.
    """

    def __init__(self, network: Network, hardware: Hardware) -> None:
        super().__init__(network, hardware, hardware)
        self._sides = even_sides(hardware)
        self._keeps_weights = (
            hardware.fusion_level is not None and "weights" in hardware.levels[-2].keeps
        )
        self._makers: dict[Group, tuple[Hashable, tuple[int, ...]]] = {}

    def residents(self, edge: CutEdge) -> Residents:
        """Return what the plan keeps in the buffer; a pin lasts to its last reader."""
        layers, leaving = self._network.layers, self._network.leaving
        unwritten = tuple(i for i in edge.kept if layers[i].name not in leaving)
        words = sum(layers[i].output_words for i in (*edge.held, *edge.kept))
        return Residents(edge.held, edge.kept, unwritten, words)

    def kind(self, edge: CutEdge) -> Hashable:
        """Return a key that is equal for edges with the same options at the same cost."""
        if edge.layers not in self._makers:
            layers = set(edge.layers)
            sources = group_sources(self._network)
            # what is read from outside, in the order in which groups number it
            outside = {s.box: s.layer for i in edge.layers for s in sources[i]}
            makers = tuple(m for m in outside.values() if m not in layers)
            self._makers[edge.layers] = group_kind(self._network, edge.layers), makers
        kind, makers = self._makers[edge.layers]
        held = tuple(n for n, maker in enumerate(makers) if maker in edge.held)
        residents, first = self.residents(edge), edge.layers.index
        kept, unwritten = (
            tuple(map(first, maps)) for maps in (residents.kept, residents.unwritten)
        )
        return kind, held, kept, unwritten, residents.words

    def group_for(self, option: GroupOption, edge: CutEdge, turns: Dict[int, int]) -> FusionGroup:
        """Return the group of an option as another edge of the same kind runs it in a plan."""
        resident = tuple(edge.layers[m] for m in resident_members(option.group))
        group = self._group(edge, option.group.tile, option.group.halo, resident)
        readers = (self._network.consumers[i] for i in edge.kept)
        last = [max(some, key=lambda reader: (turns[reader], reader)) for some in readers]
        return replace(group, pins=tuple(map(Pin, edge.kept, last)))

    def relaxation(self, edge: CutEdge) -> GroupOption:
        """Return a rough estimate for all tilings of an edge: only weights are fetched again."""
        made, fetched, stored = in_one_piece(self._network, self._shape(edge))
        sizes = [[((i, *tile, True), 1)] for i, tile in zip(edge.layers, made, strict=True)]
        words, batch = self._weights(edge), self._network.batch
        moved = _MovedWords(words, 0, 0, fetched, stored, batch, 1, True)
        return self._option(edge, self._group(edge, None), sizes, moved, len(edge.layers) > 1)

    def first_options(self, edge: CutEdge) -> list[GroupOption]:
        """Return some options of an edge: the largest bands of rows that fit, if any do.

        All halos are kept, or none if that does not fit. Where layers gain by tiles that fill the
        meshes, some of these as well.
        """
        if len(edge.layers) == 1:
            return self.all_options(edge)
        tilings = self._tilings(edge)
        if tilings is None:
            return []
        bands = self._largest(edge, tilings, tilings.bands, "keep_all")
        bands = bands or self._largest(edge, tilings, tilings.bands, "recompute")
        return bands + self._even(edge, tilings)

    def all_options(self, edge: CutEdge) -> list[GroupOption]:
        """Return the options of an edge, those of the least estimated energy x latency first."""
        alone, pinned_words = len(edge.layers) == 1, self.residents(edge).words
        options = [self.relaxation(edge)] if alone else []
        tilings = self._tilings(edge)
        if tilings is None:
            return options
        # a layer by itself has its tiles in its mapping
        whole = [(tilings.whole, _KEEP_ALL)] if pinned_words else []
        for tile, halo in whole if alone else tilings.several():
            options += self._tiled(edge, tilings, tile, halo)
        return best_options(options + self._even(edge, tilings))

    def _even(self, edge: CutEdge, tilings: GroupTilings) -> list[GroupOption]:
        """Return tiles that fill the meshes, the largest that fit, if layers gain by them."""
        if not self._uneven(edge):
            return []
        tiles = tilings.even(self._sides)
        kept = self._largest(edge, tilings, tiles, "keep_all")
        return kept or self._largest(edge, tilings, tiles, "recompute")

    def _uneven(self, edge: CutEdge) -> bool:
        """Whether whole maps leave MACs idle that tiles may use."""
        members = ((i, self._network.layers[i]) for i in edge.layers)
        whole = [(i, layer.p, layer.q, True) for i, layer in members]
        exact, least = (sum(c for _, c in self._estimates.of(whole, cut)) for cut in (False, True))
        return bool(self._sides) and exact > _UNEVEN_RATIO * least

    def _largest(
        self, edge: CutEdge, tilings: GroupTilings, tiles: list[Tile], halo: HaloPolicy
    ) -> list[GroupOption]:
        """Return the largest tiles that fit, by bisection: smaller ones fit where larger do."""
        low, high = 0, len(tiles)
        known: dict[int, list[GroupOption]] = {}
        while low < high:
            middle = (low + high) // 2
            known[middle] = self._tiled(edge, tilings, tiles[middle], halo)
            low, high = (low, middle) if known[middle] else (middle + 1, high)
        for n in range(low, min(low + _FIRST_BANDS, len(tiles))):
            if n not in known:
                known[n] = self._tiled(edge, tilings, tiles[n], halo)
        return [option for n in range(low, low + _FIRST_BANDS) for option in known.get(n, ())]

    def _tiled(
        self, edge: CutEdge, tilings: GroupTilings, tile: Tile, halo: HaloPolicy
    ) -> list[GroupOption]:
        """Return options of one tile, with resident weights and without; none if it does not
        fit."""
        tiles = tilings.tiles(tile, halo)
        free = buffer_words(self._hardware) - self.residents(edge).words
        capacity = free - int(tiles.activations.max())
        if capacity < 1:
            return []
        prefetch = free - int((tiles.activations + tiles.in_flight).max())
        return [
            self._with_weights(edge, tiles, self._group(edge, tile, tiles.policy, stay), prefetch)
            for stay in self._resident_weights(edge.layers, tiles.count * tiles.images, capacity)
        ]

    def _resident_weights(self, layers: Group, runs: int, capacity: int) -> list[tuple[int, ...]]:
        """Return which weights may stay: what saves most, and all if they fit.

        Those of a single tile save nothing by it, but their layers then wait for no DRAM.
        """
        resident, _ = choose_weights(self._network, layers, self._hardware, runs, capacity)
        weighted = tuple(i for i in layers if self._weight_words[i])
        fits = self._owned_words(weighted) < capacity
        return list(
            dict.fromkeys([resident, weighted if fits and self._keeps_weights else resident])
        )

    def _with_weights(
        self, edge: CutEdge, tiles: GroupTiles, group: FusionGroup, prefetch: int
    ) -> GroupOption:
        """Return the option of a tiled group.

        ``prefetch`` words are free beside maps in flight, resident weights not counted.
        """
        resident = group.resident
        words = self._owned_words(resident)
        sizes = [_sizes(tiles, m, i, i in resident) for m, i in enumerate(edge.layers)]
        streamed = tiles.images * sum(
            self._weight_words[i] * sum(times for _, times in found)
            for i, found in zip(edge.layers, sizes, strict=True)
            if i not in resident
        )
        maps = int(tiles.fetched.sum()), int(tiles.stored.sum())
        fits = words <= prefetch
        moved = _MovedWords(words, words, streamed, *maps, tiles.images, tiles.count, fits)
        return self._option(edge, group, sizes, moved)

    def _weights(self, edge: CutEdge) -> int:
        """Words of weights that an edge fetches, in as many bands as serve it best."""
        if len(edge.layers) == 1:
            return self._owned_words(edge.layers)
        return self._banded_weights(
            edge.layers, self._network.batch, self.residents(edge).words, share=1
        )

    def _shape(self, edge: CutEdge) -> GroupShape:
        return with_residents(self._network, super()._shape(edge), self.residents(edge))

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
        self,
        edge: CutEdge,
        group: FusionGroup,
        sizes: Sequence[Sequence[tuple[LayerTile, int]]],
        moved: _MovedWords,
        cut: bool = False,
    ) -> GroupOption:
        """Add up tiles of each member, as (tile, how many of an image), and what moves."""
        costs = iter(self._estimates.of([tile for of in sizes for tile, _ in of], cut))
        totals = np.zeros((len(sizes), 2))
        for m, of_layer in enumerate(sizes):
            for _, times in of_layer:
                totals[m] += np.multiply(next(costs), times * moved.images)
        fetched = moved.weights + moved.fetched * moved.images
        stored = moved.stored * moved.images
        maps = (moved.fetched + moved.stored) * moved.images / self._rate
        late = max(0.0, moved.loaded / self._rate - float(totals[:, 1].sum()) / moved.runs)
        return GroupOption(
            group,
            self.residents(edge),
            totals[:, 0],
            totals[:, 1],
            fetched * self._fetch_pj + stored * self._store_pj + moved.streamed * self._weight_pj,
            (moved.weights + moved.streamed) / self._rate + (maps if moved.prefetch else 0.0),
            late + (0.0 if moved.prefetch else maps),
        )


def _sizes(tiles: GroupTiles, m: int, layer: int, resident: bool) -> list[tuple[LayerTile, int]]:
    """The distinct tiles of a member, and how many of each there are in an image."""
    return [
        ((layer, height, width, resident), n_h * n_w)
        for height, n_h in tiles.rows.lengths[m]
        for width, n_w in tiles.columns.lengths[m]
    ]
