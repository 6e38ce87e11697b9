"""Memories of published chips in which weights wait and maps lie."""

from dataclasses import replace

import pytest

from archloom.space.design_space.presets import preset
from archloom.space.errors import Infeasible
from archloom.space.hardware.rooms import Rooms, rooms_of

from ...cases.designs import edge


@pytest.mark.parametrize(
    ("name", "rooms"),
    [
        # 224 words of 16 bits in each of 168 PEs; a buffer that keeps no weights
        ("eyeriss", Rooms(168 * 448, 108 * 1024, False)),
        # two cores with 16 MiB each; both need all weights
        ("tpu_v3", Rooms(16 << 20, 16 << 20, True)),
    ],
)
def test_memories_of_published_chips(name: str, rooms: Rooms) -> None:
    assert rooms_of(preset(name)) == rooms


def test_a_level_of_its_own_for_weights_is_theirs() -> None:
    chip = edge(64 << 10)
    buffer = chip.levels[-2]
    weights = replace(buffer, name="weights", keeps=("weights",), capacity_bytes=48 << 10)
    maps = replace(buffer, name="maps", keeps=("inputs", "outputs"), capacity_bytes=24 << 10)
    for outer in ((weights, maps), (maps, weights)):
        split = replace(chip, levels=(*chip.levels[:-2], *outer, chip.levels[-1]))
        assert rooms_of(split) == Rooms(48 << 10, 24 << 10, False)
    sizes = (("weights", 100.0), ("inputs", 30.0), ("outputs", 20.0))
    private = replace(buffer, capacity_bytes=sizes)
    split = replace(chip, levels=(*chip.levels[:-2], private, chip.levels[-1]))
    assert rooms_of(split) == Rooms(100, 50, False)


def test_a_chip_without_memory_has_no_room() -> None:
    chip = edge()
    found = rooms_of(replace(chip, levels=chip.levels[-1:]))
    assert isinstance(found, Infeasible)
    assert found.reason == "no_weight_buffer"
