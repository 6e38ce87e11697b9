"""Cheapest tiling of a rectangular face by squares with guillotine cuts, by dynamic programming.

A face is a square, or it is cut from side to side into two that are cut further (guillotine cuts:
Gilmore and Gomory, "Multistage cutting stock problems of two and more dimensions", 1965). Not all
tilings by squares are of this kind: some pinwheels and the perfect squared rectangles are not. Up
to 8 x 8 every multiset of squares that covers a face does so by guillotine cuts as well
(tests/search/fusion/deepfrack/test_guillotine.py), so the least cost is the same there.
"""

from typing import Final

import numpy as np

from archloom.evaluators import Floats, Ints
from archloom.evaluators.jit import compiled
from archloom.space.fusion import TileRect

#: smallest side of a square (DeepFrack section IV-C)
SMALLEST: Final = 2


@compiled
def least_costs(
    square_costs: Floats, first: Floats, rows: int, columns: int
) -> tuple[Floats, Floats, Ints, Ints]:
    """Return the least cost of every box, and how to get it.

    Args:
        square_costs: float64[T + 1], of a square of each side; infinite where there is none.
        first: float64[T + 1], how much more the first square costs; infinite where it has
            another side.
        rows, columns: of the largest box.

    Returns:
        float64[rows + 1, columns + 1], without a first square and with one; and for both int64 of
        the same shape: 0 for a square, i for a cut below row i, -j for a cut after column j. The
        first square is above or left of the cut.
    """
    largest = len(square_costs) - 1
    any_cost = np.full((rows + 1, columns + 1), np.inf)
    with_cost = np.full((rows + 1, columns + 1), np.inf)
    any_cut = np.zeros((rows + 1, columns + 1), np.int64)
    with_cut = np.zeros((rows + 1, columns + 1), np.int64)
    for h in range(2, rows + 1):
        for w in range(2, columns + 1):
            if h == w and h <= largest:
                any_cost[h, w] = square_costs[h]
                with_cost[h, w] = square_costs[h] + first[h]
            for i in range(2, h - 1):
                rest = any_cost[h - i, w]
                if 2 * i <= h and any_cost[i, w] + rest < any_cost[h, w]:
                    any_cost[h, w], any_cut[h, w] = any_cost[i, w] + rest, i
                if with_cost[i, w] + rest < with_cost[h, w]:
                    with_cost[h, w], with_cut[h, w] = with_cost[i, w] + rest, i
            for j in range(2, w - 1):
                rest = any_cost[h, w - j]
                if 2 * j <= w and any_cost[h, j] + rest < any_cost[h, w]:
                    any_cost[h, w], any_cut[h, w] = any_cost[h, j] + rest, -j
                if with_cost[h, j] + rest < with_cost[h, w]:
                    with_cost[h, w], with_cut[h, w] = with_cost[h, j] + rest, -j
    return any_cost, with_cost, any_cut, with_cut


@compiled
def coverable(largest: int, rows: int, columns: int) -> bool:
    """Whether squares of sides 2 to ``largest``, and one of that side, cover a box by such cuts."""
    some = np.zeros((rows + 1, columns + 1), np.bool_)
    with_it = np.zeros((rows + 1, columns + 1), np.bool_)
    for h in range(2, rows + 1):
        for w in range(2, columns + 1):
            some[h, w] = h == w and h <= largest
            with_it[h, w] = h == w and h == largest
            # boxes that are too small for the largest square have nothing else to find
            small = h < largest or w < largest
            for i in range(2, h - 1):
                if with_it[h, w] or (small and some[h, w]):
                    break
                some[h, w] |= some[i, w] and some[h - i, w]
                with_it[h, w] |= with_it[i, w] and some[h - i, w]
            for j in range(2, w - 1):
                if with_it[h, w] or (small and some[h, w]):
                    break
                some[h, w] |= some[h, j] and some[h, w - j]
                with_it[h, w] |= with_it[h, j] and some[h, w - j]
            some[h, w] |= with_it[h, w]
    return bool(with_it[rows, columns])


@compiled
def squares(any_cut: Ints, with_cut: Ints) -> Ints:
    """Return the cheapest tiling with a first square: int64[n, 3], row, column, side.

    ``any_cut`` and ``with_cut`` are those of :func:`least_costs`, which found a tiling.
    """
    rows, columns = any_cut.shape[0] - 1, any_cut.shape[1] - 1
    found = np.empty((rows * columns, 3), np.int64)
    # row, column, height, width, whether the first square must be inside
    stack = np.empty((rows * columns + 1, 5), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3], stack[0, 4] = 0, 0, rows, columns, 1
    count, waiting = 0, 1
    while waiting:
        waiting -= 1
        row, column, h, w, must = stack[waiting]
        cut = with_cut[h, w] if must else any_cut[h, w]
        if cut == 0:
            found[count, 0], found[count, 1], found[count, 2] = row, column, h
            count += 1
            continue
        first = stack[waiting]
        other = stack[waiting + 1]
        if cut > 0:
            other[0], other[1], other[2], other[3] = row + cut, column, h - cut, w
            first[2] = cut
        else:
            other[0], other[1], other[2], other[3] = row, column - cut, h, w + cut
            first[3] = -cut
        other[4] = 0
        waiting += 2
    return found[:count].copy()


def regular_faces(size: tuple[int, int], tile: tuple[int, int]) -> tuple[TileRect, ...]:
    """Return the tiles of a grid, row by row, with what remains in the last row and column."""
    (rows, columns), (height, width) = size, tile
    return tuple(
        TileRect(i, j, min(height, rows - i), min(width, columns - j))
        for i in range(0, rows, height)
        for j in range(0, columns, width)
    )
