"""Ctrl-C while the program begins: at the import of a module, wherever that stands."""

from pathlib import Path

import pytest

from ...cases.interrupts import interrupted
from ...cases.studies import write_study


@pytest.mark.parametrize(
    "when",
    [
        *("click", "click.core", "archloom.studies.commands.cli"),
        *("archloom.studies.commands.study.cli", "archloom.studies.config.study_config"),
        *("yaml", "numpy", "archloom.studies.commands.study.run"),
    ],
)
def test_an_interrupt_says_that_it_stopped(tmp_path: Path, when: str) -> None:
    write_study(tmp_path)
    done = interrupted("run", "tiny.yaml", "--out", "run", when=when, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (130, "stopped\n")
    assert done.stdout in ("", "reading tiny.yaml\n")
    assert not (tmp_path / "run").exists()
