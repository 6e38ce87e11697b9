"""The design of a space that is nearest to a hardware."""

from pathlib import Path

import pytest

from archloom.search.hardware.problem import DesignProblem
from archloom.search.hardware.projection import nearest
from archloom.space.design_space.presets import preset
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network

from ...contracts.problems import edge_problem, small_space


def test_a_design_of_the_space_is_nearest_to_itself(tmp_path: Path) -> None:
    problem = DesignProblem(small_space(tmp_path), [network("tiny_cnn")])
    for candidate in problem.feasible()[::7]:
        built = problem.space.build(candidate.point)
        assert isinstance(built, Hardware)
        found = nearest(problem, built)
        assert found is not None
        # the dataflow is no size, so designs that differ in it alone are equally near
        assert {**found.point, "dataflow": 0} == {**candidate.point, "dataflow": 0}


def test_a_walk_in_a_large_space_ends_near_the_preset() -> None:
    problem = edge_problem()
    found = nearest(problem, preset("eyeriss"))
    assert found is not None
    assert found == nearest(problem, preset("eyeriss"))
    built = problem.space.build(found.point)
    assert isinstance(built, Hardware)
    # Eyeriss has 12 x 14 PEs at 200 MHz
    assert built.macs == pytest.approx(168, rel=0.35)
    assert built.frequency_mhz == 200


def test_no_feasible_design_is_near_anything(tmp_path: Path) -> None:
    problem = DesignProblem(small_space(tmp_path), [network("tiny_cnn")], area_cap_mm2=1e-6)
    assert nearest(problem, preset("eyeriss")) is None
