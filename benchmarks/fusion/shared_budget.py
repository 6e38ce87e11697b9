"""What a budget brings that plans and mappings share, against one of plans alone.

    python benchmarks/fusion/shared_budget.py [--budgets 64 192 448] [--first 100000 400000]

For each network and design: ln EDP and CPU seconds after each budget, and on what a shared one
went. Both begin with an empty memo. The last lines are means over all cases.
"""

import argparse
import time
from collections import defaultdict
from itertools import pairwise
from math import log

import numpy as np

from archloom.search.software.search import (
    BUDGETS,
    SoftwareSettings,
    SoftwareTask,
    _evaluator,
    _search,
    _shared,
    advance,
)
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.design_space.parameter import Point
from archloom.space.design_space.presets import preset
from archloom.space.errors import Infeasible, InfeasibleError
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network

#: network, design, factors, planner, mapping search
Case = tuple[str, str, str, str, str]

#: ln EDP, CPU seconds, and on what a shared budget went
Spent = tuple[float, float, str]

#: points of template spaces; the FAST ones have meshes of meshes, whose proofs take long
POINTS: dict[str, tuple[str, Point]] = {
    "edge": (
        "casco_edge",
        {"pe_x": 14, "pe_y": 12, "weight_spad_bytes": 256, "l2_kib": 128, "input_spad_bytes": 32}
        | {"output_spad_bytes": 32, "dram_channels": 1, "clock_mhz": 400},
    ),
    "fast_few": (
        "fast",
        {"pes_x": 1, "pes_y": 2, "systolic_x": 256, "systolic_y": 128, "l1_config": "shared"}
        | {"l1_input_kib": 1, "l1_weight_kib": 1, "l1_output_kib": 1, "l1_total_kib": 128}
        | {"l2_config": "shared", "l2_input_multiplier": 1, "l2_weight_multiplier": 1}
        | {"l2_output_multiplier": 1, "l2_total_multiplier": 2, "global_buffer_mib": 32}
        | {"gddr6_channels": 8, "native_batch": 16},
    ),
    "fast_many": (
        "fast",
        {"pes_x": 32, "pes_y": 1, "systolic_x": 256, "systolic_y": 128, "l1_config": "private"}
        | {"l1_input_kib": 256, "l1_weight_kib": 16, "l1_output_kib": 128, "l1_total_kib": 1}
        | {"l2_config": "private", "l2_input_multiplier": 64, "l2_weight_multiplier": 4}
        | {"l2_output_multiplier": 2, "l2_total_multiplier": 1, "global_buffer_mib": 64}
        | {"gddr6_channels": 2, "native_batch": 256},
    ),
}

CASES: tuple[Case, ...] = (
    ("resnet18", "edge", "exact", "casco", "auto"),
    ("resnet18", "edge", "imperfect", "casco", "auto"),
    ("mobilenetv2", "edge", "exact", "casco", "auto"),
    ("resnet18", "tpu_v3", "exact", "casco", "auto"),
    ("resnet50", "tpu_v3", "exact", "casco", "auto"),
    ("resnet18", "fast_small", "imperfect", "casco", "auto"),
    ("resnet18", "fast_few", "exact", "casco", "auto"),
    ("resnet18", "fast_many", "exact", "casco", "auto"),
    ("resnet18", "edge", "exact", "none", "auto"),
    ("resnet18", "tpu_v3", "imperfect", "optimus", "auto"),
    ("resnet18", "edge", "exact", "casco", "local"),
)


def design(name: str) -> Hardware:
    """A preset, or a point of a template space."""
    if name not in POINTS:
        return preset(name)
    template, point = POINTS[name]
    built = HardwareSpace.load(template).build(point)
    if isinstance(built, Infeasible):
        raise InfeasibleError(built)
    return built


def measure(case: Case, budgets: list[int], first: int, budget: str, seed: int) -> list[Spent]:
    """Return ln EDP, CPU seconds and what was spent, after each of the budgets."""
    name, hardware, factors, fusion, mapping = case
    settings = SoftwareSettings(fusion, 8, mapping, first, factors, budget=budget)
    task = SoftwareTask(design(hardware), (network(name),), settings, seed)
    _evaluator.cache_clear()
    _search.cache_clear()
    _shared.cache_clear()
    state, found, spent = None, [], 0.0
    for before, after in pairwise([0, *budgets]):
        began = time.process_time()
        result = advance(task, state, after - before)
        spent += time.process_time() - began
        state = result.state
        shares = result.networks[name].spent
        note = f"{shares['plans']} plans, {shares['mappings']} mappings" if shares else ""
        found.append((log(result.curve.edp[-1]), spent, note))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budgets", type=int, nargs="+", default=[64, 192, 448])
    parser.add_argument("--first", type=int, nargs="+", default=[100_000, 400_000])
    parser.add_argument("--cases", type=int, nargs="+", default=list(range(len(CASES))))
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    for case in CASES[:2]:  # compile
        measure(case, [8], 2000, "shared", 0)
    runs = defaultdict(list)
    for case in (CASES[i] for i in args.cases):
        print(" ".join(case))
        for first in args.first:
            for budget in BUDGETS:
                found = measure(case, args.budgets, first, budget, args.seed)
                runs[budget, first].append([(ln_edp, cpu_s) for ln_edp, cpu_s, _ in found])
                cells = "".join(f"{ln_edp:10.4f} {cpu_s:6.2f} s" for ln_edp, cpu_s, _ in found)
                print(f"  {budget:7}{first:10,}{cells}  {found[-1][2]}", flush=True)
    print("means")
    for (budget, first), figures in runs.items():
        cells = "".join(f"{j:10.4f} {s:6.2f} s" for j, s in np.array(figures).mean(axis=0))
        print(f"  {budget:7}{first:10,}{cells}")


if __name__ == "__main__":
    main()
