"""How far are plans from their least EDP with any mappings, and what does it take to prove it?

    python benchmarks/mapping/plan_proofs.py [--evaluations 100000] [--factors exact]

Each network is planned on each preset: layer by layer, and fused by ``joint``. The table says for
each plan how far it is above its least EDP at the most: by what is proven of its mappings one by
one, by the least costs of its tiles, as trials know them, by closer ones, and by
``prove_mappings``; by how much the latter lowers the EDP; and CPU seconds of the search and of each
of the others.
"""

import argparse
import sys
from dataclasses import replace
from time import process_time

from archloom.evaluators.bounds.gaps import mapping_gaps
from archloom.search.software.plan_bound import least_edp_of
from archloom.search.software.plan_tiles import cost_of
from archloom.search.software.result import NetworkResult
from archloom.search.software.search import (
    SoftwareSettings,
    SoftwareTask,
    advance,
    recorded_evaluator,
)
from archloom.space.design_space.presets import preset
from archloom.space.fusion.plan import FusionPlan
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


def bounded(
    net: Network, hardware: Hardware, result: NetworkResult, factors: str
) -> list[tuple[float, float]]:
    """Return gaps of a plan (percent) by its mappings one by one, by the least costs of its tiles,
    and by closer ones, each with CPU seconds."""
    known = recorded_evaluator(hardware, net, result.mappings, factors, result.gaps)
    plan = FusionPlan.from_list(result.plan)
    cost, found = cost_of(known, plan), list[tuple[float, float]]()
    for least_of in (
        lambda: 0.0,
        lambda: least_edp_of(known, plan),
        lambda: least_edp_of(known, plan, closely=True),
    ):
        began = process_time()
        found.append((mapping_gaps(cost, least_of()).plan_percent, process_time() - began))
    return found


def row(net: Network, hardware: Hardware, settings: SoftwareSettings, evaluations: int) -> str:
    """Return a line of the table."""
    before, spent = measured(net, hardware, settings)
    gaps = bounded(net, hardware, before, settings.factors)
    after, more = measured(net, hardware, replace(settings, prove_mappings=evaluations))
    least = after.least_edp_js()
    # the second search begins with the plan, too
    gaps.append((100 * (after.edp_js / least - 1) if least else float("inf"), more - spent))
    lower = 100 * (1 - after.edp_js / before.edp_js)
    percents = " | ".join(f"{gap:.2f}" for gap, _ in gaps)
    seconds = " | ".join(f"{max(0.0, took):.2f}" for _, took in [(0.0, spent), *gaps[1:]])
    about = f"{net.name} | {hardware.name} | {settings.fusion}"
    return f"| {about} | {percents} | {lower:.3f} | {seconds} |"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--networks", nargs="+", default=list(NETWORKS))
    parser.add_argument("--presets", nargs="+", default=list(PRESETS))
    parser.add_argument("--factors", default="exact", help="exact, padded or imperfect")
    parser.add_argument("--evaluations", type=int, default=100_000)
    options = parser.parse_args()
    print("| network | preset | planner | one by one, % | least costs, % | closer, % | proven, % |"
          " EDP lower, % | search, CPU s | least costs | closer | proof |")  # fmt: skip
    print("|---" * 12 + "|")
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
