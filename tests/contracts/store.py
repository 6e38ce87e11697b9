"""What every place promises in which a study can be kept; a test class inherits this."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path

import pytest

from archloom.studies.config.location import Location
from archloom.studies.errors import UserError
from archloom.studies.storage.copying import copy_study
from archloom.studies.storage.header import Header, header_parts, read_header
from archloom.studies.storage.history import History
from archloom.studies.storage.parts import (
    BASELINE_FILE,
    BEYOND,
    JOURNAL,
    LIVE,
    STUDY,
    TRIALS,
    VALIDATION,
)
from archloom.studies.storage.reading import read_holder, read_journal, read_live, read_part
from archloom.studies.storage.records import read_baseline, read_trials, record_line
from archloom.studies.storage.store import Store
from archloom.studies.storage.trial import HeldOutTrial, Trial

FOUND = [
    Trial(
        number=i,
        batch=0,
        state="complete",
        rounds=1,
        point={"rows": i},
        hardware=f"made{i}",
        area_mm2=1.5,
        tdp_w=0.25,
        edp_js=0.1 * (i + 1),
    )
    for i in range(4)
]
HELD_OUT = [HeldOutTrial(0, "made0", 9, {"edp": 1.5}, {}, {})]
EVENTS = [{"event": "x", "at": i, "text": "é\n\0"} for i in range(5)]

#: of lines
Change = Callable[[list[bytes]], list[bytes]]


def other(header: Header, **changes: object) -> Header:
    return Header(header.config | changes, header.space_text, header.archloom)


class StoreContract(ABC):
    """Inherit, implement the two methods, and the tests run; ``header`` is a fixture."""

    @abstractmethod
    def place(self, tmp_path: Path, name: str) -> Location:
        """Return where a study of that name can be kept; there is none yet."""

    @abstractmethod
    def change(self, location: Location, name: str, change: Change) -> None:
        """Change the lines of a part behind the store's back; no lines take the part away."""

    @pytest.fixture
    def location(self, tmp_path: Path) -> Location:
        return self.place(tmp_path, "tiny")

    @pytest.fixture
    def kept(self, header: Header, location: Location) -> Location:
        """A study with events and trials."""
        with Store.create(location, header) as store:
            for event in EVENTS:
                store.append(event)
            store.publish(FOUND[:2])
            store.publish(FOUND[2:])
        return location

    def test_a_study_begins_and_goes_on(self, header: Header, location: Location) -> None:
        with Store.create(location, header) as store:
            assert not store.begun
            store.append(EVENTS[0])
            store.publish(FOUND[:2])
        with Store.create(location, header) as store:
            assert store.begun
            assert store.take_events() == EVENTS[:1]
            assert store.take_events() == []
            for event in EVENTS[1:]:
                store.append(event)
            store.publish(FOUND[:2])
            store.publish(FOUND[2:])
        assert read_journal(location) == EVENTS
        assert read_trials(location) == FOUND
        assert read_header(location) == header

    def test_parts_are_the_bytes_that_were_written(self, kept: Location) -> None:
        with Store(kept) as store:
            store.publish_baseline(FOUND[1])
            store.publish_validation([])
            store.publish_validation(HELD_OUT)
        assert read_part(kept, TRIALS) == b"".join(map(record_line, FOUND))
        assert read_part(kept, BASELINE_FILE) == record_line(FOUND[1])
        assert read_part(kept, VALIDATION) == record_line(HELD_OUT[0])
        assert read_part(kept, BEYOND) is None
        assert read_baseline(kept) == FOUND[1]

    def test_what_is_done_now_is_told_until_it_ends(
        self, header: Header, location: Location
    ) -> None:
        with Store.create(location, header) as store:
            store.append(EVENTS[0])
            assert read_live(location) == {}
            store.write_live({"stages": ["a"]})
            store.write_live({"stages": ["a", "b"]})
            assert read_live(location) == {"stages": ["a", "b"]}
            store.end_live()
        assert read_part(location, LIVE) is None

    def test_one_writer_at_a_time(self, header: Header, location: Location) -> None:
        with Store.create(location, header) as store:
            store.append(EVENTS[0])
            with pytest.raises(UserError, match=r"process \d+ (of .* )?is writing to this study"):
                Store(location)
            with pytest.raises(UserError, match="is writing to this study"):
                Store.create(location, header)
            assert read_holder(location) is not None
            store.append(EVENTS[1])
        assert read_holder(location) is None
        with Store(location) as store:
            assert store.take_events() == EVENTS[:2]

    def test_publishing_mends_what_somebody_changed(self, kept: Location) -> None:
        whole = read_part(kept, TRIALS)
        changes: list[Change] = [
            lambda lines: lines[:1],
            lambda lines: [lines[0], lines[1].replace(b"0.25", b"0.75"), *lines[2:]],
            lambda lines: [lines[1], lines[0], *lines[2:]],
            lambda _: [],
        ]
        for change in changes:
            self.change(kept, TRIALS, change)
            assert read_part(kept, TRIALS) != whole
            with Store(kept) as store:
                store.publish(FOUND[:2])
                store.publish(FOUND[2:])
            assert read_part(kept, TRIALS) == whole

    def test_lines_that_the_journal_does_not_have_are_set_aside(self, kept: Location) -> None:
        whole = read_part(kept, TRIALS)
        for _ in range(2):
            self.change(kept, TRIALS, lambda lines: [*lines, lines[-1]])
            with Store(kept) as store:
                store.publish(FOUND)
                store.settle()
                store.settle()
            assert read_part(kept, TRIALS) == whole
        assert read_part(kept, BEYOND) == 2 * record_line(FOUND[-1])

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"seed": 6}, "seed: 5 there, 6 here"),
            ({"trials": 11, "seed": 7}, "seed: 5 there, 7 here; trials: 10 there, 11 here"),
            ({"space": "fast"}, "space: casco_edge there, fast here"),
        ],
    )
    def test_a_study_with_another_config_is_left_alone(
        self, header: Header, kept: Location, changes: dict[str, object], message: str
    ) -> None:
        with pytest.raises(UserError, match="holds a study with another config") as caught:
            Store.create(kept, other(header, **changes))
        assert message in str(caught.value)
        assert read_header(kept) == header

    def test_another_template_is_another_config(self, header: Header, kept: Location) -> None:
        changed = Header(header.config, header.space_text + "# changed\n", header.archloom)
        with pytest.raises(UserError, match="space: another template"):
            Store.create(kept, changed)

    def test_a_header_that_was_edited_is_refused(self, kept: Location) -> None:
        self.change(kept, STUDY, lambda lines: [b"".join(lines).replace(b"seed: 5", b"seed: 99")])
        with pytest.raises(UserError, match="was changed after the study began"):
            Store(kept)

    def test_a_study_of_another_format_is_left_alone(self, kept: Location) -> None:
        self.change(kept, STUDY, lambda lines: [b"".join(lines).replace(b"mat: 1", b"mat: 2")])
        for act in (Store, read_header):
            with pytest.raises(UserError, match=r"is a study of format 2; .* reads format 1"):
                act(kept)

    def test_trials_without_a_journal_are_not_begun_again(self, kept: Location) -> None:
        self.change(kept, JOURNAL, lambda _: [])
        with pytest.raises(UserError, match=r"is missing, but trials.jsonl has 4 trials"):
            Store(kept)
        assert read_trials(kept) == FOUND

    def test_a_damaged_journal_is_refused(self, kept: Location) -> None:
        damaged = [b'{"crc":"', b""]

        def damage(lines: list[bytes]) -> list[bytes]:
            damaged[:] = [lines[1].replace(b"x", b"y"), *lines[2:]]
            return [lines[0], *damaged]

        self.change(kept, JOURNAL, damage)
        for act in (Store, read_journal):
            with pytest.raises(UserError, match="line 2 is damaged"):
                act(kept)
        assert (read_part(kept, JOURNAL) or b"").endswith(b"".join(damaged))

    def test_a_journal_of_another_study_is_refused(self, header: Header, tmp_path: Path) -> None:
        places = [self.place(tmp_path, name) for name in ("first", "second")]
        for place, one in zip(places, (header, other(header, seed=6)), strict=True):
            with Store.create(place, one) as store:
                History(store).opened("inline")
                store.publish(FOUND)
        foreign = (read_part(places[1], JOURNAL) or b"").splitlines(keepends=True)
        self.change(places[0], JOURNAL, lambda _: foreign)
        with pytest.raises(UserError, match="belongs to another study"):
            Store(places[0])
        assert read_part(places[0], JOURNAL) == b"".join(foreign)

    def test_a_copy_is_equal_and_goes_on(self, kept: Location, tmp_path: Path) -> None:
        with Store(kept) as store:
            store.publish_baseline(FOUND[0])
            # while the study is worked on
            for target in (tmp_path / "copy", self.place(tmp_path, "copy2")):
                copied = copy_study(kept, target)
                assert (copied.events, copied.trials) == (5, 4)
                for name in (*header_parts(store.header), JOURNAL, TRIALS, BASELINE_FILE):
                    assert read_part(target, name) == read_part(kept, name)
                with Store(target) as copy:
                    assert copy.take_events() == EVENTS
                    copy.append({"event": "y"})
                with pytest.raises(UserError, match="is there already"):
                    copy_study(kept, target)
                assert len(read_journal(target)) == 6
        assert read_journal(kept) == EVENTS

    def test_nothing_is_not_copied(self, location: Location, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="there is no such"):
            copy_study(location, tmp_path / "copy")
        assert not (tmp_path / "copy").exists()

    def test_live_is_no_part_of_a_copy(self, kept: Location, tmp_path: Path) -> None:
        with Store(kept) as store:
            store.write_live(json.loads("{}"))
            copy_study(kept, tmp_path / "copy")
        assert read_part(tmp_path / "copy", LIVE) is None
