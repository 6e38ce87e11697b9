"""What archloom does, said on stderr a line at a time: ``-v`` and ``--log-level``.

All of it goes through Python's ``logging``, under the name ``archloom``; a script that uses the
Python API sets handlers there itself.
"""

import logging
from typing import Final

#: levels of ``--log-level``; warnings are shown anyway
_LEVELS: Final = {"warnings": logging.WARNING, "info": logging.INFO, "debug": logging.DEBUG}

_LOG: Final = logging.getLogger("archloom")

#: texts in a line are cut here: names of designs are long
_LONGEST: Final = 400


class _Lines(logging.Formatter):
    """Writes a record as one line: what happened, then what belongs to it."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        fields = getattr(record, "fields", {})
        event = getattr(record, "event", "").replace("_", " ")
        told = " ".join(f"{key}={_shown(value)}" for key, value in fields.items() if value != "")
        text = f"{event}: {told}" if told else event or record.getMessage()
        return f"{record.levelname.lower()}: {text}"


def _shown(value: object) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


class _Said(logging.StreamHandler):  # type: ignore[type-arg]
    """The handler of this module, of which there is one at the most."""


def say(level: str) -> None:
    """Say on stderr what happens from a level on; the last call counts.

    Args:
        level: ``warnings``, ``info`` or ``debug``.
    """
    for handler in [one for one in _LOG.handlers if isinstance(one, _Said)]:
        _LOG.removeHandler(handler)
    number = _LEVELS[level]
    if number == logging.WARNING:
        return
    handler = _Said()
    handler.setLevel(number)
    handler.setFormatter(_Lines())
    _LOG.addHandler(handler)
    _LOG.setLevel(number)
