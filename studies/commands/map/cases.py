"""Mapping problems of the cases of a file."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, cast

from archloom.evaluators.loopnest import MappingProblem
from archloom.space import InfeasibleError, did_you_mean
from archloom.space.importers.cases import BadCase, Case, read_cases
from archloom.space.mapping import (
    DATAFLOWS,
    UNCONSTRAINED,
    Dataflow,
    LevelConstraints,
    MappingConstraints,
    kept_as,
)
from archloom.studies.config import read_constraints_file
from archloom.studies.rendering.text import known

from ...errors import UserError

#: exponents of energy and of latency
OBJECTIVES: Final = {"edp": (1.0, 1.0), "energy": (1.0, 0.0), "latency": (0.0, 1.0)}

#: no dimension goes along x and y of one mesh, as in the cases of Timeloop
ONE_AXIS: Final = MappingConstraints(both_axes=False)

BYPASSES: Final = ("as-given", "free")


@dataclass(frozen=True)
class Sought:
    """Objective and constraints of the mappings that are searched for each case.

    Attributes:
        objective: one of OBJECTIVES.
        bypass: ``as-given``: each level keeps what it keeps in the case's own mapping, and what
            suits best if the case has none; or ``free``.
        constraints: what else all mappings satisfy, as far as an architecture has levels of
            these names; what it says that a level keeps or lets pass goes before ``bypass``.

    Raises:
        UserError: a name that is not known.
    """

    objective: str = "edp"
    bypass: str = "as-given"
    constraints: MappingConstraints = ONE_AXIS

    def __post_init__(self) -> None:
        known(self.objective, "--objective", list(OBJECTIVES))
        known(self.bypass, "--bypass", BYPASSES)


@dataclass(frozen=True)
class Task:
    """A case, and what is to be solved for it."""

    case: Case
    problem: MappingProblem

    @property
    def title(self) -> str:
        """Layer and architecture, for people."""
        return f"{self.case.layer.name} on {self.case.hardware.name}"


def read_tasks(path: Path, sought: Sought, case: str | None = None) -> list[Task]:
    """Return the problem of each case of a file, in its order.

    Args:
        path: of a file with one JSON object a line, as docs/reference/timeloop.md describes it.
        sought: what is free, and what is minimised.
        case: id of the only case that is wanted; None for all.

    Raises:
        UserError: the file cannot be read or holds no cases, there is none of that id, or all
            that is wrong with its records, each with its line.
    """
    try:
        found = [(c.line, _task(c, sought)) for c in read_cases(path)]
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not UTF-8 text"
        raise UserError(f"{path}: {reason}") from None
    if not found:
        raise UserError(f"{path}: holds no cases; it needs one JSON object per line")
    bad = [(line, what) for line, what in found if not isinstance(what, Task)]
    if bad:
        raise UserError("\n".join(_refusal(path, bad, len(found))))
    tasks = [what for _, what in found if isinstance(what, Task)]
    _check_levels(tasks, sought.constraints)
    if case is None:
        return tasks
    names = list(dict.fromkeys(task.case.name for task in tasks))
    if case not in names:
        raise UserError(f"--case {case!r}: {path} has none of that id; {_near(case, names)}")
    return [task for task in tasks if task.case.name == case]


def _check_levels(tasks: Sequence[Task], constraints: MappingConstraints) -> None:
    levels = dict.fromkeys(level.name for task in tasks for level in task.case.hardware.levels)
    for name, near in constraints.unknown_levels(levels):
        raise UserError(f"--constraints: no architecture has a level {name!r}; {near}")


def _near(case: str, names: list[str]) -> str:
    hint = did_you_mean(case, names)
    return f"its {len(names)} cases are {names[0]} to {names[-1]}" if len(hint) > 200 else hint


def _task(case: Case | BadCase, sought: Sought) -> Task | tuple[str, tuple[str, ...]]:
    """Return the task of a case; or its id and what is wrong with it."""
    if isinstance(case, BadCase):
        return case.name, case.faults
    try:
        problem = MappingProblem.of_layer(case.layer, case.hardware)
        problem = replace(
            problem,
            weights=OBJECTIVES[sought.objective],
            constraints=_constraints(case, sought),
        )
        # prices that a technology does not have show here
        _ = problem.setup
    except InfeasibleError:
        # what has no mapping is an answer
        pass
    except ValueError as error:
        return case.name, (str(error),)
    return Task(case, problem)


def _constraints(case: Case, sought: Sought) -> MappingConstraints:
    asked = sought.constraints.within(level.name for level in case.hardware.levels)
    if sought.bypass == "free" or case.mapping is None:
        return asked
    own = kept_as(case.mapping, case.hardware)
    return replace(asked, levels=tuple(_both(asked.of_level(v.level), v) for v in own.levels))


def _both(asked: LevelConstraints, own: LevelConstraints) -> LevelConstraints:
    """Add what a level keeps in the case's own mapping, but for tensors that were asked for."""
    said = (*asked.keep, *asked.bypass)
    return replace(
        asked,
        keep=(*asked.keep, *(t for t in own.keep if t not in said)),
        bypass=(*asked.bypass, *(t for t in own.bypass if t not in said)),
    )


def _refusal(
    path: Path, bad: Sequence[tuple[int, tuple[str, tuple[str, ...]]]], cases: int
) -> Iterator[str]:
    yield f"{path}: {len(bad)} of {cases} cases cannot be read"
    for line, (name, faults) in bad:
        named = "" if name == f"line {line}" else f"{name}: "
        for fault in faults:
            yield f"  {path}:{line}: {named}{fault}"


def constraints_of(
    path: Path | None,
    dataflow: str | None,
    both_axes: bool,
    called: Callable[[str], str] = "--{}".format,
) -> MappingConstraints:
    """Return the constraints of a YAML file, if there is one, and of the other options.

    Args:
        path: of the file.
        dataflow: name of one.
        both_axes: whether a dimension may be unrolled along both axes.
        called: what messages call an option.

    Raises:
        UserError: an unknown dataflow, a file that cannot be read or all that is wrong in it.
    """
    where = f"{called('constraints')} {path}"
    if dataflow is not None:
        known(dataflow, called("dataflow"), DATAFLOWS)
    try:
        found = UNCONSTRAINED if path is None else read_constraints_file(path)
        if dataflow is not None:
            found = replace(found, dataflow=cast(Dataflow, dataflow))
        return replace(found, both_axes=found.both_axes and both_axes)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not UTF-8 text"
        raise UserError(f"{where}: {reason}") from None
    except ValueError as error:
        raise UserError(f"{where}: {error}; {called('both-axes')} permits it") from None
