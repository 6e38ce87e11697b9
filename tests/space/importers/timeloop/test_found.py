"""What published files of Timeloop users have that a reader of its manual would not expect."""

import pytest

from ....cases.timeloop_files import faults, read

GEMM = """
problem:
  shape: gemm_ABZ
  instance: {M: 4, N: 6, K: 8}
"""


def arch(buffer: str = "depth: 64", mac: str = "", branch: str = "") -> str:
    return f"""
architecture:
  version: 0.4
  subtree:
  - name: top
    attributes: {{{branch}}}
    local:
    - {{name: "memory[1..1]", class: DRAM, attributes: {{width: 16}}}}
    - {{name: "buffer[1..1]", class: regfile, attributes: {{{buffer}}}}}
    - {{name: "mac[1..1]", class: intmac, attributes: {{{mac}}}}}
"""


def test_multipliers_that_the_front_end_wrote(tmp_path):
    written = "datawidth: 16, has_power_gating: false, meshX: 1, meshY: 1, power_gated_at: mac"
    record = read(tmp_path, arch=arch(mac=written), problem=GEMM)
    assert record["arch"]["mac"]["instances"] == 1


@pytest.mark.parametrize("part", ["mac", "buffer"])
def test_power_gating_is_refused_wherever_it_stands(tmp_path, part):
    text = arch(**{part: "depth: 64, has_power_gating: true"[11 * (part == "mac") :]})
    (fault,) = faults(tmp_path, arch=text, problem=GEMM)
    assert fault.endswith("has_power_gating: is True, but power gating is not modelled")


def test_variables_in_capitals_may_be_left_over(tmp_path):
    """After the front end has put in their values, nothing reads them."""
    read(tmp_path, arch=arch(branch="PSUM_DATAWIDTH: 32, WORD_2: 8"), problem=GEMM)
    (fault,) = faults(tmp_path, arch=arch(branch="Psum_width: 32"), problem=GEMM)
    assert "Psum_width: is not known" in fault


def test_entries_count_before_a_depth(tmp_path):
    record = read(tmp_path, arch=arch("entries: 48, depth: 64, width: 64"), problem=GEMM)
    assert record["arch"]["levels"][0]["size_words"] == 48
    assert record["arch"]["levels"][0]["block_size"] == 4


def test_a_file_that_cannot_be_read_lacks_nothing(tmp_path):
    found = faults(tmp_path, arch="architecture: {version: 0.4", problem=GEMM)
    assert len(found) == 1
    assert "arch.yaml: line 1: is not YAML" in found[0]


def test_the_products_of_an_unknown_dimension_are_not_blamed(tmp_path):
    text = "mapping: [{target: buffer, type: temporal, factors: M=4 N=6 C=8}]"
    (fault,) = faults(tmp_path, arch=arch(), problem=GEMM, mapping=text)
    assert "'C' is not a dimension" in fault


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("ERT_summary: {ERT summaries: {top.mac: {mac: {energy: 1}}}}", "give the ERT"),
        ("ERT: {version: 0.4, tables: []}", "ERT: has no tables"),
        ("ERT: {version: 0.4}", "ERT: has no tables"),
    ],
)
def test_a_table_without_tables_is_one_fault(tmp_path, table, message):
    (fault,) = faults(tmp_path, arch=arch(), problem=GEMM, ert=table)
    assert fault.endswith(message)


def test_attributes_of_a_compound_class_are_asked_for(tmp_path):
    text = arch().replace(
        "class: regfile, attributes: {", "class: buffet_SRAM, attributes: {n: 2, "
    )
    (fault,) = faults(tmp_path, arch=text, problem=GEMM)
    assert fault.endswith("; or give --component with what buffet_SRAM declares")
    classes = "compound_components: {classes: [{name: buffet_SRAM, attributes: {n: 1}}]}"
    read(tmp_path, arch=text, problem=GEMM, components=classes)
