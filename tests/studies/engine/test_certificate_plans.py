"""Studies whose certificates rest on bounds of all plans of ``joint``."""

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
enumerate: 1
optimizer: {name: random}
trials: 2
batch_size: 1
halving: {name: none, evaluations: 4}
software: {fusion: joint, mapping: local, mapping_evaluations: 500}
certificate_plans: 20
executor: {name: inline}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the template, and an undisturbed run of the study."""
    folder = tmp_path_factory.mktemp("plans")
    (folder / "small.yaml").write_text(SMALL_TEMPLATE)
    run_here(tiny_config(folder, STUDY), folder / "run")
    return folder


def share_of(folder: Path) -> tuple[float, dict[str, float]]:
    proof = json.loads((folder / CERTIFICATE).read_text())
    return proof["volume"] / proof["ceiling"], proof


@pytest.mark.parametrize("enumerated", [False, True])
def test_bounds_of_plans_certify_more_and_change_no_trial(enumerated: bool, folder: Path) -> None:
    text = STUDY.replace("enumerate: 1\n", "") if enumerated else STUDY
    planned, plain = (folder / f"{name}_{enumerated}" for name in ("planned", "plain"))
    run_here(tiny_config(folder, text), planned)
    run_here(tiny_config(folder, text.replace("certificate_plans: 20\n", "")), plain)
    assert (plain / TRIALS).read_bytes() == (planned / TRIALS).read_bytes()
    (share, proof), (before, without) = share_of(planned), share_of(plain)
    assert 0 < proof["plans"] <= 20
    assert proof["share_any_plan"] == pytest.approx(before)
    assert share > before + 0.001
    assert proof["open"] <= without["open"]
    assert "plans" not in without
    said = " ".join(archloom("pareto", str(planned), cwd=folder).stdout.split())
    assert f"Bounds of {proof['plans']} boxes and designs hold for the plans" in said
    assert f"{100 * before:.1f}% would be certified" in said


def test_cuts_come_before_plans(folder: Path) -> None:
    run_here(tiny_config(folder, STUDY + "certificate_cuts: 20\n"), folder / "both")
    run_here(
        tiny_config(folder, STUDY.replace("certificate_plans: 20", "certificate_cuts: 20")),
        folder / "cut",
    )
    (_, both), (cut_share, cut) = share_of(folder / "both"), share_of(folder / "cut")
    assert both["cuts"] == cut["cuts"]
    assert both["share_uncut"] == cut["share_uncut"]
    assert both["share_any_plan"] == pytest.approx(cut_share)


def test_a_study_that_is_over_is_not_bounded_again(folder: Path) -> None:
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


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("plans: 20", "plans: -1", "certificate_plans"),
        ("plans: 20", "plans: many", "certificate_plans"),
        ("fusion: joint", "fusion: none", "the planner is none; set software.fusion: joint"),
        ("fusion: joint", "fusion: casco", "the planner is casco"),
    ],
)
def test_what_is_wrong_is_named(before: str, after: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SMALL_TEMPLATE)
    (tmp_path / "study.yaml").write_text(STUDY.replace(before, after))
    done = archloom("run", "study.yaml", "--out", "run", cwd=tmp_path)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
