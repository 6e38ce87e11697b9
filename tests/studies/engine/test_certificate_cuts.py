"""Studies that cut boxes once more at the end."""

import json
from pathlib import Path

import pytest

from archloom.studies.storage.parts import CERTIFICATE, JOURNAL, TRIALS

from ...cases.studies import archloom, run_here, tiny_config
from ...contracts.problems import SMALL_TEMPLATE

STUDY = """\
seed: 5
workloads: [tiny_cnn]
space: ./small.yaml
objectives: [latency, energy, area]
enumerate: 1
optimizer: {name: random}
trials: 2
batch_size: 1
certificate_cuts: 60
halving: {name: none, evaluations: 1}
software: {fusion: none, mapping: exact, mapping_evaluations: 2000}
executor: {name: inline}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the template, and an undisturbed run of the study."""
    folder = tmp_path_factory.mktemp("cuts")
    (folder / "small.yaml").write_text(SMALL_TEMPLATE)
    run_here(tiny_config(folder, STUDY), folder / "run")
    return folder


def test_cuts_certify_more_and_change_no_trial(folder: Path) -> None:
    plain = folder / "plain"
    run_here(tiny_config(folder, STUDY.replace("certificate_cuts: 60\n", "")), plain)
    assert (plain / TRIALS).read_bytes() == (folder / "run" / TRIALS).read_bytes()
    cut, before = (json.loads((one / CERTIFICATE).read_text()) for one in (folder / "run", plain))
    assert 0 < cut["cuts"] <= 60
    assert cut["share_uncut"] == pytest.approx(before["volume"] / before["ceiling"])
    assert cut["volume"] / cut["ceiling"] > cut["share_uncut"]
    assert "cuts" not in before
    said = " ".join(archloom("pareto", "run", cwd=folder).stdout.split())
    assert f"Without the {cut['cuts']} cuts at the end it would be" in said


def test_a_study_that_is_over_is_not_cut_again(folder: Path) -> None:
    files = {name: (folder / "run" / name).read_bytes() for name in (TRIALS, CERTIFICATE, JOURNAL)}
    run_here(tiny_config(folder, STUDY), folder / "run")
    assert (folder / "run" / CERTIFICATE).read_bytes() == files[CERTIFICATE]
    more = (folder / "run" / JOURNAL).read_bytes()[len(files[JOURNAL]) :]
    assert b"certified" not in more


def test_more_trials_end_as_if_there_had_been_so_many_from_the_start(folder: Path) -> None:
    run_here(tiny_config(folder, STUDY.replace("trials: 2", "trials: 1")), folder / "few")
    done = archloom("resume", "few", "--trials", "2", cwd=folder)
    assert done.returncode == 0, done.stderr
    for name in (TRIALS, CERTIFICATE):
        assert (folder / "few" / name).read_bytes() == (folder / "run" / name).read_bytes()


def test_a_certificate_that_was_lost_comes_back(folder: Path) -> None:
    before = (folder / "run" / CERTIFICATE).read_bytes()
    (folder / "run" / CERTIFICATE).unlink()
    run_here(tiny_config(folder, STUDY), folder / "run")
    assert (folder / "run" / CERTIFICATE).read_bytes() == before


@pytest.mark.parametrize("wrong", ["-1", "1.5", "many"])
def test_a_wrong_number_is_named(wrong: str, tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SMALL_TEMPLATE)
    (tmp_path / "study.yaml").write_text(STUDY.replace("cuts: 60", f"cuts: {wrong}"))
    done = archloom("run", "study.yaml", "--out", "run", cwd=tmp_path)
    assert done.returncode == 2
    assert "certificate_cuts" in done.stderr
