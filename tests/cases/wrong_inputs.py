"""The command line on wrong inputs, in this process: what it said, and that it took little."""

import io
import os
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from archloom.studies.commands.cli import main

from .hostile import MEMORY_MB

#: CPU-seconds that a command may take until it refuses
CPU_S: Final = 5.0

#: what a message is not longer than, however long what it is about
LONGEST: Final = 4_000


@dataclass(frozen=True)
class Answer:
    """What a command answered.

    Attributes:
        code: exit code.
        out, err: what it wrote.
        grown_mb: by how much the largest memory of this process grew.
    """

    code: int
    out: str
    err: str
    grown_mb: float


class TooLongError(BaseException):
    """A command took longer than it may; nothing in it may catch this."""


@contextmanager
def _within(cpu_s: float) -> Iterator[None]:
    def late(number: int, frame: object) -> None:  # noqa: ARG001
        raise TooLongError(f"over {cpu_s:g} CPU-s")

    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, cpu_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def answer(*words: str, cwd: Path, cpu_s: float = CPU_S) -> Answer:
    """Run a command line in this process, in a folder."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    argv, home = sys.argv, Path.cwd()
    sys.argv = ["archloom", *words]
    os.chdir(cwd)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        with redirect_stdout(out), redirect_stderr(err), _within(cpu_s):
            main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1 if end.code else 0
    finally:
        sys.argv = argv
        os.chdir(home)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak
    return Answer(code, out.getvalue(), err.getvalue(), grown * 1024 / 1e6)


def content(folder: Path) -> dict[str, bytes]:
    """Return all files and folders (as if empty) below a folder, but no locks, pipes and links."""
    return {
        str(path.relative_to(folder)): b"" if path.is_dir() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if (path.is_file() or path.is_dir()) and not path.is_symlink() and path.name != ".lock"
    }


def refuses(*words: str, cwd: Path, says: str, code: int = 2) -> None:
    """Run a command line; it must refuse in one message, take little and change nothing."""
    before = content(cwd)
    found = answer(*words, cwd=cwd)
    assert found.code == code, (found.code, found.err, found.out)
    assert says in " ".join(found.err.split()), found.err
    assert found.err.startswith(("error: ", "Usage: ", "Error: "))
    assert found.err.lower().count("error: ") == 1
    assert "Traceback" not in found.err + found.out
    assert len(found.err) < LONGEST
    assert found.grown_mb < MEMORY_MB
    assert content(cwd) == before
