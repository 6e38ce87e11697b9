"""Objectives and limits in study files, as ``docs/study_files.md`` has them.

An objective is the name of a metric, or a mapping with ``metric`` and of which workloads. A
limit stands under the metric's name with its unit: a number, a mapping with ``limit`` and of
which workloads, or a list of these.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Annotated, Any, Final, get_args

from pydantic import PlainSerializer, PlainValidator, ValidationError, ValidationInfo
from pydantic_core import InitErrorDetails

from ..search.goals import METRICS, Aggregate, Goal, Goals, Limit
from ..space.suggest import did_you_mean
from .config_errors import KeyPath
from .quantities import positive

#: by key of a study file, the metrics that software decides
LIMITED: Final = {m.key: name for name, m in METRICS.items() if not m.of_hardware}

_OF_WHICH: Final = ("aggregate", "workload", "weights")

Fault = tuple[KeyPath, str]


class _FaultsError(Exception):
    """Everything that is wrong with an entry."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__(str(faults))
        self.faults = faults


def read_objectives(entries: Any) -> tuple[Goal, ...]:
    """Return the objectives that a study file lists.

    Raises:
        ValidationError: everything that is wrong with them.
    """
    if not isinstance(entries, list | tuple):
        raise ValueError(f"{entries!r} must be a list of metrics, such as [edp, area, tdp]")
    faults: list[Fault] = []
    goals: list[Goal] = []
    for i, entry in enumerate(entries):
        with _noting(faults, i):
            goals.append(_objective(entry))
    if not faults:
        try:
            Goals(tuple(goals))
        except ValueError as error:
            faults.append(((), str(error)))
    return _sound(tuple(goals), faults, entries)


def objectives_data(goals: Sequence[Goal]) -> list[Any]:
    """Return plain YAML values that :func:`read_objectives` reads."""
    return [{"metric": g.metric, **below} if (below := _of(g)) else g.metric for g in goals]


def read_limits(entries: Any, info: ValidationInfo) -> tuple[Limit, ...]:
    """Return the limits that stand under one metric's key.

    Raises:
        ValidationError: everything that is wrong with them.
    """
    metric = LIMITED[info.field_name or ""]
    faults: list[Fault] = []
    limits: list[Limit] = []
    whole = listed(entries) is entries
    for i, entry in enumerate(listed(entries)):
        with _noting(faults, *([i] if whole else [])):
            limit = _limit(metric, entry)
            if limit.goal in [other.goal for other in limits]:
                raise _FaultsError([((), f"{limit.goal.name} is limited already")])
            limits.append(limit)
    return _sound(tuple(limits), faults, entries)


def limits_data(limits: Sequence[Limit]) -> Any:
    """Return plain YAML values that :func:`read_limits` reads."""
    data = [
        {"limit": limit.value, **below} if (below := _of(limit.goal)) else limit.value
        for limit in limits
    ]
    return data[0] if len(data) == 1 else data


Objectives = Annotated[
    tuple[Goal, ...], PlainValidator(read_objectives), PlainSerializer(objectives_data)
]
Limits = Annotated[tuple[Limit, ...], PlainValidator(read_limits), PlainSerializer(limits_data)]


def sound_objective(entry: Any) -> Goal | None:
    """Return the objective of an entry, or None if anything is wrong with it."""
    with suppress(_FaultsError):
        return _objective(entry)
    return None


def sound_limit(metric: str, entry: Any) -> Limit | None:
    """Return the limit of an entry under a metric's key, or None if anything is wrong with it."""
    with suppress(_FaultsError):
        return _limit(metric, entry)
    return None


def stored_goals(config: Mapping[str, Any]) -> Goals:
    """Return the goals of a study's directory; older ones had EDP, area and TDP."""
    constraints = config["constraints"]
    limits = [
        _limit(metric, entry)
        for key, metric in LIMITED.items()
        for entry in listed(constraints.get(key, []))
    ]
    if "objectives" not in config:
        return Goals(limits=tuple(limits))
    return Goals(tuple(map(_objective, config["objectives"])), tuple(limits))


def listed(data: Any) -> Sequence[Any]:
    """Return the entries of a key: of a list its items, else the one that it is."""
    return data if isinstance(data, list | tuple) else [data]


def _objective(entry: Any) -> Goal:
    if isinstance(entry, str):
        entry = {"metric": entry}
    if not isinstance(entry, dict):
        raise _FaultsError([((), f"{entry!r} must be a metric's name or a mapping with 'metric'")])
    _check_keys(entry, ("metric", *_OF_WHICH))
    metric = entry.get("metric")
    if not isinstance(metric, str) or metric not in METRICS:
        what = "metric is missing" if metric is None else f"metric {metric!r} is unknown"
        where: KeyPath = ("metric",) if metric is not None and len(entry) > 1 else ()
        raise _FaultsError([(where, f"{what}; {did_you_mean(str(metric), METRICS)}")])
    return _goal(metric, entry)


def _limit(metric: str, entry: Any) -> Limit:
    where: KeyPath = ("limit",) if isinstance(entry, dict) else ()
    entry = entry if isinstance(entry, dict) else {"limit": entry}
    _check_keys(entry, ("limit", *_OF_WHICH))
    goal = _goal(metric, entry)
    if "limit" not in entry:
        raise _FaultsError([((), "limit is missing")])
    try:
        return Limit(goal, positive(entry["limit"], goal.facts.unit))
    except ValueError as error:
        raise _FaultsError([(where, str(error))]) from None


def _goal(metric: Any, entry: Mapping[str, Any]) -> Goal:
    """Return the goal of an entry whose keys are sound; weights alone mean a weighted sum."""
    faults: list[Fault] = []
    weights = entry.get("weights", {})
    if not isinstance(weights, dict) or ("weights" in entry and not weights):
        faults.append((("weights",), "must be a mapping of workloads to numbers"))
        weights = {}
    numbers = []
    for name, weight in weights.items():
        try:
            numbers.append((str(name), positive(weight, "")))
        except ValueError as error:
            faults.append((("weights", str(name)), str(error)))
    aggregate = entry.get("aggregate", "weighted_sum" if weights else "geomean")
    if aggregate not in (known := get_args(Aggregate)):
        near = did_you_mean(str(aggregate), known)
        faults.append((("aggregate",), f"{aggregate!r} is unknown; {near}"))
    workload = entry.get("workload")
    if workload is not None and not isinstance(workload, str):
        faults.append((("workload",), f"{workload!r} must be a workload's label"))
    if faults:
        raise _FaultsError(faults)
    try:
        return Goal(metric, aggregate, workload, tuple(numbers))
    except ValueError as error:
        raise _FaultsError([((), str(error))]) from None


def _check_keys(entry: Mapping[Any, Any], known: Sequence[str]) -> None:
    wrong = [key for key in entry if key not in known]
    if wrong:
        raise _FaultsError(
            [((str(k),), f"is an unknown key; {did_you_mean(str(k), known)}") for k in wrong]
        )


def _of(goal: Goal) -> dict[str, Any]:
    """Return of which workloads a goal is, as an entry has it."""
    if goal.weights:
        return {"aggregate": "weighted_sum", "weights": dict(goal.weights)}
    if goal.workload is not None:
        return {"workload": goal.workload}
    return {} if goal.aggregate == "geomean" else {"aggregate": goal.aggregate}


@contextmanager
def _noting(faults: list[Fault], *where: str | int) -> Iterator[None]:
    """Note what is wrong with an entry, and go on."""
    try:
        yield
    except _FaultsError as error:
        faults += [((*where, *keys), message) for keys, message in error.faults]


def _sound(goals: tuple[Any, ...], faults: Sequence[Fault], entries: Any) -> tuple[Any, ...]:
    """Return the goals, or raise pydantic's error with every fault at its place."""
    if not faults:
        return goals
    wrong: list[InitErrorDetails] = [
        {"type": "value_error", "loc": keys, "input": entries, "ctx": {"error": message}}
        for keys, message in faults
    ]
    raise ValidationError.from_exception_data("goals", wrong)
