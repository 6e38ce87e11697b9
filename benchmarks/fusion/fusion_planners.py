"""All fusion planners on the same work, priced by one price: EDP, CPU seconds, gap to the bound.

    python benchmarks/fusion/fusion_planners.py RESULTS.jsonl [--presets eyeriss ...]
        [--networks unet ...] [--planners joint ...] [--factors imperfect]
    python benchmarks/fusion/fusion_planners.py RESULTS.jsonl --bounds
    python benchmarks/fusion/fusion_planners.py RESULTS.jsonl --table

A line is appended for each planner, network and preset that the file has not yet; ``--table``
prints the tables of docs/validation/fusion_planners.md from it. ``--bounds`` computes the bounds
in the file again: ``bound_version`` says by which code. EDP is relative to layer by layer with
mappings of the same effort; their factors are those of studies unless told otherwise. Each planner
starts with no mapping known; CPU seconds are of one core, after compilation. The bound is what no
fusion plan and no mappings go below, at whatever effort (docs/explanation/bounds.md).
``fast_printed`` is left out: it keeps weights from pass to pass, which is other work.
"""

import argparse
import json
import sys
import time
from math import exp, log
from pathlib import Path
from statistics import mean
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[2]))

from archloom.evaluators.bounds.network.plans import any_plan_bound
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.mapping.factorization import FACTORS
from archloom.search.mapping.mapper import Mapper
from archloom.search.registry import MAPPING_SEARCHES
from archloom.search.software.planners import fusion_search
from archloom.space.design_space.presets import preset
from archloom.space.hardware.hardware import pass_batch
from archloom.space.networks.registry import network
from benchmarks.code_version import code_version

PRESETS: Final = ("eyeriss", "edgetpu", "tpu_v3", "fast_large", "fast_small")
NETWORKS: Final = (
    *("alexnet", "vgg16", "resnet18", "resnet50", "mobilenetv2", "googlenet", "unet", "srgan"),
    *("vit_b_16", "efficientnet_b0"),
)

#: plans that a planner may price; those that work out one plan stop after two
PLANS: Final = {"casco": 300, "casco_tilings": 300, "joint": 60}
PLANNERS: Final = ("casco", "casco_tilings", "optimus", "fast", "deepfrack", "joint")

Row = dict[str, Any]


def run(planner: str, name: str, design: str, evaluations: int, factors: str) -> Row:
    """Return what one planner finds, with nothing known before."""
    hardware = preset(design)
    net = network(name)
    net = net.with_batch(pass_batch(net, hardware))
    mapper = Mapper(MAPPING_SEARCHES["auto"](), evaluations, seed=1, factors=factors)
    price = MemoizedPlanEvaluator(net, hardware, mapper)
    search = fusion_search(planner, price)
    began = time.process_time()
    state = search.advance(search.start(1), PLANS.get(planner, 2))
    spent = time.process_time() - began
    return {
        "version": code_version(),
        "planner": planner,
        "network": name,
        "preset": design,
        "factors": factors,
        "edp": exp(state.history[-1]),
        "layer_by_layer": exp(state.history[0]),
        "bound": any_plan_bound(net, hardware).edp_js,
        "plans": state.evaluations,
        "groups": len(state.best.groups),
        "pins": sum(len(group.pins) for group in state.best.groups),
        "cpu_s": spent,
    }


def with_bounds(rows: list[Row]) -> list[Row]:
    """Return the rows with bounds of today, which take milliseconds each."""
    bounds: dict[tuple[str, str], float] = {}
    for name, design in {(row["network"], row["preset"]) for row in rows}:
        net, hardware = network(name), preset(design)
        net = net.with_batch(pass_batch(net, hardware))
        bounds[name, design] = any_plan_bound(net, hardware).edp_js
    today = code_version()
    return [
        {**row, "bound": bounds[row["network"], row["preset"]], "bound_version": today}
        for row in rows
    ]


def tables(rows: list[Row]) -> None:
    """Print tables in Markdown."""
    found = {(r["preset"], r["network"], r["planner"]): r for r in rows}
    for design in PRESETS:
        names = [n for n in NETWORKS if (design, n, "joint") in found]
        if names:
            _table(design, names, found)
    _summary(list(found.values()))


def _table(design: str, names: list[str], found: dict[tuple[str, str, str], Row]) -> None:
    print(f"\n**{design}** (EDP over layer by layer; CPU seconds)\n")
    print("| network | " + " | ".join(PLANNERS) + " | bound | gap of `joint` |")
    print("|---" * (len(PLANNERS) + 3) + "|")
    for name in names:
        cells = []
        for planner in PLANNERS:
            row = found.get((design, name, planner))
            cells.append("" if row is None else f"{_gain(row):.3f} ({row['cpu_s']:.1f})")
        joint = found[design, name, "joint"]
        bound = joint["bound"] / joint["layer_by_layer"]
        gap = 100 * (joint["edp"] / joint["bound"] - 1)
        print(f"| {name} | " + " | ".join(cells) + f" | {bound:.3f} | {gap:.0f}% |")


def _gain(row: Row) -> float:
    return float(row["edp"] / row["layer_by_layer"])


def _summary(rows: list[Row]) -> None:
    """Print how `joint` stands beside each of the others, and beside the best of them."""
    cases: dict[tuple[str, str], dict[str, float]] = {}
    for row in rows:
        cases.setdefault((row["preset"], row["network"]), {})[row["planner"]] = _gain(row)
    others = [planner for planner in PLANNERS if planner != "joint"]
    print(
        "\n| EDP of `joint` over that of | " + " | ".join(others) + " | the best | least, largest |"
    )
    print("|---" * (len(others) + 3) + "|")
    for design in (*PRESETS, "all"):
        found = [case for (on, _), case in cases.items() if design in (on, "all")]
        found = [case for case in found if "joint" in case and len(case) > 1]
        if found:
            cells = [_ratio([c["joint"] / c[o] for c in found if o in c]) for o in others]
            best = [c["joint"] / min(gain for o, gain in c.items() if o != "joint") for c in found]
            ends = f"{min(best):.3f}, {max(best):.3f}"
            print(f"| {design} | " + " | ".join([*cells, _ratio(best), ends]) + " |")


def _ratio(ratios: list[float]) -> str:
    """Geometric mean, as text."""
    return f"{exp(mean(map(log, ratios))):.3f}" if ratios else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--presets", nargs="+", default=PRESETS, choices=PRESETS)
    parser.add_argument("--networks", nargs="+", default=NETWORKS, choices=NETWORKS)
    parser.add_argument("--planners", nargs="+", default=PLANNERS, choices=PLANNERS)
    parser.add_argument("--evaluations", type=int, default=100_000)
    parser.add_argument("--factors", default="imperfect", choices=FACTORS)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--bounds", action="store_true")
    asked = parser.parse_args()
    lines = asked.results.read_text().splitlines() if asked.results.exists() else []
    rows = [row for row in map(json.loads, lines) if row["factors"] == asked.factors]
    if asked.bounds:
        rows = with_bounds([json.loads(line) for line in lines])
        asked.results.write_text("".join(json.dumps(row) + "\n" for row in rows))
        print(f"bounds of {len(rows)} rows by {code_version()}")
        return
    if asked.table:
        tables(rows)
        return
    known = {(r["preset"], r["network"], r["planner"]) for r in rows}
    # kernels are compiled before anything is timed
    for planner in asked.planners:
        run(planner, "tiny_cnn", "fast_small", asked.evaluations, asked.factors)
    for design in asked.presets:
        for name in asked.networks:
            for planner in asked.planners:
                if (design, name, planner) not in known:
                    row = run(planner, name, design, asked.evaluations, asked.factors)
                    with asked.results.open("a") as file:
                        file.write(json.dumps(row) + "\n")
                    print(
                        f"{design} {name} {planner} {_gain(row):.4f} {row['cpu_s']:.1f} s",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
