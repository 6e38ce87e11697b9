"""Objectives and limits of a study, and the costs of a design that they are made of."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import exp, fsum, isfinite, log
from typing import TYPE_CHECKING, Final, Literal, get_args

from archloom.space import Infeasible, did_you_mean

if TYPE_CHECKING:
    from archloom.evaluators import HardwareCost
    from archloom.space.hardware import Hardware
    from archloom.space.workload import Network

MetricName = Literal[
    "edp", "energy", "latency", "throughput", "area", "tdp", "perf_per_tdp", "utilisation"
]
Aggregate = Literal["geomean", "weighted_sum", "max"]


@dataclass(frozen=True, slots=True)
class Metric:
    """Name, unit and direction of a metric.

    Attributes:
        key: its name with the unit, as records and tables have it.
        label, unit: for people.
        rising: whether more is better; then the cost is 1 / figure.
        of_hardware: whether the hardware alone determines it.
        style: how a figure is printed.
        hint: what lowers the cost.
    """

    key: str
    label: str
    unit: str
    rising: bool = False
    of_hardware: bool = False
    style: str = ".3e"
    hint: str = "more PEs, bandwidth or a higher clock"


#: Energy and EDP are per inference, latency is of a whole pass (the batch), as in the EDP.
METRICS: Final[Mapping[str, Metric]] = {
    "edp": Metric("edp_js", "EDP", "J s"),
    "energy": Metric("energy_j", "energy", "J", hint="smaller buffers, or cheaper DRAM"),
    "latency": Metric("latency_s", "latency", "s"),
    "throughput": Metric("throughput_per_s", "throughput", "1/s", rising=True, style=".4g"),
    "area": Metric("area_mm2", "area", "mm2", of_hardware=True, style=".2f"),
    "tdp": Metric("tdp_w", "TDP", "W", of_hardware=True, style=".2f"),
    "perf_per_tdp": Metric("perf_per_tdp_per_s_w", "perf/TDP", "1/(s W)", rising=True, style=".4g"),
    "utilisation": Metric(
        "utilisation", "utilisation", "", rising=True, style=".3f", hint="fewer PEs"
    ),
}


@dataclass(frozen=True, slots=True)
class DesignCosts:
    """Costs of one design by metric, exact or lower bounds.

    Attributes:
        hardware: of the hardware alone.
        networks: names of the networks, each with its costs.
    """

    hardware: Mapping[str, float]
    networks: tuple[tuple[str, Mapping[str, float]], ...]


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
            raise ValueError(f"one workload has no {self.aggregate}: leave one of them out")
        if self.known and (self.workload is not None or self.aggregate != "geomean"):
            raise ValueError(f"{self.metric} is of the hardware, whatever runs there")

    @property
    def facts(self) -> Metric:
        """What the metric is called and how it is read."""
        return METRICS[self.metric]

    @property
    def known(self) -> bool:
        """Whether the hardware alone determines it."""
        return METRICS[self.metric].of_hardware

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
            return design.hardware[self.metric]
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

    def fault(self, networks: "Sequence[Network]") -> str | None:
        """Return what is wrong with the objective for these networks, or None."""
        names = [network.name for network in networks]
        wanted = [name for name, _ in self.weights] if self.weights else [self.workload]
        for name in wanted:
            if name is not None and name not in names:
                return f"workload {name!r} is unknown; {did_you_mean(name, names)}"
        idle = [n.name for n in networks if not n.macs and (wanted == [None] or n.name in wanted)]
        if self.metric == "utilisation" and idle:
            return f"{idle[0]} has no MACs, so it has no utilisation"
        return None


EDP: Final = Objective("edp")
AREA: Final = Objective("area")
TDP: Final = Objective("tdp")


@dataclass(frozen=True, slots=True)
class Limit:
    """A constraint of what software decides: at most ``value``, or at least where more is better.

    Attributes:
        objective: what is limited; area and TDP have caps instead.
        value: in the metric's unit.

    Raises:
        ValueError: a value that is not positive and finite, or a metric of the hardware.
    """

    objective: Objective
    value: float

    def __post_init__(self) -> None:
        if not (isfinite(self.value) and self.value > 0):
            raise ValueError(f"limit of {self.objective.name} is {self.value}, must be positive")
        if self.objective.known:
            raise ValueError(f"{self.objective.metric} has a cap, no limit")

    @property
    def sign(self) -> str:
        """How people read the limit."""
        return "at least" if self.objective.facts.rising else "at most"

    @property
    def text(self) -> str:
        """The limit for people."""
        unit = self.objective.facts.unit
        return f"{self.objective.title} {self.sign} {self.value:g} {unit}".rstrip()

    def excess(self, cost: float) -> float:
        """Return ln(cost / its limit): at most 0 where the limit is kept."""
        return log(cost / self.objective.figure(self.value))

    def broken(self, least_cost: float) -> Infeasible | None:
        """Return why no software keeps the limit on a design of that least cost, or None."""
        if self.excess(least_cost) <= 0:
            return None
        facts, best = self.objective.facts, self.objective.figure(least_cost)
        needed, available = (self.value, best) if facts.rising else (best, self.value)
        hint = f"ease the limit, or {facts.hint}"
        reason = limit_reason(self.objective.metric)
        return Infeasible(reason, self.objective.name, needed, available, facts.unit, hint)


def limit_reason(metric: str) -> str:
    """Return the rule that a design breaks whose bound is beyond a limit."""
    return f"{metric}_limit"


@dataclass(frozen=True, slots=True)
class ObjectiveSet:
    """What a study minimises, in its order, and the limits that designs have to keep.

    Raises:
        ValueError: no objective, two alike, none that software decides, or two limits alike.
    """

    objectives: tuple[Objective, ...] = (EDP, AREA, TDP)
    limits: tuple[Limit, ...] = ()

    def __post_init__(self) -> None:
        names = [objective.name for objective in self.objectives]
        limited = [limit.objective.name for limit in self.limits]
        for what, given in (("objective", names), ("limit", limited)):
            twice = next((name for name in given if given.count(name) > 1), None)
            if twice is not None:
                raise ValueError(f"{twice} is an {what} twice")
        if all(objective.known for objective in self.objectives):
            raise ValueError("no objective depends on the software; add one, such as edp")

    @property
    def known(self) -> tuple[bool, ...]:
        """For each objective whether the hardware alone determines it."""
        return tuple(objective.known for objective in self.objectives)

    @property
    def measured(self) -> tuple[Objective, ...]:
        """Objectives and what is limited, each once: the figures that a design is shown with."""
        return tuple(dict.fromkeys([*self.objectives, *(limit.objective for limit in self.limits)]))

    def values(self, design: DesignCosts) -> tuple[float, ...]:
        """Return the cost of each objective."""
        return tuple(objective.cost(design) for objective in self.objectives)

    def excess(self, design: DesignCosts) -> tuple[float, ...]:
        """Return ln(cost / limit) for each limit."""
        return tuple(limit.excess(limit.objective.cost(design)) for limit in self.limits)

    def faults(self, networks: "Sequence[Network]") -> list[str]:
        """Return what is wrong with the objectives for these networks."""
        return [f"{g.name}: {fault}" for g in self.measured if (fault := g.fault(networks))]


def _near_metric(name: str) -> str:
    return did_you_mean(name, METRICS)


def _network_costs(
    network: "Network", hardware: "Hardware", tdp_w: float, energy_pj: float, latency_cycles: float
) -> dict[str, float]:
    """Return the costs of one network by metric, all that software decides.

    Args:
        network: what runs, at its own batch.
        hardware: where it runs.
        tdp_w: of the hardware.
        energy_pj, latency_cycles: of one pass over :func:`pass_batch` inferences, or lower
            bounds of them.
    """
    edp_js, pass_batch = _model()
    batch = pass_batch(network, hardware)
    seconds = latency_cycles / (hardware.frequency_mhz * 1e6)
    costs = {
        "edp": edp_js(energy_pj, latency_cycles, hardware, batch),
        "energy": energy_pj * 1e-12 / batch,
        "latency": seconds,
        "throughput": seconds / batch,
        "perf_per_tdp": seconds / batch * tdp_w,
    }
    macs = network.with_batch(batch).macs
    if macs:
        costs["utilisation"] = latency_cycles * hardware.macs / macs
    return costs


@cache
def _model() -> tuple[
    Callable[[float, float, "Hardware", int], float], Callable[["Network", "Hardware"], int]
]:
    """Import on the first call: messages about objectives need no model, and every call to import
    takes longer than what is called.
    """
    from archloom.evaluators import edp_js
    from archloom.space.hardware import pass_batch

    return edp_js, pass_batch


def design_costs(
    networks: "Sequence[Network]",
    hardware: "Hardware",
    cost: "HardwareCost",
    passes: Sequence[tuple[float, float]],
) -> DesignCosts:
    """Return the costs of a design.

    Args:
        networks: what runs.
        hardware: the design.
        cost: of the hardware.
        passes: energy (pJ) and latency (cycles) of one pass of each network, or lower bounds.
    """
    return DesignCosts(
        {"area": cost.area_mm2, "tdp": cost.tdp_w},
        tuple(
            (network.name, _network_costs(network, hardware, cost.tdp_w, *figures))
            for network, figures in zip(networks, passes, strict=True)
        ),
    )
