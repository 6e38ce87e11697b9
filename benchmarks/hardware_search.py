"""How fast do hardware optimizers find a front that is known exactly?

The problem: ResNet-18 and MobileNetV2 on edge accelerators of at most 20 mm2 and 2 W
(``benchmarks/data/casco_edge_coarse.yaml``), layer by layer, every layer with its exact mapping;
EDP (geometric mean), area and TDP are minimised. Evaluations are kept in a file and shared by all
runs, so that a stopped run goes on where it was.

    python benchmarks/hardware_search.py exact     # prove the front, keep it with its certificate
    python benchmarks/hardware_search.py curves    # hypervolume of every optimizer against it

``curves`` prints, for numbers of evaluations, medians and ranges of the hypervolume over seeds, in
percent of the exact front's (logarithms; the corner lies a tenth above the worst values of the
exact front). CPU seconds are of the optimizer alone, of a whole run.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from math import exp, fsum, log
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import numpy as np

from archloom.search.candidates import Candidate, DesignProblem
from archloom.search.pareto import hypervolume, non_dominated
from archloom.search.prospects import Prospects
from archloom.search.protocols import HardwareOptimizer, Observation
from archloom.search.registry import hardware_optimizer, hardware_optimizer_names
from archloom.search.software import SoftwareSettings, SoftwareTask, advance
from archloom.space.hardware import Hardware
from archloom.space.hardware_space import HardwareSpace, Point
from archloom.space.networks import network

DATA = Path(__file__).with_name("data")
SPACE, FRONT = DATA / "casco_edge_coarse.yaml", DATA / "casco_edge_coarse_front.json"
NETWORKS = (network("resnet18"), network("mobilenetv2"))
AREA_MM2, TDP_W = 20.0, 2.0
SOFTWARE = SoftwareSettings(fusion="none", mapping="exact")

#: Evaluations that the optimizer leads with before the proof begins, and those of a batch.
LEAD, BATCH = 60, 4

COUNTS = (10, 20, 30, 40, 60, 80, 100)


def problem_of(space: Path | str) -> DesignProblem:
    """Return the problem on a space."""
    return DesignProblem(
        HardwareSpace.load(space), NETWORKS, AREA_MM2, TDP_W, plans="layer_by_layer"
    )


class Evaluations:
    """EDPs of designs, measured once and kept in a file: a JSON object on each line."""

    def __init__(self, problem: DesignProblem, path: Path) -> None:
        self._problem, self._path = problem, path
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text().splitlines() if path.exists() else []
        records = [json.loads(line) for line in lines]
        self._known: dict[str, list[float]] = {r["key"]: r["edps"] for r in records}

    def __call__(self, point: Point) -> Observation:
        """Return the result of a design's software search."""
        key = self._problem.space.point_key(point)
        if key not in self._known:
            self._measure(point, key)
        found = self._problem.assess(point)
        assert isinstance(found, Candidate)
        edps = self._known[key]
        if not edps:
            return Observation(point, None, 0, "infeasible")
        mean = exp(fsum(map(log, edps)) / len(edps))
        return Observation(point, (mean, found.area_mm2, found.tdp_w), 1)

    def _measure(self, point: Point, key: str) -> None:
        hardware = self._problem.space.build(point)
        assert isinstance(hardware, Hardware)
        began = process_time()
        found = advance(SoftwareTask(hardware, NETWORKS, SOFTWARE, 0), None, 1)
        seconds = round(process_time() - began, 3)
        edps = [] if found.infeasible else [found.networks[n.name].edp_js for n in NETWORKS]
        self._known[key] = edps
        with self._path.open("a") as file:
            file.write(json.dumps({"key": key, "edps": edps, "cpu_s": seconds}) + "\n")


def prove(problem: DesignProblem, evaluate: Evaluations, until: int) -> dict[str, Any]:
    """Return the front with its certificate, after ``until`` evaluations at the most."""
    prospects, optimizer = Prospects(problem), hardware_optimizer("mobo")(problem, 0)
    found: list[Observation] = []
    while len(found) < until:
        if len(found) < LEAD:
            points = optimizer.ask(BATCH, ())
        else:
            prospects.tighten()
            points = prospects.promising(BATCH)
        if not points:
            break
        seen = [evaluate(point) for point in points]
        for observation in seen:
            prospects.tell(observation)
        if len(found) < LEAD:
            optimizer.tell(seen)
        found += seen
        print(f"{len(found)} evaluated, {prospects.open} open", flush=True)
    priced = [o for o in found if o.values is not None]
    best = non_dominated([o.values for o in priced if o.values is not None])
    members = [o for o, on in zip(priced, best, strict=True) if on]
    members.sort(key=lambda o: o.values or ())
    proof = prospects.certificate()
    assert proof is not None
    return {
        "space": problem.space.name,
        "caps": {"area_mm2": AREA_MM2, "tdp_w": TDP_W},
        "networks": [n.name for n in NETWORKS],
        "certificate": proof.to_dict() | {"proven": proof.proven, "share": proof.share},
        "front": [
            {"design": problem.space.point_key(o.point), "values": o.values} for o in members
        ],
    }


def run(
    optimizer: HardwareOptimizer, evaluate: Evaluations, evaluations: int
) -> tuple[list[tuple[float, ...]], float]:
    """Return the values of each evaluation, and CPU seconds of the optimizer."""
    rows: list[tuple[float, ...]] = []
    done, seconds = 0, 0.0
    while done < evaluations:
        began = process_time()
        points = optimizer.ask(min(BATCH, evaluations - done), ())
        seconds += process_time() - began
        if not points:
            break
        seen = [evaluate(point) for point in points]
        began = process_time()
        optimizer.tell(seen)
        seconds += process_time() - began
        done += len(points)
        rows += [o.values or (np.inf,) * 3 for o in seen]
    return rows, seconds


def shares(
    rows: Sequence[tuple[float, ...]], exact: np.ndarray, counts: Sequence[int]
) -> list[float]:
    """Return the percentages of the exact hypervolume after numbers of evaluations."""
    corner = (1.1 * exact.max(axis=0)).tolist()
    whole = hypervolume(exact, corner)
    found = np.array(rows)
    parts = (found[:n][np.isfinite(found[:n]).all(axis=1)] for n in counts)
    return [100 * hypervolume(part, corner) / whole for part in parts]


def table(
    names: Sequence[str],
    seeds: int,
    counts: Sequence[int],
    problem: DesignProblem,
    evaluate: Evaluations,
) -> Iterator[str]:
    """Yield the lines of a Markdown table, one for each optimizer."""
    exact = np.array([member["values"] for member in json.loads(FRONT.read_text())["front"]])
    yield "| optimizer | " + " | ".join(map(str, counts)) + " | CPU s |"
    yield "|---" * (len(counts) + 2) + "|"
    for name in names:
        curves, spent = [], []
        for seed in range(seeds):
            rows, seconds = run(hardware_optimizer(name)(problem, seed), evaluate, counts[-1])
            curves.append(shares(rows, exact, counts))
            spent.append(seconds)
            print(name, seed, [f"{share:.1f}" for share in curves[-1]], file=sys.stderr, flush=True)
        cells = [
            f"{median(column):.1f} ({min(column):.1f}-{max(column):.1f})"
            for column in zip(*curves, strict=True)
        ]
        yield f"| {name} | " + " | ".join(cells) + f" | {median(spent):.1f} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("what", choices=("exact", "curves"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--optimizers", nargs="+", default=hardware_optimizer_names())
    parser.add_argument("--evaluations", type=int, help="of 'exact' or of a run, at the most")
    parser.add_argument("--out", type=Path, default=Path("runs/hardware_search"))
    options = parser.parse_args()
    problem = problem_of(SPACE)
    evaluate = Evaluations(problem, options.out / "evaluations.jsonl")
    if options.what == "exact":
        found = prove(problem, evaluate, options.evaluations or problem.space.cardinality)
        FRONT.write_text(json.dumps(found, indent=1) + "\n")
        print(json.dumps(found["certificate"]))
        return 0 if found["certificate"]["proven"] else 1
    counts = [n for n in COUNTS if n <= (options.evaluations or COUNTS[-1])]
    for line in table(options.optimizers, options.seeds, counts, problem, evaluate):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
