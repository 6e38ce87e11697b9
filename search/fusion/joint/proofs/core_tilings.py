"""What groups take at the least whose tiles run side by side on cores, whatever their mappings.

Cores take each layer together: a turn of a layer is a tile for each of them, and lasts as long as
the largest tile (``evaluators/fusion/core_rounds.py``). However tiles are dealt, turns take no less
than if those of the most cycles came together. Energy inside the buffer counts for every tile. What
crosses DRAM's pins is known but for weights that stream: they come once for a tile or, where DRAM
sends them to all cores at once, for a turn.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from archloom.evaluators import Floats, Ints, access_costs
from archloom.evaluators.bounds import (
    HALF_GRAIN_PJ,
    Design,
    Prices,
    design_and_prices,
    layer_costs,
)
from archloom.evaluators.fusion.buffer import buffer_words
from archloom.evaluators.loopnest import vector_cost
from archloom.search.fusion.joint.tilings import BoundedTilings, GroupTiling, without_sizes
from archloom.search.fusion.tiling import (
    SizeNumbers,
    Tile,
    several_on_cores,
    staying_weights,
    weight_users,
)
from archloom.space.fusion import ALONE, FusionGroup, HaloPolicy, Residents
from archloom.space.hardware import Cores, Hardware
from archloom.space.workload import INPUTS, NO_ZEROS, OUTPUTS, WEIGHTS, Layer, Network, P, Q

from ..option_batch import listed
from .core_turns import SizesOnCores, cost_of_turns


class CoreWay(NamedTuple):
    """A group in tiles on cores; fields as of its :class:`archloom.space.fusion.FusionGroup`."""

    layers: tuple[int, ...]
    tile: Tile
    halo: HaloPolicy
    resident: tuple[int, ...]

    @property
    def group(self) -> FusionGroup:
        """The group."""
        return FusionGroup(self.layers, self.tile, self.halo, self.resident)

    @property
    def residents(self) -> Residents:
        """Nothing is kept in the buffers of cores."""
        return ALONE


class _Moved(NamedTuple):
    """Words of a tiling: of maps that all images fetch and store, of weights that stay in a core,
    and that its tiles hold."""

    fetched: int
    stored: int
    loaded: int
    working: int


class CoreTilings:
    """Bounds tilings of a network's groups on cores.

    Args:
        network, hardware: what runs where.
        cores: of the hardware; more than one.
        numbers: of the sizes in which layers run.
    """

    def __init__(
        self, network: Network, hardware: Hardware, cores: Cores, numbers: SizeNumbers
    ) -> None:
        self._network, self._hardware, self._cores = network, hardware, cores
        costs, dram, buffer = access_costs(hardware), hardware.levels[-1], hardware.levels[-2]
        self._rate = dram.bandwidth_words
        self._fill_pj = float(costs.write_pj[-2, INPUTS]) / buffer.width_words
        self._fetch_pj = float(costs.read_pj[-1, INPUTS]) / dram.width_words
        self._weight_pj = float(costs.read_pj[-1, WEIGHTS]) / dram.width_words
        self._store_pj = float(costs.write_pj[-1, OUTPUTS]) / dram.width_words
        self._keeps = "weights" in buffer.keeps
        self._numbers = numbers
        self._owners = [network.weight_owner(i) for i in range(len(network.layers))]
        self._words = np.array([layer.weight_words for layer in network.layers], np.int64)
        # energy and cycles of sizes: two places for each, weights stream and weights stay
        self._costs = np.full((2, 0), np.nan)

    def bounded(self, tiling: GroupTiling, layers: tuple[int, ...]) -> BoundedTilings:
        """Return the tilings of a group that fit, with energy and cycles that no mapping is below.

        Args:
            tiling: of the group.
            layers: of the group.
        """
        found = [
            (way, tiling.runs(way.tile, way.halo).parts, moved)
            for way, moved in self._ways(tiling, layers)
        ]
        if not found:
            return without_sizes(listed(()))
        ways, parts, words = zip(*found, strict=True)
        sizes, places = self._sizes(layers, ways, parts)
        fetched, stored, loaded, working = np.array(words, np.float64).T
        cores, shared, rate = self._cores.count, self._cores.shared_weights, float(self._rate)
        reads = loaded if shared else loaded * working
        moved_pj = fetched * (self._fetch_pj + self._fill_pj) + stored * self._store_pj
        moved_pj += reads * self._weight_pj + loaded * working * self._fill_pj
        # of each layer rounding may take as much off what moves for it as off two tiles
        moved_pj -= 2.0 * len(layers) * self._rounded_pj
        moved, weight_pj, rounded_pj = fetched + stored + reads, self._weight_pj, self._rounded_pj

        def total(costs: Floats) -> Floats:
            inside = np.maximum(costs[0] - rounded_pj, 0.0)
            of_tiles = sizes._replace(energy_pj=inside, cycles=costs[1])
            energy, busy, streamed = cost_of_turns(of_tiles, cores, shared, rate)
            energy += moved_pj + streamed * weight_pj
            cycles = np.maximum(busy, (moved + streamed) / rate)
            return np.stack([np.maximum(energy, 0.0), cycles])

        starts = np.searchsorted(sizes.owners, np.arange(len(ways) + 1))
        least = np.stack([sizes.energy_pj, sizes.cycles])
        return BoundedTilings(ways, starts, places, sizes.times, least, total)

    @property
    def _rounded_pj(self) -> float:
        """Energy that rounding may take off a tile: of each level and operand, and operations."""
        return (3 * len(self._hardware.levels) + 2) * HALF_GRAIN_PJ

    def _ways(
        self, tiling: GroupTiling, layers: tuple[int, ...]
    ) -> Iterator[tuple[CoreWay, _Moved]]:
        """Yield the tilings of a group that fit a core, and what they move."""
        images, count = self._network.batch, self._cores.count
        users, capacity = weight_users(self._network, layers), buffer_words(self._cores.one)
        for tile, halo in several_on_cores(tiling.tilings, images, count):
            words = tiling.words(tile, halo)
            if words.peak >= capacity:
                continue
            tiles = tiling.runs(tile, halo).tiles
            linked = 1 if halo == "recompute" else -(-tiling.tilings.whole[1] // tile[1])
            linked = tiles if halo == "keep_all" else linked
            working = count if images % count == 0 else min(count, images * tiles // linked)
            stay, _ = staying_weights(users, self._keeps, tiles * images, capacity - words.peak)
            for resident in dict.fromkeys([stay, ()]):
                loaded = sum(int(self._words[i]) for i in {self._owners[i] for i in resident})
                moved = _Moved(words.fetched * images, words.stored * images, loaded, working)
                yield CoreWay(layers, tile, halo, resident), moved

    def _sizes(
        self, layers: tuple[int, ...], ways: tuple[CoreWay, ...], parts: tuple[Ints, ...]
    ) -> tuple[SizesOnCores, Ints]:
        """Return what runs in tilings, those of a member of a tiling side by side, and the places
        of their sizes."""
        _, members, numbers, times = np.concatenate(parts, axis=1)
        owners = np.repeat(np.arange(len(ways)), [part.shape[1] for part in parts])
        order = np.lexsort((members, owners))
        owners, members, numbers, times = (x[order] for x in (owners, members, numbers, times))
        stays = np.array([[i in way.resident for i in layers] for way in ways])
        here = stays[owners, members]
        places = 2 * numbers + here
        energy, cycles = self._of(places)
        distinct, of = np.unique(numbers, return_inverse=True)
        known = [self._numbers.sizes[number][1:] for number in distinct.tolist()]
        rows, columns = np.array(known, np.int64)[of].T
        streamed = np.where(here, 0, self._words[np.array(layers, np.int64)[members]])
        sides = np.stack([rows, columns])
        tiles, words = times * self._network.batch, streamed.astype(np.float64)
        count = len(ways)
        found = SizesOnCores(count, owners, members, sides, tiles, energy, cycles, words)
        return found, places

    def _of(self, places: Ints) -> Floats:
        """float64[2, n], energy inside the buffer and cycles of sizes, at the least."""
        count = 2 * len(self._numbers.sizes)
        if self._costs.shape[1] < count:
            more = np.full((2, 2 * count - self._costs.shape[1]), np.nan)
            self._costs = np.concatenate([self._costs, more], axis=1)
        missing = np.unique(places[np.isnan(self._costs[0, places])])
        self._find(missing.tolist())
        found: Floats = self._costs[:, places]
        return found

    def _find(self, missing: list[int]) -> None:
        """Bound sizes of layers, all that have weights alike in one call."""
        on_array: dict[bool, list[int]] = {}
        for place in missing:
            i, rows, columns = self._numbers.sizes[place // 2]
            layer, stays = self._network.layers[i], bool(place % 2)
            if layer.uses_macs:
                staged = self._keeps and (stays or layer.multiplies_maps)
                on_array.setdefault(staged, []).append(place)
                continue
            # operators of the vector unit have one way to run
            cost = vector_cost(layer, self._cores.one, rows, columns, staged=True, resident=stays)
            on_chip = cost.dynamic_pj - float(cost.energy_pj[-1].sum())
            self._costs[:, place] = on_chip, cost.latency_cycles
        for staged, places in on_array.items():
            sizes = [self._numbers.sizes[place // 2] for place in places]
            nests = [_nest(self._network.layers[i], r, c) for i, r, c in sizes]
            bounds, windows = (np.array(part, np.int64) for part in zip(*nests, strict=True))
            costs = layer_costs(*_on_chip(self._cores.one, staged), bounds, windows)
            self._costs[:, places] = costs.T


def _nest(
    layer: Layer, rows: int, columns: int
) -> tuple[list[int], list[tuple[int, int, int, int]]]:
    """Loop bounds and window of a tile, as the cost of groups maps it."""
    bounds = list(layer.image_bounds)
    bounds[P], bounds[Q] = rows, columns
    axes = zip(layer.stride, layer.dilation, (rows, columns), (layer.r, layer.s), strict=True)
    return bounds, [(s, d, 0, (size - 1) * s + (k - 1) * d + 1) for s, d, size, k in axes]


@lru_cache(maxsize=64)
def _on_chip(core: Hardware, staged: bool) -> tuple[Design, Prices]:
    """Design and prices of tiles whose maps are in the buffer, weights too if they are staged; what
    crosses DRAM's pins costs nothing here, neither energy nor cycles."""
    design, prices = design_and_prices(core, NO_ZEROS, (staged, True, True))
    accesses, ports = prices.accesses_pj.copy(), prices.ports.copy()
    accesses[-1] = ports[:, -1] = 0.0
    return design, prices._replace(accesses_pj=accesses, ports=ports)
