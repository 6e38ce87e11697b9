"""Price of one fused group: traffic, energy and latency, tile by tile.

Each layer of each distinct tile is priced by the layer model with the operands that live in
the shared buffer staged there; the group adds what moves between DRAM and that buffer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import ceil

import numpy as np

from ..space.dims import INPUTS, OUTPUTS, WEIGHTS, N, P, Q
from ..space.fusion import FusionGroup
from ..space.hardware import Hardware
from ..space.infeasible import Infeasible
from ..space.layer import Layer
from ..space.network import Network
from .group_shape import GroupShape, group_shape
from .hardware_cost import access_costs
from .layer_cost import Counts, Energies, LayerCost, vector_cost, whole_pj
from .occupancy import GroupTiles, group_tiles
from .problem import MappingProblem

#: finds the mapping of a problem and prices it, or says why there is none
Mapper = Callable[[MappingProblem], LayerCost | Infeasible]


@dataclass(frozen=True)
class LayerShare:
    """What one layer contributes to its group over a whole pass.

    Attributes:
        layer: position in the network.
        words, energy_pj: [L, 3], as in LayerCost, over all tiles and with the transfers
            between DRAM and buffer that serve the layer.
        compute_pj: of its operations.
        latency_cycles: time that it holds the array.
        operations: multiply-accumulates or vector operations, repeated ones included.
        evaluations: the distinct tiles, as (how many, cost of one).
    """

    layer: int
    words: Counts
    energy_pj: Energies
    compute_pj: float
    latency_cycles: int
    operations: int
    evaluations: tuple[tuple[int, LayerCost], ...]


@dataclass(frozen=True)
class GroupCost:
    """Price of one group over a whole pass.

    Attributes:
        group: what was priced.
        layers: a share for each layer, in order.
        wait_cycles: time in which the array waits for DRAM or the buffer's ports.
        dram_reads, dram_writes: words.
        peak_words: most words of the shared buffer in use; 0 if the group streams.
        tiles: tiles of one image.
        prefetch: whether transfers of neighbouring tiles overlap with compute.
    """

    group: FusionGroup
    layers: tuple[LayerShare, ...]
    wait_cycles: int
    dram_reads: int
    dram_writes: int
    peak_words: int
    tiles: int
    prefetch: bool

    @property
    def latency_cycles(self) -> int:
        """Time of the group."""
        return sum(s.latency_cycles for s in self.layers) + self.wait_cycles

    @property
    def dynamic_pj(self) -> float:
        """Energy without leakage."""
        return float(sum(s.energy_pj.sum() + s.compute_pj for s in self.layers))


def group_cost(
    network: Network, group: FusionGroup, hardware: Hardware, mapper: Mapper
) -> GroupCost | Infeasible:
    """Price one group of ``network`` on ``hardware``.

    A group of one layer without a tile streams all operands: it costs what the layer model
    says. Any other group holds its maps in the shared buffer.
    """
    if len(group.layers) == 1 and group.tile is None:
        return _single(network, group, hardware, mapper)
    blocked = fusion_blocked(network, group, hardware)
    if blocked is not None:
        return blocked
    shape = shape_of(network, group.layers)
    members = tuple(network.layers[i] for i in group.layers)
    tiles = group_tiles(shape, members, group.tile, group.halo)
    free = _free_words(network, tiles, group, hardware)
    if isinstance(free, Infeasible):
        return free
    return _fused(tiles, group, hardware, mapper, *free)


@lru_cache(maxsize=4096)
def shape_of(network: Network, layers: tuple[int, ...]) -> GroupShape:
    """Memoised :func:`group_shape`."""
    return group_shape(network, layers)


def fusion_blocked(network: Network, group: FusionGroup, hardware: Hardware) -> Infeasible | None:
    """Return why the hardware cannot hold the group's maps or weights anywhere, or None."""
    names = group_name(network, group.layers)
    buffer = hardware.fusion_level
    if buffer is None:
        return Infeasible(
            "no_shared_buffer",
            names,
            1,
            0,
            "",
            "fusion needs a shared SRAM that keeps inputs and outputs",
        )
    if group.resident and "weights" not in hardware.levels[buffer].keeps:
        name = hardware.levels[buffer].name
        return Infeasible(
            "weights_not_kept", names, 1, 0, "", f"{name} keeps no weights: leave them streamed"
        )
    return None


def group_name(network: Network, layers: tuple[int, ...]) -> str:
    """Name a group after its first and last layer."""
    first, last = network.layers[layers[0]].name, network.layers[layers[-1]].name
    return first if len(layers) == 1 else f"{first}..{last} ({len(layers)} layers)"


def _single(
    network: Network, group: FusionGroup, hardware: Hardware, mapper: Mapper
) -> GroupCost | Infeasible:
    layer = network.layers[group.layers[0]]
    if layer.uses_macs:
        cost = mapper(MappingProblem.of_layer(layer, hardware))
        if isinstance(cost, Infeasible):
            return cost
    else:
        cost = vector_cost(layer, hardware, layer.p, layer.q, staged=False)
    share = LayerShare(
        group.layers[0],
        cost.words,
        cost.energy_pj,
        cost.compute_pj,
        cost.chip_cycles,
        cost.operations,
        ((1, cost),),
    )
    wait = cost.latency_cycles - cost.chip_cycles
    return GroupCost(group, (share,), wait, cost.dram_reads, cost.dram_writes, 0, 1, True)


def buffer_words(hardware: Hardware) -> int:
    """Words that the fusion level holds; 0 if there is none."""
    buffer = hardware.fusion_level
    if buffer is None:
        return 0
    return hardware.levels[buffer].total_bytes * 8 // hardware.word_bits


def _free_words(
    network: Network, tiles: GroupTiles, group: FusionGroup, hardware: Hardware
) -> tuple[bool, list[int], int] | Infeasible:
    """Whether prefetch fits, words left at each layer's step, and the peak occupancy."""
    capacity = buffer_words(hardware)
    resident = sum(network.layers[i].weight_words for i in group.resident)
    # a layer whose weights stream through the buffer needs a word of it for them
    needs = [
        int(layer.uses_macs and i not in group.resident and _streams_through(hardware))
        for i, layer in zip(group.layers, tiles.layers, strict=True)
    ]
    for prefetch in (True, False):
        extra = tiles.in_flight if prefetch else 0
        peaks = [int(step.max()) + resident for step in tiles.activations + extra]
        free = [capacity - peak for peak in peaks]
        if all(f >= n for f, n in zip(free, needs, strict=True)):
            return prefetch, free, max(peaks)
    worst = max(range(len(peaks)), key=lambda x: peaks[x] + needs[x])
    level = hardware.levels[-2].name
    return Infeasible(
        "glb_overflow",
        f"{level}, group {group_name(network, group.layers)}, layer {tiles.layers[worst].name}",
        (peaks[worst] + needs[worst]) * hardware.word_bits / 8,
        capacity * hardware.word_bits / 8,
        "bytes",
        "use a smaller tile, stream weights, cut the group, or enlarge the buffer",
    )


def _streams_through(hardware: Hardware) -> bool:
    level = hardware.levels[-2]
    return "weights" in level.keeps and not level.optional


def _floor_pow2(words: int) -> int:
    return 1 << (words.bit_length() - 1) if words > 0 else 0


def _tile_cost(
    layer: Layer,
    resident: bool,
    rows: int,
    columns: int,
    hardware: Hardware,
    free: int,
    mapper: Mapper,
) -> LayerCost | Infeasible:
    """Price one layer of one tile, its maps (and weights if resident) in the buffer."""
    if not layer.uses_macs:
        return vector_cost(layer, hardware, rows, columns, staged=True)
    bounds = list(layer.bounds)
    bounds[N], bounds[P], bounds[Q] = 1, rows, columns
    box = (
        (rows - 1) * layer.stride[0] + (layer.r - 1) * layer.dilation[0] + 1,
        (columns - 1) * layer.stride[1] + (layer.s - 1) * layer.dilation[1] + 1,
    )
    # a power of two lets tiles and plans share their mappings
    left = None if resident else _floor_pow2(free)
    problem = MappingProblem(
        tuple(bounds),
        layer.stride,
        layer.dilation,
        (0, 0),
        box,
        hardware,
        staged=(resident, True, True),
        free_words=left,
    )
    return mapper(problem)


@dataclass
class _Sums:
    """Running totals of one layer over its tiles; int64/float64 arrays by [L, 3]."""

    words: Counts
    energy: Energies
    compute_pj: float = 0.0
    operations: int = 0


def _fused(
    tiles: GroupTiles,
    group: FusionGroup,
    hardware: Hardware,
    mapper: Mapper,
    prefetch: bool,
    free: list[int],
    peak: int,
) -> GroupCost | Infeasible:
    grid = (tiles.rows.tiles, tiles.columns.tiles)
    levels, images = len(hardware.levels), tiles.images
    body, streamed = np.zeros(grid), np.zeros(grid)
    ports = np.zeros(grid)
    shares: list[LayerShare] = []
    loads: list[int] = []
    dram_reads, dram_writes = 0, 0
    for m, (position, layer) in enumerate(zip(group.layers, tiles.layers, strict=True)):
        resident = position in group.resident
        heights, at_h, n_h = np.unique(tiles.rows.new[m], return_inverse=True, return_counts=True)
        widths, at_w, n_w = np.unique(tiles.columns.new[m], return_inverse=True, return_counts=True)
        chip, dram = np.zeros((len(heights), len(widths))), np.zeros((len(heights), len(widths)))
        port = np.zeros_like(chip)
        sums = _Sums(np.zeros((levels, 3), np.int64), np.zeros((levels, 3)))
        evaluations = []
        for a, rows in enumerate(heights):
            for b, columns in enumerate(widths):
                if rows == 0 or columns == 0:
                    continue
                cost = _tile_cost(
                    layer, resident, int(rows), int(columns), hardware, free[m], mapper
                )
                if isinstance(cost, Infeasible):
                    return cost
                times = int(n_h[a] * n_w[b]) * images
                evaluations.append((times, cost))
                chip[a, b], dram[a, b] = cost.chip_cycles, cost.dram_cycles
                port[a, b] = cost.words[-2].sum()
                _add(sums, cost, times)
                dram_reads += cost.dram_reads * times
                dram_writes += cost.dram_writes * times
        busy = np.maximum(chip, dram)[np.ix_(at_h, at_w)]
        body += busy
        streamed += dram[np.ix_(at_h, at_w)]
        ports += port[np.ix_(at_h, at_w)]
        if resident:
            loads.append(layer.weight_words)
        read, written = _transfers(tiles, m, resident, hardware, sums)
        dram_reads += read
        dram_writes += written
        shares.append(
            LayerShare(
                position,
                sums.words,
                sums.energy,
                sums.compute_pj,
                int(busy.sum()) * images,
                sums.operations,
                tuple(evaluations),
            )
        )
    total = _latency(tiles, hardware, prefetch, body, streamed, ports, loads)
    wait = total - sum(s.latency_cycles for s in shares)
    return GroupCost(
        group, tuple(shares), wait, dram_reads, dram_writes, peak, tiles.count, prefetch
    )


def _add(sums: _Sums, cost: LayerCost, times: int) -> None:
    sums.words += times * cost.words
    sums.energy += times * cost.energy_pj
    sums.compute_pj += times * cost.compute_pj
    sums.operations += times * cost.operations


def _transfers(
    tiles: GroupTiles, m: int, resident: bool, hardware: Hardware, sums: _Sums
) -> tuple[int, int]:
    """Add the DRAM transfers that serve layer ``m``; return words read and written.

    Fusion model section 4: (E_dram_r + E_buf_w) * (fetched + resident weights) +
    E_dram_w * out, in whole vector accesses of each tile. An external map is charged to the
    first layer that reads it, an exported one to the layer that makes it.
    """
    costs, shape = access_costs(hardware), tiles.shape
    dram, buffer = len(hardware.levels) - 1, len(hardware.levels) - 2
    width = [level.width_words for level in hardware.levels]

    def move(words: np.ndarray, tensor: int, source: int, target: int | None) -> int:
        times = tiles.images if tensor != WEIGHTS else 1
        ends = [(source, costs.read_pj)] if target is not None else [(source, costs.write_pj)]
        ends += [(target, costs.write_pj)] if target is not None else []
        for level, table in ends:
            accesses = int((-(-words // width[level])).sum()) * times
            sums.energy[level, tensor] += whole_pj(accesses * float(table[level, tensor]))
            sums.words[level, tensor] += int(words.sum()) * times
        return int(words.sum()) * times

    read, written = 0, 0
    for t in shape.externals:
        if min(e.reader for e in shape.edges if e.source == t) == m:
            read += move(tiles.made(t), INPUTS, dram, buffer)
    if resident:
        read += move(np.array([tiles.layers[m].weight_words]), WEIGHTS, dram, buffer)
    if m in shape.exported:
        written += move(tiles.written(m), OUTPUTS, dram, None)
    return read, written


def _latency(
    tiles: GroupTiles,
    hardware: Hardware,
    prefetch: bool,
    body: np.ndarray,
    streamed: np.ndarray,
    ports: np.ndarray,
    loads: list[int],
) -> int:
    """Cycles of the group (fusion model section 5, fill and drain hidden).

    A tile takes the longest of: its layers one after another, the DRAM transfers that run
    meanwhile, and the words through the buffer's ports. Without prefetch the transfers of a
    tile come before and after it instead. ``loads`` are the words of resident weights by layer,
    which arrive during the first tile.
    """
    rate = hardware.levels[-1].bandwidth_words
    fetch, store = np.ceil(tiles.fetched / rate), np.ceil(tiles.stored / rate)
    moved = (ports + tiles.fetched + tiles.stored) / hardware.levels[-2].bandwidth_words
    body, streamed, moved = (np.tile(a.ravel(), tiles.images) for a in (body, streamed, moved))
    fetch, store = (np.tile(a.ravel(), tiles.images) for a in (fetch, store))
    streamed[0] += sum(ceil(words / rate) for words in loads)
    moved[0] += sum(loads) / hardware.levels[-2].bandwidth_words
    if not prefetch:
        time = np.maximum(np.maximum(body, streamed), np.ceil(moved))
        return int((time + fetch + store).sum())
    coming, leaving = np.append(fetch[1:], 0.0), np.append(0.0, store[:-1])
    coming[0] += fetch[0]
    leaving[-1] += store[-1]
    dram = streamed + coming + leaving
    return int(np.maximum(np.maximum(body, dram), np.ceil(moved)).sum())
