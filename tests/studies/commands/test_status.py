"""A study's state from another shell: while it runs, once it ends, and after a failure."""

import json
import os
import signal
from pathlib import Path
from time import sleep

import pytest
from click.testing import CliRunner

from archloom.search.seeds import derived_seed
from archloom.search.software.result import SoftwareResult
from archloom.search.software.search import SoftwareTask, advance as search_software
from archloom.studies.analysis.study_status import read_status
from archloom.studies.commands.cli import app
from archloom.studies.errors import UserError
from archloom.studies.storage.parts import LIVE

from ...cases.studies import TINY, begin, run_here, tiny_config, write_study


def said(folder: Path, *options: str) -> str:
    done = CliRunner().invoke(app, ["status", str(folder), *options])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_study_that_ended(tmp_path: Path) -> None:
    records = run_here(tiny_config(tmp_path), tmp_path / "run")
    status = read_status(tmp_path / "run")
    assert (status.trials, status.trials_wanted, status.process) == (10, 10, None)
    assert sum(status.states.values()) == 10
    assert status.states["complete"] == sum(r.state == "complete" for r in records)
    assert status.failures == ()
    # the baseline runs beside the first batch, three rounds
    assert status.rounds_done == 3 + sum(r.rounds for r in records)
    assert status.searched_cpu_s > 0
    assert status.rounds_per_minute is not None
    assert not (tmp_path / "run" / LIVE).exists()
    text = said(tmp_path / "run")
    assert text.splitlines()[0].endswith("run: finished")
    assert "trials: 10 of 10" in text
    assert json.loads(said(tmp_path / "run", "--json"))["trials"] == 10


def test_failures_are_told_until_they_are_made_good(tmp_path: Path) -> None:
    def fail(task: SoftwareTask, state: object, budget: int) -> SoftwareResult:
        if task.seed == derived_seed(5, 9, "software"):
            raise MemoryError("no room")
        if task.seed == derived_seed(5, 8, "software"):
            raise KeyError("odd")
        return search_software(task, state, budget)  # type: ignore[arg-type]

    config, folder = tiny_config(tmp_path), tmp_path / "run"
    run_here(config, folder, fail)
    text = said(folder)
    assert "crashed: trial 8, round 1: KeyError: 'odd'" in text
    assert "lost: trial 9, round 1: MemoryError: no room" in text
    run_here(config, folder, retry=True)
    assert read_status(folder).failures == ()


def test_a_study_that_runs_and_one_that_was_killed(tmp_path: Path) -> None:
    study = write_study(tmp_path, TINY.replace("trials: 10", "trials: 300"))
    folder = tmp_path / "run"
    process = begin("run", study, "--out", "run", cwd=tmp_path)
    while not (folder / LIVE).exists() or not read_status(folder).running:
        assert process.poll() is None
        sleep(0.01)
    os.kill(process.pid, signal.SIGSTOP)
    status = read_status(folder)
    text = said(folder)
    assert status.process == process.pid
    ((label, stage, design, seconds, *_),) = status.running
    assert label.startswith(("trial ", "baseline"))
    assert stage.startswith("round ")
    assert 0 <= seconds < 60
    assert f"process {process.pid} on " in text
    assert f"running: {label}, {stage}, since" in text
    assert design.split("(")[0] in text
    process.kill()
    process.communicate()
    gone = read_status(folder)
    assert (gone.process, gone.running, gone.host) == (None, (), None)
    assert f"not running; resume with: archloom resume {folder}" in " ".join(said(folder).split())


@pytest.mark.parametrize("text", ["", "{", "[1]", "[" * 100_000])
def test_what_cannot_be_read_of_what_runs_is_left_out(tmp_path: Path, text: str) -> None:
    run_here(tiny_config(tmp_path), tmp_path / "run")
    (tmp_path / "run" / LIVE).write_text(text)
    assert read_status(tmp_path / "run").running == ()


def test_a_directory_that_is_no_study(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is no study"):
        read_status(tmp_path)
