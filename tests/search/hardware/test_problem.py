from pathlib import Path

import numpy as np
import pytest

from archloom.evaluators.bounds.compulsory import edp_bound
from archloom.evaluators.hardware import hardware_cost
from archloom.search.hardware.problem import Candidate, DesignProblem, infeasibility
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.errors import Infeasible
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network

from ...contracts.problems import edge_problem, small_space


@pytest.fixture
def problem(tmp_path: Path) -> DesignProblem:
    return DesignProblem(small_space(tmp_path), [network("tiny_cnn")])


def test_a_candidate_carries_the_evaluators_numbers(problem: DesignProblem) -> None:
    point = {"pe_x": 4, "pe_y": 2, "l2_kib": 16, "dataflow": "wide"}
    hardware, found = problem.space.build(point), problem.assess(point)
    assert isinstance(hardware, Hardware)
    assert isinstance(found, Candidate)
    assert (found.area_mm2, found.tdp_w) == (
        hardware_cost(hardware).area_mm2,
        hardware_cost(hardware).tdp_w,
    )
    assert found.values == (
        edp_bound(problem.networks, hardware),
        found.area_mm2,
        found.tdp_w,
    )
    assert problem.assess(dict(reversed(point.items()))) is found


def test_what_is_broken_is_named(problem: DesignProblem) -> None:
    big = {"pe_x": 8, "pe_y": 8, "l2_kib": 64, "dataflow": "wide"}
    found = problem.assess(big)
    assert isinstance(found, Infeasible)
    assert (found.reason, found.needed, found.available) == ("max_pes", 64, 32)
    legal = {**big, "pe_y": 4}
    facts = problem.assess(legal)
    assert isinstance(facts, Candidate)
    for name, cap, value in (
        ("area", facts.area_mm2 * 0.9, facts.area_mm2),
        ("tdp", facts.tdp_w * 0.9, facts.tdp_w),
    ):
        caps = {"area": {"area_cap_mm2": cap}, "tdp": {"tdp_cap_w": cap}}[name]
        over = DesignProblem(problem.space, problem.networks, **caps).assess(legal)
        assert isinstance(over, Infeasible)
        assert (over.reason, over.needed, over.available) == (f"{name}_cap", value, cap)


def test_a_cap_that_is_met_exactly_is_kept(problem: DesignProblem) -> None:
    point = problem.feasible()[0].point
    facts = problem.assess(point)
    assert isinstance(facts, Candidate)
    tight = DesignProblem(problem.space, problem.networks, facts.area_mm2, facts.tdp_w)
    assert isinstance(tight.assess(point), Candidate)


def test_the_oldest_assessments_are_forgotten_and_change_no_answer(
    problem: DesignProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("archloom.search.hardware.problem._MOST_REMEMBERED", 3)
    points = list(problem.space.enumerate())[:5]
    first = [problem.assess(point) for point in points]
    later = [problem.assess(point) for point in points[::-1]]
    assert later == first[::-1]
    # three were known, the two oldest were not
    assert [a is b for a, b in zip(first[::-1], later, strict=True)] == [True] * 3 + [False] * 2


def test_sampling_gives_distinct_feasible_designs_that_are_not_excluded() -> None:
    problem = edge_problem()
    first = problem.sample(np.random.default_rng(0), 50, (), tries=1000)
    assert len({c.key for c in first}) == 50
    again = problem.sample(np.random.default_rng(0), 50, {c.key for c in first}, tries=1000)
    assert not {c.key for c in first} & {c.key for c in again}
    assert problem.sample(np.random.default_rng(0), 50, (), tries=0) == []


def test_descent_reaches_a_feasible_design_or_the_least_miss() -> None:
    space = HardwareSpace.load("casco_edge")
    networks = [network("tiny_cnn")]
    tight = DesignProblem(space, networks, area_cap_mm2=1.7)
    rng = np.random.default_rng(0)
    assert all(isinstance(tight.descend(rng), Candidate) for _ in range(5))
    impossible = DesignProblem(space, networks, area_cap_mm2=0.1)
    ends = [impossible.descend(rng) for _ in range(5)]
    assert all(isinstance(e, Infeasible) for e in ends)
    assert min(infeasibility(e) for e in ends) < infeasibility(impossible.assess(space.sample(rng)))


def test_an_obstacle_is_the_least_miss_of_a_small_space(problem: DesignProblem) -> None:
    assert problem.obstacle(seed=0) is None
    smallest = min(c.area_mm2 for c in problem.feasible())
    capped = DesignProblem(problem.space, problem.networks, area_cap_mm2=smallest / 2)
    found = capped.obstacle(seed=0)
    assert found is not None
    assert found.reason == "area_cap"
    assert (found.needed, found.available) == (smallest, smallest / 2)


def test_an_obstacle_of_a_large_space_is_near_its_smallest_design() -> None:
    space = HardwareSpace.load("casco_edge")
    corner = space.build({p.name: p.values[0] for p in space.parameters})
    assert isinstance(corner, Hardware)
    problem = DesignProblem(space, [network("tiny_cnn")], area_cap_mm2=0.1)
    found = problem.obstacle(seed=0)
    assert found is not None
    assert found.reason == "area_cap"
    assert found.needed <= 1.05 * hardware_cost(corner).area_mm2
    assert edge_problem().obstacle(seed=0) is None


def test_bad_problems_are_named(problem: DesignProblem) -> None:
    with pytest.raises(ValueError, match="at least one network"):
        DesignProblem(problem.space, [])
    with pytest.raises(ValueError, match="tdp_cap_w is 0"):
        DesignProblem(problem.space, problem.networks, tdp_cap_w=0)
    with pytest.raises(ValueError, match="349920 points, enumerate_limit is 20000"):
        edge_problem().feasible()
