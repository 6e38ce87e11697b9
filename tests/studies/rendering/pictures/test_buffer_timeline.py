"""The picture of what the buffer holds: boxes that say what the timeline says, and files."""

from dataclasses import replace
from pathlib import Path

import pytest

from archloom.evaluators.fusion.plan import NetworkCost
from archloom.evaluators.fusion.timeline import TimelineSegment, buffer_timeline
from archloom.space.design_space.presets import preset
from archloom.space.fusion.plan import FusionGroup, FusionPlan
from archloom.space.networks.registry import network
from archloom.studies.commands.schedule.command import effort_of
from archloom.studies.errors import UserError
from archloom.studies.rendering.pictures.buffer_timeline import boxes_of, save_memory, stretches
from archloom.studies.solve.fusion import Schedule, search_plan

from ....cases.designs import edge
from ....evaluators.fusion.test_timeline import searched


@pytest.fixture(scope="module")
def tiled() -> NetworkCost:
    """Two convolutions in tiles with resident weights, and five layers one by one."""
    singles = tuple(FusionGroup((i,)) for i in range(2, 7))
    plan = FusionPlan((FusionGroup((0, 1), (3, 16), "keep_all", (0,)), *singles))
    cost = searched(network("tiny_cnn"), plan, edge(glb_bytes=32 << 10))
    assert isinstance(cost, NetworkCost)
    return cost


def at(segments: tuple[TimelineSegment, ...], cycle: float) -> TimelineSegment:
    return next(s for s in segments if s.start_cycle <= cycle < s.end_cycle)


def test_boxes_stack_up_to_what_is_held_at_every_moment(tiled: NetworkCost) -> None:
    segments = buffer_timeline(tiled)
    boxes = boxes_of(segments, 1.0, {})
    assert len(boxes) < sum(len(segment.held) for segment in segments)
    for cycle in range(0, tiled.latency_cycles, max(1, tiled.latency_cycles // 997)):
        here = sorted((b for b in boxes if b.left <= cycle < b.right), key=lambda b: b.bottom)
        segment = at(segments, cycle)
        assert {(b.held.name, b.held.kind, b.top - b.bottom) for b in here} == {
            (held.name, held.kind, held.words) for held in segment.held
        }
        tops = [0.0, *(b.top for b in here)]
        assert [b.bottom for b in here] == tops[:-1]
        assert tops[-1] == segment.words


def test_a_stretch_lies_within_all_its_boxes(tiled: NetworkCost) -> None:
    boxes = boxes_of(buffer_timeline(tiled), 1.0, {})
    found = list(stretches(boxes, 1.0))
    assert found
    for stretch in found:
        inside = [
            b
            for b in boxes
            if (b.held.name, b.held.kind) == (stretch.held.name, stretch.held.kind)
            and b.left >= stretch.left
            and b.right <= stretch.right
        ]
        assert all(b.bottom <= stretch.bottom < stretch.top <= b.top for b in inside)
        assert sum(b.right - b.left for b in inside) == stretch.right - stretch.left


def test_files_are_pictures_and_equal_for_equal_plans(tiled: NetworkCost, tmp_path: Path) -> None:
    for name in ("a.png", "b.png", "a.svg", "b.svg"):
        save_memory(tiled, tmp_path / name)
    for ending in ("png", "svg"):
        first = (tmp_path / f"a.{ending}").read_bytes()
        assert first == (tmp_path / f"b.{ending}").read_bytes()
    text = (tmp_path / "a.svg").read_text()
    for part in ("capacity 32.0 KiB", "block.conv1", "resident weights", "tiny_cnn on edge"):
        assert part in text


def test_a_buffer_that_is_nearly_empty_is_drawn_large(tmp_path: Path) -> None:
    hardware = preset("eyeriss")
    found = search_plan(network("tiny_cnn"), hardware, effort_of("casco", 12, "local", 60, 0))
    assert isinstance(found, Schedule)
    save_memory(found.cost, tmp_path / "low.svg")
    assert "capacity 108.0 KiB (above the axis)" in (tmp_path / "low.svg").read_text()


def test_layers_that_pass_the_buffer_leave_an_empty_picture(tmp_path: Path) -> None:
    alone = FusionPlan(tuple(FusionGroup((i,)) for i in range(7)))
    hardware = edge(glb_bytes=1)
    buffer = replace(hardware.levels[1], optional=True)
    hardware = replace(hardware, levels=(hardware.levels[0], buffer, hardware.levels[2]))
    cost = searched(network("tiny_cnn"), alone, hardware)
    assert isinstance(cost, NetworkCost)
    save_memory(cost, tmp_path / "empty.png")
    assert (tmp_path / "empty.png").read_bytes().startswith(b"\x89PNG")


def test_a_file_that_cannot_be_written(tiled: NetworkCost, tmp_path: Path) -> None:
    (tmp_path / "a.png").mkdir()
    with pytest.raises(UserError, match=r"--memory .* cannot be written"):
        save_memory(tiled, tmp_path / "a.png")
