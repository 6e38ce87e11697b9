"""What is read of studies in a database, by anybody."""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Connection, Row, text

from archloom.studies.config import Database, SharedStudy

from ..holder import Holder
from .connection import WHOLE_S, transaction
from .schema import readable

_LINES: Final = text(
    "SELECT number, content FROM archloom_parts WHERE study = :study AND name = :name"
    " AND number BETWEEN :first AND :last ORDER BY number"
)
_MOST: Final = 2**31 - 1


def lines_of(
    connection: Connection, study: int, name: str, first: int = 0, last: int = _MOST
) -> Sequence[Row[Any]]:
    """Return ``number`` and ``content`` of the rows of a part, in order."""
    given = {"study": study, "name": name, "first": first, "last": last}
    return connection.execute(_LINES, given).all()


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
