"""Whether FAST's integer program finds the best of all choices under its own constraints: always.

    python benchmarks/agreement/integer_by_enumeration.py [--problems 500] [--first 0]

Problems of two to ten layers are drawn as in the tests: chains and branching networks, reads that
the hardware cannot keep, shared weights, results that leave although they are read. All choices of
reads and weights are listed, and inequalities checked one by one, without any code of the program;
latency, energy and a weighted sum take turns as objective. Exits with 1 where anything differs.
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from archloom.search.fusion.fast.model import FORMS
from tests.cases.pinning_problems import differs


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args(arguments)
    wrong = 0
    for form in FORMS:
        for kind in ("chain", "branching"):
            began = time.process_time()
            seeds = range(given.first, given.first + given.problems)
            found = [said for seed in seeds if (said := differs(seed, form, kind))]
            wrong += len(found)
            cpu = time.process_time() - began
            print(f"{form}, {kind}: {len(seeds)} problems, {len(found)} differ, {cpu:.0f} CPU-s")
            print("\n".join(found[:5]), end="\n" if found else "")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
