"""Default tiling of a fused group: tile height, halo policy and resident weights.

The fusion search decides what is fused; this decides how, group by group, from geometry
alone, before any mapping is searched (CASCO evaluates off-chip traffic from the groups only).
"""

from collections.abc import Callable
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
from archloom.space import Infeasible
from archloom.space.fusion import FusionGroup, HaloPolicy
from archloom.space.hardware import Cores, Hardware, fusion_cores
from archloom.space.workload import INPUTS, Network, remembered

from .grid import GroupTilings
from .known_tilings import KnownTiling, known_tilings

#: of tiles of whole images; the first one is taken unless the other is estimated to be cheaper
_POLICIES: Final[tuple[HaloPolicy, ...]] = ("keep_all", "recompute")


class WeightUsers(NamedTuple):
    """Weights that some layers share: how often they come in a tile, words, and which layers."""

    times: int
    words: int
    layers: tuple[int, ...]


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
    tilings = _tried(known_tilings(network, layers, cores.count), network.batch, cores.count)
    best = _cheapest(tilings, weight_users(network, layers), network, hardware, cores)
    if best is not None:
        tiling, resident = best
        return FusionGroup(layers, tiling.tile, tiling.halo, resident)
    return _does_not_fit(network, layers, tilings, cores.one)


def _cheapest(
    tilings: tuple[KnownTiling, ...],
    users: tuple[WeightUsers, ...],
    network: Network,
    hardware: Hardware,
    cores: Cores,
) -> tuple[KnownTiling, tuple[int, ...]] | None:
    """Return the tiling that is estimated cheapest and the layers whose weights stay; None if none
    fits."""
    keeps, capacity = "weights" in hardware.levels[-2].keeps, buffer_words(cores.one)
    images = network.batch
    best: tuple[KnownTiling, tuple[int, ...]] | None = None
    lowest, estimate = inf, _estimator(hardware)
    for tiling in tilings:
        work, runs = _work_of(tiling, images, cores.count), fetches(tiling, images, cores)
        free = capacity - tiling.peak
        # most lose even if all weights could stay
        if free < 1 or estimate(work, staying_weights(users, keeps, runs, maxsize)[1]) >= lowest:
            continue
        resident, words = staying_weights(users, keeps, runs, free)
        cost = estimate(work, words)
        if cost < lowest:
            best, lowest = (tiling, resident), cost
    return best


def _tried(tilings: tuple[KnownTiling, ...], images: int, cores: int) -> tuple[KnownTiling, ...]:
    """Return the tilings that are tried, in order; a later one must be estimated to be cheaper."""
    if images % cores > 0:
        return tilings
    by_cut = {(tiling.tile, tiling.halo): tiling for tiling in tilings}
    order = ((tiling.tile, halo) for tiling in tilings for halo in _POLICIES)
    return tuple(by_cut[cut] for cut in dict.fromkeys(order) if cut in by_cut)


def _does_not_fit(
    network: Network, layers: tuple[int, ...], tilings: tuple[KnownTiling, ...], core: Hardware
) -> Infeasible:
    """Return what the tiling that needs least lacks."""
    least = min(tilings, key=lambda tiling: tiling.peak)
    members = tuple(network.layers[i] for i in layers)
    tightest = GroupTilings(shape_of(network, layers), members).tiles(least.tile, least.halo)
    # what the estimate takes for granted: a word for weights that pass through
    fullest = peak_demand(network, tightest, {}, [1] * len(layers))
    hint = "cut the group or enlarge the buffer"
    return overflow(network, tightest, fullest, buffer_words(core), core, hint)


def fetches(tiling: KnownTiling, images: int, cores: Cores) -> int:
    """Return how often weights come that do not stay: once a tile, or for all cores of a round."""
    if cores.shared_weights:
        return round_count(tiling.per_image, images, tiling.linked, cores.count)
    return tiling.per_image * images


@dataclass(frozen=True, slots=True)
class _Work:
    """Work of a pass over the tiles whatever weights stay: operations, words of maps.

    ``steps`` are operations that there would be if no core ever lacked a tile.
    """

    macs: int
    words: int
    steps: float


def _work_of(tiling: KnownTiling, images: int, cores: int) -> _Work:
    macs, runs = tiling.macs * images, tiling.per_image * images
    rounds = round_count(tiling.per_image, images, tiling.linked, cores)
    steps = macs if cores == 1 else macs * (rounds * cores / runs)
    return _Work(macs, tiling.words * images, steps)


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
    known = _owners_and_words(network)
    for i in layers:
        owner, words = known[i]
        if words:
            users.setdefault(owner, []).append(i)
    found = [WeightUsers(len(some), known[some[0]][1], tuple(some)) for some in users.values()]
    return tuple(sorted(found, reverse=True))


@remembered
def _owners_and_words(network: Network) -> tuple[tuple[int, int], ...]:
    """For each layer who brings its weights, and words of them."""
    layers = enumerate(network.layers)
    return tuple((network.weight_owner(i), layer.weight_words) for i, layer in layers)


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
