"""Whether the exact mapping search finds what listing all mappings finds: always.

    python benchmarks/agreement/exact_by_enumeration.py [--problems 5000] [--first 0] [--rough]

Problems of one to five levels are drawn as in the tests. All mappings of each are listed and priced
by the batch kernel, without any code of the search: tilings, orders, spatial choices, and bypass
where it is free. For EDP, energy, latency and E x D x D the proven optimum must be theirs, and its
mapping walked word by word must cost as much; the front must be theirs; a search that is cut at
a random budget must leave a bound and a gap that hold; annealing and random search must not find
less. ``--rough`` draws shares and rates that are no sums of powers of two. Exits with 1 where
anything differs.
"""

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.cases.wide_problems import kinds, wide_problem
from tests.oracles.examined import differences

#: differing problems that are printed
PRINTED = 5


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=5000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--rough", action="store_true")
    given = parser.parse_args(arguments)
    found: Counter[str] = Counter()
    mappings, wrong, began = 0, 0, time.process_time()
    for number in range(given.first, given.first + given.problems):
        wide = wide_problem(number, given.rough)
        found.update(kinds(wide))
        mappings += wide.mappings
        faults = list(differences(number, wide))
        wrong += bool(faults)
        if faults and wrong <= PRINTED:
            print(f"problem {number}, {wide.problem.bounds}: {'; '.join(faults)}")
    print("| problems | what |\n|---:|---|")
    for kind, count in found.most_common():
        print(f"| {count:,} | {kind} |")
    print(
        f"{given.problems:,} problems, {mappings:,} mappings, "
        f"{time.process_time() - began:,.0f} CPU-seconds: {given.problems - wrong:,} agree in "
        f"everything, {wrong:,} do not"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
