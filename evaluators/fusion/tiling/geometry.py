"""Words of the shared buffer that a fused group's maps take, at every step of every tile."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from archloom.space.fusion import HaloPolicy
from archloom.space.workload import Layer

from ...arrays import Ints
from ..group_graph import GroupShape
from .sweep import AxisSweep, axis_sweep

BEFORE, FULL, AFTER = range(3)

#: rows [I, 1] and columns [1, J] of tiles
DominatedRegion = tuple[NDArray[np.intp], NDArray[np.intp]]


@dataclass(frozen=True)
class Sizes:
    """The n distinct sizes in which a layer runs on a grid of tiles.

    Attributes:
        rows, columns: int64[n], of what is made; 0 where nothing is.
        times: int64[n], tiles of one image of that size.
        at: int64[Th, Tw], which size each tile has.
    """

    rows: Ints
    columns: Ints
    times: Ints
    at: Ints

    @property
    def made(self) -> NDArray[np.bool_]:
        """bool[n], whether anything is made."""
        return (self.rows > 0) & (self.columns > 0)

    @property
    def running(self) -> list[tuple[int, int, int]]:
        """Times, rows and columns of each size in which anything is made."""
        figures = np.stack([self.times, self.rows, self.columns], axis=1)[self.made]
        return [(times, rows, columns) for times, rows, columns in figures.tolist()]

    def running_at(self, tile: int) -> int | None:
        """Return the place in :attr:`running` of a tile's size; None if it makes nothing."""
        size = int(self.at.flat[tile])
        return int(self.made[:size].sum()) if self.made[size] else None


@dataclass(frozen=True)
class Tiles(ABC):
    """A group cut into a grid of Th x Tw tiles, with all that follows from geometry alone.

    Tiles run row by row (columns innermost), one image at a time.
    """

    shape: GroupShape
    layers: tuple[Layer, ...]

    @property
    @abstractmethod
    def grid(self) -> tuple[int, int]:
        """Rows and columns of tiles, Th and Tw."""

    @abstractmethod
    def made(self, tensor: int) -> Ints:
        """int64[Th, Tw], words made (or fetched) of a map in each tile."""

    @abstractmethod
    def written(self, tensor: int) -> Ints:
        """int64[Th, Tw], words of an exported map written out in each tile."""

    @abstractmethod
    def sizes(self, m: int) -> Sizes:
        """Return the distinct sizes in which layer ``m`` runs."""

    @property
    @abstractmethod
    def lengths(self) -> tuple[Ints, Ints]:
        """int64[members, T] twice: rows and columns that each layer makes in each tile of an
        image."""

    @property
    @abstractmethod
    def linked(self) -> int:
        """Tiles in a row that must run in one buffer, for what each leaves there to the next."""

    @property
    @abstractmethod
    def corners(self) -> DominatedRegion:
        """Indices of the I x J tiles among which the peak occupancy is."""

    @property
    @abstractmethod
    def row_kinds(self) -> tuple[Ints, Ints]:
        """Rows of tiles of which no two look alike, and int64[Th], which of them each row is."""

    @abstractmethod
    def states(self, at: DominatedRegion) -> Ints:
        """int64[3, M, I, J], words of each map before, during and after its step, in some tiles.

        None for maps that lie in the buffer whole: the plan pays for those.

        Args:
            at: rows int64[I, 1] and columns int64[1, J] of the tiles.
        """

    @property
    def count(self) -> int:
        """Tiles of one image."""
        return self.grid[0] * self.grid[1]

    @property
    def images(self) -> int:
        """Images of a pass; tiles hold one at a time."""
        return self.layers[0].n

    @cached_property
    def fetched(self) -> Ints:
        """int64[Th, Tw], words of all maps fetched from DRAM in each tile."""
        zero = np.zeros(self.grid, np.int64)
        return sum((self.made(t) for t in self.shape.arriving), zero)

    @cached_property
    def stored(self) -> Ints:
        """int64[Th, Tw], words of all maps that go to DRAM in each tile."""
        zero = np.zeros(self.grid, np.int64)
        return sum((self.written(t) for t in self.shape.departing), zero)

    @cached_property
    def _states(self) -> Ints:
        return self.states(self.corners)

    @cached_property
    def _when(self) -> Ints:
        """int64[m, M], whether each step is before, while or after each map is held in full."""
        tensors = np.arange(len(self.shape.channels))
        last = np.array([self.shape.last_reader(t) for t in range(len(tensors))])
        position = np.where(tensors < self.shape.members, tensors, -1)
        step = np.arange(self.shape.members)[:, None]
        return np.where(step < position, BEFORE, np.where(step <= last, FULL, AFTER))

    def alive(self, step: int, corner: tuple[int, int]) -> list[int]:
        """Words of each map at a step of one of the corner tiles, by its place among them."""
        return self.words_at(self._states, step, corner)

    def words_at(self, states: Ints, step: int, tile: tuple[int, int]) -> list[int]:
        """Words of each map at a step of the tile at a place in ``states`` [3, M, I, J]."""
        maps = range(len(self.shape.channels))
        words: list[int] = states[self._when[step], maps, *tile].tolist()
        return words

    @cached_property
    def activations(self) -> Ints:
        """int64[m, I, J], words of all maps at each step, at the corner tiles."""
        return self.at_steps(self._states)

    def at_steps(self, states: Ints) -> Ints:
        """int64[m, I, J], words of all maps at each step, of ``states`` [3, M, I, J]."""
        when, flat = self._when, states.reshape(*states.shape[:2], -1)
        words = np.zeros((len(when), flat.shape[2]), np.int64)
        words[0] = flat[when[0], np.arange(flat.shape[1])].sum(axis=0)
        # few maps change from step to step
        for step in range(1, len(when)):
            then, now = when[step - 1 : step + 1]
            maps = np.flatnonzero(then != now)
            words[step] = (flat[now[maps], maps] - flat[then[maps], maps]).sum(axis=0)
        total: Ints = words.cumsum(axis=0)
        return total.reshape(-1, *states.shape[2:])

    @cached_property
    def in_flight(self) -> Ints:
        """int64[I, J], :attr:`passing` at the corner tiles."""
        return self.passing[self.corners]

    @cached_property
    def passing(self) -> Ints:
        """int64[Th, Tw], words of the next tile's inputs and the last tile's outputs.

        Prefetch and double-buffered output hold both while a tile is computed.
        """
        return self.passing_in(self.images)

    def passing_in(self, images: int) -> Ints:
        """:attr:`passing` of a buffer in which so many images run one after another."""
        coming = np.append(self.fetched.ravel()[1:], 0).reshape(self.fetched.shape)
        leaving = np.append(0, self.stored.ravel()[:-1]).reshape(self.stored.shape)
        if images > 1:
            # the last tile of an image prefetches for the next one, and the other way round
            coming[-1, -1], leaving[0, 0] = self.fetched[0, 0], self.stored[-1, -1]
        both: Ints = coming + leaving
        return both


@dataclass(frozen=True)
class GroupTiles(Tiles):
    """A group cut into equal tiles (the remainder last) under a halo policy."""

    policy: HaloPolicy
    rows: AxisSweep
    columns: AxisSweep

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of tiles."""
        return self.rows.tiles, self.columns.tiles

    def made(self, tensor: int) -> Ints:
        """int64[Th, Tw], words made (or fetched) of a map in each tile."""
        return self.shape.channels[tensor] * np.outer(
            self.rows.new[tensor], self.columns.new[tensor]
        )

    def written(self, tensor: int) -> Ints:
        """int64[Th, Tw], words of an exported map written out in each tile."""
        return self.shape.channels[tensor] * np.outer(
            self.rows.share[tensor], self.columns.share[tensor]
        )

    def sizes(self, m: int) -> Sizes:
        """Return the distinct sizes in which layer ``m`` runs."""
        heights, at_h, n_h = np.unique(self.rows.new[m], return_inverse=True, return_counts=True)
        widths, at_w, n_w = np.unique(self.columns.new[m], return_inverse=True, return_counts=True)
        return Sizes(
            np.repeat(heights, len(widths)),
            np.tile(widths, len(heights)),
            np.outer(n_h, n_w).ravel(),
            at_h[:, None] * len(widths) + at_w,
        )

    @property
    def lengths(self) -> tuple[Ints, Ints]:
        """Those of a row of tiles, and of a column."""
        members, (high, wide) = self.shape.members, self.grid
        rows, columns = self.rows.new[:members], self.columns.new[:members]
        return rows.repeat(wide, axis=1), np.tile(columns, (1, high))

    @property
    def linked(self) -> int:
        """None but itself, a row of tiles, or all of an image: as far as halos are kept."""
        kept = {"recompute": 1, "keep_inner": self.grid[1], "keep_all": self.count}
        return kept[self.policy]

    @property
    def corners(self) -> DominatedRegion:
        """First and last tiles of all runs of tiles that look alike."""
        rows, columns = np.ix_(self.rows.corners(), self.columns.corners())
        return rows, columns

    @property
    def row_kinds(self) -> tuple[Ints, Ints]:
        """First and last rows of runs of rows that look alike, and of which each row is."""
        rows = np.array(self.rows.corners())
        return rows, np.searchsorted(rows, np.arange(self.rows.tiles), side="right") - 1

    def states(self, at: DominatedRegion) -> Ints:
        """int64[3, M, I, J], words of each map before, during and after its step."""
        h, w = self.rows, self.columns
        ht = np.arange(len(self.shape.channels))[:, None, None]
        i, j = at[0][None], at[1][None]
        zero = np.zeros((len(ht), at[0].shape[0], at[1].shape[1]), np.int64)
        channels = np.array(self.shape.own_channels)[:, None, None]
        w_kept, w_was, w_gone = w.kept, w.before(w.kept), w.before(w.gone)
        if self.policy == "recompute":
            full = h.need[ht, i] * w.need[ht, j]
            return np.stack([zero, channels * full, zero])
        if self.policy == "keep_inner":
            r = h.need[ht, i]
            full = r * (w.have[ht, j] - w_gone[ht, j])
            return channels * np.stack([r * w_was[ht, j], full, r * w_kept[ht, j]])
        # fusion model section 3: rows above the raster point are kept for columns still to
        # come, and the rows made now for columns already passed
        band = (h.have - h.before(h.gone))[ht, i]
        above, here = h.before(h.kept)[ht, i], h.kept[ht, i]
        end = w.have[ht, w.tiles - 1]

        def held(x0: Ints, x1: Ints) -> Ints:
            words: Ints = band * (x1 - x0) + above * (end - x1) + here * x0
            return words

        w_had = w.before(w.have)[ht, j]
        return channels * np.stack(
            [
                held(w_gone[ht, j], w_had),
                held(w_gone[ht, j], w.have[ht, j]),
                held(w.gone[ht, j], w.have[ht, j]),
            ]
        )


def group_tiles(
    shape: GroupShape, layers: tuple[Layer, ...], tile: tuple[int, int] | None, policy: HaloPolicy
) -> GroupTiles:
    """Cut a group into tiles of ``tile`` (rows, columns) of its anchor; None for whole maps."""
    rows, columns = tile or shape.sizes[shape.anchor]
    members = list(layers)
    return GroupTiles(
        shape,
        layers,
        policy,
        axis_sweep(shape, members, 0, rows, keep=policy == "keep_all"),
        axis_sweep(shape, members, 1, columns, keep=policy != "recompute"),
    )
