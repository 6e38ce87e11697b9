"""How much CPU time it takes until the first mapping has a cost, in fresh processes.

    python benchmarks/mapping/start_time.py [one] [lanes] [random] [local]

For each way to use the kernels: with nothing compiled, with everything in the cache, and for
another architecture (more levels, other tensors kept) in the same process. Imports are not in it.
Exits with 1 if another architecture takes more than 3 s or a start from the cache more than 0.5 s.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from archloom.evaluators.arrays import Flags, Ints
    from archloom.evaluators.loopnest.kernel_inputs import KernelInputs

WAYS = {
    "one": "one mapping evaluated (reports)",
    "lanes": "640 mappings evaluated in lanes",
    "random": "random search, 1000 mappings",
    "local": "annealing, 1000 mappings",
}
#: most seconds for another architecture, and for a start from the cache
ANOTHER, CACHED = 3.0, 0.5
#: starts from the cache, of which the fastest counts
AGAIN = 3


def everything_outermost(setup: "KernelInputs") -> tuple["Ints", "Flags"]:
    """Return a mapping, as a batch of one: tiles of single words, all loops at DRAM."""
    loops = np.ones((1, len(setup.fanout), 4, 8), np.int64)
    loops[:, -1, 0] = setup.bounds
    loops[:, :, 3] = np.arange(8)
    return loops, setup.allowed[None]


def first_costs(way: str, cache: str) -> list[float]:
    """Return CPU-seconds until the first cost of each architecture, kernels from ``cache``."""
    # before any kernel is imported: numba reads it then
    os.environ["NUMBA_CACHE_DIR"] = cache
    from throughput_designs import ARCHITECTURES, problem_of

    from archloom.evaluators.loopnest.kernel import evaluate_batch
    from archloom.evaluators.loopnest.simd.batch_kernel import evaluate_simd
    from archloom.search.mapping.random_sampling import RandomMapping
    from archloom.search.mapping.simd.searches import LocalMapping

    found = []
    for name in ARCHITECTURES:
        began = time.process_time()
        problem = problem_of(name)
        loops, keep = everything_outermost(problem.setup)
        if way == "one":
            evaluate_batch(problem.setup, loops, keep)
        elif way == "lanes":
            evaluate_simd(problem.setup, loops.repeat(640, axis=0), keep.repeat(640, axis=0))
        else:
            search = RandomMapping() if way == "random" else LocalMapping()
            search.best(problem, search.advance(problem, search.start(problem, 0), 1000))
        found.append(time.process_time() - began)
    return found


def start_times(ways: Sequence[str] = tuple(WAYS)) -> list[str]:
    """Print the times of some ways and return those that are too long."""
    print(f"\n{'CPU-seconds to the first cost':40}{'compiled':>10}{'cached':>10}{'another':>10}")
    slow = []
    for way in ways:
        title = WAYS[way]
        with tempfile.TemporaryDirectory() as cache:
            command = [sys.executable, __file__, way, "--cache", cache]
            first, *others = (
                [float(s) for s in subprocess.run(command, **_PIPED).stdout.split()]
                for _ in range(1 + AGAIN)
            )
        cached, another = (min(times[i] for times in others) for i in (0, 1))
        print(f"{title:40}{first[0]:10.2f}{cached:10.2f}{another:10.3f}")
        if another > ANOTHER or cached > CACHED:
            slow.append(f"{title}: {cached:.2f} s from the cache, {another:.2f} s for another one")
    return slow


_PIPED = {"check": True, "capture_output": True, "text": True, "cwd": Path(__file__).parent}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("ways", nargs="*", choices=WAYS, default=list(WAYS), metavar="way")
    parser.add_argument("--cache", help="measure one way in this process, with kernels from here")
    options = parser.parse_args()
    if options.cache:
        print(*first_costs(options.ways[0], options.cache))
    else:
        sys.exit("\n".join(start_times(options.ways)) or None)
