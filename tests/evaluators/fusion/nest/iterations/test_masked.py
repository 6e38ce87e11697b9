"""Tiles that a mask leaves, against all pairs of a query and a key one by one."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from archloom.evaluators.fusion.nest.iterations import KEYS, QUERIES, TileGrid, seen_tiles
from archloom.space.workload import Mask


@settings(max_examples=120)
@given(
    queries=st.integers(1, 14),
    before=st.integers(0, 9),
    rows=st.integers(1, 4),
    more=st.integers(0, 12),
    tile=st.integers(1, 20),
    tile_keys=st.integers(1, 12),
)
def test_tiles_with_a_pair_that_is_seen_are_those_between_two_tiles(
    queries: int, before: int, rows: int, more: int, tile: int, tile_keys: int
) -> None:
    keys, window = queries + before, more and before + more
    row, key = np.arange(queries * rows)[:, None], np.arange(keys)
    own = row // rows + before
    seen = (key <= own) & ((key > own - window) | (window == 0))
    height, width = -(-len(row) // tile), -(-keys // tile_keys)
    tiles = np.zeros((height, width), bool)
    np.logical_or.at(tiles, tuple(np.broadcast_arrays(row // tile, key // tile_keys)), seen)
    mask = Mask("k", rows, window)
    assert mask.pairs(queries, keys) * rows == seen.sum()
    first, last = seen_tiles(mask, (queries, tile, queries * rows), (keys, tile_keys))
    grid = TileGrid.between(first, last, width, QUERIES)
    assert (grid.live == tiles).all()
    assert int((last - first + 1).sum()) == tiles.sum()


@pytest.mark.parametrize("outer", [QUERIES, KEYS])
def test_first_and_last_tiles_come_in_the_order_of_the_loops(outer: int) -> None:
    live = np.array([[0, 1, 1, 0], [1, 1, 1, 0], [1, 0, 1, 1]], bool)
    grid = TileGrid(live, outer)
    assert np.argwhere(grid.first_key).tolist() == [[0, 1], [1, 0], [2, 0]]
    assert np.argwhere(grid.last_key).tolist() == [[0, 2], [1, 2], [2, 3]]
    assert np.argwhere(grid.first(live, QUERIES)).tolist() == [[0, 1], [0, 2], [1, 0], [2, 3]]
    first = [[0, 1]] if outer == QUERIES else [[1, 0]]
    assert np.argwhere(grid.first(live, QUERIES, KEYS)).tolist() == first
    assert (grid.first(live) == live).all()
