"""Timeloop architectures in each format: sizes, meshes, inheritance, and what is refused."""

import pytest

from .....cases.timeloop_files import faults, read

GEMM = """
problem:
  shape: gemm_ABZ
  instance: {M: 4, N: 6, K: 8}
"""

#: row-stationary, in the style of v0.3: ranges, hyphens, scratchpads side by side
EYERISS = """
architecture:
  version: 0.3
  subtree:
  - name: system
    attributes: {technology: 65nm, WORD: 16}
    local:
    - name: DRAM
      class: DRAM
      attributes: {type: LPDDR4, width: 64, block-size: 4, word-bits: WORD}
    subtree:
    - name: chip
      local:
      - name: buffer
        class: smartbuffer_SRAM
        attributes:
          memory_depth: 16 * 1024
          memory_width: 64
          n_banks: 32
          block-size: memory_width // WORD
          word-bits: WORD
          read_bandwidth: 16
          write_bandwidth: 8.5
      - name: columns[0..13]
        class: regfile
        attributes: {entries: 0, meshX: 14}
      subtree:
      - name: PE[0..167]
        attributes: {datawidth: 16}
        local:
        - {name: inputs, class: smartbuffer_RF, attributes: {depth: 12, width: 16, meshX: 14}}
        - name: mac
          class: intmac
          attributes: {meshX: 14, meshY: 12, energy: 0.5}
        - name: sums
          class: smartbuffer_RF
          attributes: {depth: 16, width: 32, meshX: 14, multiple-buffering: 2}
"""

#: weight-stationary, in the style of v0.4
WEIGHTS = """
architecture:
  version: 0.4
  nodes:
  - !Container {name: system, attributes: {datawidth: BITS, side: 16}}
  - !Component {name: DRAM, class: DRAM, attributes: {width: 64}}
  - !Component
    name: buffer
    class: smartbuffer_SRAM
    attributes: {depth: 1024, width: 4 * datawidth, shared_bandwidth: 4}
  - !Container {name: PE, spatial: {meshX: side, meshY: side // 2}}
  - !Component {name: unused, class: storage, enabled: false}
  - !Hierarchical
    nodes:
    - !Component {name: register, class: storage, attributes: {depth: 1, width: 8}}
  - !Component {name: mac, class: intmac, spatial: {meshY: 2}}
variables: {version: 0.4, BITS: 2 * 4, technology: "45nm", global_cycle_seconds: 1e-9}
"""

LIST = """
arch:
  arithmetic: {instances: 64, meshX: 8, word-bits: 8}
  storage:
  - {name: registers, entries: 4, instances: 64, meshX: 8, word-bits: 8, cluster-size: 8}
  - {name: buffer, sizeKB: 2, instances: 1, word-bits: 16, block-size: 4}
  - {name: DRAM, technology: DRAM, instances: 1, word-bits: 8, block-size: 64, bandwidth: 10.0}
"""

TREE = """
architecture:
  version: 0.3
  subtree:
  - name: system
    attributes: {{{around}}}
    local:
    - {{name: DRAM, class: DRAM, attributes: {{width: 16}}}}
    - {{name: "buffer{many}", class: SRAM, attributes: {{{buffer}}}}}
    - {{name: "mac[1..16]", class: intmac, attributes: {{{mac}}}}}
"""


def levels(record):
    return {level["name"]: level for level in record["arch"]["levels"]}


def tree(around="", many="", buffer="depth: 64, width: 16", mac=""):
    return TREE.format(around=around, many=many, buffer=buffer, mac=mac)


def tree_faults(tmp_path, **parts):
    return faults(tmp_path, arch=tree(**parts), problem=GEMM)


def test_a_tree_with_ranges_and_scratchpads(tmp_path):
    record = read(tmp_path, arch=EYERISS, problem=GEMM)
    found = levels(record)
    # components of one branch stand below each other, and the multipliers below all of them
    assert list(found) == ["sums", "inputs", "buffer", "DRAM"]
    assert record["arch"]["name"] == "system"
    mac = {"instances": 168, "meshX": 14, "meshY": 12, "energy_pJ": 0.5}
    assert record["arch"]["mac"] == mac
    assert found["buffer"] == {
        "name": "buffer",
        "size_words": 16 * 1024 * 4,
        "word_bits": 16,
        "instances": 1,
        "meshX": 1,
        "meshY": 1,
        "technology": "SRAM",
        "block_size": 4,
        "cluster_size": 1,
        "multiple_buffering": 1.0,
        "read_bandwidth": 16,
        "write_bandwidth": 8.5,
        "shared_bandwidth": None,
        "energy_pJ": None,
        "net_energy_per_hop_pJ": None,
        "net_router_energy_pJ": None,
        "addr_gen_energy_pJ": None,
    }
    # the width alone says how many words a block has
    assert (found["sums"]["block_size"], found["sums"]["size_words"]) == (2, 32)
    assert found["sums"]["multiple_buffering"] == 2.0
    assert (found["inputs"]["instances"], found["inputs"]["meshX"]) == (168, 14)
    assert (found["DRAM"]["size_words"], found["DRAM"]["technology"]) == (None, "DRAM")


def test_nodes_with_containers_and_variables(tmp_path):
    record = read(tmp_path, arch=WEIGHTS, problem=GEMM)
    found = levels(record)
    assert list(found) == ["register", "buffer", "DRAM"]
    assert record["arch"]["mac"] == {
        "instances": 256,
        "meshX": 16,
        "meshY": 16,
        "energy_pJ": None,
    }
    # attributes of a container hold for every component behind it
    assert {level["word_bits"] for level in found.values()} == {8}
    assert (found["register"]["meshX"], found["register"]["meshY"]) == (16, 8)
    assert (found["buffer"]["block_size"], found["buffer"]["size_words"]) == (4, 4096)
    assert found["buffer"]["shared_bandwidth"] == 4


def test_a_list_from_the_innermost(tmp_path):
    found = levels(read(tmp_path, arch=LIST, problem=GEMM))
    assert list(found) == ["registers", "buffer", "DRAM"]
    assert (found["registers"]["meshX"], found["registers"]["meshY"]) == (8, 8)
    assert found["registers"]["cluster_size"] == 8
    assert found["buffer"]["size_words"] == 2 * 1024 * 8 // 16
    # half of the old key for each direction
    assert found["DRAM"]["read_bandwidth"] == found["DRAM"]["write_bandwidth"] == 5.0


def test_instances_lie_along_x_unless_a_mesh_is_given(tmp_path):
    buffer = "depth: 64, width: 16"
    found = levels(read(tmp_path, arch=tree(many="[0..7]", buffer=buffer), problem=GEMM))
    assert (found["buffer"]["meshX"], found["buffer"]["meshY"]) == (8, 1)
    buffer += ", meshY: 4"
    mac = "meshX: 2"
    found = levels(read(tmp_path, arch=tree("", "[0..7]", buffer, mac), problem=GEMM))
    assert (found["buffer"]["meshX"], found["buffer"]["meshY"]) == (2, 4)


def test_energies_of_the_file_itself(tmp_path):
    buffer = (
        "entries: 64, vector-access-energy: 1.5, energy-per-hop: 0.1, router-energy: 0.2, "
        "addr-gen-energy: 0.3"
    )
    found = levels(read(tmp_path, arch=tree(buffer=buffer), problem=GEMM))["buffer"]
    energy = {"read": 1.5, "fill": 1.5, "update": 1.5, "leak_per_cycle": 0}
    assert found["energy_pJ"] == energy
    assert found["net_energy_per_hop_pJ"] == 0.1
    assert found["net_router_energy_pJ"] == 0.2
    assert found["addr_gen_energy_pJ"] == 0.3


def test_what_the_front_end_writes_is_read_too(tmp_path):
    # fan-outs are memories of a class of their own there
    text = """
architecture:
  version: '0.4'
  subtree:
  - name: system_top_level
    attributes: {version: '0.4', technology: "45nm", has_power_gating: false}
    local:
    - {name: "DRAM[1..1]", class: DRAM, attributes: {width: 64, datawidth: 8, meshX: 1, meshY: 1}}
    - name: inter_PE_spatial[1..1]
      class: dummy_storage
      attributes: {width: 1, depth: 1, datawidth: 1, technology: -1, meshX: 1, meshY: 1}
    - name: register[1..4]
      class: storage
      attributes: {depth: 2, width: 8, datawidth: 8, cluster_size: 1, meshX: 4, meshY: 1,
                   allow_overbooking: false, min_utilization: 0, power_gated_at: null}
      required_actions: [read]
      enabled: true
    - {name: "mac[1..4]", class: intmac, attributes: {meshX: 4, meshY: 1}}
"""
    record = read(tmp_path, arch=text, problem=GEMM)
    assert list(levels(record)) == ["register", "DRAM"]


@pytest.mark.parametrize(
    ("buffer", "message"),
    [
        ("depth: 64, dpeth: 64", "attributes.dpeth: is not known; the nearest known name is depth"),
        ("width: 16", "has no size: give depth, entries or sizeKB"),
        ("depth: 64, sizeKB: 1", "has several sizes, depth, sizeKB; give one of them"),
        ("depth: -1", "attributes.depth: must be 0 or more, got -1"),
        ("depth: 1.5", "attributes.depth: must be a whole number, got 1.5"),
        ("depth: many", "attributes.depth: 'many' reads 'many', which is not defined"),
        ("depth: 64 //", "attributes.depth: is neither a number nor an expression: '64 //'"),
        ("depth: .nan", "attributes.depth: must be a number between -2**62 and 2**62, got nan"),
        ("depth: 1e30", "attributes.depth: must be a number between -2**62 and 2**62, got 1e+30"),
        ("depth: [1]", "attributes.depth: must be a number, got [1]"),
        ("depth: 8, width: 24", "24 bits must be words of a block * bits of a word * cluster"),
        ("depth: 8, word-bits: 8, datawidth: 4", "and both mean the same"),
        ("depth: 8, word-bits: 8, word_bits: 8", "is the same key as architecture"),
        ("depth: 8, read_bandwidth: 0", "read_bandwidth: must be above 0, got 0"),
        ("depth: 8, multiple_buffering: 0.5", "must be 1 or more, got 0.5"),
        ("depth: 8, cluster_size: 3", "has 1 instances, which clusters of 3 do not divide"),
        ("depth: 8, min_utilization: 0.5", "a minimum utilization is not checked"),
        ("depth: 8, network_fill_latency: 3", "latencies of networks are not modelled"),
        ("depth: 8, network-type: M:N", "networks between peers are not modelled"),
        ("depth: 8, wire-energy: 0.1", "use energy_per_hop"),
        ("depth: 8, has_power_gating: yes", "power gating is not modelled"),
        ("depth: 8, instances: 3, meshX: 2", "has 3 instances, but a mesh of 2 x 1"),
    ],
)
def test_attributes_that_are_refused(buffer, message, tmp_path):
    found = tree_faults(tmp_path, buffer=buffer)
    assert len(found) == 1
    assert message in found[0]
    assert found[0].startswith("arch.yaml: architecture.subtree[0].local[1]")


@pytest.mark.parametrize(
    "accepted",
    [
        "technology: 45nm, n_banks: 4, latency: 1ns, update_fifo_depth: 2, type: LPDDR4",
        "network_read: bus, network-word-bits: 16, reduction_supported: yes",
        "min_utilization: 0, allow_overbooking: no, network-type: 1:N, wire-energy: 0",
    ],
)
def test_attributes_without_effect_are_accepted(accepted, tmp_path):
    plain = read(tmp_path, arch=tree(), problem=GEMM)
    assert read(tmp_path, arch=tree(buffer=f"depth: 64, {accepted}"), problem=GEMM) == plain


def test_a_name_that_an_expression_reads_may_be_an_attribute(tmp_path):
    record = read(tmp_path, arch=tree(around="rows: 32", buffer="depth: rows * 2"), problem=GEMM)
    assert levels(record)["buffer"]["size_words"] == 64
    found = tree_faults(tmp_path, around="rows: 32")
    assert "attributes.rows: is not known" in found[0]


def test_a_compound_class_declares_attributes(tmp_path):
    classes = "compound_components: {version: 0.3, classes: [{name: SRAM, attributes: {zeal: 1}}]}"
    arch = tree(buffer="depth: 64, zeal: 3")
    assert read(tmp_path, arch=arch, problem=GEMM, components=classes)
    assert "zeal: is not known" in faults(tmp_path, arch=arch, problem=GEMM)[0]


def test_expressions_that_lead_back_to_themselves(tmp_path):
    assert (
        "has a circular definition" in tree_faults(tmp_path, buffer="depth: width, width: depth")[0]
    )
    # a name that reads itself means the one around it
    record = read(tmp_path, arch=tree(around="depth: 32", buffer="depth: depth * 2"), problem=GEMM)
    assert levels(record)["buffer"]["size_words"] == 64
    # and what a branch says is said with the names of the branch
    around = "bits: 8, word-bits: bits"
    buffer = "depth: 64, bits: 4, width: bits * 4"
    record = read(tmp_path, arch=tree(around=around, buffer=buffer), problem=GEMM)
    assert levels(record)["buffer"]["word_bits"] == 8


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("class: intmac", "class: intmad", "intmad is neither a memory nor a compute class"),
        ("class: SRAM, ", "", "local[1]: has no class"),
        (
            "version: 0.3",
            "version: 0.9",
            "architecture.version: 0.9 is not supported; supported: 0.2",
        ),
        ('name: "mac[1..16]"', 'name: "mac[1..x]"', "reads 'x', which is not defined"),
        (
            'name: "mac[1..16]"',
            'name: "mac[16..1]"',
            "'mac[16..1]' has no instances; its last index must not be below its first",
        ),
        ('name: "mac[1..16]"', 'name: "mac[16]"', "must be a name with a range, such as PE[0..15]"),
        ("    local:", "    locals:", "subtree[0].locals: is not known; did you mean local"),
        ("name: DRAM", "name: buffer", "is called buffer, as architecture.subtree[0].local[0] is"),
        ("attributes: {}", "attributes: {meshX: 1}", "subtree[0].attributes.meshX: is allowed at"),
        ("  - name: system", "  - {name: twin}\n  - name: system", "must hold exactly one branch"),
    ],
)
def test_trees_that_are_refused(old, new, message, tmp_path):
    text = tree()
    assert old in text
    found = faults(tmp_path, arch=text.replace(old, new, 1), problem=GEMM)
    assert any(message in fault for fault in found), found


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("!Component {name: DRAM", "!Compound {name: DRAM", "the tag !Compound is not a node"),
        ("- !Component {name: DRAM, class: DRAM, ", "- {name: DRAM, class: DRAM, ", "has no tag"),
        ("side // 2", "side / 5", "spatial.meshY: must be 1, 2, 3, ..., got 3.2"),
        ("meshX: side", "meshX: 0", "spatial.meshX: must be 1, 2, 3, ..., got 0"),
        ("meshX: side", "meshZ: side", "spatial.meshZ: is not known; did you mean meshY"),
        ("{width: 64}", "{width: 64, meshX: 2}", "use spatial: {meshX: ...}"),
        (
            "name: buffer",
            "name: buffer[0..3]",
            "gives the number of instances by spatial, not by a range",
        ),
        (
            "class: smartbuffer_SRAM",
            "class: fridge",
            "fridge is neither a memory nor a compute class",
        ),
        ("name: system,", "name: system, spatial: {meshX: 2},", "a fan-out above every memory"),
        ("class: intmac,", "class: storage,", "has no multipliers"),
        ("!Hierarchical", "!Parallel", "neither it nor a branch beside it keeps"),
    ],
)
def test_nodes_that_are_refused(old, new, message, tmp_path):
    assert old in WEIGHTS
    arch = WEIGHTS.replace(old, new, 1)
    found = faults(tmp_path, arch=arch, problem=GEMM, mapping="mapping: []")
    assert any(message in fault for fault in found), found


def test_meshes_must_divide(tmp_path):
    found = tree_faults(tmp_path, many="[0..2]")
    assert "has a mesh of 3 x 1, which does not divide that of the multipliers, 16 x 1" in found[0]


def test_networks_of_their_own_must_be_free(tmp_path):
    network = "\n    - {name: bus, class: Legacy, attributes: {datawidth: 16%s}}"
    free, dear = tree() + network % "", tree() + network % ", router-energy: 0.1"
    assert read(tmp_path, arch=free, problem=GEMM) == read(tmp_path, arch=tree(), problem=GEMM)
    assert "router-energy: is not known" in faults(tmp_path, arch=dear, problem=GEMM)[0]


def test_a_level_has_one_network(tmp_path):
    at_fan = WEIGHTS.replace("name: PE,", "name: PE, attributes: {energy_per_hop: 0.1},")
    found = faults(tmp_path, arch=at_fan, problem=GEMM)
    # the container's energy is inherited by the register behind it, whose network has a fan-out
    assert "has network energies at mac, register" in found[0]
    inner = at_fan.replace("depth: 1, width: 8}", "depth: 1, width: 8, energy_per_hop: 0}")
    inner = inner.replace("class: intmac, spatial: {meshY: 2}", "class: intmac")
    record = read(tmp_path, arch=inner, problem=GEMM)
    assert levels(record)["buffer"]["net_energy_per_hop_pJ"] == 0.1
    at_memory = WEIGHTS.replace("shared_bandwidth: 4", "energy_per_hop: 0.1")
    assert "give energies at the one fan-out" in faults(tmp_path, arch=at_memory, problem=GEMM)[0]


def test_all_faults_are_told_at_once(tmp_path):
    found = tree_faults(tmp_path, around="zeal: 1", buffer="dpeth: 3, width: x", mac="tail: 2")
    assert len(found) == 5
    places = [fault.split(": ")[1] for fault in found]
    base = "architecture.subtree[0]"
    assert places[0] == f"{base}.attributes.zeal"
    assert {f"{base}.local[1].attributes.dpeth", f"{base}.local[2].attributes.tail"} < set(places)
