"""How long it takes to prove the best mapping of each architecture and problem of a cases file.

    python benchmarks/mapping/exact_mapping.py [CASES] [--objective edp] [--both-axes]
        [--free-bypass]

Small budgets are spent on all pairs to compile, then each is solved: CPU seconds of one core.
What is kept is as in the pair's first case. Three optima that another program proved are compared.
Exits with 1 where one of them differs, a pair is not proven, or a target is missed.
"""

import argparse
import sys
import time
from dataclasses import dataclass, replace
from math import exp
from pathlib import Path
from statistics import median

from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.exact.search import prove
from archloom.space.importers.cases.reader import Case, read_cases
from archloom.space.mapping.constraints import UNCONSTRAINED, kept_as

CASES = Path(__file__).parents[2] / "tests" / "data" / "timeloop_cases.jsonl"

#: exponents of energy and of latency
OBJECTIVES = {"edp": (1.0, 1.0), "energy": (1.0, 0.0), "latency": (0.0, 1.0)}

#: EDP in pJ x cycles, no dimension along both axes
KNOWN = {
    ("A1_rf256", "resnet18_conv3x3"): 2.78233713e14,
    ("A5_ws_accum", "gemm_768x768x64"): 1.19909796e14,
    ("A3_twolevel", "fc_512_1000"): 3.487446528e12,
}

#: CPU seconds: each of the known, the median of all, the longest
KNOWN_S, MEDIAN_S, LONGEST_S = 0.1, 0.01, 1.0

#: evaluations of each pair, and of each to compile
BUDGET, FIRST = 10**9, 10**5


@dataclass(frozen=True)
class Row:
    """What came of one pair."""

    pair: tuple[str, str]
    objective: float
    gap: float
    evaluations: int
    cpu_s: float


def solve(case: Case, options: argparse.Namespace, budget: int = BUDGET) -> Row:
    assert case.mapping is not None
    constraints = kept_as(case.mapping, case.hardware)
    if options.free_bypass:
        constraints = UNCONSTRAINED
    constraints = replace(constraints, both_axes=options.both_axes)
    problem = replace(MappingProblem.of_layer(case.layer, case.hardware), constraints=constraints)
    began = time.process_time()
    found = prove(problem, budget, weights=OBJECTIVES[options.objective])
    spent = time.process_time() - began
    assert found.best is not None
    pair = (case.hardware.name, case.layer.name)
    return Row(pair, exp(found.best.score), found.gap_percent, found.evaluations, spent)


def first_cases(path: Path) -> list[Case]:
    """Return the first case of each pair."""
    pairs: dict[tuple[str, str], Case] = {}
    for case in read_cases(path):
        if isinstance(case, Case) and case.mapping is not None:
            pairs.setdefault((case.hardware.name, case.layer.name), case)
    return [pairs[pair] for pair in sorted(pairs)]


def missed(rows: list[Row], options: argparse.Namespace) -> list[str]:
    """Return every target that was missed."""
    found = [f"{'/'.join(row.pair)}: {row.gap:.2g}% not proven" for row in rows if row.gap]
    plain = options.objective == "edp" and not options.both_axes and not options.free_bypass
    for row in rows:
        known = KNOWN.get(row.pair) if plain else None
        if known and abs(row.objective - known) > 1e-8 * known:
            found.append(f"{'/'.join(row.pair)}: {row.objective:.9g}, known is {known:.9g}")
        if known and row.cpu_s > KNOWN_S:
            found.append(f"{'/'.join(row.pair)}: {row.cpu_s:.3f} CPU-s, at most {KNOWN_S}")
    times = [row.cpu_s for row in rows]
    if plain and (median(times) > MEDIAN_S or max(times) > LONGEST_S):
        found.append(f"median {median(times):.4f}, longest {max(times):.3f} CPU-s")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="?", type=Path, default=CASES)
    parser.add_argument("--objective", choices=OBJECTIVES, default="edp")
    parser.add_argument("--both-axes", action="store_true", help="a dimension along x and y")
    parser.add_argument("--free-bypass", action="store_true", help="any permitted bypass")
    options = parser.parse_args()
    cases = first_cases(options.cases)
    # which kernels run depends on networks, ports and what bounds leave open
    for case in cases:
        solve(case, options, FIRST)
    rows = []
    for case in cases:
        rows.append(solve(case, options))
        row = rows[-1]
        print(
            f"{'/'.join(row.pair):36} {row.objective:16.10g} {row.gap:6.2f}% "
            f"{row.evaluations:>10} {row.cpu_s:9.4f} CPU-s",
            flush=True,
        )
    times = [row.cpu_s for row in rows]
    print(f"{len(rows)} pairs: median {median(times):.4f}, longest {max(times):.3f} CPU-s")
    sys.exit("\n".join(missed(rows, options)) or None)


if __name__ == "__main__":
    main()
