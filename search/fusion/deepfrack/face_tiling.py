"""Exact search for the best tiling of a stack's face together with the weights to cache.

DeepFrack's space (sections IV-B and IV-C) and what we add where it says nothing:

- squares of sides 2 and more, of different sizes, that cover the face by guillotine cuts;
- where no tiling has a largest square of some side, that side's grid instead, with rectangles for
  what remains; the whole face as one tile;
- any set of cached weights that fits beside what the largest tile holds.

A tiling costs the sum of its tiles, so for fixed weights the best one is found by dynamic
programming over boxes. Without them fixed, every size of tile may cache what is best for it: that
is a lower bound, for many sides of the largest square at once, and where all tiles of its tiling
agree and fit it is the answer; otherwise the sides are split, or one unit is decided both ways
(branch and bound).
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators import Floats, Ints
from archloom.space.fusion import TileRect

from .guillotine import SMALLEST, least_costs, regular_faces, squares
from .knapsack import WeightCaching, most_saved
from .stack import CostWeights, Stack
from .tile_sets import Tile, grid_counts


@dataclass(frozen=True, slots=True)
class FaceTiling:
    """A tiling of a stack's face.

    Attributes:
        score: weighted sum of its energy and cycles.
        tile: of a grid, the remainder last; None for squares of different sizes.
        side: of the largest square, if there is no grid.
        units: whose weights are cached.
        faces: the squares, if there is no grid, once all of their tiles are measured.
    """

    score: float
    tile: Tile | None
    side: int
    units: tuple[int, ...]
    faces: tuple[TileRect, ...] = ()


def best_tiling(stack: Stack, weights: CostWeights) -> FaceTiling | None:
    """Return the tiling with the least weighted energy and cycles; None if no tile fits.

    Tiles are measured only as far as bounds leave it open whether a tiling with them is the best.
    """
    best: FaceTiling | None = None
    stack.refresh()
    bounds = _least_grids(stack, weights)
    for grid in np.argsort(bounds, kind="stable").tolist():
        if bounds[grid] == inf or (best is not None and bounds[grid] > best.score):
            break
        best = _better(best, _gridded(stack, weights, grid))
    sides = _sides(stack)
    return _squared(stack, weights, best, sides) if sides else best


def _squared(
    stack: Stack, weights: CostWeights, best: FaceTiling | None, sides: list[int]
) -> FaceTiling | None:
    """Return the best covering with largest squares of ``sides``, or ``best``."""
    while True:
        coverings = _SquareCoverings(stack, weights, sides[-1])
        found = coverings.improve(best, sides)
        if found is None or found is best:
            return best
        faces = tuple(coverings.faces(found))
        used = {(face.rows, face.columns) for face in faces}
        if stack.measured(used):
            largest_first = sorted(faces, key=lambda f: (-f.rows, f.row, f.column))
            return replace(found, faces=tuple(largest_first))
        for tile in sorted(used):
            stack.measure(tile)


def least_score(stack: Stack, weights: CostWeights) -> float:
    """Return what no tiling costs less than: parts of weights may be cached.

    No mapping is searched for it.
    """
    least = float(_least_grids(stack, weights).min())
    sides = _sides(stack)
    if not sides:
        return least
    return min(least, _SquareCoverings(stack, weights, sides[-1]).least(sides))


def rough_score(stack: Stack, weights: CostWeights) -> float:
    """Return what :func:`least_score` is not below, without looking at coverings one by one."""
    least = float(_least_grids(stack, weights).min())
    sides = _sides(stack)
    if not sides:
        return least
    return min(least, _SquareCoverings(stack, weights, sides[-1]).least_by_area(sides))


def _least_grids(stack: Stack, weights: CostWeights) -> Floats:
    """float64[G], what each grid does not cost less than, as far as its tiles are measured."""
    tiles = stack.shape.tiles
    costs, saved = stack.costs.weighted(weights)
    least = stack.images * (tiles.counts * costs[tiles.parts]).sum(axis=0)
    # the first tile fetches all weights
    times = stack.images * tiles.counts
    times[0] -= 1
    less = np.zeros((len(stack.units), len(tiles.grids)))
    for count, part in zip(times, tiles.parts, strict=True):
        less += count * saved[:, part]
    free = stack.free[tiles.parts[0]]
    least += weights[0] * stack.leaving_pj - most_saved(stack.words, less, free)
    found: Floats = np.where(free >= stack.streaming_words, least, inf)
    return found


def _better(one: FaceTiling | None, other: FaceTiling | None) -> FaceTiling | None:
    if one is None or other is None:
        return one or other
    return other if other.score < one.score else one


def _sides(stack: Stack) -> list[int]:
    """Sides of largest squares that fit, ascending."""
    tiles = stack.shape.tiles
    fit = stack.free[tiles.squares[tiles.largest]] >= stack.streaming_words
    sides: list[int] = tiles.largest[fit].tolist()
    return sides


def _gridded(stack: Stack, weights: CostWeights, grid: int) -> FaceTiling | None:
    """A grid with the best weights to cache."""
    tiles = stack.shape.tiles
    tile = tiles.grids[grid]
    counts = grid_counts(stack.shape.face, tile)
    if not all(stack.measure(part) for part in counts):
        return None
    sums = _sums(stack, counts, tile)
    streamed, saved = (np.array(weights) @ figure for figure in sums)
    free = int(stack.free[tiles.parts[0, grid]])
    capacity = free - stack.streaming_words
    units = WeightCaching(stack.words, saved[None], capacity).pattern(capacity, 0)
    score = float(streamed - saved[list(units)].sum())
    every = float(streamed - saved.sum())
    if stack.words.sum() <= free and every < score:
        # nothing streams if all weights are cached
        score, units = every, tuple(range(len(stack.words)))
    return FaceTiling(score, tile, 0, units)


def _sums(stack: Stack, counts: Counter[Tile], first: Tile) -> tuple[Floats, Floats]:
    """Energy and cycles float64[2] with no weights cached, and float64[2, U] saved by each unit,
    of tiles that were measured."""
    at = [stack.shape.tiles.number[tile] for tile in counts]
    times = stack.images * np.array(list(counts.values()))
    streamed = stack.costs.streamed[:, at] @ times
    streamed[0] += stack.leaving_pj
    # the first tile fetches all weights
    again = times - np.array([tile == first for tile in counts])
    return streamed, stack.costs.saved[:, :, at] @ again


class _SquareCoverings:
    """Coverings of a face by squares up to ``largest``, with weights cached."""

    def __init__(self, stack: Stack, weights: CostWeights, largest: int) -> None:
        self._stack = stack
        self._words = stack.words
        at = stack.shape.tiles.squares[: largest + 1]
        streamed, saved = stack.costs.weighted(weights)
        self._streamed = streamed[at]
        self._streamed[:SMALLEST] = inf
        self._saved = saved[:, at].T
        self._free = stack.free[at]
        self._leaving = weights[0] * stack.leaving_pj

    def least_by_area(self, sides: list[int]) -> float:
        """Return what :meth:`least` is not below: squares may be cut to cover the face."""
        capacity = np.full(len(self._saved), self._free[sides].max())
        saved = most_saved(self._words, self._saved.T, capacity)[SMALLEST:]
        by_area = (self._streamed[SMALLEST:] - saved) / np.arange(SMALLEST, len(saved) + 2) ** 2
        rows, columns = self._stack.shape.face
        return float(self._stack.images * rows * columns * by_area.min() + self._leaving)

    @cached_property
    def _any(self) -> WeightCaching:
        """Whatever is cached."""
        most = int(self._free[SMALLEST:].max()) - self._stack.streaming_words
        return WeightCaching(self._words, self._saved, most)

    def least(self, sides: list[int]) -> float:
        """Return what no covering with largest squares of ``sides`` costs less than."""
        size = sides[-1] + 1
        capacity = np.full(size, self._free[sides].max())
        saved = most_saved(self._words, self._saved[:size].T, capacity)
        first = np.full(size, inf)
        first[sides] = saved[sides]
        return self._cheapest(self._streamed[:size] - saved, first)[0]

    def improve(self, best: FaceTiling | None, sides: list[int]) -> FaceTiling | None:
        """Return the best covering of those with largest squares of ``sides``, or ``best``."""
        words, streaming = int(self._words.sum()), self._stack.streaming_words
        for side in sides:
            if self._free[side] - streaming < words <= self._free[side]:
                # only with all weights cached nothing streams
                best = _better(best, self._covering(side, tuple(range(len(self._words)))))
        nodes = [_SearchNode(tuple(sides))]
        while nodes:
            best, more = self._expand(best, nodes.pop())
            nodes += more
        return best

    def _expand(
        self, best: FaceTiling | None, node: "_SearchNode"
    ) -> tuple[FaceTiling | None, list["_SearchNode"]]:
        """Look for better coverings in a part of the space; return what is left of it in parts."""
        sides, size = list(node.sides), node.sides[-1] + 1
        # the smallest of the largest squares leaves most of the buffer
        capacity = int(self._free[sides[0]]) - self._stack.streaming_words
        spare = capacity - int(self._words[list(node.kept)].sum())
        if spare < 0:
            return best, []
        caching = self._caching(node.kept, node.left, spare)
        saved = caching.most(spare)[:size] + self._saved[:size, sorted(node.kept)].sum(axis=1)
        first = np.full(size, inf)
        first[sides] = saved[sides]
        bound, found = self._cheapest(self._streamed[:size] - saved, first)
        if bound == inf or _reached(best, bound):
            return best, []
        counts = Counter(found[:, 2].tolist())
        patterns = {node.kept | set(caching.pattern(spare, s)) for s in sorted(counts)}
        for pattern in sorted(patterns, key=sorted):
            best = _better(best, self._counted(counts, tuple(sorted(pattern))))
        if _reached(best, bound):
            return best, []
        return best, node.parts(patterns, self._words)

    def _counted(self, counts: Counter[int], units: tuple[int, ...]) -> FaceTiling | None:
        """A covering by so many squares of each side, with some weights cached."""
        largest, words = max(counts), int(self._words[list(units)].sum())
        if words > self._free[largest] - self._stack.streaming_words:
            return None
        saved = self._saved[:, list(units)].sum(axis=1)
        cost = sum(n * (self._streamed[s] - saved[s]) for s, n in counts.items())
        score = float(self._stack.images * cost + saved[largest] + self._leaving)
        return FaceTiling(score, None, largest, units)

    def _caching(self, kept: frozenset[int], left: frozenset[int], spare: int) -> WeightCaching:
        if not kept and not left:
            return self._any
        saved = self._saved.copy()
        saved[:, list(kept | left)] = 0
        return WeightCaching(self._words, saved, spare)

    def _covering(self, side: int, units: tuple[int, ...]) -> FaceTiling | None:
        """The best covering with a largest square and some weights cached."""
        score, _ = self._with(side, units)
        return FaceTiling(score, None, side, units) if score < inf else None

    def _with(self, side: int, units: tuple[int, ...]) -> tuple[float, NDArray[np.int64]]:
        saved = self._saved[: side + 1, list(units)].sum(axis=1)
        first = np.full(side + 1, inf)
        first[side] = saved[side]
        return self._cheapest(self._streamed[: side + 1] - saved, first)

    def _cheapest(self, cost: Floats, first: Floats) -> tuple[float, NDArray[np.int64]]:
        """Least cost with tiles of these costs, ``first`` more for the first one; the squares."""
        face, images = self._stack.shape.face, self._stack.images
        _, least, any_cut, with_cut = least_costs(cost, first / images, *face)
        score = float(images * least[face] + self._leaving)
        found = squares(any_cut, with_cut) if score < inf else np.zeros((0, 3), np.int64)
        return score, found

    def faces(self, tiling: FaceTiling) -> Iterator[TileRect]:
        """Return the squares of a covering."""
        _, found = self._with(tiling.side, tiling.units)
        return (TileRect(row, column, s, s) for row, column, s in found.tolist())


def _reached(best: FaceTiling | None, bound: float) -> bool:
    """Whether nothing that costs at least ``bound`` is better, but for rounding."""
    return best is not None and best.score <= bound * (1 + 1e-12)


@dataclass(frozen=True, slots=True)
class _SearchNode:
    """A part of the space: sides of the largest square, ascending; units cached and not cached."""

    sides: tuple[int, ...]
    kept: frozenset[int] = frozenset()
    left: frozenset[int] = frozenset()

    def parts(self, patterns: set[frozenset[int]], words: Ints) -> list["_SearchNode"]:
        """Split the sides or, of one side, decide a unit on which squares of a tiling differ."""
        if len(self.sides) > 1:
            half = len(self.sides) // 2
            ends = (self.sides[:half], self.sides[half:])
            return [_SearchNode(sides, self.kept, self.left) for sides in ends]
        argued = frozenset.union(*patterns) - frozenset.intersection(*patterns)
        unit = max(argued, key=lambda u: (int(words[u]), u))
        return [
            _SearchNode(self.sides, self.kept, self.left | {unit}),
            _SearchNode(self.sides, self.kept | {unit}, self.left),
        ]


@dataclass(frozen=True, slots=True)
class TiledFace:
    """A tiling with its rectangles, the largest first, and what they cost.

    Attributes:
        faces: that cut the face exactly.
        energy_pj, cycles: of a pass, leakage included.
    """

    faces: tuple[TileRect, ...]
    energy_pj: float
    cycles: float


def tiled_face(stack: Stack, tiling: FaceTiling) -> TiledFace:
    """Return what :func:`best_tiling` found, tile by tile."""
    faces = tiling.faces
    if tiling.tile is not None:
        faces = regular_faces(stack.shape.face, tiling.tile)
    first = (faces[0].rows, faces[0].columns)
    sums = _sums(stack, Counter((f.rows, f.columns) for f in faces), first)
    energy, cycles = (sums[0] - sums[1][:, list(tiling.units)].sum(axis=1)).tolist()
    return TiledFace(faces, energy, cycles)
