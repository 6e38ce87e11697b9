"""Whether the joint planner finds the best plan of small networks: what it says, against all plans.

    python benchmarks/agreement/plan_by_enumeration.py [--cases 300] [--first 0] [--json FILE]

Networks of up to five layers with ranks of up to 8 are drawn (chains of products, gates, attention
with projections), and designs whose buffer holds a part of what they use. All paths through the
cuts of each are listed, every step in all of its tilings, which are priced, and in all nests of up
to two loops that may be better than the plan that was found. Prints how often a plan is better than
the planner's, and how often the planner says that none is. Exits with 1 where it says so wrongly.
"""

import argparse
import json
import sys
import time
from math import exp
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from archloom.evaluators.fusion.plan import NetworkCost
from archloom.evaluators.hardware import access_costs
from archloom.search.fusion.joint.planner import PROVEN, JointPlanner
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.mapping.mapper import Mapper
from archloom.search.registry import MAPPING_SEARCHES
from benchmarks.code_version import code_version
from tests.cases.small_nests import longer_case
from tests.oracles.enumerated_steps import least_product

#: relative difference of energy x latency that is none: the leakage of a plan is rounded to
#: 2^-8 pJ, and small plans take some 1,000 pJ
EQUAL = 1e-6

Row = dict[str, Any]


def examined(seed: int) -> Row:
    """Return what the planner finds for a case, and what there is."""
    case = longer_case(np.random.default_rng(seed))
    mapper = Mapper(MAPPING_SEARCHES["auto"](), 4000, seed=1)
    price = MemoizedPlanEvaluator(case.network, case.hardware, mapper)
    planner, began = JointPlanner(price), time.process_time()
    state = planner.advance(planner.start(0), 10**6)
    cpu_s, cost = time.process_time() - began, price.plan(state.best)
    assert isinstance(cost, NetworkCost)
    leakage_pj = access_costs(case.hardware).leakage_pj_per_cycle * cost.latency_cycles
    energy = sum(group.dynamic_pj for group in cost.groups) + leakage_pj
    found = energy * cost.latency_cycles
    return {
        "seed": seed,
        "layers": len(case.network.layers),
        "edp_js": exp(state.history[-1]),
        "over_least": found / least_product(price, found),
        "proven": PROVEN in state.notes,
        "cpu_s": cpu_s,
    }


def summary(rows: list[Row]) -> str:
    """Return how often the planner's plan is the best, and how far off others are."""
    ratios = [row["over_least"] for row in rows]
    equal = sum(ratio <= 1 + EQUAL for ratio in ratios)
    near = [sum(ratio <= 1 + share for ratio in ratios) for share in (0.01, 0.05)]
    return (
        f"{len(rows)} cases: {equal} plans are the best, {near[0]} within 1%, {near[1]} within 5%, "
        f"at worst {100 * (max(ratios) - 1):.2f}% over it; "
        f"{sum(row['proven'] for row in rows)} proven; planner "
        f"{np.median([row['cpu_s'] for row in rows]):.2f} CPU-s in the median"
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--json", type=Path, help="file that the figures go to")
    given = parser.parse_args(arguments)
    rows = list[Row]()
    for seed in range(given.first, given.first + given.cases):
        rows.append(examined(seed))
        if rows[-1]["over_least"] > 1 + EQUAL:
            print(rows[-1], flush=True)
        if given.json is not None:
            found = {"version": code_version(), "cases": rows}
            given.json.write_text(json.dumps(found) + "\n")
    print(summary(rows))
    return int(any(row["proven"] and row["over_least"] > 1 + EQUAL for row in rows))


if __name__ == "__main__":
    sys.exit(main())
