"""Runs of studies read for comparison: each trial, and what the study had spent by then."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from archloom.search import ObjectiveSet
from archloom.studies.config import Location, argument, stored_objective_set
from archloom.studies.storage import (
    BASELINE,
    LATER,
    Event,
    Header,
    Trial,
    read_header,
    read_journal,
    read_trials,
)

from ..errors import UserError

if TYPE_CHECKING:
    from archloom.space.design_space import Point


@dataclass(frozen=True, slots=True)
class Step:
    """An outcome of a trial, and what the study had spent when its batch was done.

    Attributes:
        trial: that ended, as one of its outcomes.
        costs: of each objective; None if it has no EDP, or breaks a limit of its study.
        evaluations: fusion plans evaluated for it and for all trials before it.
        cpu_seconds: of optimizer and software search up to it; None where an older version of
            archloom wrote the journal.
        wall_seconds: during which a process worked on the study, up to the end of its batch;
            None likewise.
    """

    trial: Trial
    costs: tuple[float, ...] | None
    evaluations: int
    cpu_seconds: float | None
    wall_seconds: float | None


@dataclass(frozen=True, slots=True)
class Run:
    """A study's directory: what it is, and its finished trials in order."""

    location: Location
    header: Header
    steps: tuple[Step, ...]

    @property
    def objective_set(self) -> ObjectiveSet:
        """Objectives and limits of the study."""
        return stored_objective_set(self.header.config)

    @property
    def ended(self) -> "list[Point]":
        """Designs whose result more search of the same budget would not change."""
        trials = (step.trial for step in self.steps if not step.trial.outcome)
        return [t.point for t in trials if t.point and t.state in ("complete", "infeasible")]


@dataclass(frozen=True, slots=True)
class Arm:
    """Runs that differ in nothing but the seed, and in what they differ from other arms."""

    label: str
    runs: tuple[Run, ...]


def read_run(location: Location) -> Run:
    """Read a study, finished or not.

    Raises:
        UserError: there is no study, or has no finished trial yet.
    """
    header, trials = read_header(location), read_trials(location)
    if not trials:
        raise UserError(
            f"{location} has no finished trial yet; resume it with: archloom resume "
            f"{argument(location)}"
        )
    objective_set = stored_objective_set(header.config)
    return Run(location, header, tuple(_steps(trials, objective_set, read_journal(location))))


def _steps(
    trials: Sequence[Trial], objective_set: ObjectiveSet, events: Sequence[Event]
) -> Iterator[Step]:
    timed = all("cpu_seconds" in event for event in events if "seconds" in event)
    asked, searched, ended = _asked_seconds(events), _searched_seconds(events), _ends(events)
    evaluations, cpu, batch, wall = 0, 0.0, None, 0.0
    for trial in trials:
        if trial.batch != batch:
            batch = trial.batch
            cpu += asked.get(batch, 0.0)
            wall = max([wall, *(ended.get(t.number, 0.0) for t in trials if t.batch == batch)])
        evaluations += trial.evaluations
        cpu += searched.get(trial.number, 0.0)
        spent = evaluations, cpu if timed else None, wall if timed else None
        for one in trial.outcomes:
            costs = one.costs(objective_set) if one.keeps_limits(objective_set) else None
            yield Step(one, costs, *spent)


def arms_of(runs: Sequence[Run]) -> tuple[Arm, ...]:
    """Group runs that differ in the seed alone; name each arm by what sets it apart.

    Raises:
        UserError: the same study twice, or studies whose objectives are not comparable.
    """
    _check_comparable(runs)
    groups: dict[tuple[tuple[str, str], ...], list[Run]] = {}
    for run in runs:
        groups.setdefault(_settings(run), []).append(run)
    for group in groups.values():
        seeds = [run.header.config["seed"] for run in group]
        twice = next((run for i, run in enumerate(group) if seeds[i] in seeds[:i]), None)
        if twice is not None:
            raise UserError(
                f"{twice.location}: another study with the same settings and seed is given as well"
            )
    labels = _labels([dict(settings) for settings in groups])
    return tuple(
        Arm(label or _only_label(group), tuple(group))
        for label, group in zip(labels, groups.values(), strict=True)
    )


def _only_label(group: Sequence[Run]) -> str:
    """Name the only arm: by its study, or by what several seeds of it have in common."""
    config = group[0].header.config
    return str(config["name"] if len(group) == 1 else config["optimizer"]["name"])


def _check_comparable(runs: Sequence[Run]) -> None:
    """Objectives of different networks, or different objectives, have no common front."""
    first = runs[0]
    of_tenants = any(g.facts.of_tenants for g in first.objective_set.objectives)
    keys = ("workloads", "density", "objectives", *(("tenants",) if of_tenants else ()))
    for run in runs[1:]:
        for key in keys:
            here, there = (r.header.result_settings.get(key, LATER.get(key)) for r in (first, run))
            if here != there:
                raise UserError(
                    f"{run.location} cannot be compared with {first.location}: {key} differ "
                    f"({there} and {here}), so their objectives are not comparable"
                )


def _settings(run: Run) -> tuple[tuple[str, str], ...]:
    """Everything but the seed that decides the result, as dotted keys and texts."""
    settings = {k: v for k, v in run.header.result_settings.items() if k != "seed"}
    return tuple((key, str(value)) for key, value in _flat(settings, ""))


def _flat(value: Any, key: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, dict):
        yield key, value
        return
    for name, below in value.items():
        yield from _flat(below, f"{key}.{name}" if key else name)


def _labels(settings: Sequence[dict[str, str]]) -> list[str]:
    """Say of each arm the settings in which arms differ; names of parts stand without their key.

    What only follows from another setting (an option that the other optimizer lacks, the hash
    beside a template's name) is left out where the rest tells all arms apart.
    """
    keys = list(dict.fromkeys(key for one in settings for key in one))
    differing = [key for key in keys if len({one.get(key) for one in settings}) > 1]
    shared = [key for key in differing if all(key in one for one in settings)]
    for chosen in (_names(shared), shared, differing):
        labels = [", ".join(_shown(key, one) for key in chosen if key in one) for one in settings]
        if len(set(labels)) == len(labels):
            return labels
    raise AssertionError("arms differ, so some setting tells them apart")


def _names(keys: Sequence[str]) -> list[str]:
    return [key for key in keys if key.endswith(".name")]


def _shown(key: str, settings: dict[str, str]) -> str:
    return settings[key] if key.endswith(".name") else f"{key}={settings[key]}"


def _asked_seconds(events: Sequence[Event]) -> dict[int, float]:
    """CPU seconds of the optimizer, by batch."""
    return {e["batch"]: e.get("cpu_seconds", 0.0) for e in events if e["event"] == "asked"}


def _searched_seconds(events: Sequence[Event]) -> dict[int, float]:
    """CPU seconds of software search, by trial."""
    spent: dict[int, float] = {}
    for event in events:
        if event["event"] == "advanced":
            spent[event["trial"]] = spent.get(event["trial"], 0.0) + event.get("cpu_seconds", 0.0)
    return spent


def _ends(events: Sequence[Event]) -> dict[int, float]:
    """Seconds that processes had worked on the study when each trial was searched last.

    The time between the last event of one process and the start of the next does not count.
    """
    worked, before, ended = 0.0, None, {}
    for event in events:
        at = event.get("at")
        if at is None:
            continue
        if event["event"] != "opened" and before is not None:
            worked += max(0.0, at - before)
        before = at
        results = ("advanced", "crashed", "over_limit")
        if event["event"] in results and event["trial"] != BASELINE:
            ended[event["trial"]] = worked
    return ended
