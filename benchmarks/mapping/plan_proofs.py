"""How far are plans from their least EDP with any mappings, and what does it take to prove it?

    python benchmarks/mapping/plan_proofs.py [--evaluations 100000] [--factors exact]

Each network is planned on each preset: layer by layer, and fused by ``joint``. The table says for
each plan how far it is above its least EDP at the most, by what is proven of its mappings one by
one and by ``prove_mappings``; by how much the latter lowers the EDP; and CPU seconds of both parts.
"""

import argparse
import sys
from dataclasses import replace
from time import process_time

from archloom.search.software.result import NetworkResult
from archloom.search.software.search import SoftwareSettings, SoftwareTask, advance
from archloom.space.design_space.presets import preset
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network
from archloom.space.workload.network import Network

NETWORKS = ("resnet18", "mobilenetv2", "vit_b_16")
PRESETS = ("eyeriss", "simba", "edgetpu", "tpu_v3", "fast_small")
PLANNERS = ("none", "joint")

#: plans that ``joint`` evaluates
PLANS = 60


def measured(
    net: Network, hardware: Hardware, settings: SoftwareSettings
) -> tuple[NetworkResult, float]:
    """Return the software found for a network on a design, and the CPU seconds that it took."""
    began = process_time()
    plans = PLANS if settings.fusion == "joint" else 1
    found = advance(SoftwareTask(hardware, (net,), settings, 0), None, plans)
    return found.networks[net.name], process_time() - began


def row(net: Network, hardware: Hardware, settings: SoftwareSettings, evaluations: int) -> str:
    """Return a line of the table."""
    before, spent = measured(net, hardware, settings)
    after, more = measured(net, hardware, replace(settings, prove_mappings=evaluations))
    gaps = [100 * (one.edp_js / least - 1) if (least := one.least_edp_js()) else float("inf")
            for one in (before, after)]  # fmt: skip
    # the second search begins with the plan, too
    more = max(0.0, more - spent)
    lower = 100 * (1 - after.edp_js / before.edp_js)
    return (
        f"| {net.name} | {hardware.name} | {settings.fusion} | {gaps[0]:.2f} | {gaps[1]:.2f} | "
        f"{lower:.3f} | {spent:.1f} | {more:.1f} |"
    )


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--networks", nargs="+", default=list(NETWORKS))
    parser.add_argument("--presets", nargs="+", default=list(PRESETS))
    parser.add_argument("--factors", default="exact", help="exact, padded or imperfect")
    parser.add_argument("--evaluations", type=int, default=100_000)
    options = parser.parse_args()
    print("| network | preset | planner | gap, one by one, % | gap, together, % | EDP lower, % |"
          " CPU s | more CPU s |")  # fmt: skip
    print("|---" * 8 + "|")
    for name in options.presets:
        for net in map(network, options.networks):
            for planner in PLANNERS:
                settings = SoftwareSettings(
                    fusion=planner,
                    factors=options.factors,
                    mapping_evaluations=options.evaluations,
                )
                print(row(net, preset(name), settings, options.evaluations), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
