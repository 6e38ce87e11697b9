"""Of tiles of queries and keys those that are looked at stand for all that run."""

import numpy as np
import pytest

from archloom.evaluators.fusion.nest.iterations import (
    KEYS,
    QUERIES,
    TileGrid,
    every,
    masked_cells,
    shown,
    shown_tiles,
    unfolded_cells,
)


@pytest.mark.parametrize("outer", [QUERIES, KEYS])
@pytest.mark.parametrize(("first", "width"), [(0, 30), (1, 5), (1, 14)])
def test_each_tile_is_stood_for_by_one_of_its_kind(outer: int, first: int, width: int) -> None:
    size = 41
    rows = np.arange(size)
    grid = TileGrid.between(np.maximum(first * (rows - width), 0), rows, size, outer)
    loops = (every(3 * size - 1, 3), every(2 * size - 1, 2))
    what = [grid.first_key, grid.last_key, grid.first(grid.live, QUERIES)]
    tiles = shown_tiles(grid, what, loops)
    assert len(tiles.times) < grid.live.sum() / 2
    stands = tiles.stands[grid.live]
    assert np.bincount(stands, minlength=len(tiles.times)).tolist() == tiles.times.tolist()
    for plane in (*what, grid.live):
        assert (plane[tiles.queries, tiles.keys][stands] == plane[grid.live]).all()
    for axis, number in enumerate((tiles.queries, tiles.keys)):
        every_one = np.nonzero(grid.live)[axis]
        assert (loops[axis].tile[number][stands] == loops[axis].tile[every_one]).all()
    # the tiles before and behind each are of the kinds of those before and behind what stands
    order = np.lexsort(np.nonzero(grid.live)[::-1] if outer == QUERIES else np.nonzero(grid.live))
    kinds = np.stack([plane[grid.live][order] for plane in what])
    walked = stands[order]
    for step in (-2, -1, 1, 2):
        beside = np.roll(kinds, step, axis=1)[:, 3:-3]
        for number in range(len(tiles.times)):
            assert len(np.unique(beside[:, walked[3:-3] == number], axis=1).T) <= 1


def test_other_loops_stand_around_between_and_inside() -> None:
    rows = np.arange(12)
    grid = TileGrid.between(0 * rows, rows, 12, QUERIES)
    loops = [shown(20, 1), every(12, 1), shown(3, 1), every(12, 1), shown(2, 1)]
    tiles = shown_tiles(grid, [grid.first_key, grid.last_key], (loops[1], loops[3]))
    cells = masked_cells(loops, (1, 3), tiles)
    times = cells.times * loops[0].times[cells.index[0]]
    found = unfolded_cells(loops, (1, 3), cells)
    assert len(found) == times.sum() == 20 * 78 * 3 * 2
    assert np.bincount(found).tolist() == times.tolist()
    assert [cells.index[at][found][:8].tolist() for at in (1, 2, 3, 4)] == [
        [0, 0, 0, 0, 0, 0, 1, 1],
        [0, 0, 1, 1, 2, 2, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 0],
        [0, 1, 0, 1, 0, 1, 0, 1],
    ]
