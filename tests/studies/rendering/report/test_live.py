"""``archloom report --live``: the page of a study that may be running, served and only read."""

import json
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from threading import Thread
from urllib.error import HTTPError

import pytest
from click.testing import CliRunner

from archloom.studies.analysis.study_status import StudyStatus
from archloom.studies.commands.cli import app
from archloom.studies.errors import UserError
from archloom.studies.rendering.report import live
from archloom.studies.rendering.report.live import (
    LiveReport,
    address_of,
    live_server,
    status_text,
)

from ....cases.pages import Page
from ....cases.studies import COMMAND


@pytest.fixture
def study(finished_study: Path, tmp_path: Path) -> Path:
    """A study of which half of the trials have ended."""
    copytree(finished_study, tmp_path / "study")
    trials = tmp_path / "study" / "trials.jsonl"
    lines = trials.read_text().splitlines(keepends=True)
    trials.write_text("".join(lines[:3]))
    (tmp_path / "rest").write_text("".join(lines[3:]))
    return tmp_path / "study"


@pytest.fixture
def address(study: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(live, "_FRESH_S", 0.0)
    with live_server(LiveReport(study), "127.0.0.1", 0) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield address_of(server)
        server.shutdown()
        thread.join()


def got(address: str) -> str:
    with urllib.request.urlopen(address, timeout=120) as answer:
        text: str = answer.read().decode()
        return text


def test_it_shows_what_is_new_and_changes_nothing(address: str, study: Path) -> None:
    before = {path: path.read_bytes() for path in study.rglob("*") if path.is_file()}
    first, told = Page(got(address)), json.loads(got(f"{address}status.json"))
    assert told["text"].startswith("3 of 6 trials, ")
    assert len(first.data["rows"]) == 4  # with the baseline
    assert 'id="live"' in first.html
    assert json.loads(got(f"{address}status.json")) == told
    assert {path: path.read_bytes() for path in study.rglob("*") if path.is_file()} == before
    with (study / "trials.jsonl").open("a") as trials:
        trials.write((study.parent / "rest").read_text())
    after = json.loads(got(f"{address}status.json"))
    assert after["version"] != told["version"]
    assert after["text"].startswith("6 of 6 trials, ")
    body = Page(got(f"{address}body.html"))
    assert len(body.data["rows"]) == 7
    assert "<style>" not in body.html
    assert 'id="plotly"' not in body.html


def test_before_the_first_trial_it_waits(address: str, study: Path) -> None:
    (study / "trials.jsonl").write_text("")
    for path in ("", "body.html"):
        page = Page(got(f"{address}{path}"))
        assert "has no finished trial yet" in page.text
        assert "page updates" in page.text


def test_other_addresses_are_not_found(address: str) -> None:
    with pytest.raises(HTTPError, match="404"):
        got(f"{address}trials.jsonl")
    with pytest.raises(HTTPError, match="501"):
        urllib.request.urlopen(urllib.request.Request(address, b"x"), timeout=60)


def test_a_port_that_is_taken_is_said(study: Path) -> None:
    report = LiveReport(study)
    with live_server(report, "127.0.0.1", 0) as server:
        port = server.server_address[1]
        with pytest.raises(UserError, match=rf"--port {port}: cannot listen there .*--port 0"):
            live_server(report, "127.0.0.1", port)
        done = CliRunner().invoke(app, ["report", str(study), "--live", "--port", str(port)])
        assert isinstance(done.exception, UserError)


def test_what_a_study_does_is_said_in_a_line() -> None:
    known = dict.fromkeys(StudyStatus.__dataclass_fields__)
    known |= {"trials": 3, "trials_wanted": 6, "front": 2, "failures": (), "stages": ()}
    running = tuple((f"trial {n}", "", "", 1.0, "", "") for n in range(6))

    def text(**more: object) -> str:
        return status_text(StudyStatus(**{**known, "running": (), **more}))  # type: ignore[arg-type]

    assert text() == "3 of 6 trials, 2 on the front; no process is running it"
    assert text(trials=6).endswith("the study has ended")
    assert text(process=4).endswith("running: proposing designs")
    busy = text(process=4, running=running, failures=(None,))
    assert "1 rounds failed; running: trial 0, trial 1, trial 2, trial 3 and 2 more" in busy


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--port", "0"), "--port 0 needs --live"),
        (("--host", "localhost"), "--host localhost needs --live"),
        (("--live", "--out", "pages"), "--out pages: --live writes no file"),
        (("--live", "--port", "70000"), "--port 70000 must be at most 65535"),
        (("--live", "--port", "0", "--host", "no such"), "--host no such --port 0: cannot listen"),
        (("--live", "--port", "0", "--pick", "nee"), "did you mean knee"),
    ],
)
def test_options_that_cannot_be_are_refused(
    options: tuple[str, ...], says: str, finished_study: Path
) -> None:
    done = CliRunner().invoke(app, ["report", str(finished_study), *options])
    assert isinstance(done.exception, UserError)
    assert says in str(done.exception)


def test_ctrl_c_ends_it_without_a_traceback(study: Path) -> None:
    command = [*COMMAND, "report", str(study), "--live", "--port", "0", "--host", "127.0.0.1"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        told = ""
        while "Ctrl-C ends it" not in told:
            told += server.stderr.readline()
        address = told.partition(" at ")[2].split()[0]
        assert json.loads(got(f"{address}status.json"))["text"].startswith("3 of 6 trials")
        server.send_signal(signal.SIGINT)
        assert server.stderr.read() == "ended\n"
    assert server.returncode == 0
