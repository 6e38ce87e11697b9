import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from archloom.studies.config.location import Location
from archloom.studies.errors import UserError
from archloom.studies.storage.directory.lock import LOCK
from archloom.studies.storage.header import Header, read_header
from archloom.studies.storage.parts import CERTIFICATE, JOURNAL, SPACE, STUDY, TRIALS
from archloom.studies.storage.records import read_certificate, read_trials
from archloom.studies.storage.store import Store

from ...contracts.store import FOUND, Change, StoreContract, other


class TestDirectories(StoreContract):
    def place(self, tmp_path: Path, name: str) -> Location:
        return tmp_path / "runs" / name

    def change(self, location: Location, name: str, change: Change) -> None:
        assert isinstance(location, Path)
        path = location / name
        if lines := change(path.read_bytes().splitlines(keepends=True)):
            path.write_bytes(b"".join(lines))
        else:
            path.unlink()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "tiny"


def content(folder: Path) -> dict[str, bytes]:
    """Everything in the directory but the lock, which names the last process."""
    files = (p for p in folder.rglob("*") if p.is_file() and p.name != LOCK)
    return {str(p.relative_to(folder)): p.read_bytes() for p in files}


def test_publishing_mends_what_a_kill_cut_short_or_somebody_changed(
    header: Header, folder: Path
) -> None:
    with Store.create(folder, header) as store:
        store.append({"event": "x"})
        store.publish(FOUND)
    whole = (folder / TRIALS).read_bytes()
    for damaged in (*(whole[:cut] for cut in range(0, len(whole), 3)), whole.replace(b"1", b"7")):
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


def test_name_and_executor_are_no_part_of_the_identity(header: Header) -> None:
    changed = other(header, name="else", executor={"name": "ray", "workers": 9, "address": None})
    assert changed.identity == header.identity
    assert other(header, seed=6).identity != header.identity


def test_marks_of_assumed_values_are_no_part_of_the_identity(header: Header, folder: Path) -> None:
    """They change no result, so studies of templates from before they had any go on."""
    marked = header.space_text.rstrip("\n") + "\nassumptions:\n  dram: as in the edge template\n"
    with Store.create(folder, header):
        pass
    assert replace(header, space_text=marked).identity == header.identity
    with Store.create(folder, replace(header, space_text=marked)) as store:
        assert store.header == read_header(folder) == header
    other_text = header.space_text.replace("lpddr4", "ddr3")
    assert other_text != header.space_text
    assert replace(header, space_text=other_text).identity != header.identity


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


#: of a version that said nothing of other budgets
OLD_CERTIFICATE: dict[str, Any] = {
    "points": 128, "feasible": 120, "measured": 20, "open": 0, "volume": 0.5, "ceiling": 0.5,
    "reference": [1.0, 2.0], "boxes": None,
}  # fmt: skip


def test_a_certificate_of_an_older_version_is_read_and_counts_as_missing(
    header: Header, folder: Path
) -> None:
    """So a study that goes on writes today's, which says more."""
    with Store.create(folder, header) as store:
        (folder / CERTIFICATE).write_text(json.dumps(OLD_CERTIFICATE) + "\n")
        proof = read_certificate(folder)
        assert proof is not None
        assert proof.proven_at_this_budget
        assert (proof.proven, proof.share_any_budget) == (False, None)
        assert store.certificate_digest() == ""
        known = replace(proof, undecided=0, members=1, settled_members=1, ceiling_any_budget=0.5)
        assert store.publish_certificate(known) == store.certificate_digest() != ""
    assert read_certificate(folder) == known


WRONG = ({"open": -1}, {"measured": "20"}, {"undecided": 0.5}, {"ceiling": None}, {"volume": "x"})


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", "null", "[" * 100_000]
    + [json.dumps(OLD_CERTIFICATE | wrong) for wrong in WRONG],
)
def test_a_damaged_certificate_says_what_writes_it_anew(folder: Path, text: str) -> None:
    folder.mkdir(parents=True)
    (folder / CERTIFICATE).write_text(text)
    with pytest.raises(UserError, match=r"is damaged; 'archloom resume .*' writes it anew"):
        read_certificate(folder)


def test_a_folder_that_cannot_be_written_is_one_message(header: Header, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="file is a file; choose another directory") as caught:
        Store.create(tmp_path / "file" / "run", header)
    assert caught.value.exit_code == 2
