"""Progress of a running study: a live line in a terminal, plain lines elsewhere."""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID


@dataclass(frozen=True, slots=True)
class Status:
    """How far a study is, for people who watch it.

    Attributes:
        trials_done, trials: trials with a final record, and all of them.
        round, rounds: round of the batch under way (from 1), and rounds of a batch.
        fraction: share of the whole study's work that is done, about.
        best: the best of the first objective so far, for people; None if there is none yet.
        front: designs on the front so far.
        failed: trials that crashed so far.
        baseline: whether it is the baseline that is being evaluated.
        validation: searches of software for held-out networks that are done, and all of them;
            None before they begin.
    """

    trials_done: int
    trials: int
    round: int
    rounds: int
    fraction: float
    best: str | None
    front: int
    failed: int
    baseline: bool = False
    validation: tuple[int, int] | None = None


Watch = Callable[[Status], None]


class ProgressView:
    """Shows every :class:`Status` that it is called with; a context manager.

    Args:
        console: where to; a live line if it is a terminal, else one line per finished round.
    """

    def __init__(self, console: "Console") -> None:
        self._console = console
        self._live: Progress | None = None
        self._task: TaskID | None = None
        self._start: tuple[float, float] | None = None
        self._last = ""

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (BarColumn(24), TextColumn("{task.description}"), TimeElapsedColumn())
            self._live = Progress(*columns, console=self._console)
            self._live.start()
            self._task = self._live.add_task("starting", total=1.0)
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def __call__(self, status: Status) -> None:
        """Show how far the study is."""
        text = describe(status)
        if self._live and self._task is not None:
            left = self._seconds_left(status.fraction)
            rest = f", about {_duration(left)} left" if left is not None else ""
            self._live.update(self._task, completed=status.fraction, description=text + rest)
        elif text != self._last:
            self._console.print(text, highlight=False, soft_wrap=True)
        self._last = text

    def _seconds_left(self, fraction: float) -> float | None:
        """Extrapolate from the work that this process did; None before there is any."""
        now = monotonic()
        self._start = self._start or (now, fraction)
        began, had = self._start
        return (now - began) * (1 - fraction) / (fraction - had) if fraction > had else None


def describe(status: Status) -> str:
    """Return one line."""
    if status.baseline:
        return f"baseline: round {status.round}/{status.rounds}"
    if status.validation is not None:
        return "held-out networks: {}/{} searches".format(*status.validation)
    parts = [
        f"trials {status.trials_done}/{status.trials}",
        f"round {status.round}/{status.rounds}",
        f"front {status.front}",
    ]
    if status.best is not None:
        parts.append(f"best {status.best}")
    if status.failed:
        parts.append(f"{status.failed} crashed")
    return ", ".join(parts)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
