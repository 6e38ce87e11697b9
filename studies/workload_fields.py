"""Workloads as fields of a study file: what is wrong with them joins the file's errors."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError, ValidationInfo
from pydantic_core import InitErrorDetails

from .workload_reference import WorkloadError
from .workloads import Workload, load_workloads


def _readable_workloads(entries: Any, info: ValidationInfo) -> Any:
    """Read the networks, so that what is wrong with them is reported with the file's errors."""
    if not isinstance(entries, list | tuple):
        return entries
    if not entries:
        raise ValueError("names no network; a study needs one at least")
    return _load(entries, info.context or {})


def _load(entries: list[Any] | tuple[Any, ...], context: Mapping[str, Any]) -> Any:
    try:
        return load_workloads(entries, context.get("folder", Path()), context.get("networks"))
    except WorkloadError as error:
        wrong: list[InitErrorDetails] = [
            {"type": "value_error", "loc": keys, "input": entries, "ctx": {"error": message}}
            for keys, message in error.faults
        ]
        raise ValidationError.from_exception_data("workloads", wrong) from None


def _readable_held_out(entries: Any, info: ValidationInfo) -> Any:
    """Read held-out networks, of which there may be none."""
    if not isinstance(entries, list | tuple) or not entries:
        return entries
    held = {**(info.context or {}), "networks": (info.context or {}).get("held_out")}
    return _load(entries, held)


#: Networks that designs are found for; one at least.
Searched = Annotated[
    tuple[Workload, ...], Field(strict=False), BeforeValidator(_readable_workloads)
]

#: Networks that designs are validated on, perhaps none.
HeldOut = Annotated[tuple[Workload, ...], Field(strict=False), BeforeValidator(_readable_held_out)]
