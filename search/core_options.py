"""Ways to run one group on a chip of several cores, each with an estimate of what it costs.

As :mod:`.step_options` for one buffer: estimates hold the least that any mapping of each round's
tiles costs, and exactly what crosses the DRAM's pins. Nothing is pinned, and a layer by itself runs
on the whole chip.
"""

from collections.abc import Hashable, Iterator
from collections.abc import Mapping as Dict
from typing import Final

import numpy as np

from ..evaluators.group_cost import buffer_words, fusion_blocked, shape_of
from ..evaluators.hardware_cost import access_costs
from ..evaluators.layer_bounds import layer_bound
from ..evaluators.occupancy import GroupTiles
from ..evaluators.rounds import rounds_of
from ..space.cores import Cores
from ..space.dims import INPUTS, OUTPUTS, WEIGHTS
from ..space.fusion import FusionGroup, HaloPolicy
from ..space.hardware import Hardware
from ..space.infeasible import Infeasible
from ..space.network import Network
from ..space.surroundings import ALONE, Surroundings
from .cuts import Step
from .group_kinds import group_kind, places
from .group_tilings import GroupTilings, Tile, in_one_piece, least_weights
from .option import Option, best_options
from .tile_estimates import TileEstimates
from .tiling import choose_weights, core_tile_sizes, tile_group

_APART: Final[tuple[HaloPolicy, ...]] = ("recompute", "keep_inner")


class CoreOptions:
    """Lists the options of steps.

    Args:
        network, hardware: what runs where.
        cores: of the hardware; more than one.
    """

    def __init__(self, network: Network, hardware: Hardware, cores: Cores) -> None:
        self._network, self._hardware, self._cores = network, hardware, cores
        self._estimates = TileEstimates(network, cores.one)
        self._owners = [network.weight_owner(i) for i in range(len(network.layers))]
        layers = network.layers
        self._map_words = [(layer.input_words + layer.output_words) // layer.n for layer in layers]
        costs, levels = access_costs(hardware), hardware.levels
        self._rate = levels[-1].bandwidth_words
        far, near = levels[-1].width_words, levels[-2].width_words
        self._read_pj = float(costs.read_pj[-1, INPUTS]) / far
        self._weight_pj = float(costs.read_pj[-1, WEIGHTS]) / far
        self._store_pj = float(costs.write_pj[-1, OUTPUTS]) / far
        self._fill_pj = float(costs.write_pj[-2, INPUTS]) / near

    def around(self, _step: Step) -> Surroundings:
        """Return what lies in the buffers around a step: nothing."""
        return ALONE

    def kind(self, step: Step) -> Hashable:
        """Return what is the same for steps that have the same options at the same cost."""
        return group_kind(self._network, step.layers)

    def like(self, option: Option, step: Step, _turns: Dict[int, int]) -> FusionGroup:
        """Return the group of an option as another step of the same kind runs it."""
        resident = tuple(step.layers[m] for m in places(option.group))
        return FusionGroup(step.layers, option.group.tile, option.group.halo, resident)

    def whole(self, step: Step) -> Option:
        """Return a rough estimate for all tilings of a step; of one layer, what it costs alone."""
        layers = [self._network.layers[i] for i in step.layers]
        if len(layers) == 1:
            bound = layer_bound(layers[0], self._hardware)
            pj, cycles = np.array([bound.dynamic_pj]), np.array([bound.latency_cycles])
            return Option(FusionGroup(step.layers), ALONE, pj, cycles, 0.0, 0.0, 0.0)
        shape = shape_of(self._network, step.layers)
        made, fetched, stored = in_one_piece(self._network, shape)
        sizes = [(i, *tile, True) for i, tile in zip(step.layers, made, strict=True)]
        costs = np.array(self._estimates.of(sizes, cut=True)) * self._network.batch
        words = self._weights(step)
        maps = (fetched * self._network.batch, stored * self._network.batch)
        return Option(
            FusionGroup(step.layers),
            ALONE,
            costs[:, 0],
            costs[:, 1] / self._cores.count,
            maps[0] * (self._read_pj + self._fill_pj)
            + words * self._weight_pj
            + maps[1] * self._store_pj,
            (words + sum(maps)) / self._rate,
            0.0,
        )

    def _weights(self, step: Step) -> int:
        """Words of weights that DRAM sends, in as many rounds of bands as serve it best."""
        layers = [self._network.layers[i] for i in {self._owners[i] for i in step.layers}]
        words = sum(layer.weight_words for layer in layers)
        count, batch = self._cores.count, self._network.batch
        # whole images to each core, or a part of one
        even = batch % count == 0
        maps = max(self._map_words[i] for i in step.layers) // (1 if even else count)
        images = batch // count if even else batch
        sent = least_weights(words, buffer_words(self._cores.one), maps, images)
        return sent if self._cores.shared_weights else sent * count

    def few(self, step: Step) -> list[Option]:
        """Return the tiling that geometry alone says is the best, if any fits."""
        if len(step.layers) == 1:
            return self.all(step)
        group = tile_group(self._network, step.layers, self._hardware)
        if isinstance(group, Infeasible) or group.tile is None:
            return []
        tiles = self._tilings(step).tiles(group.tile, group.halo)
        return [self._option(group, tiles)]

    def all(self, step: Step) -> list[Option]:
        """Return the options of a step, those of the least estimated energy x latency first."""
        if len(step.layers) == 1:
            return [self.whole(step)]
        group = FusionGroup(step.layers, (1, 1))
        if fusion_blocked(self._network, group, self._cores.one) is not None:
            return []
        tilings, found = self._tilings(step), []
        for tile, halo in self._several(tilings):
            tiles = tilings.tiles(tile, halo)
            room = buffer_words(self._cores.one) - int(tiles.activations.max())
            if room < 1:
                continue
            runs = tiles.count * tiles.images
            stay, _ = choose_weights(self._network, step.layers, self._cores.one, runs, room)
            groups = (FusionGroup(step.layers, tile, halo, stays) for stays in {stay: 0, (): 0})
            found += [self._option(group, tiles) for group in groups]
        return best_options(found)

    def _tilings(self, step: Step) -> GroupTilings:
        members = tuple(self._network.layers[i] for i in step.layers)
        return GroupTilings(shape_of(self._network, step.layers), members)

    def _several(self, tilings: GroupTilings) -> Iterator[tuple[Tile, HaloPolicy]]:
        """Yield tiles and policies: those of one buffer where images come out even."""
        if self._network.batch % self._cores.count == 0:
            yield from tilings.several()
            return
        for tile in core_tile_sizes(*tilings.whole, self._cores.count):
            for halo in _APART if tile[1] < tilings.whole[1] else _APART[:1]:
                yield tile, halo

    def _option(self, group: FusionGroup, tiles: GroupTiles) -> Option:
        """Estimate a tiling: layers round by round, and what moves between DRAM and buffers."""
        rounds, layers = rounds_of(tiles, self._cores.count), self._network.layers
        totals = np.zeros((len(group.layers), 2))
        streamed = 0
        for m, i in enumerate(group.layers):
            stays = i in group.resident
            for size in rounds.sizes(m).running:
                ran, turns = (n * rounds.repeats for n in size[:2])
                ((energy, cycles),) = self._estimates.of([(i, size[2], size[3], stays)])
                totals[m] += ran * energy, turns * cycles
                if not stays:
                    # what comes for all cores at once is paid once
                    copies = turns if self._cores.shared_weights else ran
                    streamed += copies * layers[i].weight_words
        loads = sum(layers[i].weight_words for i in {self._owners[i] for i in group.resident})
        reads = loads * (1 if self._cores.shared_weights else rounds.working)
        fetched, stored = (int(w.sum()) * tiles.images for w in (tiles.fetched, tiles.stored))
        moved_pj = fetched * (self._read_pj + self._fill_pj) + stored * self._store_pj
        moved_pj += (reads + streamed) * self._weight_pj
        moved_pj += loads * rounds.working * self._fill_pj
        moved_cycles = (fetched + stored + reads + streamed) / self._rate
        return Option(group, ALONE, totals[:, 0], totals[:, 1], moved_pj, moved_cycles, 0.0)
