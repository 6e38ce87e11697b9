"""The table of open boxes against a list that is looked through as a whole."""

import json
import zlib
from base64 import b64encode
from typing import Any

import numpy as np
import pytest

from archloom.evaluators.arrays import Floats
from archloom.search.hardware.certify.branch_and_bound import BoxBranchAndBound
from archloom.search.hardware.certify.open_boxes import BoxTable, OpenBox
from archloom.search.hardware.problem import DesignProblem
from archloom.search.pareto import dominated_by
from archloom.space.design_space.hardware_space import HardwareSpace

from .test_pruning import TINY

PARAMETERS, OBJECTIVES = 3, 2
#: an array of one number
PACKED = b64encode(zlib.compress(bytes(4))).decode()


class Listed:
    """What a table does, slowly: independent of arrays, orders and increments."""

    def __init__(self) -> None:
        self.boxes: list[tuple[OpenBox, bool, int]] = []
        self.settled: list[tuple[int, ...]] = []
        self.pushed = 0

    def push(self, found: OpenBox, leaf: bool) -> None:
        self.pushed += not leaf
        self.boxes.append((found, leaf, self.pushed))

    def sorted(self) -> list[tuple[OpenBox, bool, int]]:
        queued = [b for b in self.boxes if not b[1]]
        queued.sort(key=lambda b: (-b[0].priority, b[2]))
        return queued + [b for b in self.boxes if b[1]]

    def pop(self) -> OpenBox | None:
        first = next((b for b in self.sorted() if not b[1]), None)
        if first is None:
            return None
        self.boxes.remove(first)
        return first[0]

    def measured(self, found: OpenBox) -> int:
        return sum(
            all(i <= p < j for p, (i, j) in zip(at, found.box, strict=True)) for at in self.settled
        )

    def points(self, found: OpenBox) -> int:
        return int(np.prod([j - i for i, j in found.box])) - self.measured(found)

    def drop(self, front: Floats) -> tuple[int, int, list[Any]]:
        kept, bounds, points = [], [], 0
        for entry in self.sorted():
            rows = [r for r in entry[0].bounds.tolist() if not dominated_by(front, [r])[0]]
            if rows and self.points(entry[0]) > 0:
                kept.append(entry)
                bounds += rows
                points += self.points(entry[0])
        self.boxes = [entry for entry in self.boxes if entry in kept]
        return len(kept), points, bounds


def some_box(rng: np.random.Generator, listed: Listed, single: bool) -> OpenBox:
    starts = rng.integers(0, 4, PARAMETERS).tolist()
    box = tuple((s, s + (1 if single else int(rng.integers(1, 3)))) for s in starts)
    slices = np.sort(rng.choice(40, int(rng.integers(1, 4)), replace=False))
    bounds = rng.integers(1, 12, (len(slices), OBJECTIVES)).astype(float)
    found = OpenBox(box, slices, bounds, bool(rng.integers(2)), 0, float(rng.integers(1, 5)))
    count = listed.measured(found)
    return OpenBox(box, slices, bounds, found.tight, count, found.priority)


def same(one: OpenBox | None, other: OpenBox | None, measured: int) -> bool:
    if one is None or other is None:
        return one is other
    assert one.measured == measured
    return (
        (one.box, one.tight, one.priority) == (other.box, other.tight, other.priority)
        and one.slices.tolist() == other.slices.tolist()
        and one.bounds.tolist() == other.bounds.tolist()
    )


@pytest.mark.parametrize("seed", range(6))
def test_it_does_what_a_list_does(seed: int) -> None:
    rng, listed = np.random.default_rng(seed), Listed()
    table = BoxTable(PARAMETERS, OBJECTIVES)
    front = np.empty((0, OBJECTIVES))
    for _ in range(400):
        what = rng.integers(8)
        if what < 4:
            leaf = what == 0
            found = some_box(rng, listed, leaf)
            table.push(found, leaf)
            listed.push(found, leaf)
        elif what < 6:
            popped = listed.pop()
            measured = 0 if popped is None else listed.measured(popped)
            assert same(table.pop(), popped, measured)
        elif what == 6:
            at = rng.integers(0, 5, PARAMETERS)
            listed.settled.append(tuple(at.tolist()))
            table.settle(at.astype(np.int32))
        else:
            if len(front) < 4:
                front = np.vstack([front, rng.integers(4, 12, OBJECTIVES)])
            boxes, points, bounds = table.drop(front)
            assert (boxes, points, bounds.tolist()) == listed.drop(front)
            restored = BoxTable(PARAMETERS, OBJECTIVES)
            restored.restore(json.loads(json.dumps(table.state())))
            table = restored
    assert table.pushed == listed.pushed > 100


@pytest.mark.parametrize(
    ("key", "value"),
    [("runs", ""), ("bounds", "AAA="), ("count", PACKED), ("boxes", 7), ("slices", None)],
)
def test_a_state_that_is_none_is_refused_and_changes_nothing(key: str, value: object) -> None:
    table, listed = BoxTable(PARAMETERS, OBJECTIVES), Listed()
    for _ in range(3):
        table.push(some_box(np.random.default_rng(1), listed, single=False))
    before = table.state()
    with pytest.raises((KeyError, ValueError, TypeError)):
        table.restore(before | {key: value})
    assert table.state() == before


def test_a_box_takes_little_room() -> None:
    """Tens of thousands of them are open in a study of thousands of trials."""
    boxes = BoxBranchAndBound(DesignProblem(HardwareSpace.load("casco_edge"), TINY, 20.0, 2.0))
    boxes.refine(150)
    left = boxes.open_boxes()
    assert left.boxes > 150
    arrays = [a for a in vars(boxes._table).values() if isinstance(a, np.ndarray)]
    per_row = 8 * boxes._front.shape[1] + 5
    # rows of bounds are what a certificate counts; the rest of a box is some hundred bytes
    assert sum(a.nbytes for a in arrays) < 1.3 * (180 * left.boxes + per_row * len(left.bounds))
