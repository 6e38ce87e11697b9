"""How a fused group is tiled: tile height, halo policy and which weights stay.

The fusion search decides what is fused; this decides how, group by group, from geometry
alone, before any mapping is searched (CASCO prices off-chip traffic from the groups only).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from ..evaluators.group_cost import buffer_words, fusion_blocked, group_name, shape_of
from ..evaluators.hardware_cost import access_costs
from ..evaluators.occupancy import GroupTiles, group_tiles
from ..space.dims import INPUTS
from ..space.fusion import FusionGroup, HaloPolicy
from ..space.hardware import Hardware
from ..space.infeasible import Infeasible
from ..space.network import Network

#: tried in this order; a later one is taken only if it is estimated to be cheaper
_POLICIES: tuple[HaloPolicy, ...] = ("keep_all", "recompute")


@dataclass(frozen=True, slots=True)
class _Choice:
    estimate: float
    group: FusionGroup


def tile_group(
    network: Network, layers: tuple[int, ...], hardware: Hardware
) -> FusionGroup | Infeasible:
    """Return the group with the tiling that is estimated cheapest, or why none fits.

    Tiles are bands of whole rows (as in Optimus, Cai et al.), of halving heights, and below
    one row halves of it. Weights stay in the buffer while they fit, the largest
    first. The estimate is energy x latency with every layer at full throughput.
    """
    if len(layers) == 1:
        return FusionGroup(layers)
    blocked = fusion_blocked(network, FusionGroup(layers), hardware)
    if blocked is not None:
        return blocked
    shape = shape_of(network, layers)
    members = tuple(network.layers[i] for i in layers)
    best: _Choice | None = None
    least = None
    for tile in _tiles(*shape.sizes[shape.anchor]):
        for policy in _POLICIES:
            tiles = group_tiles(shape, members, tile, policy)
            peak = int(tiles.activations.max())
            least = peak if least is None else min(least, peak)
            room = buffer_words(hardware) - peak
            if room < 1:
                continue
            choice = _choose_weights(network, tiles, hardware, room, tile)
            if best is None or choice.estimate < best.estimate:
                best = choice
            if tile is None:
                break  # one tile has no halo, so the policies agree
    if best is not None:
        return best.group
    capacity = buffer_words(hardware) * hardware.word_bits / 8
    return Infeasible(
        "glb_overflow",
        f"{hardware.levels[-2].name}, group {group_name(network, layers)}",
        ((least or 0) + 1) * hardware.word_bits / 8,
        capacity,
        "bytes",
        "cut the group or enlarge the buffer",
    )


def _tiles(rows: int, columns: int) -> Iterator[tuple[int, int] | None]:
    """Whole map, bands of rows by halving heights, then halves of one row."""
    yield None
    height = rows
    while height > 1:
        height = -(-height // 2)
        yield (height, columns)
    width = columns
    while width > 7:
        width = -(-width // 2)
        yield (1, width)


def _choose_weights(
    network: Network,
    tiles: GroupTiles,
    hardware: Hardware,
    room: int,
    tile: tuple[int, int] | None,
) -> _Choice:
    """Keep weights that are refetched most while they fit; estimate the price."""
    layers = tiles.shape.layers
    runs = tiles.count * tiles.images
    keeps_weights = "weights" in hardware.levels[-2].keeps
    weights = [(network.layers[i].weight_words, i) for i in layers]
    resident: list[int] = []
    dram_words = int(tiles.fetched.sum() + tiles.stored.sum()) * tiles.images
    # every resident word saves (tiles - 1) fetches, so fill the room: largest layers first
    for words, i in sorted(weights, reverse=True):
        if words and keeps_weights and runs > 1 and words < room:
            resident.append(i)
            room -= words
            dram_words += words
        else:
            dram_words += words * runs
    macs = sum(
        layer.macs
        // (layer.p * layer.q * layer.n)
        * int(tiles.rows.new[m].sum() * tiles.columns.new[m].sum())
        * tiles.images
        for m, layer in enumerate(tiles.layers)
    )
    costs = access_costs(hardware)
    word_pj = costs.read_pj[-1, INPUTS] / hardware.levels[-1].width_words
    # a multiply-accumulate costs about as much again in local storage (Horowitz, ISSCC 2014)
    energy = dram_words * word_pj + macs * 2 * costs.mac_pj
    cycles = max(macs / hardware.macs, dram_words / hardware.levels[-1].bandwidth_words)
    energy += cycles * costs.leakage_pj_per_cycle
    group = FusionGroup(
        layers,
        tile or (tiles.shape.sizes[tiles.shape.anchor]),
        tiles.policy,
        tuple(sorted(resident)),
    )
    return _Choice(energy * cycles, group)
