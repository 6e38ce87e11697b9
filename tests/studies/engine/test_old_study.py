"""A study that an older version began goes on, and ends as that version would have ended it."""

import json
from pathlib import Path
from shutil import copytree

import pytest

from archloom.studies.analysis.details import trial_details
from archloom.studies.storage.records import read_baseline, read_trials, read_validation

from ...cases.studies import archloom

#: made by commit 1a997e7, where trials were plain dictionaries; ``begun`` was cut in its 2nd batch
DATA = Path(__file__).parents[2] / "data" / "old_study"
FINISHED = ("trials.jsonl", "baseline.json", "validation.jsonl", "certificate.json")


@pytest.fixture(scope="module")
def resumed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("old") / "study"
    copytree(DATA / "begun", folder)
    done = archloom("resume", folder, cwd=folder.parent)
    assert done.returncode == 0, done.stderr
    assert "goes on" in done.stdout
    return folder


@pytest.mark.parametrize("name", FINISHED)
def test_it_ends_as_the_version_that_began_it(resumed: Path, name: str) -> None:
    assert (resumed / name).read_bytes() == (DATA / "finished" / name).read_bytes()


def test_its_records_are_read_and_written_as_they_were() -> None:
    folder = DATA / "finished"
    baseline = read_baseline(folder)
    assert baseline is not None
    copy = [*read_trials(folder), baseline, *read_validation(folder)]
    lines = b"".join((folder / name).read_bytes() for name in FINISHED[:3]).splitlines()
    assert [line_of(one.to_dict()) for one in copy] == lines


def test_its_trials_are_taken_apart(resumed: Path) -> None:
    trial = read_trials(resumed)[0]
    assert trial_details(resumed, 0)["edp_js"] == trial.edp_js


def line_of(record: dict[str, object]) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode()
