"""Stack of consecutive layers that run fused, in tiles of the face of the last one.

DeepFrack's cost of a stack (Glint et al., sections III and IV): its layers one after another on
each tile, from the benchmark of single tiles, plus what moves between DRAM and the chip. A tile
costs the same wherever it stands on the face. The first tile, one of the largest, fetches all
weights; later ones only those that are not cached.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Final

import numpy as np

from archloom.evaluators import Floats, Ints
from archloom.evaluators.fusion import Edge, GroupShape
from archloom.evaluators.fusion.buffer import buffer_words, fusion_blocked, shape_of
from archloom.space.fusion import FusionGroup
from archloom.space.workload import Layer

from .tile_benchmark import LayerTileCost, TileBenchmark

Tile = tuple[int, int]

#: cost by layer, rows and columns of its result, and whether its weights are cached
_LayerTileCostOf = Callable[[int, int, int, bool], LayerTileCost | None]


@dataclass(frozen=True)
class TileCost:
    """Energy (pJ, with leakage) and cycles of one tile of a stack.

    Attributes:
        streamed: float64[2], with all weights from DRAM.
        saved: float64[2, U], less if the weights of a unit are cached.
    """

    streamed: Floats
    saved: Floats


@dataclass(frozen=True)
class Stack:
    """A range of layers with all that its tilings cost.

    Attributes:
        layers: positions in the network.
        units: layers that cache their weights together: those that share them.
        words: int64[U], of each unit's weights.
        shape: its maps and edges.
        extents: int64[M, L + 1] for rows and columns, as of :func:`tile_extents`.
        bench: costs of single tiles.
        known, bounds: costs of tiles that were asked for, and what they cost at least.
        margin: words of the buffer that it must do without.
    """

    layers: tuple[int, ...]
    units: tuple[tuple[int, ...], ...]
    words: Ints
    shape: GroupShape
    extents: tuple[Ints, Ints]
    bench: TileBenchmark
    known: dict[Tile, TileCost | None] = field(default_factory=dict)
    bounds: dict[Tile, TileCost | None] = field(default_factory=dict)
    margin: int = 0

    @property
    def face(self) -> Tile:
        """Rows and columns of the map that tiles are cut on."""
        return self.shape.sizes[self.shape.anchor]

    @property
    def images(self) -> int:
        """Images of a pass; tiles hold one at a time."""
        return self.bench.network.batch

    @cached_property
    def streaming_words(self) -> int:
        """Words of the buffer that stay free for weights that stream through it."""
        level = self.bench.hardware.levels[-2]
        through = "weights" in level.keeps and not level.optional
        return int(through and any(self._layer(m).weight_words for m in range(len(self.layers))))

    @cached_property
    def _alive(self) -> Ints:
        """int64[m, M], whether each map is held while each layer runs."""
        maps, steps = range(len(self.shape.channels)), np.arange(self.shape.members)[:, None]
        first = np.array([u if u < self.shape.members else -1 for u in maps])
        last = np.array([self.shape.last_reader(u) for u in maps])
        return ((first <= steps) & (steps <= last)).astype(np.int64)

    def free_words(self, tiles: Sequence[Tile]) -> Ints:
        """int64[n], words of the buffer that tiles leave free while they hold most."""
        rows, columns = (np.array([t[a] for t in tiles], np.int64) for a in (0, 1))
        words = self.extents[0][:, rows] * self.extents[1][:, columns]
        words *= np.array(self.shape.channels)[:, None]
        capacity = buffer_words(self.bench.hardware) - self.margin
        free: Ints = capacity - (self._alive @ words).max(axis=0)
        return free

    def cost(self, tile: Tile) -> TileCost | None:
        """Return the cost of a tile; None if a layer has no mapping for it."""
        if tile not in self.known:
            self.known[tile] = self._cost(tile, self.bench.run)
        return self.known[tile]

    def least(self, tile: Tile) -> TileCost | None:
        """Return what a tile costs at least, whichever weights are cached; no mapping is searched.

        None if it is known that a layer has no mapping for it.
        """
        if tile in self.known:
            return self.known[tile]
        if tile not in self.bounds:
            self.bounds[tile] = self._cost(tile, self.bench.least)
        return self.bounds[tile]

    def _cost(self, tile: Tile, run_of: _LayerTileCostOf) -> TileCost | None:
        bench, shape = self.bench, self.shape
        rows, columns = (self.extents[a][:, tile[a]].tolist() for a in (0, 1))
        unit = {i: n for n, members in enumerate(self.units) for i in members}
        streamed, saved = np.zeros(2), np.zeros((2, len(self.units)))
        for m, i in enumerate(self.layers):
            fetched = [
                shape.channels[u] * rows[u] * columns[u]
                for u in shape.externals
                if self._first_reader[u] == m
            ]
            moved = sum(fetched) + self._stored(m, tile)
            runs = [run_of(i, rows[m], columns[m], False)]
            if i in unit:
                runs.append(run_of(i, rows[m], columns[m], True))
            figures = []
            for run in runs:
                if run is None:
                    return None
                cycles = max(run.chip_cycles, run.dram_cycles + bench.dram_cycles(moved))
                energy = run.energy_pj + sum(map(bench.fetch_pj, fetched))
                figures.append(np.array([energy + bench.leakage_pj * cycles, cycles]))
            streamed += figures[0]
            if i in unit:
                saved[:, unit[i]] += figures[0] - figures[1]
        return TileCost(streamed, saved)

    @cached_property
    def _first_reader(self) -> dict[int, int]:
        edges = self.shape.edges
        return {u: min(e.reader for e in edges if e.source == u) for u in self.shape.externals}

    def _stored(self, m: int, tile: Tile) -> float:
        """Words of a result that leave with a tile: its part of the face, of the whole map."""
        if m not in self.shape.exported:
            return 0.0
        rows, columns = self.shape.sizes[m]
        part = tile[0] * tile[1] / (self.face[0] * self.face[1])
        return self.shape.channels[m] * rows * columns * part

    @cached_property
    def leaving_pj(self) -> float:
        """Energy of writing to DRAM what leaves, the same for all tilings."""
        words = [self.shape.channels[m] * np.prod(self.shape.sizes[m]) for m in self.shape.exported]
        return self.images * sum(self.bench.store_pj(int(w)) for w in words)

    def _layer(self, m: int) -> Layer:
        return self.bench.network.layers[self.layers[m]]


def stack_of(bench: TileBenchmark, layers: tuple[int, ...]) -> Stack | None:
    """Return the stack of a group; None if the hardware holds its maps nowhere."""
    network, hardware = bench.network, bench.hardware
    if fusion_blocked(network, FusionGroup(layers), hardware) is not None:
        return None
    shape = shape_of(network, layers)
    members = [network.layers[i] for i in layers]
    units: dict[int, list[int]] = {}
    if "weights" in hardware.levels[-2].keeps:
        for i in layers:
            if network.layers[i].weight_words:
                units.setdefault(network.weight_owner(i), []).append(i)
    words = np.array([network.layers[found[0]].weight_words for found in units.values()], np.int64)
    rows, columns = (tile_extents(shape, members, axis) for axis in (0, 1))
    shared = tuple(tuple(found) for found in units.values())
    return Stack(layers, shared, words, shape, (rows, columns), bench)


#: so far from the border, in lengths of the anchor, that maps read at another pace drift apart by
#: more than their size
_AWAY: Final = 2**20

#: places of a tile at which interleaved maps are looked at, at most
_PLACES: Final = 64


def tile_extents(shape: GroupShape, layers: Sequence[Layer], axis: int) -> Ints:
    """Return what tiles of the anchor need of each map along one axis.

    Of what the readers of a map leave out between them, all counts. Where an interleave makes the
    needs of tiles take turns, the most counts. Maps that leave the group and are read in it
    ask for nothing of their own.

    Args:
        shape, layers: the group and its layers.
        axis: 0 for rows, 1 for columns.

    Returns:
        int64[M, L + 1], for tiles of 0 to L (the anchor's length) positions.
    """
    length = shape.sizes[shape.anchor][axis]
    resident_members = min(_PLACES, prod({e: e.patch[axis] for e in shape.edges}.values()))
    start = length * _AWAY + np.arange(resident_members)[:, None]
    ends = start + np.arange(length + 1)
    read = {e.source for e in shape.edges}
    # what moves with the tile, and what every tile needs
    moving: list[tuple[Ints, Ints] | None] = [None] * len(shape.sizes)
    fixed: list[tuple[int, int] | None] = [None] * len(shape.sizes)
    extents = np.zeros((len(shape.sizes), length + 1), np.int64)
    for u in (*reversed(range(shape.members)), *shape.externals):
        size = shape.sizes[u][axis]
        if u not in read:
            moving[u] = (start * size // length + 0 * ends, -(-ends * size // length))
        for edge in (e for e in shape.edges if e.source == u):
            _ask(edge, layers[edge.reader], axis, size, moving, fixed)
        moved, held = moving[u], fixed[u]
        if moved is not None and held is not None:
            moving[u], fixed[u] = moved, held = None, (0, size)
        if held is not None:
            extents[u] = held[1] - held[0]
        elif moved is not None:
            extents[u] = np.minimum(size, (moved[1] - moved[0]).max(axis=0))
    extents[:, 0] = 0
    return extents


def _ask(
    edge: Edge,
    layer: Layer,
    axis: int,
    size: int,
    moving: list[tuple[Ints, Ints] | None],
    fixed: list[tuple[int, int] | None],
) -> None:
    """Add what one reader needs of a map to what others need."""
    u, moved, held = edge.source, moving[edge.reader], fixed[edge.reader]
    if edge.full:
        fixed[u] = (0, size)
        return
    stride, pad = layer.stride[axis], layer.padding[axis]
    reach = ((layer.r, layer.s)[axis] - 1) * layer.dilation[axis]
    patch, cut = edge.patch[axis], edge.start[axis]
    if held is not None:
        # clamped: it is the whole of a map that is read
        lo, hi = max(0, held[0] * stride - pad), (held[1] - 1) * stride - pad + reach + 1
        hi = min(layer.input_size[axis], hi)
        if lo < hi:
            lo, hi = (lo + cut) // patch, (hi - 1 + cut) // patch + 1
            other = fixed[u] or (lo, hi)
            fixed[u] = (min(lo, other[0]), max(hi, other[1]))
    if moved is not None:
        first = (moved[0] * stride - pad + cut) // patch
        last = ((moved[1] - 1) * stride - pad + reach + cut) // patch + 1
        old = moving[u] or (first, last)
        moving[u] = (np.minimum(first, old[0]), np.maximum(last, old[1]))
