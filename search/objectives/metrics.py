"""Metrics: what a figure of a design is called, its unit, and what determines it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

MetricName = Literal[
    "edp",
    "energy",
    "latency",
    "throughput",
    "area",
    "tdp",
    "perf_per_tdp",
    "utilisation",
    "goodput",
    "stable_load",
    "stp",
    "deadline",
    "accuracy",
]


@dataclass(frozen=True, slots=True)
class Metric:
    """Name, unit and direction of a metric.

    Attributes:
        key: its name with the unit, as records and tables have it.
        label, unit: for people.
        rising: whether more is better; then the cost is 1 / figure.
        of_hardware: whether the hardware alone determines it.
        of_tenants: whether it is of all networks that share the chip, together.
        of_forms: whether the forms in which networks run determine it, and the hardware's widths.
        style: how a figure is printed.
        hint: what lowers the cost.
    """

    key: str
    label: str
    unit: str
    rising: bool = False
    of_hardware: bool = False
    of_tenants: bool = False
    of_forms: bool = False
    style: str = ".3e"
    hint: str = "use more PEs, more bandwidth or a higher clock"


#: Energy and EDP are per inference, latency is of a whole pass (the batch), as in the EDP. What is
#: of tenants counts inferences as well, but for the deadline, which is of a pass.
METRICS: Final[Mapping[str, Metric]] = {
    "edp": Metric("edp_js", "EDP", "J s"),
    "energy": Metric(
        "energy_j", "energy", "J", hint="use smaller buffers, or a DRAM with less energy per bit"
    ),
    "latency": Metric("latency_s", "latency", "s"),
    "throughput": Metric("throughput_per_s", "throughput", "1/s", rising=True, style=".4g"),
    "area": Metric("area_mm2", "area", "mm2", of_hardware=True, style=".2f"),
    "tdp": Metric("tdp_w", "TDP", "W", of_hardware=True, style=".2f"),
    "perf_per_tdp": Metric("perf_per_tdp_per_s_w", "perf/TDP", "1/(s W)", rising=True, style=".4g"),
    "utilisation": Metric(
        "utilisation", "utilisation", "", rising=True, style=".3f", hint="use fewer PEs"
    ),
    "goodput": Metric("goodput_per_s", "goodput", "1/s", rising=True, of_tenants=True, style=".4g"),
    "stable_load": Metric(
        "stable_load_per_s", "stable load", "1/s", rising=True, of_tenants=True, style=".4g"
    ),
    "stp": Metric("stp", "STP", "", rising=True, of_tenants=True, style=".3f"),
    "deadline": Metric("deadline_ratio", "latency / deadline", "", of_tenants=True, style=".3g"),
    "accuracy": Metric(
        "accuracy_percent",
        "accuracy",
        "%",
        rising=True,
        of_forms=True,
        style=".2f",
        hint="prune less, use wider words, or give fine_tune more epochs",
    ),
}
