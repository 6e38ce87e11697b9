from collections import Counter
from pathlib import Path

import pytest

from archloom.search.hardware.problem import DesignProblem
from archloom.search.hardware.protocol import HardwareOptimizer
from archloom.search.hardware.random_search import RandomSearch
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.networks.registry import network

from ...contracts.hardware_optimizer import HardwareOptimizerContract
from ...contracts.problems import small_space


class TestRandomSearch(HardwareOptimizerContract):
    def make(self, problem: DesignProblem, seed: int) -> HardwareOptimizer:
        return RandomSearch(problem, seed)


@pytest.mark.parametrize("enumerate_limit", [5000, 1])
def test_every_feasible_design_is_as_likely(tmp_path: Path, enumerate_limit: int) -> None:
    problem = DesignProblem(
        small_space(tmp_path),
        [network("tiny_cnn")],
        enumerate_limit=enumerate_limit,
    )
    drawn = Counter(
        problem.space.point_key(p)
        for seed in range(300)
        for p in RandomSearch(problem, seed).ask(4, [])
    )
    # 1200 draws over 120 designs: 10 each, deviation 3.2.
    assert len(drawn) == 120
    assert max(drawn.values()) < 10 + 5 * 3.2


def test_a_rare_feasible_corner_is_found_by_descent() -> None:
    space = HardwareSpace.load("fast")
    # Of 10,000 random designs of the space about one is that small.
    problem = DesignProblem(space, [network("tiny_cnn")], area_cap_mm2=12.0)
    assert len(RandomSearch(problem, 0).ask(4, [])) == 4
