"""What proofs over factors of any size find on one mesh of buffers, and what they take.

    python benchmarks/mapping/proofs_on_mesh.py [--looks 20000000] [--every 1]

For each design and network, over its distinct layers on MACs (``--every 3``: every third of them):
how many are proven with a trial's budget and with a proof of at most so many looks at tiles after
it; the gaps that are left, mean and most; the EDP in percent below that of the trial's mapping,
geometric mean and most; and CPU seconds of all layers.
"""

import argparse
from math import exp, log
from statistics import mean
from time import process_time

from archloom.evaluators.loopnest.layer_cost import LayerCost
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.auto import auto_mapping
from archloom.search.mapping.factorization import objective
from archloom.search.mapping.imperfect.further import FIRST
from archloom.search.mapping.imperfect.on_mesh import settled
from archloom.search.mapping.mapper import Mapper
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.design_space.presets import preset
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network

DESIGNS = ("eyeriss", "casco_edge_32k", "casco_edge_128k")
NETWORKS = ("resnet18", "mobilenetv2", "efficientnet_b0", "vit_b_16", "unet")

#: points of CASCO's edge space, as in benchmarks/trial_cost.py
EDGE = {"pe_x": 14, "pe_y": 12, "weight_spad_bytes": 128, "input_spad_bytes": 32}
EDGE |= {"output_spad_bytes": 32, "dram_channels": 2, "clock_mhz": 400}
BUFFERS_KIB = {"casco_edge_32k": 32, "casco_edge_128k": 128}


def design(name: str) -> Hardware:
    """Return a preset, or a point of CASCO's edge space."""
    if name not in BUFFERS_KIB:
        return preset(name)
    built = HardwareSpace.load("casco_edge").build({**EDGE, "l2_kib": BUFFERS_KIB[name]})
    assert isinstance(built, Hardware)
    return built


def mapped(problem: MappingProblem) -> LayerCost:
    """Return the mapping of a trial."""
    cost = Mapper(auto_mapping(), FIRST, 0, "imperfect")(problem)
    assert isinstance(cost, LayerCost)
    return cost


def row(name: str, net: str, every: int, looks: int) -> str:
    """Return a line of the table."""
    layers = (layer for layer in network(net).layers if layer.uses_macs)
    found = [MappingProblem.of_layer(layer, design(name)) for layer in layers]
    problems = list({problem.key: problem for problem in found}.values())[::every]
    times = [process_time()]
    usual = [mapped(problem) for problem in problems]
    times.append(process_time())
    best = [settled(problem, cost, looks) for problem, cost in zip(problems, usual, strict=True)]
    times.append(process_time())
    gains = [
        log(objective(problem, before) / objective(problem, after))
        for problem, before, after in zip(problems, usual, best, strict=True)
    ]
    cells = [
        f"{net}, {len(problems)}",
        *(f"{sum(cost.gap_percent == 0 for cost in costs)}" for costs in (usual, best)),
        *(_gaps([cost.gap_percent for cost in costs]) for costs in (usual, best)),
        f"{100 - 100 * exp(-mean(gains)):.2f} ({100 - 100 * exp(-max(gains)):.1f})",
        f"{times[1] - times[0]:.1f}",
        f"{times[2] - times[1]:.1f}",
    ]
    return f"| {name} | {' | '.join(cells)} |"


def _gaps(gaps: list[float]) -> str:
    return f"{mean(gaps):.1f}% ({max(gaps):.1f}%)"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--designs", nargs="+", default=list(DESIGNS))
    parser.add_argument("--networks", nargs="+", default=list(NETWORKS))
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--looks", type=int, default=20_000_000)
    given = parser.parse_args()
    # kernels compile
    tiny = MappingProblem.of_layer(network("tiny_cnn").layers[0], design("eyeriss"))
    settled(tiny, mapped(tiny), given.looks)
    columns = "proven, trial | proven | gap, trial | gap | EDP below | CPU-s, trial | CPU-s, proof"
    print(f"| design | layers of | {columns} |")
    for name in given.designs:
        for net in given.networks:
            print(row(name, net, given.every, given.looks), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
