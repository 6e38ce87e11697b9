"""How long it takes to map whole networks on designs that were never seen before.

    python benchmarks/mapping/network_mapping.py [--designs 4] [--seed 1] [--evaluations 1000000]

Designs are drawn at random from a template; each distinct layer is mapped once with every operand
in DRAM (no fusion). CPU seconds are of one core after compilation. "of network" bounds the EDP of
the whole network: it is at most so much above the least that any mappings give it. Where zigzag-dse
is installed (pip install zigzag-dse six), benchmarks/mapping/zigzag_mapping.py goes on with it.
"""

import argparse
import subprocess
import sys
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median

from archloom.evaluators.bounds.gaps import MappingGaps, mapping_gaps
from archloom.evaluators.fusion.plan import NetworkCost
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.hardware.problem import DesignProblem
from archloom.search.hardware.random_search import RandomSearch
from archloom.search.mapping.mapper import Mapper
from archloom.search.registry import MAPPING_SEARCHES
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.fusion.plan import layer_by_layer
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network
from archloom.space.workload.network import Network

NETWORKS = ("resnet18", "mobilenetv2", "efficientnet_b7")

#: CPU seconds that a network may take
TARGETS = {"resnet18": 0.5, "efficientnet_b7": 2.0}


@dataclass(frozen=True)
class Row:
    """A network on a design."""

    network: str
    problems: int
    gaps: MappingGaps
    cpu_s: float


def drawn(template: str, networks: list[Network], count: int, seed: int) -> list[Hardware]:
    problem = DesignProblem(HardwareSpace.load(template), networks)
    points = RandomSearch(problem, seed).ask(count, [])
    built = [problem.space.build(point) for point in points]
    return [hardware for hardware in built if isinstance(hardware, Hardware)]


def mapped(hardware: Hardware, net: Network, search: str, evaluations: int) -> Row:
    began = time.process_time()
    mapper = Mapper(MAPPING_SEARCHES[search](), evaluations, seed=1)
    cost = MemoizedPlanEvaluator(net, hardware, mapper).plan(layer_by_layer(net))
    spent = time.process_time() - began
    assert isinstance(cost, NetworkCost)
    keys = {MappingProblem.of_layer(layer, hardware).key for layer in net.layers if layer.uses_macs}
    return Row(net.name, len(keys), mapping_gaps(cost), spent)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--designs", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--template", default="casco_edge")
    parser.add_argument("--search", default="auto", choices=sorted(MAPPING_SEARCHES))
    parser.add_argument("--evaluations", type=int, default=1_000_000)
    parser.add_argument("--networks", nargs="+", default=NETWORKS)
    options = parser.parse_args()
    networks = [network(name) for name in options.networks]
    designs = drawn(options.template, networks, options.designs, options.seed)
    mapped(designs[0], networks[0], options.search, options.evaluations)  # compile
    print("network          distinct  mappings  proven  worst gap, %  of network, %  CPU-s")
    rows: list[Row] = []
    for hardware in designs:
        print(hardware.name)
        for net in networks:
            row = mapped(hardware, net, options.search, options.evaluations)
            rows.append(row)
            gaps = row.gaps
            worst = "unknown" if gaps.unknown else f"{gaps.worst_percent:.3g}"
            print(
                f"{row.network:15}  {row.problems:8}  {gaps.mappings:8}  {gaps.proven:6}  "
                f"{worst:>12}  {gaps.plan_percent:13.2f}  {row.cpu_s:5.2f}"
            )
    for name in options.networks:
        times = [row.cpu_s for row in rows if row.network == name]
        target = f", target {TARGETS[name]}" if name in TARGETS else ""
        print(f"{name}: median {median(times):.2f}, longest {max(times):.2f} CPU-s{target}")
    if find_spec("zigzag") is None:
        print("ZigZag is not installed: pip install zigzag-dse six")
    else:
        subprocess.run([sys.executable, Path(__file__).with_name("zigzag_mapping.py")], check=True)


if __name__ == "__main__":
    main()
