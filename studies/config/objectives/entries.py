"""Objectives and limits in study files, as ``docs/reference/study_files.md`` has them.

An objective is the name of a metric, or a mapping with ``metric`` and of which workloads. A
limit stands under the metric's name with its unit: a number, a mapping with ``limit`` and of
which workloads, or a list of these.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar, get_args

from archloom.search import METRICS, Aggregate, Limit, Objective, ObjectiveSet, Tenant
from archloom.space import Fault, Faults, KeyPath, Place, did_you_mean

from ...errors import UserError
from ..errors import EntryError, collecting, entry_error
from ..quantities import positive
from ..sections import Form, Key, Reading
from ..workload_reference import is_compressed
from .tenants import stored_deadlines, with_deadlines

if TYPE_CHECKING:
    from archloom.space.workload import Network

    from ..workloads import Workload


_Read = TypeVar("_Read")

#: by key of a study file, the metrics that may be limited; those of hardware have caps
LIMITED: Final = {m.key: name for name, m in METRICS.items() if not m.of_hardware}

_NO_FORMS: Final = (
    "{} is of workloads in compressed forms, and there are none; name one under workloads, such as "
    "{{compressed: runs/compress-resnet18-digits}}"
)

_POSITIVE: Final[Form] = {"type": "number", "exclusiveMinimum": 0}

_OF_WHICH: Final = ("aggregate", "workload", "weights")


def _read_objectives(entries: Any, _: Reading) -> tuple[Objective, ...]:
    """Return the objectives that a study file lists.

    Raises:
        ValueError: they are no list.
        EntryError: everything that is wrong with them.
    """
    if not isinstance(entries, list | tuple):
        raise ValueError(f"{entries!r} must be a list of metrics, such as [edp, area, tdp]")
    faults = Faults()
    objectives: list[Objective] = []
    for i, entry in enumerate(entries):
        with collecting(faults, i):
            objectives.append(_objective(entry))
    if not faults:
        try:
            ObjectiveSet(tuple(objectives))
        except ValueError as error:
            faults.add(Place(), str(error))
    if faults:
        raise EntryError(faults)
    return tuple(objectives)


def _objectives_data(objectives: Sequence[Objective]) -> list[Any]:
    """Return plain YAML values that :func:`_read_objectives` reads."""
    return [{"metric": g.metric, **below} if (below := _of(g)) else g.metric for g in objectives]


def _read_limits(entries: Any, beside: Reading) -> tuple[Limit, ...]:
    """Return the limits that stand under one metric's key.

    Raises:
        EntryError: everything that is wrong with them.
    """
    metric = LIMITED[beside.key]
    faults = Faults()
    limits: list[Limit] = []
    whole = listed(entries) is entries
    for i, entry in enumerate(listed(entries)):
        with collecting(faults, *([i] if whole else [])):
            limit = _limit(metric, entry)
            if limit.objective in [other.objective for other in limits]:
                raise entry_error(f"{limit.objective.name} has a limit already")
            limits.append(limit)
    if faults:
        raise EntryError(faults)
    return tuple(limits)


def _limits_data(limits: Sequence[Limit]) -> Any:
    """Return plain YAML values that :func:`_read_limits` reads."""
    data = [
        {"limit": limit.value, **below} if (below := _of(limit.objective)) else limit.value
        for limit in limits
    ]
    return data[0] if len(data) == 1 else data


def _wrong_objectives(
    entries: Any, workloads: "Sequence[Workload]", tenants: Sequence[Tenant]
) -> Iterator[Fault]:
    for i, entry in enumerate(listed(entries)):
        objective = _sound(_objective, entry)
        if objective and (message := _fault(objective, workloads, tenants)):
            yield Fault(Place(keys=(i,)), message)


def _wrong_limits(
    constraints: Any, workloads: "Sequence[Workload]", tenants: Sequence[Tenant]
) -> Iterator[Fault]:
    given = constraints if isinstance(constraints, dict) else {}
    for key, metric in LIMITED.items():
        entries = given.get(key, [])
        for i, entry in enumerate(listed(entries)):
            limit = _sound(_limit, metric, entry)
            if limit and (message := _fault(limit.objective, workloads, tenants)):
                where: KeyPath = (key, i) if listed(entries) is entries else (key,)
                yield Fault(Place(keys=where), message)


def _fault(
    objective: Objective, workloads: "Sequence[Workload]", tenants: Sequence[Tenant]
) -> str | None:
    # only here are the networks needed, which take longer to build than all else is to be read
    return objective.fault([workload.network for workload in workloads], tenants)


def _objectives_of_forms(entries: Any) -> Iterator[Fault]:
    for i, entry in enumerate(listed(entries)):
        objective = _sound(_objective, entry)
        if objective and objective.facts.of_forms:
            yield Fault(Place(keys=(i,)), _NO_FORMS.format(objective.metric))


def _limits_of_forms(constraints: Any) -> Iterator[Fault]:
    given = constraints if isinstance(constraints, dict) else {}
    for key, metric in LIMITED.items():
        if key in given and METRICS[metric].of_forms:
            yield Fault(Place(keys=(key,)), _NO_FORMS.format(metric))


def _sound(read: Callable[..., _Read], *entry: Any) -> _Read | None:
    """Return what an entry means, or None if anything is wrong with it."""
    with suppress(EntryError):
        return read(*entry)
    return None


def _for_known(
    key: Key,
    wrong: Callable[[Any, Any, Any], Iterable[Fault]],
    of_forms: Callable[[Any], Iterable[Fault]],
) -> Key:
    """Return a key that also says what is wrong for the study's workloads and tenants.

    ``of_forms`` says it of what only workloads in compressed forms have.

    Nothing is said of workloads or tenants that are wrong themselves.
    """

    def read(entry: Any, beside: Reading) -> Any:
        workloads, tenants = beside.before.get("workloads"), beside.before.get("tenants")
        faults, found = Faults(), None
        if workloads and tenants is not None:
            faults.include(wrong(entry, workloads, tenants))
            if not any(is_compressed(workload.reference) for workload in workloads):
                faults.include(of_forms(entry))
        with collecting(faults):
            found = key.read(entry, beside)
        if faults:
            raise EntryError(faults)
        return found

    return replace(key, read=read)


_ABOUT_WHICH: Final = """\
    aggregate: how the metric is aggregated over the workloads: ``geomean`` (geometric mean),
        ``max`` (worst workload) or ``weighted_sum``.
    workload: label of a single workload to use instead of an aggregate.
    weights: weights of the workloads for ``weighted_sum``, by label.
"""


def _of_which_form() -> Form:
    weights = {"type": "object", "minProperties": 1, "additionalProperties": _POSITIVE}
    return {
        "aggregate": {"enum": list(get_args(Aggregate)), "default": "geomean"},
        "workload": {"type": "string"},
        "weights": weights,
    }


def _objectives_form() -> Form:
    metrics = {"enum": list(METRICS)}
    entry = {
        "type": "object",
        "description": "An objective.\n\nAttributes:\n    metric: metric to "
        f"optimise.\n{_ABOUT_WHICH}",
        "properties": {"metric": metrics, **_of_which_form()},
        "required": ["metric"],
        "additionalProperties": False,
    }
    return {"type": "array", "items": {"anyOf": [metrics, entry]}, "minItems": 1}


def _limits_form() -> Form:
    about = (
        "A limit on a metric.\n\nAttributes:\n    limit: maximum value, or minimum value where "
        "more is better.\n"
    )
    entry = {
        "type": "object",
        "description": about + _ABOUT_WHICH,
        "properties": {"limit": _POSITIVE, **_of_which_form()},
        "required": ["limit"],
        "additionalProperties": False,
    }
    one = [_POSITIVE, entry]
    return {"anyOf": [*one, {"type": "array", "items": {"anyOf": one}}]}


#: the key that holds objectives, and one that holds the limits under one metric's key
OBJECTIVES: Final = _for_known(
    Key(_read_objectives, _objectives_data, form=_objectives_form),
    _wrong_objectives,
    _objectives_of_forms,
).like(["latency", {"metric": "energy", "aggregate": "max"}, "area"])
LIMITS: Final = (
    Key(_read_limits, _limits_data, form=_limits_form)
    .silent_if(lambda limits: not limits)
    .like(0.01)
)


def with_sound_limits(key: Key) -> Key:
    """Return a key of a section of limits that also says which are of no workload of the study."""
    return _for_known(key, _wrong_limits, _limits_of_forms)


def stored_objective_set(config: Mapping[str, Any]) -> ObjectiveSet:
    """Return the objectives of a study's directory; older ones had EDP, area and TDP."""
    constraints = config["constraints"]
    limits = [
        _limit(metric, entry)
        for key, metric in LIMITED.items()
        for entry in listed(constraints.get(key, []))
    ]
    kept = with_deadlines(limits, stored_deadlines(config))
    if "objectives" not in config:
        return ObjectiveSet(limits=kept)
    return ObjectiveSet.of(tuple(map(_objective, config["objectives"])), kept)


def other_objectives(names: str) -> tuple[Objective, ...]:
    """Return the objectives that a command line lists: metrics with commas between them.

    Behind a metric may stand ``:`` and a workload's name, or an aggregate: ``latency:resnet50``,
    ``energy:max``.

    Raises:
        UserError: all that is wrong with them.
    """
    entries = []
    for name in names.split(","):
        metric, _, which = name.strip().partition(":")
        of = {("aggregate" if which in get_args(Aggregate) else "workload"): which} if which else {}
        entries.append({"metric": metric, **of})
    faults, found = Faults(), []
    for entry in entries:
        with collecting(faults):
            found.append(_objective(entry))
    if not faults:
        with collecting(faults):
            ObjectiveSet(tuple(found))
    if faults:
        raise UserError(f"--objectives: {'; '.join(fault.message for fault in faults)}")
    return tuple(found)


def listed(data: Any) -> Sequence[Any]:
    """Return the entries of a key: of a list its items, else the one that it is."""
    return data if isinstance(data, list | tuple) else [data]


def _objective(entry: Any) -> Objective:
    if isinstance(entry, str):
        entry = {"metric": entry}
    if not isinstance(entry, dict):
        raise entry_error(f"{entry!r} must be a metric's name or a mapping with 'metric'")
    _check_keys(entry, ("metric", *_OF_WHICH))
    metric = entry.get("metric")
    if not isinstance(metric, str) or metric not in METRICS:
        what = "metric is missing" if metric is None else f"metric {metric!r} is unknown"
        where: KeyPath = ("metric",) if metric is not None and len(entry) > 1 else ()
        raise entry_error(f"{what}; {did_you_mean(str(metric), METRICS)}", *where)
    return _objective_of(metric, entry)


def _limit(metric: str, entry: Any) -> Limit:
    where: KeyPath = ("limit",) if isinstance(entry, dict) else ()
    entry = entry if isinstance(entry, dict) else {"limit": entry}
    _check_keys(entry, ("limit", *_OF_WHICH))
    objective = _objective_of(metric, entry)
    if "limit" not in entry:
        raise entry_error("limit is missing")
    try:
        return Limit(objective, positive(entry["limit"], objective.facts.unit))
    except ValueError as error:
        raise entry_error(str(error), *where) from None


def _objective_of(metric: Any, entry: Mapping[str, Any]) -> Objective:
    """Return the objective of an entry whose keys are sound; weights alone mean a weighted sum."""
    faults = Faults()
    weights = entry.get("weights", {})
    if not isinstance(weights, dict) or ("weights" in entry and not weights):
        faults.add(Place(keys=("weights",)), "must be a mapping of workloads to numbers")
        weights = {}
    numbers = []
    for name, weight in weights.items():
        try:
            numbers.append((str(name), positive(weight, "")))
        except ValueError as error:
            faults.add(
                Place(
                    keys=(
                        "weights",
                        str(name),
                    )
                ),
                str(error),
            )
    aggregate = entry.get("aggregate", "weighted_sum" if weights else "geomean")
    if aggregate not in (known := get_args(Aggregate)):
        near = did_you_mean(str(aggregate), known)
        faults.add(Place(keys=("aggregate",)), f"{aggregate!r} is unknown; {near}")
    workload = entry.get("workload")
    if workload is not None and not isinstance(workload, str):
        faults.add(Place(keys=("workload",)), f"{workload!r} must be a workload's label")
    if faults:
        raise EntryError(faults)
    try:
        return Objective(metric, aggregate, workload, tuple(numbers))
    except ValueError as error:
        raise entry_error(str(error)) from None


def _check_keys(entry: Mapping[Any, Any], known: Sequence[str]) -> None:
    faults = Faults()
    for key in (key for key in entry if key not in known):
        faults.add(Place().key(key), f"is an unknown key; {did_you_mean(str(key), known)}")
    if faults:
        raise EntryError(faults)


def _of(objective: Objective) -> dict[str, Any]:
    """Return of which workloads an objective is, as an entry has it."""
    if objective.weights:
        return {"aggregate": "weighted_sum", "weights": dict(objective.weights)}
    if objective.workload is not None:
        return {"workload": objective.workload}
    return {} if objective.aggregate == "geomean" else {"aggregate": objective.aggregate}


def held_out_objectives(
    objectives: Sequence[Objective], networks: "Sequence[Network]"
) -> tuple[Objective, ...]:
    """Return what is measured of the held-out networks together.

    The objectives that software decides, of all held-out networks: what the study has of one
    workload, or weighs, becomes the geometric mean. What is of tenants together is left out: the
    held-out networks run one at a time.
    """
    found = (
        Objective(o.metric, "geomean" if o.aggregate == "weighted_sum" else o.aggregate)
        for o in objectives
        if not o.known and not o.facts.of_tenants
    )
    return tuple(o for o in dict.fromkeys(found) if o.fault(networks) is None)
