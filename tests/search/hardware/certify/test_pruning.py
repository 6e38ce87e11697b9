"""Fronts that bounds prove are those of measuring everything, with real software search."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from archloom.evaluators.hardware import hardware_cost
from archloom.search.hardware.certify.certificate import Certificate
from archloom.search.hardware.certify.pruning import DominancePruner
from archloom.search.hardware.problem import DesignProblem
from archloom.search.hardware.protocol import Observation
from archloom.search.objectives import Limit, Objective, ObjectiveSet, Tenant, design_costs
from archloom.search.pareto import hypervolume, non_dominated
from archloom.search.software.planners import plans_of
from archloom.search.software.result import SoftwareResult
from archloom.search.software.search import SoftwareSettings, SoftwareTask, advance
from archloom.search.software.serving import Sharing
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.design_space.parameter import Point
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network

from ....cases.sweeps import sweep
from ....contracts.problems import small_space

TINY = (network("tiny_cnn"), network("tiny_mlp"))


TENANTS = (Tenant("tiny_cnn", 3.0, 1.0, 1.0), Tenant("tiny_mlp", 1.0, 2.0, 1.0))


@cache
def searched(
    hardware: Hardware, fusion: str = "none", sharing: Sharing | None = None
) -> SoftwareResult:
    mapping = ("exact", 20_000) if fusion == "none" else ("local", 500)
    settings = SoftwareSettings(fusion, 4, *mapping)
    return advance(SoftwareTask(hardware, TINY, settings, 0, sharing), None, 6)


def tenants_of(objective_set: ObjectiveSet) -> tuple[Tenant, ...]:
    """Return tenants, if any objective or limit is of tenants."""
    shared = any(objective.facts.of_tenants for objective in objective_set.measured)
    return TENANTS if shared else ()


def measured(problem: DesignProblem, point: Point, fusion: str = "none") -> Observation:
    """Return the result of a real search of the design's software."""
    hardware = problem.space.build(point)
    assert isinstance(hardware, Hardware)
    stable = any(o.metric == "stable_load" for o in problem.objective_set.measured)
    sharing = Sharing(problem.tenants, 0, stable) if problem.tenants else None
    found = searched(hardware, fusion, sharing)
    if found.infeasible:
        return Observation(point, None, 0, found.infeasible.reason)
    passes = [(found.networks[n.name].energy_pj, found.networks[n.name].latency_cycles)
              for n in TINY]  # fmt: skip
    cost = hardware_cost(hardware)
    costs = design_costs(TINY, hardware, cost, passes, found.together)
    return Observation(
        point, problem.objective_set.values(costs), 6, None, problem.objective_set.excess(costs)
    )


def small_problem(folder: Path, objective_set: ObjectiveSet | None = None) -> DesignProblem:
    objective_set = objective_set or ObjectiveSet()
    return DesignProblem(
        small_space(folder),
        TINY,
        objective_set=objective_set,
        plans="layer_by_layer",
        tenants=tenants_of(objective_set),
    )


def front_by_brute_force(problem: DesignProblem) -> np.ndarray:
    seen = [measured(problem, c.point) for c in problem.feasible()]
    rows = np.array([o.values for o in seen if o.kept])
    return np.unique(rows[non_dominated(rows)], axis=0)


def proven_front(problem: DesignProblem, batch: int) -> tuple[np.ndarray, DominancePruner, int]:
    """Return the front, what excluded the other designs, and how many were measured."""
    pruner, spent = DominancePruner(problem), 0
    found: list[Observation] = []
    while points := pruner.best_candidates(batch):
        for point in points:
            found.append(measured(problem, point))
            pruner.tell(found[-1])
        pruner.tighten()
        spent += len(points)
    rows = np.array([o.values for o in found if o.kept])
    return np.unique(rows[non_dominated(rows)], axis=0), pruner, spent


GOALS = (
    ObjectiveSet(),
    ObjectiveSet((Objective("energy"), Objective("latency"), Objective("area"))),
    ObjectiveSet((Objective("edp", "max"), Objective("tdp"))),
    ObjectiveSet((Objective("edp"), Objective("area")), (Limit(Objective("latency"), 2e-4),)),
    ObjectiveSet((Objective("goodput"), Objective("area")), (Limit(Objective("deadline"), 0.2),)),
)


@pytest.mark.parametrize(
    ("objective_set", "batch"),
    sweep([(goal, (1, 8)[(i + turn) % 2]) for turn in (0, 1) for i, goal in enumerate(GOALS)], 5),
)
def test_the_proven_front_is_that_of_brute_force(
    objective_set: ObjectiveSet, batch: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    problem = small_problem(tmp_path_factory.getbasetemp(), objective_set)
    front, pruner, spent = proven_front(problem, batch)
    np.testing.assert_array_equal(front, front_by_brute_force(problem))
    proof = pruner.certificate()
    assert proof is not None
    assert proof.proven_at_this_budget
    assert proof.gap == 0
    assert proof.measured == spent < 0.8 * len(problem.feasible())
    assert proof.excluded == len(problem.feasible()) - spent


def test_the_gap_holds_what_is_missing_and_only_shrinks(tmp_path: Path) -> None:
    problem = small_problem(tmp_path)
    whole = front_by_brute_force(problem)
    pruner, counts = DominancePruner(problem), []
    for i, candidate in enumerate(problem.feasible()[::7]):
        pruner.tell(measured(problem, candidate.point))
        pruner.tighten(most=5)
        proof = pruner.certificate()
        assert proof is not None
        assert proof.measured == i + 1
        assert proof.ceiling >= hypervolume(whole, proof.reference) - 1e-12
        assert proof.volume <= proof.ceiling
        assert 0 <= proof.share <= 1
        counts.append(proof.open)
        assert Certificate.from_dict(proof.to_dict()) == proof
    assert counts == sorted(counts, reverse=True)


def test_what_is_hopeless_cannot_add_to_the_front(tmp_path: Path) -> None:
    problem = small_problem(tmp_path)
    pruner = DominancePruner(problem)
    for candidate in problem.feasible()[::5]:
        pruner.tell(measured(problem, candidate.point))
    seen = np.array([measured(problem, c.point).values for c in problem.feasible()[::5]])
    bad = [c for c in problem.feasible() if pruner.pruned(c.point)]
    assert 10 < len(bad) < len(problem.feasible())
    for candidate in bad:
        assert (seen <= np.array(measured(problem, candidate.point).values)).all(axis=1).any()


def test_a_crash_proves_nothing_and_is_not_tried_again(tmp_path: Path) -> None:
    problem = small_problem(tmp_path)
    pruner = DominancePruner(problem)
    (best,) = pruner.best_candidates(1)
    pruner.tell(Observation(best, None, 0), settled=False)
    while points := pruner.best_candidates(8):
        assert best not in points
        for point in points:
            pruner.tell(measured(problem, point))
    assert pruner.candidates_left == 1
    proof = pruner.certificate()
    assert proof is not None
    assert not proof.proven_at_this_budget


def test_designs_of_a_space_that_is_not_enumerable_are_excluded_too() -> None:
    problem = DesignProblem(HardwareSpace.load("casco_edge"), TINY, 8.0, 2.0)
    pruner = DominancePruner(problem)
    rng = np.random.default_rng(0)
    best, *others = sorted(problem.sample(rng, 60, (), 1000), key=lambda c: c.values[0])
    # a result at the bound excludes what is worse everywhere
    pruner.tell(Observation(best.point, best.values, 1))
    worse = [c for c in others if all(v >= b for v, b in zip(c.values, best.values, strict=True))]
    assert worse
    assert all(pruner.pruned(c.point) for c in worse)
    assert not pruner.pruned(min(others, key=lambda c: c.area_mm2).point)


@pytest.mark.parametrize("fusion", ["none", "casco", "joint", "fast", "fast_printed"])
@pytest.mark.parametrize("space", ["casco_edge", "fast"])
def test_no_result_is_below_any_bound(space: str, fusion: str) -> None:
    """Of drawn designs, with the plans of each search, for every metric."""
    objective_set = ObjectiveSet(
        (
            Objective("edp"),
            Objective("energy"),
            Objective("latency"),
            Objective("utilisation"),
            Objective("area"),
        )
    )
    problem = DesignProblem(
        HardwareSpace.load(space), TINY, objective_set=objective_set, plans=plans_of(fusion)
    )
    rng = np.random.default_rng(7)
    for candidate in problem.sample(rng, 8, (), 1000):
        result = measured(problem, candidate.point, fusion)
        tight = problem.tightened(candidate)
        assert all(t >= c for t, c in zip(tight.values, candidate.values, strict=True))
        if result.values is not None:
            assert all(v >= t for v, t in zip(result.values, tight.values, strict=True))
