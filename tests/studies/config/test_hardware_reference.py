"""Designs with other values in the place of assumed ones."""

from pathlib import Path

import pytest

from archloom.space.design_space.shipped import PRESETS
from archloom.studies.config.hardware_reference import HardwareVariants, find_hardware


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("technology", [None, "n7"])
def test_without_other_values_a_preset_is_itself(name: str, technology: str | None) -> None:
    chosen = find_hardware(name, [], technology, None)
    assert HardwareVariants(chosen).built({}) == chosen.hardware


def test_variants_are_at_the_point_technology_and_width_of_the_design() -> None:
    settings = [f"{name}=16" for name in ("pe_x", "pe_y")]
    chosen = find_hardware("casco_edge", settings, "n16", 16, complete=True)
    variants = HardwareVariants(chosen)
    assert variants.built({}) == chosen.hardware
    values = {one.mark.key: one for one in variants.assumed}
    assert values["levels.l2.bandwidth_words"].value == 32
    doubled = variants.built(values["levels.l2.bandwidth_words"].scaled(2))
    assert (doubled.technology, doubled.word_bits, doubled.macs) == ("n16", 16, 256)
    # words of 16 bits are half as many
    assert [level.bandwidth_words for level in doubled.levels[:2]] == [2, 32]


def test_a_technology_that_somebody_chose_is_no_assumption() -> None:
    own, other = (
        {one.mark.key for one in HardwareVariants(find_hardware("edgetpu", [], name, None)).assumed}
        for name in (None, "n7")
    )
    assert own - other == {"technology"}


def test_what_cannot_be_says_why(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(TINY)
    variants = HardwareVariants(find_hardware(str(path), ["lanes=4"], None, None))
    values = {one.mark.key: one for one in variants.assumed}
    with pytest.raises(ValueError, match=r"few_lanes at lanes = 4: .* use fewer lanes"):
        variants.built(values["define.most"].scaled(0.5))
    with pytest.raises(ValueError, match=r"levels\[0\] of mine.*: .*multiple_buffering must be"):
        variants.built(values["levels.spad.multiple_buffering"].scaled(0.5))


TINY = """\
technology: cacti_45nm
dram: lpddr4
parameters:
  lanes: {values: [2, 4]}
define:
  most: 4
rules:
  - {name: few_lanes, needed: lanes, available: most, unit: lanes, hint: use fewer lanes}
frequency_mhz: 200
word_bits: 8
pe_mesh: [2, 2]
vector_lanes: "= lanes"
levels:
  - {name: spad, storage: register, keeps: [weights, inputs, outputs], mesh: [2, 2],
     capacity_bytes: 64, bandwidth_words: 4, multiple_buffering: 1.5}
  - {name: dram, storage: dram, keeps: [weights, inputs, outputs], mesh: [1, 1], bandwidth_words: 1}
assumptions:
  define.most: to be seen
  levels.spad.multiple_buffering: to be seen
"""
