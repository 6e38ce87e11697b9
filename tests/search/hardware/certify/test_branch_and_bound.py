"""Boxes hold back nothing: no measured design is below its box, and fronts are those of all."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from archloom.evaluators.arrays import Floats
from archloom.search.hardware.certify import branch_and_bound
from archloom.search.hardware.certify.box_bounds import BoxBounds
from archloom.search.hardware.certify.branch_and_bound import BoxBranchAndBound
from archloom.search.hardware.certify.open_boxes import BoxTable
from archloom.search.hardware.certify.pruning import DominancePruner
from archloom.search.hardware.problem import DesignProblem
from archloom.search.objectives import METRICS, Limit, Objective, ObjectiveSet
from archloom.search.pareto import hypervolume, non_dominated
from archloom.search.software.planners import plans_of
from archloom.space.design_space.boxes.box import Box, BoxedSpace, cut, size
from archloom.space.design_space.boxes.structure import BoxStructure
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.design_space.parameter import Point

from ....contracts.problems import small_space
from .test_pruning import (
    GOALS,
    TENANTS,
    TINY,
    front_by_brute_force,
    measured,
    small_problem,
    tenants_of,
)


def boxed_problem(folder: Path, objective_set: ObjectiveSet | None = None) -> DesignProblem:
    """Return the small problem as if it could not be enumerated."""
    objective_set = objective_set or ObjectiveSet()
    return DesignProblem(
        small_space(folder),
        TINY,
        enumerate_limit=1,
        objective_set=objective_set,
        plans="layer_by_layer",
        tenants=tenants_of(objective_set),
    )


def around(boxed: BoxedSpace, boxes: list[Box], point: Point, rng: np.random.Generator) -> Box:
    """Return a part of a decided box, with the point in it."""
    at = boxed.positions(point)
    (box,) = (
        b for b in boxes if all(i <= p < j for p, (i, j) in zip(at, b, strict=True))
    )  # fmt: skip
    for _ in range(int(rng.integers(12))):
        wide = [i for i, (start, stop) in enumerate(box) if stop - start > 1]
        if wide:
            i = int(rng.choice(wide))
            start, stop = box[i]
            middle = (start + stop) // 2
            box = cut(box, i, middle)[int(at[i] >= middle)]
    return box


@pytest.mark.parametrize(
    ("name", "fusion"),
    [
        ("casco_edge", "none"),
        ("casco_edge", "fast_printed"),
        ("fast", "none"),
        ("fast", "joint"),
        ("serving", "joint"),
    ],
)
def test_no_measured_design_is_below_its_box(name: str, fusion: str) -> None:
    plans = plans_of(fusion)
    # whoever shares a chip keeps no weights there for ever
    tenants = () if plans == "steady" else TENANTS
    metrics = [
        metric
        for metric, facts in METRICS.items()
        if not facts.of_forms and (tenants or not facts.of_tenants)
    ]
    objective_set = ObjectiveSet(tuple(Objective(metric) for metric in metrics))  # type: ignore[arg-type]
    problem = DesignProblem(
        HardwareSpace.load(name), TINY, objective_set=objective_set, plans=plans, tenants=tenants
    )
    structure = BoxStructure(BoxedSpace(problem.space))
    boxes, bounds = structure.decided_boxes(10_000) or [], BoxBounds(problem, structure)
    rng, seen = np.random.default_rng(5), 0
    for candidate in problem.sample(rng, 4, (), 1000):
        result = measured(problem, candidate.point, fusion)
        if result.values is None:
            continue
        for _ in range(4):
            box = around(structure.boxed, boxes, candidate.point, rng)
            first = bounds.first(box)
            assert first is not None
            tight = bounds.tightened(first)
            assert tight is not None
            assert (tight.bounds >= first.bounds[np.isin(first.slices, tight.slices)]).all()
            below = (tight.bounds <= np.array(result.values)).all(axis=1)
            assert below.any()
            seen += 1
    assert seen > 7


@pytest.mark.parametrize("objective_set", GOALS)
def test_the_front_that_boxes_prove_is_that_of_brute_force(
    objective_set: ObjectiveSet, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp()
    problem = boxed_problem(folder, objective_set)
    pruner, found = DominancePruner(problem), []
    while points := pruner.best_candidates(4):
        for point in points:
            found.append(measured(problem, point))
            pruner.tell(found[-1])
        pruner.tighten(16)
    rows = np.array([o.values for o in found if o.kept])
    front = np.unique(rows[non_dominated(rows)], axis=0)
    whole = small_problem(folder, objective_set)
    np.testing.assert_array_equal(front, front_by_brute_force(whole))
    proof = pruner.certificate()
    assert proof is not None
    assert proof.proven_at_this_budget
    assert proof.gap == 0
    assert proof.boxes == 0
    # no more than the same bounds let an enumeration of the space run
    assert proof.measured == len(found) < 0.8 * len(whole.feasible())
    assert proof.points == 128
    if not objective_set.limits:
        assert len(whole.feasible()) <= proof.feasible <= 128


def test_the_gap_of_boxes_holds_what_is_missing(tmp_path: Path) -> None:
    problem, whole = boxed_problem(tmp_path), small_problem(tmp_path)
    front = front_by_brute_force(whole)
    pruner, open_, gap = DominancePruner(problem), [], []
    for i, candidate in enumerate(whole.feasible()[::6]):
        pruner.tell(measured(problem, candidate.point))
        pruner.tighten(40)
        proof = pruner.certificate()
        assert proof is not None
        assert proof.measured == i + 1
        assert proof.ceiling >= hypervolume(front, proof.reference) - 1e-12
        assert proof.volume <= proof.ceiling
        assert proof.open + proof.excluded + proof.measured == proof.feasible
        open_.append(proof.open)
        gap.append(proof.gap)
    assert open_ == sorted(open_, reverse=True)
    assert gap[-1] < gap[0]


def test_what_is_known_of_a_box_holds_for_its_parts(tmp_path: Path) -> None:
    problem = boxed_problem(tmp_path)
    structure = BoxStructure(BoxedSpace(problem.space))
    bounds = BoxBounds(problem, structure)
    (box,) = structure.decided_boxes(10) or []
    whole = bounds.first(box)
    assert whole is not None
    kept = whole.only(whole.slices % 2 == 0)
    for part in cut(box, 1, 2):
        found = bounds.first(part)
        assert found is not None
        inner = found.raised(kept)
        assert set(inner.slices) == set(found.slices) & set(kept.slices)
        outer = kept.bounds[np.isin(kept.slices, inner.slices)]
        assert (inner.bounds >= outer).all()


def test_a_box_beyond_caps_or_limits_is_dropped(tmp_path: Path) -> None:
    space = small_space(tmp_path)
    tight = ObjectiveSet(
        (Objective("edp"), Objective("area")), (Limit(Objective("latency"), 1e-9),)
    )
    for problem in (
        DesignProblem(space, TINY, 1e-3, enumerate_limit=1),
        DesignProblem(space, TINY, None, 1e-6, enumerate_limit=1),
        DesignProblem(space, TINY, enumerate_limit=1, objective_set=tight),
    ):
        boxes = BoxBranchAndBound(problem)
        boxes.refine(1000)
        assert boxes.open_boxes().points == 0
        assert boxes.infeasible == space.cardinality
        assert boxes.designs(3, ()) == []


def test_points_are_counted_exactly_in_a_space_of_a_million_million() -> None:
    problem = DesignProblem(HardwareSpace.load("fast"), TINY, 652.0, 183.0)
    pruner = DominancePruner(problem)
    rng = np.random.default_rng(0)
    for candidate in problem.sample(rng, 6, (), 5000):
        pruner.tell(measured(problem, candidate.point))
    pruner.tighten(100)
    proof = pruner.certificate()
    assert proof is not None
    assert proof.points == problem.space.cardinality == 1_651_439_916_720
    assert proof.boxes is not None
    assert 0 < proof.open < proof.points
    assert proof.open + proof.excluded + proof.measured == proof.feasible
    assert 0.1 < proof.share < 1
    designs = pruner.best_candidates(3)
    assert len({problem.space.point_key(p) for p in designs}) == 3
    assert not any(pruner.pruned(p) for p in designs)


def test_the_foremost_box_is_that_of_looking_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Margins of before, which only fall, tell where to stop looking: fewer boxes are looked at."""
    monkeypatch.setattr(branch_and_bound, "_LOOKED_AT", 4)
    seen: list[int] = []
    inner = BoxTable.lower

    def lower(table: BoxTable, rows: NDArray[np.int64], margins: Floats) -> None:
        seen.extend(rows.tolist())
        inner(table, rows, margins)

    monkeypatch.setattr(BoxTable, "lower", lower)
    problem = DesignProblem(HardwareSpace.load("casco_edge"), TINY, 8.0, 2.0)
    boxes, rng, front = BoxBranchAndBound(problem), np.random.default_rng(3), []
    looked_at = every = 0
    known: set[str] = set()
    for candidate in problem.sample(rng, 24, (), 2000):
        front.append(np.array(candidate.values) * rng.uniform(1.05, 1.3, 3))
        boxes.hold_against(np.array(front)[non_dominated(front)])
        boxes.refine(8)
        known.update(problem.space.point_key(p) for p in boxes.designs(2, known)[:1])
        expected = np.log(np.array(candidate.values)[None] * 1.02)
        rows = boxes._table.rows()
        leaves = boxes._table.leaves(rows)
        both = zip(rows.tolist(), leaves, strict=True)
        rows = rows[[not leaf or boxes._unknown(row, known) for row, leaf in both]]
        bounds, starts = boxes._table.bounds(rows)
        ahead = np.vstack([boxes._front, expected])[:, None] - np.log(bounds)
        margins = np.maximum.reduceat(ahead.max(axis=2).min(axis=0), starts)
        seen.clear()
        row = boxes._foremost(expected, known)
        assert row is not None
        assert margins[list(rows).index(row)] == margins.max()
        looked_at, every = looked_at + len(seen), every + len(rows)
    assert leaves.any()
    assert looked_at < every / 2


def test_the_same_calls_end_in_the_same_boxes(tmp_path: Path) -> None:
    problem = boxed_problem(tmp_path)
    runs = []
    for parts in ((24,), (8, 8, 8)):
        boxes = BoxBranchAndBound(problem)
        for cuts in parts:
            boxes.refine(cuts)
        survey = boxes.open_boxes()
        runs.append((survey.boxes, survey.points, survey.bounds.tolist()))
    assert runs[0] == runs[1]
    assert runs[0][1] + boxes.infeasible == size(BoxedSpace(problem.space).whole)


def test_tight_bounds_of_a_box_need_no_second_relaxation(tmp_path: Path) -> None:
    """A box keeps what it was relaxed to; another that was bounded in between changes nothing."""
    problem = boxed_problem(tmp_path)
    structure = BoxStructure(BoxedSpace(problem.space))
    shared = BoxBounds(problem, structure)
    (box,) = structure.decided_boxes(10) or []
    whole = shared.first(box)
    assert whole is not None
    firsts = [(part, shared.first(part)) for part in cut(box, 1, 2)]
    for part, found in (*firsts, (box, whole)):
        alone = BoxBounds(problem, structure)
        fresh = alone.first(part)
        assert found is not None
        assert fresh is not None
        assert np.array_equal(found.bounds, fresh.bounds)
        tight, again = shared.tightened(found), alone.tightened(fresh)
        assert tight is not None
        assert again is not None
        assert tight.tight
        assert tight.relaxed is None
        assert np.array_equal(tight.bounds, again.bounds)
        assert (tight.bounds >= found.bounds[np.isin(found.slices, tight.slices)]).all()
