"""Tables of studies: made once, brought up to date step by step, left alone if they are newer."""

import threading
from pathlib import Path

import pytest

from archloom.studies.config.location import Location, location_of
from archloom.studies.errors import UserError
from archloom.studies.storage.copying import copy_study
from archloom.studies.storage.database import schema
from archloom.studies.storage.database.schema import STEPS, migrate
from archloom.studies.storage.header import Header, read_header
from archloom.studies.storage.reading import read_holder, read_journal, read_part
from archloom.studies.storage.store import Store

from ....cases.postgres import Server
from ....contracts.store import EVENTS

#: what a later version may do: the second one needs the first
LATER = (
    *STEPS,
    ("ALTER TABLE archloom_studies ADD COLUMN made timestamptz",),
    ("UPDATE archloom_studies SET made = since", "CREATE INDEX ON archloom_studies (made)"),
)


@pytest.fixture
def location(postgres: Server) -> Location:
    return location_of(f"{postgres.url}#tiny")


def content(server: Server) -> list[object]:
    return [
        server.sql(
            f"SELECT * FROM {table} ORDER BY 1, 2"
            if table != "archloom_schema"
            else "SELECT * FROM archloom_schema"
        )
        for table in ("archloom_schema", "archloom_studies", "archloom_parts")
    ]


def test_reading_makes_no_tables(postgres: Server, location: Location) -> None:
    assert read_part(location, "study.yaml") is None
    assert read_journal(location) == []
    assert read_holder(location) is None
    with pytest.raises(UserError, match=r"there is no such study; .*; it has none"):
        read_header(location)
    assert postgres.sql("SELECT to_regclass('archloom_schema')") == [(None,)]


def test_newer_tables_are_left_alone(
    postgres: Server, location: Location, header: Header, tmp_path: Path
) -> None:
    with Store.create(location, header) as store:
        store.append(EVENTS[0])
    postgres.sql("UPDATE archloom_schema SET number = %s", len(STEPS) + 1)
    before = content(postgres)
    for act in (
        Store,
        read_header,
        read_journal,
        read_holder,
        lambda where: Store.create(where, header),
        lambda where: copy_study(where, tmp_path / "copy"),
    ):
        with pytest.raises(UserError, match=r"tables of version 2, .* versions up to 1; nothing"):
            act(location)
    assert content(postgres) == before
    assert not (tmp_path / "copy").exists()


def test_drivers_that_start_at_once_make_tables_once(postgres: Server, header: Header) -> None:
    ready = threading.Barrier(6)
    refused: list[str] = []

    def begin(number: int) -> None:
        ready.wait()
        for name in (str(number), "all"):
            try:
                Store.create(location_of(f"{postgres.url}#{name}"), header).close()
            except UserError as error:
                refused.append(str(error))

    drivers = [threading.Thread(target=begin, args=(i,)) for i in range(6)]
    for one in drivers:
        one.start()
    for one in drivers:
        one.join()
    assert [one for one in refused if "is writing to this study" not in one] == []
    names = [name for (name,) in postgres.sql("SELECT name FROM archloom_studies ORDER BY 1")]
    assert names == [*map(str, range(6)), "all"]
    assert postgres.sql("SELECT number FROM archloom_schema") == [(len(STEPS),)]


def test_later_steps_follow_in_order(
    postgres: Server, location: Location, header: Header, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.create(location, header) as store:
        store.append(EVENTS[0])
    monkeypatch.setattr(schema, "STEPS", LATER)
    with pytest.raises(UserError, match="has tables of version 1; this archloom reads version 3"):
        read_journal(location)
    with Store(location) as store:
        assert store.take_events() == EVENTS[:1]
    assert postgres.sql("SELECT number FROM archloom_schema") == [(3,)]
    assert postgres.sql("SELECT made IS NOT NULL FROM archloom_studies") == [(True,)]
    with Store(location) as store:
        assert store.take_events() == EVENTS[:1]


def test_all_steps_are_taken_from_nothing(
    postgres: Server, location: Location, header: Header, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "STEPS", LATER)
    Store.create(location, header).close()
    assert postgres.sql("SELECT number FROM archloom_schema") == [(3,)]


def test_a_step_that_fails_changes_nothing(
    postgres: Server, location: Location, header: Header, monkeypatch: pytest.MonkeyPatch
) -> None:
    Store.create(location, header).close()
    before = content(postgres)
    monkeypatch.setattr(schema, "STEPS", (*LATER, ("ALTER TABLE nothing ADD COLUMN a integer",)))
    with pytest.raises(UserError, match="nothing"):
        Store(location)
    assert content(postgres) == before


def test_tables_that_are_written_to_are_not_changed(
    postgres: Server, location: Location, header: Header, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.create(location, header) as store:
        monkeypatch.setattr(schema, "STEPS", LATER)
        with pytest.raises(UserError, match="while processes write to tiny; wait for them"):
            Store.create(location_of(f"{postgres.url}#other"), header)
        store.append(EVENTS[0])
    migrate(store.location.database)  # type: ignore[union-attr]
    assert postgres.sql("SELECT number FROM archloom_schema") == [(3,)]


def test_who_may_not_make_tables_is_told(postgres: Server, header: Header) -> None:
    postgres.sql("DROP ROLE IF EXISTS guest")
    postgres.sql("CREATE ROLE guest LOGIN")
    url = postgres.url.replace("archloom@", "guest@")
    with pytest.raises(UserError, match="permission denied for schema public"):
        Store.create(location_of(f"{url}#tiny"), header)
