"""Ways to run one group on a chip of several cores, each with an estimate of its cost.

An option is a tiling whose tiles run side by side, round by round, or a nest of which cores share
out the outermost loop. Nothing is pinned, and a layer by itself runs on the whole chip.
"""

from collections.abc import Mapping as Dict, Sequence
from dataclasses import replace

import numpy as np

from archloom.evaluators import Floats, Ints
from archloom.evaluators.bounds import layer_bound
from archloom.evaluators.fusion import Rounds, rounds_of
from archloom.evaluators.fusion.buffer import buffer_words, fusion_blocked, shape_of
from archloom.evaluators.fusion.tiling import TileWords
from archloom.search.fusion.tiling import (
    GroupTilings,
    choose_weights,
    several_on_cores,
    tile_group,
)
from archloom.space import Infeasible
from archloom.space.fusion import ALONE, FusionGroup
from archloom.space.hardware import Cores

from ..group_equivalence import resident_members
from ..partition import Group
from ..plan_evaluator import MemoizedPlanEvaluator
from .cuts import CutEdge, WholeGroups
from .group_options import GroupOptions
from .option_batch import (
    GroupOption,
    GroupWay,
    OptionBatch,
    RoughOptions,
    best_options,
    joined,
    listed,
    with_others,
)
from .proofs import CoreTilings
from .tilings import BoundedTilings, GroupTiling, without_sizes


class MulticoreOptions(GroupOptions):
    """Lists the options of edges on a chip of several cores.

    Args:
        evaluator: of plans: what runs where.
        cores: of the hardware; more than one.
    """

    def __init__(self, evaluator: MemoizedPlanEvaluator, cores: Cores) -> None:
        super().__init__(evaluator, cores.one)
        self._cores = cores
        self._columns = self._known.columns
        self._words = np.array(self._weight_words)
        self._bounds = CoreTilings(
            evaluator.network, evaluator.hardware, cores, self._known.numbers
        )

    def group_for(
        self,
        way: GroupWay,
        edge: CutEdge,
        turns: Dict[int, int],  # noqa: ARG002
    ) -> FusionGroup:
        """Return the group of an option as another edge of the same kind runs it."""
        resident = tuple(edge.layers[m] for m in resident_members(way.group))
        return replace(way.group, layers=edge.layers, resident=resident)

    def rough(self) -> RoughOptions:
        """Return rough estimates for all tilings of every kind of edge."""
        _, whole = self._known.graph(buffer_words(self._hardware))
        energy, cycles = (of * self._network.batch for of in self._whole_costs(whole))
        cycles = cycles / self._cores.count
        for n in np.flatnonzero(whole.members[whole.kinds] == 1).tolist():
            bound = layer_bound(self._network.layers[whole.layers[n]], self._hardware)
            energy[n], cycles[n] = bound.dynamic_pj, bound.latency_cycles
        words = self._weights(whole)
        fetched, stored = whole.fetched * self._network.batch, whole.stored * self._network.batch
        moved_pj = fetched * self._fetch_pj + words * self._weight_pj + stored * self._store_pj
        moved_cycles = (words + (fetched + stored)) / self._rate
        several = whole.members > 1
        self._rough = RoughOptions(
            whole.kinds,
            whole.layers,
            whole.members,
            energy,
            cycles,
            np.where(several, moved_pj, 0.0),
            np.where(several, moved_cycles, 0.0),
        )
        return self._rough

    def moved(self, kinds: Sequence[int]) -> Floats:
        """Return what :meth:`rough` says: nothing nearer is known."""
        return np.stack([self._rough.moved_pj, self._rough.moved_cycles], axis=1)[list(kinds)]

    def _weights(self, whole: WholeGroups) -> Ints:
        """Words of weights that DRAM sends, in as many rounds of bands as serve each group best."""
        count, batch = self._cores.count, self._network.batch
        # whole images to each core, or a part of one
        even = batch % count == 0
        images, share = (batch // count, 1) if even else (batch, count)
        sent = self._banded_weights(whole, images, share)
        sent = sent if self._cores.shared_weights else sent * count
        # in a nest each core may get some of them
        return np.where((whole.members > 1) & self._nests.maybe, whole.weights, sent)

    def first_options(self, kinds: Sequence[int]) -> tuple[OptionBatch, list[int]]:
        """Return the tiling of each kind that is best by geometry alone, if any fits, and nests."""
        layers = [self.edges().firsts.layers(kind) for kind in kinds]
        found = [self._alone(some) if len(some) == 1 else self._first(some) for some in layers]
        nests = [self._nests.first(kind) for kind in kinds]
        tiled = listed([option for some in found for option in some])
        return with_others(tiled, list(map(len, found)), nests)

    def all_options(self, kind: int) -> OptionBatch:
        """Return the options of a kind, those of the least estimated energy x latency first."""
        layers = self.edges().firsts.layers(kind)
        batch = listed(self._alone(layers) if len(layers) == 1 else self._all(layers))
        batch = batch.taken(best_options(batch.energies, batch.latencies))
        batch = joined([batch, self._nests.of(kind)])
        order = np.argsort(batch.energies * batch.latencies, kind="stable").tolist()
        return batch.taken(order)

    def every_tiling(self, kind: int) -> BoundedTilings | None:
        """Return all tilings of a kind, with energy and latency that no mapping is below; None
        where a mask may leave out some of the tiles."""
        layers = self.edges().firsts.layers(kind)
        if len(layers) == 1:
            return without_sizes(listed(self._alone(layers)))
        if any(self._network.layers[i].mask is not None for i in layers):
            return None
        if self._tilings(layers) is None:
            return without_sizes(listed(()))
        tiling = GroupTiling(self._network, layers, self._known.numbers, self._columns)
        return self._bounds.bounded(tiling, layers)

    def _alone(self, layers: Group) -> list[GroupOption]:
        """Return the option of a layer by itself, on the whole chip."""
        bound = layer_bound(self._network.layers[layers[0]], self._hardware)
        pj, cycles = np.array([bound.dynamic_pj]), np.array([bound.latency_cycles])
        group = FusionGroup(layers)
        return [GroupOption(group, ALONE, self._columns.of(group), pj, cycles, 0.0, 0.0, 0.0)]

    def _first(self, layers: Group) -> list[GroupOption]:
        group = tile_group(self._network, layers, self._hardware)
        if isinstance(group, Infeasible) or group.tile is None:
            return []
        tilings = self._tilings(layers)
        assert tilings is not None, "a group that is tiled can be fused"
        return self._options([group], tilings, tilings.words(group.tile, group.halo))

    def _all(self, layers: Group) -> list[GroupOption]:
        tilings, found = self._tilings(layers), list[GroupOption]()
        if tilings is None:
            return []
        for tile, halo in several_on_cores(tilings, self._network.batch, self._cores.count):
            words = tilings.words(tile, halo)
            capacity = buffer_words(self._core) - words.peak
            if capacity < 1:
                continue
            runs = tilings.count(tile) * self._network.batch
            stay, _ = choose_weights(self._network, layers, self._core, runs, capacity)
            groups = [FusionGroup(layers, tile, halo, stays) for stays in {stay: 0, (): 0}]
            found += self._options(groups, tilings, words)
        return found

    def _tilings(self, layers: Group) -> GroupTilings | None:
        """Ways to cut a group in tiles, if the hardware can hold its maps."""
        if fusion_blocked(self._network, FusionGroup(layers, (1, 1)), self._core) is not None:
            return None
        members = tuple(self._network.layers[i] for i in layers)
        return GroupTilings(shape_of(self._network, layers), members)

    def _options(
        self, groups: Sequence[FusionGroup], tilings: GroupTilings, words: TileWords
    ) -> list[GroupOption]:
        """Estimate groups that differ in what stays of their weights, all in the same tiles."""
        tile, halo = groups[0].tile, groups[0].halo
        assert tile is not None, "these groups run in tiles"
        rounds = rounds_of(tilings.tiles(tile, halo), self._cores.count)
        running = rounds.running()
        return [self._option(group, rounds, running, words) for group in groups]

    def _option(
        self, group: FusionGroup, rounds: Rounds, running: Ints, words: TileWords
    ) -> GroupOption:
        """Estimate a tiling: layers round by round, and what moves between DRAM and buffers.

        Args:
            group: what is tiled.
            rounds: its tiles.
            running: in which sizes its layers run (:meth:`Rounds.running`).
            words: that its tiles hold and move for an image.
        """
        # columns in their order, whatever the order of the layers
        columns, places = np.unique(self._columns.of(group), return_inverse=True)
        totals = np.zeros((len(columns), 2))
        members = np.array(group.layers)
        stays = np.array([i in group.resident for i in group.layers])
        m, ran, turns, high, wide = running.T
        sizes = zip(
            members[m].tolist(), high.tolist(), wide.tolist(), stays[m].tolist(), strict=True
        )
        ran, turns = ran * rounds.repeats, turns * rounds.repeats
        times = np.stack([ran, turns], axis=1)
        np.add.at(totals, places[m], times * np.array(self._estimates.of(list(sizes))))
        # what comes for all cores at once counts once
        copies = turns if self._cores.shared_weights else ran
        streamed = int((copies * self._words[members[m]])[~stays[m]].sum())
        loads = self._owned_words(group.resident)
        reads = loads * (1 if self._cores.shared_weights else rounds.working)
        fetched, stored = words.fetched * rounds.tiles.images, words.stored * rounds.tiles.images
        moved_pj = fetched * self._fetch_pj + stored * self._store_pj
        moved_pj += (reads + streamed) * self._weight_pj
        moved_pj += loads * rounds.working * self._fill_pj
        moved_cycles = (fetched + stored + reads + streamed) / self._rate
        layers = columns, totals[:, 0], totals[:, 1]
        return GroupOption(group, ALONE, *layers, moved_pj, moved_cycles, 0.0)
