"""Estimates of many tiles of one layer at once, against one after another."""

import numpy as np
import pytest

from archloom.search.fusion.tiling.estimates import TileEstimates
from archloom.search.fusion.tiling.size_numbers import SizeNumbers
from archloom.space.design_space.presets import preset
from archloom.space.networks.registry import network


@pytest.mark.parametrize("design", ["eyeriss", "fast_small"])
@pytest.mark.parametrize("name", ["mobilenetv2", "vit_b_16"])
def test_many_tiles_of_a_layer_cost_what_each_does(name, design):
    net, rng = network(name), np.random.default_rng(1)
    estimates = TileEstimates(net, preset(design))
    for i, layer in list(enumerate(net.layers))[:12]:
        if not layer.uses_macs:
            continue
        rows, columns = (rng.integers(1, side + 1, 5) for side in (layer.p, layer.q))
        for resident in (False, True):
            tiles = [(i, r, c, resident) for r, c in zip(rows, columns, strict=True)]
            expected = np.array(estimates.of(tiles, cut=True)).T
            found = estimates.least(i, rows, columns, resident)
            assert found == pytest.approx(expected, rel=1e-12)


def test_sizes_have_numbers_in_which_layers_of_a_kind_agree():
    net = network("vit_b_16")
    numbers = SizeNumbers(net)
    names = [layer.name for layer in net.layers]
    layers = np.array([names.index(f"layer{n}.qkv") for n in (0, 7, 0)])
    found = numbers.of(layers, np.array([3, 3, 197]), np.array([1, 1, 1]))
    assert found[0] == found[1] != found[2]
    assert [numbers.sizes[n][1:] for n in found.tolist()] == [(3, 1), (3, 1), (197, 1)]
    grid = numbers.of(layers[:1, None], np.array([[3, 5]]), np.array([[1], [1]]))
    assert grid.shape == (2, 2)
    assert grid[0, 0] == found[0]
    assert len(numbers.sizes) == 3
