"""Fronts that bounds prove are those of measuring everything, with real software search."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from archloom.evaluators.hardware_cost import hardware_cost
from archloom.search.candidates import DesignProblem
from archloom.search.certificate import Certificate
from archloom.search.costs import design_costs
from archloom.search.fusion_search import plans_of
from archloom.search.goals import Goal, Goals, Limit
from archloom.search.pareto import hypervolume, non_dominated
from archloom.search.prospects import Prospects
from archloom.search.protocols import Observation
from archloom.search.software import SoftwareResult, SoftwareSettings, SoftwareTask, advance
from archloom.space.hardware import Hardware
from archloom.space.hardware_space import HardwareSpace, Point
from archloom.space.networks import network

from ..contracts.problems import small_space

TINY = (network("tiny_cnn"), network("tiny_mlp"))


@cache
def searched(hardware: Hardware, fusion: str = "none") -> SoftwareResult:
    mapping = ("exact", 20_000) if fusion == "none" else ("local", 500)
    settings = SoftwareSettings(fusion, 4, *mapping)
    return advance(SoftwareTask(hardware, TINY, settings, 0), None, 6)


def measured(problem: DesignProblem, point: Point, fusion: str = "none") -> Observation:
    """Return the result of a real search of the design's software."""
    hardware = problem.space.build(point)
    assert isinstance(hardware, Hardware)
    found = searched(hardware, fusion)
    if found.infeasible:
        return Observation(point, None, 0, found.infeasible.reason)
    passes = [(found.networks[n.name].energy_pj, found.networks[n.name].latency_cycles)
              for n in TINY]  # fmt: skip
    costs = design_costs(TINY, hardware, hardware_cost(hardware), passes)
    return Observation(point, problem.goals.values(costs), 6, None, problem.goals.excess(costs))


def small_problem(folder: Path, goals: Goals | None = None) -> DesignProblem:
    return DesignProblem(small_space(folder), TINY, goals=goals or Goals(), plans="layer_by_layer")


def front_by_brute_force(problem: DesignProblem) -> np.ndarray:
    seen = [measured(problem, c.point) for c in problem.feasible()]
    rows = np.array([o.values for o in seen if o.kept])
    return np.unique(rows[non_dominated(rows)], axis=0)


def proven_front(problem: DesignProblem, batch: int) -> tuple[np.ndarray, Prospects, int]:
    """Return the front, what excluded the other designs, and how many were measured."""
    prospects, spent = Prospects(problem), 0
    found: list[Observation] = []
    while points := prospects.promising(batch):
        for point in points:
            found.append(measured(problem, point))
            prospects.tell(found[-1])
        prospects.tighten()
        spent += len(points)
    rows = np.array([o.values for o in found if o.kept])
    return np.unique(rows[non_dominated(rows)], axis=0), prospects, spent


GOALS = (
    Goals(),
    Goals((Goal("energy"), Goal("latency"), Goal("area"))),
    Goals((Goal("edp", "max"), Goal("tdp"))),
    Goals((Goal("edp"), Goal("area")), (Limit(Goal("latency"), 2e-4),)),
)


@pytest.mark.parametrize("goals", GOALS)
@pytest.mark.parametrize("batch", [1, 8])
def test_the_proven_front_is_that_of_brute_force(
    goals: Goals, batch: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    problem = small_problem(tmp_path_factory.getbasetemp(), goals)
    front, prospects, spent = proven_front(problem, batch)
    np.testing.assert_array_equal(front, front_by_brute_force(problem))
    proof = prospects.certificate()
    assert proof is not None
    assert proof.proven
    assert proof.gap == 0
    assert proof.measured == spent < 0.8 * len(problem.feasible())
    assert proof.excluded == len(problem.feasible()) - spent


def test_the_gap_holds_what_is_missing_and_only_shrinks(tmp_path: Path) -> None:
    problem = small_problem(tmp_path)
    whole = front_by_brute_force(problem)
    prospects, counts = Prospects(problem), []
    for i, candidate in enumerate(problem.feasible()[::7]):
        prospects.tell(measured(problem, candidate.point))
        prospects.tighten(most=5)
        proof = prospects.certificate()
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
    prospects = Prospects(problem)
    for candidate in problem.feasible()[::5]:
        prospects.tell(measured(problem, candidate.point))
    seen = np.array([measured(problem, c.point).values for c in problem.feasible()[::5]])
    bad = [c for c in problem.feasible() if prospects.hopeless(c.point)]
    assert 10 < len(bad) < len(problem.feasible())
    for candidate in bad:
        assert (seen <= np.array(measured(problem, candidate.point).values)).all(axis=1).any()


def test_a_crash_proves_nothing_and_is_not_tried_again(tmp_path: Path) -> None:
    problem = small_problem(tmp_path)
    prospects = Prospects(problem)
    (best,) = prospects.promising(1)
    prospects.tell(Observation(best, None, 0), settled=False)
    while points := prospects.promising(8):
        assert best not in points
        for point in points:
            prospects.tell(measured(problem, point))
    assert prospects.open == 1
    proof = prospects.certificate()
    assert proof is not None
    assert not proof.proven


def test_designs_of_a_space_that_is_not_enumerable_are_excluded_too() -> None:
    problem = DesignProblem(HardwareSpace.load("casco_edge"), TINY, 8.0, 2.0)
    prospects = Prospects(problem)
    rng = np.random.default_rng(0)
    best, *others = sorted(problem.sample(rng, 60, (), 1000), key=lambda c: c.values[0])
    # a result at the bound excludes what is worse everywhere
    prospects.tell(Observation(best.point, best.values, 1))
    worse = [c for c in others if all(v >= b for v, b in zip(c.values, best.values, strict=True))]
    assert worse
    assert all(prospects.hopeless(c.point) for c in worse)
    assert not prospects.hopeless(min(others, key=lambda c: c.area_mm2).point)


@pytest.mark.parametrize("fusion", ["none", "genetic", "joint", "integer", "integer_printed"])
@pytest.mark.parametrize("space", ["casco_edge", "fast"])
def test_no_result_is_below_any_bound(space: str, fusion: str) -> None:
    """Of drawn designs, with the plans of each search, for every metric."""
    goals = Goals((Goal("edp"), Goal("energy"), Goal("latency"), Goal("utilisation"), Goal("area")))
    problem = DesignProblem(HardwareSpace.load(space), TINY, goals=goals, plans=plans_of(fusion))
    rng = np.random.default_rng(7)
    for candidate in problem.sample(rng, 8, (), 1000):
        result = measured(problem, candidate.point, fusion)
        tight = problem.tightened(candidate)
        assert all(t >= c for t, c in zip(tight.values, candidate.values, strict=True))
        if result.values is not None:
            slack = 1 + 1e-9
            assert all(v * slack >= t for v, t in zip(result.values, tight.values, strict=True))
