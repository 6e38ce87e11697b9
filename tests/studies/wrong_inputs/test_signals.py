"""Ctrl-C in the middle of commands, and readers of their output that go away."""

import subprocess
from pathlib import Path

import pytest

from ...cases.interrupts import interrupted
from ...cases.studies import COMMAND
from ...cases.wrong_inputs import content


@pytest.mark.parametrize(
    ("words", "when"),
    [
        (("pareto", "run"), "click"),
        (("pareto", "run"), "numpy"),
        (("pareto", "run", "--csv"), "csv"),
        (("show", "run", "1"), "archloom.studies.commands.study.show"),
        (("status", "run"), "archloom.studies.analysis.study_status"),
        (("report", "run"), "plotly"),
        (("compare", "run"), "numpy"),
        (("networks", "resnet18"), "archloom.studies.commands.catalogue.networks"),
        (("networks", "tiny_cnn", "--out", "x.png"), "matplotlib"),
        (("hardware", "eyeriss"), "numpy"),
        (("technology", "n7"), "archloom.studies.commands.catalogue.technology"),
        (("evaluate", "--arch", "a", "--problem", "b", "--mapping", "c"), "yaml"),
        (("validate",), "numpy"),
        (("schedule", "tiny_cnn", "--hardware", "eyeriss"), "numba"),
        (("weave", "tiny_cnn", "tiny_mlp", "--hardware", "tpu_v3"), "numba"),
        (("copy", "run", "copy"), "archloom.studies.storage.copying"),
        (("doctor",), "archloom.studies.commands.machine.doctor"),
    ],
)
def test_every_command_says_that_it_stopped(home: Path, words: tuple[str, ...], when: str) -> None:
    before = content(home)
    done = interrupted(*words, when=when, cwd=home)
    assert done.returncode == 130, (done.stdout, done.stderr)
    assert done.stderr.endswith("stopped\n")
    assert "Traceback" not in done.stderr
    assert content(home) == before


@pytest.mark.parametrize("words", [("networks",), ("show", "run", "1"), ("pareto", "run")])
def test_a_reader_that_goes_away_is_no_fault(home: Path, words: tuple[str, ...]) -> None:
    process = subprocess.Popen(
        [*COMMAND, *words], cwd=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 1
    assert "Traceback" not in said
