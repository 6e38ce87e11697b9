"""A study's events, told to whoever wants to hear them, and a file of them: a JSON object a line.

What happens is told by :func:`tell`, through Python's ``logging``, under the name ``archloom``.
Nothing is decided by it, and the journal knows nothing of it. Rounds are counted from 1, as people
see them.
"""

import json
import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from ..errors import choosing

_LOG: Final = logging.getLogger("archloom")
_LOG.addHandler(logging.NullHandler())

#: fields of journaled events that are large, or of no use to people
_LEFT_OUT: Final = ("event", "at", "payload", "study", "refused")


def heard_by_somebody() -> bool:
    """Return whether anybody hears what is told."""
    return _LOG.isEnabledFor(logging.INFO)


def tell(event: str, level: int = logging.INFO, **fields: Any) -> None:
    """Tell what happened.

    Args:
        event: what, as ``worker_died``.
        level: of :mod:`logging`; from ``WARNING`` on people are shown its ``message``.
        fields: what belongs to it; values are numbers, short texts, or lists of these.
    """
    _LOG.log(level, "%s", fields.get("message", event), extra={"event": event, "fields": fields})


def tell_journaled(event: dict[str, Any]) -> None:
    """Tell an event that was written to the journal, without what only the study needs of it."""
    fields = {key: value for key, value in event.items() if key not in _LEFT_OUT}
    if "points" in fields:
        fields["points"] = len(fields["points"])
    if "round" in fields:
        fields["round"] += 1
    if crash := fields.pop("crash", None):
        fields |= {"error": crash["error"], "why": crash["message"]}
    levels = {"crashed": logging.ERROR, "lost": logging.ERROR, "over_limit": logging.WARNING}
    tell(event["event"], levels.get(event["event"], logging.INFO), **fields)


class _JsonLines(logging.Formatter):
    """Writes a record as one JSON object."""

    def __init__(self, study: str) -> None:
        super().__init__()
        self._always = {"study": study, "host": socket.gethostname()}

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; keys that every line has come first."""
        at = datetime.fromtimestamp(record.created, UTC)
        head = {
            "time": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "event": getattr(record, "event", "message"),
            **self._always,
            "process": os.getpid(),
        }
        fields = getattr(record, "fields", {"message": record.getMessage()})
        return json.dumps(head | fields, default=str)


@contextmanager
def heard(*handlers: logging.Handler) -> Iterator[None]:
    """Have handlers hear what is told inside."""
    before = _LOG.level, _LOG.propagate
    _LOG.setLevel(logging.DEBUG)
    # other libraries set handlers of the root, which print
    _LOG.propagate = False
    for handler in handlers:
        _LOG.addHandler(handler)
    try:
        yield
    finally:
        for handler in handlers:
            _LOG.removeHandler(handler)
            handler.close()
        _LOG.level, _LOG.propagate = before


class EventLog(logging.FileHandler):
    """Appends events to a file, a JSON object a line; a disk without room keeps no study.

    Args:
        path: of the file; its folder has to be there.
        study: name of the study, which stands in every line.

    Raises:
        UserError: it cannot be opened.
    """

    def __init__(self, path: Path, study: str) -> None:
        with choosing(path, "--log"):
            super().__init__(path, encoding="utf-8")
        self.setLevel(logging.INFO)
        # what else is said, for --log-level, is no event
        self.addFilter(lambda record: hasattr(record, "event"))
        self.setFormatter(_JsonLines(study))

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  (logging's)
        """Go on without the line: a log is not worth a study."""
