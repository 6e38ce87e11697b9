"""Studies, trials, fronts and designs of the API: the figures of the commands, as values."""

import dataclasses
import json
import sys
from pathlib import Path
from shutil import copytree

import pytest
from click.testing import CliRunner

import archloom as al
from archloom.studies.analysis.study_view import load_view
from archloom.studies.commands.cli import app
from archloom.studies.rendering.pictures import plots


def printed(*arguments: str | Path) -> object:
    done = CliRunner().invoke(app, [*map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_trials_are_those_of_the_records(finished_study: Path) -> None:
    study = al.load_study(finished_study)
    lines = map(json.loads, (finished_study / "trials.jsonl").read_text().splitlines())
    for trial, line in zip(study.trials, lines, strict=True):
        assert (trial.number, trial.state, trial.edp_js) == (
            line["trial"], line["state"], line["edp_js"],
        )  # fmt: skip
        assert (trial.point, trial.values) == (line["point"], line["values"])
        found = line["networks"]["tiny_cnn"]
        assert dataclasses.asdict(trial.networks["tiny_cnn"]) == {
            key: found[key] for key in ("edp_js", "energy_pj", "latency_cycles", "dram_bytes")
        }
    assert study.finished
    assert study.name == "small"
    assert study.location == str(finished_study)
    assert study.baseline is not None
    assert study.baseline.hardware == "eyeriss"
    assert study.baseline.number == -1


def test_values_cannot_be_changed(finished_study: Path) -> None:
    study = al.load_study(finished_study)
    for value in (study, study.trials[0], study.front(), study.design(0)):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, dataclasses.fields(value)[0].name, 1)


@pytest.mark.parametrize("pick", [None, "knee"])
def test_the_front_is_that_of_the_command(finished_study: Path, pick: str | None) -> None:
    front = al.load_study(finished_study).front(pick)
    beside = ["--pick", pick] if pick else []
    assert front.to_dict() == printed("pareto", finished_study, "--json", *beside)
    assert [trial.number for trial in front] == [t.number for t in front.members]
    assert front[0] in front.members
    assert front[-1:] == front.members[-1:]
    assert front.picked in front.members
    certificate = front.to_dict()["certificate"]
    assert front.proven == certificate["proven"]
    assert front.proven_at_this_budget == certificate["proven_at_this_budget"]
    assert front.certified_share == certificate["volume"] / certificate["ceiling"]
    assert front.certified_share == certificate["share"]
    most = certificate["ceiling_any_budget"]
    assert front.certified_share_any_budget == certificate["volume"] / most
    assert front.certified_share_any_budget == certificate["share_any_budget"]
    assert len(front.proof.splitlines()) == 2


@pytest.mark.parametrize("trial", [0, 3, "baseline"])
def test_a_design_is_what_show_prints(finished_study: Path, trial: int | str) -> None:
    design = al.load_study(finished_study).design(trial)
    assert json.loads(json.dumps(design.details)) == printed(
        "show", finished_study, str(trial), "--json"
    )
    (plan,), (shown,) = design.networks, design.details["networks"]
    assert (plan.edp_js, plan.unfused.edp_js) == (shown["edp_js"], shown["unfused"]["edp_js"])
    assert plan.edp_js == design.trial.networks["tiny_cnn"].edp_js
    assert sum(len(group.layers) for group in plan.groups) == len(shown["layers"])
    assert design.hardware.area_mm2 == pytest.approx(design.trial.area_mm2)
    assert design.hardware.name == design.trial.hardware


def test_a_design_can_be_evaluated_again(finished_study: Path) -> None:
    """Its hardware is the one that the study built."""
    design = al.load_study(finished_study).design(0)
    (plan,) = design.networks
    again = al.evaluate("tiny_cnn", design.hardware, fusion=plan, mapping="exact", factors="exact")
    assert again.groups[0].layers == plan.groups[0].layers
    assert again.hardware == design.trial.hardware


def test_tables_of_pandas(finished_study: Path) -> None:
    study = al.load_study(finished_study)
    table, front = study.to_pandas(), study.front()
    assert list(table["trial"]) == [trial.number for trial in study.trials]
    assert list(table["edp_js"]) == [trial.edp_js for trial in study.trials]
    assert list(table["pe_x"]) == [trial.point["pe_x"] for trial in study.trials]
    assert set(table.loc[table["on_front"], "trial"]) == {trial.number for trial in front}
    assert list(front.to_pandas()["trial"]) == [trial.number for trial in front]


def test_without_pandas_it_is_said_what_to_install(
    finished_study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(al.ArchloomError, match=r"pip install 'archloom\[pandas\]'"):
        al.load_study(finished_study).to_pandas()


def test_pictures_are_those_of_the_report(finished_study: Path) -> None:
    study, view = al.load_study(finished_study), load_view(finished_study)
    assert study.plot_front() == plots.objectives(view, *view.axes)
    assert study.plot_hypervolume() == plots.hypervolume(view)
    assert study.plot_parallel() == plots.parallel_coordinates(view)


def test_a_study_without_a_front_has_no_picture(tmp_path: Path) -> None:
    impossible = {
        "workloads": ["tiny_cnn"], "space": "casco_edge", "optimizer": {"name": "random"},
        "halving": {"name": "none", "evaluations": 1}, "trials": 1, "batch_size": 1,
        "constraints": {"throughput_per_s": 3e5},
        "software": {"fusion": "none", "mapping": "random", "mapping_evaluations": 40},
    }  # fmt: skip
    study = al.run_study(impossible, tmp_path / "none", workers=1)
    assert len(study.front()) == 0
    assert study.front().picked is None
    assert "no design satisfies all limits" in study.front()._repr_html_()
    for plot in (study.plot_front, study.plot_hypervolume, study.plot_parallel):
        with pytest.raises(al.ArchloomError, match="no design satisfies all limits"):
            plot()
    assert len(study.front().to_pandas()) == 0


def test_mistakes(finished_study: Path, tmp_path: Path) -> None:
    study = al.load_study(finished_study)
    with pytest.raises(al.ArchloomError, match="no finished trial 77; finished: 0 to 5"):
        study.design(77)
    with pytest.raises(al.ArchloomError, match="no finished trial -1"):
        study.design(-1)
    with pytest.raises(al.ArchloomError, match=r"^pick 'kne' is not known; did you mean knee"):
        study.front("kne")
    with pytest.raises(al.ArchloomError, match="no such directory"):
        al.load_study(tmp_path / "none")
    with pytest.raises(al.ArchloomError, match="names no study"):
        al.load_study("postgresql://me@host/studies")
    (tmp_path / "stack.json").write_text("{}")
    with pytest.raises(al.ArchloomError, match="kind stack"):
        al.load_study(tmp_path)


def test_a_damaged_record_is_a_mistake(finished_study: Path, tmp_path: Path) -> None:
    copytree(finished_study, tmp_path / "copy")
    (tmp_path / "copy" / "trials.jsonl").write_text("{}\n")
    with pytest.raises(al.ArchloomError, match="line 1 is damaged"):
        _ = al.load_study(tmp_path / "copy").trials


def test_what_notebooks_show(finished_study: Path) -> None:
    study = al.load_study(finished_study)
    front, design = study.front(), study.design(0)
    assert repr(study) == f"<archloom.Study small: 6 of 6 trials, {finished_study}>"
    assert repr(front).startswith(f"<archloom.Front of {len(front)} designs in edp_js, area_mm2")
    assert repr(study.trials[0]).startswith("<archloom.Trial 0: ")
    assert repr(design).startswith("<archloom.Design Trial 0: ")
    for value in (study, front, design):
        assert len(repr(value)) < 400
        assert value._repr_html_().count("<table") >= 1
    assert f"{len(front)} on the front" in study._repr_html_()


def test_texts_of_users_are_escaped(finished_study: Path) -> None:
    study = al.load_study(finished_study)
    header = dataclasses.replace(study._header, config=study.config | {"name": "<script>"})
    shown = dataclasses.replace(study, _header=header)._repr_html_()
    assert "&lt;script&gt;" in shown
    assert "<script>" not in shown
