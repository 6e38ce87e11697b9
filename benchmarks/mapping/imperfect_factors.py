"""What padded and imperfect factors do to the EDP of layers, and the time that they take.

    python benchmarks/mapping/imperfect_factors.py [--repeat 5]

For each design and network, over its distinct layers on MACs: EDP over that of exact factors,
geometric mean and least; layers that cost less than with exact factors; the gap to a bound that
holds for factors of any size, mean and largest; the share of layers that are proven, exact factors
among exact ones and imperfect factors among those of any size; and CPU seconds with exact factors
and with imperfect ones over those, the least of several runs in turns. ``awkward`` are layers whose
bounds hardly divide.
"""

import argparse
from math import exp, log
from statistics import mean
from time import process_time

from archloom.evaluators.loopnest.layer_cost import LayerCost
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.auto import auto_mapping
from archloom.search.mapping.factorization import FACTORS, objective
from archloom.search.mapping.mapper import Mapper
from archloom.space.design_space.presets import preset
from archloom.space.errors import InfeasibleError
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network
from archloom.space.workload.layer import Layer

DESIGNS = ("eyeriss", "simba", "edgetpu", "tpu_v3", "fast_small")
NETWORKS = ("resnet18", "mobilenetv2", "vit_b_16", "bert_base", "awkward")


def _gemm(name: str, g: int, k: int, c: int, p: int) -> Layer:
    return Layer(name, "gemm", g=g, k=k, c=c, p=p, input_size=(p, 1))


def _conv(name: str, k: int, c: int, p: int, r: int, stride: int) -> Layer:
    pad = (r - 1) // 2
    window = {"stride": (stride, stride), "padding": (pad, pad), "input_size": (stride * p,) * 2}
    return Layer(name, "conv", k=k, c=c, p=p, q=p, r=r, s=r, **window)


#: products of 197 tokens, a vocabulary, 1,500 frames; convolutions of prime channels and rows
AWKWARD = (
    _gemm("scores", 12, 197, 64, 197),
    _gemm("values", 12, 64, 197, 197),
    _gemm("vocabulary", 1, 30522, 768, 1),
    _gemm("frames", 1, 1500, 64, 1500),
    _gemm("cubes", 1, 127, 127, 127),
    _conv("conv 13", 61, 17, 13, 3, 1),
    _conv("conv 127", 61, 17, 127, 3, 1),
    _conv("first", 61, 3, 127, 7, 2),
)


def problems_of(name: str, hardware: Hardware) -> list[MappingProblem]:
    """Return the distinct problems of a network, or of the awkward layers."""
    layers = AWKWARD if name == "awkward" else network(name).layers
    found = (MappingProblem.of_layer(la, hardware) for la in layers if la.uses_macs)
    return list({problem.key: problem for problem in found}.values())


def mapped(problems: list[MappingProblem], factors: str, evaluations: int) -> list[LayerCost]:
    """Map all problems."""
    mapper, costs = Mapper(auto_mapping(), evaluations, 0, factors), []
    for problem in problems:
        cost = mapper(problem)
        if not isinstance(cost, LayerCost):
            raise InfeasibleError(cost)
        costs.append(cost)
    return costs


def row(
    problems: list[MappingProblem], costs: dict[str, list[LayerCost]], spent: dict[str, float]
) -> str:
    """Return the figures of a network."""
    scores = {
        factors: [log(objective(p, c)) for p, c in zip(problems, found, strict=True)]
        for factors, found in costs.items()
    }
    over = {
        factors: [a - b for a, b in zip(found, scores["exact"], strict=True)]
        for factors, found in scores.items()
    }
    gaps = [cost.gap_percent for cost in costs["imperfect"]]
    proven = {f: mean(cost.gap_percent == 0 for cost in found) for f, found in costs.items()}
    figures = (
        f"{exp(mean(over['padded'])):.4f}",
        f"{exp(mean(over['imperfect'])):.4f} ({exp(min(over['imperfect'])):.5f})",
        f"{sum(ratio < -1e-9 for ratio in over['imperfect'])}",
        f"{mean(gaps):.1f}% ({max(gaps):.1f}%)",
        f"{proven['exact']:.0%}",
        f"{proven['imperfect']:.0%}",
        f"{spent['exact']:.4f}",
        f"{spent['imperfect']:.4f}",
        f"{spent['imperfect'] / spent['exact']:.2f}x",
    )
    return " | ".join(figures)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--evaluations", type=int, default=100_000)
    parser.add_argument("--designs", nargs="+", default=DESIGNS)
    parser.add_argument("--networks", nargs="+", default=NETWORKS)
    said = parser.parse_args()
    print(
        "design | layers of | EDP, padded | EDP, imperfect (least) | better | gap (largest) | "
        "proven, exact | imperfect | CPU-s, exact | imperfect | over exact"
    )
    for design in said.designs:
        hardware = preset(design)
        for name in said.networks:
            problems = problems_of(name, hardware)
            costs = {factors: mapped(problems, factors, said.evaluations) for factors in FACTORS}
            spent = dict.fromkeys(("exact", "imperfect"), float("inf"))
            for _ in range(said.repeat):
                for factors in spent:
                    began = process_time()
                    mapped(problems, factors, said.evaluations)
                    spent[factors] = min(spent[factors], process_time() - began)
            figures = row(problems, costs, spent)
            print(f"{design} | {name}, {len(problems)} | {figures}", flush=True)


if __name__ == "__main__":
    main()
