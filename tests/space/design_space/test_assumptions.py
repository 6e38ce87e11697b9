"""Marks of values that no source gives."""

import re
from fractions import Fraction
from pathlib import Path

import pytest
import yaml
from hypothesis import given, strategies as st

from archloom.space.design_space.assumptions import (
    AssumedValue,
    Assumption,
    without_marks,
)
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.design_space.presets import preset
from archloom.space.design_space.shipped import PRESETS, TEMPLATES, preset_file
from archloom.space.design_space.template import TemplateError
from archloom.space.design_space.template_reader import read_template, varied
from archloom.space.errors import Infeasible

from ...source_tree import ROOT
from .test_template import GOOD, errors_of, write

MARKS = """\
assumptions:
  frequency_mhz: the paper has none
  define.spad_bytes:
    reason: >
      half of what
      fits
  levels.spad.capacity_bytes.inputs: as many as outputs
  levels.spad.width_words: {reason: a line}
  levels.glb.mesh: one is enough
"""

#: values of the parameters of GOOD
PRIVATE = {"pe_x": 2, "rows": 4, "mode": "private", "glb_kib": 0, "line": 2}
SHARED = {**PRIVATE, "mode": "shared", "glb_kib": 8, "line": 4}


def test_marks_are_read_with_their_reasons(tmp_path: Path) -> None:
    template = read_template(write(tmp_path, GOOD + MARKS))
    assert [(mark.key, mark.reason) for mark in template.marks] == [
        ("frequency_mhz", "the paper has none"),
        ("define.spad_bytes", "half of what fits"),
        ("levels.spad.capacity_bytes.inputs", "as many as outputs"),
        ("levels.spad.width_words", "a line"),
        ("levels.glb.mesh", "one is enough"),
    ]
    assert template == read_template(write(tmp_path, GOOD))


def test_values_are_those_of_a_design_and_of_the_levels_that_it_has(tmp_path: Path) -> None:
    template = read_template(write(tmp_path, GOOD + MARKS))

    def values(point: dict[str, int | str]) -> dict[str, object]:
        return {one.mark.key: one.value for one in template.assumed(point)}

    assert values(PRIVATE) == {
        "frequency_mhz": 200,
        "define.spad_bytes": 128,
        "levels.spad.capacity_bytes.inputs": 16,
    }
    assert values(SHARED) == {
        "frequency_mhz": 200,
        "define.spad_bytes": 128,
        "levels.spad.width_words": 4,
        "levels.glb.mesh": (1, 1),
    }


@pytest.mark.parametrize(
    ("marks", "error"),
    [
        ("[vector_lanes]", "assumptions: must be key paths with reasons, got ['vector_lanes']"),
        (
            "{levels.glb.bandwidth_word: x}",
            "assumptions.levels.glb.bandwidth_word: is no value of this template; did you mean "
            "levels.glb.bandwidth_words",
        ),
        (
            "{levels.spad.capacity_bytes.input: x}",
            "is no value of this template; did you mean levels.spad.capacity_bytes.inputs",
        ),
        (
            "{levels.buffer: x}",
            "assumptions.levels.buffer: is no value of this template; did you mean levels.glb.",
        ),
        (
            "{effects.network: x}",
            "assumptions.effects.network: is no value of this template; known: technology, dram, ",
        ),
        ("{levels.glb.name: x}", "assumptions.levels.glb.name: is no value of this template"),
        ("{levels.glb.when: x}", "assumptions.levels.glb.when: is no value of this template"),
        ("{parameters.pe_x: x}", "assumptions.parameters.pe_x: is no value of this template"),
        ("{dram: 4}", "assumptions.dram: must be a text, got 4"),
        ("{dram: ' '}", "assumptions.dram: must be a text, got ' '"),
        ("{dram: null}", "assumptions.dram: must be a text, got None"),
        ("{dram: {}}", "assumptions.dram.reason: is missing"),
        ("{dram: {reason: 3}}", "assumptions.dram.reason: must be a text, got 3"),
        (
            "{dram: {reason: x, resaon: y}}",
            "assumptions.dram.resaon: unknown key; did you mean reason?",
        ),
        (
            "{vector_lanes: {reason: x, product_with: define.word_byte}}",
            "assumptions.vector_lanes.product_with: 'define.word_byte' is no value of this "
            "template; did you mean define.word_bytes",
        ),
        (
            "{vector_lanes: {reason: x, product_with: vector_lanes}}",
            "assumptions.vector_lanes.product_with: must be another value",
        ),
        (
            "{vector_lanes: {reason: x, product_with: dram}}",
            "assumptions.vector_lanes.product_with: is for numbers; dram is 'lpddr4'",
        ),
        (
            "{pe_mesh: {reason: x, product_with: frequency_mhz}}",
            "assumptions.pe_mesh.product_with: is for numbers; pe_mesh is ['= pe_x', '= rows']",
        ),
    ],
)
def test_mistakes_are_named_with_their_place(tmp_path: Path, marks: str, error: str) -> None:
    errors = errors_of(tmp_path, f"{GOOD}assumptions: {marks}\n")
    assert len(errors) == 1
    assert error in errors[0]
    assert f"mine.yaml: line {GOOD.count(chr(10)) + 1}: assumptions" in errors[0]


def test_a_key_with_values_below_it_names_these(tmp_path: Path) -> None:
    text = GOOD + "assumptions: {levels.spad.capacity_bytes: x}\n"
    # the second level of that name has one capacity for all
    read_template(write(tmp_path, text))
    text = text.replace('"= spad_bytes"\n', "{weights: 4, inputs: 4, outputs: 4}\n")
    assert errors_of(tmp_path, text)[0].endswith(
        "name one of levels.spad.capacity_bytes.weights, levels.spad.capacity_bytes.inputs, "
        "levels.spad.capacity_bytes.outputs"
    )


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    text = GOOD.replace("dram: lpddr4", "dram: 4") + "assumptions: {drma: x, vector_lanes: 1}\n"
    assert len(errors_of(tmp_path, text)) == 3


@given(st.integers(1, 10**6), st.sampled_from([0.125, 0.5, 2.0, 3.0, 8.0]))
def test_whole_numbers_stay_whole_and_at_least_1(value: int, factor: float) -> None:
    one = AssumedValue(Assumption("x", "y"), value, ("x",))
    expected = max(1, value * Fraction(factor).numerator // Fraction(factor).denominator)
    if expected == value:
        with pytest.raises(ValueError, match=f"it stays {value}"):
            one.scaled(factor)
    else:
        (found,) = one.scaled(factor).values()
        assert type(found) is int
        assert found == expected


@given(st.integers(1, 10**6), st.integers(2, 100))
def test_a_part_of_a_multiple_is_the_number(value: int, factor: int) -> None:
    one = AssumedValue(Assumption("x", "y"), value * factor, ("x",))
    assert one.scaled(1 / factor) == {("x",): value}


def test_other_numbers_are_multiplied_and_texts_are_not() -> None:
    def scaled(value: object) -> object:
        return AssumedValue(Assumption("x", "y"), value, ("x",)).scaled(0.5)  # type: ignore[arg-type]

    assert scaled(6.5) == {("x",): 3.25}
    for value in ("lpddr4", (1, 1), True):
        with pytest.raises(ValueError, match="it is not a number"):
            scaled(value)
    for unmoved in (0, 0.0, float("inf")):
        with pytest.raises(ValueError, match="it stays"):
            scaled(unmoved)
    for value in (4, 2.5):
        with pytest.raises(ValueError, match=r"1e\+308 times .* is too large"):
            AssumedValue(Assumption("x", "y"), value, ("x",)).scaled(1e308)


@given(st.integers(1, 64), st.integers(1, 64), st.sampled_from([0.5, 2.0]))
def test_a_known_product_stays_or_the_pair_is_refused(a: int, b: int, factor: float) -> None:
    one = AssumedValue(Assumption("a", "r", "b"), a, ("a",), (("b",), b))
    try:
        found = one.scaled(factor)
    except ValueError:
        assert (a if factor < 1 else b) % 2 == 1
    else:
        assert found[("a",)] * found[("b",)] == a * b  # type: ignore[operator]
        assert found[("a",)] == a * factor


def test_a_template_with_another_value_is_what_a_file_with_it_would_be(tmp_path: Path) -> None:
    template = read_template(write(tmp_path, GOOD + MARKS))
    found = {one.mark.key: one for one in template.assumed(SHARED)}
    other = varied(template, found["define.spad_bytes"].scaled(2))
    text = GOOD.replace('spad_bytes: "= 64 * word_bytes"', "spad_bytes: 256")
    assert other == read_template(write(tmp_path, text))
    assert template == read_template(write(tmp_path, GOOD))
    with pytest.raises(TemplateError, match="frequency_mhz: must be a number or an expression"):
        varied(template, {("frequency_mhz",): "fast"})


@pytest.mark.parametrize("name", [*PRESETS, *TEMPLATES])
def test_every_preset_and_template_marks_values_that_change_nothing(
    name: str, tmp_path: Path
) -> None:
    space = HardwareSpace.load(name)
    assert space.template.marks
    plain = without_marks(space.file.read_text("utf-8"))
    bare = write(tmp_path, plain)
    assert "assumptions" not in yaml.safe_load(plain)
    unmarked = read_template(bare)
    assert unmarked.marks == ()
    point = {p.name: p.values[0] for p in space.parameters}
    assert unmarked.build(point, "x") == space.template.build(point, "x")


@pytest.mark.parametrize("name", PRESETS)
def test_every_multiple_of_an_assumed_number_can_be_built(name: str) -> None:
    """Halves and doubles of all numbers of presets are designs; so reports have no gaps."""
    template = read_template(preset_file(name))
    for one in template.assumed({}):
        for factor in (0.5, 2):
            if one.is_number:
                built = varied(template, one.scaled(factor)).build({}, name)
                assert not isinstance(built, Infeasible)
                assert built != preset(name)


STARTERS = (ROOT / "studies" / "commands" / "setup" / "starters").glob("*/hardware.yaml")


@pytest.mark.parametrize(
    "name",
    [*PRESETS, *TEMPLATES, *sorted(map(str, STARTERS))],
    ids=lambda name: name.removesuffix("/hardware.yaml").rpartition("/")[2],
)
def test_what_a_comment_calls_an_assumption_is_marked(name: str) -> None:
    """One of the values between the comment and the next one."""
    file = HardwareSpace.load(name).file
    text = file.read_text("utf-8").partition("\nassumptions:\n")[0]
    marked = {mark.key for mark in read_template(file).marks}
    level = section = ""
    below: dict[int, set[str]] = {}
    comment = 0
    for number, line in enumerate(text.splitlines(), start=1):
        before, _, said = line.partition("#")
        key = before.strip().removeprefix("- ").partition(":")[0]
        if said and re.search(r"\bassumptions?\b", said.lower()):
            comment = number
        elif said and not below.get(comment):
            continue  # the comment goes on
        elif said:
            comment = 0
        if before.startswith("  - name:"):
            level = before.partition(":")[2].strip()
        elif before.strip():
            section = section if before.startswith(" ") else key
            parts = {"levels": f"levels.{level}.{key}", "define": f"define.{key}"}
            below.setdefault(comment, set()).add(parts.get(section, key))
    below.pop(0)
    assert below
    unmarked = {
        number
        for number, paths in below.items()
        if not any(mark == path or mark.startswith(f"{path}.") for mark in marked for path in paths)
    }
    assert unmarked == set()


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\nassumptions:\n  x: y\n",
        "a: 1\nassumptions:\n  x: y",
        "assumptions:\n  x: y\n\n  # why\n  z: {reason: w}\na: 1\n",
        "assumptions:   # comment\n  x: >\n    some\n\n    text\na: 1\n",
        "a: 1\nassumptions: {x: y}\n",
        "assumptions: {x: y,\n  z: w}\na: 1\n",
    ],
)
def test_marks_are_cut_out_of_a_text_and_nothing_else(text: str) -> None:
    assert without_marks(text) == "a: 1\n"


@pytest.mark.parametrize(
    "text", ["", "a: 1\n", "  assumptions: 1\n", "# assumptions: 1\na: 1\n", "my_assumptions: 1\n"]
)
def test_texts_without_marks_stay(text: str) -> None:
    assert without_marks(text) == text
