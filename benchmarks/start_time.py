"""How much CPU time it takes until the first mapping has a cost, in fresh processes.

    python benchmarks/start_time.py

For each way to use the kernels: with nothing compiled, with everything in the cache, and for
another architecture (more levels, other tensors kept) in the same process. Imports are not in it.
Exits with 1 if another architecture takes more than 3 s or a start from the cache more than 0.5 s.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

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


def first_costs(way: str, cache: str) -> list[float]:
    """Return CPU-seconds until the first cost of each architecture, kernels from ``cache``."""
    from archloom.evaluators import compiled

    # before any kernel is imported: they are decorated with it
    compiled._folder = lambda: cache
    from throughput_designs import ARCHITECTURES, problem_of

    from archloom.evaluators.kernel import evaluate_batch
    from archloom.evaluators.lanes import evaluate_lanes
    from archloom.search.mapping_search import LocalMapping, RandomMapping

    found = []
    for name in ARCHITECTURES:
        began = time.process_time()
        problem = problem_of(name)
        start = LocalMapping().start(problem, 0)
        loops, keep = start.best_loops[None], start.best_keep[None]
        if way == "one":
            evaluate_batch(problem.setup, loops, keep)
        elif way == "lanes":
            evaluate_lanes(problem.setup, loops.repeat(640, axis=0), keep.repeat(640, axis=0))
        else:
            search = RandomMapping() if way == "random" else LocalMapping()
            search.best(problem, search.advance(problem, search.start(problem, 0), 1000))
        found.append(time.process_time() - began)
    return found


def start_times() -> list[str]:
    """Print the times of all ways and return those that are too long."""
    print(f"\n{'CPU-seconds to the first cost':40}{'compiled':>10}{'cached':>10}{'another':>10}")
    slow = []
    for way, title in WAYS.items():
        with tempfile.TemporaryDirectory() as cache:
            command = [sys.executable, __file__, way, cache]
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
    if len(sys.argv) == 3:
        print(*first_costs(*sys.argv[1:]))
    else:
        sys.exit("\n".join(start_times()) or None)
