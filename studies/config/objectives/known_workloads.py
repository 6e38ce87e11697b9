"""Check that objectives and limits are of workloads and tenants that the study has."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, cast

from pydantic import ValidationError, ValidationInfo, WrapValidator
from pydantic_core import InitErrorDetails

from archloom.search import Tenant
from archloom.space import Fault, KeyPath, Place
from archloom.space.workload import Network

from ..errors import error_details
from .entries import LIMITED, listed, sound_limit, sound_objective

Handler = Callable[[Any], Any]
_FaultsOf = Callable[[Any, Sequence[Network], Sequence[Tenant]], Iterable[Fault]]


def _of_objectives(
    entries: Any, networks: Sequence[Network], tenants: Sequence[Tenant]
) -> Iterator[Fault]:
    for i, entry in enumerate(listed(entries)):
        objective = sound_objective(entry)
        if objective and (message := objective.fault(networks, tenants)):
            yield Fault(Place(keys=(i,)), message)


def _of_limits(
    constraints: Any, networks: Sequence[Network], tenants: Sequence[Tenant]
) -> Iterator[Fault]:
    given = constraints if isinstance(constraints, dict) else {}
    for key, metric in LIMITED.items():
        entries = given.get(key, [])
        for i, entry in enumerate(listed(entries)):
            limit = sound_limit(metric, entry)
            if limit and (message := limit.objective.fault(networks, tenants)):
                where: KeyPath = (key, i) if listed(entries) is entries else (key,)
                yield Fault(Place(keys=where), message)


def _for_known(faults_of: _FaultsOf) -> WrapValidator:
    """Return a validator that adds what is wrong for the workloads to whatever else is wrong.

    Nothing is said of workloads or tenants that are wrong themselves.
    """

    def check(value: Any, handler: Handler, info: ValidationInfo) -> Any:
        workloads = info.data.get("workloads")
        networks = [w.network for w in workloads or ()]
        tenants = info.data.get("tenants")
        sound = workloads and tenants is not None
        wrong = error_details(faults_of(value, networks, tenants or ()) if sound else (), value)
        try:
            found = handler(value)
        except ValidationError as error:
            wrong += cast("list[InitErrorDetails]", error.errors())
        if wrong:
            raise ValidationError.from_exception_data("objectives", wrong)
        return found

    return WrapValidator(check)


OF_KNOWN_OBJECTIVES: Final = _for_known(_of_objectives)
OF_KNOWN_LIMITS: Final = _for_known(_of_limits)
