"""Caps and limits of a study file."""

from typing import Any

from pydantic import BaseModel, SerializerFunctionWrapHandler, model_serializer

from archloom.search import Limit

from ..quantities import AreaMm2, PowerW
from .entries import LIMITED, Limits


class Constraints(BaseModel, extra="forbid", frozen=True, strict=True):
    """Caps of a design, and limits of what its software reaches.

    A design above a cap, or whose bound is beyond a limit, is never proposed; one that breaks a
    limit in spite of its bound is no member of the front.
    """

    area_mm2: AreaMm2 | None = None
    tdp_w: PowerW | None = None
    edp_js: Limits = ()
    energy_j: Limits = ()
    latency_s: Limits = ()
    throughput_per_s: Limits = ()
    perf_per_tdp_per_s_w: Limits = ()
    utilisation: Limits = ()
    goodput_per_s: Limits = ()
    stable_load_per_s: Limits = ()
    stp: Limits = ()
    deadline_ratio: Limits = ()

    @property
    def limits(self) -> tuple[Limit, ...]:
        """All limits, in the order of the fields."""
        return tuple(limit for key in LIMITED for limit in getattr(self, key))

    @model_serializer(mode="wrap")
    def _given(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out the limits that there are none of."""
        dumped: dict[str, Any] = handler(self)
        return {key: value for key, value in dumped.items() if key not in LIMITED or value != []}
