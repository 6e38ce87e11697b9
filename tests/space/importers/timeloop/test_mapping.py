"""Timeloop mappings: its conventions, and mappings that it would not run."""

import pytest

from ....cases.timeloop_files import faults, read

TREE = """
architecture:
  version: 0.3
  subtree:
  - name: system
    local:
    - {name: DRAM, class: DRAM, attributes: {word-bits: 8}}
    - {name: buffer, class: SRAM, attributes: {depth: 4096, word-bits: 8}}
    - {name: "register[0..11]", class: regfile, attributes: {depth: 8, word-bits: 8, meshX: 4}}
    - {name: "mac[0..11]", class: intmac, attributes: {meshX: 4}}
"""

NODES = """
architecture:
  version: 0.4
  nodes:
  - !Component {name: DRAM, class: DRAM, attributes: {datawidth: 8}}
  - !Component {name: buffer, class: SRAM, attributes: {depth: 4096, datawidth: 8}}
  - !Container {name: column, spatial: {meshX: 4}}
  - !Container {name: PE, spatial: {meshX: 2, meshY: 3}}
  - !Component {name: register, class: storage, attributes: {depth: 8, datawidth: 8}}
  - !Component {name: mac, class: intmac}
"""

PROBLEM = "problem: {shape: cnn-layer, instance: {R: 3, S: 1, P: 8, Q: 1, C: 4, K: 6, N: 1}}"

MAPPING = """
mapping:
- {target: DRAM, type: temporal, factors: K=2 C=4, permutation: CK}
- {target: buffer, type: temporal, factors: P2, permutation: "P RS"}
- {target: buffer, type: spatial, factors: P=4 K=3, permutation: RPKC, split: 2}
- {target: register, type: temporal, factors: R0, permutation: R}
- {target: buffer, type: datatype, bypass: [Weights], keep: [Inputs]}
"""


def mapped(tmp_path, mapping=MAPPING, arch=TREE, problem=PROBLEM):
    record = read(tmp_path, arch=arch, problem=problem, mapping=mapping)
    return {loops["level"]: loops for loops in record["mapping"]}


def refused(tmp_path, mapping, arch=TREE, problem=PROBLEM, **more):
    return faults(tmp_path, arch=arch, problem=problem, mapping=mapping, **more)


def ones(**factors):
    return dict.fromkeys("RSPQCKN", 1) | factors


def test_timeloops_conventions(tmp_path):
    found = mapped(tmp_path)
    assert list(found) == ["register", "buffer", "DRAM"]
    # the leftmost is the innermost; what is left out follows in the order of the shape
    assert found["DRAM"]["temporal"] == {
        "factors": ones(K=2, C=4),
        "permutation_inner_to_outer": "CKRSPQN",
    }
    # 0 is the whole bound
    assert found["register"]["temporal"]["factors"] == ones(R=3)
    # the first two dimensions go along x, all others along y
    assert found["buffer"]["spatial"] == {
        "X": {"R": 1, "P": 4},
        "Y": {"K": 3, "C": 1, "S": 1, "Q": 1, "N": 1},
        "order_X_inner_to_outer": "RP",
        "order_Y_inner_to_outer": "KCSQN",
        "fanoutX": 4,
        "fanoutY": 3,
    }
    assert found["register"]["spatial"] is None
    assert (found["buffer"]["keep"], found["buffer"]["bypass"]) == (
        ["Inputs", "Outputs"],
        ["Weights"],
    )
    # what is not said is kept
    assert found["register"]["keep"] == ["Weights", "Inputs", "Outputs"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("factors: K=2 C=4", "factors: [K=2, C=4]"),
        ("factors: K=2 C=4", "factors: 'K=2,C=4'"),
        ("factors: K=2 C=4", "factors: K2C4"),
        ("factors: K=2 C=4", "factors: 'K 2, C = 4 # the rest'"),
        ("factors: K=2 C=4", "factors: 'K=2,2 C4,4'"),
        ("permutation: CK", "permutation: [C, K]"),
        ("permutation: CK", "permutation: 'C, K'"),
        ("permutation: CK", "permutation: C K"),
        ("permutation: 'P RS'", "permutation: PRS"),
        ("target: register", "target: 0"),
        ("target: DRAM", "target: 2"),
        ("type: datatype", "type: bypass"),
        ("type: datatype", "type: dataspace"),
        ("bypass: [Weights]", "bypass: Weights"),
        (", bypass: [Weights], keep: [Inputs]", ", bypass_only: [Weights]"),
        (", bypass: [Weights], keep: [Inputs]", ", keep_only: [Inputs, Outputs]"),
        ("factors: P2,", "factors_only: [P=2],"),
    ],
)
def test_other_ways_to_say_the_same(old, new, tmp_path):
    text = MAPPING.replace('"', "'")
    assert old in text
    assert mapped(tmp_path, text.replace(old, new, 1)) == mapped(tmp_path)


def test_what_a_mapping_leaves_out(tmp_path):
    # no permutation, no split, no directive: loops of one step in the order of the shape, along x
    found = mapped(tmp_path, "mapping: [{target: DRAM, type: temporal, factors: R0 P0 C0 K0}]")
    assert found["DRAM"]["temporal"]["permutation_inner_to_outer"] == "RSPQCKN"
    assert found["buffer"]["temporal"]["factors"] == ones()
    assert found["buffer"]["spatial"]["X"] == ones()
    assert found["buffer"]["spatial"]["Y"] == {}


def test_tensors_without_multicast(tmp_path):
    for key in ("no_multicast_no_reduction", "no_reuse"):
        text = MAPPING.replace("split: 2", f"split: 2, {key}: [Inputs, Weights]")
        assert mapped(tmp_path, text)["buffer"]["no_multicast"] == ["Weights", "Inputs"]
    everything = MAPPING.replace("split: 2", "split: 2, no_reuse: ['*']")
    assert len(mapped(tmp_path, everything)["buffer"]["no_multicast"]) == 3


def test_fan_outs_in_a_row_are_one(tmp_path):
    mapping = """
mapping:
- {target: DRAM, type: temporal, factors: C=4 R=3}
- {target: column, type: spatial, factors: P=4, permutation: P}
- {target: inter_PE_spatial, type: spatial, factors: P=2 K=3, permutation: [P, K], split: 1}
- {target: register, type: temporal, factors: K=2}
- {target: inter_PE_spatial, type: temporal, factors: C1 P1}
- {target: column, type: dataspace, bypass: [Weights, Inputs, Outputs]}
"""
    spatial = mapped(tmp_path, mapping, NODES)["buffer"]["spatial"]
    # the inner fan-out first; trivial loops stand where it puts them
    assert spatial == {
        "X": {"P": 8},
        "Y": {"K": 3, "R": 1, "S": 1, "Q": 1, "C": 1, "N": 1},
        "order_X_inner_to_outer": "P",
        "order_Y_inner_to_outer": "KRSQCN",
        "fanoutX": 8,
        "fanoutY": 3,
    }


def test_a_memory_names_the_fan_out_below_it(tmp_path):
    arch = NODES.replace("  - !Container {name: column, spatial: {meshX: 4}}\n", "")
    mapping = MAPPING.replace("P=4 K=3", "P=2 K=3").replace("factors: P2", "factors: P4")
    by_container = mapping.replace("target: buffer, type: spatial", "target: PE, type: spatial")
    assert mapped(tmp_path, mapping, arch) == mapped(tmp_path, by_container, arch)
    assert (
        "several fan-outs below it; name one of column, PE" in refused(tmp_path, mapping, NODES)[0]
    )


def test_levels_that_hold_nothing_are_fan_outs(tmp_path):
    # users put a memory of no size between two fan-outs
    arch = TREE.replace(
        '    - {name: "register',
        '    - {name: "rows[0..3]", class: regfile, attributes: {entries: 0}}\n'
        '    - {name: "register',
    )
    mapping = """
mapping:
- {target: DRAM, type: temporal, factors: K=2 C=4}
- {target: buffer, type: temporal, factors: P=2}
- {target: buffer, type: spatial, factors: P=4}
- {target: rows, type: temporal, factors: P1}
- {target: rows, type: spatial, factors: K=3, split: 0}
- {target: rows, type: datatype, bypass: [Weights, Inputs, Outputs]}
- {target: register, type: temporal, factors: R=3}
- {target: buffer, type: datatype, bypass: [Weights]}
"""
    found = mapped(tmp_path, mapping, arch)
    assert list(found) == ["register", "buffer", "DRAM"]
    assert found["buffer"]["spatial"]["X"] == {"P": 4}
    assert found["buffer"]["spatial"]["Y"] == {"R": 1, "S": 1, "Q": 1, "C": 1, "K": 3, "N": 1}
    assert found["buffer"]["spatial"]["fanoutX"] == 4
    wrong = mapping.replace("factors: P1}", "factors: P2}").replace("factors: P=2", "factors: P=1")
    assert "puts loops at rows, which holds no tensor" in refused(tmp_path, wrong, arch)[0]
    wrong = mapping.replace(
        "rows, type: datatype, bypass: [Weights", "rows, type: datatype, keep: [Weights"
    )
    assert "keeps Weights, Inputs, Outputs at rows, of size 0" in refused(tmp_path, wrong, arch)[0]


def test_dimensions_with_long_names(tmp_path):
    problem = """
problem:
  shape:
    name: product
    dimensions: [row, col, sum]
    data_spaces:
    - {name: A, projection: [row, sum]}
    - {name: B, projection: [col, sum]}
    - {name: Z, projection: [row, col], read_write: true}
  instance: {row: 4, col: 6, sum: 8}
"""
    for order in ("'sum, col'", "sum col", "[sum, col]"):
        loops = f"factors: row=4 col=6 sum8, permutation: {order}"
        mapping = f"mapping: [{{target: DRAM, type: temporal, {loops}}}]"
        found = mapped(tmp_path, mapping, problem=problem)
        assert found["DRAM"]["temporal"]["permutation_inner_to_outer"] == ["sum", "col", "row"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "K=2 C=4",
            "K=2 C=2",
            "factors of C multiply to 2, must multiply to the bound 4 of the problem",
        ),
        (
            "K=2 C=4",
            "K0 C=4",
            "factors of K multiply to 18, must multiply to the bound 6 of the problem",
        ),
        ("K=2 C=4", "'K=2 C=4,3'", "C=4,3: imperfect factors are not supported"),
        ("K=2 C=4", "K=2 C<=4", "factors of a mapping must be written with ="),
        ("K=2 C=4", "K=2 C=-4", "'C=-4' must be a list of factors, such as C=4 K=1"),
        ("K=2 C=4", "K=2 C=4 X=1", "'X' is not a dimension; known: R, S, P, Q, C, K, N"),
        ("K=2 C=4", "[4, 2]", "factors[0]: must be factors such as C=4, got 4"),
        ("K=2 C=4", "{K: 2}", "factors: must be a list, got {'K': 2}"),
        ("permutation: CK", "permutation: CKC", "permutation: names C twice"),
        ("permutation: CK", "permutation: CX", "permutation: 'X' is not a dimension"),
        ("permutation: CK", "permutation: 7", "permutation: must be a list, got 7"),
        ("split: 2", "split: 1", "puts P=4 K=3 along Y of buffer, which has only 3"),
        ("split: 2", "split: 9", "along X of buffer, which has only 4; split is the number"),
        ("split: 2", "split: -1", "split: must be 0 or more, got -1"),
        ("split: 2", "split: 0.5", "split: must be a whole number, got 0.5"),
        ("split: 2", "splits: 2", "splits: is not known; the nearest known name is split"),
        ("target: DRAM", "target: DREAM", "'DREAM' is not a memory; did you mean DRAM"),
        ("target: DRAM", "target: 3", "3 is not a memory; memories are numbered 0 to 2"),
        ("target: DRAM, ", "", "mapping[0]: has no target"),
        (
            "type: temporal, factors: K",
            "factors: K",
            "mapping[0]: has no type; valid types: temporal",
        ),
        ("type: datatype", "type: datatypes", "'datatypes' is not a supported directive"),
        (
            "type: datatype, bypass: [Weights], keep: [Inputs]",
            "type: utilization",
            "is a constraint, which a mapping may not have",
        ),
        ("type: datatype", "type: skew", "'skew' is not a supported directive"),
        ("bypass: [Weights]", "bypass: [Weight]", "'Weight' is not a data space; did you mean"),
        ("keep: [Inputs]", "keep: [Weights]", "both keeps and bypasses Weights"),
        ("keep: [Inputs]", "keep: 3", "keep: must be a list, got 3"),
        ("keep: [Inputs]", "no_coalesce: [Inputs]", "which is not modelled"),
        (
            "permutation: R}",
            "no_reuse: [Inputs]}",
            "no_reuse: is ['Inputs'], which is not modelled",
        ),
        (
            "target: register",
            "target: DRAM",
            "is a second directive of its type, besides mapping[0]",
        ),
        (
            "split: 2",
            "split: 2, rmw_first_update: [Outputs]",
            "rmw_first_update: is not known",
        ),
    ],
)
def test_mappings_that_are_refused(old, new, message, tmp_path):
    assert old in MAPPING
    found = refused(tmp_path, MAPPING.replace(old, new, 1))
    assert any(message in fault for fault in found), found
    assert all(fault.startswith("mapping.yaml: mapping") for fault in found)


def test_loops_without_a_place_are_not_missed_as_well(tmp_path):
    found = refused(tmp_path, MAPPING.replace("target: DRAM", "target: DREAM"))
    assert found == ["mapping.yaml: mapping[0].target: 'DREAM' is not a memory; did you mean DRAM?"]


def test_other_slips(tmp_path):
    assert "mapping.yaml: has no mapping; add it" in refused(tmp_path, "mapper: {}")
    assert "mapping: must be a list, got 3" in refused(tmp_path, "mapping: 3")[0]
    nowhere = MAPPING + "".join(
        f"- {{target: {level}, type: bypass, bypass: [Outputs]}}\n"
        for level in ("DRAM", "register")
    )
    nowhere = nowhere.replace("keep: [Inputs]}", "bypass: [Outputs]}").replace(
        "bypass: [Weights], bypass", "bypass"
    )
    assert "no memory keeps Outputs" in refused(tmp_path, nowhere)[0]
    fan = MAPPING.replace("target: register", "target: PE")
    assert "PE is a fan-out, which has no loops in time" in " ".join(refused(tmp_path, fan, NODES))
    none = MAPPING.replace("target: buffer, type: spatial", "target: DRAM, type: spatial")
    assert "puts P=4 along X of DRAM, which has only 1" in " ".join(refused(tmp_path, none))
    differ = """
mapping:
- {target: DRAM, type: temporal, factors: C=4 R=3 K=3 P=2}
- {target: column, type: spatial, factors: P=4, no_reuse: [Inputs]}
- {target: PE, type: spatial, factors: K=2}
"""
    assert "no_reuse differs between the fan-outs" in refused(tmp_path, differ, NODES)[0]
    absent = differ.replace("target: column", "target: columns")
    assert "'columns' is not a fan-out; did you mean column" in refused(tmp_path, absent, NODES)[0]
    register = differ.replace("target: column", "target: DRAM")
    assert "DRAM has no fan-out below it" in refused(tmp_path, register, NODES)[0]
