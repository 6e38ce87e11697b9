"""Caps and limits of a study file."""

from dataclasses import dataclass
from typing import Annotated

from archloom.search import Limit

from ..quantities import AREA_MM2, POWER_W
from ..sections import Section
from .entries import LIMITED, LIMITS


@dataclass(frozen=True, kw_only=True)
class Constraints(Section):
    """Caps on area and TDP, and limits on metrics.

    Designs above a cap, below the accuracy limit, or with a lower bound beyond a limit are never
    proposed. Designs that violate a limit after evaluation are not on the front.

    Attributes:
        area_mm2: maximum area of the chip.
        tdp_w: maximum thermal design power (TDP).
        edp_js: maximum energy-delay product of an inference.
        energy_j: maximum energy of an inference.
        latency_s: maximum latency of one pass over the whole batch.
        throughput_per_s: minimum throughput in inferences per second.
        perf_per_tdp_per_s_w: minimum throughput per TDP, in inferences per second and watt.
        utilisation: minimum utilisation of the MAC array, from 0 to 1.
        goodput_per_s: minimum goodput of all tenants: inferences per second, each times its weight.
        stable_load_per_s: minimum stable load of the tenants: rate of random requests at which
            hardly any misses its deadline.
        stp: minimum system throughput (STP) of all tenants.
        deadline_ratio: maximum ratio of latency to deadline, of the worst tenant.
        accuracy_percent: minimum accuracy of compressed workloads.
    """

    area_mm2: Annotated[float | None, AREA_MM2.or_none()] = None
    tdp_w: Annotated[float | None, POWER_W.or_none()] = None
    edp_js: Annotated[tuple[Limit, ...], LIMITS] = ()
    energy_j: Annotated[tuple[Limit, ...], LIMITS] = ()
    latency_s: Annotated[tuple[Limit, ...], LIMITS] = ()
    throughput_per_s: Annotated[tuple[Limit, ...], LIMITS] = ()
    perf_per_tdp_per_s_w: Annotated[tuple[Limit, ...], LIMITS] = ()
    utilisation: Annotated[tuple[Limit, ...], LIMITS] = ()
    goodput_per_s: Annotated[tuple[Limit, ...], LIMITS] = ()
    stable_load_per_s: Annotated[tuple[Limit, ...], LIMITS] = ()
    stp: Annotated[tuple[Limit, ...], LIMITS] = ()
    deadline_ratio: Annotated[tuple[Limit, ...], LIMITS] = ()
    accuracy_percent: Annotated[tuple[Limit, ...], LIMITS] = ()

    @property
    def limits(self) -> tuple[Limit, ...]:
        """All limits, in the order of the fields."""
        return tuple(limit for key in LIMITED for limit in getattr(self, key))
