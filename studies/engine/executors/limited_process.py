"""A process that answers questions, and is ended when it takes too much or stands still.

Whoever watches from inside sees nothing while compiled code runs, so this is done from outside, by
a process that does nothing else. It imports the standard library alone, to stay small.
"""

import os
import subprocess
import sys
from dataclasses import dataclass
from math import inf
from multiprocessing.connection import Connection
from signal import Signals
from socket import socketpair
from threading import Thread
from time import monotonic
from typing import Final

from .process_use import cpu_seconds, machine_bytes, peak_bytes

#: seconds between two looks at the process
LOOK_S: Final = 0.1

#: a process that uses less of a core than this stands still; one beside hundreds of others on the
#: core, or one whose memory is read back from a disk, uses more
_LEAST_SHARE: Final = 0.002

#: share of a machine's memory that a process may have if nobody says: beyond, there is no room for
#: the rest of the machine, and Ray and the kernel begin to kill
MACHINE_SHARE: Final = 0.8

#: bytes of a megabyte
MB: Final = 10**6

#: what a process says once it has started
READY: Final = b"ready"


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """What a process may take.

    Attributes:
        cpu_s: CPU-seconds for one answer.
        memory_mb: resident memory (10^6 bytes), at any time; None for a share of the machine's,
            :data:`MACHINE_SHARE`.
        stall_s: seconds in which it may do nothing while it owes an answer.
    """

    cpu_s: float
    memory_mb: float | None
    stall_s: float


@dataclass(frozen=True, slots=True)
class Ended:
    """A process that ended before it answered.

    Attributes:
        why: ``cpu_s`` or ``memory_mb`` (it was ended beyond this limit), ``stalled`` (it was ended
            for it stood still) or ``died`` (by itself, or somebody else ended it).
        limit, spent: that it went beyond; 0 where it ended by itself.
        seconds, cpu_seconds: that it worked on its answer.
        how: for people, as ``was killed by SIGKILL``.
    """

    why: str
    limit: float
    spent: float
    seconds: float
    cpu_seconds: float
    how: str


def over_cpu_limit(limit_s: float, seconds: float, cpu_seconds: float) -> Ended:
    """Return what is said of a process that took more CPU-seconds than it may."""
    # rounded as it is kept, so that the sentence says the same number
    spent = round(cpu_seconds, 3)
    how = f"needed more than {limit_s:g} s of CPU time; it used {spent:.2f}"
    return Ended("cpu_s", limit_s, spent, seconds, cpu_seconds, how)


class Stillness:
    """Counts the seconds in which something shows no sign of life, and whoever looks is awake.

    A machine that sleeps, or a program that is stopped, with all that it looks at, counts for a
    second at the most.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._looked_at = monotonic()

    def look(self, alive: bool) -> float:
        """Return the seconds in a row without a sign of life."""
        now = monotonic()
        passed, self._looked_at = min(now - self._looked_at, 1.0), now
        self.seconds = 0.0 if alive else self.seconds + passed
        return self.seconds


class LimitedProcess:
    """A process that answers one question at a time.

    Args:
        code: Python that it runs; it gets a descriptor of a socket and this process's id as
            arguments, reads ``first`` there, says that it is ready and then answers.
        first: what it is told first.
        limits: that it is held to.

    A process that had answered before, and goes beyond the limit of memory, is replaced and asked
    again: what it remembered took some. One that ended is replaced when the next question comes.

    Raises:
        ChildProcessError: it ends before it is ready.
    """

    def __init__(self, code: str, first: bytes, limits: ProcessLimits) -> None:
        self._code = code
        self._first, self._limits = first, limits
        self._most_bytes = _most_bytes(limits)
        self._process: subprocess.Popen[bytes] | None = None
        self._line: Connection | None = None
        self._talk: _Talk | None = None
        self._fresh = True
        ended = self._start()
        if ended is not None:
            raise ChildProcessError(f"the process of a worker {ended.how}, before it was ready")

    def turn_to(self, first: bytes, limits: ProcessLimits) -> None:
        """Tell the process something else first; it may remember what it was told before.

        One that ends over it is replaced when the next question comes.

        Args:
            first: what it is told.
            limits: that it is held to from now on.
        """
        self._first, self._limits = first, limits
        self._most_bytes = _most_bytes(limits)
        if self._process is not None:
            self._exchange(first, inf)
            self._fresh = False

    def ask(self, question: bytes) -> bytes | Ended:
        """Return the answer, or why there is none."""
        fresh = self._fresh or self._process is None
        answer = self._asked(question)
        if isinstance(answer, Ended) and answer.why == "memory_mb" and not fresh:
            answer = self._asked(question)
        return answer

    def end(self) -> int:
        """End the process; return its exit code, below 0 if a signal ended it."""
        process, line = self._process, self._line
        if process is None or line is None:
            return 0
        self._process = self._line = None
        process.kill()
        code = process.wait()
        if self._talk is not None:
            # it reads to the end; its descriptor must not be another file's by then
            self._talk.join(timeout=5)
        line.close()
        return code

    def _asked(self, question: bytes) -> bytes | Ended:
        if self._process is None and (ended := self._start()) is not None:
            return ended
        answer = self._exchange(question, self._limits.cpu_s)
        self._fresh = False
        return answer

    def _start(self) -> Ended | None:
        here, there = socketpair()
        with there:
            arguments = [str(there.fileno()), str(os.getpid())]
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", self._code, *arguments],
                stdin=subprocess.DEVNULL,
                pass_fds=[there.fileno()],
                env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        self._line = Connection(here.detach())
        self._fresh = True
        answer = self._exchange(self._first, inf)
        return answer if isinstance(answer, Ended) else None

    def _exchange(self, message: bytes, cpu_s: float) -> bytes | Ended:
        """Send a message and wait for the answer; end the process if it takes too much."""
        process, line = self._process, self._line
        assert process is not None
        assert line is not None
        self._talk = talk = _Talk(line, message)
        began, had, stillness = monotonic(), cpu_seconds(process.pid), Stillness()
        seen = had
        talk.start()
        while True:
            talk.join(LOOK_S)
            over = not talk.is_alive()
            cpu = cpu_seconds(process.pid)
            alive = over or cpu - seen >= _LEAST_SHARE * self._limits.stall_s
            seen = cpu if alive else seen
            spent = (monotonic() - began, cpu - had)
            if over and talk.answer is None:
                return Ended("died", 0.0, 0.0, *spent, self._last_words())
            peak, still_s = peak_bytes(process.pid), stillness.look(alive)
            ended = self._beyond(peak, cpu_s, still_s, *spent)
            if ended is not None:
                self.end()
                if ended.why != "memory_mb" or self._fresh or talk.answer is None:
                    return ended
            if talk.answer is not None:
                return talk.answer

    def _beyond(
        self, peak: int, cpu_s: float, still_s: float, seconds: float, cpu: float
    ) -> Ended | None:
        """Return which limit is broken, if any."""
        stall_s = self._limits.stall_s
        if peak > self._most_bytes:
            most, had = self._most_bytes / MB, peak / MB
            how = f"needed more than {most:.0f} MB of memory; it used {had:.0f} MB"
            return Ended("memory_mb", most, had, seconds, cpu, how)
        if cpu > cpu_s:
            return over_cpu_limit(cpu_s, seconds, cpu)
        if still_s > stall_s:
            how = f"made no progress for {still_s:.0f} s, after {cpu:.2f} s of CPU time"
            return Ended("stalled", stall_s, still_s, seconds, cpu, how)
        return None

    def _last_words(self) -> str:
        """Return how a process ended that has closed its line."""
        assert self._process is not None
        try:
            code = self._process.wait(timeout=5)
            self.end()
        except subprocess.TimeoutExpired:
            code = self.end()
        return f"was killed by {Signals(-code).name}" if code < 0 else f"ended with code {code}"


def _most_bytes(limits: ProcessLimits) -> float:
    given = limits.memory_mb
    return MACHINE_SHARE * machine_bytes() if given is None else given * MB


class _Talk(Thread):
    """Sends a message and waits for the answer, None if the line is cut.

    It is a thread, for a process that stands still reads nothing, and writes half an answer.
    """

    def __init__(self, line: Connection, message: bytes) -> None:
        super().__init__(daemon=True)
        self._line = line
        self._message = message
        self.answer: bytes | None = None

    def run(self) -> None:
        """Talk."""
        try:
            self._line.send_bytes(self._message)
            self.answer = self._line.recv_bytes()
        except (OSError, EOFError):
            return
