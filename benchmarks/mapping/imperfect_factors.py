"""What padded and imperfect factors do to the EDP of layers, at equal numbers of mappings tried.

    python benchmarks/mapping/imperfect_factors.py [--seeds 5] [--evaluations 4000]

For each design and network: the layers with bounds that are padded, and over these layers and all
seeds the ratio of EDP to that of exact factors: geometric mean, least and largest.
"""

import argparse
from math import exp, log
from statistics import mean

from archloom.evaluators.loopnest.layer_cost import LayerCost
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.factorization import FACTORS, nests, objective
from archloom.search.mapping.mapper import Mapper
from archloom.search.mapping.simd.searches import LocalMapping
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.design_space.presets import preset
from archloom.space.errors import Infeasible, InfeasibleError
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network

NETWORKS = ("resnet18", "mobilenetv2", "alexnet_original")


def designs() -> dict[str, Hardware]:
    """Two presets, and two designs of the CASCO edge space."""
    space = HardwareSpace.load("casco_edge")
    spads = {f"{t}_spad_bytes": 32 for t in ("input", "output")} | {"weight_spad_bytes": 128}
    found = {name: preset(name) for name in ("eyeriss", "tpu_v3")}
    for x, y in ((14, 12), (16, 16)):
        point = {"pe_x": x, "pe_y": y, "l2_kib": 64, "dram_channels": 1, "clock_mhz": 400}
        built = space.build(point | spads)
        if isinstance(built, Infeasible):
            raise InfeasibleError(built)
        found[f"edge {x}x{y}"] = built
    return found


def ln_objective(problem: MappingProblem, factors: str, seed: int, evaluations: int) -> float:
    cost = Mapper(LocalMapping(), evaluations, seed, factors)(problem)
    if not isinstance(cost, LayerCost):
        raise InfeasibleError(cost)
    return log(objective(problem, cost))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--evaluations", type=int, default=4000)
    parser.add_argument("--designs", nargs="+", choices=designs(), default=list(designs()))
    parser.add_argument("--networks", nargs="+", default=NETWORKS)
    said = parser.parse_args()
    print("design      network           padded layers   padded / exact      imperfect / exact")
    for name, hardware in ((name, designs()[name]) for name in said.designs):
        for net in said.networks:
            layers = [la for la in network(net).layers if la.uses_macs]
            problems = {p.key: p for p in (MappingProblem.of_layer(la, hardware) for la in layers)}
            odd = [p for p in problems.values() if len(nests(p, "imperfect")) > 1]
            runs = [(p, seed) for p in odd for seed in range(said.seeds)]
            exact, padded, imperfect = (
                [ln_objective(p, factors, seed, said.evaluations) for p, seed in runs]
                for factors in FACTORS
            )
            row = f"{name:10}  {net:16}  {len(odd):3} of {len(problems):3}    "
            for values in (padded, imperfect) if runs else ():
                ratios = [a - b for a, b in zip(values, exact, strict=True)]
                figures = [exp(f) for f in (mean(ratios), min(ratios), max(ratios))]
                row += "  {:.2f} ({:.2f} to {:.2f})".format(*figures)
            print(row, flush=True)


if __name__ == "__main__":
    main()
