import csv
import io
import json
import os
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import cast

import pytest
from click.testing import CliRunner

from archloom.studies.commands.cli import app, main
from archloom.studies.storage.parts import STUDY, TRIALS
from archloom.studies.storage.store import Store

from ...cases.studies import TINY, archloom, run_here, tiny_config, write_study


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tiny study, run by the command line."""
    folder = tmp_path_factory.mktemp("home")
    done = archloom("run", write_study(folder), cwd=folder)
    assert done.returncode == 0, done.stderr
    (folder / "output").write_text(done.stdout)
    return folder


def content(folder: Path) -> dict[str, bytes]:
    files = (p for p in folder.rglob("*") if p.is_file() and p.name != ".lock")
    return {str(p.relative_to(folder)): p.read_bytes() for p in files}


def test_a_run_shows_progress_front_and_baseline(home: Path) -> None:
    output = (home / "output").read_text()
    assert "study runs/tiny: started" in output
    assert "trials 0/10, round 1/3" in output
    assert "new on the Pareto front: trial 0 (round 1/3): EDP " in output
    assert "Pareto front:" in output
    assert "relative to baseline eyeriss" in output


def test_a_study_that_is_stopped_while_it_is_read_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = "archloom.studies.commands.study.study_file.read_study"
    monkeypatch.setattr(where, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    study = write_study(tmp_path)
    done = CliRunner().invoke(app, ["run", str(study), "--out", str(tmp_path / "run")])
    assert (done.exit_code, done.output) == (130, f"reading {study}\nstopped\n")


def test_json_is_the_promised_form(home: Path) -> None:
    done = archloom("pareto", "runs/tiny", "--json", cwd=home)
    data = json.loads(done.stdout)
    assert data.keys() == {"front", "certificate"}
    lines = (home / "runs" / "tiny" / TRIALS).read_text().splitlines()
    records = {r["trial"]: r for r in map(json.loads, lines)}
    assert len(data["front"]) >= 1
    assert {row["state"] for row in data["front"]} <= {"complete", "stopped"}
    for row in data["front"]:
        record = records[row["trial"]]
        assert row == {
            "trial": record["trial"],
            "edp_js": record["edp_js"],
            "area_mm2": record["area_mm2"],
            "tdp_w": record["tdp_w"],
            "state": record["state"],
            "evaluations": record["evaluations"],
            "plan_gap_percent": gap_of(record["trial"], home),
            "hardware": record["point"],
        }
    # nobody is dominated, by the definition rather than by the library
    values = [(row["edp_js"], row["area_mm2"], row["tdp_w"]) for row in data["front"]]
    everyone = [(r["edp_js"], r["area_mm2"], r["tdp_w"]) for r in records.values()]
    for v in values:
        better = [o for o in everyone if o != v and all(a <= b for a, b in zip(o, v, strict=True))]
        assert better == []
    edps = [row["edp_js"] for row in data["front"]]
    assert edps == sorted(edps)


def gap_of(trial: int, home: Path) -> float | None:
    """Return the gap that ``show`` says of a trial of one network."""
    shown = json.loads(archloom("show", "runs/tiny", str(trial), "--json", cwd=home).stdout)
    (network,) = shown["networks"]
    return cast(float | None, network["gaps"]["plan_percent"])


def test_csv_holds_the_same_front(home: Path) -> None:
    text = archloom("pareto", "runs/tiny", "--csv", cwd=home).stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    front = json.loads(archloom("pareto", "runs/tiny", "--json", cwd=home).stdout)["front"]
    assert [int(row["trial"]) for row in rows] == [row["trial"] for row in front]
    assert [float(row["edp_js"]) for row in rows] == [row["edp_js"] for row in front]
    for key in ("state", "evaluations", "plan_gap_percent"):
        told = ["" if row[key] is None else str(row[key]) for row in front]
        assert [row[key] for row in rows] == told
    assert rows[0]["pe_x"] == str(front[0]["hardware"]["pe_x"])


def test_a_table_is_the_default(home: Path) -> None:
    done = archloom("pareto", "runs/tiny", cwd=home)
    assert "Pareto front:" in done.stdout
    assert "pe_x=" in done.stdout
    front = json.loads(archloom("pareto", "runs/tiny", "--json", cwd=home).stdout)["front"]
    states = [row["state"] for row in front]
    for state, meaning in (
        ("complete", "complete: the software search used its full budget"),
        (
            "stopped",
            "stopped: halving ended the software search early; more search may lower the EDP",
        ),
    ):
        assert (f"{meaning} ({states.count(state)})\n" in done.stdout) == (state in states)
    assert "gap: how far the EDP is at most above that of the same fusion plan" in done.stdout


def test_run_on_its_own_directory_goes_on(home: Path) -> None:
    before = content(home / "runs" / "tiny")
    done = archloom("run", "tiny.yaml", "--executor", "inline", cwd=home)
    assert done.returncode == 0
    assert "study runs/tiny: resumed" in done.stdout
    after = content(home / "runs" / "tiny")
    assert after[TRIALS] == before[TRIALS]
    assert after[STUDY] == before[STUDY]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "none.yaml"], "none.yaml: there is no such study file"),
        (["run", "tiny.yaml", "--executor", "inlin"], "executor 'inlin' is unknown"),
        (["run", "tiny.yaml", "--workers", "0"], "workers is 0, must be at least 1"),
        (["run", "other.yaml", "--out", "runs/tiny"], "another config (seed: 5 there, 6 here)"),
        (["run", "tiny.yaml", "--out", "foreign"], "foreign is not empty (a.txt) and no study"),
        (["resume", "runs/none"], "runs/none: there is no such directory"),
        (["resume", "foreign"], "foreign is no study"),
        (["pareto", "foreign"], "foreign is no study"),
        (["pareto", "runs/tiny", "--csv", "--json"], "--csv and --json exclude each other"),
        (["run", "capped.yaml"], "no feasible design"),
        (["run", "wrong.yaml"], "wrong.yaml: 2 errors"),
    ],
)
def test_mistakes_are_one_message_and_change_nothing(
    home: Path,
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (home / "other.yaml").write_text(TINY.replace("seed: 5", "seed: 6"))
    (home / "capped.yaml").write_text(TINY + "constraints: {area_mm2: 0.01}\n")
    (home / "wrong.yaml").write_text(TINY.replace("tiny_cnn", "cnn") + "sed: 1\n")
    (home / "foreign").mkdir(exist_ok=True)
    (home / "foreign" / "a.txt").write_text("mine")
    before = content(home)
    monkeypatch.chdir(home)
    monkeypatch.setattr("sys.argv", ["archloom", *arguments])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    errors = capsys.readouterr().err
    assert errors.startswith("error: ")
    assert message in errors
    assert content(home) == before


def test_a_locked_study_can_be_read_but_not_written(home: Path) -> None:
    with Store(home / "runs" / "tiny"):
        done = archloom("resume", "runs/tiny", cwd=home)
        assert done.returncode == 2
        assert "is writing to this study" in done.stderr
        assert archloom("pareto", "runs/tiny", cwd=home).returncode == 0


def test_a_study_without_a_trial_has_an_empty_front(tmp_path: Path) -> None:
    config = tiny_config(tmp_path)
    run_here(config, tmp_path / "run")
    (tmp_path / "run" / TRIALS).write_text("")
    assert json.loads(archloom("pareto", "run", "--json", cwd=tmp_path).stdout)["front"] == []
    assert "0 designs" in archloom("pareto", "run", cwd=tmp_path).stdout
    assert archloom("pareto", "run", "--csv", cwd=tmp_path).stdout.startswith("trial,edp_js")


def test_another_version_of_archloom_is_told(home: Path) -> None:
    path = home / "runs" / "tiny" / STUDY
    text = path.read_text()
    path.write_text(text.replace(f"archloom: {version('archloom')}", "archloom: 0.0.1"))
    done = archloom("resume", "runs/tiny", cwd=home)
    path.write_text(text)
    assert done.returncode == 0
    assert f"note: started with archloom 0.0.1, resumed with {version('archloom')}" in done.stdout


def test_version_is_the_packages() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert result.output == f"archloom {version('archloom')}\n"


def test_help_imports_nothing_heavy() -> None:
    heavy = {"torch", "botorch", "ray", "numba", "numpy", "scipy", "plotly", "pydantic", "yaml"}
    command = [
        sys.executable,
        "-c",
        "import sys, archloom.studies.commands.cli; print(*sys.modules)",
    ]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert heavy & set(loaded.split()) == set()


def test_mistakes_in_a_study_file_import_nothing_heavy(tmp_path: Path) -> None:
    """Wrong options of searches too, whose modules need all of it."""
    text = (
        "workloads: [resnt18]\nspace: casco_edge\ntrials: 0\n"
        "optimizer: {name: mobo, initial: x, acquisition: ehv}\n"
        "software: {fusion: {name: casco, size: 3}, mapping: {name: local, effort: 1}}\n"
    )
    (tmp_path / "wrong.yaml").write_text(text)
    code = (
        "import sys; from archloom.studies.commands.cli import main\n"
        "try: main()\nfinally: print(*sys.modules)"
    )
    command = [sys.executable, "-c", code, "run", str(tmp_path / "wrong.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "6 errors" in done.stderr
    heavy = {"torch", "ray", "numba", "numpy", "scipy", "rich", "pydantic", "importlib.metadata"}
    assert heavy & set(done.stdout.split()) == set()
