"""Gaps of mappings, from the record of a trial to what people read."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from archloom.space.networks.registry import network
from archloom.studies.analysis.details import trial_details
from archloom.studies.analysis.front import read_front
from archloom.studies.analysis.study_view import load_view
from archloom.studies.commands.study.pareto import front_table
from archloom.studies.commands.study.show import renderables
from archloom.studies.rendering.report.design_data import design_data
from archloom.studies.rendering.report.network_data import places_of
from archloom.studies.rendering.text.gaps import (
    fused_text,
    gap_text,
    gaps_text,
    layer_gap_text,
    percent,
    spent_text,
)
from archloom.studies.storage.records import read_trials

from ....cases.studies import run_here, tiny_config

EXACT = """\
seed: 5
workloads: [tiny_cnn]
space: casco_edge
optimizer: {name: random}
halving: {name: msh, rounds: 1, first_budget: 2}
trials: 2
batch_size: 2
software: {population: 4, mapping: exact, mapping_evaluations: 1000000, factors: exact}
executor: {name: inline}
"""


def test_percents_are_no_powers_of_ten() -> None:
    texts = {0.0123: "0.0123 %", 1.4567: "1.46 %", 99.9: "99.9 %", 99.96: "100 %"}
    texts |= {1239.6: "1,240 %", 2.5e6: "2,500,000 %"}
    assert {number: percent(number) for number in texts} == texts


def test_groups_are_counted_in_words() -> None:
    assert fused_text(1, 1) == "1 group, fused"
    assert fused_text(1, 0) == "1 group, not fused"
    assert fused_text(7, 0) == "7 groups, none of them fused"
    assert fused_text(7, 2) == "7 groups, 2 of them fused"


def test_a_shared_budget_is_told_by_what_it_went_on() -> None:
    spent = {"units": 40, "plans": 40, "mappings": 0, "mapping_units": 0}
    assert spent_text(spent) == "search budget of 40 units: all spent on fusion plans"
    spent |= {"plans": 32, "mappings": 1, "mapping_units": 8}
    text = "search budget of 40 units: 32 spent on fusion plans, 8 on refining 1 mapping"
    assert spent_text(spent) == text
    assert spent_text(spent | {"mappings": 2}).endswith("refining 2 mappings")


@pytest.fixture(scope="module")
def proven_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("proven")
    run_here(tiny_config(folder, EXACT), folder / "study")
    return folder / "study"


def text_of(details: dict[str, Any]) -> str:
    console = Console(width=240, file=StringIO())
    with console.capture() as printed:
        for part in renderables(details):
            console.print(part, markup=False)
    return printed.get()


def test_a_proof_reaches_every_report(proven_study: Path) -> None:
    record = read_trials(proven_study)[0]
    recorded = record.networks["tiny_cnn"]
    assert recorded.gaps == dict.fromkeys(recorded.mappings, 0.0)
    count = len(recorded.mappings)
    assert record.mappings_proven == (count, count)
    details = trial_details(proven_study, 0)
    net = details["networks"][0]
    mappings = [m for layer in net["layers"] for m in layer["mappings"]]
    assert {m["gap_percent"] for m in mappings} == {0.0}
    assert net["gaps"]["proven"] == net["gaps"]["mappings"] == len(mappings)
    assert net["gaps"]["plan_percent"] >= 0
    said = f"{len(mappings)} of {len(mappings)} mappings proven optimal; the plan's EDP is at most"
    assert said in text_of(details)
    drawn = design_data(details, places_of([network("tiny_cnn")]))
    assert said in drawn["networks"][0]["gaps"]
    view = load_view(proven_study)
    assert view.designs[0].trial.mappings_proven == (count, count)
    both = sum(len(r.networks["tiny_cnn"].mappings) for r in read_trials(proven_study))
    assert dict(view.facts)["recorded mappings"] == f"{both:,} of {both:,} proven optimal"


def test_records_of_versions_without_gaps_are_read(proven_study: Path, tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.mkdir()
    for path in proven_study.rglob("*"):
        if path.is_file():
            target = old / path.relative_to(proven_study)
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(path.read_bytes())
    records = [trial.to_dict() for trial in read_trials(old)]
    for record in records:
        del record["networks"]["tiny_cnn"]["gaps"], record["networks"]["tiny_cnn"]["breakdown"]
    (old / "trials.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    trials = read_trials(old)
    assert trials[0].mappings_proven[0] == 0
    assert [trial.to_dict() for trial in trials] == records
    details = trial_details(old, 0)
    net = details["networks"][0]
    assert net["gaps"]["unknown"] == net["gaps"]["mappings"] > 0
    proven = trial_details(proven_study, 0)["networks"][0]
    assert net["gaps"]["plan_percent"] > proven["gaps"]["plan_percent"]
    assert "not proven" in text_of(details)
    json.dumps(details, allow_nan=False)
    assert net["edp_js"] == proven["edp_js"]


def test_the_front_has_a_column_of_proofs(proven_study: Path) -> None:
    front = read_front(proven_study)
    console = Console(width=200, file=StringIO())
    with console.capture() as printed:
        console.print(front_table(front))
    proven, count = front.members[0].mappings_proven
    assert "proven" in printed.get()
    assert f"{proven}/{count}" in printed.get()


@pytest.mark.parametrize(
    ("gap", "text"), [(None, "not proven"), (0.0, "proven"), (1.2849, "1.28 %"), (388.0, "388 %")]
)
def test_a_gap_in_words(gap: float | None, text: str) -> None:
    assert gap_text(gap) == text


def test_a_layer_is_as_good_as_its_worst_tile() -> None:
    def layer(*gaps: float | None) -> dict[str, Any]:
        return {"mappings": [{"gap_percent": gap} for gap in gaps]}

    assert layer_gap_text(layer()) == ""
    assert layer_gap_text(layer(0.0, 0.0)) == "proven"
    assert layer_gap_text(layer(0.0, 2.5)) == "2.5 %"
    assert layer_gap_text(layer(0.0, 2.5, None)) == "not proven"


def test_gaps_in_a_line() -> None:
    gaps: dict[str, Any] = {
        "mappings": 54, "proven": 52, "unknown": 0, "worst_percent": 1.3, "plan_percent": None,
    }  # fmt: skip
    assert gaps_text(gaps) == "52 of 54 mappings proven optimal, largest gap 1.3 %"
    gaps |= {"unknown": 1}
    assert gaps_text(gaps).endswith("largest gap 1.3 %, 1 without a bound")
    assert gaps_text(gaps | {"mappings": 0}) == "no layer runs on MACs"
    assert "at most 2.5 % above that of the same plan" in gaps_text(gaps | {"plan_percent": 2.5})
