"""How fast do hardware optimizers find a front of FAST's space, and how much of it is certain?

The space of FAST (Zhang et al., ASPLOS 2022, Table 3) has 1.65e12 points. The caps are area and TDP
of the TPU v3 preset at the same technology, as the paper's budget is "similar to the
current-generation TPU-v3". EDP of ResNet-18 (layer by layer, every layer mapped with a bounded
number of evaluations, 0.15 CPU-s a design), area and TDP are minimised.

    python benchmarks/hardware/fast_space.py curves     # hypervolume against evaluations
    python benchmarks/hardware/fast_space.py gap mobo     # what bounds over boxes certify

Evaluations and runs are kept in files, so that a stopped command goes on where it was. Percents are
of the front of all runs together (logarithms; the corner is at the caps, and a tenth above the
worst EDP of that front). CPU seconds are of the optimizer alone, of a whole run.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import numpy as np

from archloom.search.hardware.certify.certificate import certificate_text
from archloom.search.hardware.certify.pruning import PER_CUT, DominancePruner
from archloom.search.hardware.problem import Candidate, DesignProblem
from archloom.search.hardware.protocol import Observation
from archloom.search.pareto import hypervolume_after, non_dominated
from archloom.search.registry import HARDWARE_OPTIMIZERS
from archloom.search.software.search import SoftwareSettings, SoftwareTask, advance
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.design_space.parameter import Point
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network

NETWORKS = (network("resnet18"),)
#: of the preset tpu_v3 at cacti_45nm, rounded down
AREA_MM2, TDP_W = 652.0, 183.0
SOFTWARE = SoftwareSettings(fusion="none", mapping="exact", mapping_evaluations=2000)

BATCH = 8
COUNTS = (24, 48, 72, 104, 152, 200)
OPTIMIZERS = tuple(name for name in list(HARDWARE_OPTIMIZERS) if name != "grid")


def problem() -> DesignProblem:
    """Return the problem."""
    return DesignProblem(
        HardwareSpace.load("fast"), NETWORKS, AREA_MM2, TDP_W, plans="layer_by_layer"
    )


def read(path: Path) -> list[dict[str, Any]]:
    """Return the records of a file so far."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def keep(path: Path, record: dict[str, Any]) -> None:
    """Add a record to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(record) + "\n")


class Evaluations:
    """EDPs of designs, measured once and kept in a file."""

    def __init__(self, where: DesignProblem, path: Path) -> None:
        self._problem, self._path = where, path
        self._known: dict[str, float | None] = {r["key"]: r["edp"] for r in read(path)}

    def __call__(self, point: Point) -> Observation:
        """Return the result of a design's software search."""
        key = self._problem.space.point_key(point)
        if key not in self._known:
            self._measure(point, key)
        found, edp = self._problem.assess(point), self._known[key]
        assert isinstance(found, Candidate)
        if edp is None:
            return Observation(point, None, 0, "infeasible")
        return Observation(point, (edp, found.area_mm2, found.tdp_w), 1)

    def _measure(self, point: Point, key: str) -> None:
        hardware = self._problem.space.build(point)
        assert isinstance(hardware, Hardware)
        began = process_time()
        found = advance(SoftwareTask(hardware, NETWORKS, SOFTWARE, 0), None, 1)
        edp = None if found.infeasible else found.networks[NETWORKS[0].name].edp_js
        self._known[key] = edp
        keep(self._path, {"key": key, "edp": edp, "cpu_s": round(process_time() - began, 3)})


def run(
    where: DesignProblem, name: str, seed: int, evaluate: Evaluations, count: int
) -> dict[str, Any]:
    """Return what an optimizer proposes and measures with one seed."""
    optimizer = HARDWARE_OPTIMIZERS[name](where, seed)
    points: list[Point] = []
    values: list[list[float]] = []
    seconds = 0.0
    while len(points) < count:
        began = process_time()
        asked = optimizer.ask(min(BATCH, count - len(points)), ())
        seconds += process_time() - began
        if not asked:
            break
        seen = [evaluate(point) for point in asked]
        began = process_time()
        optimizer.tell(seen)
        seconds += process_time() - began
        points += asked
        values += [list(o.values or ()) for o in seen]
    return {
        "name": name,
        "seed": seed,
        "points": points,
        "values": values,
        "cpu_s": round(seconds, 1),
    }


def runs(names: Sequence[str], seeds: int, out: Path, count: int) -> list[dict[str, Any]]:
    """Return the runs of some optimizers; those in the file are not made again."""
    where, path = problem(), out / "runs.jsonl"
    evaluate = Evaluations(where, out / "evaluations.jsonl")
    known = {(r["name"], r["seed"]): r for r in read(path)}
    for seed in range(seeds):
        for name in names:
            if (name, seed) not in known:
                known[name, seed] = run(where, name, seed, evaluate, count)
                keep(path, known[name, seed])
                print(f"{name}, seed {seed}: done", file=sys.stderr, flush=True)
    return [known[name, seed] for name in names for seed in range(seeds)]


def table(found: Sequence[dict[str, Any]], everything: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of a Markdown table, one for each optimizer: medians and ranges."""
    rows = np.array([v for r in everything for v in r["values"] if v])
    front = rows[non_dominated(rows)]
    corner = [1.1 * float(front[:, 0].max()), AREA_MM2, TDP_W]
    whole = hypervolume_after(front, corner)[-1]
    yield f"front of all {len(everything)} runs: {len(front)} designs"
    yield "| optimizer | " + " | ".join(map(str, COUNTS)) + " | CPU s |"
    yield "|---" * (len(COUNTS) + 2) + "|"
    for name in dict.fromkeys(r["name"] for r in found):
        mine = [r for r in found if r["name"] == name]
        # a trial without a result adds nothing
        curves = [hypervolume_after([v or corner for v in r["values"]], corner) for r in mine]
        cells = []
        for n in COUNTS:
            at = [100 * curve[min(n, len(curve)) - 1] / whole for curve in curves]
            cells.append(f"{median(at):.1f} ({min(at):.1f}-{max(at):.1f})")
        seconds = median(r["cpu_s"] for r in mine)
        yield f"| {name}, {len(mine)} seeds | {' | '.join(cells)} | {seconds:.0f} |"


def gaps(found: Sequence[dict[str, Any]], cuts: int) -> Iterator[str]:
    """Yield what bounds over boxes prove of the front of each run."""
    for record in found:
        began, where = process_time(), problem()
        pruner = DominancePruner(where)
        for point, values in zip(record["points"], record["values"], strict=True):
            failure = None if values else "infeasible"
            pruner.tell(Observation(point, tuple(values) or None, int(bool(values)), failure))
        pruner.tighten(cuts * PER_CUT)
        proof = pruner.certificate()
        assert proof is not None
        seconds = process_time() - began
        yield f"{record['name']}, seed {record['seed']}: {cuts} cuts, {seconds:.0f} CPU-s"
        yield f"  gap {proof.gap:.2f} decades^3"
        yield from (f"  {line}" for line in certificate_text(proof).splitlines())


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("what", choices=("curves", "gap"))
    parser.add_argument("optimizers", nargs="*", default=OPTIMIZERS, metavar="optimizer")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--evaluations", type=int, default=COUNTS[-1], help="of a run that is new")
    parser.add_argument("--cuts", type=int, default=2000, help="of boxes, for the gap")
    parser.add_argument("--out", type=Path, default=Path("runs/fast_space"))
    options = parser.parse_args()
    found = runs(options.optimizers, options.seeds, options.out, options.evaluations)
    if options.what == "gap":
        lines = gaps(found, options.cuts)
    else:
        lines = table(found, read(options.out / "runs.jsonl"))
    for line in lines:
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
