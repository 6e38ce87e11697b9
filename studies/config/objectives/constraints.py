"""Caps and limits of a study file."""

from dataclasses import dataclass
from typing import Annotated

from archloom.search import Limit

from ..quantities import AREA_MM2, POWER_W
from ..sections import Section
from .entries import LIMITED, LIMITS


@dataclass(frozen=True, kw_only=True)
class Constraints(Section):
    """Caps of a design, limits of what its software reaches, and the least accuracy.

    A design above a cap, below that accuracy, or whose bound is beyond a limit, is never proposed;
    one that breaks a limit in spite of its bound is no member of the front.

    Attributes:
        area_mm2: most area of the chip.
        tdp_w: most thermal design power.
        edp_js: most energy-delay product of an inference.
        energy_j: most energy of an inference.
        latency_s: most time of one pass, the whole batch.
        throughput_per_s: least inferences a second.
        perf_per_tdp_per_s_w: least inferences a second and watt of TDP.
        utilisation: least share of the MACs that work.
        goodput_per_s: least inferences a second of all tenants, each times its weight.
        stable_load_per_s: least load of requests at random that keeps all deadlines.
        stp: least system throughput of all tenants.
        deadline_ratio: most latency over deadline, of the worst tenant.
        accuracy_percent: least accuracy of workloads in compressed forms.
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
