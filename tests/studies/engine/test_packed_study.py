"""A study that chooses how weights are packed: searched, taken apart, gone on with."""

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from archloom.studies.commands.cli import app
from archloom.studies.storage.records import read_trials

from ...source_tree import ROOT

EXAMPLE = ROOT / "examples" / "sparse"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """The example, with a network that takes no time."""
    data = yaml.safe_load((EXAMPLE / "study.yaml").read_text())
    data |= {
        "workloads": ["tiny_mobile"],
        "trials": 4,
        "batch_size": 2,
        "optimizer": {"name": "random"},
        "software": {"mapping": "local", "mapping_evaluations": 200},
        "executor": {"name": "inline"},
        "space": str(EXAMPLE / "edge.yaml"),
    }
    path = tmp_path / "study.yaml"
    path.write_text(yaml.safe_dump(data))
    return path


def test_the_example_is_searched_shown_and_resumed(study: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"

    def run(*arguments: str) -> str:
        done = CliRunner().invoke(app, list(arguments))
        assert done.exit_code == 0, done.output
        return done.output

    run("run", str(study), "--out", str(out))
    trials = read_trials(out)
    packing = next(t for t in trials if t.point["format"] != "dense" and t.networks)
    kind = packing.point["format"]
    said = " ".join(run("show", str(out), str(packing.number)).split())
    assert f"weight format {kind}" in said
    before = (out / "trials.jsonl").read_bytes()
    run("resume", str(out))
    assert (out / "trials.jsonl").read_bytes() == before
