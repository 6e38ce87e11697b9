"""Default tiling of a fused group: tile height, halo policy and resident weights.

The fusion search decides what is fused; this decides how, group by group, from geometry
alone, before any mapping is searched (CASCO evaluates off-chip traffic from the groups only).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import inf
from sys import maxsize
from typing import Final, NamedTuple

from archloom.evaluators import access_costs
from archloom.evaluators.fusion import round_count
from archloom.evaluators.fusion.buffer import (
    buffer_words,
    fusion_blocked,
    group_name,
    overflow,
    peak_demand,
    shape_of,
)
from archloom.evaluators.fusion.tiling import GroupTiles
from archloom.space import Infeasible
from archloom.space.fusion import FusionGroup, HaloPolicy
from archloom.space.hardware import Cores, Hardware, fusion_cores
from archloom.space.workload import INPUTS, Network

from .grid import GroupTilings, Tile

#: tried in this order; a later one is taken only if it is estimated to be cheaper
_POLICIES: Final[tuple[HaloPolicy, ...]] = ("keep_all", "recompute")

#: where the tiles of an image run on several cores, which keep nothing for each other
_POLICIES_APART: Final[tuple[HaloPolicy, ...]] = ("recompute", "keep_inner")


def tile_group(
    network: Network, layers: tuple[int, ...], hardware: Hardware
) -> FusionGroup | Infeasible:
    """Return the group with the tiling that is estimated cheapest, or why none fits.

    Tiles are bands of whole rows (as in Optimus, Cai et al.), of halving heights, and below
    one row halves of it. Weights stay in the buffer while they fit, most used and largest
    first. The estimate is energy x latency with every layer at full throughput.
    """
    if len(layers) == 1:
        return FusionGroup(layers)
    cores = fusion_cores(hardware)
    if isinstance(cores, Infeasible):
        return replace(cores, where=group_name(network, layers))
    blocked = fusion_blocked(network, FusionGroup(layers), cores.one)
    if blocked is not None:
        return blocked
    capacity = buffer_words(cores.one)
    best: FusionGroup | None = None
    tightest: GroupTiles | None = None
    least = maxsize
    lowest = inf
    estimate = _estimator(hardware)
    for tiles, tile in _candidates(network, layers, cores.count):
        work, runs = _work_of(tiles, cores.count), fetches(tiles, cores)
        # occupancy is the dear part: skip what would lose even if all weights could stay
        if estimate(work, choose_weights(network, layers, hardware, runs, maxsize)[1]) >= lowest:
            continue
        peak = int(tiles.activations.max())
        if peak < least:
            tightest, least = tiles, peak
        free = capacity - peak
        if free < 1:
            continue
        resident, words = choose_weights(network, layers, hardware, runs, free)
        cost = estimate(work, words)
        if cost < lowest:
            best, lowest = FusionGroup(layers, tile, tiles.policy, resident), cost
    if best is not None:
        return best
    assert tightest is not None
    # what the estimate takes for granted: a word for weights that pass through
    fullest = peak_demand(network, tightest, {}, [1] * len(layers))
    hint = "cut the group or enlarge the buffer"
    return overflow(network, tightest, fullest, capacity, cores.one, hint)


def fetches(tiles: GroupTiles, cores: Cores) -> int:
    """Return how often weights come that do not stay: once a tile, or for all cores of a round."""
    if cores.shared_weights:
        return round_count(tiles, cores.count)
    return tiles.count * tiles.images


def _candidates(
    network: Network, layers: tuple[int, ...], cores: int
) -> Iterator[tuple[GroupTiles, Tile]]:
    """Every tiling that is tried."""
    tilings = GroupTilings(shape_of(network, layers), tuple(network.layers[i] for i in layers))
    if network.layers[layers[0]].n % cores > 0:
        for tile, policy in tiles_apart(tilings, cores):
            yield tilings.tiles(tile, policy), tile
        return
    for tile in tilings.bands:
        # one tile has no halo, so the policies agree
        for policy in _POLICIES[:1] if tile == tilings.whole else _POLICIES:
            yield tilings.tiles(tile, policy), tile


def tiles_apart(tilings: GroupTilings, cores: int) -> Iterator[tuple[Tile, HaloPolicy]]:
    """Yield tiles and halo policies for the tiles of one image on several cores.

    Runs of tiles are dealt to cores; whole rows keep nothing for the next tile.
    """
    for tile in core_tile_sizes(*tilings.whole, cores):
        for policy in _POLICIES_APART[: 1 + (tile[1] < tilings.whole[1])]:
            yield tile, policy


def core_tile_sizes(rows: int, columns: int, cores: int) -> Iterator[Tile]:
    """Bands of rows for so many cores and multiples of them, and halves; each by halving widths.

    Tiles that would leave more than half of the cores without one are left out.
    """
    halves = [1 << k for k in range(max(rows, columns).bit_length() + 1)]
    heights = {-(-rows // (parts * k)) for k in halves for parts in (1, cores)}
    widths = sorted({-(-columns // k) for k in halves}, reverse=True)
    for height in sorted(heights, reverse=True):
        for width in widths:
            if 2 * -(-rows // height) * -(-columns // width) >= min(cores, 2 * rows * columns):
                yield (height, width)


@dataclass(frozen=True, slots=True)
class _Work:
    """Work of a pass over the tiles whatever weights stay: operations, words of maps.

    ``steps`` are operations that there would be if no core ever lacked a tile.
    """

    macs: int
    words: int
    steps: float


def _work_of(tiles: GroupTiles, cores: int) -> _Work:
    rows, columns = (axis.new.sum(axis=1).tolist() for axis in (tiles.rows, tiles.columns))
    macs = sum(
        layer.macs // (layer.p * layer.q * layer.n) * rows[m] * columns[m]
        for m, layer in enumerate(tiles.layers)
    )
    channels = tiles.shape.channels
    words = sum(channels[t] * rows[t] * columns[t] for t in tiles.shape.externals)
    shares = (tiles.rows.share.sum(axis=1), tiles.columns.share.sum(axis=1))
    words += sum(channels[t] * int(shares[0][t] * shares[1][t]) for t in tiles.shape.exported)
    macs, runs = macs * tiles.images, tiles.count * tiles.images
    steps = macs if cores == 1 else macs * (round_count(tiles, cores) * cores / runs)
    return _Work(macs, words * tiles.images, steps)


def _estimator(hardware: Hardware) -> Callable[[_Work, int], float]:
    """Energy x latency of some work and words of weights, every layer at full throughput."""
    costs = access_costs(hardware)
    word_pj = costs.read_pj[-1, INPUTS] / hardware.levels[-1].width_words
    rate = hardware.levels[-1].bandwidth_words

    def estimate(work: _Work, weight_words: int) -> float:
        words = work.words + weight_words
        # a multiply-accumulate costs about as much again in local storage (Horowitz, ISSCC 2014)
        energy = words * word_pj + work.macs * 2 * costs.mac_pj
        cycles = max(work.steps / hardware.macs, words / rate)
        return float((energy + cycles * costs.leakage_pj_per_cycle) * cycles)

    return estimate


class WeightUsers(NamedTuple):
    """Weights that some layers share: how often they come in a tile, words, and which layers."""

    times: int
    words: int
    layers: tuple[int, ...]


def choose_weights(
    network: Network,
    layers: tuple[int, ...],
    hardware: Hardware,
    runs: int,
    capacity: int,
) -> tuple[tuple[int, ...], int]:
    """Return the layers whose weights stay in ``capacity`` words, and words of weights fetched.

    Every resident word saves (runs - 1) fetches, of each layer that uses it, so the capacity is
    filled, what is used most often first, the largest of that first. What layers share stays
    for all of them or for none.
    """
    keeps = "weights" in hardware.levels[-2].keeps
    return staying_weights(weight_users(network, layers), keeps, runs, capacity)


def weight_users(network: Network, layers: tuple[int, ...]) -> tuple[WeightUsers, ...]:
    """Return the weights of some layers, those that are used most often and the largest first."""
    users: dict[int, list[int]] = {}
    for i in layers:
        if network.layers[i].weight_words:
            users.setdefault(network.weight_owner(i), []).append(i)
    found = (
        WeightUsers(len(some), network.layers[some[0]].weight_words, tuple(some))
        for some in users.values()
    )
    return tuple(sorted(found, reverse=True))


def staying_weights(
    weights: tuple[WeightUsers, ...], keeps: bool, runs: int, capacity: int
) -> tuple[tuple[int, ...], int]:
    """As :func:`choose_weights`, of weights whose users are known already.

    ``keeps`` says whether the buffer keeps weights at all.
    """
    resident: list[int] = []
    fetched = 0
    for often, words, shared in weights:
        times = runs * often
        if keeps and times > 1 and words < capacity:
            resident += shared
            capacity -= words
            fetched += words
        else:
            fetched += words * times
    return tuple(sorted(resident)), fetched
