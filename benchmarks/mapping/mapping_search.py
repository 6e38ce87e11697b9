"""How near the mapping searches come to the best mapping, against CPU time spent.

    python benchmarks/mapping/mapping_search.py [--seeds 3]

Problems are layers of ResNet-18 and MobileNetV2, whole and as tiles of a fused group, on four
designs, and a matrix product. The gap is the difference of ln EDP to the best mapping, which the
exact search proves, or to the best one that any search found here: 0.10 means about 10% more EDP.
Every search is run with more and more evaluations; at a CPU time counts its largest run that took
no longer on that problem.
"""

import argparse
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.exact.search import prove
from archloom.search.registry import MAPPING_SEARCHES
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.design_space.presets import preset, with_technology
from archloom.space.errors import Infeasible, InfeasibleError
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network
from archloom.space.workload.layer import Layer

LAYERS = {
    "resnet18": ("conv1", "stage1.0.conv1", "stage3.0.conv1", "stage4.1.conv2"),
    "mobilenetv2": ("stage2.0.expand", "stage2.1.depthwise", "stage5.0.project", "conv_last"),
}
CPU_MS = (1, 3, 10, 30)
PLENTY = 20_000_000


def designs() -> dict[str, Hardware]:
    """Eyeriss, TPU v3, and two designs of the CASCO edge space."""
    space = HardwareSpace.load("casco_edge")
    point = {"input_spad_bytes": 32, "output_spad_bytes": 32, "dram_channels": 1, "clock_mhz": 400}
    found = {"eyeriss": with_technology(preset("eyeriss"), "cacti_45nm"), "tpu": preset("tpu_v3")}
    for pe_x, pe_y, spad, l2_kib in ((16, 16, 128, 512), (14, 12, 256, 128)):
        size = {"pe_x": pe_x, "pe_y": pe_y, "weight_spad_bytes": spad, "l2_kib": l2_kib}
        built = space.build(point | size)
        if isinstance(built, Infeasible):
            raise InfeasibleError(built)
        found[f"edge {pe_x}x{pe_y}, {l2_kib} KiB"] = built
    return found


def problems() -> list[MappingProblem]:
    """Whole layers everywhere, and two tiles with their maps in the buffer of the large design."""
    product = Layer("product", "conv", p=512, k=768, c=768, input_size=(512, 1))
    layers = [net.layers[net.index(name)] for net, names in networks() for name in names]
    found = [
        MappingProblem.of_layer(layer, hardware)
        for hardware in designs().values()
        for layer in (*layers, product)
    ]
    bounds, window = (1, 1, 128, 128, 7, 28, 3, 3), ((1, 1), (1, 1), (0, 0), (9, 30))
    large = designs()["edge 16x16, 512 KiB"]
    found.append(MappingProblem(bounds, *window, large, (False, True, True), 65536))
    found.append(MappingProblem(bounds, *window, large, (True, True, True)))
    return found


def networks() -> list[tuple[Any, tuple[str, ...]]]:
    return [(network(name), names) for name, names in LAYERS.items()]


@dataclass(frozen=True)
class Run:
    """One run of a search: mappings tried, CPU milliseconds, ln EDP found, and if it is proven."""

    evaluations: int
    cpu_ms: float
    ln_edp: float
    proven: bool


def run(name: str, problem: MappingProblem, seed: int, evaluations: int) -> Run:
    search = MAPPING_SEARCHES[name]()
    began = time.process_time()
    state = search.advance(problem, search.start(problem, seed), evaluations)
    found = search.best(problem, state)
    spent = time.process_time() - began
    energy = found.energy_pj + problem.setup.leakage_pj * found.latency_cycles
    ln_edp = float(np.log(energy) + np.log(found.latency_cycles))
    return Run(evaluations, spent * 1e3, ln_edp, found.gap_percent == 0)


def runs(name: str, problem: MappingProblem, seed: int, longest_ms: float) -> list[Run]:
    """Runs with more and more evaluations, until one ends with a proof or takes too long."""
    found, evaluations = [run(name, problem, seed, 64)], 96
    while evaluations <= PLENTY and not found[-1].proven and found[-1].cpu_ms < longest_ms:
        found.append(run(name, problem, seed, evaluations))
        evaluations = evaluations * 3 // 2
    return found


def within(found: list[Run], cpu_ms: float) -> Run:
    """The largest run that took no longer; the smallest if all did."""
    return max((r for r in found if r.cpu_ms <= cpu_ms), key=lambda r: r.evaluations,
               default=found[0])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--problems", type=int, help="so many of them (default: all)")
    parser.add_argument("--searches", nargs="+", default=list(MAPPING_SEARCHES))
    parser.add_argument("--cpu-ms", type=float, nargs="+", default=CPU_MS)
    given = parser.parse_args()
    seeds, times, cases = range(given.seeds), given.cpu_ms, problems()[: given.problems]
    for name in given.searches:
        for problem in cases:
            run(name, problem, 0, 100)  # compile, and prepare the problem
    found = {
        name: [runs(name, problem, seed, times[-1]) for problem in cases for seed in seeds]
        for name in given.searches
    }
    proofs = [prove(problem, PLENTY) for problem in cases]
    best = np.repeat([p.best.score if p.best else np.inf for p in proofs], len(seeds))
    for every in found.values():
        best = np.minimum(best, [min(r.ln_edp for r in one) for one in every])
    print(f"{len(cases)} problems, {sum(p.proven for p in proofs)} of them proven, "
          f"{len(seeds)} seeds; gap of ln EDP: mean, and worst")  # fmt: skip
    print("search    million evaluations a CPU-s" + "".join(f"{t:>13} ms" for t in times))
    for name, every in found.items():
        last = [within(one, times[-1]) for one in every]
        speed = sum(r.evaluations for r in last) / sum(r.cpu_ms for r in last) / 1e3
        # what is proven ends before the budget does
        rate = "-" if any(r.proven for r in last) else f"{speed:.2f}"
        gaps = [np.array([within(one, t).ln_edp for one in every]) - best for t in times]
        cells = "".join(f"{g.mean():9.3f} {g.max():6.3f}" for g in gaps)
        print(f"{name:10}{rate:>27}{cells}")


if __name__ == "__main__":
    main()
