"""Sub-batches through everything that takes them: schedule, Python, plan files, studies, tables."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import archloom as al
from archloom.studies.commands.cli import app
from archloom.studies.config.errors import ConfigError
from archloom.studies.config.study_config import load_config
from archloom.studies.errors import UserError
from archloom.studies.solve.papers import read_table

from ...cases.workload_studies import study

WHERE = ("schedule", "tiny_cnn", "--hardware", "fast_large", "--batch", "4")
QUICK = ("--mapping", "local", "--mapping-evaluations", "60")
FAST = ("--fusion", "fast")


def shown(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def said(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments)
    assert isinstance(result.exception, UserError), result.output
    return str(result.exception)


def test_schedule_prints_a_plan_in_parts_that_a_file_repeats(tmp_path: Path) -> None:
    wanted = (*WHERE, *QUICK, *FAST, "--sub-batches", "2")
    record = json.loads(shown(*wanted, "--json"))
    assert {group["sub_batches"] for group in record["groups"]} == {2}
    assert any(group["loaded_once"] for group in record["groups"] if "loaded_once" in group)
    text = shown(*wanted)
    assert "batch 4 in 2 sub-batches" in text
    assert "weights loaded" in text
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(record))
    picture = tmp_path / "memory.svg"
    given = (*WHERE, *QUICK, "--plan", str(plan))
    again = json.loads(shown(*given, "--memory", str(picture), "--json"))
    assert again["groups"] == record["groups"]
    assert again["edp_js"] == record["edp_js"]
    assert picture.exists()
    # groups that a file leaves out run in as many parts
    plan.write_text(json.dumps(record["groups"][:1]))
    again = json.loads(shown(*given, "--json"))
    assert {group["sub_batches"] for group in again["groups"]} == {2}
    plan.write_text(json.dumps([record["groups"][0] | {"sub_batches": 3}]))
    assert "sub_batches is 3, must divide the batch of 4 images: 1, 2, 4" in said(*given)


def test_auto_is_at_most_what_any_number_costs_and_python_says_the_same() -> None:
    edp = {
        parts: json.loads(shown(*WHERE, *QUICK, *FAST, "--sub-batches", parts, "--json"))["edp_js"]
        for parts in ("1", "2", "4", "auto")
    }
    assert edp["auto"] == min(edp.values())
    plain = json.loads(shown(*WHERE, *QUICK, *FAST, "--json"))
    assert edp["1"] == plain["edp_js"]
    assert all("sub_batches" not in group for group in plain["groups"])
    chosen = {"fusion": "fast", "mapping": "local", "mapping_evaluations": 60, "batch": 4}
    found = al.schedule("tiny_cnn", "fast_large", sub_batches="auto", **chosen)
    assert found.edp_js == edp["auto"]
    again = al.evaluate(
        "tiny_cnn", "fast_large", fusion=found, mapping="local", mapping_evaluations=60, batch=4
    )
    assert again.edp_js == found.edp_js


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((*FAST, "--sub-batches", "3"), "sub_batches is 3, must divide the batch of tiny_cnn"),
        ((*FAST, "--sub-batches", "0"), "'0' must be auto, or a whole number of at least 1"),
        ((*FAST, "--sub-batches", "some"), "'some' must be auto, or a whole number"),
        (("--sub-batches", "2"), "joint plans no sub-batches; choose fast or fast_printed"),
        (("--plan", "x.json", "--sub-batches", "2"), "--plan and --sub-batches exclude each other"),
    ],
)
def test_mistakes_of_the_command_line(options: tuple[str, ...], message: str) -> None:
    assert message in said(*WHERE, *options)


def fast_study(folder: Path, parts: object, workload: str = "tiny_cnn") -> Path:
    path = study(folder, workload)
    fusion = f"fusion: {{name: fast, sub_batches: {parts}}},"
    path.write_text(path.read_text().replace("fusion: casco, population: 2,", fusion))
    return path


def test_a_study_records_and_shows_the_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = fast_study(tmp_path, 2, "{network: tiny_cnn, batch: 4}")
    path.write_text(path.read_text().replace("trials: 2", "trials: 1"))
    assert load_config(path).software.fusion_options == {"sub_batches": 2}
    shown("run", str(path), "--out", "done")
    details = json.loads(shown("show", "done", "0", "--json"))
    plans = details["networks"][0]["groups"]
    assert {group.get("sub_batches", 1) for group in plans} <= {1, 2}
    text = shown("show", "done", "0")
    assert ("for each of 2 sub-batches" in text) == ("sub_batches" in plans[0])


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (0, "0 must be at least 1"),
        ("half", "sub_batches"),
        (3, r"sub_batches is 3, must divide the batch of .*, 4 images: 1, 2, 4, or auto"),
    ],
)
def test_mistakes_of_study_files(tmp_path: Path, parts: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_config(fast_study(tmp_path, parts, "{network: tiny_cnn, batch: 4}"))


def test_networks_that_share_a_chip_run_whole(tmp_path: Path) -> None:
    path = fast_study(tmp_path, 2)
    path.write_text(path.read_text() + "tenants: [tiny_cnn]\n")
    with pytest.raises(ConfigError, match="leave out sub_batches"):
        load_config(path)


def test_a_study_without_parts_keeps_its_identity(tmp_path: Path) -> None:
    path = study(tmp_path, "tiny_cnn")
    path.write_text(path.read_text().replace("fusion: casco, population: 2,", "fusion: fast,"))
    assert load_config(path).software.fusion_options == {}


TABLE = """\
kind: plans
title: Parts
designs: [{hardware: fast_large}]
networks: [tiny_cnn]
batch: 4
mappings: [{name: short, evaluations: 60, search: local}]
planners:
  - {fusion: none}
  - {fusion: none, fold: true}
  - {fusion: fast, fold: true}
  - {fusion: fast, fold: true, sub_batches: 2}
  - {fusion: fast, fold: true, sub_batches: auto}
  - {fusion: fast, fold: true, sub_batches: 3}
figures: [sub_batches, flop_per_byte, edp_gain]
"""


def test_a_table_has_rows_of_parts_and_of_folded_layers(tmp_path: Path) -> None:
    path = tmp_path / "parts.yaml"
    path.write_text(TABLE)
    rows = json.loads(shown("reproduce", str(path), "--json"))["parts"]["rows"]
    found = {row["planner"]: row["figures"] for row in rows}
    assert found["none folded"]["flop_per_byte"] > found["none"]["flop_per_byte"]
    assert found["fast folded in 2 sub-batches"]["sub_batches"] in (1, 2)
    gains = [found[f"fast folded{end}"]["edp_gain"] for end in ("", " in 2 sub-batches")]
    assert found["fast folded in sub-batches"]["edp_gain"] == max(
        *gains, found["fast folded in sub-batches"]["edp_gain"]
    )
    uneven = next(row for row in rows if row["planner"] == "fast folded in 3 sub-batches")
    assert uneven["figures"] == {}
    assert "uneven_sub_batches" in uneven["infeasible"][0]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{fusion: none}", "{fusion: joint, sub_batches: 2}", "joint plans no sub-batches"),
        ("{fusion: none}", "{fusion: joint, fold: true}", "joint cannot plan folded layers"),
        ("sub_batches: 3", "sub_batches: 0", "0 must be auto, or a whole number of at least 1"),
    ],
)
def test_mistakes_of_tables(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "parts.yaml"
    path.write_text(TABLE.replace(old, new, 1))
    with pytest.raises(UserError, match=message):
        read_table(path)
