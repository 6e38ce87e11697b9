"""What tiles leave for each other: invariants 10 to 12 and 20 of the fusion model."""

import numpy as np
import pytest

from archloom.evaluators.fusion.tiling.geometry import AFTER, BEFORE, FULL, group_tiles

from ...cases.groups import POLICIES, any_tile, drawn
from ...cases.sweeps import sweep

SEEDS = range(60)


def every_tile(tiles):
    """States of all tiles, int64[3, M, Th, Tw]."""
    rows, columns = tiles.grid
    return tiles.states(np.ix_(range(rows), range(columns)))


@pytest.mark.parametrize("kind", ["any", "operators"])
@pytest.mark.parametrize("seed", sweep(SEEDS, 25))
def test_what_a_tile_leaves_is_what_the_next_one_finds(seed, kind):
    """Invariant 10. Rows that are kept alone end with their band."""
    shape, layers, rng = drawn(seed, kind)
    tile = any_tile(shape, rng)
    for policy in POLICIES:
        states = every_tile(group_tiles(shape, layers, tile, policy))
        before, after = (states[now].reshape(states.shape[1], -1) for now in (BEFORE, AFTER))
        if policy == "keep_inner":
            assert (states[AFTER][:, :, :-1] == states[BEFORE][:, :, 1:]).all()
            assert not states[BEFORE][:, :, 0].any()
            assert not states[AFTER][:, :, -1].any()
        else:
            assert (after[:, :-1] == before[:, 1:]).all()
        assert not before[:, 0].any()
        assert not after[:, -1].any()


@pytest.mark.parametrize("kind", ["any", "operators"])
@pytest.mark.parametrize("seed", sweep(SEEDS, 25))
def test_a_map_that_is_kept_grows_by_what_is_made_of_it(seed, kind):
    """Invariant 11."""
    shape, layers, rng = drawn(seed, kind)
    tiles = group_tiles(shape, layers, any_tile(shape, rng), "keep_all")
    states = every_tile(tiles)
    made = np.stack([tiles.made(u) for u in range(len(shape.channels))])
    assert (states[BEFORE] + made == states[FULL]).all()
    assert (states[[BEFORE, AFTER]] <= states[FULL]).all()
    whole = [c * h * w for c, (h, w) in zip(shape.channels, shape.sizes, strict=True)]
    assert (states[FULL].max(axis=(1, 2)) <= whole).all()


@pytest.mark.parametrize("seed", sweep(SEEDS, 25))
def test_tiles_of_whole_rows_hold_kept_and_new_rows(seed):
    """Invariant 12, for all maps of a group."""
    shape, layers, rng = drawn(seed)
    rows = any_tile(shape, rng)[0]
    tiles = group_tiles(shape, layers, (rows, shape.sizes[shape.anchor][1]), "keep_all")
    kept_and_new = tiles.rows.before(tiles.rows.kept) + tiles.rows.new
    width = tiles.columns.new[:, :1]
    expected = np.array(shape.channels)[:, None] * kept_and_new * width
    assert every_tile(tiles)[FULL][:, :, 0].tolist() == expected.tolist()


@pytest.mark.parametrize("kind", ["any", "dense", "operators"])
@pytest.mark.parametrize("seed", sweep(SEEDS, 25))
def test_the_peak_of_all_tiles_is_at_a_corner(seed, kind):
    """Invariant 20, at each step of each layer."""
    shape, layers, rng = drawn(seed, kind)
    tile = any_tile(shape, rng)
    for policy in POLICIES:
        tiles = group_tiles(shape, layers, tile, policy)
        steps = tiles.at_steps(every_tile(tiles))
        assert tiles.activations.max(axis=(1, 2)).tolist() == steps.max(axis=(1, 2)).tolist()
        moving = (steps + tiles.passing).max(axis=(1, 2))
        assert (tiles.activations + tiles.in_flight).max(axis=(1, 2)).tolist() == moving.tolist()


def test_many_of_those_groups_keep_something_from_tile_to_tile():
    kept = 0
    for seed in SEEDS:
        shape, layers, rng = drawn(seed)
        tiles = group_tiles(shape, layers, any_tile(shape, rng), "keep_all")
        kept += bool(every_tile(tiles)[BEFORE].any())
    assert kept >= 20
