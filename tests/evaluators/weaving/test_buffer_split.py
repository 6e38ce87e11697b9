"""Memory set aside for weights: sizes by hand, and plans that still run in the rest."""

from dataclasses import replace
from fractions import Fraction

import pytest

from archloom.evaluators.weaving.buffer_split import SplitHardware, split_hardware
from archloom.space.design_space.presets import preset
from archloom.space.design_space.shipped import PRESETS
from archloom.space.errors import Infeasible
from archloom.space.hardware.rooms import weight_instances

from ...cases.designs import edge


@pytest.mark.parametrize("name", PRESETS)
def test_half_of_every_presets_outermost_memory_waits_for_weights(name):
    chip = preset(name)
    split = split_hardware(chip)
    assert isinstance(split, SplitHardware)
    outer, rest = chip.levels[-2], split.planned.levels[-2]
    whole = outer.total_bytes * weight_instances(chip, outer)
    assert split.npu.weight_buffer_bytes == whole / 2
    assert split.npu.map_buffer_bytes == rest.total_bytes == outer.total_bytes / 2
    assert split.npu.clock_hz == chip.frequency_mhz * 1e6
    words = Fraction(chip.levels[-1].bandwidth_words)
    exact = words * chip.word_bits / 8 * split.npu.clock_hz
    assert split.npu.dram_bytes_per_s == exact
    assert replace(split.planned, levels=chip.levels) == chip


def test_a_buffer_of_ones_own_choice_leaves_the_rest_to_plans():
    split = split_hardware(preset("tpu_v3"), 8 << 20)
    assert isinstance(split, SplitHardware)
    # both cores need the same weights, so that each gives 8 MiB of its 16
    assert split.npu.weight_buffer_bytes == 8 << 20
    assert split.planned.levels[-2].capacity_bytes == 8 << 20


def test_private_buffers_are_cut_in_proportion():
    chip = edge()
    parts = (("weights", 300), ("inputs", 60), ("outputs", 40))
    levels = (chip.levels[0], replace(chip.levels[1], capacity_bytes=parts), chip.levels[2])
    split = split_hardware(replace(chip, levels=levels), 100)
    assert isinstance(split, SplitHardware)
    cut = (("weights", 225), ("inputs", 45), ("outputs", 30))
    assert split.planned.levels[-2].capacity_bytes == cut
    assert split.npu.map_buffer_bytes == 300


@pytest.mark.parametrize("size", [0, 64 << 10, 1 << 30])
def test_a_weight_buffer_that_leaves_nothing_is_named_with_its_size(size):
    why = split_hardware(edge(64 << 10), size)
    assert isinstance(why, Infeasible)
    assert (why.reason, why.needed, why.available) == (
        "weight_buffer_too_large",
        size,
        (64 << 10) - 1,
    )
    assert why.where == "edge, glb"


def test_a_chip_without_memory_has_nowhere_to_wait():
    chip = edge()
    bare = replace(chip, levels=(replace(chip.levels[2], bandwidth_words=8.0),))
    why = split_hardware(bare)
    assert isinstance(why, Infeasible)
    assert why.reason == "no_on_chip_memory"
