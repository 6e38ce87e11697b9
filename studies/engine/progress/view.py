"""View of what runs: one live display on a terminal, lines with a time stamp elsewhere.

A thread keeps both going, for a study may work in the main one for minutes without a word.
"""

from collections.abc import Callable
from datetime import datetime
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Self

from .monitor import Monitor, describe, front_text
from .watch import Status

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.live import Live

#: Seconds between two lines of a log about the same; and after which a new stage is named.
EVERY_S = 10.0
SOON_S = 2.0

#: Tasks that the live display lists.
_LISTED = 12

#: How often the thread looks, and the display is drawn, each second.
_LOOKS_PER_S = 4


class ProgressView(Monitor):
    """Shows what it is told; a context manager.

    Args:
        console: where to.
        clock: seconds from anywhere on.
        stamp: the time of day, for lines of a log.
    """

    def __init__(
        self,
        console: "Console",
        clock: Callable[[], float] = monotonic,
        stamp: Callable[[], str] = lambda: datetime.now().strftime("%H:%M:%S"),
    ) -> None:
        super().__init__(clock)
        self._console = console
        self._stamp = stamp
        self._live: Live | None = None
        self._over = Event()
        self._thread: Thread | None = None
        self._said_at = clock()
        self._named: str | None = None

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            from rich.live import Live

            self._live = Live(
                console=self._console,
                get_renderable=self.picture,
                refresh_per_second=_LOOKS_PER_S,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()
        else:
            self._thread = Thread(target=self._keep_looking, name="progress", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()
        self._over.set()
        if self._thread:
            self._thread.join()

    def status(self, status: Status) -> None:
        """Show how far the study is; a log has a line at once when it turns to something else."""
        before = self.latest
        super().status(status)
        if before is None or (before.validation is None) != (status.validation is None):
            self._say(describe(status))

    def found(self, text: str) -> None:
        """Print a design above the live display, or into the log, at once."""
        self._print(text)

    def due(self) -> str | None:
        """Return the line that a log wants now; None if it wants none.

        A stage is named once it has lasted a while; then all is said at most every ten seconds.
        """
        busy = self.busy()
        if busy is not None and busy[1] >= SOON_S and busy[0] != self._named:
            self._named = busy[0]
            return self.line()
        return self.line() if self.clock() - self._said_at >= EVERY_S else None

    def picture(self) -> "Group":
        """Return the live display."""
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        rows = Table.grid(padding=(0, 2))
        tasks = self.running()
        for running, seconds in tasks[:_LISTED]:
            texts = (running.label, running.stage, _clock(seconds), running.design)
            # the same rows on a narrow terminal: of names of designs the end is cut
            rows.add_row(*(Text(t, no_wrap=True, overflow="ellipsis") for t in texts))
        parts: list[object] = [rows] if tasks else []
        if len(tasks) > _LISTED:
            parts.append(Text(f"and {len(tasks) - _LISTED} more"))
        status = self.latest
        if status is not None:
            bar = Table.grid(padding=(0, 1))
            head = describe(status).removesuffix(f", {front_text(status)}")
            drawn = ProgressBar(total=1.0, completed=status.fraction, width=24)
            bar.add_row(drawn, Text(f"{head}  {self.rate_text()}"))
            parts += [bar, Text(front_text(status))]
        if stage := self.stage_text():
            parts.append(Text(stage))
        return Group(*parts)  # type: ignore[arg-type]

    def _keep_looking(self) -> None:
        try:
            while not self._over.wait(1 / _LOOKS_PER_S):
                if text := self.due():
                    self._say(text)
        except (OSError, ValueError, SystemExit):
            return  # nobody reads any more (rich then asks to exit); the study goes on

    def _say(self, text: str) -> None:
        """Write a line into the log; the live display shows it anyway."""
        if self._live is None and text:
            self._said_at = self.clock()
            self._print(text)

    def _print(self, text: str) -> None:
        line = text if self._live else f"[{self._stamp()}] {text}"
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02}"
