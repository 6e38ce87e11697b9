"""Cost of one layer of a fused group over all tiles, and the transfers that serve it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from archloom.evaluators.loopnest import (
    Counts,
    Energies,
    LayerCost,
    MappingProblem,
    packed_row_words,
    vector_cost,
    whole_pj,
)
from archloom.space import Infeasible
from archloom.space.hardware import Cores, Hardware
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, Layer, P, Q

from ..arrays import Ints
from ..hardware import access_costs
from .core_rounds import Grid, Rounds, RoundSizes
from .tiling import Tiles

#: finds the mapping of a problem and its cost, or says why there is none
ProblemMapper = Callable[[MappingProblem], LayerCost | Infeasible]


@dataclass(frozen=True)
class LayerActivity:
    """Cycles and port words of a layer in each round of the tiles of an image, or of several.

    Attributes:
        chip_cycles, dram_cycles: float64[R], cycles without and of DRAM.
        port_words: float64[R, C], words through the ports of each core's buffer.
    """

    chip_cycles: Grid
    dram_cycles: Grid
    port_words: Grid

    @property
    def busy(self) -> Grid:
        """float64[R], cycles for which it keeps the cores."""
        longest: Grid = np.maximum(self.chip_cycles, self.dram_cycles)
        return longest


@dataclass(frozen=True)
class TiledLayer:
    """One layer over all tiles and images.

    Attributes:
        words, energy_pj: [L, 3], as in LayerCost.
        compute_pj, operations: of its operations, repeated and padded ones included.
        dram_reads, dram_writes: words that stream past the buffer.
        activity: of each round.
        evaluations: the distinct tiles, as (how many, cost of one).
    """

    words: Counts
    energy_pj: Energies
    compute_pj: float
    operations: int
    dram_reads: int
    dram_writes: int
    activity: LayerActivity
    evaluations: tuple[tuple[int, LayerCost], ...]


def tiled_layer(
    rounds: Rounds, m: int, resident: bool, cores: Cores, left: int | None, mapper: ProblemMapper
) -> TiledLayer | Infeasible:
    """Evaluate layer ``m`` of a group on every distinct tile size, and spread that over the rounds.

    What the tiles of a round stream from DRAM comes once for all of them, if DRAM sends weights to
    several cores at once. ``left`` words of the buffer are for the tiles of weights that stream
    through it; None if it makes no difference how many are.
    """
    sizes = rounds.sizes(m)
    layer, levels = rounds.tiles.layers[m], len(cores.one.levels)
    costs, evaluations, streams = [], [], []
    words, energy = np.zeros((levels, 3), np.int64), np.zeros((levels, 3))
    for tiles, runs, rows, columns in sizes.running:
        cost = tile_cost(layer, resident, rows, columns, cores.one, left, mapper)
        if isinstance(cost, Infeasible):
            return cost
        costs.append(cost)
        evaluations.append((tiles * rounds.repeats, cost))
        streams.append((runs if cores.shared_weights else tiles) * rounds.repeats)
        # on the chip every tile counts, at DRAM what its round reads
        times = np.array([[evaluations[-1][0]]] * (levels - 1) + [[streams[-1]]])
        words += times * cost.words
        energy += times * cost.energy_pj
    return TiledLayer(
        words=words,
        energy_pj=energy,
        compute_pj=sum(n * c.compute_pj for n, c in evaluations),
        operations=sum(n * c.operations for n, c in evaluations),
        dram_reads=sum(n * c.dram_reads for n, c in zip(streams, costs, strict=True)),
        dram_writes=sum(n * c.dram_writes for n, c in zip(streams, costs, strict=True)),
        activity=layer_activity(sizes, costs, rounds.alike, cores.shared_weights),
        evaluations=tuple(evaluations),
    )


def layer_activity(
    sizes: RoundSizes, costs: Sequence[LayerCost], alike: int, shared_weights: bool
) -> LayerActivity:
    """Return the activity of a layer in each round.

    Args:
        sizes: in which it runs.
        costs: of those in which it makes anything, in order.
        alike: as of :class:`.core_rounds.Rounds`.
        shared_weights: whether what streams comes once for all cores.
    """
    figures = np.zeros((3, len(sizes.rows)))
    figures[:, sizes.made] = (
        np.array([(c.chip_cycles, c.dram_cycles, c.words[-2].sum()) for c in costs])
        .reshape(-1, 3)
        .T
    )
    chip, dram, ports = figures[:, sizes.at]
    if not shared_weights:
        dram = dram * sizes.busy.sum(axis=1) * alike
    return LayerActivity(chip, dram, ports[:, None] * sizes.busy)


def tile_cost(
    layer: Layer,
    resident: bool,
    rows: int,
    columns: int,
    hardware: Hardware,
    left: int | None,
    mapper: ProblemMapper,
) -> LayerCost | Infeasible:
    """Evaluate one layer of one tile, its maps (and weights if resident) in the buffer."""
    if not layer.uses_macs:
        return vector_cost(layer, hardware, rows, columns, staged=True, resident=resident)
    bounds = list(layer.image_bounds)
    bounds[P], bounds[Q] = rows, columns
    # the second map of a product lives in the buffer like the first
    resident = resident or layer.multiplies_maps
    box = (
        (rows - 1) * layer.stride[0] + (layer.r - 1) * layer.dilation[0] + 1,
        (columns - 1) * layer.stride[1] + (layer.s - 1) * layer.dilation[1] + 1,
    )
    problem = MappingProblem(
        tuple(bounds),
        layer.stride,
        layer.dilation,
        (0, 0),
        box,
        hardware,
        staged=(resident, True, True),
        free_words=left,
        density=layer.density,
        row_words=packed_row_words(layer, hardware),
    )
    return mapper(problem)


@dataclass(frozen=True)
class Transfers:
    """Words between DRAM and buffer that serve one layer, over all tiles and images.

    Attributes:
        words, energy_pj: [L, 3], as in LayerCost.
        dram_reads, dram_writes: words.
    """

    words: Counts
    energy_pj: Energies
    dram_reads: int
    dram_writes: int


@dataclass(frozen=True, slots=True)
class WeightLoad:
    """Resident weights that come for one layer.

    Attributes:
        words: of one copy.
        reads: copies that DRAM reads.
        fills: cores that get one.
    """

    words: int
    reads: int
    fills: int


def weight_load(words: int, rounds: Rounds, cores: Cores) -> WeightLoad:
    """Return what comes if ``words`` of weights stay: a copy for each core that works."""
    fills = rounds.working
    return WeightLoad(words, 1 if cores.shared_weights else fills, fills)


def transfers(tiles: Tiles, m: int, load: WeightLoad, hardware: Hardware) -> Transfers:
    """Return what moves for layer ``m``: maps from outside, resident weights, maps that leave.

    Fusion model section 4: (E_dram_r + E_buf_w) * (fetched + resident weights) +
    E_dram_w * out, in whole vector accesses of each tile. A map from DRAM is charged to the
    first layer that reads it, one that goes there to the layer that makes it.
    """
    costs, shape = access_costs(hardware), tiles.shape
    dram, buffer = len(hardware.levels) - 1, len(hardware.levels) - 2
    words = np.zeros((len(hardware.levels), 3), np.int64)
    energy = np.zeros((len(hardware.levels), 3))

    def access(level: int, tensor: int, table: Energies, per_tile: Ints, times: int) -> None:
        accesses = -(-per_tile // hardware.levels[level].width_words)
        energy[level, tensor] += whole_pj(float(accesses.sum() * times * table[level, tensor]))
        words[level, tensor] += per_tile.sum() * times

    arriving = [
        (INPUTS, tiles.made(t), tiles.images, tiles.images)
        for t in shape.arriving
        if min(e.reader for e in shape.edges if e.source == t) == m
    ]
    if load.words:
        arriving.append((WEIGHTS, np.array([load.words]), load.reads, load.fills))
    for tensor, per_tile, reads, fills in arriving:
        access(dram, tensor, costs.read_pj, per_tile, reads)
        access(buffer, tensor, costs.write_pj, per_tile, fills)
    read = int(words[dram].sum())
    if m in shape.departing:
        access(dram, OUTPUTS, costs.write_pj, tiles.written(m), tiles.images)
    return Transfers(words, energy, read, int(words[dram].sum()) - read)
