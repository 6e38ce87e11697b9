"""Layers a microsecond of CPU time that are simulated, woven by rules, and woven by beams.

    python benchmarks/weaving/speed.py [--full] [--buffers 1000]

Streams of four pairs of networks on the memory-centric NPU with 48 MiB, one thread; a rule's figure
includes its own account of both engines. The paper's scheduler does 15 layers a microsecond on a
core of 4.2 GHz (Section III-E). Beams weave one query of each network. Each figure is the best of
several runs. ``--full``: all 16 pairs, and longer streams.
"""

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import process_time
from typing import Final

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from archloom.evaluators.weaving import Ticks, makespan, suffix_bounds
from archloom.search.weaving.applied import ByIdleTime, ByStrings, ByThresholds, Rule
from archloom.search.weaving.diagrams import Limits, diagram, problem_of
from tests.cases.woven_pairs import COMPUTE, MEMORY, pair

RULES: Final[dict[str, Rule]] = {
    "strings": ByStrings(0.5),
    "layerweaver": ByIdleTime(),
    "ai_mt": ByThresholds(0.1, 0.1, 0),
}


def fastest(layers: int, run: Callable[[], object], times: int = 5) -> float:
    """Return layers a microsecond of the best of several runs."""
    best = np.inf
    for _ in range(times):
        begun = process_time()
        run()
        best = min(best, process_time() - begun)
    return layers / best / 1e6


def beam(work: Ticks, width: int) -> Callable[[], object]:
    problem, order = problem_of(work, suffix_bounds(work)), np.empty(work.first[-1], np.int64)
    return lambda: diagram(problem, Limits(2**60, width, 0, 2**60), order)


def speeds(work: Ticks, buffers: int) -> dict[str, float]:
    """Return layers a microsecond of everything on one pair."""
    horizon = buffers * work.buffer
    found: dict[str, float] = {}
    for name, rule in RULES.items():
        _, order = rule(work, horizon)
        found[name] = fastest(len(order.chain), partial(rule, work, horizon))
    found["simulator"] = fastest(len(order.chain), partial(makespan, work, order))
    for width in (1, 4, 16, 64):
        found[f"beam of {width}"] = fastest(int(work.first[-1]), beam(work, width), 3)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--buffers", type=int, default=1000, help="length of streams, in buffers")
    parser.add_argument("--full", action="store_true", help="all pairs, longer streams")
    chosen = parser.parse_args()
    names = [(one, other) for one in COMPUTE for other in MEMORY]
    if chosen.full:
        chosen.buffers *= 4
    else:
        names = names[::5]
    table: dict[str, list[float]] = {}
    for both in names:
        for name, speed in speeds(pair(both, "memory_centric"), chosen.buffers).items():
            table.setdefault(name, []).append(speed)
    print(f"layers a microsecond of {len(names)} pairs: mean, least")
    for name, found in table.items():
        print(f"{name:12} {np.mean(found):8.2f} {min(found):8.2f}")


if __name__ == "__main__":
    main()
