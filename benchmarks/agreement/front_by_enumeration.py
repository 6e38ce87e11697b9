"""Is a front that lower bounds prove the front of measuring every design?

Two tiny networks on the feasible designs of ``benchmarks/data/casco_edge_coarse.yaml`` under tight
caps, layer by layer with exact mappings. All designs are measured; then the front is proven with
:class:`archloom.search.hardware.certify.pruning.DominancePruner`, from the same measurements. Exits
with 1 if the two fronts differ, or if a measurement is below a bound.

    python benchmarks/agreement/front_by_enumeration.py            # 2,000 designs
"""

import argparse
import sys
from math import exp, fsum, log
from pathlib import Path
from time import process_time

import numpy as np

from archloom.search.hardware.certify.pruning import DominancePruner
from archloom.search.hardware.problem import Candidate, DesignProblem
from archloom.search.hardware.protocol import Observation
from archloom.search.pareto import non_dominated
from archloom.search.software.search import SoftwareSettings, SoftwareTask, advance
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network

SPACE = Path(__file__).parents[1] / "data" / "casco_edge_coarse.yaml"
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
    parser.add_argument("--space", type=Path, default=SPACE)
    options = parser.parse_args()
    space = HardwareSpace.load(options.space)
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
    pruner, seen = DominancePruner(problem), []
    while points := pruner.best_candidates(4):
        for point in points:
            seen.append(results[space.point_key(point)])
            pruner.tell(seen[-1])
        pruner.tighten()
    whole, proven = front_of(list(results.values())), front_of(seen)
    same = whole.shape == proven.shape and bool((whole == proven).all())
    print(f"front of all: {len(whole)}; proven from {len(seen)} measurements: {len(proven)}")
    print(f"{'the same' if same else 'NOT the same'}; {len(below)} measurements below a bound")
    return 0 if same and not below else 1


if __name__ == "__main__":
    sys.exit(main())
