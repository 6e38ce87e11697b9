"""The lease of a study: which process may write to it.

The row of a study has a token that the process with the lease knows, and the time at which it ends
unless that process has shown a sign of life; that time is the server's. Whoever takes a lease
writes a token of its own, and everything that is written says its token in the same transaction. So
a process that has lost its lease, however late it wakes up, writes nothing any more.

Each connection of a process has a token of its own. What an earlier connection has sent, and the
server does only when it wakes up, is refused like that of another process.
"""

import threading
from typing import Final
from uuid import uuid4

from sqlalchemy import Connection, Row, text

from archloom.studies.config import SharedStudy

from ...errors import TroubleError, UserError
from ..holder import BEAT_S, SILENT_S, Holder
from .connection import transaction

_LAST: Final = f"clock_timestamp() + interval '{SILENT_S:.0f} seconds'"

_SEEN: Final = text(
    "SELECT id, token, holder, expires > clock_timestamp() AS held,"
    f" {SILENT_S:.0f} - extract(epoch FROM expires - clock_timestamp()) AS silent_s"
    " FROM archloom_studies WHERE name = :name"
)
_TAKE: Final = text(
    "UPDATE archloom_studies SET token = :token, holder = :holder, since = clock_timestamp(),"
    f" expires = {_LAST}"
    " WHERE id = :id AND (token IS NOT DISTINCT FROM :seen) AND (:dead OR expires IS NULL"
    " OR expires <= clock_timestamp()) RETURNING id"
)
_RENEW: Final = text(
    f"UPDATE archloom_studies SET token = :token, expires = {_LAST}"
    " WHERE id = :id AND token = ANY(:mine) RETURNING id"
)
_BEAT: Final = text(
    f"UPDATE archloom_studies SET expires = {_LAST} WHERE id = :id AND token = ANY(:mine)"
)
_END: Final = text(
    "UPDATE archloom_studies SET expires = NULL, holder = NULL"
    " WHERE id = :id AND token = ANY(:mine)"
)
_CHECK: Final = text("SELECT 1 FROM archloom_studies WHERE id = :id AND token = :token FOR UPDATE")


class Lease:
    """The lease of a study, with signs of life until it is ended.

    Raises:
        UserError: there is no such study, or another process has it.
    """

    def __init__(self, location: SharedStudy) -> None:
        self._location = location
        self._tokens = [uuid4().hex]
        with transaction(location.database) as connection:
            self.study = self._take(connection)
        self._over = threading.Event()
        threading.Thread(target=self._live, name="lease of a study", daemon=True).start()

    @property
    def token(self) -> str:
        """Of the newest connection."""
        return self._tokens[-1]

    def renew(self, connection: Connection) -> None:
        """Give a connection a token of its own.

        Raises:
            TroubleError: another process has the lease.
        """
        mine, token = list(self._tokens), uuid4().hex
        self._tokens.append(token)
        given = {"id": self.study, "mine": mine, "token": token}
        if connection.scalar(_RENEW, given) is None:
            raise self.lost(connection)

    def check(self, connection: Connection) -> None:
        """Make sure that nobody takes the lease before the connection's transaction ends.

        Raises:
            TroubleError: another process has it.
        """
        if connection.scalar(_CHECK, {"id": self.study, "token": self.token}) is None:
            raise self.lost(connection)

    def lost(self, connection: Connection) -> TroubleError:
        """Return the error of a process that has no lease any more."""
        found = connection.execute(_SEEN, {"name": self._location.name}).first()
        if found is None or found.id != self.study:
            return TroubleError(f"{self._location}: the study was deleted")
        return TroubleError(
            f"{self._location}: this process gave no sign of life for {SILENT_S:.0f} s, and "
            f"{_named(found)} has taken the study over"
        )

    def end(self) -> None:
        """Let another process have it at once."""
        self._over.set()
        with transaction(self._location.database) as connection:
            connection.execute(_END, {"id": self.study, "mine": list(self._tokens)})

    def _take(self, connection: Connection) -> int:
        found = connection.execute(_SEEN, {"name": self._location.name}).first()
        if found is None:
            raise UserError(f"{self._location}: there is no such study")
        holder = Holder.from_text(found.holder or "")
        dead = holder is not None and holder.gone
        given = {"id": found.id, "seen": found.token, "dead": dead, "token": self.token}
        taken = connection.scalar(_TAKE, given | {"holder": Holder.me().to_text()})
        if taken is None:
            found = connection.execute(_SEEN, {"name": self._location.name}).one()
            raise UserError(
                f"{self._location}: {_named(found)} is writing to this study, with a sign of life "
                f"{found.silent_s or 0:.0f} s ago; wait for it, or stop it; a process that is gone "
                f"loses the study after {SILENT_S:.0f} s without one; 'archloom pareto' works "
                "meanwhile"
            )
        return int(taken)

    def _live(self) -> None:
        while not self._over.wait(BEAT_S):
            try:
                with transaction(self._location.database) as connection:
                    connection.execute(_BEAT, {"id": self.study, "mine": list(self._tokens)})
            except UserError:
                # told by what is to be written
                continue


def _named(found: "Row[tuple[object, ...]]") -> str:
    return str(Holder.from_text(found.holder or "") or "another process")
