"""How fast do hardware optimizers find a front that is proven at its budget?

The problem: ResNet-18 and MobileNetV2 on the edge accelerators of ``casco_edge`` of at most 20 mm2
and 2 W, layer by layer, every layer with an exact mapping; EDP (geometric mean), area and TDP are
minimised. Evaluations and runs are kept in files, so that what was stopped goes on where it was.

    python benchmarks/hardware/hardware_search.py exact   # prove the front at this budget, keep it
    python benchmarks/hardware/hardware_search.py curves  # hypervolume of optimizers against it

``curves`` prints, for numbers of evaluations, medians and ranges of the hypervolume over seeds, in
percent of the exact front's (logarithms; the corner lies a tenth above the worst values of the
exact front); then how many evaluations ``mobo`` needs for what each other optimizer has at the end.
CPU seconds are of the optimizer alone, of a whole run.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import chain
from math import exp, fsum, inf, log
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any, TypeAlias

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from archloom.evaluators.bounds.network.plans import layer_by_layer_bound
from archloom.search.hardware.certify.pruning import DominancePruner
from archloom.search.hardware.problem import ENUMERATE_LIMIT, Candidate, DesignProblem
from archloom.search.hardware.protocol import HardwareOptimizer, Observation
from archloom.search.pareto import dominated_by, hypervolume, hypervolume_after, non_dominated
from archloom.search.registry import HARDWARE_OPTIMIZERS
from archloom.search.software.search import SoftwareSettings, SoftwareTask, advance
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.design_space.parameter import Point
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network
from benchmarks.code_version import code_version

DATA = Path(__file__).parents[1] / "data"
NETWORKS = (network("resnet18"), network("mobilenetv2"))
AREA_MM2, TDP_W = 20.0, 2.0
SOFTWARE = SoftwareSettings(fusion="none", mapping="exact")

#: Evaluations that the optimizer leads with before the proof begins, and those of a batch.
LEAD, BATCH = 60, 4

Values: TypeAlias = Sequence[tuple[float, ...]]

#: the row of the exact front's own members
HINDSIGHT = "the front in hindsight"

COUNTS = (10, 20, 30, 40, 60, 80, 100)

#: Optimizers that score every design if that is affordable; the others always look at some.
SCORING_ALL = ("mobo", "greedy_bound")

#: ``mobo`` as it is where a space is too large to be assessed as a whole; and with CASCO's filter.
POOLS = "mobo, pools"
FILTERED = "mobo, pools, uul"


def problem_of(space: str, limit: int) -> DesignProblem:
    """Return the problem on a space; of up to ``limit`` points it is assessed as a whole."""
    loaded = HardwareSpace.load(space)
    return DesignProblem(loaded, NETWORKS, AREA_MM2, TDP_W, limit, plans="layer_by_layer")


def front_file(problem: DesignProblem) -> Path:
    """Return where the exact front is kept."""
    return DATA / f"{problem.space.name}_front.json"


class Evaluations:
    """EDPs of designs, measured once and kept in a file: a JSON object on each line.

    A design has an EDP for each network; fewer if those of the first networks were all that
    anybody asked for, and none if it is infeasible.
    """

    def __init__(self, space: HardwareSpace, path: Path) -> None:
        self._space, self._path = space, path
        self._known: dict[str, list[float]] = {r["key"]: r["edps"] for r in _lines(path)}

    def __call__(self, point: Point, problem: DesignProblem) -> Observation:
        """Return the result of a design's software search."""
        edps = self._measured(point, len(NETWORKS))
        if not edps:
            return Observation(point, None, 0, "infeasible")
        return Observation(point, _values(point, problem, edps), 1)

    def beaten(self, point: Point, problem: DesignProblem, front: Values) -> bool:
        """Whether a design is dominated by a front: its measured EDP on the first networks, with
        bounds of the others. No more networks are measured than it takes.
        """
        hardware = _built(self._space, point)
        for count in range(1, len(NETWORKS)):
            edps = self._measured(point, count)
            bounds = [layer_by_layer_bound(n, hardware).edp_js for n in NETWORKS[len(edps) :]]
            if not edps or dominated_by(front, [_values(point, problem, [*edps, *bounds])])[0]:
                return True
        return False

    def _measured(self, point: Point, count: int) -> list[float]:
        """Return the EDPs of the first ``count`` networks at least; none if infeasible."""
        key = self._space.point_key(point)
        edps = self._known.get(key)
        if edps is None or 0 < len(edps) < count:
            began = process_time()
            task = SoftwareTask(_built(self._space, point), NETWORKS[:count], SOFTWARE, 0)
            found = advance(task, None, 1)
            seconds = round(process_time() - began, 3)
            edps = (
                [] if found.infeasible else [found.networks[n.name].edp_js for n in task.networks]
            )
            self._known[key] = edps
            _append(self._path, {"key": key, "edps": edps, "cpu_s": seconds})
        return edps


def _built(space: HardwareSpace, point: Point) -> Hardware:
    hardware = space.build(point)
    assert isinstance(hardware, Hardware)
    return hardware


def _values(
    point: Point, problem: DesignProblem, edps: Sequence[float]
) -> tuple[float, float, float]:
    found = problem.assess(point)
    assert isinstance(found, Candidate)
    return exp(fsum(map(log, edps)) / len(edps)), found.area_mm2, found.tdp_w


def _lines(path: Path) -> list[dict[str, Any]]:
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def _append(path: Path, record: Mapping[str, Any]) -> None:
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
            beaten = not leading and evaluate.beaten(point, problem, [v for _, v in priced])
            # no failure: with better mappings its measured network might not beat it
            nothing = Observation(point, None, 0)
            seen.append(nothing if beaten else evaluate(point, problem))
            pruner.tell(seen[-1])
        if leading:
            optimizer.tell(seen)
        priced += [(o.point, o.values) for o in seen if o.values is not None]
        print(f"{pruner.measured} evaluated, {pruner.candidates_left} open", flush=True)
    best = non_dominated([values for _, values in priced])
    members = [(p, v) for (p, v), on in zip(priced, best, strict=True) if on]
    members.sort(key=lambda member: member[1])
    proof = pruner.certificate()
    assert proof is not None
    settings = ("fusion", "mapping", "mapping_evaluations", "factors")
    derived = ("proven_at_this_budget", "proven", "share", "share_any_budget")
    return {
        "version": code_version(),
        "software": {name: getattr(SOFTWARE, name) for name in settings},
        "space": problem.space.name,
        "caps": {"area_mm2": AREA_MM2, "tdp_w": TDP_W},
        "networks": [n.name for n in NETWORKS],
        "certificate": proof.to_dict() | {name: getattr(proof, name) for name in derived},
        "front": [{"design": problem.space.point_key(p), "values": v} for p, v in members],
    }


def text_of(found: Mapping[str, Any]) -> str:
    """Return a front as JSON with a member on each line."""
    members = ",\n".join(f"  {json.dumps(member)}" for member in found["front"])
    head = json.dumps({key: value for key, value in found.items() if key != "front"}, indent=1)
    return f'{head[:-2]},\n "front": [\n{members}\n ]\n}}\n'


@dataclass(frozen=True)
class Run:
    """What one optimizer did with one seed.

    Attributes:
        name, seed: which one.
        values: costs after each evaluation; without a result, none.
        cpu_s: of the optimizer.
    """

    name: str
    seed: int
    values: list[list[float]]
    cpu_s: float

    def shares(self, exact: np.ndarray) -> list[float]:
        """Return the percent of the exact hypervolume after each evaluation."""
        corner = (1.1 * exact.max(axis=0)).tolist()
        rows = [values or corner for values in self.values]
        volumes = hypervolume_after([*rows, *exact.tolist()], corner)
        return [100 * volume / volumes[-1] for volume in volumes[: len(rows)]]


def run(
    optimizer: HardwareOptimizer, evaluate: Evaluations, problem: DesignProblem, evaluations: int
) -> tuple[list[list[float]], float]:
    """Return the values of each evaluation, and CPU seconds of the optimizer."""
    rows: list[list[float]] = []
    seconds = 0.0
    while len(rows) < evaluations:
        began = process_time()
        points = optimizer.ask(min(BATCH, evaluations - len(rows)), ())
        seconds += process_time() - began
        if not points:
            break
        seen = [evaluate(point, problem) for point in points]
        began = process_time()
        optimizer.tell(seen)
        seconds += process_time() - began
        rows += [list(o.values or ()) for o in seen]
    return rows, seconds


def _made(name: str, problem: DesignProblem, seed: int) -> HardwareOptimizer:
    """Return the optimizer of a row."""
    if name not in (POOLS, FILTERED):
        return HARDWARE_OPTIMIZERS[name](problem, seed)
    options = {"update_filter": "uul"} if name == FILTERED else {}
    return HARDWARE_OPTIMIZERS["mobo"](problem, seed, **options)


def runs(
    names: Sequence[str], seeds: int, evaluations: int, problems: Mapping[bool, DesignProblem],
    evaluate: Evaluations, path: Path,
) -> Iterator[Run]:  # fmt: skip
    """Yield the runs of each optimizer; those in the file are not made again."""
    kept = {(r["name"], r["seed"], r["evaluations"]): r for r in _lines(path)}
    for name in names:
        problem = problems[name in SCORING_ALL]
        for seed in range(seeds):
            key = (name, seed, evaluations)
            if key not in kept:
                optimizer = _made(name, problem, seed)
                values, cpu_s = run(optimizer, evaluate, problem, evaluations)
                kept[key] = {"name": name, "seed": seed, "evaluations": evaluations}
                kept[key] |= {"cpu_s": round(cpu_s, 2), "values": values}
                _append(path, kept[key])
            yield Run(name, seed, kept[key]["values"], kept[key]["cpu_s"])


def with_hindsight(exact: np.ndarray, evaluations: int) -> Run:
    """Return members of the exact front, each the one that adds the most to those before it.

    What a search that knew the front would have: hardly anything can be better than this greedy
    choice. Gains only shrink as members are added, so most of them are not worked out again.
    """
    corner = (1.1 * exact.max(axis=0)).tolist()
    picked: list[int] = []
    volume = 0.0
    waiting = [(-inf, i) for i in range(len(exact))]
    while waiting and len(picked) < evaluations:
        best = heappop(waiting)[1]
        gain = hypervolume(exact[[*picked, best]], corner) - volume
        if waiting and gain < -waiting[0][0]:
            heappush(waiting, (-gain, best))
        else:
            picked.append(best)
            volume += gain
    return Run(HINDSIGHT, 0, exact[picked].tolist(), 0.0)


def by_name(found: Iterator[Run], exact: np.ndarray) -> dict[str, list[tuple[Run, list[float]]]]:
    """Return the runs of each optimizer, each with its shares."""
    grouped: dict[str, list[tuple[Run, list[float]]]] = {}
    for one in found:
        shares = one.shares(exact)
        grouped.setdefault(one.name, []).append((one, shares))
        said = [f"{shares[n - 1]:.1f}" for n in COUNTS if n <= len(shares)]
        print(one.name, one.seed, *said, file=sys.stderr, flush=True)
    return grouped


def table(grouped: Mapping[str, list[tuple[Run, list[float]]]], counts: Sequence[int]) -> str:
    """Return a Markdown table of shares, a line for each optimizer."""
    lines = ["| optimizer (seeds) | " + " | ".join(map(str, counts)) + " | CPU s |"]
    lines.append("|---" * (len(counts) + 2) + "|")
    for name, found in grouped.items():
        # a run that has tried all that there is stays where it is
        cells = [_band([s[min(n, len(s)) - 1] for _, s in found], ".1f") for n in counts]
        spent = median(one.cpu_s for one, _ in found)
        lines.append(f"| {name} ({len(found)}) | " + " | ".join(cells) + f" | {spent:.1f} |")
    return "\n".join(lines)


def crossings(grouped: Mapping[str, list[tuple[Run, list[float]]]]) -> str:
    """Return a table of the evaluations that ``mobo`` needs for what others have at the end."""
    lines = ["| optimizer | % at the end, median | evaluations | of mobo for that | a third |"]
    lines.append("|---" * 5 + "|")
    ours = [shares for _, shares in grouped["mobo"]]
    for name, found in grouped.items():
        if name in ("mobo", HINDSIGHT):
            continue
        goal, count = median(shares[-1] for _, shares in found), len(found[0][1])
        # a run that never reaches it needs more than all of its evaluations
        needed = [next((i + 1 for i, s in enumerate(c) if s >= goal), inf) for c in ours]
        needed_text = _band(needed, ".0f")
        lines.append(f"| {name} | {goal:.1f} | {count} | {needed_text} | {count / 3:.0f} |")
    return "\n".join(lines)


def draw(grouped: Mapping[str, list[tuple[Run, list[float]]]], file: Path) -> None:
    """Draw what is missing against evaluations: medians of all optimizers, with their ranges."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.6, 4.5), layout="constrained")
    axes = figure.add_subplot()
    colours = colormaps["tab20"]
    for i, (name, found) in enumerate(grouped.items()):
        missing = 100 - np.array([shares for _, shares in found])
        counts, colour = np.arange(1, missing.shape[1] + 1), colours((2 * i + i // 10) % 20)
        axes.fill_between(
            counts, missing.min(axis=0), missing.max(axis=0), color=colour, alpha=0.15, linewidth=0
        )
        axes.plot(counts, np.median(missing, axis=0), color=colour, label=f"{name} ({len(found)})")
    axes.set(xlabel="evaluations", ylabel="hypervolume that is missing (% of the exact front)")
    axes.set_yscale("log")
    axes.set_ylim(0.05, 100)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(file, dpi=120)


def _band(values: Sequence[float], style: str) -> str:
    """Return a median and its range."""
    low, high = min(values), max(values)
    middle = format(median(values), style)
    return middle if low == high else f"{middle} ({low:{style}}-{high:{style}})"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("what", choices=("exact", "curves"))
    parser.add_argument("--space", default="casco_edge", help="a template's name or file")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--optimizers", nargs="+", default=[*list(HARDWARE_OPTIMIZERS), POOLS])
    parser.add_argument("--evaluations", type=int, help="of 'exact' or of a run, at the most")
    parser.add_argument("--out", type=Path, default=Path("runs/hardware_search"))
    parser.add_argument("--front", type=Path, help="file of the exact front (default: in data/)")
    parser.add_argument("--picture", type=Path, help="of the curves, .png or .svg")
    options = parser.parse_args()
    sampled = problem_of(options.space, ENUMERATE_LIMIT)
    whole = problem_of(options.space, sampled.space.cardinality)
    folder = options.out / sampled.space.name
    evaluate = Evaluations(sampled.space, folder / "evaluations.jsonl")
    file = options.front or front_file(whole)
    if options.what == "exact":
        found = prove(whole, evaluate, options.evaluations or whole.space.cardinality)
        file.write_text(text_of(found))
        print(json.dumps(found["certificate"]))
        return 0 if found["certificate"]["proven_at_this_budget"] else 1
    front = json.loads(file.read_text())["front"]
    exact = np.array([member["values"] for member in front])
    evaluations = options.evaluations or COUNTS[-1]
    problems, path = {True: whole, False: sampled}, folder / "runs.jsonl"
    made = runs(options.optimizers, options.seeds, evaluations, problems, evaluate, path)
    grouped = by_name(chain([with_hindsight(exact, evaluations)], made), exact)
    print(table(grouped, [n for n in COUNTS if n <= evaluations]))
    if "mobo" in grouped:
        print("\n" + crossings(grouped))
    if options.picture:
        draw(grouped, options.picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
