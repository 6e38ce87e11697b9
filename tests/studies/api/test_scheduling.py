"""Schedules and evaluated plans of the API: equal to what the command prints as JSON."""

import json
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from signal import SIGINT
from threading import Timer
from typing import Any

import pytest
from click.testing import CliRunner

import archloom as al
from archloom.studies.commands.cli import app

QUICK = {"mapping": "local", "mapping_evaluations": 60}
OPTIONS = ("--mapping", "local", "--mapping-evaluations", "60")


def printed(*arguments: str) -> dict[str, Any]:
    done = CliRunner().invoke(app, ["schedule", *arguments, "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def timeless(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record without what it took; tuples are lists, as in JSON."""
    found: dict[str, Any] = json.loads(json.dumps(record)) | {"cpu_s": 0.0}
    return found


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ({"evaluations": 12}, ["--evaluations", "12"]),
        (
            {"fusion": "casco", "evaluations": 9, "seed": 3, "batch": 2},
            ["--fusion", "casco", "--evaluations", "9", "--seed", "3", "--batch", "2"],
        ),
        ({"prove_plans": 0}, ["--prove-plans", "0"]),
        (
            {"fusion": "none", "factors": "exact"},
            ["--fusion", "none", "--factors", "exact"],
        ),
    ],
)
def test_a_schedule_is_what_the_command_prints(
    arguments: dict[str, Any], options: list[str]
) -> None:
    found = al.schedule("tiny_cnn", "eyeriss", **QUICK, **arguments)
    record = printed("tiny_cnn", "--hardware", "eyeriss", *OPTIONS, *options)
    assert timeless(found.to_dict()) == timeless(record)
    for mine, theirs in (
        (found, record),
        (found.unfused, record["baseline"]),
        (found.lower_bound, record["lower_bound"]),
    ):
        assert (mine.edp_js, mine.energy_pj, mine.latency_cycles, mine.dram_bytes) == (
            theirs["edp_js"], theirs["energy_pj"], theirs["latency_cycles"], theirs["dram_bytes"],
        )  # fmt: skip
    assert found.gap_percent == record["gap_percent"]
    assert found.planner_bound_edp_js == record["planner_bound"]
    assert found.planner_gap_percent == record["planner_gap_percent"]
    assert found.planner_bound_any_mappings_edp_js == record["planner_bound_any_mappings"]
    assert found.batch == arguments.get("batch", 1)
    assert [list(group.layers) for group in found.groups] == [
        group["layers"] for group in record["groups"]
    ]
    assert [group.dram_bytes for group in found.groups] == [
        group["dram_bytes"] for group in record["groups"]
    ]
    assert found.mappings == record["mapping_gaps"]["mappings"]
    assert found.mappings_proven == record["mapping_gaps"]["proven"]


def test_layer_by_layer_is_the_planner_that_fuses_nothing() -> None:
    found = al.evaluate("tiny_cnn", "eyeriss", **QUICK)
    record = printed("tiny_cnn", "--hardware", "eyeriss", *OPTIONS, "--fusion", "none")
    assert timeless(found.to_dict()) == timeless(record | {"evaluations": found.evaluations})
    assert found.edp_js == found.unfused.edp_js


def test_a_plan_costs_the_same_in_every_form(tmp_path: Path) -> None:
    searched = al.schedule("tiny_cnn", "eyeriss", evaluations=12, **QUICK)
    groups = searched.to_dict()["groups"]
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(searched.to_dict()))
    record = printed("tiny_cnn", "--hardware", "eyeriss", *OPTIONS, "--plan", str(path))
    for form in (searched, groups, path, str(path)):
        found = al.evaluate("tiny_cnn", "eyeriss", fusion=form, **QUICK)
        assert timeless(found.to_dict()) == timeless(record)
        assert (found.edp_js, found.planner) == (searched.edp_js, "given")


def test_a_proof_is_said() -> None:
    found = al.schedule("tiny_cnn", "eyeriss", factors="exact", evaluations=40)
    assert found.mappings_proven == found.mappings
    assert 0 <= found.mapping_gap_percent < 1
    assert found.proven == (found.gap_percent == 0 or found.planner_gap_percent == 0)
    sure = replace(found, planner_gap_percent=0.0)
    assert sure.proven
    assert "proven optimal in the search space of joint" in repr(sure)
    unsure = replace(found, gap_percent=3.0, planner_gap_percent=None)
    assert not unsure.proven
    assert "EDP at most 3 % above its lower bound" in repr(unsure)


def test_what_cannot_run_is_data(tmp_path: Path) -> None:
    path = tmp_path / "two_bytes.yaml"
    keeps = "keeps: [weights, inputs, outputs]"
    path.write_text(
        "technology: n7\ndram: lpddr4\nfrequency_mhz: 200\nword_bits: 16\npe_mesh: [2, 2]\n"
        f"vector_lanes: 2\nlevels:\n  - {{name: spad, storage: register, {keeps}, mesh: [2, 2], "
        f"capacity_bytes: 2, bandwidth_words: 4}}\n"
        f"  - {{name: dram, storage: dram, {keeps}, mesh: [1, 1], bandwidth_words: 4}}\n"
    )
    found = al.schedule("tiny_cnn", path)
    done = CliRunner().invoke(app, ["schedule", "tiny_cnn", "--hardware", str(path), "--json"])
    assert str(found.infeasible) in " ".join(done.stderr.split())
    assert (found.edp_js, found.energy_pj, found.gap_percent) == (float("inf"),) * 3
    assert not found.proven
    assert found.to_dict()["infeasible"]["reason"] == "no_mapping"
    assert "infeasible" in repr(found)
    assert "infeasible" in found._repr_html_()
    layer = al.load_network("tiny_cnn")["conv1"]
    mapping = al.map_layer(layer, path)
    assert mapping.infeasible is not None
    assert mapping.energy_pj == float("inf")
    assert not mapping.proven
    assert "infeasible" in repr(mapping)
    assert "infeasible" in mapping._repr_html_()
    with pytest.raises(al.ArchloomError, match="conv1 has none"):
        al.evaluate(layer, path, mapping=mapping)


def test_ctrl_c_comes_out_of_searches() -> None:
    layer = al.load_network("resnet18")["conv1"]
    for search in (
        partial(al.schedule, "mobilenetv2", "eyeriss", fusion="casco", evaluations=10**6, **QUICK),
        partial(al.map_layer, layer, "eyeriss", search="local", evaluations=10**12),
    ):
        # what a terminal sends comes to the main thread, which the timer is not
        timer = Timer(1.0, os.kill, [os.getpid(), SIGINT])
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            search()
        timer.join()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"fusion": "jint"}, "^fusion 'jint' is not known; did you mean joint"),
        ({"mapping": "locl"}, "^mapping 'locl' is not known; did you mean local"),
        ({"factors": "imprfect"}, "^factors 'imprfect' is not known"),
        ({"evaluations": 0}, "^evaluations: 0 must be a whole number, at least 1"),
        ({"mapping_evaluations": 2.5}, "^mapping_evaluations: 2.5 must be"),
        ({"batch": 0}, "^batch: 0 must be"),
    ],
)
def test_mistakes_name_the_argument(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(al.ArchloomError, match=message):
        al.schedule("tiny_cnn", "eyeriss", **arguments)


def test_mistakes_in_plans(tmp_path: Path) -> None:
    def message(fusion: Any, **more: Any) -> str:
        with pytest.raises(al.ArchloomError) as error:
            al.evaluate("tiny_cnn", "eyeriss", fusion=fusion, **more)
        return str(error.value)

    assert message("joint").startswith("fusion: 'joint' is a planner")
    assert message([{"layers": ["cnv1"]}]).startswith("fusion: groups.0: tiny_cnn has no layer")
    assert message("none.json").startswith("fusion none.json: No such file")
    assert message([{"layers": 3}]).startswith("fusion: groups.0.layers: ")
    (tmp_path / "bad.json").write_text("{")
    assert message(tmp_path / "bad.json").endswith("line 1 column 2 (char 1)")
    assert "must be the name of a search" in message(None, mapping=[{}])


def test_what_notebooks_show() -> None:
    found = al.schedule("tiny_cnn", "eyeriss", evaluations=12, **QUICK)
    assert repr(found).startswith("<archloom.Schedule tiny_cnn on eyeriss: EDP ")
    assert len(repr(found)) < 300
    assert found._repr_html_().count("<tr>") == 1 + len(found.groups)
    odd = replace(found, network="<b>odd</b>")._repr_html_()
    assert "&lt;b&gt;odd" in odd
    assert "<b>odd" not in odd
