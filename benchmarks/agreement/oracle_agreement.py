"""How often the closed form of the cost model and a nest walked word by word agree: always.

    python benchmarks/agreement/oracle_agreement.py --cases 100000 [--seed 1] [--jobs 2]

Cases are random layers of all operators of the MAC array on random hardware under random
mappings, drawn as in the tests; see docs/validation/oracle.md. Each is evaluated by the compiled
kernel and by the simulator of the tests, and all figures must be equal to the last bit. Where they
are not, the first cases are printed, cut down to what makes them differ, and the exit code is 1.
"""

import argparse
import sys
import time
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import Pool
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.cases.mapped_layers import drawn
from tests.oracles.compared import differences, features, refused, shown, smallest

#: cases that a process takes at once
BATCH = 500
#: differing cases that are printed
PRINTED = 5


@dataclass
class Tally:
    """Cases by kind and by feature, refused mappings, steps walked, and the cases that differ."""

    kinds: Counter[str] = field(default_factory=Counter)
    features: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    macs: int = 0
    cpu_s: float = 0.0
    differ: list[int] = field(default_factory=list)

    def add(self, other: "Tally") -> None:
        """Take in the cases of another tally."""
        self.kinds += other.kinds
        self.features += other.features
        self.refused += other.refused
        self.macs += other.macs
        self.cpu_s += other.cpu_s
        self.differ += other.differ


def compared(seed: int, numbers: range) -> Tally:
    tally, began = Tally(), time.process_time()
    for number in numbers:
        case = drawn(seed, number)
        found = differences(case)
        tally.kinds[case.kind] += 1
        tally.features.update(features(case))
        tally.refused += refused(case)
        tally.macs += case.problem.macs
        if found:
            tally.differ.append(number)
    tally.cpu_s = time.process_time() - began
    return tally


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args(arguments)
    batches = [
        range(start, min(start + BATCH, given.cases)) for start in range(0, given.cases, BATCH)
    ]
    total, began = Tally(), time.monotonic()
    work = partial(compared, given.seed)
    with Pool(given.jobs) if given.jobs > 1 else nullcontext() as pool:
        for tally in pool.imap_unordered(work, batches) if pool else map(work, batches):
            total.add(tally)
    wall_s = time.monotonic() - began
    for kind, cases in sorted(total.kinds.items()):
        print(f"{cases:9,} {kind}")
    print("of these with")
    for feature, cases in total.features.most_common():
        print(f"{cases:9,} {feature}")
    print(
        f"{given.cases:,} cases of seed {given.seed}, {total.macs:,} multiply-accumulates walked; "
        f"{total.refused:,} mappings are refused by both"
    )
    print(f"{total.cpu_s:,.0f} CPU-seconds, {wall_s:,.0f} s with {given.jobs} processes")
    print(
        f"{given.cases - len(total.differ):,} agree in every figure, {len(total.differ):,} do not"
    )
    for number in sorted(total.differ)[:PRINTED]:
        case = smallest(drawn(given.seed, number))
        print(f"\ncase {number}, cut down: {'; '.join(differences(case))}\n{shown(case)}")
    return 1 if total.differ else 0


if __name__ == "__main__":
    sys.exit(main())
