"""Is a front that lower bounds prove the front of measuring every design?

Two tiny networks on the feasible designs of ``benchmarks/data/casco_edge_coarse.yaml`` under tight
caps, layer by layer with exact mappings. All designs are measured; then the front is proven with
:class:`archloom.search.prospects.Prospects`, from the same measurements. Exits with 1 if the two
fronts differ, or if a measurement is below a bound.

    python benchmarks/front_by_enumeration.py            # 2,000 designs
"""

import argparse
import sys
from math import exp, fsum, log
from pathlib import Path
from time import process_time

import numpy as np

from archloom.search.candidates import Candidate, DesignProblem
from archloom.search.pareto import non_dominated
from archloom.search.prospects import Prospects
from archloom.search.protocols import Observation
from archloom.search.software import SoftwareSettings, SoftwareTask, advance
from archloom.space.hardware import Hardware
from archloom.space.hardware_space import HardwareSpace
from archloom.space.networks import network

SPACE = Path(__file__).with_name("data") / "casco_edge_coarse.yaml"
NETWORKS = (network("tiny_cnn"), network("tiny_mlp"))
SOFTWARE = SoftwareSettings(fusion="none", mapping="exact")


def measured(problem: DesignProblem, candidate: Candidate) -> Observation:
    """Return the result of a design's software search."""
    hardware = problem.space.build(candidate.point)
    assert isinstance(hardware, Hardware)
    found = advance(SoftwareTask(hardware, NETWORKS, SOFTWARE, 0), None, 1)
    if found.infeasible:
        return Observation(candidate.point, None, 0, found.infeasible.reason)
    logs = [log(found.networks[n.name].edp_js) for n in NETWORKS]
    edp = exp(fsum(logs) / len(logs))
    return Observation(candidate.point, (edp, candidate.area_mm2, candidate.tdp_w), 1)


def front_of(seen: list[Observation]) -> np.ndarray:
    """Return the distinct values of the front: [k, 3], sorted."""
    rows = np.array([o.values for o in seen if o.values is not None])
    return np.asarray(np.unique(rows[non_dominated(rows)], axis=0))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--area", type=float, default=4.5, help="cap in mm2")
    parser.add_argument("--tdp", type=float, default=1.1, help="cap in W")
    options = parser.parse_args()
    space = HardwareSpace.load(SPACE)
    problem = DesignProblem(space, NETWORKS, options.area, options.tdp, plans="layer_by_layer")
    designs = problem.feasible()
    print(f"{len(designs)} feasible designs of {space.cardinality} points", flush=True)
    began = process_time()
    results = {c.key: measured(problem, c) for c in designs}
    print(f"all measured in {process_time() - began:.0f} CPU-s", flush=True)
    below = [
        c.key
        for c in designs
        if (values := results[c.key].values)
        and values[0] * (1 + 1e-9) < problem.tightened(c).values[0]
    ]
    prospects, seen = Prospects(problem), []
    while points := prospects.promising(4):
        for point in points:
            seen.append(results[space.point_key(point)])
            prospects.tell(seen[-1])
        prospects.tighten()
    whole, proven = front_of(list(results.values())), front_of(seen)
    same = whole.shape == proven.shape and bool((whole == proven).all())
    print(f"front of all: {len(whole)}; proven from {len(seen)} measurements: {len(proven)}")
    print(f"{'the same' if same else 'NOT the same'}; {len(below)} measurements below a bound")
    return 0 if same and not below else 1


if __name__ == "__main__":
    sys.exit(main())
