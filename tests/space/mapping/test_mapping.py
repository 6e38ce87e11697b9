from dataclasses import replace
from math import prod

import pytest
from hypothesis import given, strategies as st

from archloom.space.hardware.hardware import Hardware, StorageLevel
from archloom.space.mapping.mapping import LevelMapping, Mapping
from archloom.space.workload.dims import DIMS, K, P
from archloom.space.workload.layer import Layer

from ...oracles.mapping_rules import mapping_violations

ONES = (1,) * 8
EVERY = (True, True, True)
LAYER = Layer("fc", "gemm", k=8, c=4, p=6, input_size=(6, 1))
ALL = ("weights", "inputs", "outputs")
CHIP = Hardware(
    "chip",
    "cacti_45nm",
    500,
    16,
    (4, 2),
    (1, 1),
    (
        StorageLevel("spad", "register", ALL, (4, 2), 64, 4),
        StorageLevel(
            "glb", "sram", ("inputs", "outputs"), (1, 1), 64, 4, spatial_x=("K",), optional=True
        ),
        StorageLevel("dram", "dram", ALL, (1, 1), None, 4),
    ),
    "lpddr4",
    4,
)


def factors(**of: int) -> tuple[int, ...]:
    return tuple(of.get(d, 1) for d in DIMS)


def level(
    temporal: tuple[int, ...] = ONES,
    x: tuple[int, ...] = ONES,
    y: tuple[int, ...] = ONES,
    keeps: tuple[bool, bool, bool] = EVERY,
) -> LevelMapping:
    return LevelMapping(temporal, tuple(range(8)), x, y, keeps)


GOOD = Mapping(
    (
        level(factors(C=4)),
        level(factors(K=2), x=factors(K=4), y=factors(P=2), keeps=(False, True, True)),
        level(factors(P=3)),
    )
)


def with_level(i: int, changed: LevelMapping) -> Mapping:
    return Mapping((*GOOD.levels[:i], changed, *GOOD.levels[i + 1 :]))


def test_a_valid_mapping_breaks_no_rule() -> None:
    assert GOOD.factors == LAYER.bounds
    assert mapping_violations(GOOD, LAYER, CHIP) == []
    bypass = with_level(1, replace(GOOD.levels[1], keeps=(False, False, False)))
    assert mapping_violations(bypass, LAYER, CHIP) == []


@pytest.mark.parametrize(
    ("mapping", "messages"),
    [
        (Mapping(GOOD.levels[:2]), ["mapping has 2 levels, chip has 3"]),
        (with_level(0, level()), ["C: factors multiply to 1, must multiply to the bound 4"]),
        (
            with_level(1, replace(GOOD.levels[1], temporal=ONES, spatial_x=factors(K=8))),
            ["glb: 8 children along x, has 4"],
        ),
        (
            with_level(1, replace(GOOD.levels[1], spatial_x=factors(K=2, P=2), spatial_y=ONES)),
            [
                "K: factors multiply to 4, must multiply to the bound 8",
                "glb: P may not be unrolled along x",
            ],
        ),
        (
            with_level(1, replace(GOOD.levels[1], keeps=EVERY)),
            ["glb: cannot hold weights"],
        ),
        (
            with_level(0, replace(GOOD.levels[0], keeps=(True, False, True))),
            ["spad: inputs may not bypass it"],
        ),
    ],
)
def test_every_broken_rule_is_named(mapping: Mapping, messages: list[str]) -> None:
    assert mapping_violations(mapping, LAYER, CHIP) == messages


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"temporal": (1,) * 7}, "need 8 factors of at least 1"),
        ({"spatial_x": (0, *ONES[1:])}, "need 8 factors of at least 1"),
        ({"order": (0,) * 8}, r"must be a permutation of 0\.\.7"),
    ],
)
def test_impossible_loops_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(GOOD.levels[0], **change)  # type: ignore[arg-type]


rows = st.lists(st.integers(1, 9), min_size=8, max_size=8).map(tuple)
loops = st.builds(
    LevelMapping,
    rows,
    st.permutations(range(8)).map(tuple),
    rows,
    rows,
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
)


@given(st.lists(loops, min_size=1, max_size=4))
def test_text_round_trip_keeps_every_loop_of_more_than_one_step(
    levels: list[LevelMapping],
) -> None:
    mapping = Mapping(tuple(levels))
    again = Mapping.from_text(mapping.to_text())
    assert again.to_text() == mapping.to_text()
    for one, other in zip(mapping.levels, again.levels, strict=True):
        assert one.temporal == other.temporal
        assert (one.spatial_x, one.spatial_y) == (other.spatial_x, other.spatial_y)
        assert one.keeps == other.keeps
        walked = [[d for d in v.order if v.temporal[d] > 1] for v in (one, other)]
        assert walked[0] == walked[1]
    expected = prod(v.temporal[K] * v.spatial_x[K] * v.spatial_y[K] for v in levels)
    assert mapping.factors[K] == expected
    assert len(mapping.factors) > P


def test_text_of_a_level_reads_as_documented() -> None:
    level = LevelMapping(
        temporal=(1, 1, 4, 2, 1, 1, 1, 1),
        order=(3, 2, 0, 1, 4, 5, 6, 7),
        spatial_x=(1, 1, 8, 1, 1, 1, 1, 1),
        spatial_y=(1, 1, 1, 1, 1, 2, 1, 1),
        keeps=(True, True, False),
    )
    assert Mapping((level,)).to_text() == "WI-:C2.K4/K8/Q2"
    assert Mapping.from_text("WI-:C2.K4/K8/Q2") == Mapping((level,))


@pytest.mark.parametrize("text", ["WI:C2//", "WIO:C2", "WIO:Z2//", "WIO:C0//", "WIO:Cx//"])
def test_text_that_is_no_mapping_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  (each has its own message)
        Mapping.from_text(text)
