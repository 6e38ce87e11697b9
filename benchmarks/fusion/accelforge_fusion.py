"""Fused products planned by Archloom and by AccelForge's mapper, on one design, with each model.

    python benchmarks/fusion/accelforge_fusion.py --accelforge-python PYTHON --record FIGURES.json
    python benchmarks/fusion/accelforge_fusion.py --against [FIGURES.json] [--planner joint]

AccelForge (Fast and Fusiest mapper; pip install accelforge) is no dependency of Archloom: it runs
in an interpreter of its own, and what it found is kept in a file. ``--against`` reads
benchmarks/data/accelforge_fusion.json by default, which names its version. EDP in J s. With
Archloom's model, AccelForge's best mapping has no reads of results as they leave a level, and whole
steps of the array; with AccelForge's model, Archloom's plan has such reads. CPU seconds are of one
core, Archloom's after compilation.

The time of AccelForge's plan is that of its loops as a nest of Archloom, with the first fetch, the
last store and waits for what the buffer has no space to prefetch. The ratio without waits is to
AccelForge's counts, which have none of these, while Archloom's plan is charged for them.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[2]))

from archloom.search.registry import FUSION_SEARCHES
from benchmarks.fusion.beside_accelforge.cases import CASES, Case
from benchmarks.fusion.beside_accelforge.runs import (
    NEEDED,
    ask,
    digest,
    plan,
    record,
    recorded,
    request,
    theirs_here,
)
from benchmarks.fusion.beside_accelforge.translation import (
    accelforge_price,
    archloom_price,
    level_words,
    own_price,
)

RECORDED: Final = Path(__file__).parents[1] / "data" / "accelforge_fusion.json"

COLUMNS: Final = (
    "case",
    "layer by layer",
    "Archloom",
    "AccelForge",
    "ratio",
    "without its waits",
    "AccelForge's model: Archloom",
    "AccelForge",
    "CPU-s: Archloom",
    "AccelForge",
    "DRAM words: Archloom",
    "AccelForge",
)


def measure(cases: list[Case], python: Path, file: Path) -> None:
    """Let AccelForge map the cases that the file has not yet, one by one."""
    versions = ask(python, {})["versions"]
    figures = recorded(file)
    if figures["versions"] not in ({}, versions):
        sys.exit(
            f"{file}: figures of {figures['versions']}, this is {versions}; name another --record"
        )
    figures["versions"] = versions
    for case in cases:
        if figures["cases"].get(case.name, {}).get("digest") == digest(case):
            continue
        answer = ask(python, request(case))
        del answer["versions"]
        figures["cases"][case.name] = {"digest": digest(case), **answer}
        record(file, figures)
        price = own_price(answer)
        print(f"{case.name}: EDP {price.edp_js:.4g} in {answer['cpu_s']:.1f} CPU-s", flush=True)


def row(case: Case, found: dict[str, Any], planner: str) -> tuple[str, ...]:
    """Return the cells of a case."""
    ours = plan(case, planner)
    theirs = theirs_here(case, found).edp_js
    without = archloom_price(found, case.cascade, case.design).edp_js
    in_theirs = accelforge_price(ours["price"], ours["dram_writes"], case.design)
    edp = ours["price"].edp_js
    return (
        case.name + ("*" if case.unequal else ""),
        f"{ours['layer_by_layer_js']:.4g}",
        f"{edp:.4g}",
        f"{theirs:.4g}",
        f"{edp / theirs:.3f}",
        f"{edp / without:.3f}",
        "" if in_theirs is None else f"{in_theirs.edp_js:.4g}",
        f"{own_price(found).edp_js:.4g}",
        f"{ours['cpu_s']:.2f}",
        f"{found['cpu_s']:.1f}",
        f"{ours['dram_reads'] + ours['dram_writes']:,}",
        f"{level_words(found, 'DRAM'):,.0f}",
    )


def compare(cases: list[Case], figures: dict[str, Any], asked: argparse.Namespace) -> None:
    """Print a table in Markdown of Archloom beside recorded figures."""
    print(f"AccelForge: {', '.join(f'{k} {v}' for k, v in figures['versions'].items())}")
    print(f"Archloom: planner {asked.planner}\n")
    # kernels are compiled before anything is timed
    plan(cases[0], asked.planner)
    print(f"| {' | '.join(COLUMNS)} |\n" + "|---" * len(COLUMNS) + "|")
    for case in cases:
        found = figures["cases"].get(case.name)
        if found is None or found["digest"] != digest(case):
            why = "no figures" if found is None else "figures of another description"
            sys.exit(f"{asked.against}: {why} of {case.name}; run --accelforge-python and --record")
        print(f"| {' | '.join(row(case, found, asked.planner))} |", flush=True)
    for case in cases:
        if case.unequal:
            print(f"\n\\* {case.name}: {case.unequal}.")
    for case in cases if asked.mappings else ():
        print(f"\n**{case.name}** on {case.design.name}\n\n```")
        print(*mapping_lines(figures["cases"][case.name]), "```", sep="\n")


def mapping_lines(found: dict[str, Any]) -> Iterator[str]:
    """Yield AccelForge's loop tree, then what it moves and how long it takes, by product."""
    yield from found["tree"]
    for product, counts in found["counts"].items():
        for component, tensors in counts["words"].items():
            moved = (
                f"{tensor} {action} {words:,.0f}"
                for tensor, actions in tensors.items()
                for action, words in actions.items()
            )
            yield f"{product}, words of {component}: {', '.join(moved)}"
        cycles = (f"{component} {n:,.0f}" for component, n in counts["cycles"].items())
        yield f"{product}, cycles: {', '.join(cycles)}"


def main() -> None:
    names = [case.name for case in CASES]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--accelforge-python", type=Path, help="an interpreter with accelforge")
    parser.add_argument("--record", type=Path, help="file that its figures go to, and are kept in")
    parser.add_argument("--against", type=Path, nargs="?", const=RECORDED, help="recorded figures")
    parser.add_argument("--planner", default="joint", choices=sorted(FUSION_SEARCHES))
    parser.add_argument("--cases", nargs="+", default=names, choices=names, metavar="CASE")
    parser.add_argument("--mappings", action="store_true", help="print AccelForge's loop trees too")
    asked = parser.parse_args()
    cases = [case for case in CASES if case.name in asked.cases]
    if asked.accelforge_python is None and asked.against is None:
        parser.error(f"give --against, or --accelforge-python and --record. {NEEDED}")
    if (asked.accelforge_python is None) != (asked.record is None):
        parser.error("--accelforge-python and --record belong together")
    if asked.accelforge_python is not None:
        measure(cases, asked.accelforge_python, asked.record)
    if asked.against is not None:
        if not asked.against.exists():
            parser.error(f"--against {asked.against}: no such file")
        compare(cases, recorded(asked.against), asked)


if __name__ == "__main__":
    main()
