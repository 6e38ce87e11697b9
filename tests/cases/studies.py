"""Small real studies, and the command line as a process of its own."""

import json
import subprocess
import sys
from pathlib import Path
from shutil import copytree
from typing import TYPE_CHECKING

from archloom.studies.config.study_config import StudyConfig, load_config
from archloom.studies.engine.executors.executor import InlineExecutor
from archloom.studies.engine.loop import run_study
from archloom.studies.engine.progress.watch import Status, Unwatched
from archloom.studies.engine.study import header_of, prepare
from archloom.studies.storage.parts import BASELINE_FILE, TRIALS
from archloom.studies.storage.records import read_trials
from archloom.studies.storage.store import Store
from archloom.studies.storage.trial import Trial

from .warm_command import warm_command

if TYPE_CHECKING:
    from archloom.studies.engine.trial_task import Advance

TINY = """\
seed: 5
workloads: [tiny_cnn]
space: casco_edge
optimizer: {name: random}
halving: {name: msh, rounds: 3, first_budget: 2}
trials: 10
batch_size: 6
software: {fusion: casco, population: 4, mapping: random, mapping_evaluations: 40}
executor: {name: inline}
baseline: eyeriss
"""
"""Ten trials in two batches, three rounds each: under a second once kernels are compiled."""

COMMAND = [sys.executable, "-c", "from archloom.studies.commands.program import main; main()"]


def write_study(folder: Path, text: str = TINY) -> Path:
    """Return a study file with the text."""
    path = folder / "tiny.yaml"
    path.write_text(text)
    return path


def tiny_config(folder: Path, text: str = TINY) -> StudyConfig:
    return load_config(write_study(folder, text))


class Noted(Unwatched):
    """Remembers every status."""

    def __init__(self, seen: list[Status] | None) -> None:
        self.seen = seen if seen is not None else []

    def status(self, status: Status) -> None:
        self.seen.append(status)


def run_here(
    config: StudyConfig,
    folder: Path,
    advance: "Advance | None" = None,
    seen: list[Status] | None = None,
    retry: bool = False,
) -> list[Trial]:
    """Run a study, or go on with it, in this process."""
    study = prepare(config, config.space, advance)
    with (
        Store.create(folder, header_of(config)) as store,
        InlineExecutor(study.context) as executor,
    ):
        run_study(study, store, executor, Noted(seen), retry)
    return read_trials(folder)


def without_breakdowns(study: Path, copy: Path) -> Path:
    """Return a copy of a study as older versions would have left it: plans and mappings alone."""
    copytree(study, copy)
    for name in (TRIALS, BASELINE_FILE):
        lines = (study / name).read_text().splitlines() if (study / name).exists() else []
        records = [json.loads(line) for line in lines]
        for network in (found for record in records for found in record["networks"].values()):
            assert network.pop("breakdown")
        if records:
            (copy / name).write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return copy


def archloom(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command line to its end, in a process of its own that has it imported already."""
    words = [str(argument) for argument in arguments]
    if done := warm_command(TINY).run(words, cwd):
        return subprocess.CompletedProcess(words, done.code, done.out, done.err)
    return subprocess.run([*COMMAND, *words], cwd=cwd, capture_output=True, text=True, check=False)


def begin(*arguments: str | Path, cwd: Path, group: bool = False) -> "subprocess.Popen[str]":
    """Start the command line, perhaps as a process group of its own, and return at once."""
    return subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=group,
    )
