"""Constraints: what they add to a mapping in v0.4, and mappings that break them."""

import pytest

from ....cases.timeloop_files import faults, read
from .test_mapping import MAPPING, PROBLEM, TREE

NODES = """
architecture:
  version: 0.4
  nodes:
  - !Component {{name: DRAM, class: DRAM, attributes: {{datawidth: 8}}}}
  - !Component
    name: buffer
    class: SRAM
    attributes: {{depth: 4096, datawidth: 8}}
    constraints: {{{buffer}}}
  - !Container {{name: PE, spatial: {{meshX: 4, meshY: 3}}, constraints: {{{fan}}}}}
  - !Parallel
    nodes:
    - !Component
      name: weights
      class: storage
      attributes: {{depth: 8, datawidth: 8}}
      constraints: {{dataspace: {{keep: [Weights]}}, temporal: {{factors: [R=3, S=1]}}}}
    - !Component
      name: sums
      class: storage
      attributes: {{depth: 8, datawidth: 8}}
      constraints: {{dataspace: {{keep: [Outputs]}}, temporal: {{factors_only: []}}}}
    - !Nothing {{constraints: {{dataspace: {{keep: [Inputs]}}}}}}
  - !Component {{name: mac, class: intmac}}
"""

SHORT = """
mapping:
- {target: DRAM, type: temporal, factors: [P=2]}
- {target: PE, type: spatial, factors: [P=4]}
"""


def nodes(buffer="", fan=""):
    return NODES.format(buffer=buffer, fan=fan)


def constrained(tmp_path, *limits, mapping=MAPPING, key="architecture_constraints"):
    text = f"{key}:\n  targets:\n" + "".join(f"  - {{{limit}}}\n" for limit in limits)
    return faults(tmp_path, arch=TREE, problem=PROBLEM, mapping=mapping, limits=text)


def test_constraints_complete_a_mapping_of_v04(tmp_path):
    loops = "temporal: {factors: [C=4, K=2], permutation: [K, C]}"
    arch = nodes(
        buffer=f"{loops}, dataspace: {{bypass: [Weights]}}",
        fan="spatial: {factors: [K=3, C=1], permutation: [P, K], split: 1, no_reuse: [Inputs]}",
    )
    record = read(tmp_path, arch=arch, problem=PROBLEM, mapping=SHORT)
    found = {loops["level"]: loops for loops in record["mapping"]}
    assert found["buffer"]["temporal"] == {
        "factors": {"R": 1, "S": 1, "P": 1, "Q": 1, "C": 4, "K": 2, "N": 1},
        "permutation_inner_to_outer": "KCRSPQN",
    }
    assert found["buffer"]["spatial"]["X"] == {"P": 4}
    assert found["buffer"]["spatial"]["Y"]["K"] == 3
    assert found["buffer"]["no_multicast"] == ["Inputs"]
    assert found["buffer"]["bypass"] == ["Weights"]
    assert found["weights"]["temporal"]["factors"]["R"] == 3
    # each tensor passes all branches but its own, one of them directly
    assert found["weights"]["keep"] == ["Weights"]
    assert found["sums"]["keep"] == ["Outputs"]


def test_a_tensor_has_one_branch(tmp_path):
    mapping = SHORT.replace("[P=2]", "[P=2, C=4, K=6]") + (
        "- {target: sums, type: dataspace, keep: [Weights]}\n"
    )
    found = faults(tmp_path, arch=nodes(), problem=PROBLEM, mapping=mapping)
    assert "architecture.nodes[3].nodes[1]: keeps Weights, as another branch does" in found[0]


@pytest.mark.parametrize(
    ("buffer", "fan", "message"),
    [
        ("temporal: {factors: [C=2]}", "", "needs C=2 at buffer; the mapping has C=4"),
        ("temporal: {factors: [P<=4, C>=1, K<7, R>0]}", "", ""),
        ("temporal: {factors: [C<=2]}", "", "needs C<=2 at buffer; the mapping has C=4"),
        ("temporal: {factors: [C>4]}", "", "needs C>4 at buffer"),
        ("temporal: {factors: [C0, K=900]}", "", ""),
        ("temporal: {permutation: [K, C]}", "", "from the innermost, as K C; the mapping has C K"),
        ("temporal: {permutation: [K]}", "", "from the innermost, as K; the mapping has C K"),
        ("temporal: {permutation: [N, C]}", "", ""),
        ("temporal: {no_iteration_over_dataspaces: [Outputs]}", "", "needs K=1 at buffer"),
        ("temporal: {must_iterate_over_dataspaces: [Inputs]}", "", "needs K=1 at buffer"),
        ("temporal: {default_max_factor: 4}", "", "needs K<=4 at buffer; the mapping has K=6"),
        ("temporal: {maximize_dims: [[C, K]], remainders: 1}", "", ""),
        ("dataspace: {keep: [Inputs]}", "", "needs Inputs kept at buffer; the mapping bypasses it"),
        ("dataspace: {bypass: [Outputs]}", "", "needs Outputs to bypass buffer"),
        ("max_overbooked_proportion: {proportion: 0}", "", ""),
        ("max_overbooked_proportion: {proportion: 0.1}", "", "overbooking is not modelled"),
        ("sparsity: {x: 1}", "", "'sparsity' is not a supported directive"),
        ("", "spatial: {permutation: [P], split: 0}", "needs P along Y of PE"),
        ("", "spatial: {permutation: [R, P], split: 1}", "needs P along Y of PE"),
        ("", "spatial: {permutation: [P, R], split: 1}", ""),
        ("", "spatial: {split: 999}", ""),
        ("", "spatial: {split: 0}", "needs P along Y of PE; the mapping has it along X"),
        ("", "spatial: {split: 3}", "needs a split of 3; the mapping has 1"),
        ("", "temporal: {factors: [P=1]}", "has no effect at a container"),
    ],
)
def test_constraints_that_a_full_mapping_meets_or_breaks(buffer, fan, message, tmp_path):
    mapping = """
mapping:
- {target: DRAM, type: temporal, factors: [P=2], permutation: [P]}
- {target: buffer, type: temporal, factors: [C=4, K=6], permutation: [C, K]}
- {target: buffer, type: dataspace, bypass: [Inputs], keep: [Weights, Outputs]}
- {target: PE, type: spatial, factors: [P=4], permutation: [P], split: 1}
"""
    arch = nodes(buffer, fan)
    if message:
        found = faults(tmp_path, arch=arch, problem=PROBLEM, mapping=mapping)
        assert any(message in fault for fault in found), found
        assert found[0].startswith("arch.yaml: architecture.nodes[")
    else:
        plain = read(tmp_path, arch=nodes(), problem=PROBLEM, mapping=mapping)
        assert read(tmp_path, arch=arch, problem=PROBLEM, mapping=mapping) == plain


def test_constraints_beside_a_tree_are_limits_only(tmp_path):
    # the model of v0.3 takes nothing from them, and what it keeps breaks them
    found = constrained(tmp_path, "target: register, type: bypass, bypass: [Weights]")
    assert found == [
        "limits.yaml: architecture_constraints.targets[0]: needs Weights to bypass register; "
        "the mapping keeps it"
    ]
    found = constrained(tmp_path, "target: buffer, type: spatial, no_reuse: [Weights]")
    assert "needs no reuse of Weights below buffer" in found[0]
    met = "target: buffer, type: bypass, bypass: [Weights]"
    limits = f"architecture_constraints: {{targets: [{{{met}}}]}}"
    assert read(tmp_path, arch=TREE, problem=PROBLEM, mapping=MAPPING, limits=limits)


def test_other_forms_of_constraint_lists(tmp_path):
    inner = "constraints: [{type: temporal, attributes: {factors: P1}}]"
    for text in (
        f"constraints: {{version: 0.4, targets: [{{target: buffer, {inner}}}]}}",
        f"arch_constraints: [{{name: buffer, {inner}}}]",
        "map_constraints: [{target: 1, type: temporal, factors: P1}]",
    ):
        found = faults(tmp_path, arch=TREE, problem=PROBLEM, mapping=MAPPING, limits=text)
        assert "needs P=1 at buffer; the mapping has P=2" in found[0]


def test_limits_of_a_search_are_not_limits_of_a_mapping(tmp_path):
    text = "mapspace_constraints: {targets: [{target: buffer, type: temporal, factors: P1}]}"
    assert read(tmp_path, arch=TREE, problem=PROBLEM, mapping=MAPPING, limits=text)


def test_shares_of_the_multipliers(tmp_path):
    found = constrained(
        tmp_path,
        "target: register, type: utilization, min: 1.0",
        "target: register, type: parallelism, min: 1.1",
    )
    assert len(found) == 1
    assert "needs a share of 1.1 of the multipliers in use; the mapping uses 12 of 12" in found[0]
