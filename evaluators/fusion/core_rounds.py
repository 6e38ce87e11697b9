"""Rounds of a fused group's tiles that run side by side on cores (docs/explanation/fusion.md,
"Cores").

Cores take each layer together: none begins the next before all have done the last. A round is one
tile for each of them. All that are at work in a layer run the loop nest of the largest tile among
them, smaller ones with padding that is thrown away, so that they ask for the same weights at the
same time.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..arrays import Ints
from .tiling import Tiles

Grid = NDArray[np.float64]

#: tiles of an image of which each axis is looked at by itself, if there are more
_MANY: Final = 64

#: more than the columns of any map: rows and columns of a size make one number, in their order
_WIDE: Final = 2**31


def _numbered(rows: Ints, columns: Ints) -> Ints:
    """One number for each size, 0 for none; in the order of rows, then of columns."""
    return rows * _WIDE + columns


@dataclass(frozen=True)
class RoundSizes:
    """The n distinct sizes in which a layer runs, of the largest tile of each round.

    Attributes:
        rows, columns: int64[n], of what is made; 0 where nothing is.
        tiles: int64[n], tiles that make something in rounds of that size.
        rounds: int64[n], those rounds.
        at: int64[R], which size each round has.
        busy: bool[R, C], which cores make something.
    """

    rows: Ints
    columns: Ints
    tiles: Ints
    rounds: Ints
    at: Ints
    busy: NDArray[np.bool_]

    @property
    def running(self) -> list[tuple[int, int, int, int]]:
        """Tiles, rounds, rows and columns of each size in which anything is made."""
        figures = np.stack([self.tiles, self.rounds, self.rows, self.columns], axis=1)
        return [(t, n, r, c) for t, n, r, c in figures[self.made].tolist()]

    @property
    def made(self) -> NDArray[np.bool_]:
        """bool[n], whether anything is made."""
        return (self.rows > 0) & (self.columns > 0)


@dataclass(frozen=True)
class Rounds:
    """The tiles of a pass, by round and core.

    Attributes:
        tiles: of one image.
        at: int64[R, C], position of the tile in its image, -1 for a core that has none.
        alike: cores for which each column of ``at`` stands: they run the same tile of other images.
        repeats: how often all rounds run, one after another.
    """

    tiles: Tiles
    at: Ints
    alike: int
    repeats: int

    @property
    def working(self) -> int:
        """Cores that have a tile in any round."""
        return self.alike * int(self.at.shape[1])

    @property
    def _in_order(self) -> bool:
        """Whether every round has one tile, in the order of an image."""
        return self.at.shape[1] == 1 and len(self.at) == self.tiles.count

    def by_core(self, per_tile: Grid | Ints) -> Grid:
        """``per_tile``[Th, Tw] as float64[R, C]; 0 for cores without a tile."""
        flat = per_tile.reshape(-1).astype(np.float64)
        if self._in_order:
            return flat[:, None]
        return np.where(self.at >= 0, flat[self.at], 0.0)

    def moved(self, per_tile: Ints) -> Grid:
        """float64[R], words of ``per_tile``[Th, Tw] that all cores move together in each round."""
        total: Grid = self.by_core(per_tile).sum(axis=1) * self.alike
        return total

    def sizes(self, m: int) -> RoundSizes:
        """Return the distinct sizes in which layer ``m`` runs."""
        if self._in_order:
            own = self.tiles.sizes(m)
            times = np.where(own.made, own.times, 0)
            at, some = own.at.ravel(), own.made[own.at.ravel()][:, None]
            return RoundSizes(own.rows, own.columns, times * self.alike, times, at, some)
        rows, columns, some = self._largest(*(of[m : m + 1] for of in self.tiles.lengths))
        found, at = np.unique(_numbered(rows[0], columns[0]), return_inverse=True)
        busy = some[0].sum(axis=1) * self.alike
        times = np.bincount(at, weights=busy, minlength=len(found)).astype(np.int64)
        rounds = np.bincount(at, weights=busy > 0, minlength=len(found)).astype(np.int64)
        return RoundSizes(found // _WIDE, found % _WIDE, times, rounds, at, some[0])

    def running(self) -> Ints:
        """Return int64[n, 5], layer, tiles, rounds, rows and columns of each size in which a layer
        makes anything, in the order of layers and of :attr:`RoundSizes.running`.
        """
        if self._in_order and self.tiles.count > _MANY:
            each = (
                (m, *one) for m in range(self.tiles.shape.members) for one in self.sizes(m).running
            )
            return np.array(list(each), np.int64).reshape(-1, 5)
        rows, columns, some = self._largest(*self.tiles.lengths)
        sizes = _numbered(rows, columns)
        layer = np.broadcast_to(np.arange(len(sizes))[:, None], sizes.shape)
        made = sizes > 0
        # layers first, then sizes: a stable sort keeps the rounds of one size together
        order = np.lexsort((sizes[made], layer[made]))
        layer, sizes = layer[made][order], sizes[made][order]
        busy = some.sum(axis=2)[made][order] * self.alike
        first = np.flatnonzero(np.diff(sizes, prepend=-1) | np.diff(layer, prepend=-1))
        counts = np.diff(first, append=len(sizes))
        tiles = np.add.reduceat(busy, first) if len(first) else busy
        figures = (layer[first], tiles, counts, sizes[first] // _WIDE, sizes[first] % _WIDE)
        return np.stack(figures, axis=1)

    def _largest(self, rows: Ints, columns: Ints) -> tuple[Ints, Ints, NDArray[np.bool_]]:
        """The size int64[M, R] that layers run in each round, and bool[M, R, C], cores that make
        something, of rows and columns int64[M, T] that they make in each tile of an image.
        """
        high, wide = rows[:, self.at], columns[:, self.at]
        some = (self.at >= 0) & (high > 0) & (wide > 0)
        return (high * some).max(axis=2), (wide * some).max(axis=2), some

    @cached_property
    def in_flight(self) -> Ints:
        """int64[I, J], at the corner tiles: words of the core's next inputs and last outputs.

        Where several tiles look alike, the most of any of them.
        """
        if self.alike == 1 and self._in_order:
            return self.tiles.in_flight
        if self._in_order:
            return self.tiles.passing_in(self.repeats)[self.tiles.corners]
        fetched, stored = (self.by_core(words) for words in (self.tiles.fetched, self.tiles.stored))
        passing = np.zeros_like(fetched)
        passing[:-1] += fetched[1:]
        passing[1:] += stored[:-1]
        most = np.zeros(self.tiles.count)
        there = self.at >= 0
        np.maximum.at(most, self.at[there], passing[there])
        return self._of_kinds(most.astype(np.int64))

    def _of_kinds(self, per_tile: Ints) -> Ints:
        """The most of ``per_tile``[T] over the tiles for which each corner tile stands."""
        rows, columns = (axis.ravel() for axis in self.tiles.corners)
        kinds = [
            np.searchsorted(first, np.arange(size), side="right") - 1
            for first, size in zip((rows, columns), self.tiles.grid, strict=True)
        ]
        most = np.zeros((len(rows), len(columns)), np.int64)
        np.maximum.at(most, np.ix_(*kinds), per_tile.reshape(self.tiles.grid))
        return most


def rounds_of(tiles: Tiles, cores: int) -> Rounds:
    """Deal the tiles of all images to cores.

    Whole images, one to a core, where they come out even. Else runs of tiles that must stay on
    one core, since each finds there what the last one left (``Tiles.linked``): one run to each
    core, and again from the first core on.
    """
    if tiles.images % cores == 0:
        return Rounds(tiles, np.arange(tiles.count)[:, None], cores, tiles.images // cores)
    runs = tiles.images * tiles.count // tiles.linked
    width = min(cores, runs)
    turn, step, core = np.ix_(range(-(-runs // cores)), range(tiles.linked), range(width))
    run = turn * cores + core
    at = np.where(run < runs, (run * tiles.linked + step) % tiles.count, -1)
    return Rounds(tiles, at.reshape(-1, width), 1, 1)


def dealt(tiles: Tiles, cores: int) -> int:
    """Return how many tiles are dealt one by one: those of one image, if all cores do the same."""
    return tiles.count if tiles.images % cores == 0 else tiles.count * tiles.images


def round_count(count: int, images: int, linked: int, cores: int) -> int:
    """Return the rounds that the tiles of all images take.

    Args:
        count: tiles of an image.
        images: of a pass.
        linked: tiles in a row that must run in one buffer.
        cores: on which tiles run side by side.
    """
    if images % cores == 0:
        return count * images // cores
    return -(-(images * count // linked) // cores) * linked
