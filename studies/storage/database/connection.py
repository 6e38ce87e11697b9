"""Connections to a database: their errors as messages, and a session that outlives them."""

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, Final, TypeVar

from archloom.studies.config import Database

from ...errors import TroubleError, UserError

try:
    import psycopg  # noqa: F401 (what SQLAlchemy will load)
    from sqlalchemy import Connection, Engine, NullPool, create_engine, make_url, text
    from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, OperationalError
except ImportError as error:
    raise UserError(
        f"a study in a database needs SQLAlchemy and psycopg ({error}); install them with: "
        "pip install 'archloom[postgresql]'"
    ) from None

#: seconds in which a server has to take a connection, and to do what it is asked
CONNECT_S: Final = 10
ANSWER_S: Final = 20.0

#: seconds for what reads or writes a study as a whole, which takes its time on a slow line
WHOLE_S: Final = 600.0

#: seconds that a session looks for a server that is away, and between two looks at the most
PATIENCE_S: Final = 60.0
_MOST_WAIT_S: Final = 5.0

#: milliseconds after which a server ends a transaction whose client has gone without a word
_IDLE_MS: Final = 10_000

Found = TypeVar("Found")


@contextmanager
def transaction(database: Database, answer_s: float | None = None) -> Iterator[Connection]:
    """Give a connection with one transaction, which is committed at the end.

    Args:
        database: to connect to.
        answer_s: in which the server has to do all of it; None for :data:`ANSWER_S`.

    Raises:
        TroubleError: the server does not answer, or cannot do it.
        UserError: it must not do it, or the URL says what it does not understand.
    """
    try:
        with _engine(database).connect() as connection, _transaction(connection, answer_s):
            yield connection
    except DBAPIError as error:
        raise _message(database, error) from None


class Session:
    """One connection after the other, each for as long as it lasts.

    Args:
        database: to connect to.
        greet: what to do first in each connection, in a transaction of its own; it may be done
            twice.
    """

    def __init__(self, database: Database, greet: Callable[[Connection], None]) -> None:
        self._database = database
        self._greet = greet
        self._connection: Connection | None = None

    def run(self, work: Callable[[Connection], Found]) -> Found:
        """Do something in one transaction, again and again for a minute while the server is away.

        Args:
            work: it; must give the same if it is done twice, for a server that is lost at the end
                may have done it.

        Raises:
            TroubleError: the server stays away, or cannot do it.
            UserError: it must not do it.
        """
        given_up = time.monotonic() + PATIENCE_S
        wait_s = 0.05
        while True:
            try:
                connection = self._connected()
                with _transaction(connection):
                    return work(connection)
            except DBAPIError as error:
                self.close()
                if not _lost(error) or time.monotonic() + wait_s > given_up:
                    raise _message(self._database, error) from None
            time.sleep(wait_s)
            wait_s = min(2 * wait_s, _MOST_WAIT_S)

    def attempt(self, work: Callable[[Connection], None]) -> None:
        """Do something if the connection is there and well, once."""
        if self._connection is None:
            return
        try:
            with _transaction(self._connection):
                work(self._connection)
        except DBAPIError:
            self.close()

    def close(self) -> None:
        """Let go of the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(DBAPIError):
                connection.close()

    def _connected(self) -> Connection:
        if self._connection is None:
            connection = self._connection = _engine(self._database).connect()
            with _transaction(connection):
                self._greet(connection)
        return self._connection


@cache
def _engine(database: Database) -> Engine:
    """Return what connects; it keeps no connection, so that processes may fork."""
    try:
        url = make_url(database.url).set(drivername="postgresql+psycopg")
    except (ArgumentError, ValueError):
        # the error may say the password
        raise UserError("the URL of a database cannot be read") from None
    settings: dict[str, Any] = {"connect_timeout": CONNECT_S, "application_name": "archloom"}
    # whatever stands between, such as PgBouncer, need not keep statements
    settings = {k: v for k, v in settings.items() if k not in url.query} | {
        "prepare_threshold": None
    }
    return create_engine(
        url, poolclass=NullPool, connect_args=settings, isolation_level="READ COMMITTED"
    )


@contextmanager
def _transaction(connection: Connection, answer_s: float | None = None) -> Iterator[None]:
    seconds = ANSWER_S if answer_s is None else answer_s
    with _deadline(connection, seconds), connection.begin():
        connection.execute(text(f"SET LOCAL idle_in_transaction_session_timeout = {_IDLE_MS}"))
        yield


@contextmanager
def _deadline(connection: Connection, seconds: float) -> Iterator[None]:
    """Cut the connection if it takes longer: a server that stands still says nothing."""
    held: Any = connection.connection.dbapi_connection
    # a number of our own, which nothing else can get while we hold it
    line = socket.socket(fileno=os.dup(held.fileno()))
    over = threading.Lock()

    def cut() -> None:
        with over, suppress(OSError):
            line.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        with over:
            line.close()


def _lost(error: DBAPIError) -> bool:
    """Whether another try may go well: the server was lost, restarts, or has no room just now."""
    return error.connection_invalidated or isinstance(error, OperationalError | InterfaceError)


def _message(database: Database, error: DBAPIError) -> UserError:
    text_of = " ".join(str(error.orig).split())
    for secret in database.secrets:
        text_of = text_of.replace(secret, "***")
    kind = TroubleError if _lost(error) else UserError
    return kind(f"{database}: {text_of}")
