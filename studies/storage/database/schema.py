"""Tables of studies in a database, and the steps that make them, from nothing or from older ones.

==================  ==============================================================================
``archloom_schema``  one row: how many of the steps the tables have gone through
``archloom_studies``  a study: its name; who may write to it, known by ``token``, until ``expires``
``archloom_parts``  a part of a study (``parts.py``): of one that grows a row for each line, counted
                    from 1; of another one row with number 0; all with the bytes of the file
==================  ==============================================================================
"""

from typing import Final

from sqlalchemy import Connection, text

from archloom.studies.config import Database

from ...errors import UserError
from .connection import transaction

#: each takes tables from its place in the list to the next; they are never changed, only added to
STEPS: Final[tuple[tuple[str, ...], ...]] = (
    (
        "CREATE TABLE archloom_studies ("
        " id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
        " name text NOT NULL UNIQUE,"
        " token text,"
        " holder text,"
        " since timestamptz,"
        " expires timestamptz)",
        "CREATE TABLE archloom_parts ("
        " study bigint NOT NULL REFERENCES archloom_studies ON DELETE CASCADE,"
        " name text NOT NULL,"
        " number integer NOT NULL,"
        " content bytea NOT NULL,"
        " PRIMARY KEY (study, name, number))",
    ),
)

#: of the lock under which tables are made, so that two processes do not make them at once
_LOCK: Final = 7_310_868_735_423_668_076


def migrate(database: Database) -> None:
    """Make the tables what this version of archloom works with, all at once or not at all.

    Raises:
        UserError: they are of a newer version, or are to be changed while processes write to
            studies; nothing was changed.
    """
    with transaction(database) as connection:
        if _number(connection) == len(STEPS):
            return
    # in a new connection: the server remembers in each which tables it has not found
    with transaction(database) as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        found = _number(connection)
        _refuse_newer(database, found)
        if found is None:
            connection.execute(text("CREATE TABLE archloom_schema (number integer NOT NULL)"))
            connection.execute(text("INSERT INTO archloom_schema VALUES (0)"))
        elif found < len(STEPS):
            _refuse_used(database, connection)
        for step in STEPS[found or 0 :]:
            for statement in step:
                connection.execute(text(statement))
        connection.execute(text("UPDATE archloom_schema SET number = :n"), {"n": len(STEPS)})


def readable(database: Database, connection: Connection) -> bool:
    """Return whether there are tables.

    Raises:
        UserError: they are not of this version.
    """
    found = _number(connection)
    _refuse_newer(database, found)
    if found is not None and found < len(STEPS):
        raise UserError(
            f"{database} has tables of version {found}; this archloom reads version {len(STEPS)}; "
            "'archloom resume' of any study there brings them up to it"
        )
    return found is not None


def _number(connection: Connection) -> int | None:
    """Return the version of the tables; None if there are none."""
    if connection.scalar(text("SELECT to_regclass('archloom_schema')")) is None:
        return None
    found = connection.scalar(text("SELECT number FROM archloom_schema"))
    return None if found is None else int(found)


def _refuse_newer(database: Database, found: int | None) -> None:
    if found is not None and found > len(STEPS):
        raise UserError(
            f"{database} has tables of version {found}, and this archloom knows versions up to "
            f"{len(STEPS)}; nothing was changed; use the version of archloom that made them"
        )


def _refuse_used(database: Database, connection: Connection) -> None:
    """Refuse to change tables that a process of an older version writes to."""
    used = connection.execute(
        text("SELECT name FROM archloom_studies WHERE expires > clock_timestamp() ORDER BY name")
    )
    if names := [str(row.name) for row in used]:
        raise UserError(
            f"{database} has tables of an older version, which cannot be changed while processes "
            f"write to {', '.join(names[:3])}; wait for them, or stop them"
        )
