"""What proofs of mappings take on designs whose arrays fill and drain.

    python benchmarks/mapping/array_fill.py [--repeat 3]

For each design with an array and each network, over its distinct layers on MACs, with the array's
fill and drain as ``none``, ``exposed`` and ``overlapped``: layers that are proven with the default
evaluations of a study, the gap to the bound, mean and largest, CPU seconds (the least of several
runs), and energy and cycles over those with ``none`` (geometric means). With ``--factors
imperfect`` the same of factors of any size.
"""

import argparse
import sys
from dataclasses import replace
from math import exp, log
from pathlib import Path
from statistics import mean
from time import process_time

sys.path.insert(0, str(Path(__file__).parents[2]))

from archloom.evaluators.loopnest.layer_cost import LayerCost
from archloom.search.mapping.factorization import FACTORS
from archloom.space.design_space.presets import preset
from archloom.space.hardware.hardware import Hardware
from benchmarks.mapping.imperfect_factors import mapped, problems_of

DESIGNS = ("tpu_v3", "fast_small", "edgetpu", "simba")
NETWORKS = ("resnet18", "mobilenetv2", "bert_base", "vit_b_16")
MODES = ("none", "exposed", "overlapped")


def with_mode(hardware: Hardware, mode: str) -> Hardware:
    """Return a design with its array's fill and drain counted so."""
    return replace(hardware, effects=replace(hardware.effects, fill_drain=mode))


def over(costs: list[LayerCost], plain: list[LayerCost]) -> tuple[float, float]:
    """Return energy and cycles over those without fill and drain, geometric means."""
    pairs = list(zip(costs, plain, strict=True))
    energy = mean(log(a.dynamic_pj / b.dynamic_pj) for a, b in pairs)
    return exp(energy), exp(mean(log(a.latency_cycles / b.latency_cycles) for a, b in pairs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--evaluations", type=int, default=100_000)
    parser.add_argument("--factors", choices=FACTORS, default="exact")
    parser.add_argument("--designs", nargs="+", default=DESIGNS)
    parser.add_argument("--networks", nargs="+", default=NETWORKS)
    said = parser.parse_args()
    print("design | layers of | fill and drain | proven | gap (largest) | CPU-s | energy | cycles")
    for design in said.designs:
        for name in said.networks:
            plain: list[LayerCost] = []
            for mode in MODES:
                problems, spent = problems_of(name, with_mode(preset(design), mode)), []
                for _ in range(1 + said.repeat):
                    began = process_time()
                    costs = mapped(problems, said.factors, said.evaluations)
                    spent.append(process_time() - began)
                plain = plain or costs
                gaps = [cost.gap_percent for cost in costs]
                energy, cycles = over(costs, plain)
                print(
                    f"{design} | {name}, {len(problems)} | {mode} | {sum(g == 0 for g in gaps)} | "
                    f"{mean(gaps):.2f}% ({max(gaps):.1f}%) | {min(spent):.3f} | {energy:.3f} | "
                    f"{cycles:.3f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
