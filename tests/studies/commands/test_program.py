"""Ctrl-C while the program begins: at the import of a module, wherever that stands."""

import subprocess
import sys
from pathlib import Path

import pytest

from ...cases.studies import write_study

#: interrupts itself when a module is about to be imported
CODE = """\
import os, signal, sys
from importlib.abc import MetaPathFinder
class Interrupt(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == {when!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
from archloom.studies.commands.program import main
main()
"""


@pytest.mark.parametrize(
    "when",
    [
        *("click", "click.core", "archloom.studies.commands.cli"),
        *("archloom.studies.commands.study.cli", "archloom.studies.config.study_config"),
        *("yaml", "numpy", "archloom.studies.commands.study.run"),
    ],
)
def test_an_interrupt_says_that_it_stopped(tmp_path: Path, when: str) -> None:
    words = ["run", str(write_study(tmp_path)), "--out", str(tmp_path / "run")]
    command = [sys.executable, "-c", CODE.format(when=when), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "stopped\n")
    assert done.stdout in ("", f"reading {words[1]}\n")
    assert not (tmp_path / "run").exists()
