"""Words in the shared buffer, against a group that is run tile by tile over coordinates."""

import numpy as np
import pytest

from archloom.evaluators.fusion.group_graph import group_shape
from archloom.evaluators.fusion.tiling.geometry import GroupTiles, group_tiles

from ....cases.groups import POLICIES, any_tile, drawn, macs, random_group
from ....cases.sweeps import sweep
from ....oracles.tile_simulator import Run, in_flight, simulate

#: random groups: ten in each of forty-two tests
BLOCK = 10


def grid(tiles: GroupTiles, values):
    """Return per-tile ``values`` as an array of [rows, columns, ...] tiles."""
    return np.array(values).reshape(tiles.rows.tiles, tiles.columns.tiles, -1)


def at_corners(tiles: GroupTiles, values):
    return grid(tiles, values)[np.ix_(tiles.rows.corners(), tiles.columns.corners())]


def check_counts(tiles: GroupTiles, run: Run):
    assert tiles.fetched.ravel().tolist() == run.fetched
    assert tiles.stored.ravel().tolist() == run.written
    assert {u: int(tiles.made(u).sum()) for u in run.made} == run.made
    assert macs(tiles) == run.macs


def check_occupancy(tiles: GroupTiles, run: Run):
    moving = in_flight(run, tiles.images)
    steps = np.moveaxis(at_corners(tiles, run.steps), 2, 0)
    assert tiles.activations.tolist() == steps.tolist()
    assert tiles.in_flight.tolist() == at_corners(tiles, moving)[..., 0].tolist()
    # the corners stand for all tiles, at every step and with transfers in flight or without
    every = grid(tiles, run.steps)
    peaks = every.max(axis=(0, 1)), (every + grid(tiles, moving)).max(axis=(0, 1))
    assert tiles.activations.max(axis=(1, 2)).tolist() == peaks[0].tolist()
    assert (tiles.activations + tiles.in_flight).max(axis=(1, 2)).tolist() == peaks[1].tolist()


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("block", sweep(range(36), 8))
def test_every_word_is_where_the_simulated_run_has_it(block, policy):
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        shape, layers, rng = drawn(seed)
        layers = tuple(layer.with_batch(1 + seed % 2) for layer in layers)
        tile = any_tile(shape, rng)
        tiles = group_tiles(shape, layers, tile, policy)
        run = simulate(shape, layers, tile, policy)
        check_counts(tiles, run)
        check_occupancy(tiles, run)


@pytest.mark.parametrize("kind", ["dense", "pointwise", "operators"])
@pytest.mark.parametrize("policy", POLICIES)
def test_every_word_is_where_it_should_be_in_groups_of_one_kind(policy, kind):
    for seed in range(BLOCK if kind != "operators" else 12 * BLOCK):
        shape, layers, rng = drawn(1000 + seed, kind)
        tile = any_tile(shape, rng)
        tiles = group_tiles(shape, layers, tile, policy)
        run = simulate(shape, layers, tile, policy)
        check_counts(tiles, run)
        check_occupancy(tiles, run)


def test_the_peak_with_prefetch_is_found_inside_a_run_of_equal_tiles():
    """Windows of the last tiles end in the padding: nothing is left to fetch for them."""
    for seed in (207, 241, 276):
        shape, layers, rng = drawn(seed)
        tile = any_tile(shape, rng)
        tiles = group_tiles(shape, layers, tile, "keep_all")
        run = simulate(shape, layers, tile, "keep_all")
        assert 0 in tiles.fetched
        check_occupancy(tiles, run)


@pytest.mark.parametrize("seed", sweep(range(40), 16))
def test_bands_of_whole_rows_hold_kept_rows_plus_new_rows(seed):
    """With full-width tiles a map takes (kept + new rows) x width while it is used."""
    rng = np.random.default_rng(seed)
    network, members = random_group(rng, "dense")
    last = network.layers[members[-1]]
    shape = group_shape(network, members[-1:])
    tile = (int(rng.integers(1, last.p + 1)), last.q)
    tiles = group_tiles(shape, (last,), tile, "keep_all")
    rows, columns = tiles.rows, tiles.columns
    expected = [
        sum(
            shape.channels[u]
            * (rows.before(rows.kept)[u, i] + rows.new[u, i])
            * columns.new[u].sum()
            for u in range(len(shape.channels))
        )
        for i in rows.corners()
    ]
    assert tiles.activations[0, :, 0].tolist() == expected
