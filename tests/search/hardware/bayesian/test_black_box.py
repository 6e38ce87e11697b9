import numpy as np
import pytest

from archloom.search.hardware.bayesian.black_box import BlackBoxNehvi
from archloom.search.hardware.problem import DesignProblem
from archloom.search.hardware.protocol import HardwareOptimizer
from archloom.search.hardware.random_search import RandomSearch
from archloom.search.pareto import hypervolume

from ....contracts.hardware_optimizer import HardwareOptimizerContract
from ....contracts.problems import edge_problem, observe


class TestBlackBoxNehvi(HardwareOptimizerContract):
    """A batch takes a second, so that only a few of the designs are the model's."""

    def make(self, problem: DesignProblem, seed: int) -> HardwareOptimizer:
        return BlackBoxNehvi(problem, seed, initial=14, pool=24)


def test_it_beats_random_search() -> None:
    problem = edge_problem()

    def volume(optimizer: HardwareOptimizer) -> float:
        values = []
        for _ in range(5):
            seen = observe(problem, optimizer.ask(8, []))
            values += [o.values for o in seen]
            optimizer.tell(seen)
        return hypervolume(np.array(values), [1e-9, 8.0, 2.0])

    learned = volume(BlackBoxNehvi(problem, 0, pool=200))
    assert learned > max(volume(RandomSearch(problem, seed)) for seed in range(5))


def test_bad_options_are_named() -> None:
    with pytest.raises(ValueError, match="initial is 0, must be at least 1"):
        BlackBoxNehvi(edge_problem(), 0, initial=0)
    with pytest.raises(ValueError, match="pool is 0, must be at least 1"):
        BlackBoxNehvi(edge_problem(), 0, pool=0)
