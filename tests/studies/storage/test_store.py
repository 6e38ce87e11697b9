from pathlib import Path

import pytest
import yaml

from archloom.studies.config.study_config import space_text
from archloom.studies.errors import TroubleError, UserError
from archloom.studies.storage.directory.lock import LOCK
from archloom.studies.storage.header import Header, read_header
from archloom.studies.storage.history import History
from archloom.studies.storage.parts import BEYOND, CERTIFICATE, JOURNAL, SPACE, STUDY, TRIALS
from archloom.studies.storage.records import read_baseline, read_certificate, read_trials
from archloom.studies.storage.store import Store
from archloom.studies.storage.trial import Trial

from ...cases.studies import tiny_config

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


@pytest.fixture
def header(tmp_path: Path) -> Header:
    config = tiny_config(tmp_path)
    return Header.new(config.model_dump(mode="json"), space_text(config.space))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "tiny"


def content(folder: Path) -> dict[str, bytes]:
    """Everything in the directory but the lock, which names the last process."""
    files = (p for p in folder.rglob("*") if p.is_file() and p.name != LOCK)
    return {str(p.relative_to(folder)): p.read_bytes() for p in files}


def other(header: Header, **changes: object) -> Header:
    return Header(header.config | changes, header.space_text, header.archloom)


def test_a_study_begins_and_goes_on(header: Header, folder: Path) -> None:
    with Store.create(folder, header) as store:
        assert not store.begun
        store.append({"event": "x"})
        store.publish(FOUND[:2])
    with Store.create(folder, header) as store:
        assert store.begun
        assert store.take_events() == [{"event": "x"}]
        store.publish(FOUND[:2])
        store.publish(FOUND[2:])
    assert read_trials(folder) == FOUND
    assert read_header(folder) == header


def test_publishing_mends_what_a_kill_cut_short_or_somebody_changed(
    header: Header, folder: Path
) -> None:
    with Store.create(folder, header) as store:
        store.append({"event": "x"})
        store.publish(FOUND)
    whole = (folder / TRIALS).read_bytes()
    for damaged in (*(whole[:cut] for cut in range(len(whole))), whole.replace(b"1", b"7")):
        (folder / TRIALS).write_bytes(damaged)
        with Store(folder) as store:
            store.publish(FOUND[:2])
            store.publish(FOUND[2:])
        assert (folder / TRIALS).read_bytes() == whole


def test_readers_see_whole_trials_only(header: Header, folder: Path) -> None:
    with Store.create(folder, header) as store:
        store.publish(FOUND)
        with (folder / TRIALS).open("ab") as file:
            file.write(b'{"trial": 4, "edp')
        assert read_trials(folder) == FOUND


def test_the_baseline_has_a_file_of_its_own(header: Header, folder: Path) -> None:
    with Store.create(folder, header) as store:
        assert read_baseline(folder) is None
        store.publish_baseline(FOUND[1])
    assert read_baseline(folder) == FOUND[1]


def test_one_writer_at_a_time(header: Header, folder: Path) -> None:
    with Store.create(folder, header) as store:
        store.append({"event": "x"})
        with pytest.raises(UserError, match=r"process \d+ is writing to this study"):
            Store(folder)
        with pytest.raises(UserError, match="is writing to this study"):
            Store.create(folder, header)
        assert read_header(folder) == header
    with Store(folder) as store:
        assert store.take_events() == [{"event": "x"}]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": 6}, "seed: 5 there, 6 here"),
        ({"trials": 11, "seed": 7}, "seed: 5 there, 7 here; trials: 10 there, 11 here"),
        ({"space": "fast"}, "space: casco_edge there, fast here"),
    ],
)
def test_a_study_with_another_config_is_left_alone(
    header: Header, folder: Path, changes: dict[str, object], message: str
) -> None:
    Store.create(folder, header).close()
    before = content(folder)
    with pytest.raises(UserError, match="holds a study with another config") as caught:
        Store.create(folder, other(header, **changes))
    assert message in str(caught.value)
    assert content(folder) == before


def test_another_template_is_another_config(header: Header, folder: Path) -> None:
    Store.create(folder, header).close()
    changed = Header(header.config, header.space_text + "# changed\n", header.archloom)
    with pytest.raises(UserError, match="space: another template"):
        Store.create(folder, changed)


def test_name_and_executor_are_no_part_of_the_identity(header: Header) -> None:
    changed = other(header, name="else", executor={"name": "ray", "workers": 9, "address": None})
    assert changed.identity == header.identity
    assert other(header, seed=6).identity != header.identity


def test_a_study_of_another_format_is_left_alone(header: Header, folder: Path) -> None:
    Store.create(folder, header).close()
    path = folder / STUDY
    path.write_text(path.read_text().replace("format: 1", "format: 2"))
    before = content(folder)
    for act in (Store, read_header, lambda f: Store.create(f, header)):
        with pytest.raises(UserError, match=r"is a study of format 2; .* reads format 1"):
            act(folder)
    assert content(folder) == before


def test_a_study_whose_config_was_edited_is_refused(header: Header, folder: Path) -> None:
    Store.create(folder, header).close()
    path = folder / STUDY
    data = yaml.safe_load(path.read_text())
    data["config"]["seed"] = 99
    path.write_text(yaml.safe_dump(data))
    with pytest.raises(UserError, match="was changed after the study began"):
        Store(folder)


@pytest.mark.parametrize("text", ["", "- 1", "a: [", "config: {}", "3"])
def test_a_directory_that_is_no_study_says_so(tmp_path: Path, text: str) -> None:
    with pytest.raises(UserError, match="there is no such directory"):
        read_header(tmp_path / "none")
    (tmp_path / STUDY).write_text(text)
    with pytest.raises(UserError, match="is no study"):
        Store(tmp_path)


def test_foreign_files_are_left_alone(header: Header, folder: Path, tmp_path: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "thesis.tex").write_text("years of work")
    with pytest.raises(UserError, match=r"is not empty \(thesis.tex\) and no study"):
        Store.create(folder, header)
    assert content(folder) == {"thesis.tex": b"years of work"}
    with pytest.raises(UserError, match="is a file"):
        Store.create(tmp_path / "tiny.yaml", header)


def test_a_beginning_that_was_killed_begins_again(header: Header, folder: Path) -> None:
    (folder / SPACE).mkdir(parents=True)
    (folder / SPACE / ".casco_edge.yaml.part").write_text("para")
    (folder / f".{STUDY}.part").write_text("form")
    (folder / LOCK).write_text("1")
    with Store.create(folder, header) as store:
        assert not store.begun
    assert read_header(folder) == header


def test_lines_that_the_journal_does_not_have_are_set_aside(header: Header, folder: Path) -> None:
    with Store.create(folder, header) as store:
        store.append({"event": "x"})
        store.publish(FOUND)
    whole = (folder / TRIALS).read_bytes()
    extra = whole.splitlines(keepends=True)[-1].replace(b'"trial":3', b'"trial":4')
    (folder / TRIALS).write_bytes(whole + extra)
    with Store(folder) as store:
        store.publish(FOUND)
        store.settle()
        store.settle()
    assert (folder / TRIALS).read_bytes() == whole
    assert (folder / BEYOND).read_bytes() == extra


@pytest.mark.parametrize("text", [None, b""])
def test_trials_without_a_journal_are_not_begun_again(
    header: Header, folder: Path, text: bytes | None
) -> None:
    with Store.create(folder, header) as store:
        store.append({"event": "x"})
        store.publish(FOUND)
    (folder / JOURNAL).unlink()
    if text is not None:
        (folder / JOURNAL).write_bytes(text)
    before = content(folder)
    with pytest.raises(UserError, match=r"is (missing|empty), but trials.jsonl has 4 trials"):
        Store(folder)
    assert content(folder) == before


def test_a_journal_of_another_study_is_refused(header: Header, tmp_path: Path) -> None:
    for name, one in (("a", header), ("b", other(header, seed=6))):
        with Store.create(tmp_path / name, one) as store:
            History(store).opened("inline")
            store.publish(FOUND)
    (tmp_path / "a" / JOURNAL).write_bytes((tmp_path / "b" / JOURNAL).read_bytes())
    before = content(tmp_path / "a")
    with pytest.raises(UserError, match="belongs to another study"):
        Store(tmp_path / "a")
    assert content(tmp_path / "a") == before


def test_what_was_cut_short_is_noted(header: Header, folder: Path) -> None:
    with Store.create(folder, header) as store:
        store.append({"event": "x"})
        assert store.notes == []
    with (folder / JOURNAL).open("ab") as file:
        file.write(b"{")
    with Store(folder) as store:
        (note,) = store.notes
    assert "its 1 bytes are in" in note
    assert str(folder / "journal.jsonl.cut") in note


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "null", "[" * 100_000])
def test_a_damaged_certificate_says_what_writes_it_anew(folder: Path, text: str) -> None:
    folder.mkdir(parents=True)
    (folder / CERTIFICATE).write_text(text)
    with pytest.raises(UserError, match=r"is damaged; 'archloom resume .*' writes it anew"):
        read_certificate(folder)


def test_a_folder_that_cannot_be_written_is_one_message(header: Header, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(TroubleError, match="cannot be written: Not a directory"):
        Store.create(tmp_path / "file" / "run", header)
