"""A watch that tells other processes, too, what a study does."""

import os
import socket
from dataclasses import asdict
from time import time
from typing import Any

from archloom.studies.storage import Store

from .watch import Running, Status, Watch


class PublishedWatch:
    """Passes on what it hears, and keeps the study's ``live.json`` up to date.

    Args:
        watch: hears everything.
        store: the study, opened for writing.
    """

    def __init__(self, watch: Watch, store: Store) -> None:
        self._watch = watch
        self._store = store
        self._began = time()
        self._stages: list[str] = []
        self._running: dict[str, dict[str, Any]] = {}
        self._status: Status | None = None

    def begin(self, what: str, total: int | None = None) -> None:
        """Hear that a stage begins."""
        self._stages.append(what)
        self._write()
        self._watch.begin(what, total)

    def advance(self, now: str = "", steps: int = 1) -> None:
        """Hear of steps of a stage, which only the inner watch shows."""
        self._watch.advance(now, steps)

    def end(self) -> None:
        """Hear that the innermost stage is over."""
        if self._stages:
            self._stages.pop()
        self._write()
        self._watch.end()

    def status(self, status: Status) -> None:
        """Hear how far the study is."""
        self._status = status
        self._write()
        self._watch.status(status)

    def started(self, running: Running) -> None:
        """Hear that a task runs."""
        self._running[running.label] = asdict(running) | {"since": time()}
        self._write()
        self._watch.started(running)

    def finished(self, label: str) -> None:
        """Hear that the task of a trial runs no more."""
        self._running.pop(label, None)
        self._write()
        self._watch.finished(label)

    def found(self, text: str) -> None:
        """Hear of a design that is not dominated so far."""
        self._watch.found(text)

    def close(self) -> None:
        """Say that nothing is done any more."""
        self._store.end_live()

    def _write(self) -> None:
        content = {
            "process": os.getpid(),
            "host": socket.gethostname(),
            "since": self._began,
            "stages": self._stages,
            "running": [*self._running.values()],
            "status": asdict(self._status) if self._status else None,
        }
        self._store.write_live(content)
