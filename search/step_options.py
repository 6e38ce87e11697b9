"""Ways to run one group between two cuts, each with an estimate of what it costs.

An option is a tiling: rows and columns of a tile, a halo policy, and the layers whose weights stay.
Its estimate holds the least that any mapping of each layer's tiles costs, and exactly what crosses
the DRAM's pins. Whoever knows by how much layers miss that least multiplies it in.
"""

from collections.abc import Hashable, Sequence
from collections.abc import Mapping as Dict
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..evaluators.group_cost import buffer_words, fusion_blocked, shape_of
from ..evaluators.group_shape import GroupShape, group_sources, placed
from ..evaluators.hardware_cost import access_costs
from ..evaluators.occupancy import GroupTiles
from ..space.dims import INPUTS, OUTPUTS, WEIGHTS
from ..space.fusion import FusionGroup, HaloPolicy, Pin
from ..space.hardware import Hardware
from ..space.network import Network
from ..space.surroundings import Surroundings
from .cuts import Step
from .group_kinds import group_kind, places
from .group_tilings import GroupTilings, Tile, in_one_piece, least_weights
from .option import Option, best_options
from .partition import Group
from .tile_estimates import LayerTile, TileEstimates
from .tiling import choose_weights
from .unrolling import even_sides

Floats = NDArray[np.float64]

#: bands of a group that are looked at first
_FEW: Final = 3

#: cycles of whole maps with exact factors, over the least, from which even tiles are looked at
_UNEVEN: Final = 1.03

_KEPT: Final[HaloPolicy] = "keep_all"


@dataclass(frozen=True, slots=True)
class _Moved:
    """Words between DRAM and buffer.

    Attributes:
        weights: that come to the buffer; ``loaded`` of them in the first tile, and stay.
        streamed: weights that come tile by tile, each time all of them.
        fetched, stored: of maps, for each of the images.
        images, tiles: of the pass, and of an image.
        ahead: whether there is room to move maps while neighbouring tiles run.
    """

    weights: int
    loaded: int
    streamed: int
    fetched: int
    stored: int
    images: int
    tiles: int
    ahead: bool

    @property
    def runs(self) -> int:
        """Tiles in all."""
        return self.images * self.tiles


class StepOptions:
    """Lists the options of steps.

    Args:
        network, hardware: what runs where.
    """

    def __init__(self, network: Network, hardware: Hardware) -> None:
        self._network = network
        self._hardware = hardware
        self._estimates = TileEstimates(network, hardware)
        self._sides = even_sides(hardware)
        layers = network.layers
        self._owners = [network.weight_owner(i) for i in range(len(layers))]
        self._weight_words = [layer.weight_words for layer in layers]
        self._map_words = [(layer.input_words + layer.output_words) // layer.n for layer in layers]
        costs, dram = access_costs(hardware), hardware.levels[-1]
        self._rate = dram.bandwidth_words
        self._fetch_pj = float(costs.read_pj[-1, INPUTS]) / dram.width_words
        self._store_pj = float(costs.write_pj[-1, OUTPUTS]) / dram.width_words
        self._weight_pj = float(costs.read_pj[-1, WEIGHTS]) / dram.width_words
        self._keeps = False
        if hardware.fusion_level is not None:
            buffer = hardware.levels[hardware.fusion_level]
            self._keeps = "weights" in buffer.keeps
            self._fetch_pj += float(costs.write_pj[-2, INPUTS]) / buffer.width_words
        self._makers: dict[Group, tuple[Hashable, tuple[int, ...]]] = {}

    def around(self, step: Step) -> Surroundings:
        """Return what lies in the buffer around a step; a pin lasts to its last reader."""
        layers, leaving = self._network.layers, self._network.leaving
        unwritten = tuple(i for i in step.kept if layers[i].name not in leaving)
        words = sum(layers[i].output_words for i in (*step.held, *step.kept))
        return Surroundings(step.held, step.kept, unwritten, words)

    def kind(self, step: Step) -> Hashable:
        """Return what is the same for steps that have the same options at the same cost."""
        if step.layers not in self._makers:
            layers = set(step.layers)
            sources = group_sources(self._network)
            # what is read from outside, in the order in which groups number it
            outside = {s.box: s.layer for i in step.layers for s in sources[i]}
            makers = tuple(m for m in outside.values() if m not in layers)
            self._makers[step.layers] = group_kind(self._network, step.layers), makers
        kind, makers = self._makers[step.layers]
        held = tuple(n for n, maker in enumerate(makers) if maker in step.held)
        around, first = self.around(step), step.layers.index
        kept, unwritten = (tuple(map(first, maps)) for maps in (around.kept, around.unwritten))
        return kind, held, kept, unwritten, around.words

    def like(self, option: Option, step: Step, turns: Dict[int, int]) -> FusionGroup:
        """Return the group of an option as another step of the same kind runs it in a plan.

        ``turns`` says which group of the plan runs each layer: pins last to the last reader.
        """
        resident = tuple(step.layers[m] for m in places(option.group))
        group = self._group(step, option.group.tile, option.group.halo, resident)
        readers = (self._network.consumers[i] for i in step.kept)
        last = [max(some, key=lambda reader: (turns[reader], reader)) for some in readers]
        return replace(group, pins=tuple(map(Pin, step.kept, last)))

    def whole(self, step: Step) -> Option:
        """Return a rough estimate for all tilings of a step: only weights are fetched again."""
        around = self.around(step)
        made, fetched, stored = in_one_piece(self._network, self._shape(step.layers, around))
        sizes = [[((i, *tile, True), 1)] for i, tile in zip(step.layers, made, strict=True)]
        words, batch = self._weights(step, around), self._network.batch
        moved = _Moved(words, 0, 0, fetched, stored, batch, 1, True)
        cut = len(step.layers) > 1
        return self._option(self._group(step, None), around, sizes, moved, cut)

    def few(self, step: Step) -> list[Option]:
        """Return some options of a step: the largest bands of rows that fit, if any do.

        All halos are kept, or none if that does not fit. Where layers gain by tiles that fill the
        meshes, some of these as well.
        """
        if len(step.layers) == 1:
            return self.all(step)
        around = self.around(step)
        tilings = self._tilings(step, around)
        if tilings is None:
            return []
        kept = self._largest(step, around, tilings, tilings.bands, _KEPT)
        bands = kept or self._largest(step, around, tilings, tilings.bands, "recompute")
        return bands + self._even(step, around, tilings)

    def all(self, step: Step) -> list[Option]:
        """Return the options of a step, those of the least estimated energy x latency first."""
        alone, around = len(step.layers) == 1, self.around(step)
        options = [self.whole(step)] if alone else []
        tilings = self._tilings(step, around)
        if tilings is None:
            return options
        # a layer by itself has its tiles in its mapping
        some = ([(tilings.whole, _KEPT)] if around.words else []) if alone else tilings.several()
        for tile, halo in some:
            options += self._tiled(step, around, tilings, tile, halo)
        return best_options(options + self._even(step, around, tilings))

    def _even(self, step: Step, around: Surroundings, tilings: GroupTilings) -> list[Option]:
        """Return tiles that fill the meshes, the largest that fit, if layers gain by them."""
        if not self._uneven(step):
            return []
        tiles = tilings.even(self._sides)
        kept = self._largest(step, around, tilings, tiles, _KEPT)
        return kept or self._largest(step, around, tilings, tiles, "recompute")

    def _uneven(self, step: Step) -> bool:
        """Whether whole maps leave MACs idle that tiles may use."""
        members = ((i, self._network.layers[i]) for i in step.layers)
        whole = [(i, layer.p, layer.q, True) for i, layer in members]
        exact, least = (sum(c for _, c in self._estimates.of(whole, cut)) for cut in (False, True))
        return bool(self._sides) and exact > _UNEVEN * least

    def _largest(
        self,
        step: Step,
        around: Surroundings,
        tilings: GroupTilings,
        tiles: list[Tile],
        halo: HaloPolicy,
    ) -> list[Option]:
        """Return the largest tiles that fit, taking it that smaller ones fit where larger do."""
        low, high = 0, len(tiles)
        known: dict[int, list[Option]] = {}
        while low < high:
            middle = (low + high) // 2
            known[middle] = self._tiled(step, around, tilings, tiles[middle], halo)
            low, high = (low, middle) if known[middle] else (middle + 1, high)
        for n in range(low, min(low + _FEW, len(tiles))):
            if n not in known:
                known[n] = self._tiled(step, around, tilings, tiles[n], halo)
        return [option for n in range(low, low + _FEW) for option in known.get(n, ())]

    def _tilings(self, step: Step, around: Surroundings) -> GroupTilings | None:
        """Ways to cut a group in tiles, if the hardware can hold its maps."""
        group = FusionGroup(step.layers, (1, 1))
        if fusion_blocked(self._network, group, self._hardware) is not None:
            return None
        members = tuple(self._network.layers[i] for i in step.layers)
        return GroupTilings(self._shape(step.layers, around), members)

    def _tiled(
        self, step: Step, around: Surroundings, tilings: GroupTilings, tile: Tile, halo: HaloPolicy
    ) -> list[Option]:
        """Return a step cut in tiles, with weights that stay and without; nothing if none fits."""
        tiles = tilings.tiles(tile, halo)
        free = buffer_words(self._hardware) - around.words
        room = free - int(tiles.activations.max())
        if room < 1:
            return []
        ahead = free - int((tiles.activations + tiles.in_flight).max())
        return [
            self._resident(step, around, tiles, ahead, tile, resident)
            for resident in self._stay(step.layers, tiles.count * tiles.images, room)
        ]

    def _stay(self, layers: Group, runs: int, room: int) -> list[tuple[int, ...]]:
        """Return which weights may stay: what saves most, and all if they fit.

        Those of a single tile save nothing by it, but their layers then wait for no DRAM.
        """
        resident, _ = choose_weights(self._network, layers, self._hardware, runs, room)
        weighted = tuple(i for i in layers if self._weight_words[i])
        fits = sum(self._weight_words[i] for i in {self._owners[i] for i in weighted}) < room
        return list(dict.fromkeys([resident, weighted if fits and self._keeps else resident]))

    def _resident(
        self,
        step: Step,
        around: Surroundings,
        tiles: GroupTiles,
        ahead: int,
        tile: Tile,
        resident: tuple[int, ...],
    ) -> Option:
        """Return an option; ``ahead`` words are free beside maps on their way, without weights."""
        words = sum(self._weight_words[i] for i in {self._owners[i] for i in resident})
        group = self._group(step, tile, tiles.policy, resident)
        sizes = [_sizes(tiles, m, i, i in resident) for m, i in enumerate(step.layers)]
        streamed = tiles.images * sum(
            self._weight_words[i] * sum(times for _, times in found)
            for i, found in zip(step.layers, sizes, strict=True)
            if i not in resident
        )
        maps = int(tiles.fetched.sum()), int(tiles.stored.sum())
        moved = _Moved(words, words, streamed, *maps, tiles.images, tiles.count, words <= ahead)
        return self._option(group, around, sizes, moved)

    def _weights(self, step: Step, around: Surroundings) -> int:
        """Words of weights that a step fetches, in as many bands as serve it best."""
        words = sum(self._weight_words[i] for i in {self._owners[i] for i in step.layers})
        if len(step.layers) == 1:
            return words
        room = buffer_words(self._hardware) - around.words
        maps = max(self._map_words[i] for i in step.layers)
        return least_weights(words, room, maps, self._network.batch)

    def _shape(self, layers: Group, around: Surroundings) -> GroupShape:
        return placed(self._network, shape_of(self._network, layers), around)

    def _group(
        self,
        step: Step,
        tile: Tile | None,
        halo: HaloPolicy = "recompute",
        resident: tuple[int, ...] = (),
    ) -> FusionGroup:
        # no price asks who reads a map last; that depends on the groups to come
        pins = tuple(Pin(i, self._network.consumers[i][-1]) for i in step.kept)
        return FusionGroup(step.layers, tile, halo, resident, pins=pins)

    def _option(
        self,
        group: FusionGroup,
        around: Surroundings,
        sizes: Sequence[Sequence[tuple[LayerTile, int]]],
        moved: _Moved,
        cut: bool = False,
    ) -> Option:
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
        return Option(
            group,
            around,
            totals[:, 0],
            totals[:, 1],
            fetched * self._fetch_pj + stored * self._store_pj + moved.streamed * self._weight_pj,
            (moved.weights + moved.streamed) / self._rate + (maps if moved.ahead else 0.0),
            late + (0.0 if moved.ahead else maps),
        )


def _sizes(tiles: GroupTiles, m: int, layer: int, resident: bool) -> list[tuple[LayerTile, int]]:
    """The distinct tiles of a member, and how many of each there are in an image."""
    return [
        ((layer, height, width, resident), n_h * n_w)
        for height, n_h in tiles.rows.lengths[m]
        for width, n_w in tiles.columns.lengths[m]
    ]
