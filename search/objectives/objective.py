"""Objectives of a study: a metric, and of which networks."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, fsum, isfinite, log
from typing import TYPE_CHECKING, Final, Literal, get_args

from archloom.space import did_you_mean

from .costs import DesignCosts
from .metrics import METRICS, Metric, MetricName
from .tenants import Tenant

if TYPE_CHECKING:
    from archloom.space.workload import Network

Aggregate = Literal["geomean", "weighted_sum", "max"]


@dataclass(frozen=True, slots=True)
class Objective:
    """A metric, and of which networks.

    Attributes:
        metric: one of :data:`METRICS`.
        aggregate: of the costs of all networks: geometric mean, weighted sum, or the worst.
        workload: the only network that counts; None for all of them.
        weights: of ``weighted_sum``: networks by name and their weights; others count nothing.

    Raises:
        ValueError: an unknown name, or parts that do not go together.
    """

    metric: MetricName
    aggregate: Aggregate = "geomean"
    workload: str | None = None
    weights: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        if self.metric not in METRICS:
            raise ValueError(f"metric {self.metric!r} is unknown; {_near_metric(self.metric)}")
        if self.aggregate not in (known := get_args(Aggregate)):
            near = did_you_mean(self.aggregate, known)
            raise ValueError(f"aggregate {self.aggregate!r} is unknown; {near}")
        if (self.aggregate == "weighted_sum") != bool(self.weights):
            raise ValueError("weighted_sum needs weights, and nothing else has them")
        for name, weight in self.weights:
            if not (isfinite(weight) and weight > 0):
                raise ValueError(f"weight of {name} is {weight}, must be positive and finite")
        if self.workload is not None and self.aggregate != "geomean":
            raise ValueError(
                f"workload and aggregate {self.aggregate} exclude each other; leave one of them out"
            )
        if self.workload is None and self.aggregate == "geomean":
            return
        if self.facts.of_hardware:
            raise ValueError(
                f"{self.metric} does not depend on workloads; leave workload, weights "
                "and aggregate out"
            )
        if self.facts.of_forms:
            raise ValueError(
                f"{self.metric} is the minimum over all compressed workloads; leave workload, "
                "weights and aggregate out"
            )
        if self.facts.of_tenants:
            raise ValueError(
                f"{self.metric} is of all tenants together: their shares and weights stand under "
                "tenants, and it has neither workload, weights nor aggregate"
            )

    @property
    def facts(self) -> Metric:
        """What the metric is called and how it is read."""
        return METRICS[self.metric]

    @property
    def known(self) -> bool:
        """Whether it is known of a design before its software is searched."""
        return self.facts.of_hardware or self.facts.of_forms

    @property
    def name(self) -> str:
        """What records and tables call it, with the unit."""
        return f"{self.facts.key}({self._of})" if self._of else self.facts.key

    @property
    def label(self) -> str:
        """What people call it, with the unit."""
        beside = ", ".join(part for part in (self.facts.unit, self._of) if part)
        return f"{self.facts.label} ({beside})" if beside else self.facts.label

    @property
    def title(self) -> str:
        """What people call it, without the unit."""
        return f"{self.facts.label} ({self._of})" if self._of else self.facts.label

    def text(self, figure: float) -> str:
        """Return a figure for people, with what it is of."""
        return f"{self.title} {self.shown(figure)} {self.facts.unit}".rstrip()

    def shown(self, figure: float) -> str:
        """Return a figure for a table."""
        return format(figure, self.facts.style)

    @property
    def _of(self) -> str:
        """Of what networks; empty for the geometric mean of all."""
        if self.weights:
            return " + ".join(f"{weight:g} {name}" for name, weight in self.weights)
        return self.workload or ("" if self.aggregate == "geomean" else self.aggregate)

    def cost(self, design: DesignCosts) -> float:
        """Return the cost of a design; a lower bound of it if ``design`` has lower bounds."""
        if self.known:
            return design.known[self.metric]
        if self.facts.of_tenants:
            return design.together[self.metric]
        if self.workload is not None:
            return dict(design.networks)[self.workload][self.metric]
        if self.aggregate == "weighted_sum":
            networks = dict(design.networks)
            return fsum(weight * networks[name][self.metric] for name, weight in self.weights)
        costs = [network[self.metric] for _, network in design.networks]
        if self.aggregate == "max":
            return max(costs)
        return exp(fsum(map(log, costs)) / len(costs))

    def figure(self, cost: float) -> float:
        """Return the metric's own figure of a cost; the inverse is the same function."""
        return 1.0 / cost if self.facts.rising else cost

    def fault(self, networks: "Sequence[Network]", tenants: Sequence[Tenant] = ()) -> str | None:
        """Return what is wrong with the objective for these networks and tenants, or None."""
        if self.facts.of_tenants:
            return self._fault_of(tenants)
        names = [network.name for network in networks]
        wanted = [name for name, _ in self.weights] if self.weights else [self.workload]
        for name in wanted:
            if name is not None and name not in names:
                return f"workload {name!r} is unknown; {did_you_mean(name, names)}"
        idle = [n.name for n in networks if not n.macs and (wanted == [None] or n.name in wanted)]
        if self.metric == "utilisation" and idle:
            return f"{idle[0]} has no MACs, so it has no utilisation"
        return None

    def _fault_of(self, tenants: Sequence[Tenant]) -> str | None:
        if not tenants:
            return (
                f"{self.metric} is of networks that share the chip: name them under tenants, "
                "such as tenants: [{workload: resnet50}, {workload: bert_base}]"
            )
        free = [tenant.workload for tenant in tenants if tenant.deadline_s is None]
        if self.metric == "stable_load" and free:
            return f"stable_load needs deadline_ms of every tenant; {free[0]} has none"
        if self.metric == "deadline" and len(free) == len(tenants):
            return "deadline needs deadline_ms of a tenant; none has one"
        return None


def _near_metric(name: str) -> str:
    return did_you_mean(name, METRICS)


EDP: Final = Objective("edp")
AREA: Final = Objective("area")
TDP: Final = Objective("tdp")
ACCURACY: Final = Objective("accuracy")
