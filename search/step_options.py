"""Ways to run one group between two cuts, each with an estimate of what it costs.

An option is a tiling: rows and columns of a tile, a halo policy, and the layers whose weights stay.
Its estimate holds the least that any mapping of each layer's tiles costs, and exactly what crosses
the DRAM's pins. Whoever knows by how much layers miss that least multiplies it in.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from math import prod
from typing import Final, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from ..evaluators.group_cost import buffer_words, fusion_blocked, shape_of
from ..evaluators.group_shape import GroupShape, placed
from ..evaluators.hardware_cost import access_costs
from ..evaluators.occupancy import GroupTiles
from ..evaluators.sweep import AxisSweep, axis_sweep
from ..space.dims import INPUTS, OUTPUTS
from ..space.fusion import FusionGroup, HaloPolicy, Pin
from ..space.hardware import Hardware
from ..space.layer import Layer
from ..space.network import Network
from ..space.surroundings import Surroundings
from .cuts import Step
from .group_kinds import group_kind, places
from .tile_estimates import LayerTile, TileEstimates
from .tiling import Tile, choose_weights

Floats = NDArray[np.float64]

#: into how many bands the rows of the anchor are cut, and its columns
_BANDS: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
_COLUMNS: Final = (1, 2, 4, 8)

#: plain tilings of a group that are looked at first
_FEW: Final = 3

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
        shape = placed(shape_of(self._network, layers), around)
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
        shape = placed(shape_of(self._network, step.layers), around)
        fetched, stored = (
            sum(shape.channels[t] * prod(shape.sizes[t]) for t in maps)
            for maps in (shape.arriving, shape.departing)
        )
        moved = _Moved(self._weights(step, around), fetched, stored, self._network.batch)
        return [self._option(self._group(step, None), around, sizes, moved)]

    def _largest(self, step: Step, around: Surroundings) -> list[Option]:
        fitting = (o for o in self._tiled(step, around, plain=True))
        return list(islice(fitting, _FEW)) or self._several(step, around)

    def _several(self, step: Step, around: Surroundings) -> list[Option]:
        return _best(list(self._tiled(step, around)))

    def _tiled(self, step: Step, around: Surroundings, plain: bool = False) -> Iterator[Option]:
        """Every option; ``plain`` ones keep all halos, and their tiles are bands of rows."""
        alone = len(step.layers) == 1
        if alone:
            yield from self._whole(step, around)
        blocked = fusion_blocked(self._network, FusionGroup(step.layers, (1, 1)), self._hardware)
        if blocked is not None or (alone and not around.words):
            return
        capacity = buffer_words(self._hardware) - around.words
        members = tuple(self._network.layers[i] for i in step.layers)
        shape = placed(shape_of(self._network, step.layers), around)
        for tiles, tile in _tilings(shape, members, plain):
            # a layer by itself has its tiles in its mapping
            if alone and tiles.count > 1:
                break
            room = capacity - int(tiles.activations.max())
            if room < 1:
                continue
            runs = tiles.count * tiles.images
            resident, words = choose_weights(self._network, step.layers, self._hardware, runs, room)
            group = self._group(step, tile, tiles.policy, resident)
            sizes = [_sizes(tiles, m, i, i in resident) for m, i in enumerate(step.layers)]
            moved = _Moved(words, int(tiles.fetched.sum()), int(tiles.stored.sum()), tiles.images)
            yield self._option(group, around, sizes, moved)

    def _weights(self, step: Step, around: Surroundings) -> int:
        """Words of weights that a step fetches in as many bands as serve it best.

        A band holds the largest maps of one layer at once, and what is left holds weights.
        """
        layers = self._network.layers
        words = sum(
            layers[i].weight_words for i in {self._network.weight_owner(i) for i in step.layers}
        )
        if len(step.layers) == 1:
            return words
        room = buffer_words(self._hardware) - around.words
        batch = self._network.batch
        maps = max((layers[i].input_words + layers[i].output_words) // batch for i in step.layers)
        fetched = []
        for bands in _BANDS:
            stays = min(words, max(0, room - maps // bands))
            fetched.append(stays + (words - stays) * bands * batch)
        return min(fetched)

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


def _tilings(
    shape: GroupShape, members: tuple[Layer, ...], plain: bool
) -> Iterator[tuple[GroupTiles, Tile]]:
    """Tiles of the anchor, larger ones first, under every policy that makes a difference."""
    rows, columns = shape.sizes[shape.anchor]

    @cache
    def sweep(axis: int, size: int, keep: bool) -> AxisSweep:
        return axis_sweep(shape, list(members), axis, size, keep)

    for tile in _plain(rows, columns) if plain else _tiles(rows, columns):
        cut = tile[0] < rows, tile[1] < columns
        # one tile has no halo, and an axis in one piece none along it
        for policy in ("keep_all",) if plain else get_args(HaloPolicy):
            if policy == "keep_inner" and not all(cut):
                continue
            if policy == "recompute" and not any(cut):
                continue
            keep = policy == "keep_all" or not cut[0], policy != "recompute" or not cut[1]
            axes = [sweep(axis, tile[axis], keep[axis]) for axis in (0, 1)]
            yield GroupTiles(shape, members, policy, *axes), tile


def _plain(rows: int, columns: int) -> Iterator[Tile]:
    """Bands of rows by halving heights, then halves of a row."""
    for n in dict.fromkeys(-(-rows // 2**n) for n in range(rows.bit_length() + 1)):
        yield n, columns
    for n in dict.fromkeys(-(-columns // 2**n) for n in range(1, columns.bit_length() - 2)):
        yield 1, n


def _tiles(rows: int, columns: int) -> Iterator[Tile]:
    """Bands of rows, then tiles that are not much wider or higher than square."""
    heights = list(dict.fromkeys(-(-rows // n) for n in _BANDS if n <= rows))
    widths = list(dict.fromkeys(-(-columns // n) for n in _COLUMNS if n <= columns))
    for w in widths:
        yield from ((h, w) for h in heights if w == columns or h < 4 * w < 16 * h)


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
