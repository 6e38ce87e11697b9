"""Iterations of an evaluated nest: what each layer does in them, for pictures and for schedules of
several networks."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators.fusion.buffer import buffer_words
from archloom.evaluators.loopnest import LayerCost
from archloom.space import Infeasible
from archloom.space.hardware import Hardware
from archloom.space.workload import WEIGHTS, Network

from ...arrays import Ints
from ..group_share import GroupCost, LayerShare
from .cores import NestCores, streams_sent
from .cost import NestTotals, nest_on
from .fit import NestFit, core_fits
from .iterations import unfolded_cells
from .tile import TileRuns, tile_kinds
from .walk import NestWalk

Grid = NDArray[np.float64]
_Value = TypeVar("_Value", bound=np.generic)


@dataclass(frozen=True, eq=False)
class NestActivity:
    """What the layers of a group do in the n iterations of its nest that are looked at.

    Attributes:
        cores: all that happens in these iterations.
        fit: how that fits the buffer of a core of which none does more.
        runs: of each of the m members its tiles.
        cycles: float64[n], time of each iteration.
        busy: float64[m, n], cycles for which each layer keeps the array.
        dram: int64[m, 3, n], words of each tensor between DRAM and the chip for each layer.
    """

    cores: NestCores
    fit: NestFit
    runs: tuple[tuple[TileRuns, ...], ...]
    cycles: Grid
    busy: Grid
    dram: Ints

    @property
    def walk(self) -> NestWalk:
        """What a core does of which none does more."""
        return self.cores.first


def nest_activity(
    network: Network, hardware: Hardware, cost: GroupCost, costs: Sequence[Sequence[LayerCost]] = ()
) -> NestActivity:
    """Return what happens in a nest that was evaluated.

    Args:
        network: that it was evaluated for.
        hardware: of its buffer and DRAM.
        cost: of the group.
        costs: of each layer's tiles, in the place of those in ``cost``.
    """
    cores = nest_on(network, cost.group, hardware, cost.residents)
    assert not isinstance(cores, Infeasible), "the group was evaluated there"
    fits = core_fits(cores, buffer_words(cores.one) - cost.residents.words)
    assert fits is not None, "the group was evaluated there"
    known = costs or [[tile for _, tile in share.evaluations] for share in cost.layers]
    # of a layer in parts the tiles of one part come after those of another
    tiles = {share.layer: iter(some) for share, some in zip(cost.layers, known, strict=True)}
    total, found = _Iterations(cores), list[tuple[TileRuns, ...]]()
    for m, position in enumerate(cores.group.positions):
        runs = [TileRuns(kind, next(tiles[position])) for kind in tile_kinds(cores, m)]
        total.add(m, position, runs)
        found.append(tuple(runs))
    cycles, dram = total.iterations(fits), np.stack(total.dram)
    return NestActivity(cores, fits[0], tuple(found), cycles, np.stack(total.busy), dram)


class _Iterations(NestTotals):
    """Sums over layers, and words of DRAM apart."""

    def __init__(self, cores: NestCores) -> None:
        super().__init__(cores)
        self.dram: list[Ints] = []

    def add(self, m: int, position: int, runs: list[TileRuns]) -> LayerShare:
        self.dram.append(np.zeros((3, self._times.size), np.int64))
        once = streams_sent(self._cores, m)
        for run in runs:
            copies = np.stack([run.kind.cores] * 3)
            copies[WEIGHTS] = 1 if once else copies[WEIGHTS]
            self.dram[-1][:, run.kind.at] += copies * run.cost.words[-1].astype(np.int64)[:, None]
        return super().add(m, position, runs)

    def _count(self, place: tuple[int, int], every: Ints) -> None:
        level, tensor = place
        if level == -1:
            self.dram[-1][tensor] += every


class Unfolded:
    """Iterations of the outer loops of a nest, one after another.

    Of the loops as many are unfolded, from the outermost on, as make ``least`` iterations or more;
    iterations of the others are taken together. Where a mask drops iterations, those inside of the
    outer one of its two loops cannot be: all loops are unfolded, or none from that one on.

    Attributes:
        count: iterations of the unfolded loops.
        inside: iterations of the others.
    """

    def __init__(self, walk: NestWalk, least: int) -> None:
        counts = [loop.count for loop in walk.loops]
        self.count, self._loops = 1, 0
        while self._loops < len(counts) and self.count < least:
            self.count *= counts[self._loops]
            self._loops += 1
        self._every: Ints | None = None
        if walk.masked and self._loops > min(walk.masked.places):
            self._every = unfolded_cells(walk.loops, walk.masked.places, walk.cells)
            self.count, self._loops = walk.rounds, len(counts)
        self.inside = walk.rounds // self.count
        self._walk, self._counts = walk, counts[: self._loops]
        self._shape = tuple(len(loop.index) for loop in walk.loops[: self._loops])
        outer = walk.times.size if self._every is not None else prod(self._shape)
        # the first outer iteration stands for itself
        self._times: Ints = walk.times.ravel()[: walk.times.size // outer]

    def cells(self, first: int, last: int) -> Ints:
        """int64[last - first], which of the outer iterations that are looked at stands for each."""
        if self._every is not None:
            return self._every[first:last]
        if not self._loops:
            return np.zeros(last - first, np.int64)
        index = np.unravel_index(np.arange(first, last), self._counts)
        places = [
            np.searchsorted(loop.index, i, side="right") - 1
            for loop, i in zip(self._walk.loops, index, strict=False)
        ]
        cells: Ints = np.ravel_multi_index(places, self._shape)
        return cells

    def inner(self, figures: NDArray[_Value]) -> NDArray[_Value]:
        """Return [..., n] as [..., outer iterations, inner ones], of those looked at."""
        return figures.reshape(*figures.shape[:-1], -1, len(self._times))

    def sums(self, figures: Ints | Grid) -> Grid:
        """Return float64[..., n] added up over inner iterations; exact for whole numbers."""
        found: Grid = self.inner(figures.astype(np.float64)) @ self._times.astype(np.float64)
        return found
