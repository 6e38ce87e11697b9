"""Who may write to a study in a database, and when no more."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from time import sleep

import pytest

from archloom.studies.config.location import Location, location_of
from archloom.studies.errors import TroubleError, UserError
from archloom.studies.storage import holder
from archloom.studies.storage.database import lease
from archloom.studies.storage.header import Header
from archloom.studies.storage.holder import Holder
from archloom.studies.storage.reading import read_holder, read_journal
from archloom.studies.storage.records import read_trials
from archloom.studies.storage.store import Store

from ....cases.postgres import Server
from ....contracts.store import EVENTS, FOUND

#: a driver that writes an event and then waits
DRIVER = """\
import sys, time
from archloom.studies.config.location import location_of
from archloom.studies.storage.store import Store
store = Store(location_of(sys.argv[1]))
store.append({"event": "driver"})
print("ready", flush=True)
sys.stdin.readline()
store.append({"event": "late"})
"""


@pytest.fixture
def location(postgres: Server) -> Location:
    return location_of(f"{postgres.url}#tiny")


@pytest.fixture
def first(location: Location, header: Header) -> Iterator[Store]:
    with Store.create(location, header) as store:
        store.append(EVENTS[0])
        yield store


@pytest.mark.usefixtures("first")
def test_the_holder_is_named(location: Location) -> None:
    with pytest.raises(UserError) as caught:
        Store(location)
    me = Holder.me()
    assert f"process {os.getpid()} of {me.user} on {me.host} is writing" in str(caught.value)
    assert re.search(r"with a sign of life \d+ s ago", str(caught.value))
    assert read_holder(location) == me


def test_a_lease_that_ended_is_taken_and_its_holder_writes_nothing_any_more(
    postgres: Server, location: Location, first: Store
) -> None:
    postgres.sql("UPDATE archloom_studies SET expires = clock_timestamp() - interval '1 s'")
    with Store(location) as second:
        second.append(EVENTS[1])
        me = Holder.me()
        for act in (
            lambda: first.append(EVENTS[2]),
            lambda: first.publish(FOUND),
            first.settle,
            lambda: first.publish_baseline(FOUND[0]),
        ):
            with pytest.raises(TroubleError, match=f"process {me.process} .* has taken the study"):
                act()
        first.write_live({"stages": ["mine"]})
        first.close()
        second.append(EVENTS[2])
        assert read_holder(location) == me
    assert read_journal(location) == EVENTS[:3]
    assert read_trials(location) == []


def test_who_has_lost_the_lease_is_told_after_the_connection_too(
    postgres: Server, location: Location, first: Store
) -> None:
    postgres.sql("UPDATE archloom_studies SET expires = clock_timestamp() - interval '1 s'")
    with Store(location):
        postgres.cut()
        with pytest.raises(TroubleError, match="has taken the study over"):
            first.append(EVENTS[1])


def test_a_lease_that_ended_and_was_not_taken_is_kept(
    postgres: Server, location: Location, first: Store
) -> None:
    """As of a machine that was asleep."""
    postgres.sql("UPDATE archloom_studies SET expires = clock_timestamp() - interval '1 h'")
    postgres.cut()
    first.append(EVENTS[1])
    with pytest.raises(UserError, match="is writing to this study"):
        Store(location)


def test_a_study_that_is_deleted_is_written_no_more(postgres: Server, first: Store) -> None:
    postgres.sql("DELETE FROM archloom_studies")
    with pytest.raises(TroubleError, match="the study was deleted"):
        first.append(EVENTS[1])


def test_signs_of_life_keep_the_lease(
    postgres: Server, location: Location, header: Header, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "BEAT_S", 0.05)
    ends = "SELECT expires FROM archloom_studies"
    with Store.create(location, header):
        before = postgres.sql(ends)
        while postgres.sql(ends) == before:
            sleep(0.01)
        # also after the server was away
        postgres.kill()
        sleep(0.2)
        postgres.start()
        before = postgres.sql(ends)
        while postgres.sql(ends) == before:
            sleep(0.01)
    assert postgres.sql(ends) == [(None,)]


def driver(location: str) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", DRIVER, location],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_a_driver_that_was_killed_here_loses_the_lease_at_once(
    postgres: Server, location: Location, header: Header
) -> None:
    Store.create(location, header).close()
    process = driver(f"{postgres.url}#tiny")
    with pytest.raises(UserError, match=f"process {process.pid} of"):
        Store(location)
    process.kill()
    process.communicate()
    assert read_holder(location) is None
    with Store(location) as store:
        assert store.take_events() == [{"event": "driver"}]


def test_a_driver_that_stood_still_for_too_long_stops(
    postgres: Server, location: Location, header: Header
) -> None:
    Store.create(location, header).close()
    process = driver(f"{postgres.url}#tiny")
    process.send_signal(signal.SIGSTOP)
    postgres.sql("UPDATE archloom_studies SET expires = clock_timestamp() - interval '1 s'")
    with Store(location) as store:
        store.append(EVENTS[0])
        process.send_signal(signal.SIGCONT)
        _, error = process.communicate("\n")
        assert process.returncode == 1
        assert "has taken the study over" in error
        store.append(EVENTS[1])
    assert read_journal(location) == [{"event": "driver"}, *EVENTS[:2]]


@pytest.mark.usefixtures("first")
def test_a_driver_of_another_machine_is_waited_for(postgres: Server, location: Location) -> None:
    """Its process numbers say nothing here."""
    there = replace(Holder.me(), host="elsewhere", process=1, started=1, machine="another boot")
    postgres.sql("UPDATE archloom_studies SET holder = %s", there.to_text())
    with pytest.raises(UserError, match=r"process 1 of .* on elsewhere is writing"):
        Store(location)


def test_processes_that_have_ended_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    me = Holder.me()
    assert not me.gone
    assert replace(me, started=me.started + 1).gone
    assert replace(me, process=2**22 + 1).gone
    assert not replace(me, process=2**22 + 1, machine="another").gone
    assert Holder.from_text(me.to_text()) == me
    assert Holder.from_text("") is Holder.from_text('{"host": 1}') is None
    # where a system does not say, nobody counts as gone
    monkeypatch.setattr(holder, "_machine", lambda: "")
    assert not replace(Holder.me(), process=2**22 + 1).gone
