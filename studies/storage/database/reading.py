"""What is read of studies in a database, by anybody."""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Connection, Row, text

from archloom.studies.config import Database, SharedStudy

from ...errors import UserError
from ..holder import Holder
from ..journal import MOST_LINE
from ..parts import GROWING, MOST_BYTES
from .connection import WHOLE_S, transaction
from .schema import readable

_LINES: Final = text(
    "SELECT number, content FROM archloom_parts WHERE study = :study AND name = :name"
    " AND number BETWEEN :first AND :last ORDER BY number"
)
_SIZES: Final = text(
    "SELECT count(*), coalesce(max(octet_length(content)), 0),"
    " coalesce(sum(octet_length(content)), 0) FROM archloom_parts"
    " WHERE study = :study AND name = :name AND number BETWEEN :first AND :last"
)
_MOST: Final = 2**31 - 1

#: lines of a part: a trial has some ten events (assumption: of 100,000 trials at the most)
_MOST_ROWS: Final = 1_000_000


def lines_of(
    connection: Connection, study: int, name: str, first: int = 0, last: int = _MOST
) -> Sequence[Row[Any]]:
    """Return ``number`` and ``content`` of the rows of a part, in order.

    Raises:
        UserError: they are more, larger or of other types than archloom writes.
    """
    given = {"study": study, "name": name, "first": first, "last": last}
    if last == _MOST:
        _refuse_large(connection, name, given)
    lines = connection.execute(_LINES, given).all()
    if any(type(one.number) is not int or type(one.content) is not bytes for one in lines):
        raise UserError(
            f"table archloom_parts: rows of {name} have other types than archloom gave them; "
            "restore the database from a copy"
        )
    return lines


def _refuse_large(connection: Connection, name: str, given: dict[str, Any]) -> None:
    """Refuse rows that would fill the memory, before they are sent."""
    rows, longest, whole = connection.execute(_SIZES, given).one()
    most = MOST_LINE if name in GROWING else MOST_BYTES
    if rows > (_MOST_ROWS if name in GROWING else 1) or longest > most:
        raise UserError(
            f"table archloom_parts: {name} has {rows} rows, {whole} bytes, {longest} in one row, "
            "which is more than archloom writes; restore the database from a copy"
        )


def count_lines(location: SharedStudy, name: str) -> int:
    """Return how many rows a part of a study has."""
    with transaction(location.database) as connection:
        if not readable(location.database, connection):
            return 0
        found = connection.scalar(
            text(
                "SELECT count(*) FROM archloom_parts p JOIN archloom_studies s ON s.id = p.study"
                " WHERE s.name = :study AND p.name = :name"
            ),
            {"study": location.name, "name": name},
        )
        return int(found or 0)


def read_shared(location: SharedStudy, name: str) -> bytes | None:
    """Return a part of a study; None if there is none."""
    with transaction(location.database, WHOLE_S) as connection:
        if not readable(location.database, connection):
            return None
        found = connection.scalar(
            text("SELECT id FROM archloom_studies WHERE name = :name"), {"name": location.name}
        )
        lines = lines_of(connection, found, name) if found is not None else []
        return b"".join(line.content for line in lines) if lines else None


def study_names(database: Database) -> list[str]:
    """Return the names of all studies, sorted."""
    with transaction(database) as connection:
        if not readable(database, connection):
            return []
        found = connection.scalars(text("SELECT name FROM archloom_studies ORDER BY name"))
        return [str(name) for name in found]


def holder_of(location: SharedStudy) -> Holder | None:
    """Return the process that has the lease of a study; None if none has."""
    with transaction(location.database) as connection:
        if not readable(location.database, connection):
            return None
        found = connection.scalar(
            text(
                "SELECT holder FROM archloom_studies"
                " WHERE name = :name AND expires > clock_timestamp()"
            ),
            {"name": location.name},
        )
    holder = Holder.from_text(found or "")
    return None if holder is None or holder.gone else holder
