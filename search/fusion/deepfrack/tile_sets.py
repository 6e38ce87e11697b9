"""Sizes of tiles in which faces are cut: squares of coverings, and tiles of grids."""

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np

from archloom.evaluators import Ints

from .guillotine import SMALLEST, coverable

#: rows and columns
Tile: TypeAlias = tuple[int, int]

#: longest side of a face that is covered with different squares; longer ones get grids
_MOST_SIDE: Final = 256


@dataclass(frozen=True, eq=False)
class TileSet:
    """All sizes of tiles of a face, each with a number.

    Attributes:
        rows, columns: int64[T].
        number: of each size.
        squares: int64[S + 1], the number of the square of each side; T below the smallest.
        largest: int64[n], sides of which some covering has a largest square, ascending.
        grids: tiles of grids, sorted: of sides that no largest square can have, and the whole face.
        parts, counts: int64[N, G], sizes of tiles of each grid, its own first, and how many there
            are; T and 0 where it has fewer than others.
    """

    rows: Ints
    columns: Ints
    number: dict[Tile, int]
    squares: Ints
    largest: Ints
    grids: tuple[Tile, ...]
    parts: Ints
    counts: Ints

    @property
    def firsts(self) -> Ints:
        """int64[n], sizes that may be the first tile: of grids, and largest squares."""
        return np.concatenate([self.parts[0], self.squares[self.largest]])


@lru_cache(maxsize=256)
def tile_set(face: Tile) -> TileSet:
    """Return the sizes of tiles of a face."""
    rows, columns = face
    largest = [s for s in range(SMALLEST, min(face) + 1) if has_largest(face, s)]
    tiles = {(min(s, rows), min(s, columns)) for s in range(SMALLEST, max(face))}
    grids = sorted({tile for tile in tiles if max(tile) not in largest} | {face})
    counted = [grid_counts(face, tile) for tile in grids]
    number: dict[Tile, int] = {}
    for side in range(SMALLEST, min(face) + 1):
        number[side, side] = len(number)
    for tile in (tile for counts in counted for tile in counts):
        number.setdefault(tile, len(number))
    parts = np.full((max(map(len, counted)), len(grids)), len(number), np.int64)
    times = np.zeros_like(parts)
    for g, counts in enumerate(counted):
        parts[: len(counts), g] = [number[tile] for tile in counts]
        times[: len(counts), g] = list(counts.values())
    squares = [number.get((side, side), len(number)) for side in range(min(face) + 1)]
    squares[:SMALLEST] = [len(number)] * min(SMALLEST, len(squares))
    heights, widths = np.array(list(number), np.int64).T
    return TileSet(
        heights,
        widths,
        number,
        np.array(squares, np.int64),
        np.array(largest, np.int64),
        tuple(grids),
        parts,
        times,
    )


@lru_cache(maxsize=2**16)
def has_largest(face: Tile, side: int) -> bool:
    """Whether some covering of the face by squares has a largest one of this side."""
    return max(face) <= _MOST_SIDE and side <= min(face) and coverable(side, *face)


def grid_counts(face: Tile, tile: Tile) -> Counter[Tile]:
    """Tiles of each size of a grid, that of ``tile`` first."""
    (rows, below), (columns, beside) = (divmod(n, t) for n, t in zip(face, tile, strict=True))
    heights, widths = {tile[0]: rows}, {tile[1]: columns}
    heights.update({below: 1} if below else {})
    widths.update({beside: 1} if beside else {})
    return Counter({(h, w): m * n for h, m in heights.items() for w, n in widths.items()})
