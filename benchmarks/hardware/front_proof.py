"""The front of edge accelerators, proven for any budget.

The problem: ResNet-18 and MobileNetV2 on the edge accelerators of ``casco_edge`` of at most 20 mm2
and 2 W, layer by layer, with exact factors; EDP (geometric mean), area and TDP are minimised. Each
design is measured with mappings whose EDP is proven as a whole, so its cost is its lower bound.
``hardware_search.py`` is the command.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import exp, fsum, inf, log
from pathlib import Path
from random import Random
from time import process_time
from typing import Any, Final, TypeAlias

from archloom.evaluators.bounds.network.plans import layer_by_layer_bound
from archloom.search.hardware.certify.pruning import DominancePruner
from archloom.search.hardware.problem import Candidate, DesignProblem
from archloom.search.hardware.protocol import Observation
from archloom.search.pareto import dominated_by, non_dominated
from archloom.search.registry import HARDWARE_OPTIMIZERS
from archloom.search.software.search import SoftwareSettings, SoftwareTask, advance
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.design_space.parameter import Point
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network
from benchmarks.code_version import code_version

DATA: Final = Path(__file__).parents[1] / "data"
NETWORKS: Final = (network("resnet18"), network("mobilenetv2"))
AREA_MM2, TDP_W = 20.0, 2.0
SOFTWARE: Final = SoftwareSettings(
    fusion="none", mapping="exact", factors="exact", plan_proof=100_000
)

#: Evaluations that the optimizer leads with before the proof begins, and those of a batch.
LEAD, BATCH = 60, 4

#: How much more of :attr:`SoftwareSettings.plan_proof` a design gets when it is measured again
#: because its interval decides, and how often it may be.
MORE, TIMES = 10, 3

#: EDPs of networks, each with the least that any mappings can give.
Edps: TypeAlias = list[tuple[float, float]]


def problem_of(space: str, limit: int) -> DesignProblem:
    """Return the problem on a space; of up to ``limit`` points it is assessed as a whole."""
    loaded = HardwareSpace.load(space)
    return DesignProblem(loaded, NETWORKS, AREA_MM2, TDP_W, limit, plans="layer_by_layer")


def front_file(problem: DesignProblem) -> Path:
    """Return where the exact front is kept."""
    return DATA / f"{problem.space.name}_front.json"


class Evaluations:
    """EDPs of designs, measured once for each effort and kept in a file, a JSON object on a line.

    A design has a pair for each network: its EDP and the least that any mappings give. There are
    fewer if those of the first networks were all that anybody asked for, and none if it is
    infeasible.
    """

    def __init__(self, space: HardwareSpace, path: Path) -> None:
        self._space, self._path = space, path
        self._known: dict[tuple[str, int], Edps] = {
            (r["key"], r["effort"]): [(edp, least) for edp, least in r["edps"]]
            for r in lines_of(path)
        }

    def __call__(self, point: Point, problem: DesignProblem) -> Observation:
        """Return the result of a design's software search."""
        return self.with_bounds(point, problem, 0)[0]

    def with_bounds(
        self, point: Point, problem: DesignProblem, effort: int
    ) -> tuple[Observation, tuple[float, ...]]:
        """Return the result of a design's software search, and costs that no software is below."""
        edps = self._measured(point, len(NETWORKS), effort)
        if not edps:
            return Observation(point, None, 0, "infeasible"), ()
        found = values_of(point, problem, [edp for edp, _ in edps])
        least = values_of(point, problem, [low for _, low in edps])
        return Observation(point, found, 1), least

    def beaten(
        self, point: Point, problem: DesignProblem, front: Sequence[tuple[float, ...]]
    ) -> tuple[float, ...]:
        """Return costs that no software is below, if a front dominates them: of the least EDP on
        the first networks, with bounds of the others. No more networks are measured than it
        takes. Empty if the design has to be measured.
        """
        hardware = built(self._space, point)
        for count in range(1, len(NETWORKS)):
            edps = [least for _, least in self._measured(point, count, 0)]
            bounds = [layer_by_layer_bound(n, hardware).edp_js for n in NETWORKS[len(edps) :]]
            least = values_of(point, problem, [*edps, *bounds])
            if edps and dominated_by(front, [least])[0]:
                return least
        return ()

    def _measured(self, point: Point, count: int, effort: int) -> Edps:
        """Return the EDPs of the first ``count`` networks at least; none if infeasible."""
        key = (self._space.point_key(point), effort)
        edps = self._known.get(key)
        if edps is None or 0 < len(edps) < count:
            began = process_time()
            edps = measured(built(self._space, point), count, MORE**effort)
            seconds = round(process_time() - began, 3)
            self._known[key] = edps
            append(self._path, {"key": key[0], "effort": effort, "edps": edps, "cpu_s": seconds})
        return edps


def measured(hardware: Hardware, count: int, more: int) -> Edps:
    """Return the EDPs of the first ``count`` networks with ``more`` times the proof's budget."""
    settings = replace(SOFTWARE, plan_proof=SOFTWARE.plan_proof * more)
    found = advance(SoftwareTask(hardware, NETWORKS[:count], settings, 0), None, 1)
    if found.infeasible:
        return []
    results = [found.networks[n.name] for n in NETWORKS[:count]]
    return [(one.edp_js, one.least_edp_js()) for one in results]


def built(space: HardwareSpace, point: Point) -> Hardware:
    """Return the design at a point that has one."""
    hardware = space.build(point)
    assert isinstance(hardware, Hardware)
    return hardware


def values_of(
    point: Point, problem: DesignProblem, edps: Sequence[float]
) -> tuple[float, float, float]:
    """Return the costs of a design with these EDPs."""
    found = problem.assess(point)
    assert isinstance(found, Candidate)
    return exp(fsum(map(log, edps)) / len(edps)), found.area_mm2, found.tdp_w


def lines_of(path: Path) -> list[dict[str, Any]]:
    """Return the records of a file; none if there is no file."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def append(path: Path, record: Mapping[str, Any]) -> None:
    """Add a record to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(record) + "\n")


def prove(problem: DesignProblem, evaluate: Evaluations, until: int) -> dict[str, Any]:
    """Return the front with its certificate, after ``until`` evaluations at the most.

    What ``mode: exact`` of a study does; but a design that is beaten on one network with the
    bound of the other is not run on that one.
    """
    pruner, optimizer = DominancePruner(problem), HARDWARE_OPTIMIZERS["mobo"](problem, 0)
    priced: list[tuple[Point, tuple[float, ...]]] = []
    while pruner.measured < until:
        leading = pruner.measured < LEAD
        if not leading:
            pruner.tighten()
        points = optimizer.ask(BATCH, ()) if leading else pruner.best_candidates(BATCH)
        if not points:
            break
        seen = []
        for point in points:
            least = () if leading else evaluate.beaten(point, problem, [v for _, v in priced])
            # no failure: it is only not worth having
            found = Observation(point, None, 0)
            if not least:
                found, least = evaluate.with_bounds(point, problem, 0)
            seen.append(found)
            pruner.tell(found, least=least)
        if leading:
            optimizer.tell(seen)
        priced += [(o.point, o.values) for o in seen if o.values is not None]
        print(f"{pruner.measured} evaluated, {pruner.candidates_left} open", flush=True)
    efforts = _decide(problem, evaluate, pruner)
    proof = pruner.certificate()
    assert proof is not None
    settings = ("fusion", "mapping", "mapping_evaluations", "factors", "plan_proof")
    derived = ("proven_at_this_budget", "proven", "share", "share_any_budget")
    return {
        "version": code_version(),
        "software": {name: getattr(SOFTWARE, name) for name in settings},
        "space": problem.space.name,
        "caps": {"area_mm2": AREA_MM2, "tdp_w": TDP_W},
        "networks": [n.name for n in NETWORKS],
        "measured_again": efforts,
        "certificate": proof.to_dict() | {name: getattr(proof, name) for name in derived},
        "front": members(problem, priced),
    }


def _decide(problem: DesignProblem, evaluate: Evaluations, pruner: DominancePruner) -> int:
    """Measure designs again whose intervals decide, each with more effort; return how often."""
    count = 0
    for effort in range(1, TIMES + 1):
        for point in pruner.undecided():
            found, least = evaluate.with_bounds(point, problem, effort)
            pruner.tell(found, least=least)
            count += 1
        print(f"effort {MORE**effort}: {len(pruner.undecided())} undecided", flush=True)
    return count


def members(
    problem: DesignProblem, priced: Sequence[tuple[Point, tuple[float, ...]]]
) -> list[dict[str, Any]]:
    """Return the designs on the front, in the order of their costs."""
    best = non_dominated([values for _, values in priced])
    found = [(p, v) for (p, v), on in zip(priced, best, strict=True) if on]
    found.sort(key=lambda member: member[1])
    return [{"design": problem.space.point_key(p), "values": v} for p, v in found]


def text_of(found: Mapping[str, Any]) -> str:
    """Return a front as JSON with a member on each line."""
    rows = ",\n".join(f"  {json.dumps(member)}" for member in found["front"])
    head = json.dumps({key: value for key, value in found.items() if key != "front"}, indent=1)
    return f'{head[:-2]},\n "front": [\n{rows}\n ]\n}}\n'


def around(problem: DesignProblem, front: Sequence[Mapping[str, Any]], count: int) -> int:
    """Measure designs next to members of a front with ten times the budget; return how many are
    not dominated.

    Each is a member with the values of one to three parameters drawn anew.
    """
    random, space = Random(0), problem.space
    rows = [tuple(member["values"]) for member in front]
    known, joined = {member["design"] for member in front}, 0
    points = {space.point_key(c.point): c.point for c in problem.feasible()}
    values = {p.name: p.values for p in space.template.parameters}
    drawn: set[str] = set()
    while len(drawn) < count:
        point = dict(points[random.choice(front)["design"]])
        for name in random.sample(sorted(point), random.randint(1, 3)):
            point[name] = random.choice(values[name])
        key = space.point_key(point)
        if key in known or key in drawn or key not in points:
            continue
        drawn.add(key)
        edps = [edp for edp, _ in measured(built(space, points[key]), len(NETWORKS), 10)]
        costs = values_of(points[key], problem, edps) if edps else (inf,) * 3
        if not dominated_by(rows, [costs])[0]:
            joined += 1
            print(f"{key}: {costs} is not dominated", flush=True)
    print(f"{len(drawn)} designs around the front, {joined} not dominated", flush=True)
    return joined
