"""Command lines that are interrupted, as by Ctrl-C, when they are about to import a module."""

import subprocess
import sys
from pathlib import Path

#: at the import of a module this program sends itself a signal
_CODE = """\
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


def interrupted(*words: str, when: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command line, and interrupt it when a module is about to be imported."""
    command = [sys.executable, "-c", _CODE.format(when=when), *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
