"""Words of tilings by the two kernels, against those that are summed map by map."""

from dataclasses import replace

import numpy as np
import pytest

from archloom.evaluators.fusion.group_graph import GroupShape, group_shape
from archloom.evaluators.fusion.tiling.geometry import group_tiles
from archloom.evaluators.fusion.tiling.tile_words import TiledGroup, tile_sizes
from archloom.space.networks.registry import network

from ....cases.groups import POLICIES, any_tile, drawn
from ....cases.sweeps import sweep

#: random groups in each test
BLOCK = 25


def among_residents(shape: GroupShape, rng: np.random.Generator) -> GroupShape:
    """Return the shape with some of its maps whole in the buffer."""
    held = tuple(t for t in shape.externals if rng.random() < 0.3)
    kept = tuple(m for m in shape.exported if rng.random() < 0.3)
    return replace(shape, held=held, kept=kept, unwritten=tuple(m for m in kept if m % 2))


@pytest.mark.parametrize("kind", ["any", "dense", "operators", "wild"])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("block", sweep(range(8), 2))
def test_words_are_those_of_the_tiles(block: int, policy: str, kind: str) -> None:
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        shape, layers, rng = drawn(seed, kind)
        layers = tuple(layer.with_batch(1 + seed % 3) for layer in layers)
        group = TiledGroup(shape, layers)
        if seed % 2:
            shape = among_residents(shape, rng)
            group = group.among(shape.held, shape.kept, shape.unwritten)
        rows, columns = any_tile(shape, rng)
        tiles = group_tiles(shape, layers, (rows, columns), policy)
        axes = (
            group.axis(0, rows, policy == "keep_all"),
            group.axis(1, columns, policy != "recompute"),
        )
        for axis, sweeps in zip(axes, (tiles.rows, tiles.columns), strict=True):
            assert axis.tiles == sweeps.tiles
            lengths, times = axis.lengths.tolist()
            pairs = [list(zip(*row, strict=True)) for row in zip(lengths, times, strict=True)]
            made = [[(length, n) for length, n in row if n] for row in pairs]
            assert made == sweeps.lengths[: shape.members]
        sizes = [
            (m, height, width, n_h * n_w)
            for m in range(shape.members)
            for height, n_h in tiles.rows.lengths[m]
            for width, n_w in tiles.columns.lengths[m]
        ]
        assert tile_sizes(axes[0].lengths, axes[1].lengths).T.tolist() == [list(s) for s in sizes]
        found = group.words(*axes, policy)
        assert found.peak == tiles.activations.max()
        assert found.prefetching == (tiles.activations + tiles.in_flight).max()
        assert (found.fetched, found.stored) == (tiles.fetched.sum(), tiles.stored.sum())


@pytest.mark.parametrize("policy", POLICIES)
def test_tiles_that_come_again_and_again_are_looked_at_once(policy: str) -> None:
    """Maps of halving sizes make rows alike at a distance, not one after the other."""
    net = network("unet")
    layers = tuple(range(2, len(net.layers) - 2))
    shape, members = group_shape(net, layers), tuple(net.layers[i] for i in layers)
    group = TiledGroup(shape, members)
    rows, columns = group.axis(0, 3, policy == "keep_all"), group.axis(1, 24, policy != "recompute")
    tiles = group_tiles(shape, members, (3, 24), policy)
    found = group.words(rows, columns, policy)
    assert rows.corners.shape[2] < len(tiles.rows.corners()) / 2
    assert found.peak == tiles.activations.max()
    assert found.prefetching == (tiles.activations + tiles.in_flight).max()
