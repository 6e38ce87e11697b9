"""Mappings of larger budgets than those of trials, through the command line."""

import json

import pytest

from archloom.studies.commands.cli import main

from ...source_tree import ROOT

FILE = ROOT / "tests" / "data" / "timeloop_cases.jsonl"


@pytest.fixture
def command(monkeypatch, capsys):
    """Run a command, and return what it prints as JSON."""

    def call(*words: str):
        monkeypatch.setattr("sys.argv", ["archloom", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        assert not stop.value.code
        return json.loads(capsys.readouterr().out)

    return call


def test_more_evaluations_of_a_case_find_better_mappings(tmp_path, command):
    record = json.loads(FILE.read_text().splitlines()[0])
    record["problem"]["dims"].update(K=40, C=23, P=38, Q=29)
    cases = {key: value for key, value in record.items() if key not in ("mapping", "result")}
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps(cases))
    found = [
        command("map", str(path), "--json", "--evaluations", str(evaluations))
        for evaluations in (100_000, 400_000, 1_600_000)
    ]
    edps = [line["best"]["edp"] for line in found]
    assert edps[0] > edps[1] >= edps[2]
    for line in found:
        assert line["lower_bound"] <= line["best"]["edp"]
        # what exact factors give is the same with any of these budgets: it is proven
        assert line["exact"] == found[0]["exact"]
    # a better mapping has a smaller gap to the same bound
    bounds = [line["lower_bound"] for line in found]
    assert bounds[1:] == pytest.approx(bounds[:2], rel=1e-9)


def test_factors_of_any_size_are_proven_on_one_mesh_of_buffers(command):
    effort = ("--case", "ref-0002", "--json", "--evaluations", "100000")
    line = command("map", str(FILE), *effort)
    assert line["proven_optimal"]
    assert line["gap_percent"] == 0
    assert line["lower_bound"] == line["best"]["edp"] < line["exact"]["best"]["edp"]


def test_a_schedule_with_more_evaluations_of_each_mapping(command):
    words = ("schedule", "resnet18", "--hardware", "eyeriss", "--fusion", "none", "--json")
    usual, more = (
        command(*words, "--mapping-evaluations", str(evaluations))
        for evaluations in (100_000, 400_000)
    )
    assert more["edp_js"] < usual["edp_js"]
