"""Costs of a design by metric, from the energy and the latency of each network's pass."""

from collections.abc import Sequence

from ..evaluators.bounds import pass_batch
from ..evaluators.hardware_cost import HardwareCost, edp_js
from ..space.hardware import Hardware
from ..space.network import Network
from .goals import DesignCosts


def network_costs(
    network: Network, hardware: Hardware, tdp_w: float, energy_pj: float, latency_cycles: float
) -> dict[str, float]:
    """Return the costs of one network by metric, all that software decides.

    Args:
        network: what runs, at its own batch.
        hardware: where it runs.
        tdp_w: of the hardware.
        energy_pj, latency_cycles: of one pass over :func:`pass_batch` inferences, or lower
            bounds of them.
    """
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


def design_costs(
    networks: Sequence[Network],
    hardware: Hardware,
    cost: HardwareCost,
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
            (network.name, network_costs(network, hardware, cost.tdp_w, *figures))
            for network, figures in zip(networks, passes, strict=True)
        ),
    )
