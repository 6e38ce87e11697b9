"""Recording what simulators compute: requests, messages, and the same answers again."""

import json
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from ..source_tree import ROOT

sys.path.insert(0, str(ROOT))

script: Any = import_module("benchmarks.agreement.record_simulators")
asking: Any = import_module("benchmarks.agreement.simulators.asking")

#: the module that each simulator is, where it is installed
MODULES = {"scale_sim": "scalesim", "zigzag": "zigzag", "stream": "stream"}


def called(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> object:
    """Run the script and return what it exits with."""
    monkeypatch.setattr(sys, "argv", ["record_simulators.py", *map(str, arguments)])
    try:
        script.main()
    except SystemExit as end:
        return end.code
    return None


@pytest.fixture
def answering(tmp_path: Path) -> Path:
    """An interpreter that answers each request with its dataflow, as SCALE-Sim's would."""
    python = tmp_path / "python"
    python.write_text(
        f"#!{sys.executable}\nimport json, sys\nasked = json.load(sys.stdin)\n"
        "answer = {'cycles': len(json.dumps(asked))} if asked else {}\n"
        "print(json.dumps({'versions': {'scalesim': '0'}, **answer}))\n"
    )
    python.chmod(0o755)
    return python


@pytest.mark.parametrize("name", MODULES)
def test_recorded_files_have_all_requests_and_no_others(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert called(monkeypatch, name) == 0
    asked = len(list(script.SIMULATORS[name][1]()))
    assert f"{asked} requests, {asked} of them answered in {name}.json" in capsys.readouterr().out


def test_a_request_that_is_not_recorded_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = json.loads((script.RECORDED / "stream.json").read_text())
    kept["rows"].pop()
    file = tmp_path / "stream.json"
    file.write_text(json.dumps(kept))
    assert called(monkeypatch, "stream", "--record", file) == 1
    assert "9 requests, 8 of them answered" in capsys.readouterr().out


def test_a_missing_simulator_is_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rows.json"
    none = tmp_path / "none"
    message = str(called(monkeypatch, "scale_sim", "--python", none, "--record", file))
    assert message.startswith(f"--python {none}: No such file")
    assert "pip install scalesim==3.0.0" in message
    if find_spec("scalesim") is None:
        message = str(called(monkeypatch, "scale_sim", "--python", sys.executable))
        assert "SCALE-Sim does not run: " in message
        assert "scalesim" in message.partition("does not run")[2].partition("pip")[0]
    assert called(monkeypatch, "scale_sim", "--check") == 2
    assert "--check needs --python. pip install scalesim" in capsys.readouterr().err
    assert called(monkeypatch, "scale_sim", "--python", none, "--first", "1") == 2
    assert called(monkeypatch, "scale_sim", "--record", file) == 2
    assert not file.exists()


def test_answers_are_recorded_and_checked(
    answering: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "rows.json"
    few = list(script.requests.scale_sim())[:3]
    title, _, needed = script.SIMULATORS["scale_sim"]
    monkeypatch.setitem(script.SIMULATORS, "scale_sim", (title, lambda: iter(few), needed))
    asked = ("scale_sim", "--python", answering, "--record", file)
    assert called(monkeypatch, *asked) is None
    found = asking.read(file)
    assert found["versions"] == {"scalesim": "0"}
    assert [row["name"] for row in found["rows"]] == [request["name"] for request in few]
    assert called(monkeypatch, *asked, "--check") == 0
    found["rows"][1]["found"]["cycles"] += 1
    asking.write(file, {"versions": {"scalesim": "1"}}, found["rows"])
    assert called(monkeypatch, *asked, "--check", "--first", "1") == 0
    assert called(monkeypatch, *asked, "--check") == 1


@pytest.mark.parametrize("name", MODULES)
def test_a_simulator_that_is_installed_answers_the_same_again(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if find_spec(MODULES[name]) is None:
        pytest.skip(f"needs {name}")
    assert called(monkeypatch, name, "--python", sys.executable, "--check", "--first", "2") == 0
