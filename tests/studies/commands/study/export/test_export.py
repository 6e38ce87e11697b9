"""Trials of every state for other programs: files, pandas, and Optuna's storages."""

import csv
import io
import json
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from math import inf
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import archloom as al
from archloom.search.budget import Curve
from archloom.search.software import SoftwareResult, SoftwareTask, advance
from archloom.space import Infeasible
from archloom.studies.analysis import TrialTable
from archloom.studies.commands.cli import app
from archloom.studies.commands.study.export import files
from archloom.studies.storage.records import read_trials

from .....cases.studies import TINY, run_here, tiny_config, write_study

NARROW = Infeasible("spad_overflow", "weight_spad", 64.0, 1.0, "bytes", "more bytes")

#: trials of a limit, of which the first crashes and the second has no plan
LIMITED = TINY + "constraints: {throughput_per_s: 1000}\n"


def said(*arguments: str | Path, code: int = 0) -> str:
    done = CliRunner().invoke(app, ["export", *map(str, arguments)])
    assert done.exit_code == code, f"{arguments}: {done.output} {done.exception!r}"
    return f"{done.output}{done.exception or ''}"


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("every_state")
    seen: list[str] = []

    def unlucky(task: SoftwareTask, state: dict[str, Any] | None, budget: int) -> SoftwareResult:
        name = task.hardware.name
        seen.append(name)
        first = list(dict.fromkeys(seen))
        if "casco_edge" in name and name in first[:2]:
            if name == first[0]:
                raise RuntimeError("no luck")
            return SoftwareResult({}, Curve((), ()), {}, NARROW)
        return advance(task, state, budget)

    text = LIMITED.replace("baseline: eyeriss\n", "")
    run_here(tiny_config(folder, text), folder / "run", unlucky)
    states = {trial.state for trial in read_trials(folder / "run")}
    assert states == {"failed", "infeasible", "stopped", "complete"}
    return folder / "run"


def test_all_trials_stand_in_every_format(study: Path, tmp_path: Path) -> None:
    import pandas

    table = al.load_study(study).to_pandas()
    rows = list(csv.DictReader(io.StringIO(said(study))))
    data = json.loads(said(study, "--format", "json"))["trials"]
    assert "10 trials" in said(study, "--format", "parquet", "--out", tmp_path / "t.parquet")
    parquet = pandas.read_parquet(tmp_path / "t.parquet")
    columns = list(table.columns)
    assert [*rows[0]] == [*data[0]] == list(parquet.columns) == columns
    assert columns[:6] == ["trial", "state", "on_front", "edp_js", "area_mm2", "tdp_w"]
    assert {"throughput_per_s", "energy_pj(tiny_cnn)", "latency_s(tiny_cnn)", "pe_x"} < {*columns}
    trials = al.load_study(study).trials
    assert [int(row["trial"]) for row in rows] == [trial.number for trial in trials]
    for trial, row, one in zip(trials, rows, data, strict=True):
        assert row["state"] == one["state"] == trial.state
        assert one["edp_js"] == trial.edp_js
        assert row["edp_js"] == ("" if trial.edp_js is None else repr(trial.edp_js))
        assert one["pe_x"] == trial.point["pe_x"]
        assert one["why"] == trial.error or str(trial.infeasible or "")
    assert data[0]["why"] == "RuntimeError: no luck"
    assert data[1]["why"] == str(NARROW)
    assert data[1]["latency_s(tiny_cnn)"] is None
    assert list(parquet["edp_js"].isna()) == [trial.edp_js is None for trial in trials]
    said(study, "--format", "csv", "--out", tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == said(study)


def test_a_parameter_of_texts_and_numbers_is_a_column_of_texts(tmp_path: Path) -> None:
    import pandas

    rows = ({"trial": 0, "mode": 4, "gap": inf}, {"trial": 1, "mode": "ws"}, {"trial": 2})
    table = TrialTable(("trial", "mode", "gap"), rows)
    (tmp_path / "t.parquet").write_bytes(files._parquet(table))
    found = pandas.read_parquet(tmp_path / "t.parquet")
    assert found["mode"].fillna("").tolist() == ["4", "ws", ""]
    assert json.loads(files._json(table))["trials"][0] == {"trial": 0, "mode": 4, "gap": None}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--format", "parket"], "--format 'parket' is not known; did you mean parquet?"),
        (["--format", "parquet"], "is written to a file: say --out trials.parquet"),
        (["--format", "csv", "--out", "none/t.csv"], "--out none/t.csv: cannot be written"),
        (["--format", "csv", "--out", "sqlite:///t.db"], "is written to a file"),
        (["--format", "optuna"], "such as --out sqlite:///study.db"),
        (["--format", "optuna", "--out", "t.db"], "such as --out sqlite:///study.db"),
        (["--format", "optuna", "--out", "sqlite:////none/t.db"], "unable to open database file"),
        (["--format", "optuna", "--out", "http://a:secret@b"], "--out http://a:***@b: "),
    ],
)
def test_mistakes_are_one_message(study: Path, arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(app, ["export", str(study), *arguments])
    assert isinstance(done.exception, al.ArchloomError)
    assert message in str(done.exception)
    assert "secret" not in str(done.exception)


@pytest.mark.parametrize("package", ["pandas", "pyarrow"])
def test_a_missing_package_is_named(
    study: Path, tmp_path: Path, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    out = tmp_path / "t.parquet"
    done = CliRunner().invoke(app, ["export", str(study), "--format", "parquet", "--out", str(out)])
    assert f"needs {package}, which is not installed" in str(done.exception)
    assert "pip install 'archloom[parquet]'" in str(done.exception)
    assert not out.exists()


def test_trials_in_a_storage_of_optuna(study: Path, tmp_path: Path) -> None:
    import optuna

    url = f"sqlite:///{tmp_path / 'study.db'}"
    assert "10 of 10 trials added" in said(study, "--format", "optuna", "--out", url)
    assert "0 of 10 trials added" in said(study, "--format", "optuna", "--out", url)
    found = optuna.load_study(study_name="tiny", storage=url)
    records = read_trials(study)
    assert [trial.number for trial in found.trials] == [record.number for record in records]
    for trial, record in zip(found.trials, records, strict=True):
        assert trial.state.name == ("FAIL" if record.edp_js is None else "COMPLETE")
        assert trial.params == record.point
        assert trial.user_attrs["state"] == record.state
        if record.edp_js is not None:
            assert trial.values == [record.edp_js, record.area_mm2, record.tdp_w]
            assert trial.user_attrs["throughput_per_s"] == record.values["throughput_per_s"]
            assert (trial.constraints["throughput_per_s"] <= 0) == (
                record.values["throughput_per_s"] >= 1000
            )
        assert trial.datetime_start <= trial.datetime_complete
    assert found.trials[0].user_attrs["why"] == "RuntimeError: no luck"
    front = {trial.number for trial in al.load_study(study).front()}
    assert {trial.number for trial in found.best_trials} == front


def test_records_that_changed_are_written_anew(study: Path, tmp_path: Path) -> None:
    """A study with more trials decides anew who is stopped; and another study is left alone."""
    url, grown = f"sqlite:///{tmp_path / 'study.db'}", tmp_path / "run"
    shutil.copytree(study, grown)
    said(grown, "--format", "optuna", "--out", url)
    done = CliRunner().invoke(app, ["resume", str(grown), "--trials", "14"])
    assert done.exit_code == 0
    assert "14 trials added" in said(grown, "--format", "optuna", "--out", url)
    other = tmp_path / "other"
    run_here(tiny_config(tmp_path, TINY.replace("seed: 5", "seed: 6")), other)
    done = CliRunner().invoke(app, ["export", str(other), "--format", "optuna", "--out", url])
    assert "has another study called tiny; nothing was changed" in str(done.exception)


def test_a_callback_mirrors_trials_as_they_end(tmp_path: Path) -> None:
    import optuna

    url, run = f"sqlite:///{tmp_path / 'study.db'}", tmp_path / "run"
    seen: list[int] = []

    def count(_: al.Trial) -> None:
        seen.append(len(optuna.load_study(study_name="tiny", storage=url).trials))

    mirror = al.optuna_mirror(run, url)
    al.run_study(write_study(tmp_path), run, workers=1, callbacks=[mirror, count])
    # the first call of a batch finds all of it; of the second batch each adds its own
    assert seen == [6, 6, 6, 6, 6, 6, 7, 8, 9, 10]
    assert "0 of 10 trials added" in said(run, "--format", "optuna", "--out", url)


def test_the_dashboard_shows_them(study: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    said(study, "--format", "optuna", "--out", url)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = [Path(sys.executable).with_name("optuna-dashboard"), url, "--port", port]
    with (tmp_path / "log").open("w") as log:
        server = subprocess.Popen([*command, "--host", "127.0.0.1"], stdout=log, stderr=log)
    try:
        home = f"http://127.0.0.1:{port}"
        page = _get(f"{home}/dashboard/", server)
        assert "<title>Optuna Dashboard</title>" in page
        (one,) = json.loads(_get(f"{home}/api/studies", server))["study_summaries"]
        assert one["study_name"] == "tiny"
        shown = json.loads(_get(f"{home}/api/studies/{one['study_id']}?after=0", server))
        records = read_trials(study)
        assert [trial["number"] for trial in shown["trials"]] == [r.number for r in records]
        states = ["Fail" if record.edp_js is None else "Complete" for record in records]
        assert [trial["state"] for trial in shown["trials"]] == states
        assert shown["objective_names"] == ["edp_js", "area_mm2", "tdp_w"]
    finally:
        server.terminate()
        server.wait()


def _get(url: str, server: "subprocess.Popen[bytes]") -> str:
    """Return a page, once the server answers."""
    while server.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                return str(answer.read().decode())
        except OSError:
            time.sleep(0.2)
    raise AssertionError("the dashboard ended")


def test_units_stand_in_names_of_columns(study: Path) -> None:
    """Every figure says its unit; what has none are counts, names and shares of 1."""
    without = {"trial", "state", "on_front", "evaluations", "rounds", "batch", "hardware", "why"}
    head = said(study).splitlines()[0].split(",")
    units = re.compile(r"_(js|mm2|w|pj|s|bytes|cycles|percent|kib|mhz|channels|x|y)(\(.*\))?$")
    assert [c for c in head if c not in without and not units.search(c)] == ["inferences(tiny_cnn)"]
