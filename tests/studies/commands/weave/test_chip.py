"""Chips of a command line: NPUs of the paper, hardware with a part set aside for weights."""

import pytest

from archloom.evaluators.weaving import NPUS
from archloom.space.design_space.presets import preset
from archloom.studies.commands.weave.chip import Asked, find_chip
from archloom.studies.errors import UserError

REST = (
    *("pe_x=16", "pe_y=16", "weight_spad_bytes=64", "input_spad_bytes=32"),
    *("output_spad_bytes=32", "dram_channels=1", "clock_mhz=400"),
)


def refusal(asked):
    with pytest.raises(UserError) as caught:
        find_chip(asked)
    return str(caught.value)


@pytest.mark.parametrize("name", NPUS)
def test_an_npu_is_as_its_paper_has_it_but_for_the_buffer_that_is_asked_for(name):
    chip = find_chip(Asked(name))
    assert (chip.npu, chip.array) == NPUS[name]
    assert chip.planned is None
    assert find_chip(Asked(name, buffer_kib=4096)).npu.weight_buffer_bytes == 4 << 20


def test_other_hardware_is_split():
    chip = find_chip(Asked("tpu_v3", buffer_kib=8192))
    assert chip.array is None
    assert chip.npu.weight_buffer_bytes == 8 << 20
    # both cores need the same weights
    assert chip.planned.levels[-2].capacity_bytes == 8 << 20
    assert find_chip(Asked("tpu_v3")).npu.weight_buffer_bytes == 8 << 20
    eight = find_chip(Asked("tpu_v3", technology="n7", word_bits=8)).planned
    assert (eight.technology, eight.word_bits) == ("n7", 8)
    assert preset("tpu_v3").levels[-2].capacity_bytes == 16 << 20


def test_templates_take_their_parameters():
    small, large = (
        find_chip(Asked("casco_edge", [f"l2_kib={kib}", *REST])).npu for kib in (256, 512)
    )
    assert large.weight_buffer_bytes == 2 * small.weight_buffer_bytes == 256 << 10


def test_unknown_hardware_gets_the_nearest_name_of_npus_and_presets():
    assert refusal(Asked("memory_centrik")) == (
        "memory_centrik: no such NPU, preset, template or file; did you mean memory_centric?"
    )
    assert refusal(Asked("tpu_v4")).endswith("did you mean tpu_v3?")


def test_options_of_hardware_are_no_options_of_an_npu():
    assert refusal(Asked("memory_centric", ["pe_x=16"], "n7", 8)) == (
        "--set, --technology, --word-bits: NPU memory_centric is fixed as in its paper; these "
        "options apply to presets, templates and template files"
    )


def test_a_weight_buffer_that_leaves_nothing_for_maps_is_refused_with_amounts():
    said = refusal(Asked("eyeriss", buffer_kib=108))
    assert said.startswith(
        "--buffer-kib 108: weight_buffer_too_large at eyeriss, glb: needs 110,592 bytes, "
        "110,591 bytes available"
    )
