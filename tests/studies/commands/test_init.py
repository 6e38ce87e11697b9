"""Starters of ``archloom init``: written whole, never over anything, and each runs to a front."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from archloom.space import Infeasible
from archloom.space.design_space import HardwareSpace
from archloom.space.hardware import fusion_cores
from archloom.studies.commands.cli import app
from archloom.studies.storage.records import read_trials

from ...source_tree import ROOT

STARTERS = ("edge", "gpu_like", "npu", "systolic")

#: two designs, and software that takes no time; networks, hardware, objectives and limits stay
TINY: dict[str, Any] = {
    "optimizer": {"name": "random"},
    "halving": {"name": "none", "evaluations": 1},
    "trials": 2,
    "batch_size": 2,
    "executor": {"name": "inline"},
}


def archloom(*arguments: object) -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", STARTERS)
def test_a_starter_runs_to_a_front(name: str, home: Path) -> None:
    done = archloom("init", "mine", "--template", name)
    assert done.exit_code == 0, done.output
    assert "  archloom run mine/study.yaml" in done.output.splitlines()
    path = home / "mine" / "study.yaml"
    study = yaml.safe_load(path.read_text())
    assert study["name"] == "mine"
    kept = study["software"].get("constraints", {})
    software = {"fusion": "none", "mapping": "random", "mapping_evaluations": 100}
    changed = TINY | {"workloads": study["workloads"][:1], "baseline": None}
    changed |= {"software": software | {"constraints": kept}}
    path.write_text(yaml.safe_dump(study | changed))
    done = archloom("run", path)
    assert done.exit_code == 0, done.output
    assert "Pareto front: " in done.output
    trials = read_trials(home / "runs" / "mine")
    assert len(trials) == 2
    assert all(trial.values for trial in trials)
    if kept:
        assert kept == {"dataflow": "output_stationary"}


def space_of(name: str, home: Path) -> HardwareSpace:
    archloom("init", name, "--template", name)
    return HardwareSpace.load(home / name / "hardware.yaml")


def test_starters_are_what_they_are_called(home: Path) -> None:
    """Kind of MACs, levels from the innermost, and whether there are several cores."""
    found = {}
    for name in STARTERS:
        space = space_of(name, home)
        first, *others = space.parameters
        point = {first.name: first.values[1], **{p.name: p.values[0] for p in others}}
        built = space.build(point)
        assert not isinstance(built, Infeasible)
        cores = fusion_cores(built)
        assert not isinstance(cores, Infeasible)
        levels = [f"{level.name} {level.storage}" for level in built.levels]
        found[name] = built.datapath, levels, cores.count > 1
    assert found == {
        "edge": ("scalar", ["spad register", "glb sram", "dram dram"], False),
        "npu": ("vector", ["sums register", "core_buffer sram", "dram dram"], True),
        "gpu_like": (
            "systolic",
            ["registers sram", "shared_memory sram", "l2 sram", "dram dram"],
            False,
        ),
        "systolic": (
            "systolic",
            [
                "latch register",
                "accumulators sram",
                "weight_buffer sram",
                "unified_buffer sram",
                "dram dram",
            ],
            False,
        ),
    }


def test_the_starter_of_a_chip_is_validated_in_40_lines(home: Path) -> None:
    """The example of docs/how_to/own_chip_validation.md, five layers of Eyeriss."""
    done = archloom("init", "my_chip", "--template", "chip")
    assert done.exit_code == 0, done.output
    assert "  archloom validate my_chip/chip.yaml" in done.output.splitlines()
    names = ("chip.schema.json", "chip.yaml", "hardware.schema.json", "hardware.yaml")
    assert tuple(sorted(path.name for path in (home / "my_chip").iterdir())) == names
    schema, *lines = (home / "my_chip" / "chip.yaml").read_text().splitlines()
    assert schema == "# yaml-language-server: $schema=chip.schema.json"
    assert len(lines) <= 40
    done = archloom("validate", "my_chip/chip.yaml")
    assert done.exit_code == 0, done.output
    assert "18 figures, 13 checked: 13 within the allowed range, 0 outside" in done.output
    page = (ROOT / "docs" / "how_to" / "own_chip_validation.md").read_text()
    text = "\n".join(lines)
    assert f"```yaml\n{text}\n```" in page


@pytest.mark.parametrize("there", ["study.yaml", "hardware.yaml"])
def test_nothing_is_overwritten(there: str, home: Path) -> None:
    (home / "mine").mkdir()
    (home / "mine" / there).write_text("mine\n")
    done = archloom("init", "mine")
    assert done.exit_code == 1
    assert str(done.exception).startswith(f"mine/{there} would be overwritten")
    assert [path.name for path in (home / "mine").iterdir()] == [there]
    assert (home / "mine" / there).read_text() == "mine\n"


def test_a_folder_that_is_there_is_filled_and_named(home: Path) -> None:
    """Without a directory it is called my_study; a name that no study may have is changed."""
    assert archloom("init").exit_code == 0
    assert (home / "my_study" / "study.yaml").is_file()
    odd = home / "_my chip!"
    odd.mkdir()
    (odd / "notes.txt").write_text("notes")
    done = archloom("init", odd)
    assert done.exit_code == 0, done.output
    assert yaml.safe_load((odd / "study.yaml").read_text())["name"] == "my_chip_"
    assert "  archloom report runs/my_chip_" in done.output.splitlines()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mine", "--template", "gpu"], "--template 'gpu' is unknown; did you mean"),
        (["file"], "file is a file; choose another directory"),
    ],
)
def test_mistakes(arguments: list[str], message: str, home: Path) -> None:
    (home / "file").write_text("")
    done = archloom("init", *arguments)
    assert str(done.exception).startswith(message)
    assert [path.name for path in home.iterdir()] == ["file"]


@pytest.mark.parametrize("mode", ["overlapped", "exposed"])
@pytest.mark.parametrize("factors", ["exact", "padded", "imperfect"])
def test_mappings_on_arrays_that_fill_and_drain_are_proven_or_have_a_gap(
    mode: str, factors: str, home: Path
) -> None:
    """The systolic starter as it is, or with all fill and drain exposed."""
    assert archloom("init", "mine", "--template", "systolic").exit_code == 0
    hardware = home / "mine" / "hardware.yaml"
    text = hardware.read_text().replace("fill_drain: overlapped", f"fill_drain: {mode}")
    assert f"{{fill_drain: {mode}}}" in text
    hardware.write_text(text)
    study = {"name": "mine", "workloads": ["tiny_cnn"], "space": "hardware.yaml", **TINY}
    study["trials"] = 1
    study["software"] = {"fusion": "none", "factors": factors, "mapping_evaluations": 100_000}
    (home / "mine" / "study.yaml").write_text(yaml.safe_dump(study))
    done = archloom("run", "mine/study.yaml")
    assert done.exit_code == 0, done.output
    assert " inf" not in done.output
    assert "%" in done.output
    if factors == "exact":
        assert "3/3" in done.output
