"""Ways to run one group from one shared buffer, each with an estimate of its cost.

An option is a tiling: rows and columns of a tile, a halo policy, and the layers with resident
weights; pinned feature maps take part of the buffer. Which tilings fit follows from the buffer
(:mod:`.tilings`); here they are priced for one design, many at once.
"""

from collections.abc import Iterable, Mapping as Dict, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from archloom.evaluators import Floats, Ints
from archloom.evaluators.fusion.buffer import buffer_words
from archloom.search.fusion.tiling import even_sides
from archloom.space.fusion import FusionGroup, Pin

from ..group_equivalence import resident_members
from ..plan_evaluator import MemoizedPlanEvaluator
from .cuts import CutEdge
from .group_options import GroupOptions
from .option_batch import (
    GroupWay,
    OptionBatch,
    RoughOptions,
    best_options,
    joined,
    listed,
    with_others,
)
from .tilings import (
    NO_TILINGS,
    BoundedTilings,
    PlacedTiling,
    TilingSums,
    without_sizes,
)

#: cycles of whole maps with exact factors, over the least, from which even tiles are looked at
UNEVEN_RATIO: Final = 1.03


class SingleBufferOptions(GroupOptions):
    """Lists the options of edges on a chip with one shared buffer.

    Args:
        evaluator: of plans of the network on the design.
    """

    def __init__(self, evaluator: MemoizedPlanEvaluator) -> None:
        hardware = evaluator.hardware
        super().__init__(evaluator, hardware)
        self._sides = tuple(even_sides(hardware))
        keeps = hardware.fusion_level is not None and "weights" in hardware.levels[-2].keeps
        self._placed = self._known.in_buffer(buffer_words(hardware), keeps)
        self._alone_cycles: tuple[list[float], list[float]] | None = None

    def group_for(self, way: GroupWay, edge: CutEdge, turns: Dict[int, int]) -> FusionGroup:
        """Return the group of an option as another edge of the same kind runs it in a plan."""
        resident = tuple(edge.layers[m] for m in resident_members(way.group))
        readers = (self._network.consumers[i] for i in edge.kept)
        last = [max(some, key=lambda reader: (turns[reader], reader)) for some in readers]
        pins = tuple(map(Pin, edge.kept, last))
        return replace(way.group, layers=edge.layers, resident=resident, pins=pins)

    def rough(self) -> RoughOptions:
        """Return rough estimates for all tilings of every kind of edge."""
        whole = self._placed.whole
        energy, cycles = self._whole_costs(whole)
        images = self._network.batch
        banded = self._banded_weights(whole, images, share=1)
        # in a nest weights may come once, whatever the buffer holds
        weights = np.where((whole.members > 1) & ~self._nests.maybe, banded, whole.weights)
        fetched = weights + whole.fetched * images
        stored = whole.stored * images
        maps = (whole.fetched + whole.stored) * images / self._rate
        return RoughOptions(
            whole.kinds,
            whole.layers,
            whole.members,
            energy * images,
            cycles * images,
            fetched * self._fetch_pj + stored * self._store_pj,
            weights / self._rate + maps,
        )

    def moved(self, kinds: Sequence[int]) -> Floats:
        """Return what moves at least if weights come as for the largest tiles of each kind; once
        where nests may do with that."""
        whole, images, several = self._placed.whole, self._network.batch, list(kinds)
        nests = self._nests.maybe[several]
        words = np.array(
            [
                whole.weights[kind] if nest else self._least_weight_words(kind)
                for kind, nest in zip(kinds, nests.tolist(), strict=True)
            ],
            np.float64,
        )
        words = np.where(words < 0, np.inf, words)
        fetched, stored = (of[several] * images for of in (whole.fetched, whole.stored))
        moved_pj = words * self._weight_pj + fetched * self._fetch_pj + stored * self._store_pj
        return np.stack([moved_pj, (words + fetched + stored) / self._rate], axis=1)

    def _least_weight_words(self, kind: int) -> int:
        """Words of weights that come at least, -1 if nothing fits."""
        bands = self._placed.least_weight_words(kind, ())
        if not self._uneven(self._placed.kinds.firsts.layers(kind)):
            return bands
        even = self._placed.least_weight_words(kind, self._sides)
        return max(bands, even) if min(bands, even) < 0 else min(bands, even)

    def first_options(self, kinds: Sequence[int]) -> tuple[OptionBatch, list[int]]:
        """Return some options of kinds of edges, and how many of each: the largest bands of rows
        that fit, if any do, and nests.

        All halos are kept, or none if that does not fit. Where layers gain by tiles that fill the
        meshes, some of these as well.
        """
        placed = [[*self._placed.first(kind), *self._even(kind)] for kind in kinds]
        batch = self._priced([tiling for some in placed for tiling in some])
        counts = list(map(len, placed))
        energies, latencies = batch.energies, batch.latencies
        chosen, begin = list[int](), 0
        for n, (kind, count) in enumerate(zip(kinds, counts, strict=True)):
            end = begin + count
            some: Sequence[int] = range(count)
            if self._placed.alone(kind):
                # nothing else will be listed for a layer by itself
                some = best_options(energies[begin:end], latencies[begin:end])
                counts[n] = len(some)
            chosen += [begin + k for k in some]
            begin = end
        return with_others(batch.taken(chosen), counts, [self._nests.first(kind) for kind in kinds])

    def all_options(self, kind: int) -> OptionBatch:
        """Return the options of a kind, those of the least estimated energy x latency first."""
        batch = self._priced([*self._placed.all(kind), *self._even(kind)])
        batch = joined([batch, self._nests.of(kind)])
        return batch.taken(best_options(batch.energies, batch.latencies))

    def every_tiling(self, kind: int) -> BoundedTilings | None:
        """Return all tilings of a kind, with energy and latency that no mapping is below; None
        where a mask may leave out some of the tiles.

        Those of a layer in one piece hold for one image only: its mapping may use weights for all.
        """
        if self._masked(kind):
            return None
        placed = (*self._placed.first(kind), *self._placed.all(kind), *self._even(kind))
        return self._at_least(_distinct(placed))

    def _even(self, kind: int) -> tuple[PlacedTiling, ...]:
        """Return tiles that fill the meshes, if layers gain by them."""
        layers = self._placed.kinds.firsts.layers(kind)
        return self._placed.even(kind, self._sides) if self._uneven(layers) else ()

    def _uneven(self, layers: tuple[int, ...]) -> bool:
        """Whether whole maps leave MACs idle that tiles may use."""
        if not self._sides:
            return False
        if self._alone_cycles is None:
            sizes = self._known.alone
            stay = np.ones_like(sizes)
            exact, least = (self._costs.of(sizes, stay, cut)[1].tolist() for cut in (False, True))
            self._alone_cycles = exact, least
        exact, least = self._alone_cycles
        return sum(exact[i] for i in layers) > UNEVEN_RATIO * sum(least[i] for i in layers)

    def _priced(self, placed: Sequence[PlacedTiling]) -> OptionBatch:
        """Add up the tiles of each kind of layer, and what moves; cycles as of exact factors."""
        if not placed:
            return listed(())
        columns, owners, places, times = self._running(placed)
        starts = _beginnings(owners, columns)
        energy, cycles = np.add.reduceat(self._costs.at(places) * times, starts, axis=1)
        firsts = np.searchsorted(owners[starts], np.arange(len(placed) + 1))
        weights, loaded, streamed, fetched, stored, runs, prefetch = _moved(placed)
        maps = (fetched + stored) / self._rate
        late = np.maximum(0.0, loaded / self._rate - np.add.reduceat(cycles, firsts[:-1]) / runs)
        moved = np.empty((len(placed), 3))
        moved[:, 0] = (weights + fetched) * self._fetch_pj + stored * self._store_pj
        moved[:, 0] += streamed * self._weight_pj
        moved[:, 1] = (weights + streamed) / self._rate + maps * prefetch
        moved[:, 2] = late + maps * (1 - prefetch)
        return OptionBatch(tuple(placed), firsts, columns[starts], energy, cycles, moved)

    def tiling_sums(self, kind: int, sides: tuple[int, ...] | None = None) -> TilingSums | None:
        """Return what tilings of a kind add up, those of a layer in one piece aside; None where a
        mask may leave out some of the tiles.

        Args:
            kind: of edges.
            sides: of tiles that fill meshes; None for all other tilings.
        """
        if self._masked(kind):
            return None
        if sides is not None:
            placed = self._placed.even(kind, sides) if sides else ()
        else:
            placed = (*self._placed.first(kind), *self._placed.all(kind))
        return self._sums([one for one in _distinct(placed) if one.tile is not None])

    def forget(self, kinds: Iterable[int]) -> None:
        """Forget the tilings of some kinds, which take some kilobytes each."""
        self._placed.forget(kinds)

    def _masked(self, kind: int) -> bool:
        """Whether a mask may leave out some of the tiles of a kind."""
        masks = (self._network.layers[i].mask for i in self._placed.kinds.firsts.layers(kind))
        return any(mask is not None for mask in masks) and not self._placed.alone(kind)

    def _at_least(self, placed: Sequence[PlacedTiling]) -> BoundedTilings:
        """Return tilings with what they take with any mappings."""
        if not placed:
            return without_sizes(listed(()))
        sums = self._sums(placed)
        total = partial(sums.totals, prices=self._prices)
        least = self._costs.least(sums.places)
        return BoundedTilings(tuple(placed), sums.starts, sums.places, sums.times, least, total)

    def _sums(self, placed: Sequence[PlacedTiling]) -> TilingSums:
        """Return what tilings add up, whatever the design."""
        if not placed:
            return NO_TILINGS
        columns, owners, places, times = self._running(placed)
        starts = _beginnings(owners, columns)
        # rounding may take as much off each energy, of all tiles of each kind of layer
        each = np.add.reduceat(times, starts) + 2.0
        rounded: Floats = np.bincount(owners[starts], each, len(placed)).astype(np.float64)
        weights, _, streamed, fetched, stored, _, prefetch = _moved(placed)
        firsts = np.searchsorted(owners, np.arange(len(placed) + 1))
        words = np.stack([weights + fetched, stored, streamed])
        waiting = (fetched + stored) * (1 - prefetch)
        return TilingSums(firsts, places, times, rounded, words, waiting)

    def _running(self, placed: Sequence[PlacedTiling]) -> tuple[Ints, Ints, Ints, Ints]:
        """int64[n] each, of the sizes that run in tilings, one tiling after another: column,
        tiling, place among sizes and tiles of all images."""
        parts = [tiling.running.parts for tiling in placed]
        columns, members, sizes, times = np.concatenate(parts, axis=1)
        owners = np.repeat(np.arange(len(placed)), [part.shape[1] for part in parts])
        count = np.array([len(tiling.stays) for tiling in placed])
        stays = np.concatenate([tiling.stays for tiling in placed])
        places = 2 * sizes + stays[members + (np.cumsum(count) - count)[owners]]
        return columns, owners, places, times * self._network.batch


def _distinct(placed: Sequence[PlacedTiling]) -> list[PlacedTiling]:
    """Return each tiling once."""
    return list({(one.tile, one.halo, one.resident): one for one in placed}.values())


def _moved(placed: Sequence[PlacedTiling]) -> Ints:
    """int64[7, B], the fields of :class:`.tilings.buffer_tilings.MovedWords` of each tiling."""
    return np.array([tiling.moved for tiling in placed], np.int64).T


def _beginnings(owners: Ints, columns: Ints) -> Ints:
    """int64[n], where owner or column changes."""
    changes = (owners[1:] != owners[:-1]) | (columns[1:] != columns[:-1])
    return np.flatnonzero(np.concatenate([[True], changes]))
