"""This machine as hardware: measured once, kept, and named wherever hardware is."""

import json
from pathlib import Path

import pytest

from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.hardware import Hardware
from archloom.studies.commands.cli import main

from ...cases.studies import TINY, write_study


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def run(cache, monkeypatch, capsys):
    """Run a command line where programs keep things in ``cache``."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["archloom", *arguments])
        with pytest.raises(SystemExit) as stop:
            main()
        printed = capsys.readouterr()
        return int(stop.value.code or 0), printed.out, printed.err

    return call


def test_it_is_measured_once_and_kept(run, cache) -> None:
    code, out, err = run("hardware", "host", "--json")
    assert code == 0
    assert "measuring this machine once" in err
    first = json.loads(out)
    assert "other machines give other results" in first["name"]
    (kept,) = (cache / "archloom").iterdir()
    assert first["file"] == str(kept)
    code, out, err = run("hardware", "host", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == first
    host = HardwareSpace.load(str(kept)).build({})
    assert isinstance(host, Hardware)
    rates = [level.read_bandwidth_words for level in host.levels[1:]]
    assert min(rates) > 0
    # next to a core words come faster than from memory, on every machine and under any load
    assert rates[0] > rates[-1] / 2
    assert host.levels[0].name == "registers"
    assert host.levels[-1].name == "dram"


def test_plans_run_on_it(run) -> None:
    effort = ("--fusion", "none", "--mapping-evaluations", "16")
    code, out, _ = run("schedule", "tiny_cnn", "--hardware", "host", "--json", *effort)
    assert code == 0
    assert "other machines give other results" in out


def test_a_study_keeps_it(run, cache, tmp_path) -> None:
    """Its template becomes part of the study: another machine goes on with the same hardware."""
    text = TINY.replace("space: casco_edge", "space: host").replace("trials: 10", "trials: 2")
    study = write_study(tmp_path, text.replace("baseline: eyeriss\n", ""))
    code, _, err = run("run", str(study), "--out", str(tmp_path / "runs"))
    assert code == 0, err
    (kept,) = (cache / "archloom").iterdir()
    (stored,) = (tmp_path / "runs").rglob("space/*.yaml")
    assert stored.read_text() == kept.read_text()


def test_it_has_no_parameters(run) -> None:
    code, _, err = run("hardware", "host", "--set", "cores=2")
    assert code == 2
    assert "host has no parameters; leave out --set cores=2" in err


def test_a_folder_that_cannot_be_written_is_told(monkeypatch, capsys, tmp_path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    monkeypatch.setattr("sys.argv", ["archloom", "hardware", "host"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert "error: host: " in (err := capsys.readouterr().err)
    assert "XDG_CACHE_HOME names another place" in err
