"""A worker as its parent sees it: started when it is needed, killed where it takes too long.

A compiler that runs in the same process cannot be interrupted, so it runs in another one. Limits
are seconds of the processor, which others do not use up, and ten times as many of a clock.
"""

import os
import subprocess
import sys
import time
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, Self

from archloom.evaluators.host.machine import thread_environment

from .requests import Failed

#: seconds of the processor that preparing one kernel may take, starting the compiler included
COMPILE_LIMIT_S: Final = 20.0

#: seconds of a clock for each of the processor: then something is stuck
_CLOCK: Final = 10.0

#: seconds between looks at the worker
_LOOK: Final = 0.05

#: kernels that a worker prepares before another one takes over
_MOST_PREPARED: Final = 400


class Worker:
    """A process that prepares and times kernels with a number of threads.

    Args:
        threads: of each kernel; libraries read it when they start, so each number has a worker.
        module: that the process runs.
        core: that it compiles kernels of one thread on, beside other workers; None for the one that
            they are timed on.

    Attributes:
        started: processes so far; what a former one had prepared is gone.
    """

    def __init__(
        self,
        threads: int = 1,
        module: str = "archloom.evaluators.host.worker.process",
        core: int | None = None,
    ) -> None:
        self.threads, self.started = threads, 0
        self._module, self._core = module, core
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection[Any, Any] | None = None
        self._asked = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def ask(self, request: object, limit_s: float = COMPILE_LIMIT_S) -> Any:
        """Return the answer to a request, or :class:`Failed`.

        A worker that needs more than ``limit_s`` seconds of the processor is killed.
        """
        connection = self._running()
        self._asked += 1
        begun, clock = self._processor_s(), time.monotonic()
        try:
            connection.send(request)
            while not connection.poll(_LOOK):
                used = self._processor_s() - begun
                if used > limit_s or time.monotonic() - clock > limit_s * _CLOCK:
                    self.stop()
                    return Failed("too_slow", f"took more than {limit_s:g} s, and was stopped")
            return connection.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            code = self._process.wait() if self._process else None
            self.stop()
            return Failed("died", f"the worker ended with exit code {code}")
        except KeyboardInterrupt:
            # its answer would be taken for that of the next request
            self.stop()
            raise

    def rest(self) -> None:
        """Let another process take over, if this one has prepared many kernels."""
        if self._asked >= _MOST_PREPARED:
            self.stop()

    def stop(self) -> None:
        """Kill the process, if there is one."""
        if self._connection is not None:
            self._connection.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._process = self._connection = None

    def _running(self) -> "Connection[Any, Any]":
        if self._connection is None:
            ours, theirs = Pipe()
            numbers = [theirs.fileno(), self.threads, *([] if self._core is None else [self._core])]
            self._process = subprocess.Popen(
                [sys.executable, "-m", self._module, *map(str, numbers)],
                env=thread_environment(self.threads),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                # Ctrl-C is for the parent, which stops the worker
                start_new_session=True,
            )
            theirs.close()
            self._connection, self._asked = ours, 0
            self.started += 1
        return self._connection

    def _processor_s(self) -> float:
        """Return the seconds of the processor that the process has used; 0 where nobody knows."""
        if self._process is None:
            return 0.0
        try:
            text = Path(f"/proc/{self._process.pid}/stat").read_text()
        except OSError:
            return 0.0
        user, system = text.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
