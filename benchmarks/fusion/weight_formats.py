"""What packed weights save: DRAM traffic and EDP of networks with zero weights, by format.

    python benchmarks/fusion/weight_formats.py [--networks resnet18 ...] [--designs eyeriss ...]
        [--densities 0.5 0.2 0.05] [--zeros skipped]

Each network runs on each design under the best plan and mappings that a trial with default settings
finds, with weights held dense and in each format. What a MAC does with a zero weight is the same
for all of them (``--zeros``), so ratios are those of the format alone. Whatever runs with dense
weights runs with packed ones at no more cost: where a ratio is above 1, the search found less.
"""

import argparse
from dataclasses import replace
from typing import Final

from archloom.evaluators.fusion import NetworkCost
from archloom.search.software import SoftwareSettings
from archloom.space import Infeasible
from archloom.space.design_space import HardwareSpace, preset
from archloom.space.hardware import EFFECT_CHOICES, Effects, Hardware
from archloom.space.networks import network
from archloom.space.workload import Network
from archloom.studies.solve.fusion import FusionEffort, search_plan

#: the median of every parameter of CASCO's edge space
_EDGE: Final = {
    "pe_x": 14,
    "pe_y": 12,
    "weight_spad_bytes": 128,
    "input_spad_bytes": 32,
    "output_spad_bytes": 32,
    "l2_kib": 256,
    "dram_channels": 2,
    "clock_mhz": 400,
}
DESIGNS: Final = ("casco_edge", "eyeriss")
NETWORKS: Final = ("resnet18", "mobilenetv2", "vgg16")
MIB: Final = 2**20


def design(name: str) -> Hardware:
    if name != "casco_edge":
        return preset(name)
    built = HardwareSpace.load(name).build(_EDGE)
    assert isinstance(built, Hardware)
    return built


def best(net: Network, hardware: Hardware, plans: int) -> NetworkCost:
    effort = FusionEffort(SoftwareSettings(mapping="auto", mapping_evaluations=100_000), plans)
    found = search_plan(net, hardware, effort)
    assert found is not None
    assert not isinstance(found, Infeasible), found
    return found.cost


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--networks", nargs="+", default=NETWORKS)
    parser.add_argument("--designs", nargs="+", default=DESIGNS)
    parser.add_argument("--densities", type=float, nargs="+", default=(0.5, 0.2, 0.05))
    parser.add_argument("--zeros", choices=EFFECT_CHOICES["weight_zeros"], default="skipped")
    parser.add_argument("--plans", type=int, default=14)
    options = parser.parse_args()
    formats = EFFECT_CHOICES["weight_format"]
    print("| design | network | weights left | " + " | ".join(formats) + " | least EDP |")
    print("|---" * (4 + len(formats)) + "|")
    for name in options.designs:
        for model in options.networks:
            for density in options.densities:
                net = network(model).with_density(density, 1.0)
                costs = {}
                for kind in formats:
                    effects = Effects(weight_zeros=options.zeros, weight_format=kind)
                    costs[kind] = best(net, replace(design(name), effects=effects), options.plans)
                dense = costs["dense"].edp_js
                cells = [
                    f"{c.dram_bytes / MIB:.1f} MiB, {c.edp_js / dense:.3f}" for c in costs.values()
                ]
                least = min(costs, key=lambda kind: costs[kind].edp_js)
                print(
                    f"| {name} | {model} | {density:g} | {' | '.join(cells)} | {least} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
