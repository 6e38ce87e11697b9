"""A process of archloom that is forked, not started: all that it imports is there already.

Starting Python, importing and loading compiled kernels is nine tenths of the CPU time of a study
that is small enough to be tortured hundreds of times. What a fork shares with its parent is code.
"""

import atexit
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn, Protocol


class Process(Protocol):
    """What is used here of a process, with its output."""

    pid: int
    returncode: int

    def poll(self) -> int | None:
        """Return its exit code; None while it runs."""

    def kill(self) -> None:
        """Kill it."""

    def send_signal(self, sig: int, /) -> None:
        """Send it a signal."""

    def communicate(self, *, timeout: float) -> tuple[str, object]:
        """Wait for its end; return its output."""


class Fork:
    """The command line in a fork of this process, which must have no threads.

    Args:
        words: of the command line.
        cwd: its directory.
        output: file that it writes to.
        first: done in it before all else.
    """

    def __init__(
        self, words: Sequence[str], cwd: Path, output: Path, first: Callable[[], None]
    ) -> None:
        self.returncode = -1
        self._output, self._ended = output, False
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if not self.pid:
            _work(words, cwd, output, first)

    def poll(self) -> int | None:
        """Return its exit code; None while it runs."""
        if not self._ended:
            found, status = os.waitpid(self.pid, os.WNOHANG)
            if not found:
                return None
            self._ended, self.returncode = True, os.waitstatus_to_exitcode(status)
        return self.returncode

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)

    def send_signal(self, sig: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, sig)

    def communicate(self, *, timeout: float) -> tuple[str, None]:
        """Wait for its end; return its output.

        Raises:
            TimeoutExpired: it does not end.
        """
        end = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired("archloom", timeout)
            time.sleep(0.002)
        return self._output.read_text(), None


def _work(words: Sequence[str], cwd: Path, output: Path, first: Callable[[], None]) -> NoReturn:
    """Be the command line, and end as a process of its own does."""
    code = 1
    # what the parent does at its end, such as deleting all folders
    atexit._clear()
    try:
        os.setsid()
        os.chdir(cwd)
        file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(file, 1)
        os.dup2(file, 2)
        first()
        code = _main(words)
    except KeyboardInterrupt:
        code = 130
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _main(words: Sequence[str]) -> int:
    from archloom.studies.commands.cli import main

    sys.argv = ["archloom", *words]
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(bool(end.code))
    return 0


def load_all(study: Path) -> None:
    """Load what a study needs, kernels too, by running one in a process that goes on to fork."""
    from click.testing import CliRunner

    from archloom.studies.commands.cli import app

    done = CliRunner().invoke(app, ["run", str(study), "--out", f"{study}.run"])
    assert done.exit_code == 0, f"{done.output} {done.exception!r}"
