"""Ways to run one group between two cuts, each with an estimate of what it costs.

An option is a tiling: rows and columns of a tile, a halo policy, and the layers whose weights stay.
Its estimate holds the least that any mapping of each layer's tiles costs, and exactly what crosses
the DRAM's pins. Whoever knows by how much layers miss that least multiplies it in.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..evaluators.group_cost import buffer_words, fusion_blocked, shape_of
from ..evaluators.group_shape import GroupShape, placed
from ..evaluators.hardware_cost import access_costs
from ..evaluators.occupancy import GroupTiles
from ..space.dims import INPUTS, OUTPUTS
from ..space.fusion import FusionGroup, HaloPolicy, Pin
from ..space.hardware import Hardware
from ..space.network import Network
from ..space.surroundings import Surroundings
from .cuts import Step
from .group_kinds import group_kind, places
from .group_tilings import BANDS, GroupTilings
from .partition import Group
from .tile_estimates import LayerTile, TileEstimates
from .tiling import Tile, choose_weights

Floats = NDArray[np.float64]

#: bands of a group that are looked at first
_FEW: Final = 3

_KEPT: Final[HaloPolicy] = "keep_all"

#: tilings of a group that go on to be priced, those of the least estimates
_MOST_TILINGS: Final = 16


@dataclass(frozen=True, eq=False)
class Option:
    """One way to run a step.

    Attributes:
        group, around: what is priced.
        layer_pj, layer_cycles: float64[m], least energy and cycles of each member over all tiles.
        moved_pj, moved_cycles: of what moves between DRAM and buffer for the group.
    """

    group: FusionGroup
    around: Surroundings
    layer_pj: Floats
    layer_cycles: Floats
    moved_pj: float
    moved_cycles: float


@dataclass(frozen=True, slots=True)
class _Moved:
    """Words between DRAM and buffer: of weights in all, of maps for each of the images."""

    weights: int
    fetched: int
    stored: int
    images: int


#: options of the first step of each kind
_Memo: TypeAlias = "dict[Hashable, list[Option]]"


class StepOptions:
    """Lists the options of steps.

    Args:
        network, hardware: what runs where.
    """

    def __init__(self, network: Network, hardware: Hardware) -> None:
        self._network = network
        self._hardware = hardware
        self._estimates = TileEstimates(network, hardware)
        self._last = [max(readers, default=-1) for readers in network.consumers]
        layers = network.layers
        self._owners = [network.weight_owner(i) for i in range(len(layers))]
        self._weight_words = [layer.weight_words for layer in layers]
        self._map_words = [(layer.input_words + layer.output_words) // layer.n for layer in layers]
        costs, dram = access_costs(hardware), hardware.levels[-1]
        self._rate = dram.bandwidth_words
        self._fetch_pj = float(costs.read_pj[-1, INPUTS]) / dram.width_words
        self._store_pj = float(costs.write_pj[-1, OUTPUTS]) / dram.width_words
        if hardware.fusion_level is not None:
            buffer = hardware.levels[hardware.fusion_level]
            self._fetch_pj += float(costs.write_pj[-2, INPUTS]) / buffer.width_words
        self._one: _Memo = {}
        self._some: _Memo = {}
        self._every: _Memo = {}

    def around(self, step: Step) -> Surroundings:
        """Return what lies in the buffer around a step; a pin lasts to its last reader."""
        layers, leaving = self._network.layers, self._network.leaving
        unwritten = tuple(i for i in step.kept if layers[i].name not in leaving)
        words = sum(layers[i].output_words for i in (*step.held, *step.kept))
        return Surroundings(step.held, step.kept, unwritten, words)

    def whole(self, step: Step) -> Option:
        """Return a rough estimate for all tilings of a step: only weights are fetched again."""
        return self._like(step, self._whole, self._one)[0]

    def few(self, step: Step) -> list[Option]:
        """Return some options of a step: the largest bands of rows that fit, all halos kept.

        All options, if none of these fits.
        """
        return self._like(step, self._largest, self._some)

    def all(self, step: Step) -> list[Option]:
        """Return the options of a step, those of the least estimated energy x latency first."""
        return self._like(step, self._several, self._every)

    def _like(
        self, step: Step, listed: Callable[[Step, Surroundings], list[Option]], memo: _Memo
    ) -> list[Option]:
        """Return what is listed for the first step of the same kind, made into options of this."""
        around, layers = self.around(step), step.layers
        shape = self._shape(layers, around)
        kept = (shape.held, shape.kept, shape.unwritten, around.words)
        kind = (group_kind(self._network, layers), *kept)
        if kind not in memo:
            memo[kind] = listed(step, around)
        return [
            replace(
                option,
                group=self._group(
                    step,
                    option.group.tile,
                    option.group.halo,
                    tuple(layers[m] for m in places(option.group)),
                ),
                around=around,
            )
            for option in memo[kind]
        ]

    def _whole(self, step: Step, around: Surroundings) -> list[Option]:
        layers = self._network.layers
        sizes = [[((i, layers[i].p, layers[i].q, True), 1)] for i in step.layers]
        shape = self._shape(step.layers, around)
        fetched, stored = (
            sum(shape.channels[t] * prod(shape.sizes[t]) for t in maps)
            for maps in (shape.arriving, shape.departing)
        )
        moved = _Moved(self._weights(step, around), fetched, stored, self._network.batch)
        return [self._option(self._group(step, None), around, sizes, moved)]

    def _largest(self, step: Step, around: Surroundings) -> list[Option]:
        if len(step.layers) == 1:
            return self._several(step, around)
        tilings = self._tilings(step, around)
        if tilings is None:
            return []
        kept = self._bands(step, around, tilings, "keep_all")
        return kept or self._bands(step, around, tilings, "recompute")

    def _bands(
        self, step: Step, around: Surroundings, tilings: GroupTilings, halo: HaloPolicy
    ) -> list[Option]:
        """Return the largest bands that fit, taking it that smaller ones fit where larger do."""
        bands = tilings.bands
        low, high = 0, len(bands)
        known: dict[int, Option | None] = {}
        while low < high:
            middle = (low + high) // 2
            known[middle] = self._tiled(step, around, tilings, bands[middle], halo)
            low, high = (low, middle) if known[middle] else (middle + 1, high)
        for n in range(low, min(low + _FEW, len(bands))):
            if n not in known:
                known[n] = self._tiled(step, around, tilings, bands[n], halo)
        return [o for n in range(low, low + _FEW) if (o := known.get(n)) is not None]

    def _several(self, step: Step, around: Surroundings) -> list[Option]:
        alone = len(step.layers) == 1
        options = self._whole(step, around) if alone else []
        tilings = self._tilings(step, around)
        if tilings is None or (alone and not around.words):
            return options
        # a layer by itself has its tiles in its mapping
        some = [(tilings.whole, _KEPT)] if alone else tilings.several()
        for tile, halo in some:
            option = self._tiled(step, around, tilings, tile, halo)
            options += [] if option is None else [option]
        return _best(options)

    def _tilings(self, step: Step, around: Surroundings) -> GroupTilings | None:
        """Ways to cut a group in tiles, if the hardware can hold its maps."""
        group = FusionGroup(step.layers, (1, 1))
        if fusion_blocked(self._network, group, self._hardware) is not None:
            return None
        members = tuple(self._network.layers[i] for i in step.layers)
        return GroupTilings(self._shape(step.layers, around), members)

    def _tiled(
        self, step: Step, around: Surroundings, tilings: GroupTilings, tile: Tile, halo: HaloPolicy
    ) -> Option | None:
        """Return a step cut in tiles, or None if that does not fit."""
        network, layers, tiles = self._network, step.layers, tilings.tiles(tile, halo)
        room = buffer_words(self._hardware) - around.words - int(tiles.activations.max())
        if room < 1:
            return None
        runs = tiles.count * tiles.images
        resident, _ = choose_weights(network, layers, self._hardware, runs, room)
        # other weights stream, which is part of what their layers cost
        words = sum(self._weight_words[i] for i in {self._owners[i] for i in resident})
        group = self._group(step, tile, tiles.policy, resident)
        sizes = [_sizes(tiles, m, i, i in resident) for m, i in enumerate(layers)]
        moved = _Moved(words, int(tiles.fetched.sum()), int(tiles.stored.sum()), tiles.images)
        return self._option(group, around, sizes, moved)

    def _weights(self, step: Step, around: Surroundings) -> int:
        """Words of weights that a step fetches in as many bands as serve it best.

        A band holds the largest maps of one layer at once, and what is left holds weights.
        """
        words = sum(self._weight_words[i] for i in {self._owners[i] for i in step.layers})
        if len(step.layers) == 1:
            return words
        room = buffer_words(self._hardware) - around.words
        batch, maps = self._network.batch, max(self._map_words[i] for i in step.layers)
        fetched = []
        for bands in BANDS:
            stays = min(words, max(0, room - maps // bands))
            fetched.append(stays + (words - stays) * bands * batch)
        return min(fetched)

    def _shape(self, layers: Group, around: Surroundings) -> GroupShape:
        return placed(self._network, shape_of(self._network, layers), around)

    def _group(
        self,
        step: Step,
        tile: Tile | None,
        halo: HaloPolicy = "recompute",
        resident: tuple[int, ...] = (),
    ) -> FusionGroup:
        pins = tuple(Pin(i, self._last[i]) for i in step.kept)
        return FusionGroup(step.layers, tile, halo, resident, pins=pins)

    def _option(
        self,
        group: FusionGroup,
        around: Surroundings,
        sizes: Sequence[Sequence[tuple[LayerTile, int]]],
        moved: _Moved,
    ) -> Option:
        """Add up tiles of each member, as (tile, how many of an image), and what moves."""
        costs = iter(self._estimates.of([tile for of in sizes for tile, _ in of]))
        totals = np.zeros((len(sizes), 2))
        for m, of_layer in enumerate(sizes):
            for _, times in of_layer:
                totals[m] += np.multiply(next(costs), times * moved.images)
        fetched = moved.weights + moved.fetched * moved.images
        stored = moved.stored * moved.images
        return Option(
            group,
            around,
            totals[:, 0],
            totals[:, 1],
            fetched * self._fetch_pj + stored * self._store_pj,
            (fetched + stored) / self._rate,
        )


def _sizes(tiles: GroupTiles, m: int, layer: int, resident: bool) -> list[tuple[LayerTile, int]]:
    """The distinct tiles of a member, and how many of each there are in an image."""
    return [
        ((layer, height, width, resident), n_h * n_w)
        for height, n_h in tiles.rows.lengths[m]
        for width, n_w in tiles.columns.lengths[m]
    ]


def _best(options: list[Option]) -> list[Option]:
    """Return the options of the least products, and those of the least energy and latency."""

    def product(option: Option) -> float:
        return _energy(option) * _cycles(option)

    few = sorted(options, key=product)[:_MOST_TILINGS]
    for least in (_energy, _cycles):
        best = min(options, key=least, default=None)
        if best is not None and best not in few:
            few.append(best)
    return few


def _energy(option: Option) -> float:
    return float(option.layer_pj.sum()) + option.moved_pj


def _cycles(option: Option) -> float:
    return max(float(option.layer_cycles.sum()), option.moved_cycles)
