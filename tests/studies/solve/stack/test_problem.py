"""Optimizers of hardware choose points: each at most once, and none without kernels."""

from pathlib import Path

import pytest

from archloom.search.registry.families import HARDWARE_OPTIMIZERS
from archloom.space import Infeasible
from archloom.studies.config.sections import Reading
from archloom.studies.solve.stack.points import points_of
from archloom.studies.solve.stack.problem import StackProblem, observation
from archloom.studies.solve.stack.settings import StackConfig

CONFIG = StackConfig.read({"name": "any", "models": ["vgg16", "resnet18"]}, Reading(Path()))


def test_points_without_kernels_are_never_proposed() -> None:
    problem = StackProblem(CONFIG)
    space = problem.stack
    found = {str(space.stack_point(design)): problem.assess(design) for design in space.enumerate()}
    assert list(found) == [str(point) for point in points_of(CONFIG)]
    refused = {name for name, one in found.items() if isinstance(one, Infeasible)}
    assert refused == {
        f"{model}, weights 0.8, spatial_pack, {schedules}"
        for model in ("vgg16", "resnet18")
        for schedules in ("untuned", "tuned")
    }


@pytest.mark.parametrize("name", ["grid", "lcs", "nsga2", "random", "sobol", "tpe"])
def test_an_optimizer_goes_on_from_what_it_was_told(name: str) -> None:
    """Also where points have no time, and up to the last one."""

    def asked() -> list[str]:
        problem, found = StackProblem(CONFIG), list[str]()
        optimizer = HARDWARE_OPTIMIZERS[name](problem, 7)
        while designs := optimizer.ask(4, []):
            points = [problem.stack.stack_point(design) for design in designs]
            told = [
                observation(
                    design,
                    100.0 if point.tuned else 90.0,
                    None if point.algorithm == "direct" else 10.0 + len(found),
                    1000,
                )
                for design, point in zip(designs, points, strict=True)
            ]
            optimizer.tell(told)
            found += map(str, points)
        return found

    found = asked()
    assert len(found) == len(set(found))
    assert len(found) == 56
    assert asked() == found
