"""How far the plans of ``joint`` are from every plan of its space, and what it takes to say so.

    python benchmarks/fusion/plan_gaps.py RESULTS.jsonl [--presets eyeriss ...]
        [--networks unet ...] [--steps 4500]
    python benchmarks/fusion/plan_gaps.py RESULTS.jsonl --table

A line is appended for each network and preset that the file has not yet, measured as ``archloom
schedule NETWORK --hardware PRESET --evaluations 60 --prove-plans STEPS`` does, with nothing known
before; ``--table`` prints the table of docs/validation/fusion_planners.md. Ten networks run on five
presets, decoders of language models (a prompt of 2,048 tokens, and one token that attends to as
many) on three. ``bound`` is what no plan of the planner's space goes below with the mappings that
its search finds, ``any_mappings`` what none goes below with any, and ``any_plan`` what no plan and
no mappings go below (docs/explanation/joint.md).
CPU seconds are of one core, after compilation: of the search of the plan, and of the bound.
"""

import argparse
import json
import sys
import time
from dataclasses import dataclass
from math import exp
from pathlib import Path
from statistics import median
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[2]))

from archloom.evaluators.bounds.network.plans import any_plan_bound
from archloom.search.fusion.joint.planner import JointPlanner
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.mapping.mapper import Mapper
from archloom.search.registry import MAPPING_SEARCHES
from archloom.space.design_space.presets import preset
from archloom.space.hardware.hardware import pass_batch
from archloom.space.networks.registry import network
from benchmarks.code_version import code_version

PRESETS: Final = ("eyeriss", "edgetpu", "tpu_v3", "fast_large", "fast_small")
NETWORKS: Final = (
    *("alexnet", "vgg16", "resnet18", "resnet50", "mobilenetv2", "googlenet", "unet", "srgan"),
    *("vit_b_16", "efficientnet_b0"),
)
DECODERS: Final = (
    *("gpt3_6_7b_prefill", "gpt3_6_7b_decode", "llama3_8b_prefill", "llama3_8b_decode"),
)
#: where decoders run: in one buffer of a server's chip, on 16 cores of one at the edge, and on 2
DECODERS_ON: Final = ("edgetpu", "tpu_v3", "fast_large")

#: tokens that decoders have, or attend to
TOKENS: Final = 2048

#: plans that are evaluated, and evaluations of mappings of each layer and tile: as
#: fusion_planners.py has them
PLANS: Final = 60
MAPPINGS: Final = 100_000

Row = dict[str, Any]


@dataclass(frozen=True)
class Effort:
    """Plans, steps of the proof, and evaluations of mappings, at most."""

    plans: int = PLANS
    steps: int = 4500
    mappings: int = MAPPINGS


def run(name: str, design: str, effort: Effort, version: str) -> Row:
    """Return the gap of the plan that is found for a network on a preset, by a version."""
    hardware = preset(design)
    net = network(name, sequence_length=TOKENS) if name in DECODERS else network(name)
    net = net.with_batch(pass_batch(net, hardware))
    mapper = Mapper(MAPPING_SEARCHES["auto"](), effort.mappings, seed=1, factors="imperfect")
    planner = JointPlanner(MemoizedPlanEvaluator(net, hardware, mapper))
    began = time.process_time()
    found = planner.advance(planner.start(1), effort.plans)
    planned = time.process_time()
    proven = planner.prove(found, effort.steps)
    spent = time.process_time() - planned
    assert proven.bound is not None, "the planner has a bound of every plan"
    return {
        "version": version,
        "network": name,
        "preset": design,
        "steps": effort.steps,
        "edp": exp(proven.history[-1]),
        "found": exp(found.history[-1]),
        "bound": exp(proven.bound),
        "any_mappings": exp(proven.bound if proven.any_mappings is None else proven.any_mappings),
        "any_plan": any_plan_bound(net, hardware).edp_js,
        "plan_cpu_s": round(planned - began, 3),
        "bound_cpu_s": round(spent, 3),
    }


def gap_percent(row: Row, bound: str = "bound") -> float:
    """Return by how much the plan is above a bound at most."""
    return max(0.0, 100 * (row["edp"] / row[bound] - 1))


def table(rows: list[Row]) -> None:
    """Print a table in Markdown, and what it says of all cells."""
    found = {(row["network"], row["preset"]): row for row in rows}
    print("| network | " + " | ".join(PRESETS) + " |")
    print("|---" * (len(PRESETS) + 1) + "|")
    for name in dict.fromkeys(row["network"] for row in rows):
        cells = [_cell(found.get((name, design))) for design in PRESETS]
        print(f"| {name} | " + " | ".join(cells) + " |")
    gaps = [gap_percent(row) for row in rows]
    before = [gap_percent(row, "any_plan") for row in rows]
    both = [row["plan_cpu_s"] + row["bound_cpu_s"] for row in rows]
    spent = [row["bound_cpu_s"] for row in rows]
    print(
        f"\n{len(rows)} cells; gap to any plan {median(before):.1f}% in the median and "
        f"{max(before):.0f}% at most; in the space {median(gaps):.2g}% and {max(gaps):.0f}%, "
        f"{sum(gap > 5 for gap in gaps)} above 5%, {sum(gap == 0 for gap in gaps)} proven; CPU-s "
        f"of the bound {median(spent):.1f} and {max(spent):.0f}, with the plan {median(both):.1f} "
        f"and {max(both):.0f}"
    )


def _cell(row: Row | None) -> str:
    """Both gaps, and CPU seconds of plan and bound."""
    if row is None:
        return ""
    gap, before = gap_percent(row), gap_percent(row, "any_plan")
    inside = "proven" if gap == 0 else _short(gap)
    return f"{_short(before)}, {inside} ({row['plan_cpu_s']:.1f} + {row['bound_cpu_s']:.1f})"


def _short(gap: float) -> str:
    """Two digits, or whole percents."""
    return f"{gap:.0f}" if gap >= 10 else f"{gap:.2g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--presets", nargs="+", default=PRESETS, choices=PRESETS)
    parser.add_argument("--networks", nargs="+", default=(*NETWORKS, *DECODERS))
    parser.add_argument("--plans", type=int, default=PLANS)
    parser.add_argument("--steps", type=int, default=Effort.steps)
    parser.add_argument("--mappings", type=int, default=MAPPINGS)
    parser.add_argument("--table", action="store_true")
    asked = parser.parse_args()
    lines = asked.results.read_text().splitlines() if asked.results.exists() else []
    rows = list(map(json.loads, lines))
    if asked.table:
        table(rows)
        return
    known = {(row["network"], row["preset"]) for row in rows}
    effort = Effort(asked.plans, asked.steps, asked.mappings)
    # that of what is imported now, whatever is written meanwhile
    version = code_version()
    # kernels are compiled before anything is timed
    for design in ("eyeriss", "edgetpu"):
        for name in ("tiny_cnn", "tiny_mlp"):
            run(name, design, effort, version)
    for design in asked.presets:
        for name in asked.networks:
            if (name, design) in known or (name in DECODERS and design not in DECODERS_ON):
                continue
            row = run(name, design, effort, version)
            with asked.results.open("a") as file:
                file.write(json.dumps(row) + "\n")
            told = f"{gap_percent(row, 'any_plan'):.1f}% -> {gap_percent(row):.2g}%"
            seconds = f"{row['plan_cpu_s']:.1f} + {row['bound_cpu_s']:.1f} s"
            print(f"{design} {name} {told} {seconds}", flush=True)


if __name__ == "__main__":
    main()
