"""How much faster two workers are than one, and where the rest of the time goes.

A study is run whole with Ray and one worker, then with two, each in a process of its own; kernels
are compiled before. Beside it stands what the machine itself gains by two processes that share
nothing: with cores that are threads of one, or a busy neighbour, no study gains more.

    python benchmarks/studies/two_workers.py
    python benchmarks/studies/two_workers.py --trials 48 --logical-workers 8 --runs 3

Prints for each number of workers: seconds in all; of these, from when the study is opened until the
first round begins, and what is before that and after the last round (*rest*); CPU-seconds of
rounds, and of proposals and learning (*driver*); and the share of the time between first and last
round that workers are busy. Then the ratio. Trials of both runs must be the same.
"""

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, Final

STUDY: Final = Path(__file__).parents[2] / "studies" / "quickstart.yaml"
ARCHLOOM: Final = (sys.executable, "-c", "from archloom.studies.commands.cli import main; main()")

#: a second or so of nothing but Python
LOOP: Final = "sum(i * i % 7 for i in range(10_000_000))"


@dataclass(frozen=True)
class Run:
    """Seconds of a study; see the module's docstring."""

    workers: int
    all_s: float
    before_s: float
    rest_s: float
    rounds_cpu_s: float
    driver_cpu_s: float
    busy: float
    trials: bytes


def run(study: str, workers: int) -> Run:
    """Run a study whole."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "study.yaml").write_text(study)
        words = ["run", "study.yaml", "--out", "run", "--executor", "ray", "--workers"]
        began = perf_counter()
        subprocess.run(
            [*ARCHLOOM, *words, str(workers)], cwd=folder, check=True, stdout=subprocess.DEVNULL
        )
        all_s = perf_counter() - began
        lines = (Path(folder) / "run" / "journal.jsonl").read_text().splitlines()
        trials = (Path(folder) / "run" / "trials.jsonl").read_bytes()
    events: list[dict[str, Any]] = [json.loads(line)["event"] for line in lines]
    rounds = [event for event in events if event["event"] == "advanced"]
    first = min(event["at"] - event["seconds"] for event in rounds)
    last = max(event["at"] for event in rounds)
    asked = [event for event in events if event["event"] == "asked"]
    # the study notes when it is opened, after its imports
    opened = next(event["at"] for event in events if event["event"] == "opened")
    worked = last - first
    return Run(
        workers,
        all_s,
        first - opened,
        all_s - (last - opened),
        sum(event["cpu_seconds"] for event in rounds),
        sum(event["cpu_seconds"] + event["learning_cpu_seconds"] for event in asked),
        sum(event["seconds"] for event in rounds) / (workers * worked),
        trials,
    )


def of_machine() -> float:
    """Return how much faster two processes are than one, at what shares nothing."""

    def seconds(count: int) -> float:
        began = perf_counter()
        ran = [subprocess.Popen([sys.executable, "-c", LOOP]) for _ in range(count)]
        for one in ran:
            one.wait()
        return perf_counter() - began

    return median(2 * seconds(1) / seconds(2) for _ in range(3))


def changed(text: str, trials: int, logical_workers: int) -> str:
    """Return a study file with other numbers of trials and logical workers."""
    kept = [line for line in text.splitlines() if not line.startswith(("trials:", "baseline:"))]
    return "\n".join([*kept, f"trials: {trials}", f"logical_workers: {logical_workers}", ""])


def main() -> int:
    """Run the studies and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--study", type=Path, default=STUDY)
    parser.add_argument("--trials", type=int, default=48)
    parser.add_argument("--logical-workers", type=int, default=8)
    parser.add_argument("--runs", type=int, default=1)
    options = parser.parse_args()
    study = changed(options.study.read_text(), options.trials, options.logical_workers)
    subprocess.run([*ARCHLOOM, "compile"], check=True, stdout=subprocess.DEVNULL)
    print(f"two processes that share nothing: {of_machine():.2f} times as fast as one", flush=True)
    print("workers    all s  before s    rest s  rounds CPU s  driver CPU s   busy", flush=True)
    ratios, same = [], True
    for _ in range(options.runs):
        both = [run(study, workers) for workers in (1, 2)]
        for one in both:
            print(
                f"{one.workers:7}{one.all_s:9.1f}{one.before_s:10.1f}{one.rest_s:10.1f}"
                f"{one.rounds_cpu_s:14.1f}{one.driver_cpu_s:14.1f}{one.busy:7.1%}",
                flush=True,
            )
        ratios.append(both[0].all_s / both[1].all_s)
        same &= both[0].trials == both[1].trials
    print(f"two workers are {median(ratios):.2f} times as fast as one; trials the same: {same}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
