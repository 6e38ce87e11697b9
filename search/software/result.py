"""Results of software search: of one network, and of a trial."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from archloom.search.budget import Curve
from archloom.space import Infeasible

from .packing import unpack

#: numbers of a group in a breakdown, in this order
GROUP_FIGURES: Final = (
    "tiles",
    "cores",
    "prefetch",
    "peak_words",
    "latency_cycles",
    "wait_cycles",
    "dynamic_pj",
    "dram_reads",
    "dram_writes",
    "dram_words_unfused",
)


@dataclass(frozen=True, slots=True)
class NetworkResult:
    """The best software found for one network, and layer-by-layer beside it.

    ``baseline_*`` are the figures of the plan that fuses nothing, with mappings of the same
    effort. Energies are of one pass over ``batch`` images. ``mappings`` are all that the
    costs of both plans rest on: with them any machine takes the figures apart again without a
    search. ``gaps`` are the percents by which they may be above the best ones, 0 where that is
    proven to be found; a mapping of which nothing is known is not among them; None in results of
    versions that knew no gaps. ``spent`` says on what a shared budget went, see
    :meth:`archloom.search.software.shared_budget.SharedState.shares`. ``breakdown`` is what the
    costs are made of, packed (:mod:`archloom.search.software.breakdown`); empty in results of
    versions that kept none.
    """

    edp_js: float
    energy_pj: float
    latency_cycles: int
    latency_s: float
    dram_bytes: float
    baseline_edp_js: float
    baseline_energy_pj: float
    baseline_latency_cycles: int
    baseline_dram_bytes: float
    batch: int
    plan: list[dict[str, Any]]
    mappings: dict[str, str]
    gaps: dict[str, float] | None = None
    spent: dict[str, int] = field(default_factory=dict)
    breakdown: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; :meth:`from_dict` is the inverse."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        # records of older versions have no such keys, and are written as they were
        absent = {"gaps"} if self.gaps is None else set()
        absent |= {name for name in ("spent", "breakdown") if not values[name]}
        return {name: value for name, value in values.items() if name not in absent}

    def costs(self) -> dict[str, Any] | None:
        """Return the breakdown; None if none can be read, or if it is of another plan."""
        try:
            found: dict[str, Any] = unpack(self.breakdown)
            whole = found["plan"]["energy_pj"], found["plan"]["latency_cycles"]
        except (ValueError, TypeError, LookupError, RecursionError, zlib.error):
            return None
        return found if whole == (self.energy_pj, self.latency_cycles) else None

    def least_edp_js(self) -> float:
        """Return an EDP (J s) that the plan has at least with any mappings; 0 if none is known."""
        found = self.costs()
        percent = found["gaps"]["plan_percent"] if found else None
        return 0.0 if percent is None else self.edp_js / (1 + percent / 100)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "NetworkResult":
        """Build a result from :meth:`to_dict`."""
        return cls(**data)


@dataclass(frozen=True, slots=True)
class SoftwareResult:
    """Software of a trial after some search.

    Attributes:
        state: give it back to :func:`advance` to go on.
        curve: best EDP (J s, geometric mean over networks) against plans evaluated for each
            network, over the whole life of the trial.
        networks: best result by network name; empty if infeasible.
        infeasible: why some layer cannot run at all, or None.
        together: costs of all networks that share the chip, by metric; empty if none do.
        trade_offs: other software of the same design, none of which is better than any other in
            energy and in latency of all networks: results by network name; empty if none was
            asked for.
    """

    state: dict[str, Any]
    curve: Curve
    networks: dict[str, NetworkResult]
    infeasible: Infeasible | None
    together: Mapping[str, float] = field(default_factory=dict)
    trade_offs: tuple[dict[str, NetworkResult], ...] = ()
