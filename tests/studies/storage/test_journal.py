import os
import resource
import signal
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from archloom.studies.errors import TroubleError, UserError
from archloom.studies.storage.journal import Journal, copy_of, read_events

EVENTS = [{"event": "a", "text": "line\nbreak \u2028"}, {"event": "b", "n": 0.1}, {"event": "c"}]

values = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text() | st.integers(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


def write(path: Path, events: list[dict[str, object]]) -> None:
    journal = Journal(path)
    for event in events:
        journal.append(event)
    journal.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("journal")


@given(st.lists(st.dictionaries(st.text(), values), max_size=4))
def test_what_is_written_is_read(folder: Path, events: list[dict[str, object]]) -> None:
    path = folder / "j"
    path.unlink(missing_ok=True)
    write(path, events)
    assert read_events(path) == events
    journal = Journal(path)
    journal.close()
    assert journal.found == events


def test_a_cut_at_any_byte_loses_at_most_the_event_that_it_hits(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    write(whole, EVENTS)
    data = whole.read_bytes()
    ends = [i + 1 for i, byte in enumerate(data) if byte == ord("\n")]
    assert len(ends) == len(EVENTS)
    for cut in range(len(data) + 1):
        path = tmp_path / "cut"
        path.write_bytes(data[:cut])
        kept = EVENTS[: sum(end <= cut for end in ends)]
        assert read_events(path) == kept
        assert path.read_bytes() == data[:cut], "reading must not change the file"
        write(path, [{"event": "next"}])
        assert read_events(path) == [*kept, {"event": "next"}]


def test_damage_before_sound_lines_is_reported_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "j"
    write(path, EVENTS)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[1] = lines[1].replace(b"0.1", b"0.2")
    path.write_bytes(b"".join(lines))
    before = path.read_bytes()
    with pytest.raises(UserError, match="line 2 is damaged, but line 3 is not"):
        Journal(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("tail", [b"\0\0\0", b'{"crc":"0', b'{"crc":"00000000","event":{}}\n'])
def test_what_was_cut_short_is_kept_beside_the_journal(tmp_path: Path, tail: bytes) -> None:
    path = tmp_path / "j"
    write(path, EVENTS)
    path.write_bytes(path.read_bytes() + tail)
    journal = Journal(path)
    journal.close()
    assert journal.found == EVENTS
    assert journal.cut_short == len(tail)
    assert read_events(path) == EVENTS
    assert copy_of(path).read_bytes() == tail + b"\n"


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda data: data + b"\0\0\n\0\0", "its last 2 lines are damaged"),
        (lambda data: data.replace(b"\n", b"\r\n"), "lines end with CR LF"),
        (lambda data: data.replace(b"\n", b"\r\n")[: data.index(b"\n") + 2], "CR LF"),
        (lambda data: data.replace(b"crc", b"crd"), "its last 3 lines are damaged"),
        (lambda _: b"Dear diary", "it does not begin like a journal"),
        (lambda _: b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "restore the file from a copy"),
    ],
)
def test_what_no_interrupted_write_leaves_is_told_and_left_alone(
    tmp_path: Path, spoil: Callable[[bytes], bytes], message: str
) -> None:
    path = tmp_path / "j"
    write(path, EVENTS)
    path.write_bytes(spoil(path.read_bytes()))
    before = path.read_bytes()
    for act in (Journal, read_events):
        with pytest.raises(UserError, match=message):
            act(path)
    assert path.read_bytes() == before
    assert not copy_of(path).exists()


def test_events_that_are_refused_leave_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "j"
    write(path, EVENTS)
    path.write_bytes(path.read_bytes() + b"{")
    before = path.read_bytes()

    def refuse(events: Sequence[object]) -> None:
        raise UserError(f"{len(events)} events too many")

    with pytest.raises(UserError, match="3 events too many"):
        Journal(path, refuse)
    assert path.read_bytes() == before


@pytest.mark.parametrize("body", [b"[1]", b"7", b"[" * 100_000])
def test_a_line_that_checks_and_is_no_event_is_damage(tmp_path: Path, body: bytes) -> None:
    path = tmp_path / "j"
    line = b'{"crc":"%08x","event":%s}\n' % (zlib.crc32(body), body)
    path.write_bytes(line * 2)
    with pytest.raises(UserError, match="its last 2 lines are damaged"):
        Journal(path)


def _limit_file_size(size: int) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def _fill(path: Path, room: int) -> None:
    """Append events until the file may not grow any more; then see that none follows."""
    _limit_file_size(room)
    journal = Journal(path)

    def fill() -> None:
        for n in range(10_000):
            journal.append({"event": "e", "n": n, "text": "x" * (n % 97)})

    with pytest.raises(TroubleError, match="cannot be written: File too large"):
        fill()
    with pytest.raises(TroubleError, match="could not be written before"):
        journal.append({"event": "small"})
    os._exit(0)


@pytest.mark.parametrize("room", [0, 1, 40, 1000, 1013, 1027])
def test_a_write_that_the_disk_cuts_short_is_taken_back(tmp_path: Path, room: int) -> None:
    """A file may grow to so many bytes, in the place of a disk with so much room: the last write
    is then short, as on a full disk, and the journal is sound all the time."""
    path = tmp_path / "j"
    child = os.fork()
    if child == 0:
        try:
            _fill(path, room)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    events = read_events(path)
    assert [event["n"] for event in events] == list(range(len(events)))
    size = path.stat().st_size
    journal = Journal(path)
    assert journal.cut_short == 0
    assert path.stat().st_size == size
    journal.append({"event": "there is room again"})
    journal.close()
    assert len(read_events(path)) == len(events) + 1


def test_a_journal_that_is_not_there_has_no_events(tmp_path: Path) -> None:
    assert read_events(tmp_path / "none") == []
