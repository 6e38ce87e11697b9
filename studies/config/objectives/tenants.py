"""Networks that share a chip, as study files name them (``docs/reference/study_files.md``)."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from archloom.search import Limit, Objective, Tenant
from archloom.space import Faults, Place, did_you_mean

from ..errors import EntryError, collecting, entry_error
from ..quantities import positive
from ..sections import Form, Key, Reading

if TYPE_CHECKING:
    from ..workloads import Workload

_KEYS: Final = ("workload", "share", "weight", "deadline_ms")

#: shares differ by so much at the most; a stream has some requests of each tenant
MOST_RATIO: Final = 1000.0

#: what a deadline asks of a design: that a request alone keeps it
_IN_TIME: Final = Limit(Objective("deadline"), 1.0)


def _read_tenants(entries: Any, beside: Reading) -> tuple[Tenant, ...]:
    """Return the tenants that a study file lists; of workloads that are wrong nothing is said.

    Raises:
        ValueError: they are no list.
        EntryError: everything that is wrong with them.
    """
    if not isinstance(entries, list | tuple):
        raise ValueError(f"{entries!r} must be a list of tenants, such as [{{workload: resnet50}}]")
    workloads: Sequence[Workload] = beside.before.get("workloads") or ()
    labels = [workload.label for workload in workloads]
    faults = Faults()
    tenants: list[Tenant] = []
    for i, entry in enumerate(entries):
        with collecting(faults, i):
            tenant = _tenant(entry, labels)
            if tenant.workload in [other.workload for other in tenants]:
                raise entry_error(f"{tenant.workload} is a tenant already", *_where(entry))
            tenants.append(tenant)
    given = [tenant.share for tenant in tenants]
    if not faults and tenants and max(given) > MOST_RATIO * min(given):
        faults.add(
            Place(),
            f"shares are from {min(given):g} to {max(given):g}; the largest may be at most "
            f"{MOST_RATIO:g} times the smallest; leave out rare tenants",
        )
    if faults:
        raise EntryError(faults)
    return tuple(tenants)


def _tenant(entry: Any, labels: Sequence[str]) -> Tenant:
    fields = {"workload": entry} if isinstance(entry, str) else entry
    if not isinstance(fields, dict):
        raise entry_error(f"{entry!r} must be a workload's label or a mapping with 'workload'")
    faults = Faults()
    for key in (key for key in fields if key not in _KEYS):
        faults.add(Place().key(key), f"is an unknown key; {did_you_mean(str(key), _KEYS)}")
    workload = fields.get("workload")
    if workload is None:
        faults.add(Place(), "workload is missing")
    elif not isinstance(workload, str):
        faults.add(Place(keys=_where(entry)), f"{workload!r} must be a workload's label")
    elif labels and workload not in labels:
        faults.add(
            Place(keys=_where(entry)),
            f"workload {workload!r} is unknown; {did_you_mean(workload, labels)}",
        )
    numbers = {
        key: _number(fields[key], key, unit, faults)
        for key, unit in (("share", ""), ("weight", ""), ("deadline_ms", "ms"))
        if key in fields
    }
    if faults:
        raise EntryError(faults)
    return Tenant(str(workload), **numbers)


def _where(entry: Any) -> tuple[str, ...]:
    return ("workload",) if isinstance(entry, dict) else ()


def _number(value: Any, key: str, unit: str, faults: Faults) -> float:
    try:
        return positive(value, unit)
    except ValueError as error:
        faults.add(Place(keys=(key,)), str(error))
        return 1.0


def _tenants_data(tenants: Sequence[Tenant]) -> list[dict[str, Any]]:
    """Return plain YAML values that :func:`_read_tenants` reads, defaults written out."""
    return [
        {
            "workload": tenant.workload,
            "share": tenant.share,
            "weight": tenant.weight,
            **({} if tenant.deadline_ms is None else {"deadline_ms": tenant.deadline_ms}),
        }
        for tenant in tenants
    ]


_ABOUT: Final = """\
A tenant: a workload that shares the accelerator with others.

Attributes:
    workload: label of the workload.
    share: relative number of inferences of this tenant.
    weight: weight of an inference of this tenant in goodput.
    deadline_ms: maximum latency of a request.
"""


def _tenants_form() -> Form:
    positive_number = {"type": "number", "exclusiveMinimum": 0}
    numbers = {key: positive_number | {"default": 1} for key in ("share", "weight")}
    entry = {
        "type": "object",
        "description": _ABOUT,
        "properties": {
            "workload": {"type": "string"},
            **numbers,
            "deadline_ms": positive_number,
        },
        "required": ["workload"],
        "additionalProperties": False,
    }
    return {"type": "array", "items": {"anyOf": [{"type": "string"}, entry]}}


#: the key that holds tenants; not written down in studies that do without, which may be older
TENANTS: Final = (
    Key(_read_tenants, _tenants_data, form=_tenants_form)
    .silent_if(lambda tenants: not tenants)
    .like([{"workload": "resnet18", "share": 3, "deadline_ms": 20}])
)


def with_deadlines(limits: Sequence[Limit], deadlines: bool) -> tuple[Limit, ...]:
    """Return limits, with the one that deadlines are where no other limit is of them."""
    of_them = any(limit.objective == _IN_TIME.objective for limit in limits)
    return (*limits, _IN_TIME) if deadlines and not of_them else tuple(limits)


def stored_deadlines(config: Mapping[str, Any]) -> bool:
    """Return whether a tenant of a study's directory has a deadline."""
    return any("deadline_ms" in tenant for tenant in config.get("tenants", ()))
