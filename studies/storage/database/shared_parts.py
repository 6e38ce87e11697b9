"""The parts of a study as rows of a database."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, text

from archloom.studies.config import SharedStudy, named

from ...errors import TroubleError, UserError
from ..journal import Event, event_line, parse_events
from ..parts import BEYOND, GROWING, JOURNAL, LIVE, TRIALS
from .connection import WHOLE_S, Session, transaction
from .lease import Lease
from .reading import lines_of

#: adds a line if the one before it is there, its place is free, and the lease is ours
_APPEND: Final = text(
    "WITH held AS"
    " (SELECT id FROM archloom_studies WHERE id = :study AND token = :token FOR UPDATE),"
    " added AS (INSERT INTO archloom_parts (study, name, number, content)"
    " SELECT id, :name, :number, :content FROM held"
    " WHERE :number = 1 OR EXISTS (SELECT FROM archloom_parts"
    " WHERE study = :study AND name = :name AND number = :number - 1)"
    " ON CONFLICT DO NOTHING RETURNING 1)"
    " SELECT (SELECT count(*) FROM held) AS held, (SELECT count(*) FROM added) AS added"
)
_INSERT: Final = text(
    "INSERT INTO archloom_parts (study, name, number, content)"
    " VALUES (:study, :name, :number, :content)"
)
_PUT: Final = text(
    "INSERT INTO archloom_parts (study, name, number, content) VALUES (:study, :name, 0, :content)"
    " ON CONFLICT (study, name, number) DO UPDATE SET content = excluded.content"
)
_CUT: Final = text(
    "DELETE FROM archloom_parts WHERE study = :study AND name = :name AND number >= :number"
)
_ADD: Final = text(
    "INSERT INTO archloom_studies (name) VALUES (:name) ON CONFLICT DO NOTHING RETURNING id"
)


class SharedParts:
    """The parts of a study in a database, under a lease until this is closed.

    A server that is away is waited for (:class:`.connection.Session`).

    Attributes:
        notes: nothing; what is written here is written whole.

    Raises:
        UserError: there is no such study, or another process has the lease.
        TroubleError: the server does not answer.
    """

    def __init__(self, location: SharedStudy) -> None:
        self.notes: list[str] = []
        self._location = location
        self._lease = Lease(location)
        self._session = Session(location.database, self._lease.renew)
        self._failed = False
        self._events = 0
        self._published = 0

    def open_journal(self, check: Callable[[Sequence[Event]], None]) -> list[Event]:
        """Return every event so far, after ``check`` has not refused them.

        Raises:
            UserError: the journal is damaged; nothing was changed.
        """
        name = named(self._location, JOURNAL)
        with transaction(self._location.database, WHOLE_S) as connection:
            lines = lines_of(connection, self._lease.study, JOURNAL)
        events, _ = parse_events((line.content for line in lines), name)
        gap = next((i for i, line in enumerate(lines, 1) if line.number != i), None)
        if gap or len(events) != len(lines):
            raise UserError(
                f"{name}: line {gap or len(events) + 1} is missing or damaged; restore the "
                "database from a copy, or start another study"
            )
        check(events)
        self._events = len(events)
        return events

    def append(self, event: Event) -> None:
        """Add an event to the journal; it is committed when this returns."""
        if self._failed:
            name = named(self._location, JOURNAL)
            raise TroubleError(f"{name} could not be written before; nothing more is")
        number, line = self._events + 1, event_line(event)
        self._failed = True
        self._session.run(lambda c: self._append(c, number, line))
        self._failed, self._events = False, number

    def _append(self, connection: Connection, number: int, line: bytes) -> None:
        place = {"study": self._lease.study, "name": JOURNAL, "number": number}
        given = place | {"content": line, "token": self._lease.token}
        found = connection.execute(_APPEND, given).one()
        if not found.held:
            raise self._lease.lost(connection)
        if found.added:
            return
        lines = lines_of(connection, self._lease.study, JOURNAL, number)
        # perhaps it was committed before, and the connection lost with the answer
        if [(one.number, one.content) for one in lines] != [(number, line)]:
            raise TroubleError(
                f"{named(self._location, JOURNAL)}: line {number} cannot follow what is there; the "
                "server has lost lines that it had committed, or others were added by hand"
            )

    def publish(self, lines: Sequence[bytes]) -> None:
        """Let these be the next lines of the trials; what stands there already stays."""
        first = self._published + 1

        def work(connection: Connection) -> None:
            self._lease.check(connection)
            there = lines_of(connection, self._lease.study, TRIALS, first, first + len(lines) - 1)
            if [(one.number, one.content) for one in there] == list(enumerate(lines, first)):
                return
            connection.execute(_CUT, self._place(TRIALS, first))
            insert(connection, self._lease.study, TRIALS, lines, first)

        self._session.run(work)
        self._published += len(lines)

    def settle(self) -> None:
        """Move lines of the trials behind all that was published to a part of their own."""
        first = self._published + 1

        def work(connection: Connection) -> None:
            self._lease.check(connection)
            beyond = lines_of(connection, self._lease.study, TRIALS, first)
            if not beyond:
                return
            kept = lines_of(connection, self._lease.study, BEYOND)
            contents = [line.content for line in beyond]
            insert(connection, self._lease.study, BEYOND, contents, len(kept) + 1)
            connection.execute(_CUT, self._place(TRIALS, first))

        self._session.run(work)

    def read(self, name: str) -> bytes | None:
        """Return a part; None if there is none."""
        lines = self._session.run(lambda c: lines_of(c, self._lease.study, name))
        return b"".join(line.content for line in lines) if lines else None

    def put(self, name: str, data: bytes) -> None:
        """Write a part as a whole."""
        self._session.run(lambda c: self._put(c, name, data))

    def tell(self, data: bytes | None) -> None:
        """Write what is done right now, if the server is there."""

        def work(connection: Connection) -> None:
            if data is None:
                self._lease.check(connection)
                connection.execute(_CUT, self._place(LIVE, 0))
            else:
                self._put(connection, LIVE, data)

        try:
            self._session.attempt(work)
        except TroubleError:
            # told by what has to be kept
            return

    def close(self) -> None:
        """Give up the lease."""
        self._session.close()
        try:
            self._lease.end()
        except UserError:
            # a server that is away forgets it in a while
            return

    def _put(self, connection: Connection, name: str, data: bytes) -> None:
        self._lease.check(connection)
        connection.execute(_PUT, {"study": self._lease.study, "name": name, "content": data})

    def _place(self, name: str, number: int) -> dict[str, Any]:
        return {"study": self._lease.study, "name": name, "number": number}


def add_study(location: SharedStudy, parts: Mapping[str, bytes]) -> bool:
    """Make a study of all these parts at once, where there are tables.

    Returns:
        Whether it was made; else there is one of that name, which was left alone.

    Raises:
        TroubleError: the server does not answer.
    """
    with transaction(location.database, WHOLE_S) as connection:
        study = connection.scalar(_ADD, {"name": location.name})
        if study is None:
            return False
        for name, data in parts.items():
            if name in GROWING:
                insert(connection, study, name, data.splitlines(keepends=True), 1)
            else:
                insert(connection, study, name, [data], 0)
    return True


def insert(
    connection: Connection, study: int, name: str, contents: Sequence[bytes], first: int
) -> None:
    """Add rows of a part, counted from ``first``."""
    rows = [
        {"study": study, "name": name, "number": number, "content": content}
        for number, content in enumerate(contents, first)
    ]
    if rows:
        connection.execute(_INSERT, rows)
