"""Comparison of studies: their hypervolumes for what they spent, under one reference."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, log
from statistics import median
from typing import TYPE_CHECKING, Final

import numpy as np

from archloom.search import Objective

from .study_runs import Arm, Run, Step

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: what a study spends, by name: of a step, None where its journal does not say
SPENT: Final[dict[str, Callable[[Step], float | None]]] = {
    "trials": lambda step: float(step.trial.number + 1),
    "evaluations": lambda step: float(step.evaluations),
    "cpu_seconds": lambda step: step.cpu_seconds,
    "wall_seconds": lambda step: step.wall_seconds,
}

LABELS: Final = {
    "trials": "trials",
    "evaluations": "fusion plans evaluated, all trials",
    "cpu_seconds": "CPU time (s)",
    "wall_seconds": "wall-clock time (s)",
}

#: shares of the common front's hypervolume of which a table says when they were reached
MARKS: Final = (90, 95, 99)

#: the reference lies this share above the worst value that any study found
MARGIN: Final = 0.1

#: points of a band along its axis, at the most
_POINTS: Final = 400


@dataclass(frozen=True)
class Course:
    """How the hypervolume of one run grew.

    Attributes:
        percent: hypervolume after each step, in percent of the common front's.
        spent: float64[steps] by name of :data:`SPENT`; what the journal does not say is not here.
    """

    percent: "NDArray[np.float64]"
    spent: "dict[str, NDArray[np.float64]]"

    def reached(self, percent: float) -> int | None:
        """Return the trials after which the hypervolume was at least that; None if never."""
        enough = np.flatnonzero(self.percent >= percent)
        return int(self.spent["trials"][enough[0]]) if len(enough) else None

    def at(self, name: str, spent: "NDArray[np.float64]") -> "NDArray[np.float64]":
        """Return the percents reached when so much was spent; nan beyond the run's end."""
        mine = self.spent[name]
        steps = np.searchsorted(mine, spent, side="right")
        found = np.concatenate([[0.0], self.percent])[steps]
        return np.where(spent <= mine[-1], found, np.nan)


@dataclass(frozen=True)
class Comparison:
    """Studies side by side.

    Attributes:
        arms: runs that differ in the seed alone, together.
        objectives: what all studies minimise.
        reference: costs of the corner of the hypervolumes, 10% above the worst of any study.
        volume: of the front of all studies together, in decades to the number of objectives.
        front: (costs, arm, run, trial) of that front, by the first objective.
        courses: of each run of each arm.
    """

    arms: tuple[Arm, ...]
    objectives: tuple[Objective, ...]
    reference: tuple[float, ...]
    volume: float
    front: tuple[tuple[tuple[float, ...], Arm, Run, int], ...]
    courses: tuple[tuple[Course, ...], ...]

    def figures(self, costs: Sequence[float]) -> tuple[float, ...]:
        """Return the objectives' own figures of some costs."""
        return tuple(
            objective.figure(cost) for objective, cost in zip(self.objectives, costs, strict=True)
        )

    def kinds(self) -> list[str]:
        """Return what all studies say of what they spent, by name of :data:`SPENT`."""
        every = [course for courses in self.courses for course in courses]
        return [name for name in SPENT if all(name in course.spent for course in every)]


@dataclass(frozen=True, slots=True)
class ArmResult:
    """Figures of one arm.

    Attributes:
        arm: its label.
        runs, trials: of the arm, and of its longest run.
        percent: median, least and most share of the common front's hypervolume at the end.
        trials_to: for each of :data:`MARKS` the median of trials that reached it; None if half
            of the runs never did.
        members: members of the common front that the arm found.
        best: geometric mean over runs of the best first objective; None if no run has an EDP.
        spent: medians of what runs spent, by name of :data:`SPENT` without the trials.
    """

    arm: str
    runs: int
    trials: int
    percent: tuple[float, float, float]
    trials_to: dict[int, float | None]
    members: int
    best: float | None
    spent: dict[str, float]


@dataclass(frozen=True)
class Band:
    """An arm's percents: median, least and most over its runs, at what was spent."""

    spent: "NDArray[np.float64]"
    median: "NDArray[np.float64]"
    low: "NDArray[np.float64]"
    high: "NDArray[np.float64]"


def compare(arms: Sequence[Arm]) -> Comparison | None:
    """Measure all runs with one reference; None if no trial of any has an EDP."""
    from archloom.search import hypervolume, non_dominated

    found = [
        (values, arm, run, step.trial.number)
        for arm in arms
        for run in arm.runs
        for step in run.steps
        if (values := step.costs) is not None
    ]
    if not found:
        return None
    rows = np.array([values for values, *_ in found])
    reference = tuple((rows.max(axis=0) * (1 + MARGIN)).tolist())
    kept = [one for one, keep in zip(found, non_dominated(rows), strict=True) if keep]
    volume = hypervolume([values for values, *_ in kept], reference)
    return Comparison(
        tuple(arms),
        arms[0].runs[0].objective_set.objectives,
        reference,
        volume,
        tuple(sorted(kept, key=lambda one: (one[0], one[3]))),
        tuple(tuple(_course(run, reference, volume) for run in arm.runs) for arm in arms),
    )


def _course(run: Run, reference: tuple[float, ...], volume: float) -> Course:
    from archloom.search import hypervolume_after

    # a trial without an EDP adds what a trial at the reference adds, nothing
    values = [step.costs or reference for step in run.steps]
    percent = 100.0 / volume * np.array(hypervolume_after(values, reference))
    spent = {name: [of(step) for step in run.steps] for name, of in SPENT.items()}
    known = {name: np.array(s, dtype=np.float64) for name, s in spent.items() if None not in s}
    return Course(percent, known)


def band(courses: Sequence[Course], name: str) -> Band:
    """Return the band of an arm's runs, as far as all of them go."""
    every = np.unique(np.concatenate([course.spent[name] for course in courses]))
    every = every[every <= min(course.spent[name][-1] for course in courses)]
    if len(every) > _POINTS:
        every = every[np.unique(np.linspace(0, len(every) - 1, _POINTS).astype(np.int64))]
    percents = np.array([course.at(name, every) for course in courses])
    return Band(every, np.median(percents, axis=0), percents.min(axis=0), percents.max(axis=0))


def results(comparison: Comparison) -> list[ArmResult]:
    """Return what each arm came to."""
    return [
        _result(comparison, arm, courses)
        for arm, courses in zip(comparison.arms, comparison.courses, strict=True)
    ]


def _result(comparison: Comparison, arm: Arm, courses: Sequence[Course]) -> ArmResult:
    ends = [float(course.percent[-1]) for course in courses]
    least = [best for run in arm.runs if (best := _least(run)) is not None]
    return ArmResult(
        arm=arm.label,
        runs=len(arm.runs),
        trials=max(len({step.trial.number for step in run.steps}) for run in arm.runs),
        percent=(median(ends), min(ends), max(ends)),
        trials_to={mark: _median_reached(courses, mark) for mark in MARKS},
        members=sum(one[1] is arm for one in comparison.front),
        best=comparison.objectives[0].figure(exp(sum(map(log, least)) / len(least)))
        if least
        else None,
        spent={n: _middle(courses, n) for n in comparison.kinds() if n != "trials"},
    )


def _least(run: Run) -> float | None:
    return min((v[0] for step in run.steps if (v := step.costs)), default=None)


def _median_reached(courses: Sequence[Course], percent: float) -> float | None:
    """A run that never got there counts as one that gets there after all others."""
    reached = sorted(r for c in courses if (r := c.reached(percent)) is not None)
    needed = len(courses) // 2 + 1
    if len(reached) < needed:
        return None
    padded = [*reached, *[float("inf")] * (len(courses) - len(reached))]
    return float(median(padded))


def _middle(courses: Sequence[Course], name: str) -> float:
    return float(median(course.spent[name][-1] for course in courses))
