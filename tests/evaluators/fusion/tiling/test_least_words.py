"""Words of weights by the first tiles of a group, against all of its tiles."""

import numpy as np
import pytest

from archloom.evaluators.fusion.tiling.geometry import group_tiles
from archloom.evaluators.fusion.tiling.least_words import WeightPlaces, least_weight_words
from archloom.evaluators.fusion.tiling.tile_words import TiledGroup

from ....cases.groups import drawn


def halved(rows: int, columns: int) -> list[tuple[int, int]]:
    """Return bands of rows by halving heights."""
    found = [(rows, columns)]
    while found[-1][0] > 1:
        found.append((-(-found[-1][0] // 2), columns))
    return found


@pytest.mark.parametrize("kind", ["dense", "operators"])
def test_hardly_any_tiling_that_fits_moves_fewer_weights(kind: str) -> None:
    near = []
    for seed in range(40):
        shape, layers, rng = drawn(seed, kind)
        group = TiledGroup(shape, layers)
        tiles = halved(*shape.sizes[shape.anchor])
        kept = [group_tiles(shape, layers, tile, "keep_all") for tile in tiles]
        peaks = [int(some.activations.max()) for some in kept]
        free = int(rng.integers(min(peaks) + 1, 2 * max(peaks) + 2))
        each = rng.integers(0, 2 * free, len(layers))
        found = least_weight_words(group, tiles, WeightPlaces(each, free, True))
        fitting = [n for n, peak in enumerate(peaks) if peak < free]
        words = []
        for n in fitting[:3]:
            space = free - peaks[n]
            runs = [
                sum(times for _, times in kept[n].rows.lengths[m])
                * sum(times for _, times in kept[n].columns.lengths[m])
                * layers[0].n
                for m in range(len(layers))
            ]
            # weights stay as long as there is space, the largest first
            moved = 0
            for m in np.argsort(-each, kind="stable").tolist():
                stays = each[m] < space
                moved += int(each[m]) * (1 if stays else runs[m])
                space -= int(each[m]) * stays
            words.append(moved)
        assert found >= 0
        near.append(found / max(1, min(words)))
    # tiles like the first ones are guessed, and weights fill what space there is
    assert max(near) < 1.25
    assert sum(ratio <= 1 for ratio in near) > 0.9 * len(near)
    assert np.median(near) > 0.9


def test_what_fits_nowhere_moves_nothing() -> None:
    shape, layers, _ = drawn(3, "dense")
    group = TiledGroup(shape, layers)
    each = np.ones(len(layers), np.int64)
    assert least_weight_words(group, [(1, 1)], WeightPlaces(each, 1, True)) == -1
    assert least_weight_words(group, [], WeightPlaces(each, 2**40, True)) == -1


def test_a_buffer_that_keeps_no_weights_loads_them_for_every_tile() -> None:
    shape, layers, _ = drawn(3, "dense")
    group = TiledGroup(shape, layers)
    tile = shape.sizes[shape.anchor]
    each = np.arange(1, len(layers) + 1)
    places = WeightPlaces(each, 2**40, False)
    assert least_weight_words(group, [tile], places) == int(each.sum()) * layers[0].n
