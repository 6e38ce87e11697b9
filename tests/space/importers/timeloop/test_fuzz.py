"""Files with slips in them give a record or a list of faults, and never anything else."""

import copy
import json
from contextlib import suppress

import pytest
import yaml
from hypothesis import given, settings, strategies as st

from archloom.space.importers.cases.reader import case_of
from archloom.space.importers.cases.record import RecordError
from archloom.space.importers.timeloop.reader import read_timeloop
from archloom.space.importers.timeloop.yaml_dialect import TaggedSection, TimeloopError, load
from archloom.space.yaml_reader import Faults

from ....cases.sweeps import sweep
from .architecture.test_reader import EYERISS
from .problem.test_reader import shape
from .test_constraints import nodes
from .test_mapping import MAPPING, PROBLEM, TREE
from .test_yaml_dialect import tables

NEW = """
mapping:
- {target: DRAM, type: temporal, factors: [P=2], permutation: [P]}
- {target: buffer, type: temporal, factors: [C=4, K=6], permutation: [C, K]}
- {target: PE, type: spatial, factors: [P=4], permutation: [P], split: 1, no_reuse: [Inputs]}
- {target: buffer, type: dataspace, bypass: [Inputs], keep: [Weights, Outputs]}
"""
LIMITS = """
architecture_constraints:
  targets:
  - {target: buffer, type: bypass, bypass: [Weights], keep: [Inputs]}
  - {target: buffer, type: spatial, factors: P<=4 K3, permutation: RP, split: 2}
  - {target: register, type: utilization, min: 0.5}
"""
BRANCHES = nodes(
    "temporal: {factors: [C<=4], permutation: [C]}", "spatial: {split: 1, factors: [R=1]}"
)
OUTSIDE = "mapping: [{target: DRAM, type: temporal, factors: X0 F0 D0 T0, permutation: XF}]"
SETS = (
    {"arch": TREE + LIMITS, "problem": PROBLEM, "mapping": MAPPING, "ert": tables()},
    {"arch": BRANCHES, "problem": PROBLEM, "mapping": NEW},
    {"arch": EYERISS, "problem": shape(), "mapping": OUTSIDE},
)
WEIRD = (
    *(None, True, False, 0, -1, 1, 2**70, 1.5, float("nan"), float("inf"), 1e300, -0.0),
    *("", " ", "x", "C=4", "C=", "P=7,3", "P<=3", "*", "1/0", "a*b", "depth", "9**99", "-" * 200),
    *("'a'", "PE[0..3]", "PE[3..0]", "PE[..", "PE[a..b]", "[", "N", "no", "3", "é", "X" * 500),
    *("\x00", "{{x}}", "x.yaml", "Weights", "Outputs", "DRAM", "__import__('os')", "len(spec)"),
    *(
        [],
        {},
        [[]],
        [1],
        ["x"],
        [None],
        {"a": 1},
        {"a": {"b": []}},
        [{"x": 1}],
        [["R", "W"], ["P"]],
    ),
    *(
        TaggedSection("Foo", {}),
        TaggedSection("Component", {}),
        TaggedSection("Parallel", {"nodes": []}),
    ),
)
NAMES = ("nodes", "subtree", "name", "type", "target", "version", "sizeKB", "constraints", "x", "")


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, _data):
        return True


_Dumper.add_representer(TaggedSection, lambda d, x: d.represent_mapping(f"!{x.tag}", dict(x)))


def paths(data, path=()):
    """Every place in a file, as the keys that lead there."""
    inner = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in inner:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from paths(value, (*path, key))


def slip(data, where, kind, weird, name):
    """Make one slip at a place in the data."""
    places = list(paths(data))
    if not places:
        return
    *above, key = places[where % len(places)]
    parent = data
    for step in above:
        parent = parent[step]
    if kind == "drop":
        del parent[key]
    elif kind == "put":
        parent[key] = copy.deepcopy(weird)
    elif kind == "wrap":
        parent[key] = [parent[key]]
    elif kind == "rename" and isinstance(parent, dict):
        parent[name or f"{key}s"] = parent.pop(key)
    elif kind == "spell" and isinstance(parent, dict):
        parent[str(key).replace("_", "-").upper()] = parent.pop(key)
    elif kind == "twice" and isinstance(parent, list):
        parent.insert(0, copy.deepcopy(parent[key]))


slips = st.tuples(
    st.sampled_from(["arch", "arch", "problem", "mapping", "ert"]),
    st.integers(0, 10**6),
    st.sampled_from(["drop", "put", "put", "wrap", "rename", "spell", "twice"]),
    st.sampled_from(WEIRD),
    st.sampled_from(NAMES),
)


def loaded(folder, texts):
    found = Faults()
    data = {}
    for name, text in texts.items():
        path = folder / f"{name}.yaml"
        path.write_text(text)
        data[name] = load(path, found)
    assert not found
    return data


def outcome(folder, data):
    """Write the files and return the record, or the faults."""
    files = {name: folder / f"{name}.yaml" for name in data}
    for name, path in files.items():
        path.write_text(yaml.dump(data[name], Dumper=_Dumper, sort_keys=False))
    try:
        return read_timeloop(
            [files["arch"]], files["problem"], files["mapping"], ert_path=files.get("ert")
        )
    except TimeloopError as error:
        return error.faults


@pytest.mark.parametrize("part", sweep(range(4), 1))
def test_slips_are_told_or_do_no_harm(tmp_path, part):
    """In each part the same slips are made elsewhere."""
    sets = [loaded(tmp_path, texts) for texts in SETS]
    assert all(isinstance(outcome(tmp_path, data), dict) for data in sets)
    seen = {"records": 0, "faults": 0}

    @settings(max_examples=80)
    @given(st.sampled_from(range(len(sets))), st.lists(slips, min_size=1, max_size=3))
    def check(which, made):
        data = copy.deepcopy(sets[which])
        for name, where, *rest in made:
            slip(data.get(name, data["arch"]), where + 7919 * part, *rest)
        found = outcome(tmp_path, data)
        if isinstance(found, tuple):
            seen["faults"] += 1
            assert found
            assert all(fault.startswith(f"{tmp_path}/") for fault in found)
            return
        seen["records"] += 1
        json.dumps(found, allow_nan=False)
        with suppress(RecordError):
            case_of(found)

    check()
    # slips must be seen, and some must be harmless, or the test looks at nothing
    assert seen["faults"] > 40
    assert seen["records"] > 3
