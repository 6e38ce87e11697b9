"""How much CPU time commands take to start, and a study to propose its first designs.

    python benchmarks/studies/start_time.py [--runs 5] [--commands help networks]

Each command runs in processes of its own, of which the fastest counts; what a bare Python takes is
taken off. Exits with 1 if one takes more than its target.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

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
_ARCHLOOM: Final = ("-c", "from archloom.studies.cli import main; main()")
_PROPOSE: Final = """\
from pathlib import Path
from archloom.studies.config import load_config
from archloom.studies.engine import prepare
config = load_config(Path({path!r}))
study = prepare(config, config.space)
assert len(study.proposals().next(config.batch_size)[0]) == config.batch_size
"""

#: arguments of Python, and the most CPU-seconds beyond a bare start
COMMANDS: Final[dict[str, tuple[tuple[str, ...], float]]] = {
    "help": ((*_ARCHLOOM, "--help"), 0.1),
    "networks": ((*_ARCHLOOM, "networks"), 0.1),
    "mistake": ((*_ARCHLOOM, "run", "mistaken.yaml"), 0.25),
    "typo": ((*_ARCHLOOM, "run", "typo.yaml"), 0.25),
    "pareto": ((*_ARCHLOOM, "pareto", "runs/small"), 0.23),
    "propose": (("-c", _PROPOSE.format(path="quickstart.yaml")), 1.7),
}


def cpu_seconds(arguments: tuple[str, ...], folder: Path, runs: int) -> float:
    """Return the least user and system time of some runs."""
    found = []
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        # no kernel is compiled on this machine yet
        with tempfile.TemporaryDirectory() as cache:
            environment = os.environ | {"NUMBA_CACHE_DIR": cache, "OMP_NUM_THREADS": "1"}
            command = [sys.executable, *arguments]
            subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        found.append(used)
    return min(found)


def start_times(names: list[str], runs: int) -> list[str]:
    """Print the times of some commands and return those that are too long."""
    slow = []
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        (folder / "mistaken.yaml").write_text(MISTAKEN)
        (folder / "small.yaml").write_text(SMALL)
        quickstart = Path(__file__).parents[2] / "studies" / "quickstart.yaml"
        (folder / "quickstart.yaml").write_text(quickstart.read_text())
        # a file with options of its parts
        (folder / "typo.yaml").write_text(quickstart.read_text().replace("seed:", "sed:"))
        if "pareto" in names:
            command = [sys.executable, *_ARCHLOOM, "run", "small.yaml"]
            subprocess.run(command, cwd=folder, capture_output=True, check=True)
        bare = cpu_seconds(("-c", "pass"), folder, runs)
        print(f"{'CPU-seconds beyond a bare Python':36}{'taken':>8}{'target':>8}")
        for name in names:
            arguments, most = COMMANDS[name]
            taken = cpu_seconds(arguments, folder, runs) - bare
            print(f"{name:36}{taken:8.3f}{most:8.2f}")
            if taken > most:
                slow.append(f"{name}: {taken:.3f} s, at most {most} s")
    return slow


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--commands", nargs="*", choices=COMMANDS, default=list(COMMANDS))
    options = parser.parse_args()
    sys.exit("\n".join(start_times(options.commands, options.runs)) or None)
