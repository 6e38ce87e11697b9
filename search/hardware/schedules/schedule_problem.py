"""Schedules of one kernel as a design problem, so that the optimizers of hardware choose them.

Those optimizers know a space of parameters, feasible points, and what observations cost. A point
is a schedule here, its rules are the constraints of the algorithm, and its only cost is the time.
"""

from collections.abc import Mapping
from typing import Any, Final

from archloom.evaluators.host import KernelSpec, Schedule, schedule_kind
from archloom.search.objectives import Objective, ObjectiveSet
from archloom.space import Infeasible
from archloom.space.design_space import HardwareSpace, Parameter, Point, Value

from ..problem import ENUMERATE_LIMIT, Candidate, DesignProblem

#: time, in seconds
_OBJECTIVES: Final = ObjectiveSet((Objective("latency"),))

#: a lower bound of every time
_LEAST_S: Final = 1e-12


class ScheduleSpace(HardwareSpace):
    """The schedules of a kernel; it has points as a space of hardware has, and builds none.

    Args:
        spec: the kernel.
    """

    def __init__(self, spec: KernelSpec) -> None:
        self._kind = schedule_kind(spec)
        self._choices = tuple(
            Parameter(name, values, "categorical" if isinstance(values[0], str) else "pow2")
            for name, values in self._kind.CHOICES.items()
        )
        self._by_name = {p.name: p for p in self._choices}

    @property
    def name(self) -> str:
        """Name of the schedules."""
        return self._kind.__name__

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Parts of a schedule."""
        return self._choices

    def schedule(self, point: Mapping[str, Value]) -> Schedule:
        """Return the schedule of a point."""
        switches = {"no": False, "yes": True}
        return self._kind(
            **{name: switches.get(str(value), value) for name, value in point.items()}  # type: ignore[arg-type]
        )

    def point(self, schedule: Schedule) -> Point:
        """Return the point of a schedule.

        Raises:
            ValueError: a value that is none of the choices.
        """
        words: dict[Any, Value] = {False: "no", True: "yes"}
        found: Point = {}
        for parameter in self._choices:
            value = getattr(schedule, parameter.name)
            found[parameter.name] = words[value] if isinstance(value, bool) else value
        return self.canonical(found)


class ScheduleProblem(DesignProblem):
    """The problem of a kernel's fastest schedule: which points are schedules that fit.

    Args:
        spec: the kernel.
    """

    def __init__(self, spec: KernelSpec) -> None:
        self.spec = spec
        self.schedules = ScheduleSpace(spec)
        self.space = self.schedules
        self.objective_set = _OBJECTIVES
        self.enumerate_limit = ENUMERATE_LIMIT
        self._found: dict[str, Candidate | Infeasible] = {}
        self._all: list[Candidate] | None = None

    def assess(self, point: Point) -> Candidate | Infeasible:
        """Return the candidate at a point, or the constraint that its schedule breaks."""
        key = self.space.point_key(point)
        if key not in self._found:
            canonical = self.space.canonical(point)
            fault = self.schedules.schedule(canonical).fault(self.spec)
            self._found[key] = fault or Candidate(
                point=canonical, key=key, area_mm2=0.0, tdp_w=0.0, values=(_LEAST_S,), features=()
            )
        return self._found[key]
