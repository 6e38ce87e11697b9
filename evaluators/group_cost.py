"""Price of one fused group: traffic, energy and latency, tile by tile.

Each layer of each distinct tile is priced by the layer model with the operands that live in
the shared buffer staged there; the group adds what moves between DRAM and that buffer.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import ceil
from typing import Final

import numpy as np

from ..space.faces import bad_cuts
from ..space.fusion import FusionGroup
from ..space.hardware import Hardware
from ..space.infeasible import Infeasible
from ..space.layer import Layer
from ..space.network import Network
from .buffer_demand import fullest_step, group_name, overflow
from .face_tiles import face_tiles
from .group_shape import GroupShape, group_shape
from .layer_cost import Counts, Energies, LayerCost
from .occupancy import Tiles, group_tiles
from .problem import MappingProblem
from .tile_cost import Grid, Mapper, TiledLayer, tiled_layer, transfers
from .vector_cost import vector_cost

#: most tiles of an image: figures of each are held at once (assumption: a dozen arrays of 128 MiB
#: are as much as anyone has to spare)
MOST_TILES: Final = 2**24


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

    # every plan with the group adds these up

    @cached_property
    def latency_cycles(self) -> int:
        """Time of the group."""
        return sum(s.latency_cycles for s in self.layers) + self.wait_cycles

    @cached_property
    def dynamic_pj(self) -> float:
        """Energy without leakage."""
        return float(sum(s.energy_pj.sum() + s.compute_pj for s in self.layers))


def group_cost(
    network: Network, group: FusionGroup, hardware: Hardware, mapper: Mapper
) -> GroupCost | Infeasible:
    """Price one group of ``network`` on ``hardware``.

    A group of one layer without tile or faces streams all operands: it costs what the layer
    model says. Any other group holds its maps in the shared buffer.
    """
    if len(group.layers) == 1 and group.tile is None and not group.faces:
        return _single(network, group, hardware, mapper)
    blocked = fusion_blocked(network, group, hardware)
    if blocked is not None:
        return blocked
    shape = shape_of(network, group.layers)
    members = tuple(network.layers[i] for i in group.layers)
    tiles: Tiles
    if group.faces:
        wrong = bad_cuts(network, group.layers, group.faces)
        if wrong is not None:
            return wrong
        tiles = face_tiles(shape, members, group.faces)
    else:
        tiles = group_tiles(shape, members, group.tile, group.halo)
    if tiles.count > MOST_TILES:
        names, hint = group_name(network, group.layers), "use larger tiles or cut the group"
        return Infeasible("too_many_tiles", names, tiles.count, MOST_TILES, "tiles", hint)
    free = _free_words(network, tiles, group, hardware)
    if isinstance(free, Infeasible):
        return free
    return _fused(tiles, group, _loads(network, group), hardware, mapper, *free)


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
    name = hardware.levels[buffer].name
    if "weights" in hardware.levels[buffer].keeps:
        return None
    if group.resident:
        return Infeasible(
            "weights_not_kept", names, 1, 0, "", f"{name} keeps no weights: leave them streamed"
        )
    for layer in (network.layers[i] for i in group.layers):
        if layer.multiplies_maps:
            hint = f"{name} keeps no weights, where the second map goes: run {layer.name} alone"
            return Infeasible("second_map_not_kept", names, 1, 0, "", hint)
    return None


def _single(
    network: Network, group: FusionGroup, hardware: Hardware, mapper: Mapper
) -> GroupCost | Infeasible:
    layer = network.layers[group.layers[0]]
    if layer.uses_macs:
        cost = mapper(MappingProblem.of_layer(layer, hardware))
        if isinstance(cost, Infeasible):
            return _naming(layer, cost)
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


def _naming(layer: Layer, why: Infeasible) -> Infeasible:
    return replace(why, where=f"{why.where}, layer {layer.name}")


def buffer_words(hardware: Hardware) -> int:
    """Words that the fusion level holds; 0 if there is none."""
    buffer = hardware.fusion_level
    if buffer is None:
        return 0
    level = hardware.levels[buffer]
    return int(level.total_bytes * 8 // hardware.word_bits // level.multiple_buffering)


def _free_words(
    network: Network, tiles: Tiles, group: FusionGroup, hardware: Hardware
) -> tuple[bool, list[int], int] | Infeasible:
    """Whether prefetch fits, words left at each layer's step, and the peak occupancy."""
    capacity = buffer_words(hardware)
    resident = sum(_loads(network, group).values())
    # a layer whose weights stream through the buffer needs a word of it for them
    needs = [
        int(layer.weight_words > 0 and i not in group.resident and _streams_through(hardware))
        for i, layer in zip(group.layers, tiles.layers, strict=True)
    ]
    for prefetch in (True, False):
        extra = tiles.in_flight if prefetch else 0
        peaks = [int(step.max()) + resident for step in tiles.activations + extra]
        free = [capacity - peak for peak in peaks]
        if all(f >= n for f, n in zip(free, needs, strict=True)):
            return prefetch, free, max(peaks)
    step = fullest_step(network, tiles, _loads(network, group), needs)
    hint = "use a smaller tile, stream weights, cut the group, or enlarge the buffer"
    return overflow(network, tiles, step, capacity, hardware, hint)


def _loads(network: Network, group: FusionGroup) -> dict[int, int]:
    """Words of weights that each resident layer brings in; shared ones come with the first."""
    loads: dict[int, int] = {}
    seen: set[int] = set()
    for i in sorted(group.resident):
        owner = network.weight_owner(i)
        if owner not in seen:
            loads[i] = network.layers[i].weight_words
            seen.add(owner)
    return loads


def _streams_through(hardware: Hardware) -> bool:
    level = hardware.levels[-2]
    return "weights" in level.keeps and not level.optional


def _fused(
    tiles: Tiles,
    group: FusionGroup,
    loads: Mapping[int, int],
    hardware: Hardware,
    mapper: Mapper,
    prefetch: bool,
    free: list[int],
    peak: int,
) -> GroupCost | Infeasible:
    grid = (3, *tiles.grid)
    work = _Work(np.zeros(grid), np.zeros(grid))
    shares: list[LayerShare] = []
    reads, writes = 0, 0
    for m, position in enumerate(group.layers):
        resident = position in group.resident
        run = tiled_layer(tiles, m, resident, hardware, free[m], mapper)
        if isinstance(run, Infeasible):
            return _naming(tiles.layers[m], run)
        load = loads.get(position, 0)
        moved = transfers(tiles, m, load, hardware)
        work.add(run, load, hardware)
        reads += run.dram_reads + moved.dram_reads
        writes += run.dram_writes + moved.dram_writes
        busy = int(np.maximum(run.chip_cycles, run.dram_cycles).sum()) * tiles.images
        shares.append(
            LayerShare(
                position,
                run.words + moved.words,
                run.energy_pj + moved.energy_pj,
                run.compute_pj,
                busy,
                run.operations,
                run.evaluations,
            )
        )
    wait = _latency(tiles, hardware, prefetch, work) - sum(s.latency_cycles for s in shares)
    return GroupCost(group, tuple(shares), wait, reads, writes, peak, tiles.count, prefetch)


@dataclass
class _Work:
    """What the tiles of one image do, summed over layers.

    Attributes:
        image: float64[3, Th, Tw], in each tile: cycles of the layers one after another, cycles
            that DRAM needs for what streams, words through the buffer's ports.
        loads: float64[3, Th, Tw], more of each in the first image: resident weights arrive
            during the first tile in which their layer runs.
    """

    image: Grid
    loads: Grid

    def add(self, run: TiledLayer, load: int, hardware: Hardware) -> None:
        """Add one layer; ``load`` are the words of its resident weights."""
        busy = np.maximum(run.chip_cycles, run.dram_cycles)
        self.image += np.stack([busy, run.dram_cycles, run.port_words])
        if load:
            i, j = divmod(int(np.argmax(run.chip_cycles > 0)), busy.shape[1])
            cycles = ceil(load / hardware.levels[-1].bandwidth_words)
            # a layer waits for its own weights (fusion model section 5: s in max(t, s))
            late = max(busy[i, j], run.dram_cycles[i, j] + cycles) - busy[i, j]
            self.loads[:, i, j] += late, cycles, load


def _latency(tiles: Tiles, hardware: Hardware, prefetch: bool, work: _Work) -> int:
    """Cycles of the group (fusion model section 5, fill and drain hidden).

    A tile takes the longest of: its layers one after another, the DRAM transfers that run
    meanwhile, and the words through the buffer's ports. Without prefetch the transfers of a
    tile come before and after it instead.
    """
    rate, port = (hardware.levels[i].bandwidth_words for i in (-1, -2))
    # all images between the first and the last take the same time
    shown = min(tiles.images, 3)
    images = np.repeat(work.image[:, None], shown, axis=1)
    images[:, 0] += work.loads
    body, dram, words = (figure.ravel() for figure in images)
    words += np.tile((tiles.fetched + tiles.stored).ravel(), shown)
    fetch = np.tile(np.ceil(tiles.fetched / rate).ravel(), shown)
    store = np.tile(np.ceil(tiles.stored / rate).ravel(), shown)
    if prefetch:
        dram[:-1] += fetch[1:]
        dram[1:] += store[:-1]
        dram[0] += fetch[0]
        dram[-1] += store[-1]
    time = np.maximum(np.maximum(body, dram), np.ceil(words / port))
    if not prefetch:
        time += fetch + store
    of_image = [int(part.sum()) for part in time.reshape(shown, -1)]
    return sum(of_image) + (tiles.images - shown) * of_image[shown // 2]
