"""A limit of work, for what must not hang."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def work_limit(seconds: float) -> Iterator[None]:
    """End what takes more than so much work, however busy the machine is."""

    def end(_: int, frame: FrameType | None) -> None:
        raise AssertionError(f"more than {seconds} s of work, now at {frame}")

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
