from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from archloom.studies.errors import UserError
from archloom.studies.storage.journal import Journal, read_events

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


def test_a_damaged_tail_of_several_lines_is_dropped(tmp_path: Path) -> None:
    """A machine that loses power may leave zeros where the last lines were going to be."""
    path = tmp_path / "j"
    write(path, EVENTS)
    path.write_bytes(path.read_bytes() + b"\0\0\n\0\0")
    write(path, [])
    assert read_events(path) == EVENTS
    assert b"\0" not in path.read_bytes()


def test_a_journal_that_is_not_there_has_no_events(tmp_path: Path) -> None:
    assert read_events(tmp_path / "none") == []
