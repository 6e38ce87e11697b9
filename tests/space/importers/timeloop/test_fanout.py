"""Fan-outs in a row: one level of a case, or one level each where a window lies across them."""

import pytest

from archloom.space.importers.cases.reader import case_of
from archloom.studies.analysis.conformance import evaluated

from ....cases.timeloop_files import read

NODES = """
architecture:
  version: 0.4
  nodes:
  - !Component {name: memory, class: DRAM, attributes: {width: 16, datawidth: 16}}
  - !Component {name: buffer, class: SRAM, attributes: {depth: 1024, width: 16, datawidth: 16}}
  - !Container {name: column, spatial: {meshX: 4}}
  - !Container {name: row, spatial: {meshY: 3}}
  - !Component {name: spad, class: regfile, attributes: {depth: 16, width: 16, datawidth: 16}}
  - !Component {name: mac, class: intmac, attributes: {energy: 1}}
"""

#: the same, as the front end writes it
TREE = """
architecture:
  version: 0.4
  subtree:
  - name: top
    local:
    - {name: "memory[1..1]", class: DRAM, attributes: {width: 16, datawidth: 16}}
    - {name: "buffer[1..1]", class: SRAM, attributes: {depth: 1024, width: 16, datawidth: 16}}
    - {name: "inter_column_spatial[1..1]", class: dummy_storage, attributes: {depth: 1, width: 1,
        datawidth: 1, meshX: 1, meshY: 1}}
    - {name: "inter_row_spatial[1..4]", class: dummy_storage, attributes: {depth: 1, width: 1,
        datawidth: 1, meshX: 4, meshY: 1}}
    - {name: "spad[1..12]", class: regfile, attributes: {depth: 16, width: 16, datawidth: 16,
        meshX: 4, meshY: 3}}
    - {name: "mac[1..12]", class: intmac, attributes: {meshX: 4, meshY: 3, energy: 1}}
"""

PROBLEM = """
problem:
  shape:
    name: rows
    dimensions: [K, R, P]
    data_spaces:
    - {name: Weights, projection: [K, R]}
    - {name: Inputs, projection: [[[R], [P]]]}
    - {name: Outputs, projection: [K, P], read_write: true}
  instance: {K: 8, R: 3, P: 8}
"""


def mapping(column: str, row: str) -> str:
    """Loops that are left go to the buffer."""
    left = {"K": 8, "R": 3, "P": 8}
    for dim, _, factor in (text.partition("=") for text in (column, row)):
        left[dim] //= int(factor)
    rest = " ".join(f"{dim}={factor}" for dim, factor in left.items())
    return f"""
mapping:
- {{target: buffer, type: temporal, factors: {rest}, permutation: KPR}}
- {{target: inter_column_spatial, type: spatial, factors: {column}}}
- {{target: inter_row_spatial, type: spatial, factors: {row}, split: 0}}
"""


@pytest.mark.parametrize("arch", [NODES, TREE])
def test_a_window_across_fan_outs_keeps_them_apart(tmp_path, arch):
    """Words are shared within a fan-out, never on the diagonals of two."""
    text = mapping("P=4", "R=3")
    record = read(tmp_path, arch=arch, problem=PROBLEM, mapping=text)
    assert [lv["name"] for lv in record["arch"]["levels"]] == [
        *("spad", "inter_row_spatial", "buffer", "memory"),
    ]
    hollow = record["mapping"][1]
    assert hollow["keep"] == []
    assert hollow["spatial"]["fanoutY"] == 3
    ours = evaluated(case_of(record))
    # 12 spads take one word in each of 2 steps (of P); neither 12 nor 8 of them are the same
    assert ours.counts[2, 1, 0] == 2 * 12
    assert ours.used.tolist() == [12, 4, 1, 1]


@pytest.mark.parametrize("arch", [NODES, TREE])
@pytest.mark.parametrize(("column", "row"), [("P=4", "K=2"), ("P=4", "P=2"), ("K=4", "R=3")])
def test_other_fan_outs_in_a_row_are_one(tmp_path, arch, column, row):
    record = read(tmp_path, arch=arch, problem=PROBLEM, mapping=mapping(column, row))
    assert [lv["name"] for lv in record["arch"]["levels"]] == ["spad", "buffer", "memory"]
    assert record["mapping"][1]["spatial"]["fanoutX"] == 4


def test_one_fan_out_shares_the_diagonals(tmp_path):
    """Timeloop counts words of one fan-out together, along both of its sides."""
    apart = """column, spatial: {meshX: 4}}
  - !Container {name: row, spatial: {meshY: 3}}"""
    arch = NODES.replace(apart, "column, spatial: {meshX: 4, meshY: 3}}")
    text = """
mapping:
- {target: buffer, type: temporal, factors: K=8 P=2, permutation: KPR}
- {target: column, type: spatial, factors: P=4 R=3, permutation: PRK, split: 1}
"""
    record = read(tmp_path, arch=arch, problem=PROBLEM, mapping=text)
    assert evaluated(case_of(record)).counts[1, 1, 0] == 2 * (4 + 3 - 1)


def test_levels_that_hold_nothing_cost_nothing(tmp_path):
    text = mapping("P=4", "R=3")
    actions = "actions: [{name: read, energy: 2}, {name: write, energy: 3}]"
    tables = [f"{{name: top.{name}, {actions}}}" for name in ("spad", "buffer", "memory", "mac")]
    ert = f"ERT: {{version: 0.4, tables: [{', '.join(tables)}]}}"
    record = read(tmp_path, arch=NODES, problem=PROBLEM, mapping=text, ert=ert)
    ours = evaluated(case_of(record))
    assert ours.level_pj[1].tolist() == [0, 0, 0]
    reads, fills, updates = (ours.counts[:, :, i] * ours.used[:, None] for i in range(3))
    everything = (2 * reads + 3 * fills + 3 * updates).sum(axis=1)
    everything[1] = 0
    assert ours.mac_pj == 8 * 3 * 8 * 3  # of actions that nobody knows, the dearest
    assert ours.energy_pj == pytest.approx(everything.sum() + ours.mac_pj, rel=1e-12)
