"""Boxes cover their space once, and ranges over them hold every design."""

import ast
from pathlib import Path

import numpy as np
import pytest

from archloom.space.design_space.boxes.box import Box, BoxedSpace, cut, size
from archloom.space.design_space.boxes.structure import BoxStructure
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.hardware.hardware import Hardware

from ...contracts.problems import small_space

MOST = 10_000


def structure_of(name: str, folder: Path) -> BoxStructure:
    space = small_space(folder) if name == "small" else HardwareSpace.load(name)
    return BoxStructure(BoxedSpace(space))


def inside(positions: tuple[int, ...], box: Box) -> bool:
    return all(start <= i < stop for i, (start, stop) in zip(positions, box, strict=True))


@pytest.mark.parametrize("name", ["small", "casco_edge", "fast"])
def test_decided_boxes_hold_every_point_once(name: str, tmp_path: Path) -> None:
    structure = structure_of(name, tmp_path)
    boxes = structure.decided_boxes(MOST)
    assert boxes is not None
    space = structure.boxed.space
    assert sum(map(size, boxes)) == space.cardinality
    rng = np.random.default_rng(0)
    for _ in range(200):
        positions = structure.boxed.positions(space.sample(rng))
        assert sum(inside(positions, box) for box in boxes) == 1


def test_a_space_with_too_many_structures_is_not_cut(tmp_path: Path) -> None:
    assert structure_of("fast", tmp_path).decided_boxes(100) is None


@pytest.mark.parametrize("name", ["casco_edge", "fast"])
def test_designs_of_a_decided_box_are_alike(name: str, tmp_path: Path) -> None:
    structure = structure_of(name, tmp_path)
    boxes = structure.decided_boxes(MOST) or []
    space, rng = structure.boxed.space, np.random.default_rng(1)
    for box in (boxes[i] for i in rng.integers(len(boxes), size=20)):
        kinds = set()
        for _ in range(8):
            design = space.build(drawn(structure.boxed, box, rng))
            if isinstance(design, Hardware):
                levels = tuple((v.name, v.storage, v.private) for v in design.levels)
                several = len(levels) > 1 and design.levels[-2].instances > 1
                clock = (design.frequency_mhz, design.word_bits, design.native_batch)
                kinds.add((levels, several, clock))
        assert len(kinds) <= 1


def drawn(boxed: BoxedSpace, box: Box, rng: np.random.Generator) -> dict[str, int | float | str]:
    parameters = zip(boxed.space.parameters, box, strict=True)
    return {p.name: p.values[int(rng.integers(*run))] for p, run in parameters}


def test_parts_share_nothing_and_miss_nothing() -> None:
    box: Box = ((0, 3), (2, 6), (0, 1))
    below, above = cut(box, 1, 4)
    assert (below, above) == (((0, 3), (2, 4), (0, 1)), ((0, 3), (4, 6), (0, 1)))
    assert size(below) + size(above) == size(box) == 12


def test_ranges_are_exact_where_choices_are_few_and_safe_where_they_are_many() -> None:
    boxed = BoxedSpace(HardwareSpace.load("fast"))
    levels = boxed.space.template.levels
    mesh, macs = (boxed.formula(levels[i].mesh[0]) for i in (1, 0))
    fans = boxed.combined(ast.Div(), macs, mesh)
    box = boxed.whole
    # macs_x over pes_x is systolic_x, though both range over pes_x
    assert boxed.interval(fans, box) == (1, 256)
    assert boxed.values(mesh, box) == tuple(2.0**i for i in range(9))
    shared = next(v for v in levels if v.name == "l2" and v.capacity_bytes is not None
                  and not isinstance(v.capacity_bytes, tuple))  # fmt: skip
    assert not isinstance(shared.capacity_bytes, tuple)
    assert shared.capacity_bytes is not None
    capacity = boxed.formula(shared.capacity_bytes)
    assert boxed.values(capacity, box) is None
    low, high = boxed.interval(capacity, box)
    rng, space = np.random.default_rng(2), boxed.space
    for _ in range(300):
        design = space.build(space.sample(rng))
        assert isinstance(design, Hardware)
        for level in design.levels:
            if level.name == "l2" and not level.private:
                assert low <= level.total_bytes <= high
