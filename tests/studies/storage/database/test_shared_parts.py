"""Studies in a database: what all stores promise, and what only a database can do to a study."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from time import sleep

import pytest

from archloom.studies.config.location import Location, SharedStudy, location_of
from archloom.studies.errors import TroubleError, UserError
from archloom.studies.storage.database import connection
from archloom.studies.storage.header import Header
from archloom.studies.storage.parts import GROWING, JOURNAL, TRIALS
from archloom.studies.storage.reading import read_journal, read_part
from archloom.studies.storage.records import read_trials
from archloom.studies.storage.store import Store

from ....cases.faulty_line import FaultyLine
from ....cases.postgres import ESCAPED, Server
from ....contracts.store import EVENTS, FOUND, Change, StoreContract

#: what is written to the journal
APPENDED = b"INTO archloom_parts"


class TestDatabases(StoreContract):
    @pytest.fixture(autouse=True)
    def _server(self, postgres: Server) -> None:
        self.server = postgres

    def place(self, tmp_path: Path, name: str) -> Location:  # noqa: ARG002
        return location_of(f"{self.server.url}#{name}")

    def change(self, location: Location, name: str, change: Change) -> None:
        assert isinstance(location, SharedStudy)
        which = (location.name, name)
        of = "FROM archloom_parts USING archloom_studies s WHERE study = s.id AND s.name = %s"
        before = self.server.sql(
            f"DELETE {of} AND archloom_parts.name = %s RETURNING number, content", *which
        )
        lines = change([bytes(content) for _, content in sorted(before)])
        for number, line in enumerate(lines, 1 if name in GROWING else 0):
            self.server.sql(
                "INSERT INTO archloom_parts SELECT id, %s, %s, %s FROM archloom_studies"
                " WHERE name = %s",
                name,
                number,
                line,
                location.name,
            )


@pytest.fixture
def location(postgres: Server) -> Location:
    return location_of(f"{postgres.url}#tiny")


@pytest.fixture
def store(location: Location, header: Header) -> Iterator[Store]:
    with Store.create(location, header) as store:
        store.append(EVENTS[0])
        yield store


def test_a_line_that_is_missing_is_damage(
    postgres: Server, location: Location, store: Store
) -> None:
    for event in EVENTS[1:]:
        store.append(event)
    store.close()
    postgres.sql("DELETE FROM archloom_parts WHERE name = %s AND number = 2", JOURNAL)
    with pytest.raises(UserError, match="line 2 is missing or damaged"):
        Store(location)


def test_no_line_follows_one_that_the_server_has_lost(
    postgres: Server, location: Location, store: Store
) -> None:
    store.append(EVENTS[1])
    postgres.sql("DELETE FROM archloom_parts WHERE name = %s AND number = 2", JOURNAL)
    for _ in range(2):
        with pytest.raises(TroubleError, match=r"cannot follow what is there|written before"):
            store.append(EVENTS[2])
    store.close()
    with Store(location) as again:
        assert again.take_events() == EVENTS[:1]


def test_a_line_that_somebody_else_added_is_not_passed_over(postgres: Server, store: Store) -> None:
    postgres.sql(
        "INSERT INTO archloom_parts SELECT study, name, 2, content FROM archloom_parts"
        " WHERE name = %s",
        JOURNAL,
    )
    with pytest.raises(TroubleError, match="cannot follow what is there"):
        store.append(EVENTS[1])


def test_connections_that_are_cut_change_nothing(
    postgres: Server, location: Location, store: Store
) -> None:
    for event in EVENTS[1:]:
        postgres.cut()
        store.append(event)
    postgres.cut()
    store.publish(FOUND)
    assert read_journal(location) == EVENTS
    assert read_trials(location) == FOUND


@pytest.mark.parametrize("word", [APPENDED, b"COMMIT"])
def test_what_was_committed_without_an_answer_is_there_once(
    postgres: Server, header: Header, word: bytes
) -> None:
    line = FaultyLine(postgres.port)
    url = f"postgresql://archloom:{ESCAPED}@127.0.0.1:{line.port}/postgres#tiny"
    with Store.create(location_of(url), header) as store:
        for event in EVENTS:
            line.lose_answers_to(word)
            store.append(event)
        for trial in FOUND:
            line.lose_answers_to(word)
            store.publish([trial])
        line.lose_answers_to(word)
        store.publish_baseline(FOUND[0])
    line.close()
    assert line.cuts == len(EVENTS) + len(FOUND) + 1
    assert read_journal(location_of(f"{postgres.url}#tiny")) == EVENTS
    assert read_trials(location_of(f"{postgres.url}#tiny")) == FOUND


def test_a_server_that_is_killed_and_comes_back_goes_on(
    postgres: Server, location: Location, store: Store
) -> None:
    for event in EVENTS[1:3]:
        store.append(event)
    postgres.kill()
    back = threading.Timer(0.3, postgres.start)
    back.start()
    for event in EVENTS[3:]:
        store.append(event)
    back.join()
    assert read_journal(location) == EVENTS


def test_a_server_that_stays_away_is_one_message(
    postgres: Server, location: Location, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "PATIENCE_S", 0.3)
    postgres.kill()
    try:
        with pytest.raises(TroubleError, match=r"/postgres\?.*: connection ") as caught:
            store.append(EVENTS[1])
        assert "\n" not in str(caught.value)
        with pytest.raises(TroubleError, match="nothing more is"):
            store.append(EVENTS[1])
        with pytest.raises(TroubleError):
            read_part(location, TRIALS)
        store.close()
    finally:
        postgres.start()
    # the lease of a process that goes on to live ends in its time
    postgres.sql("UPDATE archloom_studies SET expires = clock_timestamp()")
    with Store(location) as again:
        assert again.take_events() == EVENTS[:1]


def test_a_server_that_stands_still_is_not_waited_for_forever(
    postgres: Server, location: Location, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it was asked before it stood still, it does when it goes on: nothing comes of that."""
    monkeypatch.setattr(connection, "ANSWER_S", 0.3)
    (still,) = postgres.sql("SELECT pid FROM pg_stat_activity WHERE application_name = 'archloom'")
    os.kill(still[0], signal.SIGSTOP)
    try:
        store.append(EVENTS[1])
        store.append(EVENTS[2])
        store.publish(FOUND)
    finally:
        os.kill(still[0], signal.SIGCONT)
    while postgres.sql("SELECT pid FROM pg_stat_activity WHERE pid = %s", *still):
        sleep(0.01)
    store.append(EVENTS[3])
    assert read_journal(location) == EVENTS[:4]
    assert read_trials(location) == FOUND


def test_what_is_to_be_installed_is_said() -> None:
    imported = "from archloom.studies.commands.cli import main"
    code = f"import sys\nsys.modules['psycopg'] = None\n{imported}\nmain()"
    command = [sys.executable, "-c", code, "status", "postgresql://host/db#a"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "a study in a database needs SQLAlchemy and psycopg" in done.stderr
    assert "pip install 'archloom[postgresql]'" in done.stderr
    assert "Traceback" not in done.stderr
