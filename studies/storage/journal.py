"""An append-only file of events that survives a kill at any instant.

Every line carries the CRC-32 of its event. A write that was cut short leaves a last line that
does not check; it is dropped, as if the event had never happened. A line that does not check
and is followed by one that does is damage, and is reported rather than skipped.
"""

import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import UserError

Event = dict[str, Any]

_HEAD = b'{"crc":"'
_MIDDLE = b'","event":'
_START = len(_HEAD) + 8 + len(_MIDDLE)


class Journal:
    """The journal opened for writing; the caller holds the study's lock.

    Args:
        path: file of the journal; made if it is not there.

    Attributes:
        found: the events that the file held; what is appended is not kept here.

    Raises:
        UserError: a line in the middle of the file is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.found, end = _parse(path.read_bytes() if path.exists() else b"", path)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.ftruncate(self._file, end)

    def append(self, event: Event) -> None:
        """Write one event; it is on the disk when this returns."""
        os.write(self._file, _line(event))
        os.fsync(self._file)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def read_events(path: Path) -> list[Event]:
    """Return the events without changing the file, which another process may be writing.

    Raises:
        UserError: a line in the middle of the file is damaged.
    """
    return _parse(path.read_bytes(), path)[0] if path.exists() else []


def _line(event: Event) -> bytes:
    body = json.dumps(event, separators=(",", ":")).encode()
    return b"%s%08x%s%s}\n" % (_HEAD, zlib.crc32(body), _MIDDLE, body)


def _parse(data: bytes, path: Path) -> tuple[list[Event], int]:
    """Return the events and where the last sound line ends."""
    events: list[Event] = []
    end = 0
    broken: int | None = None
    for number, (start, line) in enumerate(_lines(data), 1):
        event = _event(line)
        if event is None:
            broken = broken or number
        elif broken:
            raise UserError(
                f"{path}: line {broken} is damaged, but line {number} is not, so this is no "
                "write that was cut short; restore the file from a copy or start a new study"
            )
        else:
            events.append(event)
            end = start + len(line)
    return events, end


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    start = 0
    for line in data.splitlines(keepends=True):
        yield start, line
        start += len(line)


def _event(line: bytes) -> Event | None:
    body = line[_START:-2]
    sound = (
        line.endswith(b"}\n")
        and line.startswith(_HEAD)
        and line[len(_HEAD) : len(_HEAD) + 8] == b"%08x" % zlib.crc32(body)
    )
    return json.loads(body) if sound else None
