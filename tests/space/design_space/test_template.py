from pathlib import Path

import pytest

from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.design_space.template import TemplateError
from archloom.space.design_space.template_reader import read_template
from archloom.space.hardware.hardware import Hardware

GOOD = """\
technology: cacti_45nm
dram: lpddr4
parameters:
  pe_x: {low: 1, high: 4, scale: pow2}
  rows: {low: 2, high: 6, step: 2}
  mode: {values: [private, shared]}
  glb_kib: {values: [0, 8, 32]}
  line: {values: [2, 4], scale: pow2, when: "mode == 'shared'"}
define:
  word_bytes: 2
  spad_bytes: "= 64 * word_bytes"
rules:
  - {name: max_pes, needed: pe_x * rows, available: 16, unit: PEs, hint: use fewer PEs}
frequency_mhz: 200
word_bits: "= 8 * word_bytes"
pe_mesh: ["= pe_x", "= rows"]
vector_lanes: "= pe_x"
levels:
  - name: spad
    when: mode == 'private'
    storage: register
    keeps: [weights, inputs, outputs]
    mesh: ["= pe_x", "= rows"]
    capacity_bytes: {weights: "= spad_bytes", inputs: 16, outputs: 16}
    bandwidth_words: 4
    spatial_x: [K]
  - name: spad
    when: mode == 'shared'
    storage: "= 'register' if spad_bytes < 512 else 'sram'"
    keeps: [weights, inputs, outputs]
    mesh: ["= pe_x", "= rows"]
    capacity_bytes: "= spad_bytes"
    bandwidth_words: 4
    width_words: "= line"
  - name: glb
    when: glb_kib > 0
    storage: sram
    keeps: [inputs, outputs]
    mesh: [1, 1]
    capacity_bytes: "= 1024 * glb_kib"
    bandwidth_words: "= pe_x / 2"
    optional: true
  - name: dram
    storage: dram
    keeps: [weights, inputs, outputs]
    mesh: [1, 1]
    bandwidth_words: 3.2
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "mine.yaml"
    path.write_text(text)
    return path


def errors_of(folder: Path, text: str) -> list[str]:
    with pytest.raises(TemplateError) as caught:
        HardwareSpace.load(write(folder, text))
    assert str(caught.value) == "\n".join(caught.value.errors)
    return caught.value.errors


def test_an_expression_may_begin_with_the_same_sign_everywhere(tmp_path: Path) -> None:
    """``when``, ``needed`` and ``available`` mean the same with and without it."""
    signed = GOOD.replace("when: glb_kib > 0", 'when: "= glb_kib > 0"')
    signed = signed.replace("needed: pe_x * rows", 'needed: "= pe_x * rows"')
    assert signed.count('"= glb_kib > 0"') == signed.count('"= pe_x * rows"') == 1
    plain, other = (HardwareSpace.load(write(tmp_path, text)) for text in (GOOD, signed))
    for pe_x in (2, 4):
        point = {"pe_x": pe_x, "rows": 6, "mode": "private", "glb_kib": 0}
        assert plain.build(point) == other.build(point)


def test_levels_come_and_go_with_their_conditions(tmp_path: Path) -> None:
    space = HardwareSpace.load(write(tmp_path, GOOD))
    private = space.build({"pe_x": 2, "rows": 4, "mode": "private", "glb_kib": 0})
    shared = space.build({"pe_x": 2, "rows": 4, "mode": "shared", "glb_kib": 8, "line": 4})
    assert isinstance(private, Hardware)
    assert isinstance(shared, Hardware)
    assert private.name == "mine(pe_x=2, rows=4, mode=private, glb_kib=0)"
    assert [level.name for level in private.levels] == ["spad", "dram"]
    assert [level.name for level in shared.levels] == ["spad", "glb", "dram"]
    spad, glb, dram = shared.levels
    assert (spad.storage, spad.capacity_bytes, spad.width_words) == ("register", 128, 4)
    assert (glb.capacity_bytes, glb.bandwidth_words, glb.optional) == (8192, 1.0, True)
    assert (dram.capacity_bytes, dram.bandwidth_words) == (None, 3.2)
    assert private.levels[0].capacity_bytes == (("weights", 128), ("inputs", 16), ("outputs", 16))
    assert (private.levels[0].spatial_x, len(private.levels[0].spatial_y)) == (("K",), 8)
    assert (shared.pe_mesh, shared.array, shared.word_bits) == ((2, 4), (1, 1), 16)
    assert (shared.vector_lanes, shared.native_batch, shared.frequency_mhz) == (2, 1, 200)


def test_values_of_parameters(tmp_path: Path) -> None:
    space = HardwareSpace.load(write(tmp_path, GOOD))
    assert {p.name: (p.values, p.scale) for p in space.parameters} == {
        "pe_x": ((1, 2, 4), "pow2"),
        "rows": ((2, 4, 6), "linear"),
        "mode": (("private", "shared"), "categorical"),
        "glb_kib": ((0, 8, 32), "linear"),
        "line": ((2, 4), "pow2"),
    }


def test_fractional_steps_meet_their_end(tmp_path: Path) -> None:
    text = GOOD.replace("{low: 2, high: 6, step: 2}", "{low: 0.1, high: 0.7, step: 0.1}")
    template = read_template(write(tmp_path, text))
    assert template.parameters[1].values == (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("word_bits:", "word_bit:", "word_bit: unknown key; did you mean word_bits?"),
        ("dram: lpddr4", "dram: 4", "dram: must be a text, got 4"),
        (
            'vector_lanes: "= pe_x"\n',
            "",
            "vector_lanes: is missing: operations a cycle of the unit for pooling, activations and "
            'softmax; "= pe_x" is one for each column of PEs',
        ),
        ("frequency_mhz: 200", "frequency_mhz: fast", "frequency_mhz: must be a number or"),
        ("frequency_mhz: 200", "frequency_mhz: true", "frequency_mhz: must be a number or"),
        ("frequency_mhz: 200", "frequency_mhz: -5", "design of mine(pe_x=1, "),
        ('["= pe_x", "= rows"]\nv', "4\nv", "pe_mesh: must be [along x, along y], got 4"),
        ('= pe_x", "= rows"]\nv', '= pe_q", 2]\nv', "pe_mesh[0]: 'pe_q' is not defined"),
        ("high: 6", "high: 7", "parameters.rows.high: 7 is not reached from 2; take 6 or 8"),
        ("step: 2", "step: 0", "parameters.rows.step: must be a number above 0, got 0"),
        ("high: 6, step: 2", "high: 6", "parameters.rows.step: must be a number above 0, got None"),
        ("scale: pow2}\n  rows", "scale: log}\n  rows", "parameters.pe_x.scale: 'log' must be"),
        ("low: 1, ", "values: [1], ", "parameters.pe_x: give either values or low and high"),
        (
            "[0, 8, 32]",
            "[8, 0]",
            "parameters.glb_kib: values must be in ascending order, got [8, 0]",
        ),
        ("[0, 8, 32]", "[[1]]", "parameters.glb_kib.values: must be numbers or texts"),
        ("[0, 8, 32]", "8", "parameters.glb_kib.values: must be a list, got 8"),
        ("[0, 8, 32]", "[]", "parameters.glb_kib.values: must have at least one value, got []"),
        ("[0, 8, 32]", "[0, .nan]", "parameters.glb_kib.values: must be finite, got nan"),
        ("[0, 8, 32]", "[0, .inf]", "parameters.glb_kib.values: must be finite, got inf"),
        ("step: 2", "step: .nan", "parameters.rows.step: must be a number above 0, got nan"),
        ("high: 6", "high: .inf", "parameters.rows.high: must be at most 1e+15, got inf"),
        ("high: 6, step: 2", "high: 9999999, step: 1", "parameters.rows: has more than"),
        ("  rows:", "  max:", "parameters.max: is not a valid name"),
        ("  word_bytes:", "  rows:", "define.rows: is already the name of a parameter"),
        ("when: \"mode == 's", "when: \"mod == 's", "parameters.line.when: 'mod' is not defined"),
        (
            "== 'shared'\"",
            "== 'shard'\"",
            "parameters.line.when: mode never has the value 'shard'; did you",
        ),
        ("when: glb_kib > 0", "when: glb_kib >", "levels[2].when: 'glb_kib >' is not an expr"),
        ("when: glb_kib > 0", "when: 3", "levels[2].when: must be an expression, got 3"),
        ("needed: pe_x * rows", "needed: pe_x * row", "rules[0].needed: 'row' is not defined; did"),
        (", hint: use fewer PEs", "", "rules[0].hint: is missing"),
        ("spatial_x: [K]", "spatial_x: [X]", "levels[0].spatial_x: 'X' is not known; known: N, G"),
        (
            "keeps: [inputs, outputs]",
            "keeps: [input]",
            "levels[2].keeps: 'input' is not known",
        ),
        ("inputs: 16", "input: 16", "levels[0].capacity_bytes: 'input' is not known; did you"),
        ("optional: true", "optional: 1", "levels[2].optional: must be true or false, got 1"),
        ("storage: register", "storage: registers", "): storage 'registers' is not known"),
        ("storage: sram", "storage: 7", "levels[2].storage: must be a text, got 7"),
        ("mesh: [1, 1]\n    cap", "mesh: [3, 1]\n    cap", "design of mine(pe_x=1, "),
        (
            "mesh: [1, 1]\n    cap",
            "mesh: [1, 1.5]\n    cap",
            "1.5 must be a whole number",
        ),
        (
            "mesh: [1, 1]\n    cap",
            f"mesh: [1, {10**99}]\n    cap",
            "whole numbers must be at most 9007199254740992",
        ),
        ('"= pe_x / 2"', '"= mode"', "'mode' = 'private' must be a number"),
        ('"= 64 * word', '"= 64 / (pe_x - 1) * word', "define.spad_bytes of mine(pe_x=1"),
        (
            "dram: lpddr4",
            "dram: lpddr4\ndram: hbm2",
            "line 3: dram: is already on line 2; give it once",
        ),
        ("technology: cacti_45nm", "technology: [", "is not YAML: while parsing a flow"),
    ],
)
def test_each_fault_is_named_with_its_place(tmp_path: Path, old: str, new: str, error: str) -> None:
    assert GOOD.count(old) >= 1
    errors = errors_of(tmp_path, GOOD.replace(old, new, 1))
    assert any(error in line for line in errors), errors
    assert all(line.startswith(f"{tmp_path / 'mine.yaml'}: ") for line in errors)


def test_all_faults_are_reported_at_once(tmp_path: Path) -> None:
    text = GOOD.replace("lpddr4", "4").replace("high: 6", "high: 7").replace("hint", "hind")
    errors = errors_of(tmp_path, text)
    places = [line.removeprefix(f"{tmp_path / 'mine.yaml'}: ").split(": ")[:2] for line in errors]
    assert places == [
        ["line 5", "parameters.rows.high"],
        ["line 13", "rules[0].hind"],
        # where the section is, of a key that is not there
        ["line 13", "rules[0].hint"],
        ["line 2", "dram"],
    ]


def test_what_no_design_can_be_is_named_with_its_line(tmp_path: Path) -> None:
    """A file that can be read, with values that no hardware has."""
    for old, new, place in (
        ('"= 64 * word', '"= 64 / (pe_x - 1) * word', "line 11: define.spad_bytes of mine("),
        ("needed: pe_x * rows", "needed: mode", "line 13: rules[0] of mine("),
        ("bandwidth_words: 3.2", "bandwidth_words: -1", "line 43: levels[3] of mine("),
    ):
        text = GOOD.replace(old, new)
        assert text != GOOD
        lines = text.splitlines()
        number = int(place.split(":")[0].removeprefix("line "))
        assert new in "".join(lines[number - 1 : number + 4])
        (error,) = errors_of(tmp_path, text)
        assert error.startswith(f"{tmp_path / 'mine.yaml'}: {place}"), error


@pytest.mark.parametrize(
    ("define", "errors"),
    [
        (
            'a: "= b + 1"\n  b: "= 2 * c"\n  c: "= a"',
            [
                "line 12: define.a: 'b' has a circular definition: b -> c -> a -> b",
                "line 13: define.b: 'c' has a circular definition: c -> a -> b -> c",
            ],
        ),
        ('a: "= a"', ["line 12: define.a: 'a' has a circular definition: a -> a"]),
        (
            'a: "= b"\n  b: 3',
            [
                "line 12: define.a: 'b' is defined further down; definitions are "
                "evaluated in order, "
                "so move it up"
            ],
        ),
        ('a: "= b"\n  b: "= c"', ["line 12: define.a: 'b' is defined further down; definitions "
         "are evaluated in order, so move it up", "line 13: define.b: 'c' is not "
             "defined; known: "]),
    ],
)  # fmt: skip
def test_circles_and_the_order_of_definitions_are_named(
    tmp_path: Path, define: str, errors: list[str]
) -> None:
    text = GOOD.replace("rules:", f"  {define}\nrules:")
    found = errors_of(tmp_path, text)
    assert len(found) == len(errors)
    for line, error in zip(found, errors, strict=True):
        assert line.removeprefix(f"{tmp_path / 'mine.yaml'}: ").startswith(error)


@pytest.mark.parametrize("text", ["", "[1, 2]", "just text"])
def test_a_file_that_is_no_template(tmp_path: Path, text: str) -> None:
    assert "must be keys with values" in errors_of(tmp_path, text)[0]


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TemplateError, match=r"mine\.yaml: .*can't decode"):
        HardwareSpace.load(path)


def test_a_template_that_is_not_there_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match=r"casco-edge: is neither .*; did you mean casco_edge"):
        HardwareSpace.load("casco-edge")
    with pytest.raises(TemplateError, match=r"is neither a template nor a file; known: casco"):
        HardwareSpace.load(tmp_path / "zz.yaml")
