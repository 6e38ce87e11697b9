"""Timeloop's files as files: YAML, templates, several of them, variables, energy tables."""

import pytest
from hypothesis import given, strategies as st

from archloom.space.importers.timeloop.reader import read_timeloop
from archloom.space.importers.timeloop.values import Entry, NoValueError, Scope, section, truth
from archloom.space.importers.timeloop.yaml_dialect import TaggedSection, TimeloopError, load
from archloom.space.yaml_reader import Faults, Place

from ....cases.timeloop_files import faults, read
from .test_mapping import MAPPING, PROBLEM, TREE


def loaded(tmp_path, text):
    path = tmp_path / "x.yaml"
    path.write_text(text)
    found = Faults()
    data = load(path, found)
    return data, [fault.replace(f"{tmp_path}/", "") for fault in found.sentences]


def test_scalars_are_yaml_cpps(tmp_path):
    text = """
number: 0x10
small: 1e-9
ratio: 1:1
truth: yes
real: true
none:
empty: ~
date: 2024-13-45
N: 4
7: seven
"""
    data, found = loaded(tmp_path, text)
    assert found == []
    assert data == {
        "number": 16,
        "small": 1e-9,
        "ratio": "1:1",
        "truth": "yes",
        "real": True,
        "none": None,
        "empty": None,
        "date": "2024-13-45",
        "N": 4,
        "7": "seven",
    }
    assert [truth(v) for v in ("yes", "No", 1, 0, True, "maybe", None)] == [
        *(True, False, True, False, True, None, None)
    ]


def test_tags_anchors_and_merges(tmp_path):
    text = """
base: &base {a: 1, b: 2}
node: !Component {<<: *base, b: 3}
both: {<<: [*base, {c: 4}]}
"""
    data, found = loaded(tmp_path, text)
    assert found == []
    assert isinstance(data["node"], TaggedSection)
    assert data["node"].tag == "Component"
    assert data["node"] == {"a": 1, "b": 3}
    assert data["both"] == {"a": 1, "b": 2, "c": 4}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\na: 2", "x.yaml: line 2: a: is already on line 1; give it once"),
        ("a: [1,\nb: 2", "x.yaml: line 2: is not YAML: while parsing a flow sequence, expected"),
        ("- 1", "must be keys with values, got [1]"),
        ("? [a]\n: 1", "a key must be plain text"),
        ("a: !Component", "the tag !Component is not supported here"),
        ("a: !!timestamp now", "timestamp is not supported"),
        ("a: !!int many", "'many' is not a valid int"),
        ("a: !!seq {b: 1}", "must be a list"),
        ("a: !!map [1]", "must be keys with values"),
        ("a: !!str [1]", "must be a plain value"),
        ("a: " + "9" * 5000, "is a number of over 100 characters"),
        ("a: *b", "found undefined alias"),
        ("a: &a [*a]", "x.yaml: line 1: is not YAML: *a is inside &a, so it contains itself"),
        (
            "a: " + "[" * 61 + "]" * 61,
            "has over 100000 values, or is nested more than 60 levels deep",
        ),
        (r'a: "\ud83d"', "half of a surrogate pair"),
        ("[" * 5000, "is nested too deeply"),
        ("---\na: 1\n---\nb: 1", "expected a single document"),
        ("a: \x07", "is not YAML: unacceptable character"),
    ],
)
def test_what_is_no_yaml(text, message, tmp_path):
    data, found = loaded(tmp_path, text)
    assert data == {}
    assert len(found) == 1
    assert message in found[0]
    assert found[0].startswith("x.yaml: ")


def test_a_file_of_aliases_of_aliases_is_refused(tmp_path):
    lines = ["a: &a [1, 1, 1, 1, 1, 1, 1, 1]"]
    for name, last in zip("bcdefgh", "abcdefg", strict=True):
        lines.append(f"{name}: &{name} [{', '.join([f'*{last}'] * 8)}]")
    assert "has over 100000 values" in loaded(tmp_path, "\n".join(lines))[1][0]


def test_files_that_cannot_be_read(tmp_path):
    found = Faults()
    assert load(tmp_path / "absent.yaml", found) == {}
    (tmp_path / "latin.yaml").write_bytes(b"a: \xff")
    assert load(tmp_path / "latin.yaml", found) == {}
    assert "cannot be read: No such file or directory" in found.sentences[0]
    assert "is not UTF-8 text: 'utf-8' codec" in found.sentences[1]


def test_templates_are_named_with_their_line(tmp_path):
    text = "a: {{ width }}\nb: 1 # {{ comment }}\n{% if c %}\nc: 2\n"
    data, found = loaded(tmp_path, text)
    assert data == {}
    assert "line 1 has the template expression '{{ width }}', which is not supported" in found[0]
    assert "line 3 has the template expression '{% if c %}'" in found[1]
    assert len(found) == 2
    # a search path alone includes nothing
    assert loaded(tmp_path, "{{add_to_path('../parts')}}\na: 1") == ({"a": 1}, [])


def test_top_level_keys(tmp_path):
    beside = """
variables_more: {version: 0.4, side: 4}
mapper: {algorithm: random}
globals: {version: 0.4, environment_variables: {}}
ART: {tables: []}
sparse_optimizations: {version: 0.4, targets: []}
ignore_me: 3
"""
    arch = TREE.replace("meshX: 4", "meshX: side")
    plain = read(tmp_path, arch=TREE, problem=PROBLEM, mapping=MAPPING)
    assert read(tmp_path, arch=arch, problem=PROBLEM, mapping=MAPPING, beside=beside) == plain
    found = faults(tmp_path, arch=TREE, problem=PROBLEM, mapping=MAPPING, more="maper: {}")
    assert found == ["more.yaml: maper: is not known; the nearest known name is mapper"]
    sparse = "sparse_optimizations: {targets: [{name: buffer}]}"
    found = faults(tmp_path, arch=TREE, problem=PROBLEM, mapping=MAPPING, more=sparse)
    assert "only dense cases are supported" in found[0]


def test_what_stands_in_two_files(tmp_path):
    found = faults(tmp_path, arch=TREE, problem=PROBLEM, mapping=MAPPING, more=TREE)
    assert "more.yaml: architecture: is also in" in found[0]
    first, second = "variables: {side: 4}", "variables: {side: 5}"
    found = faults(tmp_path, arch=TREE, problem=PROBLEM, one=first, two=second)
    assert "two.yaml: variables.side: has another value in" in found[0]


def test_everything_that_is_missing_is_named(tmp_path):
    empty = tmp_path / "empty.yaml"
    empty.write_text("")
    with pytest.raises(TimeloopError) as error:
        read_timeloop([empty], empty, empty, ert_path=empty)
    assert [fault.split(": ")[1] for fault in error.value.faults] == [
        f"has no {part}; add it" for part in ("architecture", "problem", "ERT", "mapping")
    ]


TABLES = """
ERT:
  version: 0.4
  tables:
  - name: system.DRAM
    actions: [{{name: read, energy: 64}}, {{name: write, energy: 32}}]
  - name: system.buffer[1..1]
    actions:
    - {{name: read, arguments: {{address_delta: 0}}, energy: 1}}
    - {{name: read, arguments: {{address_delta: 1}}, energy: 2}}
    - {{name: write, energy: 3}}
    - {{name: update, energy: 4}}
    - {{name: leak, energy: 0.5}}
  - name: system.PE[0..11].register[0..11]
    actions: [{register}]
  - name: system.PE[0..11].mac[0..11]
    actions: [{mac}]
"""


def energies(tmp_path, table):
    record = read(tmp_path, arch=TREE, problem=PROBLEM, ert=table)
    levels = {lv["name"]: lv["energy_pJ"] for lv in record["arch"]["levels"]}
    return levels, record["arch"]["mac"]["energy_pJ"]


def tables(
    register="{name: random_read, energy: 1}, {name: read, energy: 9}, {name: write, energy: 2}",
    mac="{name: leak, energy: 5}, {name: compute, energy: 0.25}",
):
    return TABLES.format(register=register, mac=mac)


def test_actions_as_timeloop_takes_them(tmp_path):
    levels, mac = energies(tmp_path, tables())
    # fills and updates are writes, unless they are said
    assert levels["DRAM"] == {"read": 64, "fill": 32, "update": 32, "leak_per_cycle": 0}
    # of an action with several energies the dearest
    assert levels["buffer"] == {"read": 2, "fill": 3, "update": 4, "leak_per_cycle": 0.5}
    # random accesses before others
    assert levels["register"] == {"read": 1, "fill": 2, "update": 2, "leak_per_cycle": 0}
    assert mac == 0.25


def test_a_table_without_known_actions_gives_its_dearest(tmp_path):
    access = "{name: access, energy: 7}, {name: idle, energy: 1}"
    levels, _ = energies(tmp_path, tables(register=access))
    assert levels["register"] == {"read": 7, "fill": 7, "update": 7, "leak_per_cycle": 0}


def test_summaries_and_old_tables(tmp_path):
    plain = energies(tmp_path, tables())
    summary = tables().replace("ERT:", "ERT_summary:").replace("tables:", "table_summary:")
    summary = summary.replace("energy: 64", "max_energy: 64, average_energy: 50, min_energy: 1")
    assert energies(tmp_path, summary) == plain
    old = """
ERT:
  version: 0.2
  tables:
    system.DRAM: {read: {energy: 64}, write: [{energy: 32}, {energy: 1}]}
    system.buffer: {read: {energy: 2}, write: {energy: 3}, update: {energy: 4}, leak: {energy: 0.5}}
    system.PE[0..11].register: {read: {energy: 1}, write: {energy: 2}}
    system.PE[0..11].mac: {mac_random: {energy: 0.25}}
"""
    assert energies(tmp_path, old) == plain


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("system.DRAM", "system.DREAM", "ERT: has no table for DRAM; did you mean DREAM"),
        ("mac[0..11]", "max[0..11]", "ERT: has no table for mac"),
        ("energy: 64", "energy: -1", "energy: must be 0 or more, got -1"),
        ("energy: 64", "energy: .nan", "must be a number between -2**62 and 2**62, got nan"),
        ("energy: 64", "enrgy: 64", "enrgy: is not known; did you mean energy"),
        ("  tables:", "  tabels:", "ERT.tabels: is not known"),
        ("actions: [{name: compute", "actons: [{name: compute", "has no actions for system.PE"),
        ("system.DRAM\n", "system.wire\n", "has energies for wire"),
    ],
)
def test_tables_that_are_refused(old, new, message, tmp_path):
    text = tables(mac="{name: compute, energy: 1}")
    assert old in text
    found = faults(tmp_path, arch=TREE, problem=PROBLEM, ert=text.replace(old, new, 1))
    assert any(message in fault for fault in found), found


def scope(**values):
    return Scope({name: Entry(Place("x"), value) for name, value in values.items()})


def test_expressions():
    names = scope(a=3, b="a * 2", c="ceil(log2(b))")
    assert names.number("a + b") == 9
    assert names.number("c") == 3
    assert names.number("max(a, b) if a < b else 0") == 6
    assert names.number(" 2 ** 10 ") == 1024
    for text in ("a.b", "a[0]", "[a]", "'a'", "a = 3", "lambda: 3", "__import__('os')", "65nm"):
        with pytest.raises(NoValueError):
            names.number(text)


@given(st.text(max_size=40) | st.from_regex(r"[a-c0-9+*/()., '\-]{0,40}", fullmatch=True))
def test_an_expression_has_a_finite_value_or_says_why(text):
    try:
        value = scope(a=3, b=0.5, c=-1).number(text)
    except NoValueError:
        return
    assert abs(value) <= 2**62


def test_keys_in_either_spelling():
    found = Faults()
    entry = Entry(Place("x"), {"word-bits": 8, "word_bits": 8, "depth": 3})
    assert set(section(entry, found)) == {"word_bits", "depth"}
    assert found.sentences == ("x: word_bits: is the same key as word-bits; give it once",)
