"""A watch that tells other processes, too, what a study does: in ``live.json``, and as events."""

import logging
import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import asdict
from time import time
from typing import Any

from archloom.studies.storage import Store, tell

from .watch import Running, Status, Watch


class PublishedWatch:
    """Passes on what it hears, and keeps the study's ``live.json`` up to date.

    Args:
        watch: hears everything.
        store: the study, opened for writing.

    Attributes:
        workers: says how many workers there are on each node.
    """

    def __init__(self, watch: Watch, store: Store) -> None:
        self._watch = watch
        self._store = store
        self.workers: Callable[[], Mapping[str, int]] = dict
        self._began = time()
        self._stages: list[str] = []
        self._running: dict[str, dict[str, Any]] = {}
        self._status: Status | None = None
        #: when, and with which share of the work done, the first task began
        self._first: tuple[float, float] | None = None

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
        tell("status", logging.DEBUG, **asdict(status), workers=dict(self.workers()))
        self._status = status
        self._write()
        self._watch.status(status)

    def started(self, running: Running, worker: str = "", node: str = "") -> None:
        """Hear that a task runs, or runs again after its worker has gone."""
        if self._first is None and self._status is not None:
            self._first = time(), self._status.fraction
        again = running.label in self._running
        where = {"worker": worker, "node": node} if worker else {}
        begun: dict[str, Any] = asdict(running) | where
        tell("started_again" if again else "started", **begun)
        self._running[running.label] = begun | {"since": time()}
        self._write()
        self._watch.started(running, worker, node)

    def finished(self, label: str) -> None:
        """Hear that the task of a trial runs no more."""
        self._running.pop(label, None)
        self._write()
        self._watch.finished(label)

    def found(self, text: str) -> None:
        """Hear of a design that is not dominated so far."""
        self._watch.found(text)

    def over(self) -> None:
        """Hear that the study is over, and that what comes is not part of it."""
        self._watch.over()

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
            "workers": dict(self.workers()),
            "left_s": self._seconds_left(),
        }
        self._store.write_live(content)

    def _seconds_left(self) -> float | None:
        """Extrapolate from the work that this process did; None before there is any."""
        if self._first is None or self._status is None:
            return None
        (began, had), share = self._first, self._status.fraction
        return (time() - began) * (1 - share) / (share - had) if share > had else None
