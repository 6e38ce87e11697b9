from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from archloom.search.hardware.problem import DesignProblem
from archloom.search.hardware.protocol import HardwareOptimizer
from archloom.search.hardware.quasi_random import grid_points, sobol_points
from archloom.search.registry import HARDWARE_OPTIMIZERS
from archloom.space.design_space.hardware_space import HardwareSpace

from ...contracts.hardware_optimizer import HardwareOptimizerContract
from ...contracts.problems import edge_problem, small_space


class TestSobol(HardwareOptimizerContract):
    def make(self, problem: DesignProblem, seed: int) -> HardwareOptimizer:
        return HARDWARE_OPTIMIZERS["sobol"](problem, seed)


class TestGrid(HardwareOptimizerContract):
    def make(self, problem: DesignProblem, seed: int) -> HardwareOptimizer:
        return HARDWARE_OPTIMIZERS["grid"](problem, seed)


@pytest.mark.parametrize("seed", range(3))
def test_sobol_points_take_each_value_of_a_parameter_as_often(tmp_path: Path, seed: int) -> None:
    space = small_space(tmp_path)
    points = list(islice(sobol_points(space, seed), 64))
    for p in space.parameters:
        counts = [sum(point[p.name] == v for point in points) for v in p.values]
        assert max(counts) - min(counts) <= 1
    # 64 points over the 32 pairs of values of two parameters: 2 each
    pairs = {(point["pe_x"], point["pe_y"]) for point in points}
    assert len(pairs) == 16


@pytest.mark.parametrize("seed", range(3))
def test_a_grid_has_middles_then_ends_then_quarters(seed: int) -> None:
    space = HardwareSpace.load("casco_edge")
    points = list(islice(grid_points(space, seed), 3**8))
    assert points[0]["clock_mhz"] == 400
    assert points[0]["weight_spad_bytes"] == 128
    keys = [space.point_key(p) for p in points]
    assert len(set(keys)) == 3**8
    ends = {p.name: {p.values[0], points[0][p.name], p.values[-1]} for p in space.parameters}
    assert all(point[name] in ends[name] for point in points for name in ends)


def test_a_grid_ends_with_every_point_of_the_space(tmp_path: Path) -> None:
    space = small_space(tmp_path)
    points = [space.point_key(p) for p in grid_points(space, 1)]
    assert sorted(points) == sorted(space.point_key(p) for p in space.enumerate())


def test_a_longer_walk_before_changes_no_answer() -> None:
    for name in ("sobol", "grid"):
        walked = HARDWARE_OPTIMIZERS[name](edge_problem(), 0)
        walked.ask(40, [])
        assert walked.ask(4, []) == HARDWARE_OPTIMIZERS[name](edge_problem(), 0).ask(4, [])


def test_a_first_batch_of_sobol_spreads_better_than_random() -> None:
    problem = edge_problem()

    def least_distance(name: str, seed: int) -> float:
        x = problem.space.encode(HARDWARE_OPTIMIZERS[name](problem, seed).ask(8, []))
        gaps = np.linalg.norm(x[:, None] - x[None], axis=2) + 9 * np.eye(len(x))
        return float(gaps.min())

    sobol, random = ([least_distance(n, s) for s in range(20)] for n in ("sobol", "random"))
    assert np.mean(sobol) > np.mean(random)
