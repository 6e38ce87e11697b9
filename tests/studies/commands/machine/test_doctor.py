"""``archloom doctor``: what it says of a machine and of a study, through the command line."""

import subprocess
from functools import partial
from pathlib import Path

import pytest

from archloom.studies.commands.machine import doctor
from archloom.studies.commands.machine.doctor import Finding, machine_findings, study_findings
from archloom.studies.commands.study.study_file import Overrides, read_study

from ....cases.studies import TINY, archloom, write_study


@pytest.fixture(scope="module")
def well(tmp_path_factory: pytest.TempPathFactory) -> "subprocess.CompletedProcess[str]":
    folder = tmp_path_factory.mktemp("home")
    return archloom("doctor", write_study(folder), cwd=folder)


def test_all_is_well_where_a_study_can_start(well: "subprocess.CompletedProcess[str]") -> None:
    assert well.returncode == 0, well.stdout + well.stderr
    assert well.stdout.splitlines()[-1] == "no problems found"
    for name in ("archloom", "python", "numba", "llvmlite", "ray", "torch", "cores", "memory"):
        assert f"\n  {name} " in f"\n{well.stdout}"
    assert "kernel cache" in well.stdout
    assert "feasible designs       at least one exists" in well.stdout
    assert "executor               inline (trials run in this process)" in well.stdout
    assert "output directory       runs/tiny (writable)" in well.stdout


def test_a_mistake_in_the_study_is_a_problem_and_the_exit_code_1(tmp_path: Path) -> None:
    done = archloom("doctor", write_study(tmp_path, TINY + "sed: 1\n"), cwd=tmp_path)
    assert done.returncode == 1
    assert "sed: is an unknown key; did you mean seed?" in done.stdout
    assert "-> correct the study file" in done.stdout
    assert done.stdout.splitlines()[-1] == "1 problem found, marked with !"


def test_a_study_without_a_feasible_design_and_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("no folder")
    study = write_study(tmp_path, TINY + "constraints: {area_mm2: 0.01}\n")
    found = {
        one.what: one
        for one in study_findings(
            partial(read_study, study, Overrides()), str(tmp_path / "runs" / "tiny")
        )
    }
    assert "no feasible design" in found["feasible designs"].found
    assert found["output directory"].remedy == "choose another directory with --out"


def test_a_cluster_that_does_not_answer_is_named(tmp_path: Path) -> None:
    away = "executor: {name: ray, address: '127.0.0.1:1'}"
    study = write_study(tmp_path, TINY.replace("executor: {name: inline}", away))
    found = {one.what: one for one in study_findings(partial(read_study, study, Overrides()), None)}
    assert "no Ray cluster answers" in found["executor"].found
    assert found["executor"].remedy


def test_little_memory_and_disk_are_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "LEAST_MEMORY_BYTES", float("inf"))
    monkeypatch.setattr(doctor, "LEAST_DISK_BYTES", float("inf"))
    wrong = {one.what for one in machine_findings() if one.remedy}
    assert wrong == {"memory", "disk for kernels"}


def test_a_package_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        doctor, "requires", lambda _: ["no_such_package>=1,<2", "ruff; extra == 'test'"]
    )
    missing = [one for one in machine_findings() if one.found == "not installed"]
    assert missing == [Finding("no_such_package", "not installed", "pip install no_such_package")]
