"""Points of a stack study as designs, so that the optimizers of hardware choose them.

A point's costs are its error, time and size; nothing is known of them before it is measured.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from archloom.search import Objective, ObjectiveSet
from archloom.search.hardware import Candidate, DesignProblem, Observation
from archloom.space import Infeasible
from archloom.space.design_space import HardwareSpace, Parameter, Point as Design

from .points import Point, never
from .settings import StackConfig

#: three metrics that no hardware alone determines, for error, time and size
_OBJECTIVES: Final = ObjectiveSet((Objective("edp"), Objective("latency"), Objective("energy")))

#: lower bounds of all three
_LEAST: Final = (1e-12, 1e-12, 1e-12)

#: percent; an error of 0 has no logarithm
_LEAST_ERROR: Final = 0.01


class StackSpace(HardwareSpace):
    """The axes of a study; it has points as a space of hardware has, and builds none."""

    def __init__(self, config: StackConfig) -> None:
        self._compressions = {c.label: c for c in config.compression}
        axes: dict[str, Sequence[str]] = {
            "model": config.models,
            "compression": tuple(self._compressions),
            "algorithm": config.algorithms,
            "schedules": config.tuning.schedules,
        }
        self._axes = tuple(Parameter(k, tuple(v), "categorical") for k, v in axes.items())
        self._by_name = {axis.name: axis for axis in self._axes}

    @property
    def name(self) -> str:
        """What it is a space of."""
        return "stack"

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The axes."""
        return self._axes

    def stack_point(self, design: Mapping[str, object]) -> Point:
        """Return the point that a design stands for."""
        return Point(
            str(design["model"]),
            self._compressions[str(design["compression"])],
            str(design["algorithm"]),
            design["schedules"] == "tuned",
        )


class StackProblem(DesignProblem):
    """Which points there are: those whose algorithm has kernels for the compression."""

    def __init__(self, config: StackConfig) -> None:
        self.stack = StackSpace(config)
        self.space = self.stack
        self.objective_set = _OBJECTIVES
        self.enumerate_limit = self.space.cardinality
        self.networks, self.tenants = (), ()
        self.area_cap_mm2 = self.tdp_cap_w = None
        self._all: list[Candidate] | None = None

    def assess(self, point: Design) -> Candidate | Infeasible:
        """Return the candidate at a design, or why it has no kernels."""
        canonical = self.space.canonical(point)
        found = self.stack.stack_point(canonical)
        return never(found.compression, found.algorithm) or Candidate(
            point=canonical,
            key=self.space.point_key(point),
            area_mm2=0.0,
            tdp_w=0.0,
            values=_LEAST,
            features=(),
        )


def observation(
    design: Design, accuracy_percent: float, time_us: float | None, stored_bytes: int
) -> Observation:
    """Return what a measured point taught; one without a time has no values."""
    if time_us is None:
        return Observation(design, None, 1, "no_time")
    error = max(100.0 - accuracy_percent, _LEAST_ERROR)
    return Observation(design, (error, time_us, float(stored_bytes)), 1)
