"""Costs of a design, which objectives and limits are made of."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from archloom.evaluators import HardwareCost
    from archloom.space.hardware import Hardware
    from archloom.space.workload import Network


#: percent that stands for none at all, below one image of any data set
_NEARLY_NONE: Final = 1e-6


@dataclass(frozen=True, slots=True)
class DesignCosts:
    """Costs of one design by metric, exact or lower bounds.

    Attributes:
        known: of the design alone, whatever its software.
        networks: names of the networks, each with its costs.
        together: of all tenants of the chip together; empty where there are none.
    """

    known: Mapping[str, float]
    networks: tuple[tuple[str, Mapping[str, float]], ...]
    together: Mapping[str, float] = field(default_factory=dict)


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
    macs = network.with_batch(batch).seen_macs
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
    together: Mapping[str, float] | None = None,
    accuracy_percent: float | None = None,
) -> DesignCosts:
    """Return the costs of a design.

    Args:
        networks: what runs.
        hardware: the design.
        cost: of the hardware.
        passes: energy (pJ) and latency (cycles) of one pass of each network, or lower bounds.
        together: costs of all tenants together, or lower bounds; None without tenants.
        accuracy_percent: of the forms in which networks run; None where none has forms.
    """
    forms = (
        {} if accuracy_percent is None else {"accuracy": 1.0 / max(accuracy_percent, _NEARLY_NONE)}
    )
    return DesignCosts(
        {"area": cost.area_mm2, "tdp": cost.tdp_w, **forms},
        tuple(
            (network.name, _network_costs(network, hardware, cost.tdp_w, *figures))
            for network, figures in zip(networks, passes, strict=True)
        ),
        together or {},
    )
