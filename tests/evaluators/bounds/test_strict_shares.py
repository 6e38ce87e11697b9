"""What meshes leave to layers by the bounds of any plan, against all factors of small layers."""

from collections.abc import Iterator
from itertools import product
from math import prod

import numpy as np
import pytest

from archloom.evaluators.bounds.layer import design_and_prices
from archloom.evaluators.bounds.level_capacity import Design, shares_of, sliding_both
from archloom.space.design_space.presets import preset
from archloom.space.workload import DIMS, NO_ZEROS, C, K, R, S

#: dimensions that the cases unroll
SOME = (K, C, R, S)


def meshed(lanes: int, clusters: tuple[int, int]) -> Design:
    """A design of edgetpu's levels: ``lanes`` unroll channels or taps, clusters anything."""
    design, _ = design_and_prices(preset("edgetpu"), NO_ZEROS)
    fanout = np.ones_like(design.fanout)
    fanout[0, 1], fanout[3] = lanes, clusters
    return design._replace(fanout=fanout)


def factors(children: int, dims: int) -> Iterator[tuple[int, ...]]:
    """Yield how an axis may unroll the dimensions: factors whose product it has children for."""
    ranges = (range(1, children + 1 if dims >> d & 1 else 2) for d in SOME)
    yield from (found for found in product(*ranges) if prod(found) <= children)


def most_at_once(design: Design, bounds: np.ndarray) -> float:
    """MACs that work on average under the best factors, whatever the order of the loops."""
    axes = [
        list(factors(int(design.fanout[level, axis]), int(design.dims[level, axis])))
        for level, axis in np.argwhere(design.fanout > 1)
    ]
    sizes = [int(bounds[d]) for d in SOME]
    return max(
        prod(
            size / -(-size // f)
            for size, f in zip(sizes, map(prod, zip(*pick, strict=True)), strict=True)
        )
        for pick in product(*axes)
    )


def test_taps_are_unrolled_in_whole_numbers() -> None:
    rng, closer, equal = np.random.default_rng(8), 0, 0
    for _ in range(150):
        bounds = np.ones(len(DIMS), np.int64)
        bounds[[R, S]] = rng.integers(1, 7, 2)
        bounds[K], bounds[C] = rng.choice([1, 2, 5]), rng.choice([1, 1, 1, 3])
        design = meshed(int(rng.integers(2, 7)), (int(rng.integers(1, 4)), 1))
        loose, strict = (
            float(shares_of(design._replace(strict=how), bounds[None]).at_once[0])
            for how in (False, True)
        )
        best = most_at_once(design, bounds) if (design.fanout > 1).any() else 1.0
        assert best <= strict * (1 + 1e-12)
        assert strict <= loose
        closer += strict < loose
        equal += strict <= best * (1 + 1e-12)
    assert closer > 30
    assert equal > 75


def test_windows_share_no_more_than_rows_and_columns_have_together() -> None:
    rng = np.random.default_rng(6)
    for _ in range(300):
        rows, columns, high, wide = (float(v) for v in rng.integers(1, 12, 4))
        both = float(rng.uniform(max(rows, columns), rows * columns))
        a = np.linspace(max(1.0, both / columns), min(rows, both), 4001)
        b = np.minimum(columns, both / a)
        shared = a * high / (a + high - 1) * b * wide / (b + wide - 1)
        most = sliding_both(rows, columns, both, high, wide)
        assert shared.max() <= most * (1 + 1e-12)
        assert most == pytest.approx(shared.max(), rel=1e-5)
