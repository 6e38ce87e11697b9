"""Where a study is kept: a directory, or a database and a name in it.

A database is written as its URL, a study in it as ``postgresql://USER@HOST:PORT/DATABASE#STUDY``. A
password in a URL is handed to the server and to nobody else: no text that is made here has it.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import Final, TypeAlias
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit

from ..errors import UserError

SCHEME: Final = "postgresql"

#: what names a study, in a study file and in a database
STUDY_NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9_.-]*\Z"

#: the same for people
NAME_FORM: Final = "have letters, digits, _ . and - alone, a letter or a digit first"

#: parameters of a URL that are nobody's business
_SECRET: Final = ("password", "sslpassword")

_FORM: Final = f"{SCHEME}://USER@HOST:PORT/DATABASE"


@dataclass(frozen=True, slots=True)
class Database:
    """A database that holds studies.

    Attributes:
        url: of it, with the password if the user gave one there.
        shown: the same without the password, for people.
    """

    url: str = field(repr=False)
    shown: str

    @classmethod
    def of(cls, url: str) -> "Database":
        """Return the database of a URL that names no study.

        Raises:
            UserError: it is no such URL. What stands in it is not repeated, for a password with
                an unescaped sign may be anywhere.
        """
        try:
            parts = urlsplit(url)
            why = _fault(parts)
        except ValueError:
            why = "host or port cannot be read"
        if why:
            raise UserError(
                f"the URL of a database is no {_FORM}: {why}; signs such as @ : / # ? of a "
                "password are written %40 %3A %2F %23 %3F, or better leave it to ~/.pgpass or "
                "PGPASSWORD"
            )
        return cls(url, _shown(parts))

    def __str__(self) -> str:
        return self.shown

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no message may say, as it stands in the URL and as the server gets it."""
        parts = urlsplit(self.url)
        given = [parts.password, *(v for k, v in parse_qsl(parts.query) if k in _SECRET)]
        return tuple({form for one in given if one for form in (one, unquote(one))})


@dataclass(frozen=True, slots=True)
class SharedStudy:
    """A study in a database.

    Attributes:
        database: that it is in.
        name: of the study.

    Raises:
        UserError: the name is none. It is not repeated, for it may be part of a password.
    """

    database: Database
    name: str

    def __post_init__(self) -> None:
        if not re.match(STUDY_NAME, self.name):
            raise UserError(
                f"the text after # is not a study name; write {_FORM}#STUDY, with letters, digits, "
                "_ . and - in STUDY, a letter or a digit first"
            )

    def __str__(self) -> str:
        return f"{self.database}#{self.name}"


Location: TypeAlias = Path | SharedStudy
"""Of a study. As a text it can be given to every command, with the password left out."""


def location_of(text: str, name: str | None = None) -> Location:
    """Return the location that a text means.

    Args:
        text: a directory, or a database's URL with ``#STUDY``.
        name: of the study, where the URL says none; None if it has to.

    Raises:
        UserError: an empty text, a URL that is none, or one that names no study.
    """
    if not text.strip():
        raise UserError("the name of the study directory is empty; use . for the current directory")
    if not is_url(text):
        return Path(text)
    url, _, study = text.partition("#")
    database = Database.of(url)
    if not study and name is None:
        raise UserError(f"{database} names no study; write {database}#NAME")
    return SharedStudy(database, study or name or "")


def given_database(value: object) -> Database | None:
    """Read the URL of a database in a study file; no message repeats it.

    Raises:
        ValueError: it is none.
    """
    if value is None or isinstance(value, Database):
        return value
    if not isinstance(value, str) or not is_url(value):
        raise ValueError("must be the URL of a database; for a directory use --out")
    try:
        return Database.of(value)
    except UserError as error:
        raise ValueError(str(error)) from None


def argument(location: Location | str) -> str:
    """Return a location as an argument in a shell."""
    return quote(str(location))


def file_of(text: str) -> Path:
    """Return the path of a study file.

    Raises:
        UserError: it is empty, or a URL, which is not repeated.
    """
    if is_url(text):
        raise UserError("a URL is not a study file; to resume a study there, use 'archloom resume'")
    if not text.strip():
        raise UserError("the name of the study file is empty")
    return Path(text)


def is_url(text: str) -> bool:
    """Whether a text is a URL, if perhaps a wrong one, and no directory."""
    return "://" in text


def named(location: Location, name: str) -> str:
    """Return what to call a part of a study in messages."""
    return str(location / name) if isinstance(location, Path) else f"{name} of {location}"


def _fault(parts: SplitResult) -> str:
    """Say what is wrong with a URL; nothing for a good one."""
    if parts.scheme != SCHEME:
        return f"it must begin with {SCHEME}://"
    database = parts.path.removeprefix("/")
    if not database or re.search(r"[/@:]", database):
        return "one name must stand behind host and port, that of the database"
    if parts.fragment:
        return "a study stands behind # only where one is meant"
    if parts.port is not None and not 0 < parts.port < 2**16:
        return "the port is none"
    return ""


def _shown(parts: SplitResult) -> str:
    user = f"{parts.username}@" if parts.username else ""
    host = parts.netloc.rpartition("@")[2]
    query = urlencode([(k, v) for k, v in parse_qsl(parts.query) if k not in _SECRET], safe="/")
    return f"{parts.scheme}://{user}{host}{parts.path}" + (f"?{query}" if query else "")
