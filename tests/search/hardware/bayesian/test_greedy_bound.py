from pathlib import Path

import numpy as np
import pytest

from archloom.search.hardware.bayesian.greedy_bound import GreedyBound
from archloom.search.hardware.problem import DesignProblem
from archloom.search.hardware.protocol import HardwareOptimizer, Observation
from archloom.search.pareto import hypervolume, non_dominated
from archloom.space.networks.registry import network

from ....contracts.hardware_optimizer import HardwareOptimizerContract
from ....contracts.problems import edge_problem, observe, small_space


class TestGreedyBound(HardwareOptimizerContract):
    def make(self, problem: DesignProblem, seed: int) -> HardwareOptimizer:
        return GreedyBound(problem, seed, pool=200)

    def test_the_seed_matters(self, problem: DesignProblem) -> None:
        """Where every design is scored there is nothing to draw."""
        first, second = (
            self.play(self.make(problem, seed), problem, batches=2, size=4) for seed in (0, 1)
        )
        assert (first == second) == problem.enumerable


def test_the_first_design_has_the_largest_volume_at_its_bounds(tmp_path: Path) -> None:
    problem = DesignProblem(small_space(tmp_path), [network("tiny_cnn")])
    bounds = np.array([c.values for c in problem.feasible()])
    low, high = np.log(bounds.min(axis=0)), np.log(bounds.max(axis=0))
    reference = np.exp(high + 0.1 * np.maximum(high - low, 1.0))
    volumes = [hypervolume([row], reference.tolist()) for row in bounds]
    chosen = problem.feasible()[int(np.argmax(volumes))]
    assert GreedyBound(problem, 0).ask(1, []) == [chosen.point]


def test_a_front_is_complete_once_random_designs_begin(tmp_path: Path) -> None:
    """No design is left whose bounds the front does not dominate."""
    problem = DesignProblem(small_space(tmp_path), [network("tiny_cnn")])
    optimizer, every = GreedyBound(problem, 0), problem.feasible()
    told: dict[str, Observation] = {}
    while True:
        point = optimizer.ask(1, [])[0]
        key = problem.space.point_key(point)
        values = [seen.values for seen in told.values() if seen.values]
        bound = next(c.values for c in every if c.key == key)
        if not non_dominated([*values, bound])[-1]:
            break
        told[key] = observe(problem, [point])[0]
        optimizer.tell([told[key]])
    assert len(told) < 2 / 3 * len(every)
    truth = np.array([observe(problem, [c.point])[0].values for c in every])
    front = {c.key for c, on in zip(every, non_dominated(truth), strict=True) if on}
    assert front <= told.keys()


def test_bad_options_are_named() -> None:
    with pytest.raises(ValueError, match="pool is 0, must be at least 1"):
        GreedyBound(edge_problem(), 0, pool=0)
