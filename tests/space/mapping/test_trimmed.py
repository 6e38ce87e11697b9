"""Mappings that cover more than the bounds of a layer."""

from math import prod

import pytest
from hypothesis import given, strategies as st

from archloom.space.mapping.mapping import LevelMapping, Mapping, trimmed
from archloom.space.workload.dims import K
from archloom.space.workload.layer import Layer

from ...oracles.mapping_rules import mapping_violations
from .test_mapping import CHIP, EVERY, factors, level

factor = st.lists(st.integers(1, 3), min_size=8, max_size=8).map(tuple)
rows = st.builds(
    LevelMapping, factor, st.permutations(range(8)).map(tuple), factor, factor, st.just(EVERY)
)


def slots(mapping: Mapping, d: int) -> list[int]:
    """Return the factors of a dimension, outermost loop first."""
    rows = [(v.temporal, v.spatial_y, v.spatial_x) for v in reversed(mapping.levels)]
    return [f[d] for row in rows for f in row]


def covering(*outer: int, x: int = 1, y: int = 1) -> Mapping:
    """Return a mapping of K alone: unrolled in the buffer, looped over in DRAM and the buffer."""
    dram, glb = outer
    spread = (factors(K=x), factors(K=y))
    keeps = (False, True, True)
    return Mapping((level(), level(factors(K=glb), *spread, keeps), level(factors(K=dram))))


@given(st.lists(rows, min_size=1, max_size=3), st.data())
def test_only_outermost_loops_lose_steps_and_none_too_many(
    levels: list[LevelMapping], data: st.DataObject
) -> None:
    mapping = Mapping(tuple(levels))
    bounds = tuple(data.draw(st.integers(1, n)) for n in mapping.factors)
    cut = trimmed(mapping, bounds)
    for d, bound in enumerate(bounds):
        before, after = slots(mapping, d), slots(cut, d)
        assert prod(after) >= bound
        outermost = next((i for i, f in enumerate(after) if f > 1), len(after))
        assert after[outermost + 1 :] == before[outermost + 1 :]
        if outermost < len(after):
            inside = prod(after[outermost + 1 :])
            assert (after[outermost] - 1) * inside < bound
    assert trimmed(cut, bounds) == cut
    assert [v.order for v in cut.levels] == [v.order for v in levels]


def test_exact_factors_stay() -> None:
    mapping = covering(3, 2, x=4, y=2)
    assert trimmed(mapping, mapping.factors) == mapping


@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        (48, covering(3, 2, x=4, y=2)),
        (33, covering(3, 2, x=4, y=2)),
        (32, covering(2, 2, x=4, y=2)),
        (16, covering(1, 2, x=4, y=2)),
        (8, covering(1, 1, x=4, y=2)),
        # rows of children go before columns
        (4, covering(1, 1, x=4)),
        (3, covering(1, 1, x=3)),
    ],
)
def test_loops_go_from_the_outside_in(bound: int, expected: Mapping) -> None:
    whole = covering(3, 2, x=4, y=2)
    assert trimmed(whole, (1, 1, bound, *(1,) * 5)) == expected


def test_what_falls_short_cannot_be_trimmed() -> None:
    with pytest.raises(
        ValueError, match="K: factors multiply to 48, must multiply to the bound 49"
    ):
        trimmed(covering(3, 2, x=4, y=2), (1, 1, 49, *(1,) * 5))


@pytest.mark.parametrize(
    ("bound", "messages"),
    [
        (48, []),
        (33, []),
        (32, ["K: factors multiply to 48, must multiply to the bound 32; 32 would cover it"]),
        (31, ["K: factors multiply to 48, must multiply to the bound 31; 32 would cover it"]),
        (49, ["K: factors multiply to 48, must multiply to the bound 49"]),
    ],
)
def test_more_than_the_bound_is_covered_only_without_idle_steps(
    bound: int, messages: list[str]
) -> None:
    layer = Layer("fc", "gemm", k=bound, c=1, p=1, input_size=(1, 1))
    assert layer.bounds[K] == bound
    assert mapping_violations(covering(3, 2, x=4, y=2), layer, CHIP) == messages
