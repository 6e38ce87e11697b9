"""What does a study of thousands of trials take: memory, journal, learning, and going on with it?

A whole study with its store and `mobo`, in one process, on ``casco_edge`` with ResNet-18 and
MobileNetV2. In place of the software search stands a smooth function above the tight bounds, so
that a trial costs a millisecond and what is left is what the study itself takes.

    python benchmarks/studies/long_study.py                      # 100, 1,000 and 5,000 trials
    python benchmarks/studies/long_study.py --workloads tiny_cnn --marks 100 500

Prints after each of these numbers of trials: resident memory of the process (now, and its peak),
bytes of the journal a trial besides its results, CPU-seconds of another process that goes on with
the study until its next proposal, and of ``archloom pareto``; and CPU-seconds a trial, since the
mark before, of proposing, of learning (bounds of boxes and certificates), and of all together.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log2, sin
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any, Final, NoReturn

from archloom.evaluators import edp_js
from archloom.evaluators.bounds import tight_pass_bounds
from archloom.search.budget import Curve
from archloom.search.software.result import NetworkResult, SoftwareResult
from archloom.search.software.search import SoftwareTask
from archloom.space.hardware import pass_batch
from archloom.studies.config.study_config import load_config
from archloom.studies.engine.executors.executor import InlineExecutor
from archloom.studies.engine.loop import run_study
from archloom.studies.engine.progress.watch import Unwatched
from archloom.studies.engine.study import header_of, prepare
from archloom.studies.storage.parts import JOURNAL
from archloom.studies.storage.store import Store

STUDY: Final = """\
seed: {seed}
workloads: [{workloads}]
space: {space}
constraints: {{area_mm2: 20, tdp_w: 2}}
optimizer: {{name: mobo}}
halving: {{name: none, evaluations: 1}}
trials: {trials}
batch_size: 8
software: {{fusion: none, mapping: random, mapping_evaluations: 1}}
executor: {{name: inline}}
"""
ARCHLOOM: Final = (sys.executable, "-c", "from archloom.studies.commands.cli import main; main()")


class Enough(BaseException):
    """Ends a study where nothing more of it is wanted."""


def smooth(task: SoftwareTask, state: dict[str, Any] | None, budget: int) -> SoftwareResult:  # noqa: ARG001
    """Return what software would come to: tight bounds times factors that depend on the design."""
    hardware = task.hardware
    x, y = hardware.pe_mesh
    pad, buffer = (log2(level.total_bytes) for level in hardware.levels[:2])
    energy = 0.06 * (8 - pad) ** 2 + 0.08 * abs(20 - buffer) + 0.1 * sin(2 * log2(x * y))
    latency = 0.1 * abs(log2(x / y)) + 0.05 * abs(20 - buffer) + 0.15 * sin(3 * log2(x * y))
    found, whole = {}, 1.0
    for network in task.networks:
        pj, least = tight_pass_bounds(network, hardware, "layer_by_layer")
        pj, cycles = pj * exp(max(energy, 0.02)), int(least * exp(max(latency, 0.02))) + 1
        batch = pass_batch(network, hardware)
        edp, seconds = edp_js(pj, cycles, hardware, batch), cycles / hardware.frequency_mhz * 1e-6
        without = edp, pj, cycles, 0.0
        found[network.name] = NetworkResult(
            edp, pj, cycles, seconds, 0.0, *without, batch, plan=[], mappings={}
        )
        whole *= edp ** (1 / len(task.networks))
    return SoftwareResult({}, Curve((1,), (whole,)), found, None)


def stop(*_: object) -> NoReturn:
    """Stand in for the software search where the next proposal is all that is wanted."""
    raise Enough


@dataclass(frozen=True)
class Mark:
    """What was measured after so many trials; see the module's docstring."""

    trials: int
    resident_mb: float
    peak_mb: float
    journal_bytes: float
    resume_s: float
    pareto_s: float
    proposing_s: float
    learning_s: float
    all_s: float


class Measuring(Unwatched):
    """Measures a study before the first proposal after each mark; ends it after the last one."""

    def __init__(self, folder: Path, marks: Sequence[int]) -> None:
        self._folder, self._left = folder, sorted(marks)
        self._before: tuple[int, float, float, float] = (0, 0.0, 0.0, process_time())
        self.marks: list[Mark] = []

    def begin(self, what: str, total: int | None = None) -> None:  # noqa: ARG002
        """Hear that designs are to be proposed: all that came before is in the journal."""
        words = what.split()
        if words[0] == "learning" and "proposing" in words and int(words[2]) >= self._left[0]:
            self._measure(int(words[2]))
            self._left.pop(0)
            if not self._left:
                raise Enough

    def _measure(self, trials: int) -> None:
        now = process_time()
        kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        besides, proposing, learning = _journal(self._folder / "run")
        before, proposed, learned, then = self._before
        new = trials - before
        mark = Mark(
            trials,
            pages * os.sysconf("SC_PAGE_SIZE") / 1e6,
            kib * 1024 / 1e6,
            besides / trials,
            _resumed(self._folder, trials),
            _cpu_seconds([*ARCHLOOM, "pareto", str(self._folder / "run")]),
            (proposing - proposed) / new,
            (learning - learned) / new,
            (now - then) / new,
        )
        print(_row(mark), flush=True)
        self.marks.append(mark)
        self._before = trials, proposing, learning, process_time()


def _journal(folder: Path) -> tuple[int, float, float]:
    """Return bytes of a journal besides results, and CPU-seconds of proposals and of learning."""
    besides, proposing, learning = 0, 0.0, 0.0
    for line in (folder / JOURNAL).read_text().splitlines():
        event = json.loads(line)["event"]
        besides += len(line) + 1 - len(event.get("payload") or "")
        if event["event"] == "asked":
            proposing += event["cpu_seconds"]
            learning += event["learning_cpu_seconds"]
    return besides, proposing, learning


def _cpu_seconds(command: Sequence[str]) -> float:
    """Return user and system time of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _resumed(folder: Path, trials: int) -> float:
    """Return what a process takes that goes on with a copy of the study until it has proposed."""
    copy = copytree(folder / "run", folder / f"at_{trials}")
    return _cpu_seconds([sys.executable, __file__, "--resume", str(copy)])


def study(folder: Path, out: Path, search: Any, watch: Unwatched) -> None:
    """Run a study until somebody has enough of it."""
    config = load_config(folder / "study.yaml")
    made = prepare(config, config.space, search)
    with (
        Store.create(out, header_of(config)) as store,
        InlineExecutor(made.context) as executor,
    ):
        try:
            run_study(made, store, executor, watch)
        except Enough:
            return
    raise RuntimeError("the study ended by itself")


COLUMNS: Final = (
    "trials", "MB now", "MB peak", "journal B", "resume s", "pareto s", "propose s", "learn s",
    "all s",
)  # fmt: skip


def _row(mark: Mark) -> str:
    memory = f"{mark.trials:10,}{mark.resident_mb:10.0f}{mark.peak_mb:10.0f}"
    store = f"{mark.journal_bytes:10.0f}{mark.resume_s:10.2f}{mark.pareto_s:10.2f}"
    return f"{memory}{store}{mark.proposing_s:10.4f}{mark.learning_s:10.4f}{mark.all_s:10.4f}"


def main() -> int:
    """Run the study and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--marks", type=int, nargs="+", default=[100, 1000, 5000])
    parser.add_argument("--workloads", nargs="+", default=["resnet18", "mobilenetv2"])
    parser.add_argument("--space", default="casco_edge")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--resume", type=Path, metavar="DIR", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.resume is not None:
        study(options.resume.parent, options.resume, stop, Unwatched())
        return 0
    with TemporaryDirectory() as folder:
        settings = {"seed": options.seed, "space": options.space, "trials": max(options.marks) + 64}
        text = STUDY.format(workloads=", ".join(options.workloads), **settings)
        (Path(folder) / "study.yaml").write_text(text)
        print("".join(f"{column:>10}" for column in COLUMNS), flush=True)
        watch = Measuring(Path(folder), options.marks)
        study(Path(folder), Path(folder) / "run", smooth, watch)
    return 0


if __name__ == "__main__":
    sys.exit(main())
