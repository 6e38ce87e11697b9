"""Studies over compressed forms through the command line, with a model that is really trained."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from click.testing import CliRunner, Result

from archloom.evaluators.accuracy.training import Trainer
from archloom.search.seeds import derived_seed
from archloom.search.software.search import SoftwareTask, advance
from archloom.space.design_space.compression.forms import CompressedForms, Widths
from archloom.space.design_space.compression.forms_json import forms_from_text
from archloom.space.hardware.hardware import Hardware
from archloom.studies.commands.cli import app
from archloom.studies.engine.study import prepare, stored_config
from archloom.studies.errors import UserError
from archloom.studies.storage.header import read_header

from ....cases.compressed import TEMPLATE

#: a form of a model of one epoch takes half a second
MODEL = ("vgg16", "--width", "0.125", "--epochs", "1", "--seeds", "1")
STUDY = {
    "seed": 3,
    "workloads": [{"compressed": "kept", "groups": 2, "levels": [0, 0.9], "fine_tune": 1}],
    "space": "packed.yaml",
    "objectives": ["edp", "area"],
    "optimizer": {"name": "greedy_bound"},
    "halving": {"name": "none", "evaluations": 1},
    "trials": 4,
    "batch_size": 4,
    "software": {"fusion": "none", "mapping": "local", "mapping_evaluations": 50},
    "executor": {"name": "inline"},
}
FORMS = 4


def run(*arguments: str | Path, code: int = 0) -> Result:
    done = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done


def said(*arguments: str | Path) -> str:
    """Return the message that a mistake gets."""
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert isinstance(done.exception, UserError), done.output
    return str(done.exception)


def study_file(folder: Path, **changes: Any) -> Path:
    path = folder / "study.yaml"
    path.write_text(yaml.safe_dump(STUDY | changes))
    return path


def workload(**changes: Any) -> list[dict[str, Any]]:
    return [{**STUDY["workloads"][0], **changes}]  # type: ignore[index]


def forms_of(study: Path) -> CompressedForms:
    return forms_from_text((study / "networks" / "0.json").read_text())


def trials_of(study: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (study / "trials.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``archloom compress`` keeps of a model; tests must not write to it."""
    out = tmp_path_factory.mktemp("kept") / "kept"
    run("compress", *MODEL, "--method", "int4", "--out", out)
    return out


@pytest.fixture
def folder(kept: Path, tmp_path: Path) -> Path:
    """A folder with the model, without forms, and the template."""
    shutil.copytree(kept, tmp_path / "kept", ignore=shutil.ignore_patterns("forms"))
    (tmp_path / "packed.yaml").write_text(TEMPLATE)
    return tmp_path


@pytest.fixture(scope="module")
def finished(kept: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a study without a floor that ended, and its forms; nothing may change it."""
    folder = tmp_path_factory.mktemp("finished")
    shutil.copytree(kept, folder / "kept")
    (folder / "packed.yaml").write_text(TEMPLATE)
    run("run", study_file(folder), "--out", folder / "out")
    return folder


def test_levels_are_parameters_and_accuracies_are_real(finished: Path) -> None:
    forms, out = forms_of(finished / "out"), finished / "out"
    assert forms.widths == (Widths(4, 4), Widths(8, 8))
    assert [group.name for group in forms.groups] == ["early", "late"]
    record = json.loads((finished / "kept" / "results.json").read_text())
    int4 = record["methods"]["int4"]["levels"][0]
    assert forms.accuracy_percent[(0.0, 0.0), Widths(4, 4)] == int4["accuracy_percent"]
    assert 7 * int4["stored_bytes"] < record["dense"]["stored_bytes"]
    for group in forms.groups:
        sizes = [layer.weights for layer in forms.network.layers if layer.name in group.layers]
        for level, shares in zip(group.levels, group.densities, strict=True):
            left = sum(size * share for size, share in zip(sizes, shares, strict=True))
            # a layer without weights keeps one
            assert abs(left - (1 - level) * sum(sizes)) <= len(sizes)
    trials = trials_of(out)
    assert len(trials) == 4
    for trial in trials:
        point = trial["point"]
        levels, bits = (point["pruned_early"], point["pruned_late"]), point["bits"]
        expected = forms.accuracy_percent[levels, Widths(bits, bits)]
        assert trial["values"]["accuracy_percent"] == expected
        assert "pruned_late" in trial["hardware"]
    assert any(trial["point"]["pruned_late"] == 0.9 for trial in trials)


def test_a_trial_runs_the_network_of_its_form(finished: Path) -> None:
    """Its costs are those of the network with the densities of the form, and of no other."""
    out = finished / "out"
    trial = max(
        trials_of(out), key=lambda t: t["point"]["pruned_early"] + t["point"]["pruned_late"]
    )
    forms, point = forms_of(out), trial["point"]
    study = prepare(stored_config(out, read_header(out)), out / "space" / "packed.yaml")
    hardware = study.problem.space.build(point)
    assert isinstance(hardware, Hardware)
    seed = derived_seed(3, trial["trial"], "software")
    energies = []
    for levels in ((point["pruned_early"], point["pruned_late"]), (0.0, 0.0)):
        networks = (forms.network_of(levels),)
        task = SoftwareTask(hardware, networks, study.context.settings, seed, None)
        energies.append(advance(task, None, 1).networks["kept"].energy_pj)
    assert trial["networks"]["kept"]["energy_pj"] == energies[0] < energies[1]
    shown = json.loads(run("show", out, str(trial["trial"]), "--json").stdout)
    assert (shown["point"], shown["networks"][0]["energy_pj"]) == (point, energies[0])
    assert "accuracy_percent" in run("show", out, str(trial["trial"])).stdout
    assert "pruned_late" in run("pareto", out).stdout
    run("report", out, "--out", finished / "report")
    (page,) = (finished / "report").glob("*.html")
    assert "4 compressed forms, pruned fractions early 0 0.9, late 0 0.9" in page.read_text()


def test_a_floor_keeps_forms_out_and_nothing_is_trained_twice(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Trainer, "run_epoch", lambda _: pytest.fail("trained twice"))
    accuracies = sorted(forms_of(finished / "out").accuracy_percent.values())
    floor = accuracies[len(accuracies) // 2]
    path = tmp_path / "floor.yaml"
    limited = {"objectives": ["edp", "accuracy"], "constraints": {"accuracy_percent": floor}}
    where = {
        "workloads": workload(compressed=str(finished / "kept")),
        "space": str(finished / "packed.yaml"),
    }
    path.write_text(yaml.safe_dump(STUDY | limited | where | {"mode": "exact", "trials": 144}))
    told = run("run", path, "--out", tmp_path / "out").stdout
    assert "Front proven at this budget" in told
    trials = trials_of(tmp_path / "out")
    assert all(trial["values"]["accuracy_percent"] >= floor for trial in trials)
    report = run("pareto", tmp_path / "out").stdout
    assert "accuracy (%)" in report
    # higher than any form: nothing is left, and the nearest is told with its numbers
    path.write_text(yaml.safe_dump(STUDY | where | {"constraints": {"accuracy_percent": 100}}))
    message = said("run", path, "--out", tmp_path / "none")
    assert "accuracy_percent of pruned_early = " in message
    assert f"{accuracies[-1]:.4g}" in message
    assert not (tmp_path / "none").exists()


def test_stopped_while_it_trains_it_goes_on_with_the_same_bytes(
    finished: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, epochs = Trainer.run_epoch, 0

    def epoch(self: Trainer) -> float:
        nonlocal epochs
        epochs += 1
        if epochs == 2:
            raise KeyboardInterrupt
        return whole(self)

    monkeypatch.setattr(Trainer, "run_epoch", epoch)
    path = study_file(folder)
    CliRunner().invoke(app, ["run", str(path), "--out", str(folder / "out")])
    assert epochs == 2
    assert not (folder / "out").exists()
    run("run", path, "--out", folder / "out")
    # one form was whole, and the form without pruning is not trained
    assert epochs == 2 + (FORMS - 1 - 1)
    for name in ("trials.jsonl", "networks/0.json"):
        assert (folder / "out" / name).read_bytes() == (finished / "out" / name).read_bytes()


def test_a_study_needs_its_model_no_more(finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished / "out", tmp_path / "out")
    journal = tmp_path / "out" / "journal.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[: len(lines) // 2]))
    (tmp_path / "out" / "trials.jsonl").write_text("")
    run("resume", tmp_path / "out")
    assert trials_of(tmp_path / "out") == trials_of(finished / "out")


def test_other_weights_make_another_study(finished: Path, folder: Path) -> None:
    shutil.copytree(finished / "out", folder / "out")
    path = folder / "kept" / "seed0" / "dense.pt"
    state = torch.load(path, weights_only=True)
    torch.save(
        {name: value.flip(0) if value.dim() == 4 else value for name, value in state.items()}, path
    )
    message = said(
        "run", study_file(folder, workloads=workload(fine_tune=0)), "--out", folder / "out"
    )
    assert "workloads[0]: the network of kept changed (" in message
    assert "weights of group" in message or "accuracy pruned by" in message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"levels": [0, 1]}, "workloads[0].levels: [0, 1] must be a list of shares"),
        ({"levels": [0.5, 0]}, "workloads[0].levels: [0.5, 0] must ascend"),
        ({"levels": {"early": [0]}}, "workloads[0].levels: has no levels for late"),
        ({"levels": {"early": [0], "lat": [0], "late": [0]}}, "did you mean late"),
        ({"groups": 0}, "workloads[0].groups: 0 must be a number of parts from 1 to 16"),
        ({"groups": {"a b": "x"}}, "workloads[0].groups.a b: must be a name of letters"),
        ({"groups": {"a": []}}, "workloads[0].groups.a: names no layer"),
        ({"groups": {"a": "feature.*"}}, "workloads[0]: a: no prunable layer matches"),
        ({"groups": 14}, "without a layer"),
        ({"fine_tune": -1}, "workloads[0].fine_tune: -1 must be epochs"),
        ({"finetune": 1}, "workloads[0].finetune: is an unknown key; did you mean fine_tune"),
        ({"data_dir": "data"}, "digits comes with a package"),
        ({"compressed": "kep"}, "is no directory; it must be what archloom compress keeps"),
        ({"network": "vgg16"}, "has both network and compressed"),
    ],
)
def test_mistakes_are_told_with_their_place(
    folder: Path, changes: dict[str, Any], message: str
) -> None:
    told = said("run", study_file(folder, workloads=workload(**changes)), "--out", folder / "out")
    assert message in told
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"constraints": {"accuracy_percent": 90}}, "accuracy is of workloads in compressed forms"),
        ({"objectives": ["edp", "accuracy"]}, "accuracy is of workloads in compressed forms"),
    ],
)
def test_accuracy_needs_a_workload_with_forms(
    folder: Path, changes: dict[str, Any], message: str
) -> None:
    path = study_file(folder, workloads=["tiny_cnn"], **changes)
    assert message in said("run", path, "--out", folder / "out")


@pytest.mark.parametrize("percent", [0, 101, "98 %"])
def test_a_floor_must_be_a_percentage(folder: Path, percent: object) -> None:
    path = study_file(folder, constraints={"accuracy_percent": percent})
    told = said("run", path, "--out", folder / "out")
    assert "constraints.accuracy_percent" in told


def test_doctor_trains_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Trainer, "run_epoch", lambda _: pytest.fail("trained"))
    told = CliRunner().invoke(app, ["doctor", str(study_file(folder))]).output
    assert "not known before compressed kept is trained" in told


def test_a_directory_of_something_else_is_refused(folder: Path) -> None:
    (folder / "kept" / "settings.json").write_text("{}")
    assert "not as archloom compress wrote it" in said("run", study_file(folder))
    (folder / "kept" / "settings.json").unlink()
    assert "has no settings.json" in said("run", study_file(folder))
