"""How much CPU time commands take to start, and a study to propose its first designs.

    python benchmarks/studies/start_time.py [--runs 5] [--commands help networks]

Each command runs in processes of its own, of which the fastest counts; what a bare Python takes is
taken off. Targets are for a machine where plain Python prices 0.023 million mappings a CPU-second
(`mapping_throughput.py`), and shrink as much as this one is faster. Exits with 1 if a command takes
more than its target.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]

#: a study file with two mistakes
MISTAKEN: Final = "workloads: [resnt18]\nspace: casco_edge\ntrials: 4\nsed: 1\n"
SMALL: Final = """\
workloads: [tiny_cnn]
space: casco_edge
optimizer: {name: random}
halving: {name: msh, rounds: 2, first_budget: 2}
trials: 4
software: {fusion: none, mapping: random, mapping_evaluations: 20}
executor: {name: inline}
"""

#: one trial of two networks, as the quickstart has them
REAL: Final = """\
workloads: [resnet18, mobilenetv2]
space: casco_edge
constraints: {area_mm2: 20, tdp_w: 2}
optimizer: {name: random}
halving: {name: none, evaluations: 14}
trials: 1
executor: {name: inline}
"""

#: by name, what is put in the place of what in the quickstart's file
MISTAKES: Final[Mapping[str, Mapping[str, str]]] = {
    "typo": {"seed:": "sed:"},
    "options": {
        "initial: 8": "initial: x\n  update_filter: uul",
        "fusion: joint": "fusion: {name: casco, popultion: 3}",
        "mapping: auto": "mapping: {name: local, restart: 3}",
    },
    "values": {"rounds: 3": "rounds: 0", "mapping: auto": "mapping: {name: exact, proof: 3}"},
    "space": {"space: casco_edge": "space: mine.yaml"},
    "rules": {"mapping: auto": "constraints: {levels: {l9: {keep: [weights]}}}"},
    "several": {
        "seed:": "sed:",
        "resnet18": "resnet81",
        "space: casco_edge": "space: mine.yaml",
        "tdp_w: 2": "tdp_w: 2 kg",
        "initial: 8": "initial: x",
        "trials: 24": "trials: 1e3",
        "baseline: eyeriss": "baseline: eyeris\nstart_from: [{preset: tpu}]",
    },
}
MANY: Final = 1000

_ARCHLOOM: Final = ("-c", "from archloom.studies.commands.cli import main; main()")
_PROPOSE: Final = """\
from pathlib import Path
from archloom.studies.config import load_config
from archloom.studies.engine import prepare
config = load_config(Path({path!r}))
study = prepare(config, config.space)
assert len(study.proposals().next(config.batch_size)[0]) == config.batch_size
"""

#: as mapping_throughput.py measures it, with the first of its architectures
_RATE: Final = """\
from mapping_throughput import Pool, best_rate, by_plain_python, problem_of
pool = Pool.of(problem_of("A1_rf256").setup)
valid = pool.setup, pool.valid_loops, pool.valid_keep
print(best_rate(lambda: by_plain_python(*valid), 0.3, 1)[0])
"""

#: millions of mappings that plain Python prices in a CPU-second where the targets are for
SLOW: Final = 0.023

#: arguments of Python, and the most CPU-seconds beyond a bare start on such a machine
COMMANDS: Final[dict[str, tuple[tuple[str, ...], float]]] = {
    "help": ((*_ARCHLOOM, "--help"), 0.3),
    "networks": ((*_ARCHLOOM, "networks"), 0.3),
    "mistake": ((*_ARCHLOOM, "run", "mistaken.yaml"), 0.3),
    **{name: ((*_ARCHLOOM, "run", f"{name}.yaml"), 0.3) for name in MISTAKES},
    "pareto": ((*_ARCHLOOM, "pareto", "runs/small"), 0.7),
    "pareto of 1,000": ((*_ARCHLOOM, "pareto", "runs/many"), 0.7),
    "show": ((*_ARCHLOOM, "show", "runs/real", "0"), 0.7),
    "show --json": ((*_ARCHLOOM, "show", "runs/real", "0", "--json"), 0.7),
    "propose": (("-c", _PROPOSE.format(path="quickstart.yaml")), 5.0),
}

#: by study, the commands that look at it
LOOKED_AT: Final = {
    "small": {"pareto"},
    "real": {"show", "show --json", "pareto of 1,000"},
}


def cpu_seconds(arguments: tuple[str, ...], folder: Path, runs: int) -> float:
    """Return the least user and system time of some runs."""
    found = []
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    # an installation has its bytecode; the first run writes what is missing
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, *arguments]
    for run in range(runs + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        # no kernel is compiled on this machine yet
        with tempfile.TemporaryDirectory() as cache:
            environment["NUMBA_CACHE_DIR"] = cache
            subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        found += [used] if run else []
    return min(found)


def plain_rate() -> float:
    """Return the millions of mappings that plain Python prices in a CPU-second."""
    folder = ROOT / "benchmarks" / "mapping"
    command = [sys.executable, "-c", _RATE]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=True, text=True)
    return float(done.stdout) / 1e6


def write_files(folder: Path) -> None:
    """Write study files, and a template with a mistake."""
    quickstart = (ROOT / "studies" / "quickstart.yaml").read_text()
    files = {"mistaken": MISTAKEN, "small": SMALL, "real": REAL, "quickstart": quickstart}
    for name, changes in MISTAKES.items():
        text = quickstart
        for old, new in changes.items():
            if old not in text:
                raise ValueError(f"the quickstart has no {old!r}")
            text = text.replace(old, new)
        files[name] = text
    template = ROOT / "space" / "design_space" / "templates" / "casco_edge.yaml"
    files["mine"] = template.read_text().replace("levels:", "levles:")
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)


def run_studies(folder: Path, names: list[str]) -> None:
    """Run the studies that commands look at; of one trial make a study of a thousand."""
    for study, commands in LOOKED_AT.items():
        if commands & set(names):
            command = [sys.executable, *_ARCHLOOM, "run", f"{study}.yaml"]
            subprocess.run(command, cwd=folder, capture_output=True, check=True)
    if "pareto of 1,000" in names:
        many = folder / "runs" / "many"
        shutil.copytree(folder / "runs" / "real", many)
        trial = json.loads((many / "trials.jsonl").read_text())
        with (many / "trials.jsonl").open("w") as lines:
            for number in range(MANY):
                edp = trial["edp_js"] * (1 + number % 37 / 37)
                area = trial["area_mm2"] * (2 - number % 41 / 41)
                values = trial["values"] | {"edp_js": edp, "area_mm2": area}
                changed = {"trial": number, "edp_js": edp, "area_mm2": area, "values": values}
                line = json.dumps(trial | changed, separators=(",", ":"))
                lines.write(f"{line}\n")


def start_times(names: list[str], runs: int) -> list[str]:
    """Print the times of some commands and return those that are too long."""
    slow = []
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        write_files(folder)
        run_studies(folder, names)
        rate, bare = plain_rate(), cpu_seconds(("-c", "pass"), folder, runs)
        print(f"plain Python prices {rate:.3f} million mappings a CPU-second")
        print(f"{'CPU-seconds beyond a bare Python':36}{'taken':>8}{'target':>8}", flush=True)
        for name in names:
            arguments, least = COMMANDS[name]
            most = least * SLOW / rate
            taken = cpu_seconds(arguments, folder, runs) - bare
            print(f"{name:36}{taken:8.3f}{most:8.3f}", flush=True)
            if taken > most:
                slow.append(f"{name}: {taken:.3f} s, at most {most:.3f} s")
    return slow


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--commands", nargs="*", choices=COMMANDS, default=list(COMMANDS))
    options = parser.parse_args()
    sys.exit("\n".join(start_times(options.commands, options.runs)) or None)
