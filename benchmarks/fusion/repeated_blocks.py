"""What it saves to tile and price groups that are the same but for names and positions once.

    python benchmarks/fusion/repeated_blocks.py [--plans 40] [--mappings 1000]

The genetic search (population 8) on one design of the CASCO edge space, twice for each network:
every group priced by itself, and one group of each kind. Both find the same plans. The table gives
how many groups of more than one layer were tiled, of how many kinds they are, and CPU time.
"""

import argparse
import time
from collections.abc import Hashable

from archloom.search.fusion.casco.genetic import GeneticPlanner
from archloom.search.fusion.group_equivalence import KindOf, group_kind
from archloom.search.fusion.partition import Group
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.fusion.protocol import FusionState
from archloom.search.mapping.mapper import Mapper
from archloom.search.mapping.simd.searches import LocalMapping
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.errors import Infeasible, InfeasibleError
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network
from archloom.space.workload.network import Network

NETWORKS = (
    "resnet18",
    "densenet161",
    "efficientnet_b7",
    "ocr_recognizer",
    "bert_large",
    "xlnet_large",
    "llama3_8b_prefill",
    "llama3_70b_prefill",
)


def design() -> Hardware:
    """256 PEs and 512 KiB of a design of the CASCO edge space."""
    point = {
        "pe_x": 16,
        "pe_y": 16,
        "weight_spad_bytes": 128,
        "input_spad_bytes": 32,
        "output_spad_bytes": 32,
        "l2_kib": 512,
        "dram_channels": 1,
        "clock_mhz": 400,
    }
    built = HardwareSpace.load("casco_edge").build(point)
    if isinstance(built, Infeasible):
        raise InfeasibleError(built)
    return built


def apart(groups: set[Group]) -> KindOf:
    """Take every group for a kind of its own, and keep them in ``groups``."""

    def kind_of(_: Network, layers: Group) -> Hashable:
        groups.add(layers)
        return layers

    return kind_of


def search(
    net: Network, hardware: Hardware, kind_of: KindOf, plans: int, mappings: int
) -> tuple[FusionState, float]:
    """Return what was found, and CPU seconds per plan; nothing is known of the network before."""
    fresh = Network(net.name, net.layers, net.reads, net.outputs)
    began = time.process_time()
    evaluator = MemoizedPlanEvaluator(
        fresh, hardware, Mapper(LocalMapping(), mappings, seed=1), kind_of
    )
    genetic = GeneticPlanner(evaluator, population=8)
    found = genetic.advance(genetic.start(seed=1), plans)
    return found, (time.process_time() - began) / plans


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plans", type=int, default=40)
    parser.add_argument("--mappings", type=int, default=1000)
    parser.add_argument("--networks", nargs="+", default=NETWORKS)
    asked = parser.parse_args()
    hardware = design()
    search(network("tiny_cnn"), hardware, group_kind, 4, asked.mappings)  # compile
    print("network             layers  groups  kinds  ms/plan apart  ms/plan shared  ratio")
    for name in asked.networks:
        net, groups = network(name), set[Group]()
        alone, slow = search(net, hardware, apart(groups), asked.plans, asked.mappings)
        shared, fast = search(net, hardware, group_kind, asked.plans, asked.mappings)
        if alone != shared:
            raise AssertionError(f"{name}: sharing changed what was found")
        several = [group for group in groups if len(group) > 1]
        kinds = len({group_kind(net, group) for group in several})
        print(
            f"{name:19} {len(net.layers):6}  {len(several):6}  {kinds:5}  {slow * 1e3:13.1f}  "
            f"{fast * 1e3:14.1f}  {slow / fast:5.2f}"
        )


if __name__ == "__main__":
    main()
