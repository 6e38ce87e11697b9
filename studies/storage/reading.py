"""What is read of a study, by anybody and at any time, wherever it is kept."""

from hashlib import sha256
from pathlib import Path
from typing import Any

from archloom.space import bounded_json
from archloom.studies.config import Location, SharedStudy, named

from .directory import read_file, works_on
from .holder import Holder
from .journal import Event, lines_in, parse_events, read_events
from .parts import (
    BASELINE_FILE,
    CERTIFICATE,
    JOURNAL,
    LIVE,
    STACK,
    TRIALS,
    VALIDATION,
)


def read_part(location: Location, name: str | Path) -> bytes | None:
    """Return a part of a study as it is now; None if there is none.

    Raises:
        UserError: it is larger than any.
        TroubleError: a database does not answer.
    """
    if isinstance(location, Path):
        return read_file(location, name)
    from .database import read_shared

    return read_shared(location, str(name))


def journal_size(location: Location) -> int:
    """Return how far the journal of a study has grown: bytes of a file, or lines of a database."""
    if isinstance(location, Path):
        path = location / JOURNAL
        return path.stat().st_size if path.exists() else 0
    from .database import count_lines

    return count_lines(location, JOURNAL)


def results_digest(location: Location) -> str:
    """Return a digest of a study's results so far: another one where there is something new."""
    found = sha256()
    for name in (TRIALS, BASELINE_FILE, CERTIFICATE, VALIDATION):
        data = read_part(location, name)
        found.update(b"-" if data is None else b"%d:" % len(data) + data)
    return found.hexdigest()


def bring_up_to_date(location: Location) -> None:
    """Make the tables of a database those of this version of archloom, before it is written to.

    Raises:
        UserError: they are of a newer version, or are written to by an older one.
        TroubleError: the server does not answer.
    """
    if isinstance(location, SharedStudy):
        from .database import migrate

        migrate(location.database)


def is_stack(location: Location) -> bool:
    """Whether a study of kind stack is kept there."""
    return isinstance(location, Path) and (location / STACK).is_file()


def names_in(location: SharedStudy) -> list[str]:
    """Return the names of all studies of a database, sorted."""
    from .database import study_names

    return study_names(location.database)


def read_journal(location: Location) -> list[Event]:
    """Return the events, which another process may be adding to.

    Raises:
        UserError: the journal is damaged.
    """
    if isinstance(location, Path):
        return read_events(location / JOURNAL)
    return parse_events(lines_in(read_part(location, JOURNAL) or b""), named(location, JOURNAL))[0]


def read_live(location: Location) -> dict[str, Any]:
    """Return what the study said last of what it does; nothing if that cannot be read."""
    try:
        found = bounded_json(read_part(location, LIVE) or b"")
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def read_holder(location: Location) -> Holder | None:
    """Return the process that works on a study; None if none does."""
    if isinstance(location, Path):
        return works_on(location)
    from .database import holder_of

    return holder_of(location)
