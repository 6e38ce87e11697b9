"""Who hears what happens in a study: people, a log file, and Prometheus."""

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from archloom.studies.config import Location
from archloom.studies.storage import EventLog, heard, tell

from ...errors import UserError


@dataclass(frozen=True, slots=True)
class Telling:
    """What the command line wants to be told.

    Attributes:
        log: file that events are appended to, a JSON object a line; None for none.
        metrics: file of figures for Prometheus; None for none.
    """

    log: Path | None = None
    metrics: Path | None = None

    @contextmanager
    def about(
        self, name: str, location: Location, trials: int, show: Callable[[str], None]
    ) -> Iterator[None]:
        """Have all that is told inside heard by those who want to.

        Args:
            name: of the study.
            location: of the study, which may not be there yet.
            trials: that it has at the most.
            show: a warning to people.

        Raises:
            TroubleError: a file cannot be written.
        """
        with ExitStack() as open_files:
            handlers: list[logging.Handler] = [_Shown(show)]
            if self.log is not None:
                handlers.append(EventLog(self.log, name))
                open_files.callback(handlers[-1].close)
            if self.metrics is not None:
                from .metrics import Metrics

                handlers.append(Metrics(self.metrics, name, location, trials))
            open_files.pop_all()
        with heard(*handlers):
            try:
                yield
            except UserError as error:
                tell("ended", logging.ERROR, exit_code=error.exit_code, why=str(error))
                raise

    def killed(self, name: str, location: Location, trials: int) -> Callable[[str], None]:
        """Return what is to be called with how the process ended that worked on a study."""

        def told(how: str) -> None:
            with self.about(name, location, trials, lambda _: None):
                tell("process_ended", logging.ERROR, why=how)

        return told


class _Shown(logging.Handler):
    """Shows people what they are warned of; what is journaled as failed is shown otherwise."""

    def __init__(self, show: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._show = show

    def emit(self, record: logging.LogRecord) -> None:
        """Show it."""
        message = getattr(record, "fields", {}).get("message")
        if message:
            self._show(message)
