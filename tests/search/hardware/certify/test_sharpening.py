"""Boxes that are cut at the end hold back nothing, and change nothing of the study."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from archloom.search.hardware.certify.box_bounds import BoxBounds
from archloom.search.hardware.certify.branch_and_bound import BoxBranchAndBound
from archloom.search.hardware.certify.certificate import LastEffort
from archloom.search.hardware.certify.pruning import DominancePruner
from archloom.search.hardware.certify.sharpening import Sharpened
from archloom.search.hardware.problem import DesignProblem
from archloom.search.objectives import Objective, ObjectiveSet
from archloom.search.pareto import dominated_by, hypervolume
from archloom.space.design_space.boxes.box import BoxedSpace
from archloom.space.design_space.boxes.structure import BoxStructure
from archloom.space.design_space.hardware_space import HardwareSpace

from ....cases.sweeps import sweep
from ....source_tree import ROOT
from .test_branch_and_bound import around, boxed_problem
from .test_pruning import GOALS, TINY, measured, small_problem

SPACES = sorted((ROOT / "examples" / "spaces").iterdir())


def told_to(problem: DesignProblem, whole: DesignProblem) -> DominancePruner:
    """Return a pruner that knows every sixth design."""
    pruner = DominancePruner(problem)
    for candidate in whole.feasible()[::6]:
        pruner.tell(measured(problem, candidate.point))
    pruner.tighten(16)
    return pruner


def sharpened(
    boxes: BoxBranchAndBound,
    corner: Sequence[float],
    cuts: int,
    told: Callable[[int], None],
) -> Sharpened:
    sharpener = boxes.sharpener(corner)
    sharpener.run(cuts, told)
    return sharpener.left()


@pytest.mark.parametrize("objective_set", sweep(GOALS, 3))
def test_no_design_is_lost(
    objective_set: ObjectiveSet, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp()
    problem, whole = boxed_problem(folder, objective_set), small_problem(folder, objective_set)
    pruner = told_to(problem, whole)
    others = [c for i, c in enumerate(whole.feasible()) if i % 6]
    found = [measured(whole, candidate.point) for candidate in others]
    rows = np.array([one.values for one in found if one.kept])
    before = pruner.certificate()
    assert before is not None
    assert pruner._boxes is not None
    known, shares = pruner.state(), [0.0]
    for cuts in (1, 4, 16, 400):
        steps: list[int] = []
        left, again = (
            sharpened(pruner._boxes, before.reference, cuts, told)
            for told in (steps.append, lambda _: None)
        )
        np.testing.assert_array_equal(left.bounds, again.bounds)
        assert left.cuts <= sum(steps) <= cuts
        front = pruner._front
        joins = rows[~dominated_by(front, rows)]
        # each has a bound below it
        assert not len(joins) or dominated_by(left.bounds, joins).all()
        assert left.points >= len(joins)
        ceiling = hypervolume(np.vstack([front, left.bounds, joins]), before.reference)
        shares.append(hypervolume(front, before.reference) / ceiling)
        proof = pruner.sharpened(LastEffort(cuts), lambda _: None)
        assert proof is not None
        assert (proof.cuts, proof.share_uncut) == (left.cuts, before.share)
        assert proof.open + proof.excluded + proof.measured == proof.feasible <= before.feasible
        assert (proof.open, proof.boxes) == (left.points, left.boxes)
        assert proof.to_dict() == type(proof).from_dict(proof.to_dict()).to_dict()
    assert shares == sorted(shares)
    assert left.points <= before.open
    assert pruner.state() == known
    assert pruner.certificate() == before


def test_cuts_certify_more(tmp_path: Path) -> None:
    pruner = told_to(boxed_problem(tmp_path), small_problem(tmp_path))
    before, proof = pruner.certificate(), pruner.sharpened(LastEffort(200), lambda _: None)
    assert before is not None
    assert proof is not None
    assert proof.share > before.share + 0.01
    assert proof.share_any_budget is not None
    assert before.share_any_budget is not None
    assert proof.share_any_budget > before.share_any_budget
    assert "cuts at the end it would be" not in before.to_dict()
    assert "cuts" not in before.to_dict()


@pytest.mark.parametrize("folder", SPACES, ids=lambda path: path.name)
def test_no_design_of_the_examples_is_below_the_closest_bounds_of_its_boxes(folder: Path) -> None:
    objective_set = ObjectiveSet((Objective("latency"), Objective("energy"), Objective("area")))
    space = HardwareSpace.load(folder / "hardware.yaml")
    problem = DesignProblem(space, TINY, objective_set=objective_set, plans="layer_by_layer")
    structure = BoxStructure(BoxedSpace(space))
    boxes, bounds = structure.decided_boxes(10_000) or [], BoxBounds(problem, structure)
    rng, higher = np.random.default_rng(3), 0
    for candidate in problem.sample(rng, 5, (), 1000):
        values = measured(problem, candidate.point).values
        assert values is not None
        at = structure.boxed.positions(candidate.point)
        own = tuple((i, i + 1) for i in at)
        for box in (own, *(around(structure.boxed, boxes, candidate.point, rng) for _ in range(3))):
            first = bounds.first(box)
            assert first is not None
            tight, close = bounds.tightened(first), bounds.closest(first)
            assert tight is not None
            assert close is not None
            assert (close.bounds <= np.array(values)).all(axis=1).any()
            assert (close.bounds >= tight.bounds[np.isin(tight.slices, close.slices)]).all()
            higher += int(close.bounds[:, 1].max() > tight.bounds[:, 1].max() * 1.0001)
    assert higher or folder.name == "core_cluster"


def test_bounds_of_measured_designs_are_below_what_was_measured(tmp_path: Path) -> None:
    problem = boxed_problem(tmp_path)
    pruner = told_to(problem, small_problem(tmp_path))
    assert pruner._boxes is not None
    designs = pruner._boxes.settled()
    assert len(designs) == pruner.measured
    for _, point in designs:
        close, values = pruner._boxes.closest(point), measured(problem, point).values
        assert close is not None
        assert values is not None
        assert (close <= np.array(values)).all()
