"""Switches of a hardware template reach the hardware, and their faults are named."""

from pathlib import Path

import pytest

from archloom.space.design_space.template import TemplateError
from archloom.space.design_space.template_reader import read_template
from archloom.space.hardware.effects import AccessEnergy, Effects
from archloom.space.hardware.hardware import Hardware

TEXT = """
technology: cacti_45nm
dram: lpddr4
parameters:
  zeros: {values: [gated, skipped]}
  depth: {values: [1, 2]}
frequency_mhz: 200
word_bits: 8
pe_mesh: [4, 4]
vector_lanes: 4
mac_pj: 0.25
mac_bits: "= 8 * depth"
effects: {network: mesh, fill_drain: exposed, weight_zeros: "= zeros"}
levels:
  - name: spad
    storage: register
    keeps: [weights, inputs, outputs]
    mesh: [4, 4]
    capacity_bytes: 64
    bandwidth_words: 8
    read_bandwidth_words: 4
    write_bandwidth_words: "= 2 * depth"
    multiple_buffering: "= depth"
    cluster_size: 4
    tensor_bits: {outputs: "= 16 * depth"}
    multicast: [weights]
    energy: {read_pj: 1, fill_pj: 2, update_pj: 3, hop_pj: 0.5}
  - name: dram
    storage: dram
    keeps: [weights, inputs, outputs]
    mesh: [1, 1]
    bandwidth_words: 4
"""


def built(folder: Path, text: str = TEXT, **values: object) -> Hardware:
    path = folder / "mine.yaml"
    path.write_text(text)
    hardware = read_template(path).build({"zeros": "gated", "depth": 2, **values}, "mine")
    assert isinstance(hardware, Hardware)
    return hardware


def test_every_switch_reaches_the_hardware(tmp_path: Path) -> None:
    hardware = built(tmp_path, zeros="skipped")
    level = hardware.levels[0]
    assert hardware.mac_pj == 0.25
    assert hardware.operand_bits == 16
    assert hardware.effects == Effects("mesh", "exposed", "skipped")
    assert (level.read_bandwidth_words, level.write_bandwidth_words) == (4, 4)
    assert level.multiple_buffering == 2
    assert level.cluster_size == 4
    assert level.tensor_bits == (("outputs", 32),)
    assert level.multicast == ("weights",)
    assert level.energy == AccessEnergy(1.0, 2.0, 3.0, hop_pj=0.5)
    assert hardware.bits(0, "outputs") == 32
    assert hardware.bits(0, "inputs") == hardware.bits(1, "outputs") == 8


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "network: mesh",
            "network: mish",
            "effects.network: 'mish' is not known; did you mean mesh",
        ),
        ("fill_drain", "filldrain", "effects.filldrain: unknown key; did you mean fill_drain"),
        ("read_pj: 1, ", "", "levels[0].energy.read_pj: is missing"),
        ("hop_pj", "hops_pj", "levels[0].energy.hops_pj: unknown key"),
        ("{outputs:", "{output:", "levels[0].tensor_bits.output: unknown key"),
        (
            "multicast: [weights]",
            "multicast: [weight]",
            "levels[0].multicast: 'weight' is not known",
        ),
        ("cluster_size: 4", "cluster_size: four", "levels[0].cluster_size: must be a number"),
    ],
)
def test_a_fault_is_named_with_its_place(tmp_path: Path, old: str, new: str, says: str) -> None:
    assert old in TEXT
    with pytest.raises(TemplateError) as error:
        built(tmp_path, TEXT.replace(old, new, 1))
    assert any(says in line for line in error.value.errors), error.value.errors


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("cluster_size: 4", "cluster_size: 3", "cluster_size 3 must divide the 16 instances"),
        ("cluster_size: 4", "cluster_size: 2.5", "cluster_size: must be a whole number"),
        ("read_pj: 1", "read_pj: -1", "read_pj must be a number from 0 up"),
        ("mac_pj: 0.25", "mac_pj: -1", "mac_pj must be a number from 0 up"),
        ('"= depth"', "0.5", "multiple_buffering must be a number from 1 up"),
        ('"= 2 * depth"', "0", "write_bandwidth_words must be a number from 1e-09 .* got 0"),
        ('"= 2 * depth"', ".nan", "write_bandwidth_words must be a number .* got nan"),
        ('"= zeros"', '"= depth"', "weight_zeros must be one of"),
    ],
)
def test_a_value_that_no_hardware_has_is_refused(
    tmp_path: Path, old: str, new: str, says: str
) -> None:
    assert old in TEXT
    with pytest.raises(TemplateError, match=says):
        built(tmp_path, TEXT.replace(old, new, 1))
