"""One layer of a fused group over all tiles: what it costs, and what moves for it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..space.dims import INPUTS, OUTPUTS, WEIGHTS, P, Q
from ..space.hardware import Hardware
from ..space.infeasible import Infeasible
from ..space.layer import Layer
from .hardware_cost import access_costs
from .layer_cost import Counts, Energies, LayerCost, whole_pj
from .occupancy import Sizes, Tiles
from .problem import MappingProblem
from .sweep import Ints
from .vector_cost import vector_cost

#: finds the mapping of a problem and prices it, or says why there is none
Mapper = Callable[[MappingProblem], LayerCost | Infeasible]

Grid = NDArray[np.float64]


@dataclass(frozen=True)
class TiledLayer:
    """One layer over all tiles and images.

    Attributes:
        words, energy_pj: [L, 3], as in LayerCost.
        compute_pj, operations: of its operations, repeated ones included.
        dram_reads, dram_writes: words that stream past the buffer.
        chip_cycles, dram_cycles, port_words: float64[Th, Tw], of each tile: cycles without and
            of DRAM, and words through the buffer's ports.
        evaluations: the distinct tiles, as (how many, cost of one).
    """

    words: Counts
    energy_pj: Energies
    compute_pj: float
    operations: int
    dram_reads: int
    dram_writes: int
    chip_cycles: Grid
    dram_cycles: Grid
    port_words: Grid
    evaluations: tuple[tuple[int, LayerCost], ...]


def tiled_layer(
    tiles: Tiles, m: int, resident: bool, hardware: Hardware, left: int | None, mapper: Mapper
) -> TiledLayer | Infeasible:
    """Price layer ``m`` of a group on every distinct tile size, and spread that over the tiles.

    ``left`` words of the buffer are for the tiles of weights that stream through it; None if it
    makes no difference how many are.
    """
    sizes = tiles.sizes(m)
    evaluations = []
    for times, rows, columns in sizes.running:
        cost = tile_cost(tiles.layers[m], resident, rows, columns, hardware, left, mapper)
        if isinstance(cost, Infeasible):
            return cost
        evaluations.append((times * tiles.images, cost))
    chip, dram, ports = spread(sizes, [cost for _, cost in evaluations])
    shape = (len(hardware.levels), 3)
    return TiledLayer(
        words=sum((n * c.words for n, c in evaluations), np.zeros(shape, np.int64)),
        energy_pj=sum((n * c.energy_pj for n, c in evaluations), np.zeros(shape)),
        compute_pj=sum(n * c.compute_pj for n, c in evaluations),
        operations=sum(n * c.operations for n, c in evaluations),
        dram_reads=sum(n * c.dram_reads for n, c in evaluations),
        dram_writes=sum(n * c.dram_writes for n, c in evaluations),
        chip_cycles=chip,
        dram_cycles=dram,
        port_words=ports,
        evaluations=tuple(evaluations),
    )


def spread(sizes: Sizes, costs: Sequence[LayerCost]) -> Grid:
    """Return float64[3, Th, Tw]: cycles without and of DRAM, and words through the buffer's ports.

    Args:
        sizes: in which a layer runs.
        costs: of those in which it makes anything, in order.
    """
    figures = np.zeros((3, len(sizes.times)))
    figures[:, sizes.made] = (
        np.array([(c.chip_cycles, c.dram_cycles, c.words[-2].sum()) for c in costs])
        .reshape(-1, 3)
        .T
    )
    return figures[:, sizes.at]


def tile_cost(
    layer: Layer,
    resident: bool,
    rows: int,
    columns: int,
    hardware: Hardware,
    left: int | None,
    mapper: Mapper,
) -> LayerCost | Infeasible:
    """Price one layer of one tile, its maps (and weights if resident) in the buffer."""
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


def transfers(tiles: Tiles, m: int, load: int, hardware: Hardware) -> Transfers:
    """Return what moves for layer ``m``: maps from outside, resident weights, maps that leave.

    ``load`` are the words of resident weights that come for it.

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
        (INPUTS, tiles.made(t), tiles.images)
        for t in shape.arriving
        if min(e.reader for e in shape.edges if e.source == t) == m
    ]
    if load:
        arriving.append((WEIGHTS, np.array([load]), 1))
    for tensor, per_tile, times in arriving:
        access(dram, tensor, costs.read_pj, per_tile, times)
        access(buffer, tensor, costs.write_pj, per_tile, times)
    reads = int(words[dram].sum())
    if m in shape.departing:
        access(dram, OUTPUTS, costs.write_pj, tiles.written(m), tiles.images)
    return Transfers(words, energy, reads, int(words[dram].sum()) - reads)
