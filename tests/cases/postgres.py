"""A real PostgreSQL server of the tests' own, from the programs of a Debian package."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

PASSWORD = "s3cret/with:signs@"
"""Of the server's user; that is asked for on TCP, and not on its socket."""

ESCAPED = "s3cret%2Fwith%3Asigns%40"


def programs() -> Path | None:
    """Return the folder of ``initdb`` and ``postgres``; None where there is none."""
    on_path = shutil.which("initdb")
    folders = [Path(on_path).resolve().parent] if on_path else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((one for one in folders if (one / "postgres").exists()), None)


class Server:
    """A server in a directory of its own, which is gone when it is stopped.

    Args:
        environment: of its processes, besides that of this one.

    Attributes:
        port: on 127.0.0.1.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = {**os.environ, **(environment or {})}
        found = programs()
        assert found is not None
        self._programs = found
        self._folder = Path(tempfile.mkdtemp(prefix="archloom-pg-"))
        self._user: dict[str, Any] = {}
        if os.getuid() == 0:
            # it refuses to run as root
            names = [one.pw_name for one in pwd.getpwall()]
            user = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
            os.chown(self._folder, user.pw_uid, user.pw_gid)
            self._user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        with closing(socket.socket()) as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        (self._folder / "password").write_text(PASSWORD)
        (self._folder / "password").chmod(0o644)
        self._call(
            "initdb",
            "--no-sync",
            "--auth-local=trust",
            "--auth-host=scram-sha-256",
            "--username=archloom",
            f"--pwfile={self._folder / 'password'}",
            "--encoding=UTF8",
            "--locale=C",
            f"--pgdata={self._folder / 'data'}",
        )
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        """Of its socket, without a password."""
        return f"postgresql://archloom@/postgres?host={self._folder}&port={self.port}"

    @property
    def tcp_url(self) -> str:
        """Of its port, with a password."""
        return f"postgresql://archloom:{ESCAPED}@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = {
            "fsync": "off",
            "port": self.port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": self._folder,
            "shared_buffers": "16MB",
            "max_connections": 40,
            "autovacuum": "off",
            "log_min_messages": "fatal",
        }
        given = [text for key, value in settings.items() for text in ("-c", f"{key}={value}")]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self._folder / "data", *given],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                cwd=self._folder,
                env=self._environment,
                start_new_session=True,
                **self._user,
            )
        while not self._answers():
            assert self._process.poll() is None, (self._folder / "log").read_text()
            time.sleep(0.02)

    def kill(self) -> None:
        """End it at once, as a loss of power does, with all that it started."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for left in self.backends():
            os.kill(left, signal.SIGKILL)
        (self._folder / "data" / "postmaster.pid").unlink(missing_ok=True)

    def pause(self) -> None:
        """Let all of it stand still: it takes connections and says nothing."""
        self._send(signal.SIGSTOP)

    def go_on(self) -> None:
        """End :meth:`pause`."""
        self._send(signal.SIGCONT)

    def stop(self) -> None:
        """End it, and delete what it has kept."""
        if self._process is not None and self._process.poll() is None:
            self._send(signal.SIGCONT)
            self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def sql(self, statement: str, *values: object) -> list[Any]:
        """Run a statement; return its rows."""
        import psycopg

        with self._connect(psycopg) as connection:
            cursor = connection.execute(statement, values)
            return cursor.fetchall() if cursor.description else []

    def empty(self) -> None:
        """Drop all that archloom has made."""
        self.sql("DROP TABLE IF EXISTS archloom_parts, archloom_studies, archloom_schema")

    def cut(self) -> None:
        """Cut the connections of all others."""
        self.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE pid <> pg_backend_pid() AND application_name = 'archloom'"
        )

    def backends(self) -> Iterator[int]:
        """Yield the processes that it has started, whatever became of it."""
        for path in Path("/proc").glob("[0-9]*/cwd"):
            try:
                if path.readlink() == self._folder / "data":
                    yield int(path.parent.name)
            except OSError:
                continue

    def _connect(self, psycopg: Any) -> Any:
        return psycopg.connect(
            host=str(self._folder),
            port=self.port,
            user="archloom",
            dbname="postgres",
            autocommit=True,
            connect_timeout=5,
        )

    def _answers(self) -> bool:
        import psycopg

        try:
            self._connect(psycopg).close()
        except psycopg.OperationalError:
            return False
        return True

    def _send(self, number: signal.Signals) -> None:
        for process in self.backends():
            os.kill(process, number)

    def _call(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [self._programs / program, *arguments],
            check=True,
            capture_output=True,
            cwd=self._folder,
            **self._user,
        )
