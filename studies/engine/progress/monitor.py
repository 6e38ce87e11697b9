"""State of what runs, and lines about it; it is told by one thread and may be read by another."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from threading import RLock
from time import monotonic
from typing import Final

from .watch import Running, Status

_LOG: Final = logging.getLogger("archloom.stages")

#: Running tasks that a line names.
_NAMED = 4


@dataclass(slots=True)
class _Stage:
    what: str
    total: int | None
    began: float
    done: int = 0
    now: str = ""


class Monitor:
    """Remembers stages, tasks and the latest status.

    Args:
        clock: seconds from anywhere on.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self.clock = clock
        self.latest: Status | None = None
        self._lock = RLock()
        self._stages: list[_Stage] = []
        self._running: dict[str, tuple[Running, float]] = {}
        self._plans = 0
        self._busy_since: float | None = None
        self._start: tuple[float, float] | None = None

    def begin(self, what: str, total: int | None = None) -> None:
        """Note that a stage began."""
        with self._lock:
            self._stages.append(_Stage(what, total, self.clock()))

    def advance(self, now: str = "", steps: int = 1) -> None:
        """Note steps of the innermost stage."""
        with self._lock:
            if self._stages:
                self._stages[-1].done += steps
                self._stages[-1].now = now

    def end(self) -> None:
        """Note that the innermost stage ended."""
        with self._lock:
            if self._stages:
                stage = self._stages.pop()
                _LOG.info("%s: took %.2f s", stage.what, self.clock() - stage.began)

    def status(self, status: Status) -> None:
        """Note how far the study is."""
        with self._lock:
            self.latest = status
            self._start = self._start or (self.clock(), status.fraction)

    def started(self, running: Running, worker: str = "", node: str = "") -> None:  # noqa: ARG002
        """Note that a task runs."""
        with self._lock:
            now = self.clock()
            self._busy_since = now if self._busy_since is None else self._busy_since
            self._running[running.label] = running, now

    def finished(self, label: str) -> None:
        """Note that a task ended."""
        with self._lock:
            if label in self._running:
                self._plans += self._running.pop(label)[0].plans

    def over(self) -> None:
        """Forget the study: what is shown, and its rate, are of what comes."""
        with self._lock:
            self.latest = self._start = self._busy_since = None
            self._running.clear()
            self._plans = 0

    def busy(self) -> tuple[str, float] | None:
        """Return what the innermost stage does and for how many seconds; None without one."""
        with self._lock:
            stage = self._stages[-1] if self._stages else None
            return None if stage is None else (stage.what, self.clock() - stage.began)

    def stage_text(self) -> str:
        """Return what is being done besides trials, how far it is, and how long it may take."""
        with self._lock:
            if not self._stages:
                return ""
            stage = self._stages[-1]
            seconds = self.clock() - stage.began
            parts = [stage.what]
            if stage.total is not None:
                parts.append(f"{stage.done} of {stage.total}")
            if stage.now:
                parts.append(stage.now)
            parts.append(duration(seconds))
            if stage.total and 0 < stage.done < stage.total:
                left = seconds * (stage.total - stage.done) / stage.done
                parts.append(f"about {duration(left)} left")
            return ", ".join(parts)

    def running(self) -> list[tuple[Running, float]]:
        """Return the tasks that run, each with its seconds so far."""
        with self._lock:
            now = self.clock()
            return [(running, now - began) for running, began in self._running.values()]

    def seconds_left(self) -> float | None:
        """Extrapolate from the work that this process did; None before there is any."""
        with self._lock:
            if self._start is None or self.latest is None:
                return None
            began, had = self._start
            share = self.latest.fraction
            return (self.clock() - began) * (1 - share) / (share - had) if share > had else None

    def rate_text(self) -> str:
        """Return how many plans were evaluated each second, and what time is left."""
        with self._lock:
            parts = []
            if self._plans and self._busy_since is not None:
                rate = self._plans / max(self.clock() - self._busy_since, 1e-9)
                parts.append(f"{rate:.3g} plans/s")
            left = self.seconds_left()
            if left:
                parts.append(f"about {duration(left)} left")
            return ", ".join(parts)

    def line(self) -> str:
        """Return everything in one line."""
        with self._lock:
            parts = [describe(self.latest) if self.latest else "", self.stage_text()]
            running = self.running()
            if running:
                named = [f"{r.label} ({r.stage}, {duration(s)})" for r, s in running[:_NAMED]]
                more = f" and {len(running) - _NAMED} more" if len(running) > _NAMED else ""
                parts.append(f"running: {', '.join(named)}{more}")
            parts.append(self.rate_text())
            return "; ".join(part for part in parts if part)


def describe(status: Status) -> str:
    """Return a status in one line."""
    if status.validation is not None:
        return "held-out networks: {}/{} software searches done".format(*status.validation)
    progress = f"trials {status.trials_done}/{status.trials}, round {status.round}/{status.rounds}"
    return f"{progress}, {front_text(status)}"


def front_text(status: Status) -> str:
    """Return what was found so far."""
    parts = [f"Pareto front {status.front} design{'' if status.front == 1 else 's'}"]
    if status.best is not None:
        parts.append(f"best {status.best}")
    if status.volume_gain is not None:
        parts.append(f"hypervolume {status.volume_gain:.3f} x first batch")
    if status.certified is not None:
        parts.append(f"certified at least {100 * status.certified:.1f}% at this budget")
    if status.failed:
        parts.append(f"{status.failed} crashed")
    if status.over_limit:
        parts.append(f"{status.over_limit} exceeded a limit")
    return ", ".join(parts)


def duration(seconds: float) -> str:
    """Return a time for people."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
