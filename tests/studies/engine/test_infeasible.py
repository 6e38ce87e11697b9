"""A study of which no design can run its network: told as data, from the run to the report."""

import json
from pathlib import Path

import pytest
import yaml

from archloom.studies.commands.study.summary import infeasible_lines
from archloom.studies.config.space_reference import space_text
from archloom.studies.storage.records import read_trials

from ...cases.studies import TINY, archloom, write_study


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a study whose 16-bit words do not fit a scratchpad of one byte."""
    folder = tmp_path_factory.mktemp("home")
    template = yaml.safe_load(space_text("casco_edge"))
    template["define"]["word_bytes"] = 2
    template["parameters"]["weight_spad_bytes"] = {"values": [1]}
    (folder / "narrow.yaml").write_text(yaml.safe_dump(template, sort_keys=False))
    study = write_study(folder, TINY.replace("casco_edge", "narrow.yaml"))
    done = archloom("run", study, cwd=folder)
    assert done.returncode == 1, done.stderr
    (folder / "output").write_text(done.stdout)
    return folder


def test_the_run_says_which_layer_needs_what(home: Path) -> None:
    output = (home / "output").read_text()
    assert "The Pareto front is empty: no trial is feasible and was evaluated." in output
    assert (
        "10 of 10 trials were infeasible; for example trial 0: no_mapping at spad (weights), layer "
        "conv1" in output
    )
    assert (
        "needs 2 bytes, 1 byte available; give the buffer of weights in spad at least 2 bytes"
        in output
    )


def test_every_trial_is_recorded_after_one_round(home: Path) -> None:
    records = read_trials(home / "runs" / "tiny")
    assert [r.state for r in records] == ["infeasible"] * 10
    assert {r.rounds for r in records} == {1}
    assert {r.reason.reason for r in records} == {"no_mapping"}
    assert len(infeasible_lines(records)) == 1


def test_front_trial_and_report_can_be_read(home: Path) -> None:
    front = archloom("pareto", "runs/tiny", "--json", cwd=home)
    assert json.loads(front.stdout)["front"] == []
    shown = archloom("show", "runs/tiny", "0", cwd=home)
    assert "no_mapping at spad (weights), layer conv1" in shown.stdout
    done = archloom("report", "runs/tiny", cwd=home)
    # what takes longer than two seconds on a busy machine says so
    told = [line for line in done.stderr.splitlines() if "writing the report" not in line]
    assert (done.returncode, told) == (0, [])
    page = (home / "runs" / "tiny" / "report.html").read_text()
    assert "no_mapping" in page
    assert (home / "runs" / "tiny" / "report.png").stat().st_size > 5000
