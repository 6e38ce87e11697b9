"""Bounds of the plans of ``joint`` hold for what its search finds on every design of a box."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from archloom.search.fusion.joint.proofs.plan_space import PlanSpaces
from archloom.search.hardware.certify.box_bounds import BoxBounds
from archloom.search.hardware.certify.certificate import LastEffort
from archloom.search.hardware.certify.pruning import DominancePruner
from archloom.search.hardware.problem import DesignProblem
from archloom.search.objectives import Objective, ObjectiveSet
from archloom.search.pareto import dominated_by, hypervolume
from archloom.space.design_space.boxes.box import BoxedSpace, cut
from archloom.space.design_space.boxes.structure import BoxStructure

from ....contracts.problems import small_space
from .test_pruning import TINY, measured

GOALS = {
    "edp": ObjectiveSet(),
    "both": ObjectiveSet((Objective("latency"), Objective("energy"), Objective("area"))),
}


def fused_problem(folder: Path, goals: str = "edp", enumerate_limit: int = 1) -> DesignProblem:
    """Return the small problem with the plans of ``joint``."""
    return DesignProblem(
        small_space(folder), TINY, enumerate_limit=enumerate_limit, objective_set=GOALS[goals]
    )


@cache
def whole(folder: Path) -> DesignProblem:
    return fused_problem(folder, enumerate_limit=1000)


def told_to(problem: DesignProblem, every: DesignProblem) -> DominancePruner:
    """Return a pruner that knows every eighth design."""
    pruner = DominancePruner(problem)
    for candidate in every.feasible()[::8]:
        pruner.tell(measured(problem, candidate.point, "joint"))
    pruner.tighten(16)
    return pruner


@pytest.mark.parametrize("goals", GOALS)
def test_no_design_is_below_its_box(goals: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp()
    problem, spaces = fused_problem(folder, goals), PlanSpaces()
    structure = BoxStructure(BoxedSpace(problem.space))
    (every,), bounds = structure.decided_boxes(100) or [], BoxBounds(problem, structure)
    higher = wide = 0
    for candidate in whole(folder).feasible()[::11]:
        box = every
        values = measured(problem, candidate.point, "joint").values
        assert values is not None
        at = structure.boxed.positions(candidate.point)
        while unlike := bounds.deciding(box):
            start, stop = box[unlike[0]]
            middle = (start + stop) // 2
            box = cut(box, unlike[0], middle)[int(at[unlike[0]] >= middle)]
        for some in (box, tuple((i, i + 1) for i in at)):
            first = bounds.first(some)
            assert first is not None
            close, planned = bounds.closest(first), bounds.planned(first, spaces, True)
            assert close is not None
            assert planned is not None
            assert (planned.bounds <= np.array(values)).all(axis=1).any()
            assert (planned.bounds >= close.bounds).all()
            loose = bounds.planned(first, spaces, False)
            assert loose is not None
            assert (planned.bounds >= loose.bounds).all()
            higher += int((planned.bounds > close.bounds * 1.001).any())
            wide += int(some == box and any(stop - start > 1 for start, stop in box))
    assert higher > 5
    assert wide > 3


def test_a_box_of_unlike_tilings_is_refused(tmp_path: Path) -> None:
    problem = fused_problem(tmp_path)
    structure = BoxStructure(BoxedSpace(problem.space))
    bounds = BoxBounds(problem, structure)
    (box,) = structure.decided_boxes(100) or []
    names = [p.name for p in problem.space.parameters]
    assert [names[i] for i in bounds.deciding(box)] == ["pe_x", "pe_y", "l2_kib"]
    first = bounds.first(box)
    assert first is not None
    with pytest.raises(ValueError, match="same tilings"):
        bounds.planned(first, PlanSpaces(), False)


@pytest.mark.parametrize("limit", [1, 1000], ids=["boxes", "enumerated"])
def test_no_design_is_lost(limit: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp()
    every = whole(folder)
    pruner = told_to(fused_problem(folder, enumerate_limit=limit), every)
    others = [c for i, c in enumerate(every.feasible()) if i % 8 in (3, 6)]
    found = [measured(every, candidate.point, "joint") for candidate in others]
    rows = np.array([one.values for one in found if one.kept])
    before, known = pruner.certificate(), pruner.state()
    assert before is not None
    joins = rows[~dominated_by(pruner._front, rows)]
    assert len(joins)
    shares = [0.0]
    for plans in (2, 60):
        steps: list[int] = []
        proof = pruner.sharpened(LastEffort(plans=plans), steps.append, PlanSpaces())
        again = pruner.sharpened(LastEffort(plans=plans), lambda _: None, PlanSpaces())
        assert proof == again
        assert proof is not None
        assert sum(steps) <= plans + pruner.measured
        assert proof.plans is not None
        assert proof.plans <= plans
        assert proof.open >= len(joins)
        # whatever joins is below the ceiling
        ceiling = hypervolume(np.vstack([pruner._front, joins]), before.reference)
        volume = hypervolume(pruner._front, before.reference)
        assert volume / ceiling >= proof.share - 1e-9
        assert proof.share >= shares[-1] - 1e-9
        assert proof.share_any_plan == before.share
        assert proof.to_dict() == type(proof).from_dict(proof.to_dict()).to_dict()
        shares.append(proof.share)
    # in boxes of few designs, where the same tilings fit, by a hundredth or so
    assert shares[-1] > before.share + 0.005
    assert pruner.state() == known
    assert pruner.certificate() == before


def test_measured_designs_are_bounded_too(tmp_path: Path) -> None:
    pruner = told_to(fused_problem(tmp_path, enumerate_limit=1000), whole(tmp_path))
    before = pruner.sharpened(LastEffort(), lambda _: None)
    proof = pruner.sharpened(LastEffort(plans=1), lambda _: None, PlanSpaces())
    assert before is not None
    assert proof is not None
    assert before.ceiling_any_budget is not None
    assert proof.ceiling_any_budget is not None
    assert proof.ceiling_any_budget < before.ceiling_any_budget
    assert proof.ceiling_any_budget >= proof.ceiling
