"""How many MACs exact factors occupy, against all products of factors."""

from functools import cache

import numpy as np
import pytest

from archloom.search.fusion.tiling.mesh_utilisation import (
    Axis,
    even_sides,
    mesh_axes,
    most_parallel,
)
from archloom.space.design_space.presets import preset
from archloom.space.workload.dims import DIMS


def most(axes: tuple[Axis, ...], bounds: tuple[int, ...]) -> int:
    """The same by trying every factor of every dimension along every axis."""

    @cache
    def best(axis: int, d: int, room: int, left: tuple[int, ...]) -> int:
        if axis == len(axes):
            return 1
        if d == len(DIMS):
            return best(axis + 1, 0, axes[axis + 1][0] if axis + 1 < len(axes) else 1, left)
        found = best(axis, d + 1, room, left)
        for factor in range(2, min(room, left[d]) + 1):
            if axes[axis][1][d] and left[d] % factor == 0:
                rest = (*left[:d], left[d] // factor, *left[d + 1 :])
                found = max(found, factor * best(axis, d + 1, room // factor, rest))
        return found

    return best(0, 0, axes[0][0], bounds) if axes else 1


@pytest.mark.parametrize("seed", range(40))
def test_no_factors_occupy_more(seed: int) -> None:
    rng = np.random.default_rng(seed)
    axes = tuple(
        (int(rng.integers(2, 15)), tuple(bool(may) for may in rng.random(len(DIMS)) < 0.5))
        for _ in range(rng.integers(1, 4))
    )
    bounds = tuple(int(b) for b in rng.choice([1, 1, 2, 3, 4, 6, 7, 12, 47], len(DIMS)))
    assert most_parallel(axes, bounds) == most(axes, bounds)


def test_a_tile_may_occupy_more_than_the_whole_map() -> None:
    axes = mesh_axes(preset("eyeriss"))
    assert [size for size, _ in axes] == [14, 12]
    bounds = dict.fromkeys(DIMS, 1) | {"K": 64, "C": 64, "P": 282, "Q": 282, "R": 3, "S": 3}
    assert most_parallel(axes, tuple(bounds.values())) == 144
    assert most_parallel(axes, tuple((bounds | {"P": 14, "Q": 14}).values())) == 168


def test_sides_are_those_of_axes_that_unroll_rows_or_columns() -> None:
    assert even_sides(preset("eyeriss")) == (6, 7, 12, 14, 24, 28, 48, 56, 96, 112)
    assert even_sides(preset("fast_large")) == ()
    assert most_parallel(mesh_axes(preset("fast_large")), (1,) * len(DIMS)) is None
