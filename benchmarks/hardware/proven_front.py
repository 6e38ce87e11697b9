"""A front that no search can overturn: every cost on it is proven to be the least of its design.

The problem is that of hardware_search.py: ResNet-18 and MobileNetV2 on the designs of a space of at
most 20 mm2 and 2 W, layer by layer. Here the mappings of each design are searched until its EDP is
proven, with factors that multiply to the loop bounds.

    python benchmarks/hardware/proven_front.py prove    # keep the front and what is proven of it
    python benchmarks/hardware/proven_front.py around   # designs near it, with ten times the effort

``prove`` begins with the designs of hardware_search.py's front, and goes on with those that bounds
leave open, until none is. A design whose proven EDP on one network, with the bound of the other, is
dominated is not measured on that one. ``around`` draws designs that differ from a member in one or
two parameters, and says which of them join the front. Measurements are kept in a file, so that what
was stopped goes on where it was.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from math import exp, fsum, log
from multiprocessing import get_context
from pathlib import Path
from time import process_time
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from archloom.evaluators.bounds.network.plans import layer_by_layer_bound
from archloom.search.hardware.certify.pruning import DominancePruner
from archloom.search.hardware.problem import Candidate, DesignProblem
from archloom.search.hardware.protocol import Observation
from archloom.search.pareto import dominated_by, non_dominated
from archloom.search.software.search import SoftwareSettings, SoftwareTask, advance
from archloom.space.design_space.parameter import Point
from archloom.space.hardware.hardware import Hardware
from archloom.space.workload.network import Network
from benchmarks.code_version import code_version
from benchmarks.hardware.hardware_search import (
    AREA_MM2,
    DATA,
    NETWORKS,
    TDP_W,
    problem_of,
    text_of,
)

SOFTWARE: Final = SoftwareSettings(fusion="none", mapping="exact", factors="exact")

#: mappings tried for each problem until an EDP is proven, and again where it is not
EVALUATIONS: Final = (2_000_000, 20_000_000, 200_000_000)

#: designs that are measured before what bounds exclude is looked at again
BATCH: Final = 8

#: costs that are the same but for rounding
SAME: Final = 1e-9

Costs: TypeAlias = tuple[float, float, float]


class Proof(NamedTuple):
    """The best EDP that was found for one network on one design, and a bound of all mappings."""

    edp_js: float
    least_js: float
    evaluations: int

    @property
    def closed(self) -> bool:
        """Whether no mappings are better."""
        return self.least_js >= self.edp_js * (1 - SAME)


def proof_of(hardware: Hardware, net: Network, times: int = 1) -> Proof | None:
    """Return what is proven of a network on a design, with ``times`` the evaluations; None if it
    cannot run."""
    best: Proof | None = None
    for evaluations in EVALUATIONS:
        most = times * evaluations
        settings = replace(SOFTWARE, mapping_evaluations=most, prove_mappings=most)
        found = advance(SoftwareTask(hardware, (net,), settings, 0), None, 1)
        if found.infeasible is not None:
            return None
        one = found.networks[net.name]
        least = one.least_edp_js()
        assert least is not None, "a plan that fuses nothing has a bound"
        before = best or Proof(one.edp_js, least, most)
        best = Proof(min(before.edp_js, one.edp_js), max(before.least_js, least), most)
        if best.closed:
            break
    return best


def mean_edp(edps: Sequence[float]) -> float:
    """Return the geometric mean."""
    return exp(fsum(map(log, edps)) / len(edps))


class Design(NamedTuple):
    """A design to measure, with what is proven of the first networks already."""

    key: str
    point: Point
    hardware: Hardware
    area_mm2: float
    tdp_w: float
    known: tuple[Proof, ...] = ()

    def least(self, proofs: Sequence[Proof]) -> Costs:
        """Return costs that no software goes below: proofs of some networks, bounds of others."""
        rest = NETWORKS[len(proofs) :]
        bounds = [layer_by_layer_bound(net, self.hardware).edp_js for net in rest]
        edp = mean_edp([*(proof.least_js for proof in proofs), *bounds])
        return edp, self.area_mm2, self.tdp_w

    def costs(self, proofs: Sequence[Proof]) -> Costs:
        """Return the costs that were found, with proofs of all networks."""
        return mean_edp([proof.edp_js for proof in proofs]), self.area_mm2, self.tdp_w


def measure(
    front: np.ndarray, design: Design, times: int = 1
) -> tuple[tuple[Proof, ...] | None, float]:
    """Return proofs of the networks of a design, and the CPU-seconds that they took; of the first
    ones alone if a front [k, 3] dominates what they leave possible, None if it cannot run."""
    began, proofs = process_time(), list(design.known)
    while len(proofs) < len(NETWORKS):
        if proofs and dominated_by(front, [design.least(proofs)])[0]:
            break
        proof = proof_of(design.hardware, NETWORKS[len(proofs)], times)
        if proof is None:
            return None, process_time() - began
        proofs.append(proof)
    return tuple(proofs), process_time() - began


class Measurements:
    """Proofs of designs, kept in a file: a JSON object on each line.

    Args:
        problem: whose designs they are.
        path: of the file.
        run: has a function called for each of some arguments, as :func:`map` does.
        times: the evaluations.
    """

    def __init__(
        self, problem: DesignProblem, path: Path, run: Callable[..., Any], times: int = 1
    ) -> None:
        self._problem, self._path, self._run, self._times = problem, path, run, times
        self._known: dict[str, tuple[Proof, ...] | None] = {}
        for line in path.read_text().splitlines() if path.exists() else ():
            record = json.loads(line)
            proofs = record["proofs"]
            known = None if proofs is None else tuple(Proof(*proof) for proof in proofs)
            self._known[record["key"]] = known

    def design(self, point: Point) -> Design:
        """Return a design with what is known of it."""
        key = self._problem.space.point_key(point)
        found, hardware = self._problem.assess(point), self._problem.space.build(point)
        assert isinstance(found, Candidate)
        assert isinstance(hardware, Hardware)
        known = self._known.get(key) or ()
        return Design(key, point, hardware, found.area_mm2, found.tdp_w, known)

    def of(
        self, points: Sequence[Point], front: np.ndarray
    ) -> Iterator[tuple[Design, tuple[Proof, ...] | None]]:
        """Yield designs with their proofs."""
        designs = [self.design(point) for point in points]
        work = partial(measure, front, times=self._times)
        for design, (proofs, cpu_s) in zip(designs, self._run(work, designs), strict=True):
            if proofs != design.known or design.key not in self._known:
                self._keep(design.key, proofs, cpu_s)
            yield design, proofs

    def _keep(self, key: str, proofs: tuple[Proof, ...] | None, cpu_s: float) -> None:
        self._known[key] = proofs
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a") as file:
            record = {"key": key, "proofs": proofs, "cpu_s": round(cpu_s, 3)}
            file.write(json.dumps(record) + "\n")


def prove(
    problem: DesignProblem, measured: Measurements, first: Sequence[Point], until: int
) -> dict[str, Any]:
    """Return the front with its certificate, after ``until`` designs at the most.

    Args:
        problem: of a space that is enumerated.
        measured: measures designs.
        first: designs to begin with.
        until: designs that are measured at the most.
    """
    pruner, waiting = DominancePruner(problem), list(first)
    members: list[tuple[Design, Costs, bool]] = []
    front = np.empty((0, 3))
    while pruner.measured < until:
        points, waiting = waiting[:BATCH], waiting[BATCH:]
        if not points:
            pruner.tighten()
            points = pruner.best_candidates(min(BATCH, until - pruner.measured))
        if not points:
            break
        for design, proofs in measured.of(points, front):
            if proofs is None:
                pruner.tell(Observation(design.point, None, 0, "infeasible"))
                continue
            whole = len(proofs) == len(NETWORKS)
            costs = design.costs(proofs) if whole else None
            pruner.tell(Observation(design.point, costs, len(proofs)), True, design.least(proofs))
            if costs is not None:
                members.append((design, costs, all(proof.closed for proof in proofs)))
        keep = non_dominated([costs for _, costs, _ in members])
        members = [one for one, on in zip(members, keep, strict=True) if on]
        front = np.array([costs for _, costs, _ in members]).reshape(-1, 3)
        print(
            f"{pruner.measured} measured, {len(members)} on the front, "
            f"{pruner.candidates_left} open",
            flush=True,
        )
    proof = pruner.certificate()
    assert proof is not None
    derived = ("proven_at_this_budget", "proven", "share", "share_any_budget")
    settings = ("fusion", "mapping", "factors")
    return {
        "version": code_version(),
        "software": {name: getattr(SOFTWARE, name) for name in settings},
        "evaluations": EVALUATIONS,
        "space": problem.space.name,
        "caps": {"area_mm2": AREA_MM2, "tdp_w": TDP_W},
        "networks": [net.name for net in NETWORKS],
        "certificate": proof.to_dict() | {name: getattr(proof, name) for name in derived},
        "front": [
            {"design": design.key, "values": costs, "proven": closed}
            for design, costs, closed in sorted(members, key=lambda one: one[1])
        ],
    }


def near(problem: DesignProblem, members: Sequence[Point], count: int, seed: int) -> list[Point]:
    """Return feasible designs that are no members, one or two steps from one of them."""
    rng, key_of = np.random.default_rng(seed), problem.space.point_key
    taken, found = set(map(key_of, members)), list[Point]()
    for _ in range(100 * count):
        here = problem.assess(members[int(rng.integers(len(members)))])
        for _ in range(int(rng.integers(1, 3))):
            assert isinstance(here, Candidate)
            steps = list(problem.neighbours(here))
            here = steps[int(rng.integers(len(steps)))] if steps else here
        assert isinstance(here, Candidate)
        if here.key not in taken and len(found) < count:
            taken.add(here.key)
            found.append(here.point)
    return found


def around(
    kept: Mapping[str, Any], measured: Measurements, points: Sequence[Point]
) -> list[tuple[str, Costs]]:
    """Return the designs that join a kept front, with their costs."""
    front = np.array([member["values"] for member in kept["front"]])
    nothing, joined = np.empty((0, 3)), []
    for start in range(0, len(points), BATCH):
        for design, proofs in measured.of(points[start : start + BATCH], nothing):
            if proofs is None:
                continue
            costs = design.costs(proofs)
            if not dominated_by(front * (1 + SAME), [costs])[0]:
                joined.append((design.key, costs))
        print(f"{min(start + BATCH, len(points))} measured, {len(joined)} join", flush=True)
    return joined


def points_of(problem: DesignProblem, kept: Mapping[str, Any]) -> list[Point]:
    """Return the designs of a kept front."""
    made = []
    for member in kept["front"]:
        parts = [part.split("=") for part in member["design"].split(", ")]
        made.append(problem.space.canonical({name: int(value) for name, value in parts}))
    return made


@contextmanager
def running(workers: int) -> Iterator[Callable[..., Any]]:
    """Yield a :func:`map` that uses so many processes; this one alone if it is one."""
    if workers == 1:
        yield map
        return
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        yield pool.map


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("what", choices=("prove", "around"))
    parser.add_argument("--space", default="casco_edge", help="a template's name or file")
    parser.add_argument("--first", type=Path, help="front to begin with (default: in data/)")
    parser.add_argument("--front", type=Path, help="file of the proven front (default: in data/)")
    parser.add_argument("--designs", type=int, help="measured at the most (around: 300)")
    parser.add_argument("--workers", type=int, default=2, help="processes that measure")
    parser.add_argument("--seed", type=int, default=0, help="of the designs around")
    parser.add_argument("--out", type=Path, default=Path("runs/proven_front"))
    options = parser.parse_args()
    problem = problem_of(options.space, 10**9)
    name = problem.space.name
    file = options.front or DATA / f"{name}_proven_front.json"
    path = options.out / name
    with running(options.workers) as run:
        if options.what == "around":
            kept = json.loads(file.read_text())
            points = near(problem, points_of(problem, kept), options.designs or 300, options.seed)
            measured = Measurements(problem, path / "around.jsonl", run, 10)
            joined = around(kept, measured, points)
            for key, costs in joined:
                print(f"joins: {key} {costs}")
            print(f"{len(joined)} of {len(points)} designs join the front")
            return 1 if joined else 0
        start = options.first or DATA / f"{name}_front.json"
        first = points_of(problem, json.loads(start.read_text())) if start.exists() else []
        measured = Measurements(problem, path / "designs.jsonl", run)
        found = prove(problem, measured, first, options.designs or problem.space.cardinality)
    file.write_text(text_of(found))
    print(json.dumps(found["certificate"]))
    return 0 if found["certificate"]["proven"] else 1


if __name__ == "__main__":
    sys.exit(main())
