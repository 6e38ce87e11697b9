"""The optimizers that only compare results: NSGA-II and the linear combination swarm."""

import random
from pathlib import Path

import numpy as np
import pytest

from archloom.search.hardware.lcs import LinearCombinationSwarm
from archloom.search.hardware.nsga2 import Nsga2
from archloom.search.hardware.observations import EvaluatedDesign, crowding_distance, ranked
from archloom.search.hardware.problem import Candidate, DesignProblem
from archloom.search.hardware.proposals import propose
from archloom.search.hardware.protocol import HardwareOptimizer, Observation
from archloom.search.hardware.random_search import RandomSearch
from archloom.search.objectives import EDP, Limit, Objective, ObjectiveSet
from archloom.search.pareto import hypervolume
from archloom.space.networks.registry import network

from ...contracts.hardware_optimizer import HardwareOptimizerContract
from ...contracts.problems import edge_problem, observe, small_space


class TestNsga2(HardwareOptimizerContract):
    def make(self, problem: DesignProblem, seed: int) -> HardwareOptimizer:
        return Nsga2(problem, seed, population=6)


class TestSwarm(HardwareOptimizerContract):
    def make(self, problem: DesignProblem, seed: int) -> HardwareOptimizer:
        return LinearCombinationSwarm(problem, seed, initial=6, members=8)


def volume_found_by(optimizer: HardwareOptimizer, problem: DesignProblem, trials: int) -> float:
    values = []
    for _ in range(trials // 8):
        seen = observe(problem, optimizer.ask(8, []))
        values += [o.values for o in seen]
        optimizer.tell(seen)
    return hypervolume(np.array(values), [1e-9, 8.0, 2.0])


@pytest.mark.parametrize("make", [Nsga2, LinearCombinationSwarm])
def test_it_beats_random_search(make: type[HardwareOptimizer]) -> None:
    problem = edge_problem()
    learned, drawn = (
        np.median([volume_found_by(m(problem, seed), problem, 128) for seed in range(5)])
        for m in (make, RandomSearch)
    )
    assert learned > 1.05 * drawn


def test_deap_leaves_the_global_generator_as_it_was() -> None:
    problem = edge_problem()
    optimizer = Nsga2(problem, 0, population=4)
    optimizer.tell(observe(problem, optimizer.ask(8, [])))
    random.seed(7)
    expected = random.random()
    random.seed(7)
    optimizer.ask(4, [])
    assert random.random() == expected


def result(*values: float, excess: tuple[float, ...] = ()) -> EvaluatedDesign:
    candidate = edge_problem().sample(np.random.default_rng(0), 1, (), 100)[0]
    return EvaluatedDesign(candidate, values, excess, 1)


def test_ranking_goes_by_front_then_by_loneliness_then_by_what_is_above_limits() -> None:
    rows = [
        result(2.0, 2.0, excess=(0.0,)),
        result(1.0, 4.0, excess=(-1.0,)),
        result(9.0, 9.0, excess=(-1.0,)),
        result(4.0, 1.0, excess=(-1.0,)),
        result(0.1, 0.1, excess=(0.5,)),
        result(0.1, 0.1, excess=(0.2,)),
    ]
    assert ranked(rows) == [1, 3, 0, 2, 5, 4]
    assert ranked([result(3.0), result(1.0), result(2.0)]) == [1, 2, 0]


def test_crowding_distance_of_a_line() -> None:
    line = np.array([[0.0, 4.0], [1.0, 3.0], [4.0, 0.0]])
    np.testing.assert_allclose(crowding_distance(line), [np.inf, 2.0, np.inf])


@pytest.mark.parametrize("make", [Nsga2, LinearCombinationSwarm])
def test_limits_are_learned_from_what_is_above_them(
    make: type[HardwareOptimizer], tmp_path: Path
) -> None:
    """Limited to the lower half of the latencies, most proposals come to keep it."""
    space, networks = small_space(tmp_path), [network("tiny_cnn")]
    latency = Objective("latency")
    open_problem = DesignProblem(space, networks, objective_set=ObjectiveSet((EDP, latency)))
    costs = sorted(c.values[1] for c in open_problem.feasible())
    # bounds are the truth here, and the limit is above every bound: all is learned from results
    limit = Limit(latency, 3.0 * costs[-1])
    problem = DesignProblem(space, networks, objective_set=ObjectiveSet((EDP,), (limit,)))
    factor = limit.value / costs[len(costs) // 2]

    def tell(points: list[dict[str, object]]) -> list[Observation]:
        seen = []
        for point in points:
            candidate = problem.assess(point)  # type: ignore[arg-type]
            assert isinstance(candidate, Candidate)
            excess = candidate.least_excess[0] + np.log(factor)
            seen.append(Observation(candidate.point, candidate.values, 1, None, (float(excess),)))
        return seen

    optimizer = make(problem, 0)
    kept = []
    for _ in range(6):
        seen = tell(optimizer.ask(8, []))
        kept += [o.kept for o in seen]
        optimizer.tell(seen)
    assert np.mean(kept[24:]) > 0.65


@pytest.mark.parametrize("enumerate_limit", [5000, 1])
def test_infeasible_wishes_become_feasible_designs_near_them(
    tmp_path: Path, enumerate_limit: int
) -> None:
    problem = DesignProblem(
        small_space(tmp_path), [network("tiny_cnn")], 0.9, enumerate_limit=enumerate_limit
    )
    wish = {"pe_x": 8, "pe_y": 8, "l2_kib": 64, "dataflow": "wide"}
    rng = np.random.default_rng(0)
    found = propose(problem, rng, 12, set(), lambda: wish)
    assert len({c.key for c in found}) == 12
    assert all(problem.assess(c.point) == c for c in found)


def test_bad_options_are_named() -> None:
    with pytest.raises(ValueError, match="population is 3, must be at least 4"):
        Nsga2(edge_problem(), 0, population=3)
    with pytest.raises(ValueError, match="members is 2, must be at least 3"):
        LinearCombinationSwarm(edge_problem(), 0, members=2)
    with pytest.raises(ValueError, match="initial is 0, must be at least 1"):
        LinearCombinationSwarm(edge_problem(), 0, initial=0)
