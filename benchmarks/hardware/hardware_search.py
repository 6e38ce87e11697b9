"""How fast do hardware optimizers find a front that is proven?

The problem is that of ``front_proof.py``: ResNet-18 and MobileNetV2 on the edge accelerators of
``casco_edge``. Evaluations and runs are kept in files, so that what was stopped goes on where it
was.

    python benchmarks/hardware/hardware_search.py exact   # prove the front, and keep it
    python benchmarks/hardware/hardware_search.py curves  # hypervolume of optimizers against it
    python benchmarks/hardware/hardware_search.py around  # measure designs next to it anew

``exact`` exits with 1 if the front is not proven. ``curves`` prints, for numbers of evaluations,
medians and ranges of the hypervolume over seeds, in percent of the exact front's (logarithms; the
corner lies a tenth above the worst values of the exact front); then how many evaluations ``mobo``
needs for what each other optimizer has at the end. CPU seconds are of the optimizer alone, of a
whole run. ``around`` draws designs next to members of the front, measures each with ten times the
budget, and exits with 1 if one of them is not dominated.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import chain
from math import inf
from pathlib import Path
from statistics import median
from time import process_time
from typing import TypeAlias

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from archloom.search.hardware.problem import ENUMERATE_LIMIT, DesignProblem
from archloom.search.hardware.protocol import HardwareOptimizer
from archloom.search.pareto import hypervolume, hypervolume_after
from archloom.search.registry import HARDWARE_OPTIMIZERS
from benchmarks.hardware.front_proof import (
    BATCH,
    Evaluations,
    append,
    around,
    front_file,
    lines_of,
    problem_of,
    prove,
    text_of,
)

Values: TypeAlias = Sequence[tuple[float, ...]]

#: the row of the exact front's own members
HINDSIGHT = "the front in hindsight"

COUNTS = (10, 20, 30, 40, 60, 80, 100)

#: Optimizers that score every design if that is affordable; the others always look at some.
SCORING_ALL = ("mobo", "greedy_bound")

#: ``mobo`` as it is where a space is too large to be assessed as a whole; and with CASCO's filter.
POOLS = "mobo, pools"
FILTERED = "mobo, pools, uul"


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
    kept = {(r["name"], r["seed"], r["evaluations"]): r for r in lines_of(path)}
    for name in names:
        problem = problems[name in SCORING_ALL]
        for seed in range(seeds):
            key = (name, seed, evaluations)
            if key not in kept:
                optimizer = _made(name, problem, seed)
                values, cpu_s = run(optimizer, evaluate, problem, evaluations)
                kept[key] = {"name": name, "seed": seed, "evaluations": evaluations}
                kept[key] |= {"cpu_s": round(cpu_s, 2), "values": values}
                append(path, kept[key])
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
    parser.add_argument("what", choices=("exact", "curves", "around"))
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
        return 0 if found["certificate"]["proven"] else 1
    front = json.loads(file.read_text())["front"]
    if options.what == "around":
        joined = around(whole, front, options.evaluations or 300)
        return 1 if joined else 0
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
