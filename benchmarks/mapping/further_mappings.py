"""What more mapping evaluations than those of a trial bring with imperfect factors.

    python benchmarks/mapping/further_mappings.py [--every 1]

For each design and network, over its distinct layers on MACs (``--every 3``: every third of them):
the EDP with larger budgets in percent below that of a trial's 100,000 evaluations, geometric mean
and most: one evaluation less than those from which on there are descents, these, and four times as
many; the share of layers to which more evaluations than the last bring nothing; and CPU seconds of
a layer with each budget, the smallest first, in the mean.
"""

import argparse
from math import exp, log
from statistics import mean
from time import process_time

from archloom.evaluators.loopnest.layer_cost import LayerCost
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.auto import auto_mapping
from archloom.search.mapping.factorization import objective
from archloom.search.mapping.imperfect.further import FIRST, FURTHER
from archloom.search.mapping.mapper import Mapper
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.design_space.presets import preset
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network

DESIGNS = ("casco_edge_32k", "eyeriss", "fast_small", "edgetpu", "tpu_v3")
NETWORKS = ("resnet18", "mobilenetv2", "efficientnet_b0", "unet", "vit_b_16")

#: evaluations: without descents, then with
BUDGETS = (FURTHER - 1, FURTHER, 4 * FURTHER)


#: a point of CASCO's edge space, as in benchmarks/trial_cost.py
EDGE = {"pe_x": 14, "pe_y": 12, "weight_spad_bytes": 128, "input_spad_bytes": 32}
EDGE |= {"output_spad_bytes": 32, "l2_kib": 32, "dram_channels": 2, "clock_mhz": 400}


def design(name: str) -> Hardware:
    """Return a preset, or the point of CASCO's edge space."""
    if name != "casco_edge_32k":
        return preset(name)
    built = HardwareSpace.load("casco_edge").build(EDGE)
    assert isinstance(built, Hardware)
    return built


class Searched:
    """Layers with one budget: ln EDPs, whether more evaluations bring nothing, and CPU seconds."""

    def __init__(self, problems: list[MappingProblem], evaluations: int) -> None:
        self.scores: list[float] = []
        self.ended, began = 0, process_time()
        for problem in problems:
            mapper = Mapper(auto_mapping(), evaluations, 0, "imperfect")
            cost = mapper(problem)
            assert isinstance(cost, LayerCost)
            self.scores.append(log(objective(problem, cost)))
            self.ended += mapper.ended(problem)
        self.cpu_s = (process_time() - began) / len(problems)

    def below(self, other: "Searched") -> str:
        """Return how far EDPs are below others, in percent: mean and most."""
        gains = [b - a for a, b in zip(self.scores, other.scores, strict=True)]
        return f"{100 - 100 * exp(-mean(gains)):.2f} ({100 - 100 * exp(-max(gains)):.1f})"


def row(name: str, net: str, every: int) -> str:
    """Return a line of the table."""
    layers = (layer for layer in network(net).layers if layer.uses_macs)
    found = [MappingProblem.of_layer(layer, design(name)) for layer in layers]
    problems = list({problem.key: problem for problem in found}.values())[::every]
    first = Searched(problems, FIRST)
    cells, spent = [], [first.cpu_s]
    for evaluations in BUDGETS:
        more = Searched(problems, evaluations)
        cells.append(more.below(first))
        spent.append(more.cpu_s)
    ended = f"{100 * more.ended / len(problems):.0f}%"
    times = " | ".join(f"{one:.3f}" for one in spent)
    return f"| {name} | {net}, {len(problems)} | {' | '.join(cells)} | {ended} | {times} |"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--designs", nargs="+", default=list(DESIGNS))
    parser.add_argument("--networks", nargs="+", default=list(NETWORKS))
    parser.add_argument("--every", type=int, default=1)
    given = parser.parse_args()
    # kernels compile
    Searched([MappingProblem.of_layer(network("tiny_cnn").layers[0], design("eyeriss"))], FURTHER)
    for name in given.designs:
        for net in given.networks:
            print(row(name, net, given.every), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
