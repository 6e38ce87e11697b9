"""What tiles of ranges need and hold, against receptive fields of each group by itself."""

import numpy as np
import pytest

from archloom.evaluators.fusion.group_graph import group_shape
from archloom.search.fusion.deepfrack.ranges import KnownRanges, known_ranges
from archloom.search.fusion.deepfrack.tile_sets import tile_set

from ....cases.groups import random_group
from ....oracles.receptive_fields import receptive_fields


def ranges(known, network):
    """Yield every kind of range with its first one, as a group."""
    count = len(network.layers)
    kinds = [known.kind(s, e) for s in range(count) for e in range(s + 1, count + 1)]
    for kind in dict.fromkeys(kind for kind in kinds if kind is not None):
        found = known.shape(kind)
        yield found, group_shape(network, found.layers)


def needed(known, found, tile):
    """Rows and columns of the layers on a tile, then words of maps from outside."""
    at = found.tiles.number[tile]
    sizes = [known.numbers.sizes[size][1:] for size in found.sizes[:, at].tolist()]
    return sizes, [int(box.words[at]) for box in found.arriving]


@pytest.mark.parametrize("kind", ["any", "dense", "operators"])
def test_extents_are_receptive_fields_that_maps_bound(kind):
    """Where one map leaves the group unread, as what tiles need is told in closed form."""
    compared = 0
    for seed in range(60):
        network, _ = random_group(np.random.default_rng(seed), kind)
        known = KnownRanges(network)
        for found, shape in ranges(known, network):
            if len(set(shape.exported) - {e.source for e in shape.edges}) > 1:
                continue
            layers = tuple(network.layers[i] for i in found.layers)
            tile = list(found.tiles.number)[seed % len(found.tiles.number)]
            fields = receptive_fields(shape, layers, tile)
            expected = [
                tuple(min(f.extent, n) for f, n in zip(field, size, strict=True))
                for field, size in zip(fields, shape.sizes, strict=True)
            ]
            sizes, words = needed(known, found, tile)
            if all(e.patch == (1, 1) for e in shape.edges):
                assert sizes == expected[: shape.members], seed
                outside = [
                    shape.channels[u] * expected[u][0] * expected[u][1] for u in shape.externals
                ]
                assert sorted(words) == sorted(outside), seed
            # grids start their tiles at fewer places than squares do
            assert np.all(np.array(sizes) >= np.array(expected[: shape.members])), seed
            compared += 1
    assert compared >= 60


def test_a_range_holds_its_maps_from_when_they_are_made_to_when_they_are_read():
    compared = 0
    for seed in range(40):
        network, _ = random_group(np.random.default_rng(seed), "operators")
        known = KnownRanges(network)
        for found, shape in ranges(known, network):
            last = [shape.last_reader(u) for u in range(len(shape.sizes))]
            for tile in found.tiles.number:
                sizes, outside = needed(known, found, tile)
                made = [c * r * q for c, (r, q) in zip(shape.channels, sizes, strict=False)]
                boxes = zip(found.arriving, outside, strict=True)
                lasting = [(0, box.last - found.layers[0], words) for box, words in boxes]
                lasting += [(m, last[m], words) for m, words in enumerate(made)]
                steps = range(shape.members)
                peak = max(sum(w for a, b, w in lasting if a <= step <= b) for step in steps)
                assert found.held[found.tiles.number[tile]] == peak, seed
            compared += 1
    assert compared >= 40


def test_networks_that_are_too_much_to_remember_are_forgotten(monkeypatch):
    network, _ = random_group(np.random.default_rng(0), "any")
    first = known_ranges(network)
    assert known_ranges(network) is first
    for _ in ranges(first, network):
        pass
    monkeypatch.setattr("archloom.search.fusion.deepfrack.ranges._MOST_FIGURES", 0)
    assert known_ranges(network) is not first


@pytest.mark.parametrize("face", [(1, 1), (1, 5), (2, 2), (3, 7), (9, 6), (300, 2)])
def test_sizes_of_tiles_cover_the_face_grid_by_grid(face):
    tiles = tile_set(face)
    areas = np.append(tiles.rows * tiles.columns, 0)
    assert np.all((tiles.counts * areas[tiles.parts]).sum(axis=0) == face[0] * face[1])
    assert [(tiles.rows[n], tiles.columns[n]) for n in tiles.parts[0]] == list(tiles.grids)
    for side, number in enumerate(tiles.squares.tolist()):
        assert tiles.number.get((side, side), len(areas) - 1) == number or side < 2
