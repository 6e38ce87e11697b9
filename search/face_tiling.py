"""The best tiling of a stack's face together with the weights to cache, exactly.

DeepFrack's space (sections IV-B and IV-C) and what we add where it says nothing:

- squares of sides 2 and more, of different sizes, that cover the face by guillotine cuts;
- where no tiling has a largest square of some side, that side's grid instead, with rectangles for
  what remains; the whole face as one tile;
- any set of cached weights that fits beside what the largest tile holds.

A tiling costs the sum of its tiles, so for fixed weights the best one is found by dynamic
programming over boxes. Without them fixed, every size of tile may cache what is best for it: that
is a lower bound, and where all tiles of its tiling agree it is the answer; otherwise one unit is
decided both ways (branch and bound).
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..space.faces import Face
from .square_tilings import SMALLEST, least_costs, regular_faces, squares
from .stack import Stack, Tile
from .weight_caching import Caching

Floats = NDArray[np.float64]

#: longest side of a face that is covered with different squares; longer ones get grids
MOST_SIDE: Final = 256

#: energy (pJ) and cycles
Weights = tuple[float, float]


@dataclass(frozen=True, slots=True)
class FaceTiling:
    """A tiling of a stack's face.

    Attributes:
        score: weighted sum of its energy and cycles.
        tile: of a grid, the remainder last; None for squares of different sizes.
        side: of the largest square, if there is no grid.
        units: whose weights are cached.
    """

    score: float
    tile: Tile | None
    side: int
    units: tuple[int, ...]


def best_tiling(stack: Stack, weights: Weights) -> FaceTiling | None:
    """Return the tiling with the least weighted energy and cycles; None if no tile fits."""
    best: FaceTiling | None = None
    for tile in _grids(stack):
        best = _better(best, _gridded(stack, weights, tile))
    sides = _sides(stack)
    if sides:
        best = _Squares(stack, weights, sides[-1]).improve(best, sides)
    return best


def fits(stack: Stack) -> bool:
    """Whether any tile of the face fits the buffer."""
    return bool(_grids(stack) or _sides(stack))


def _better(one: FaceTiling | None, other: FaceTiling | None) -> FaceTiling | None:
    if one is None or other is None:
        return one or other
    return other if other.score < one.score else one


@lru_cache(maxsize=256)
def largest_sides(face: Tile) -> tuple[int, ...]:
    """Return the sides that the largest square can have in a covering of the face by squares."""
    if max(face) > MOST_SIDE:
        return ()
    found = []
    for side in range(SMALLEST, min(face) + 1):
        price = np.full(side + 1, inf)
        price[SMALLEST:] = 1
        if least_costs(price, *face)[1][face] < inf:
            found.append(side)
    return tuple(found)


def _fitting(stack: Stack, tiles: list[Tile]) -> list[Tile]:
    free = stack.free_words(tiles).tolist()
    return [t for t, words in zip(tiles, free, strict=True) if words >= stack.streaming_words]


def _sides(stack: Stack) -> list[int]:
    """Sides of largest squares that fit, ascending."""
    return [t[0] for t in _fitting(stack, [(s, s) for s in largest_sides(stack.face)])]


def _grids(stack: Stack) -> list[Tile]:
    """Tiles of grids that fit: of sides that no largest square can have, and the whole face."""
    rows, columns = stack.face
    sides = set(largest_sides(stack.face))
    tiles = {
        (min(s, rows), min(s, columns)) for s in range(SMALLEST, max(stack.face)) if s not in sides
    }
    return _fitting(stack, sorted(tiles | {stack.face}))


def _gridded(stack: Stack, weights: Weights, tile: Tile) -> FaceTiling | None:
    """A grid with the best weights to cache."""
    counts = Counter((f.rows, f.columns) for f in regular_faces(stack.face, tile))
    sums = _sums(stack, counts, tile)
    if sums is None:
        return None
    streamed, saved = (np.array(weights) @ figure for figure in sums)
    (free,) = stack.free_words([tile]).tolist()
    room = free - stack.streaming_words
    units = Caching(stack.words, saved[None], room).pattern(room, 0)
    score = float(streamed - saved[list(units)].sum())
    every = float(streamed - saved.sum())
    if stack.words.sum() <= free and every < score:
        # nothing streams if all weights are cached
        score, units = every, tuple(range(len(stack.words)))
    return FaceTiling(score, tile, 0, units)


def _sums(stack: Stack, counts: Counter[Tile], first: Tile) -> tuple[Floats, Floats] | None:
    """Energy and cycles float64[2] with no weights cached, and float64[2, U] saved by each unit."""
    streamed, saved = np.zeros(2), np.zeros((2, len(stack.units)))
    streamed[0] = stack.leaving_pj
    for tile, count in counts.items():
        cost = stack.cost(tile)
        if cost is None:
            return None
        times = count * stack.images
        streamed += times * cost.streamed
        # the first tile fetches all weights
        saved += (times - (tile == first)) * cost.saved
    return streamed, saved


class _Squares:
    """Coverings of a face by squares up to ``largest``, with weights cached."""

    def __init__(self, stack: Stack, weights: Weights, largest: int) -> None:
        self._stack = stack
        self._words = stack.words
        tiles = [(s, s) for s in range(largest + 1)]
        costs = [stack.cost(t) if t[0] >= SMALLEST else None for t in tiles]
        none = np.zeros((2, len(stack.units)))
        w = np.array(weights)
        self._streamed = np.array([inf if c is None else w @ c.streamed for c in costs])
        self._saved = np.array([w @ (none if c is None else c.saved) for c in costs])
        self._free = stack.free_words(tiles)
        self._leaving = weights[0] * stack.leaving_pj
        most = int(self._free[SMALLEST:].max()) - stack.streaming_words
        self._any = Caching(self._words, self._saved, most)

    def improve(self, best: FaceTiling | None, sides: list[int]) -> FaceTiling | None:
        """Return the best covering of those with largest squares of ``sides``, or ``best``."""
        for side in reversed(sides):
            room = int(self._free[side])
            every = tuple(range(len(self._words)))
            if room - self._stack.streaming_words < self._words.sum() <= room:
                # only with all weights cached nothing streams
                best = _better(best, self._covering(side, every))
            best = self._settle(best, side, room - self._stack.streaming_words)
        return best

    def _settle(self, best: FaceTiling | None, side: int, room: int) -> FaceTiling | None:
        # units that are cached, units that are not; the others are open
        nodes: list[tuple[frozenset[int], frozenset[int]]] = [(frozenset(), frozenset())]
        while nodes:
            kept, left = nodes.pop()
            spare = room - int(self._words[list(kept)].sum())
            if spare < 0:
                continue
            caching = self._caching(kept, left, spare)
            fixed = self._saved[: side + 1, sorted(kept)].sum(axis=1)
            saved = caching.most(spare)[: side + 1] + fixed
            bound, found = self._cheapest(self._streamed[: side + 1] - saved, saved[side])
            if best is not None and bound >= best.score:
                continue
            used = sorted({int(s) for s in found[:, 2]})
            patterns = [kept | set(caching.pattern(spare, s)) for s in used]
            agreed = frozenset.intersection(*patterns)
            for pattern in set(patterns):
                best = _better(best, self._covering(side, tuple(sorted(pattern))))
            argued = frozenset.union(*patterns) - agreed
            if argued:
                unit = max(argued, key=lambda u: (int(self._words[u]), u))
                nodes += [(kept, left | {unit}), (kept | {unit}, left)]
        return best

    def _caching(self, kept: frozenset[int], left: frozenset[int], spare: int) -> Caching:
        if not kept and not left:
            return self._any
        saved = self._saved.copy()
        saved[:, list(kept | left)] = 0
        return Caching(self._words, saved, spare)

    def _covering(self, side: int, units: tuple[int, ...]) -> FaceTiling | None:
        """The best covering with some weights cached."""
        saved = self._saved[: side + 1, list(units)].sum(axis=1)
        score, _ = self._cheapest(self._streamed[: side + 1] - saved, saved[side])
        return FaceTiling(score, None, side, units) if score < inf else None

    def _cheapest(self, price: Floats, first: float) -> tuple[float, NDArray[np.int64]]:
        """Least cost with tiles of these prices, ``first`` more for the first one; the squares."""
        face = self._stack.face
        _, least, any_cut, with_cut = least_costs(price, *face)
        score = float(self._stack.images * least[face] + first + self._leaving)
        found = squares(any_cut, with_cut) if score < inf else np.zeros((0, 3), np.int64)
        return score, found

    def faces(self, tiling: FaceTiling) -> Iterator[Face]:
        """Return the squares of a covering."""
        side = tiling.side
        saved = self._saved[: side + 1, list(tiling.units)].sum(axis=1)
        _, found = self._cheapest(self._streamed[: side + 1] - saved, 0)
        return (Face(row, column, s, s) for row, column, s in found.tolist())


@dataclass(frozen=True, slots=True)
class TiledFace:
    """A tiling with its rectangles, the largest first, and what they cost.

    Attributes:
        faces: that cut the face exactly.
        energy_pj, cycles: of a pass, leakage included.
    """

    faces: tuple[Face, ...]
    energy_pj: float
    cycles: float


def realised(stack: Stack, weights: Weights, tiling: FaceTiling) -> TiledFace:
    """Return what :func:`best_tiling` found, tile by tile."""
    if tiling.tile is not None:
        faces = regular_faces(stack.face, tiling.tile)
    else:
        found = _Squares(stack, weights, tiling.side).faces(tiling)
        faces = tuple(sorted(found, key=lambda f: (-f.rows, f.row, f.column)))
    first = (faces[0].rows, faces[0].columns)
    sums = _sums(stack, Counter((f.rows, f.columns) for f in faces), first)
    if sums is None:
        raise AssertionError("a tile of the best tiling has no cost")
    energy, cycles = (sums[0] - sums[1][:, list(tiling.units)].sum(axis=1)).tolist()
    return TiledFace(faces, energy, cycles)
