"""The lock of directories on file systems that have none: no other may answer than this one."""

import errno
import fcntl
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from time import sleep, time

import pytest

from archloom.studies.config.location import Location
from archloom.studies.errors import TroubleError, UserError
from archloom.studies.storage.directory import lock_files
from archloom.studies.storage.directory.lock_files import PREFIX, LockFile
from archloom.studies.storage.header import Header
from archloom.studies.storage.holder import SILENT_S, Holder
from archloom.studies.storage.reading import read_holder, read_journal
from archloom.studies.storage.store import Store

from ....contracts.store import EVENTS, FOUND, Change, StoreContract

DRIVER = """\
import sys
from pathlib import Path
from archloom.studies.storage.directory.lock_files import LockFile
LockFile(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
"""


@pytest.fixture(params=[errno.ENOLCK, errno.EOPNOTSUPP])
def no_locks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that knows no locks, as far as a process can tell."""

    def refuse(*_: object) -> None:
        raise OSError(request.param, os.strerror(request.param))

    monkeypatch.setattr(fcntl, "flock", refuse)


@pytest.mark.usefixtures("no_locks")
@pytest.mark.parametrize("no_locks", [errno.ENOLCK], indirect=True)
class TestDirectoriesWithoutLocks(StoreContract):
    def place(self, tmp_path: Path, name: str) -> Location:
        return tmp_path / "runs" / name

    def change(self, location: Location, name: str, change: Change) -> None:
        assert isinstance(location, Path)
        path = location / name
        if lines := change(path.read_bytes().splitlines(keepends=True)):
            path.write_bytes(b"".join(lines))
        else:
            path.unlink()


def numbers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob(f"{PREFIX}*"))


def silence(folder: Path, seconds: float) -> None:
    """Let the holder have been silent for a while."""
    (path,) = folder.glob(f"{PREFIX}*")
    os.utime(path, (time() - seconds,) * 2)


@pytest.mark.usefixtures("no_locks")
def test_the_next_number_is_taken_when_one_lets_go(header: Header, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    Store.create(folder, header).close()
    assert numbers(folder) == [".lock.2"]
    with Store(folder) as store:
        with pytest.raises(UserError, match=rf"process {os.getpid()} of .* on .* is writing"):
            Store(folder)
        assert read_holder(folder) == Holder.me()
        store.append(EVENTS[0])
        assert numbers(folder) == [".lock.3"]
    assert read_holder(folder) is None


def test_other_errors_are_no_reason_to_do_without(
    header: Header, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(OSError, match="broken"):
        Store.create(tmp_path / "run", header)
    assert numbers(tmp_path / "run") == []


@pytest.mark.usefixtures("no_locks")
def test_who_was_silent_for_too_long_has_lost_the_study(
    header: Header, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    now = [lock_files._now_s()]
    monkeypatch.setattr(lock_files, "_now_s", lambda: now[0])
    first = Store.create(folder, header)
    first.append(EVENTS[0])
    silence(folder, SILENT_S - 5)
    with pytest.raises(UserError, match="is writing"):
        Store(folder)
    silence(folder, SILENT_S + 5)
    now[0] += SILENT_S + 5
    with Store(folder) as second:
        with pytest.raises(TroubleError, match=r"made no progress .* has taken the study over"):
            first.append(EVENTS[1])
        with pytest.raises(TroubleError, match="has taken the study over"):
            first.publish_baseline(FOUND[0])
        second.append(EVENTS[1])
        assert read_holder(folder) == Holder.me()
        first.close()
        assert numbers(folder) == [".lock.3"]
        second.append(EVENTS[2])
    assert read_journal(folder) == EVENTS[:3]


@pytest.mark.usefixtures("no_locks")
def test_who_was_silent_and_not_missed_goes_on(
    header: Header, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    now = [lock_files._now_s()]
    monkeypatch.setattr(lock_files, "_now_s", lambda: now[0])
    with Store.create(folder, header) as store:
        silence(folder, SILENT_S + 5)
        now[0] += SILENT_S + 5
        store.append(EVENTS[0])
        # with a new number, so that whoever was about to take the old one does not
        assert numbers(folder) == [".lock.3"]
        with pytest.raises(UserError, match="is writing"):
            Store(folder)
    assert read_journal(folder) == EVENTS[:1]


def test_signs_of_life_are_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock_files, "BEAT_S", 0.02)
    held = LockFile(tmp_path)
    silence(tmp_path, 30)
    (path,) = tmp_path.glob(f"{PREFIX}*")
    while time() - path.stat().st_mtime > 20:
        sleep(0.01)
    held.check()
    held.release()


def test_a_process_that_ended_here_has_let_go(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    with pytest.raises(UserError, match=f"process {process.pid} of"):
        LockFile(tmp_path)
    process.kill()
    process.communicate()
    LockFile(tmp_path).release()


def test_a_process_of_another_machine_is_waited_for(tmp_path: Path) -> None:
    there = replace(Holder.me(), host="elsewhere", process=1, started=1, machine="another boot")
    (tmp_path / ".lock.7").write_text(there.to_text())
    with pytest.raises(UserError, match=r"process 1 of .* on elsewhere is writing"):
        LockFile(tmp_path)
    silence(tmp_path, SILENT_S + 1)
    LockFile(tmp_path).release()
    assert numbers(tmp_path) == [".lock.8"]


def test_one_of_many_gets_it(tmp_path: Path) -> None:
    got: list[LockFile] = []
    for _ in range(5):
        ready = threading.Barrier(8)

        def take(ready: threading.Barrier = ready) -> None:
            ready.wait()
            try:
                got.append(LockFile(tmp_path))
            except UserError:
                return

        threads = [threading.Thread(target=take) for _ in range(8)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert len(got) == 1
        got.pop().release()
