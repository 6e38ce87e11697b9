"""Constraints on mappings: what they may say, as data and as text, and what a level can obey."""

from dataclasses import replace
from typing import Any

import pytest

from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.design_space.presets import preset
from archloom.space.mapping.constraints import (
    UNCONSTRAINED,
    LevelConstraints,
    MappingConstraints,
    kept_as,
)
from archloom.space.mapping.constraints_reader import (
    ConstraintsError,
    constraints_data,
    constraints_text,
    read_constraints,
)
from archloom.space.mapping.mapping import LevelMapping, Mapping

WHOLE = {
    "dataflow": "weight_stationary",
    "both_axes": False,
    "levels": {
        "l2": {
            "unroll_x": {"K": 16, "N": "any"},
            "unroll_y": {},
            "orders": ["PQ", "Q"],
            "keep": ["weights", "inputs"],
            "bypass": ["outputs"],
        },
        "dram": {"orders": ["N"]},
    },
}


def test_data_is_read_and_written() -> None:
    found = read_constraints(WHOLE)
    level = found.of_level("l2")
    assert (level.unroll_x, level.unroll_y) == ((("K", 16), ("N", None)), ())
    assert level.orders == (("P", "Q"), ("Q",))
    assert found.of_level("spad") == LevelConstraints("spad")
    assert constraints_data(found) == WHOLE
    assert read_constraints({}) == UNCONSTRAINED
    assert constraints_data(UNCONSTRAINED) == {}
    short = read_constraints({"levels": {"l2": {"unroll_x": ["K", "C"], "orders": "RS"}}})
    assert short.of_level("l2").unroll_x == (("K", None), ("C", None))
    assert short.of_level("l2").orders == (("R", "S"),)


def test_they_are_said_in_a_line() -> None:
    assert constraints_text(read_constraints(WHOLE)) == (
        "weight stationary; each dimension along one axis; l2: x K16 N, y nothing, "
        "innermost PQ or Q, keeps weights and inputs, passes outputs; dram: innermost N"
    )
    assert constraints_text(UNCONSTRAINED) == ""


@pytest.mark.parametrize(
    ("data", "faults"),
    [
        (["K"], [("", "must hold dataflow, both_axes, levels, got ['K']")]),
        ({"dataflw": 1}, [("dataflw", "did you mean dataflow?")]),
        ({"dataflow": "weights_stationary"}, [("dataflow", "did you mean weight_stationary")]),
        ({"both_axes": "no"}, [("both_axes", "must be true or false")]),
        ({"levels": ["l2"]}, [("levels", "must name levels")]),
        ({"levels": {"l2": None}}, [("levels.l2", "must hold unroll_x, unroll_y")]),
        (
            {"levels": {"l2": {"unroll_x": {"K": 0}, "orders": [["R"]], "keep": "weights"}}},
            [
                ("levels.l2.orders", "[['R']] must be an order such as RS, or a list of orders"),
                ("levels.l2.keep", "'weights' must be a list of tensors"),
                ("levels.l2.unroll_x", "unrolls K by 0, must be a whole number from 1 up"),
            ],
        ),
        ({"levels": {"l2": {"unroll_y": "K"}}}, [("levels.l2.unroll_y", "'K' must be a list")]),
        ({"levels": {"l2": {"unroll_y": {"K": True}}}}, [("levels.l2.unroll_y", "by True")]),
        ({"levels": {"l2": {"unroll_x": ["K", "K"]}}}, [("levels.l2.unroll_x", "K twice")]),
        (
            {"levels": {"l2": {"keep": ["inputs"], "bypass": ["inputs"]}}},
            [("levels.l2", "bypass names inputs, which keep names too")],
        ),
        (
            {"both_axes": False, "levels": {"l2": {"unroll_x": {"K": 2}, "unroll_y": {"K": 4}}}},
            [("", "level l2: K is unrolled along x and along y")],
        ),
    ],
)
def test_all_that_is_wrong_is_said_with_its_place(
    data: object, faults: list[tuple[str, str]]
) -> None:
    with pytest.raises(ConstraintsError) as caught:
        read_constraints(data)
    found = [(fault.place.path, fault.message) for fault in caught.value.faults]
    assert [keys for keys, _ in found] == [keys for keys, _ in faults]
    for (_, text), (_, rule) in zip(found, faults, strict=True):
        assert rule in text


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"dataflow": "ws"}, "dataflow 'ws' is unknown; known: any, weight_stationary"),
        (
            {"levels": (LevelConstraints("a"), LevelConstraints("a"))},
            "level a has two entries; merge them",
        ),
    ],
)
def test_python_is_told_too(fields: dict[str, Any], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        MappingConstraints(**fields)


def test_levels_say_what_they_cannot_do() -> None:
    spad, glb, _ = preset("eyeriss").levels
    assert (
        list(LevelConstraints("spad", keep=("inputs",), unroll_x=(("K", 2),)).misfits(spad)) == []
    )
    found = list(LevelConstraints("glb", keep=("weights",), bypass=("inputs",)).misfits(glb))
    assert [key for key, _ in found] == ["keep", "bypass"]
    assert "it can hold inputs, outputs" in found[0][1]
    narrow = replace(spad, spatial_x=("K",), spatial_y=())
    rules = LevelConstraints("spad", unroll_x=(("K", 2), ("C", 2)), unroll_y=(("C", None),))
    assert [text for _, text in rules.misfits(narrow)] == [
        "C may not be unrolled along x at spad; dimensions that may: K",
        "C may not be unrolled along y at spad; no dimension may",
    ]
    # levels of a template know as much
    (shared,) = (v for v in HardwareSpace.load("casco_edge").levels if v.name == "l2")
    assert list(LevelConstraints("l2", bypass=("outputs",)).misfits(shared)) == []


def test_unknown_levels_have_a_hint() -> None:
    rules = MappingConstraints(levels=(LevelConstraints("gbl"), LevelConstraints("glb")))
    assert rules.unknown_levels(["spad", "glb"]) == [("gbl", "did you mean glb?")]
    assert rules.within(["spad", "glb"]).levels == (LevelConstraints("glb"),)


def test_a_mapping_says_what_is_kept() -> None:
    ones = (1,) * 8
    plain = (ones, tuple(range(8)), ones, ones)
    kept = ((True, True, True), (False, False, True), (True, True, True))
    mapping = Mapping(tuple(LevelMapping(*plain, held) for held in kept))
    found = kept_as(mapping, preset("eyeriss"))
    glb = found.of_level("glb")
    # weights cannot be held there anyway
    assert (glb.keep, glb.bypass) == (("outputs",), ("inputs",))
