"""What is known of tilings, against the tiles themselves."""

import numpy as np
import pytest

from archloom.evaluators.fusion.buffer.words import shape_of
from archloom.evaluators.fusion.core_rounds import round_count
from archloom.search.fusion.tiling.grid import GroupTilings
from archloom.search.fusion.tiling.known_tilings import known_tilings
from archloom.space.networks.registry import network
from archloom.space.workload.graph import connected

from ....cases.groups import random_group
from ....cases.sweeps import sweep


def words(tiles):
    return int(tiles.fetched.sum() + tiles.stored.sum())


@pytest.mark.parametrize("seed", sweep(range(60), 12))
@pytest.mark.parametrize("kind", ["any", "operators", "wild"])
def test_they_are_those_of_the_tiles(seed, kind):
    net, layers = random_group(np.random.default_rng(seed), kind)
    if not connected(net, layers):
        pytest.skip("its layers share no data")
    net = net.with_batch(3)
    ways = GroupTilings(shape_of(net, layers), tuple(net.layers[i] for i in layers))
    for cores in (1, 2):
        found = known_tilings(net, layers, cores)
        assert len({(t.tile, t.halo) for t in found}) == len(found)
        for tiling in found:
            tiles = ways.tiles(tiling.tile, tiling.halo)
            assert tiling.peak == tiles.activations.max()
            assert tiling.words == words(tiles)
            assert (tiling.per_image, tiling.linked) == (tiles.count, tiles.linked)
            made = sum(
                int(tiles.made(m).sum())
                // layer.output_channels
                * (layer.macs // (layer.p * layer.q * layer.n))
                for m, layer in enumerate(tiles.layers)
            )
            assert tiling.macs == made


def test_groups_of_one_kind_share_them_and_designs_do(monkeypatch):
    net = network("vit_b_16")
    names = [layer.name for layer in net.layers]
    groups = [
        tuple(range(names.index(f"layer{n}.norm1"), names.index(f"layer{n}.add1") + 1))
        for n in (2, 5)
    ]
    one, other = (known_tilings(net, group, 1) for group in groups)
    assert one is other
    monkeypatch.setattr("archloom.search.fusion.tiling.known_tilings._MOST_GROUPS", 0)
    assert known_tilings(net, groups[0][:3], 1)
    again = known_tilings(net, groups[0], 1)
    assert again == one
    assert again is not one


def test_rounds_deal_linked_tiles_to_one_core():
    assert round_count(6, 4, 1, 2) == 12
    assert round_count(6, 3, 1, 4) == 5
    assert round_count(6, 3, 3, 4) == 6
