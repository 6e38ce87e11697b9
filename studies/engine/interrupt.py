"""Ctrl-C and SIGTERM, turned into a question that is asked where stopping is safe.

An exception from a signal handler may strike inside compiled code, which turns it into an error
of its own; a study would take that for a crash of the trial.
"""

import os
import signal
from types import FrameType
from typing import Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_HEARD = b"\nstopping after the work under way; once more stops at once, and loses only that\n"


class Stopped(BaseException):
    """The user wants to stop; like KeyboardInterrupt, no error handler may swallow it."""


class StopRequest:
    """Listens for the signals, as a context manager.

    The first one is remembered for :meth:`check`. The second one does what it does to any
    process: the store survives a kill at any instant.
    """

    def __init__(self) -> None:
        self._heard = False
        self._before = {number: signal.getsignal(number) for number in _SIGNALS}

    def __enter__(self) -> Self:
        self.listen()
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def listen(self) -> None:
        """Take the signals (again, after Ray has set a handler of its own)."""
        for number in _SIGNALS:
            signal.signal(number, self._hear)

    @staticmethod
    def end() -> None:
        """Let each further signal end this process at once and in silence."""
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_DFL)

    def check(self) -> None:
        """Raise :class:`Stopped` if a signal has arrived; else go on listening.

        Ray sets handlers of its own when it starts, which may be at any time.
        """
        self.listen()
        if self._heard:
            raise Stopped

    def _hear(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if self._heard:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        self._heard = True
        os.write(2, _HEARD)
