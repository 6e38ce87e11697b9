"""What does a batch of eight designs cost, and how good are the designs?

Runs each optimizer on CASCO's edge space with a smooth function in place of the software search:
lower bounds times factors that depend on meshes and buffers, so that a run costs nothing but the
optimizer. Prints the CPU time of a call of ``ask`` near some numbers of told designs (the mean of
the last eight batches on the way there, as models are not fitted anew in each), and the
hypervolume found by then.

    python benchmarks/hardware/optimizer_cost.py --optimizers mobo greedy_bound tpe
    python benchmarks/hardware/optimizer_cost.py --case several --optimizers mobo mobo:qlognehvi

``--case known`` has EDP, area and TDP as objectives, ``--case several`` energy, latency and area.
A name may have an acquisition function after a colon.
"""

import argparse
import sys
from collections.abc import Sequence
from math import exp, log2, sin
from statistics import fmean
from time import process_time

import numpy as np

from archloom.search.hardware.problem import Candidate, DesignProblem
from archloom.search.hardware.protocol import Observation
from archloom.search.objectives import AREA, EDP, TDP, Objective, ObjectiveSet
from archloom.search.pareto import hypervolume
from archloom.search.registry import HARDWARE_OPTIMIZERS
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.design_space.parameter import Point
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network

BATCH = 8

CASES = {
    "known": ObjectiveSet((EDP, AREA, TDP)),
    "several": ObjectiveSet((Objective("energy"), Objective("latency"), AREA)),
}


def observe(problem: DesignProblem, point: Point) -> Observation:
    """Return what a trial would tell: tight bounds times smooth factors of at least 1.02."""
    found, hardware = problem.assess(point), problem.space.build(point)
    assert isinstance(found, Candidate)
    candidate = problem.tightened(found)
    assert isinstance(hardware, Hardware)
    x, y = hardware.pe_mesh
    pad, buffer = (log2(level.total_bytes) for level in hardware.levels[:2])
    energy = 0.06 * (8 - pad) ** 2 + 0.08 * (20 - buffer) + 0.1 * sin(2 * log2(x * y))
    latency = 0.1 * abs(log2(x / y)) + 0.05 * (20 - buffer) + 0.15 * sin(3 * log2(x * y))
    above = {"energy": energy, "latency": latency, "edp": energy + latency}
    values = tuple(
        value if objective.known else value * exp(max(above[objective.metric], 0.02))
        for objective, value in zip(problem.objective_set.objectives, candidate.values, strict=True)
    )
    return Observation(candidate.point, values, evaluations=100)


def run(
    problem: DesignProblem, spec: str, seed: int, marks: Sequence[int], reference: list[float]
) -> list[tuple[float, float]]:
    """Return CPU seconds of a batch and hypervolume at each mark."""
    name, _, acquisition = spec.partition(":")
    options = {"acquisition": acquisition} if acquisition else {}
    optimizer = HARDWARE_OPTIMIZERS[name](problem, seed, **options)
    values: list[tuple[float, ...]] = []
    found, seconds = [], []
    while len(found) < len(marks):
        start = process_time()
        points = optimizer.ask(BATCH, [])
        seconds.append(process_time() - start)
        seen = [observe(problem, p) for p in points]
        optimizer.tell(seen)
        values += [o.values for o in seen if o.values]
        if len(values) >= marks[len(found)]:
            volume = hypervolume(np.array(values), reference)
            found.append((fmean(seconds[-8:]), volume))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--optimizers", nargs="+", default=["mobo", "greedy_bound", "random"])
    parser.add_argument("--case", choices=sorted(CASES), default="known")
    parser.add_argument("--networks", nargs="+", default=["tiny_cnn"], help="of the bounds")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--marks", type=int, nargs="+", default=[32, 64, 128])
    options = parser.parse_args()
    space, networks = HardwareSpace.load("casco_edge"), [network(n) for n in options.networks]
    problem = DesignProblem(space, networks, 8.0, 2.0, objective_set=CASES[options.case])
    some = problem.sample(np.random.default_rng(0), 200, (), 10_000)
    told = [observe(problem, c.point).values for c in some]
    reference = np.array(told).max(axis=0).tolist()
    header = "".join(f"{f'{mark} told':>18}" for mark in options.marks)
    print(f"{'CPU s a batch, hypervolume':28}{header}   (medians of {options.seeds} seeds)")
    for spec in options.optimizers:
        runs = [run(problem, spec, s, options.marks, reference) for s in range(options.seeds)]
        cells = np.median(np.array(runs), axis=0)
        shown = "".join(f"{seconds:10.2f}{volume:8.4f}" for seconds, volume in cells)
        print(f"{spec:28}{shown}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
