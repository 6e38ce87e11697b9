"""The command line without its start: a process that has imported it, and forks for each command.

To import it and to load kernels takes three CPU-seconds and more, in every process anew. What a
command does is the same without; tests of the start itself begin processes of their own.
"""

import atexit
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from io import StringIO
from multiprocessing.connection import Connection
from pathlib import Path
from resource import RLIM_INFINITY, RLIMIT_CPU, setrlimit
from socket import socketpair
from tempfile import TemporaryDirectory
from threading import active_count
from typing import Final

#: beginnings of names of variables that are read when something is imported
_EARLY: Final = ("HOME", "LD_", "NUMBA_", "OMP_", "PATH", "PYTHON", "XDG_")


@dataclass(frozen=True)
class Done:
    """How a command ended, what it said, and its largest resident memory.

    Attributes:
        code: exit code, below 0 if a signal ended it.
        out, err: what it printed.
        memory_mb: what it had of the process that it was forked from counts as well.
    """

    code: int
    out: str
    err: str
    memory_mb: float

    @property
    def said(self) -> str:
        """All that it printed."""
        return self.out + self.err


class WarmCommand:
    """Runs commands in children of a process that has run a study.

    Args:
        study: text of the study.
    """

    def __init__(self, study: str) -> None:
        here, there = socketpair()
        self._environment = _early(os.environ)
        with there:
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__, str(there.fileno())],
                pass_fds=[there.fileno()],
                stdin=subprocess.DEVNULL,
                # Ctrl-C reaches the commands of a terminal's group, of which it is none
                start_new_session=True,
            )
        self._line = Connection(here.detach())
        self._line.send(study)

    def run(self, words: Sequence[str], cwd: Path, cpu_s: int = RLIM_INFINITY) -> Done | None:
        """Run a command to its end; None where it would read another environment at its start.

        Args:
            words: of the command.
            cwd: where it runs.
            cpu_s: CPU-seconds after which it is killed.
        """
        if not self.fits(_early(os.environ)):
            return None
        with TemporaryDirectory() as folder:
            said = [Path(folder, name) for name in ("out", "err")]
            paths = [str(path) for path in said]
            self._line.send(([*words], str(cwd), cpu_s, dict(os.environ), paths))
            code, memory_mb = self._line.recv()
            return Done(code, *(path.read_text() for path in said), memory_mb)

    def fits(self, early: Mapping[str, str]) -> bool:
        """Whether it began with these variables."""
        return early == self._environment

    def close(self) -> None:
        """End the process."""
        self._line.close()
        self._process.wait()


def warm_command(study: str) -> WarmCommand:
    """Return the first one of this process, which ends with it."""
    return _kept(study, None)


def warm_command_of_now(study: str) -> WarmCommand:
    """Return one that has the environment that this process has by now, which imports may have
    changed."""
    first = warm_command(study)
    now = tuple(sorted(_early(os.environ).items()))
    return first if first.fits(dict(now)) else _kept(study, now)


@cache
def _kept(study: str, _environment: tuple[tuple[str, str], ...] | None) -> WarmCommand:
    """Return the one of a study, and of an environment, which it takes from this process."""
    command = WarmCommand(study)
    atexit.register(command.close)
    return command


def _early(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(_EARLY)}


def _serve(line: Connection) -> None:
    """Fork for each command; return in its process, which is to run it."""
    while True:
        try:
            words, cwd, cpu_s, environment, said = line.recv()
        except EOFError:
            sys.exit()
        child = os.fork()
        if child == 0:
            line.close()
            setrlimit(RLIMIT_CPU, (cpu_s, cpu_s))
            os.chdir(cwd)
            os.environ.clear()
            os.environ.update(environment)
            for number, path in enumerate(said, start=1):
                file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
                os.dup2(file, number)
                os.close(file)
            sys.argv = ["-c", *words]
            return
        _, status, used = os.wait4(child, 0)
        line.send((os.waitstatus_to_exitcode(status), used.ru_maxrss * 1024 / 1e6))


def _warm_up(study: str) -> None:
    """Import and load what a study needs; children must inherit no thread."""
    from archloom.studies.commands.cli import app

    with TemporaryDirectory() as folder, redirect_stdout(StringIO()):
        Path(folder, "study.yaml").write_text(study)
        words = ["run", f"{folder}/study.yaml", "--out", f"{folder}/run"]
        app(words, standalone_mode=False)
    assert active_count() == 1


if __name__ == "__main__":
    from archloom.studies.commands.program import main

    _line = Connection(int(sys.argv[1]))
    _warm_up(_line.recv())
    _serve(_line)
    main()
