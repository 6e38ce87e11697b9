"""Whether any lower bound is above the cost of a plan, without a tolerance: none may be.

    python benchmarks/agreement/bounds_below_costs.py [--triples 5000] [--first 0]

Draws designs (presets, points of the built-in spaces, small and random ones), networks and plans
(layer by layer, tiles, pins and steady weights, loop nests, sub-batches, folded layers) as in the
tests, prices the plans, and compares all figures with each bound that claims to hold. Prints how
many triples of each kind were compared, and how near the bounds come: costs divided by bounds, at
the median. Prints each bound that is above its cost; exits with 1 if there is one. Drawn are those
from number ``--first`` on, until so many plans are ones that the evaluator accepts. A fifth as many
plans are of layers whose maps and weights are larger than the buffer.
"""

import argparse
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from archloom.evaluators.fusion import NetworkCost

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.cases.bound_triples import KINDS, drawn_triple, features, held_against
from tests.cases.large_maps import large_costs, words_of_maps

#: plans of each network whose maps are large
LARGE_PLANS = 12

#: what is bounded for whole plans
BOUNDS = ("compulsory", "any plan", "layer by layer")
#: figures, as far as each of them bounds these
FIGURES = ("energy_pj", "latency_cycles", "dram_bytes", "edp_js")


class Tally:
    """Triples by kind, and ratios of costs to bounds by kind and name of the bound."""

    def __init__(self) -> None:
        self.kinds, self.refused, self.features = Counter[str](), Counter[str](), Counter[str]()
        self.ratios: dict[tuple[str, str], list[float]] = defaultdict(list)
        self.compared = self.above = 0

    def add(self, number: int) -> None:
        """Compare a triple."""
        triple = drawn_triple(number)
        if triple is None:
            self.refused[KINDS[number % len(KINDS)]] += 1
            return
        self.kinds[triple.kind] += 1
        self.features.update(features(triple))
        self._compare(number, triple.kind, triple.cost)

    def add_large(self, number: int) -> Counter[str]:
        """Compare plans of a network with large maps; returns how many, and how many of them have
        maps that cost words, with a loop nest or not."""
        found = Counter[str]()
        for cost in large_costs(number, LARGE_PLANS):
            found["plans"] += 1
            if words_of_maps(cost.network, cost.hardware):
                found["with words"] += 1
                found["with a nest"] += any(group.group.nest is not None for group in cost.groups)
            self._compare(number, "large maps", cost)
        return found

    def _compare(self, number: int, kind: str, found: NetworkCost) -> None:
        for name, bound, cost in held_against(found):
            self.compared += 1
            if not bound <= cost:
                self.above += 1
                print(f"triple {number}, {kind}: {name} {bound!r} is above {cost!r}")
            if bound > 0:
                self.ratios[kind, name].append(cost / bound)


def _median(values: list[float]) -> str:
    return f"{median(values):.2f}" if values else "-"


def main() -> int:
    """Compare, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--triples", type=int, default=5000)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    tally, number, began = Tally(), given.first, time.process_time()
    while tally.kinds.total() < given.triples:
        tally.add(number)
        number += 1
    print(f"{'kind of plan':<16}{'triples':>8}{'refused':>9}  any plan: energy, latency, EDP")
    for kind in KINDS:
        ratios = [
            _median(tally.ratios[kind, f"any plan, {figure}"])
            for figure in ("energy_pj", "latency_cycles", "edp_js")
        ]
        print(f"{kind:<16}{tally.kinds[kind]:8,}{tally.refused[kind]:9,}  {', '.join(ratios)}")
    print("costs divided by bounds, at the median of all plans for which they hold")
    for bound in BOUNDS:
        print(f"{bound:<16}" + ", ".join(_nearness(tally, bound)))
    print("of these with")
    for feature, count in tally.features.most_common():
        print(f"{count:8,} {feature}")
    large, number_of_large = Counter[str](), given.first
    while large["plans"] < given.triples // 5:
        large += tally.add_large(number_of_large)
        number_of_large += 1
    ratios = tally.ratios["large maps", "any plan, energy_pj"]
    print(
        f"large maps: {large['plans']:,} plans, {large['with words']:,} of maps that cost words, "
        f"{large['with a nest']:,} of these with a loop nest; energy at least {min(ratios):.3f} "
        "times the bound"
    )
    spent = time.process_time() - began
    print(
        f"{tally.kinds.total():,} triples, numbers {given.first:,} to {number - 1:,}: "
        f"{tally.compared:,} figures compared, {tally.above:,} bounds above a cost; "
        f"{spent:,.0f} s of CPU"
    )
    return 1 if tally.above else 0


def _nearness(tally: Tally, bound: str) -> Iterator[str]:
    for figure in FIGURES:
        name = f"{bound}, {figure}"
        found = [value for kind in KINDS for value in tally.ratios.get((kind, name), ())]
        if found:
            yield f"{figure} {_median(found)}"


if __name__ == "__main__":
    sys.exit(main())
