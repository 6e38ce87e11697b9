"""A study that an older version began goes on, and keeps what that version found."""

import json
from pathlib import Path
from shutil import copytree

import pytest
import yaml

from archloom.studies.analysis.details import trial_details
from archloom.studies.storage.records import (
    read_baseline,
    read_certificate,
    read_trials,
    read_validation,
)

from ...cases.studies import archloom

#: made by commit 1a997e7, where trials were plain dictionaries: it planned otherwise, and kept no
#: breakdown of costs; ``begun`` was cut in its 2nd batch
DATA = Path(__file__).parents[2] / "data" / "old_study"
FINISHED = ("trials.jsonl", "baseline.json", "validation.jsonl", "certificate.json")

#: trials that had ended then
ENDED = 2


@pytest.fixture(scope="module")
def resumed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("old") / "study"
    copytree(DATA / "begun", folder)
    done = archloom("resume", folder, cwd=folder.parent)
    assert done.returncode == 0, done.stderr
    assert "resumed" in done.stdout
    return folder


@pytest.fixture(scope="module")
def anew(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the same study from its beginning."""
    folder = tmp_path_factory.mktemp("anew")
    config = yaml.safe_load((DATA / "begun" / "study.yaml").read_text())["config"]
    config["constraints"] = {}
    config["validation"] = config["validation"]["workloads"]
    (folder / "old.yaml").write_text(yaml.safe_dump(config))
    done = archloom("run", "old.yaml", "--out", "study", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "study"


def test_trials_that_had_ended_stay_as_they_were(resumed: Path) -> None:
    before = (DATA / "begun" / "trials.jsonl").read_bytes()
    assert before.count(b"\n") == ENDED
    assert (resumed / "trials.jsonl").read_bytes().startswith(before)


@pytest.mark.parametrize("name", FINISHED)
def test_all_others_end_as_in_a_study_that_this_version_begins(
    resumed: Path, anew: Path, name: str
) -> None:
    known = ENDED if name == "trials.jsonl" else 0
    found, wanted = ((folder / name).read_bytes().splitlines() for folder in (resumed, anew))
    assert len(found) == len(wanted)
    assert found[known:] == wanted[known:]


def test_its_records_are_read_and_written_as_they_were() -> None:
    folder = DATA / "finished"
    baseline = read_baseline(folder)
    assert baseline is not None
    copy = [*read_trials(folder), baseline, *read_validation(folder)]
    lines = b"".join((folder / name).read_bytes() for name in FINISHED[:3]).splitlines()
    assert [line_of(one.to_dict()) for one in copy] == lines
    proof = read_certificate(folder)
    assert proof is not None
    assert proof.share == proof.volume / proof.ceiling
    assert proof.share_any_budget is None


def test_its_trials_are_taken_apart(resumed: Path) -> None:
    trial = read_trials(resumed)[0]
    assert trial_details(resumed, 0)["edp_js"] == trial.edp_js


def line_of(record: dict[str, object]) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode()
