"""An append-only file of events that survives a kill at any instant.

Every line carries the CRC-32 of its event. A write that was cut short leaves a last line that
does not check: it is copied to a file beside the journal, and then dropped as if the event had
never happened. Anything else that does not check is damage, is reported, and is left alone.
"""

import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from archloom.space import bounded_json

from ..errors import TroubleError, UserError, reason, writing

Event = dict[str, Any]

_HEAD = b'{"crc":"'
_MIDDLE = b'","event":'
_START = len(_HEAD) + 8 + len(_MIDDLE)

#: bytes of the longest line that is read: results of 64 MiB, packed, are far below that
MOST_LINE: Final = 32 * 2**20

#: lines that do not check, after which no more are read
_MOST_BROKEN: Final = 64


class Journal:
    """The journal opened for writing; the caller holds the study's lock.

    Args:
        path: file of the journal; made if it is not there.
        check: gets the events before anything is changed; may raise to refuse them.

    Attributes:
        found: the events that the file held; what is appended is not kept here.
        cut_short: bytes of a last line that was dropped; 0 for none.

    Raises:
        UserError: the file is damaged; it was not changed.
        TroubleError: it cannot be written.
    """

    def __init__(
        self, path: Path, check: Callable[[Sequence[Event]], None] = lambda _: None
    ) -> None:
        rest = b""
        end = 0
        self.found: list[Event] = []
        if path.exists():
            self.found, end = parse_events(file_lines(path), path)
            with path.open("rb") as file:
                file.seek(end)
                rest = file.read()
        check(self.found)
        self.cut_short = len(rest)
        self._path, self._end, self._failed = path, end, False
        with writing(path):
            if rest:
                _keep(rest, copy_of(path))
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            os.ftruncate(self._file, end)

    def append(self, event: Event) -> None:
        """Write one event; it is on the disk when this returns.

        Raises:
            TroubleError: it could not be written, and nothing of it was; no event can follow.
        """
        if self._failed:
            raise TroubleError(f"{self._path} could not be written before; nothing more is")
        line = event_line(event)
        try:
            write_at(self._file, line, self._end)
            os.fsync(self._file)
        except OSError as error:
            self._failed = True
            # what was written of the line would make the next one unreadable
            with suppress(OSError):
                os.ftruncate(self._file, self._end)
            raise TroubleError(f"{self._path} cannot be written: {reason(error)}") from None
        self._end += len(line)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def copy_of(path: Path) -> Path:
    """Return where a journal's lines go that were cut short."""
    return path.with_name(f"{path.name}.cut")


def read_events(path: Path) -> list[Event]:
    """Return the events without changing the file, which another process may be writing.

    Raises:
        UserError: the file is damaged.
    """
    return parse_events(file_lines(path), path)[0] if path.exists() else []


def file_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a part that grows, one at a time: it may be larger than memory.

    Raises:
        UserError: a line is longer than any that archloom writes.
    """
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MOST_LINE + 1):
            number += 1
            if len(line) > MOST_LINE:
                raise UserError(
                    f"{path}: line {number} has over {MOST_LINE} bytes, more than archloom writes; "
                    "restore the file from a copy, or start a study in another directory"
                )
            yield line


def lines_in(data: bytes) -> Iterator[bytes]:
    """Yield the lines of a part that was read."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start) + 1 or len(data)
        yield data[start:end]
        start = end


def write_at(file: int, data: bytes, at: int) -> None:
    """Write all of it: a disk that is nearly full takes a part without an error.

    Args:
        file: descriptor; one that appends does so wherever ``at`` is.
        data: to be written.
        at: offset in the file.
    """
    while data:
        written = os.pwrite(file, data, at)
        data, at = data[written:], at + written


def _keep(data: bytes, path: Path) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        write_at(file, data + b"\n", 0)
        os.fsync(file)
    finally:
        os.close(file)


def event_line(event: Event) -> bytes:
    """Return the line of an event, with its checksum."""
    body = json.dumps(event, separators=(",", ":")).encode()
    return b"%s%08x%s%s}\n" % (_HEAD, zlib.crc32(body), _MIDDLE, body)


class _Broken(NamedTuple):
    number: int
    line: bytes


def parse_events(lines: Iterable[bytes], path: Path | str) -> tuple[list[Event], int]:
    """Return the events and where the last sound line ends.

    Args:
        lines: of a journal, with their ends.
        path: what to call it in messages.

    Raises:
        UserError: it is damaged.
    """
    events: list[Event] = []
    broken: list[_Broken] = []
    end = 0
    for number, line in enumerate(lines, 1):
        event = _event(line)
        if event is None:
            # of more than the first one nothing is told but that they are there
            broken.append(_Broken(number, b"" if broken else line))
            if len(broken) == _MOST_BROKEN:
                break
            continue
        if broken:
            raise UserError(
                f"{path}: line {broken[0].number} is damaged, but line {number} is not, so this is "
                "no write that was cut short; restore the file from a copy or start a new study"
            )
        events.append(event)
        end += len(line)
    if broken:
        _check_cut_short(broken, bool(events), path)
    return events, end


def _check_cut_short(broken: list[_Broken], begun: bool, path: Path | str) -> None:
    """Refuse lines at the end that one interrupted write cannot have left there.

    Raises:
        UserError: they are more than one, or nothing before them is a journal and they do not begin
            like one.
    """
    first = broken[0]
    begins = _HEAD.startswith(first.line[: len(_HEAD)]) or not first.line.strip(b"\0")
    if first.line.endswith(b"\r\n"):
        why = "lines end with CR LF, as if another program had saved it; turn them into LF"
    elif len(broken) == _MOST_BROKEN:
        why = f"line {first.number} and {len(broken) - 1} behind it are damaged"
    elif len(broken) > 1:
        why = f"its last {len(broken)} lines are damaged, and one write leaves one at the most"
    elif not begun and not begins:
        why = "it does not begin like a journal"
    else:
        return
    raise UserError(
        f"{path}: {why}; nothing was changed; restore the file from a copy, "
        "or start a study in another directory"
    )


def _event(line: bytes) -> Event | None:
    body = line[_START:-2]
    sound = (
        line.endswith(b"}\n")
        and line.startswith(_HEAD)
        and line[len(_HEAD) : len(_HEAD) + 8] == b"%08x" % zlib.crc32(body)
    )
    if not sound:
        return None
    try:
        event = bounded_json(body)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None
