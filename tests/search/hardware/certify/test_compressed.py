"""Fronts over compressed forms: what bounds prove is what measuring every combination gives."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from archloom.evaluators.hardware import hardware_cost
from archloom.search.hardware.certify.pruning import DominancePruner
from archloom.search.hardware.problem import Candidate, DesignProblem
from archloom.search.hardware.protocol import Observation
from archloom.search.objectives import ACCURACY, AREA, EDP, Limit, ObjectiveSet, design_costs
from archloom.search.pareto import non_dominated
from archloom.search.software.search import SoftwareSettings, SoftwareTask, advance
from archloom.space.design_space.parameter import Point
from archloom.space.errors import Infeasible
from archloom.space.hardware.hardware import Hardware
from archloom.space.workload.network import Network

from ....cases.compressed import choices, space

FLOOR = 96.0
GOALS = (
    ObjectiveSet.of((EDP, AREA), (Limit(ACCURACY, FLOOR),)),
    ObjectiveSet.of((EDP, ACCURACY), ()),
    ObjectiveSet.of((EDP,), (Limit(ACCURACY, FLOOR),)),
)


@cache
def problem(folder: Path, goal: ObjectiveSet, enumerable: bool = True) -> DesignProblem:
    return DesignProblem(
        space(folder),
        choices(),
        enumerate_limit=20_000 if enumerable else 1,
        objective_set=goal,
        plans="layer_by_layer",
    )


@cache
def searched(hardware: Hardware, networks: tuple[Network, ...]) -> tuple[tuple[float, float], ...]:
    settings = SoftwareSettings("none", 4, "exact", 20_000)
    found = advance(SoftwareTask(hardware, networks, settings, 0, None), None, 1)
    best = [found.networks[network.name] for network in networks]
    return tuple((one.energy_pj, one.latency_cycles) for one in best)


def measured(of: DesignProblem, point: Point) -> Observation:
    """Return the result of a real search of the software of a design, in its form."""
    hardware = of.space.build(point)
    assert isinstance(hardware, Hardware)
    networks = of.networks_at(point)
    costs = design_costs(
        networks,
        hardware,
        hardware_cost(hardware),
        searched(hardware, networks),
        accuracy_percent=of.accuracy_percent(point, hardware),
    )
    return Observation(point, of.objective_set.values(costs), 1, None, ())


def enumerated(of: DesignProblem, floor: float) -> np.ndarray:
    """Return the front of all points, by nothing but their accuracies and their results."""
    found = choices()
    rows = []
    for point in of.space.enumerate():
        hardware = of.space.build(point)
        assert isinstance(hardware, Hardware)
        if found.accuracy_percent(point, hardware) >= floor:
            rows.append(measured(of, point).values)
    values = np.array(rows)
    return np.unique(values[non_dominated(values)], axis=0)


@pytest.mark.parametrize("enumerable", [True, False])
@pytest.mark.parametrize("goal", GOALS)
def test_the_proven_front_is_that_of_every_combination(
    goal: ObjectiveSet, enumerable: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    of = problem(tmp_path_factory.getbasetemp(), goal, enumerable)
    pruner, found = DominancePruner(of), []
    while points := pruner.best_candidates(4):
        for point in points:
            found.append(measured(of, point))
            pruner.tell(found[-1])
        pruner.tighten(16)
    rows = np.array([one.values for one in found])
    front = np.unique(rows[non_dominated(rows)], axis=0)
    floor = FLOOR if goal.known_limits else 0.0
    np.testing.assert_array_equal(front, enumerated(of, floor))
    proof = pruner.certificate()
    assert proof is not None
    assert proof.proven_at_this_budget
    assert proof.points == 144
    assert proof.measured == len(found) < 60
    if enumerable:
        accurate = sum(percent >= floor for percent in accuracies(of))
        assert proof.feasible == accurate == len(of.feasible())
    # pruning pays: without it the front would be another one
    assert any(point_of(one)["pruned_late"] > 0 for one in found)


def accuracies(of: DesignProblem) -> list[float]:
    """Return the accuracy of every point."""
    found = []
    for point in of.space.enumerate():
        hardware = of.space.build(point)
        assert isinstance(hardware, Hardware)
        found.append(choices().accuracy_percent(point, hardware))
    return found


def point_of(one: Observation) -> dict[str, float]:
    return {name: float(v) for name, v in one.point.items() if name.startswith("pruned")}


def test_bounds_are_those_of_the_form_and_below_its_results(tmp_path: Path) -> None:
    of = problem(tmp_path, GOALS[1])
    gained = set()
    for point in of.space.enumerate():
        loose = of.assess(point)
        assert isinstance(loose, Candidate)
        tight = of.tightened(loose)
        result = measured(of, point).values
        assert result is not None
        assert loose.values[0] <= tight.values[0] <= result[0]
        assert loose.values[1] == tight.values[1] == result[1]
        whole = of.assess({**point, "pruned_early": 0.0, "pruned_late": 0.0})
        assert isinstance(whole, Candidate)
        assert loose.values[0] <= whole.values[0]
        gained.add(loose.values[0] < whole.values[0])
    assert gained == {True, False}


def test_a_form_below_the_floor_says_so_with_numbers(tmp_path: Path) -> None:
    of = problem(tmp_path, GOALS[0])
    point = {"pe": 4, "l2_kib": 8, "bits": 4, "zeros": "skipped",
             "pruned_early": 0.5, "pruned_late": 0.9}  # fmt: skip
    found = of.assess(point)
    assert isinstance(found, Infeasible)
    assert found.reason == "accuracy_limit"
    assert (found.needed, found.available, found.unit) == (FLOOR, 93.7, "%")
    assert "pruned_early = 0.5, pruned_late = 0.9, 4 bits" in found.where
    assert "accuracy_percent" in str(found)


def test_an_accuracy_without_forms_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="accuracy needs compressed workloads"):
        DesignProblem(space(tmp_path), choices().networks, objective_set=GOALS[0])
