"""What machines fail is told, changes no result for good, and is taken up on request."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from archloom.search.seeds import derived_seed
from archloom.search.software.result import SoftwareResult
from archloom.search.software.search import SoftwareTask, advance as search_software
from archloom.studies.commands.cli import app
from archloom.studies.storage.journal import read_events
from archloom.studies.storage.parts import JOURNAL, TRIALS, VALIDATION
from archloom.studies.storage.records import read_trials, read_validation
from archloom.studies.storage.trial import Lost

from ...cases.studies import TINY, run_here, tiny_config

HELD_OUT = TINY + "validation: {workloads: [tiny_mlp], evaluations: 2}\n"


def failing(*seeds: int) -> Any:
    """Return a software search whose machine has no room for some trials."""

    def search(task: SoftwareTask, state: dict[str, Any] | None, budget: int) -> SoftwareResult:
        if task.seed in seeds:
            raise OSError(28, "No space left on device")
        return search_software(task, state, budget)

    return search


def resumed(folder: Path, *options: str) -> Result:
    return CliRunner().invoke(app, ["resume", str(folder), "--executor", "inline", *options])


def events(folder: Path, kind: str) -> list[dict[str, Any]]:
    return [event for event in read_events(folder / JOURNAL) if event["event"] == kind]


@pytest.fixture
def lost(tmp_path: Path) -> Path:
    """A study of which the last trial was lost, and nothing else."""
    run_here(tiny_config(tmp_path), tmp_path / "run", failing(derived_seed(5, 9, "software")))
    return tmp_path / "run"


def test_lost_trials_are_told_with_what_takes_them_up(lost: Path) -> None:
    said = resumed(lost)
    assert said.exit_code == 3
    text = " ".join(said.output.split())
    assert "1 of 10 trials were set aside, because their machines failed repeatedly: 9;" in text
    assert f"archloom resume {lost} --retry-failed" in text
    ((crash),) = [event["crash"] for event in events(lost, "lost")]
    assert crash["error"] == "OSError"
    assert "No space left" in crash["message"]


def test_lost_trials_are_taken_up_as_if_they_never_had_been(lost: Path, tmp_path: Path) -> None:
    run_here(tiny_config(tmp_path), tmp_path / "undisturbed")
    said = resumed(lost, "--retry-failed")
    assert said.exit_code == 0, said.output
    assert "set aside" not in said.output
    assert (lost / TRIALS).read_bytes() == (tmp_path / "undisturbed" / TRIALS).read_bytes()
    assert [event["trial"] for event in events(lost, "retried")] == [9]
    before = (lost / TRIALS).read_bytes()
    assert resumed(lost).exit_code == 0
    assert (lost / TRIALS).read_bytes() == before


def test_a_trial_lost_in_an_early_batch_comes_back_into_its_batch(tmp_path: Path) -> None:
    """What was proposed after it stays; of its batch halving decides again, with all of it."""
    run_here(tiny_config(tmp_path), tmp_path / "undisturbed")
    run_here(tiny_config(tmp_path), tmp_path / "run", failing(derived_seed(5, 0, "software")))
    assert read_trials(tmp_path / "run")[0].state == "lost"
    assert resumed(tmp_path / "run", "--retry-failed").exit_code == 0
    there, here = (read_trials(tmp_path / name) for name in ("undisturbed", "run"))
    assert here[:6] == there[:6]
    assert [trial.state for trial in here].count("lost") == 0


def test_lost_validations_are_taken_up(tmp_path: Path) -> None:
    config, folder = tiny_config(tmp_path, HELD_OUT), tmp_path / "run"
    run_here(config, tmp_path / "undisturbed")
    of_baseline = derived_seed(5, -1, "validation")
    run_here(config, folder, failing(of_baseline))
    (why,) = read_validation(folder)[-1].missing.values()
    assert why is not None
    assert events(folder, "lost")[0]["network"] == 0
    assert isinstance(Lost(**events(folder, "lost")[0]["crash"]), Lost)
    assert resumed(folder, "--retry-failed").exit_code == 0
    assert (folder / VALIDATION).read_bytes() == (
        tmp_path / "undisturbed" / VALIDATION
    ).read_bytes()
