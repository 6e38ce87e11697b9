"""Groups of open designs: no design is bounded above what it costs, and none is dropped that could
join the front."""

from pathlib import Path

import numpy as np
import pytest

from archloom.search.fusion.joint.proofs.plan_space import PlanSpaces
from archloom.search.hardware.certify.box_bounds import BoxBounds
from archloom.search.hardware.certify.branch_and_bound import BoxBranchAndBound
from archloom.search.hardware.certify.design_groups import DesignGroups
from archloom.search.hardware.certify.missing_volume import counts_of, drawn_points, reached
from archloom.search.hardware.problem import DesignProblem
from archloom.search.pareto import dominated_by
from archloom.space.design_space.boxes.box import BoxedSpace
from archloom.space.design_space.boxes.structure import BoxStructure
from archloom.space.design_space.hardware_space import HardwareSpace

from .test_plans import GOALS, fused_problem
from .test_pruning import TINY, measured


@pytest.mark.parametrize("goals", GOALS)
def test_no_design_is_above_what_it_costs(goals: str, tmp_path: Path) -> None:
    problem = fused_problem(tmp_path, goals, enumerate_limit=1000)
    every = problem.feasible()
    found = {
        c.key: np.array(measured(problem, c.point, "joint").values)
        for c in every[::7] + every[1::7]
    }
    front = np.array([found[c.key] for c in every[::7]])
    boxes = BoxBranchAndBound(problem)
    boxes.hold_against(front)
    own = np.array([c.values for c in every])
    open_ = np.flatnonzero(~dominated_by(front, own))
    # those that were searched, and a fifth of the others: each takes a second or so at the end
    open_ = np.array([row for n, row in enumerate(open_) if every[row].key in found or n % 5 == 0])
    points, corner = [every[n].point for n in open_], (2.0 * front.max(axis=0)).tolist()

    def groups() -> DesignGroups:
        return boxes.groups(points, own[open_], corner)

    before, missing = groups().least, np.inf
    for most in (1, 10, 1000):
        told: list[int] = []
        bounded, again = groups(), groups()
        assert bounded.bound_plans(PlanSpaces(), most, told.append) == sum(told) <= most
        again.bound_plans(PlanSpaces(), most, lambda _: None)
        np.testing.assert_array_equal(bounded.least, again.least)
        assert (bounded.least >= before).all()
        left = np.isfinite(bounded.least).all(axis=1)
        assert not dominated_by(front, bounded.least[left]).any()
        for n, row in enumerate(open_):
            values = found.get(every[row].key)
            if values is not None:
                kept = bool((bounded.least[n] <= values * (1 + 1e-9)).all())
                assert kept or dominated_by(front, values[None])[0]
        assert left.sum() <= missing
        missing = left.sum()
    # all are bounded by then
    assert sum(told) < 1000
    assert (bounded.least > before * 1.001).any()


def test_groups_are_as_large_as_their_structure_allows() -> None:
    """Private memories of the edge space are registers or SRAM, by what they hold together."""
    space, rng = HardwareSpace.load("casco_edge"), np.random.default_rng(1)
    structure = BoxStructure(BoxedSpace(space))
    bounds = BoxBounds(DesignProblem(space, TINY, enumerate_limit=1), structure)
    roots, alike = structure.decided_boxes(4096) or [], {"pe_x": 8, "l2_kib": 32}
    drawn = [space.sample(rng) | alike | {"pe_y": 4 + 4 * (n % 2)} for n in range(300)]
    every = [space.canonical(point) for point in drawn]
    at = np.unique([structure.boxed.positions(point) for point in every], axis=0)
    own, corner = np.ones((len(at), 3)), np.full(3, 3.0)
    groups = DesignGroups(bounds, roots, at, own, 2.0 * own[:1], corner.tolist())._groups
    rows = np.concatenate([group.rows for group in groups])
    assert sorted(rows.tolist()) == list(range(len(at)))
    for group in groups:
        inside = at[group.rows]
        starts, stops = inside.min(axis=0).tolist(), (inside.max(axis=0) + 1).tolist()
        box = tuple(zip(starts, stops, strict=True))
        assert bounds.deciding(box) == []
        assert structure.decided(box)
        assert bounds.first(box) is not None
    runs = [np.array(root) for root in roots]
    inside_of = [((of[:, 0] <= at) & (at < of[:, 1])).all(axis=1) for of in runs]
    meshes = at[:, bounds.deciding(roots[0])]
    used = sum(len(np.unique(meshes[inside], axis=0)) for inside in inside_of)
    assert 4 <= len(groups) < 0.7 * used
    assert not structure.decided(structure.boxed.whole)


def test_what_only_one_reaches_counts_most() -> None:
    points = np.array([[1.0, 1.0], [3.0, 3.0], [0.0, 5.0]])
    sets = [reached(points, np.array(logs)) for logs in ([[2.0, 2.0]], [[0.5, 0.5]], [[0.0, 4.0]])]
    assert [one.tolist() for one in sets] == [[1], [0, 1], [2]]
    counts = counts_of(sets, len(points)).tolist()
    assert counts[1] == counts[0] + counts[2]
    assert counts[2] == 2 * counts[0]


def test_points_are_between_front_and_bounds() -> None:
    front, bounds = np.array([[0.2, 0.6], [0.6, 0.2]]), np.array([[0.1, 0.5], [0.5, 0.1]])
    points = drawn_points(np.zeros(2), np.ones(2), front, bounds)
    assert len(points) == 4096
    assert not dominated_by(front, points).any()
    assert dominated_by(bounds, points).all()
    assert drawn_points(np.zeros(2), np.ones(2), front, front).shape == (0, 2)
