"""Where a study is kept, as a text and back; passwords stay where they are."""

from pathlib import Path

import pytest

from archloom.studies.config.location import (
    Database,
    Location,
    SharedStudy,
    argument,
    location_of,
    named,
)
from archloom.studies.config.study_config import load_config
from archloom.studies.errors import UserError

from ...cases.studies import TINY, write_study

SECRET = "p4ss"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("runs/first", "runs/first"),
        ("postgresql://host/db#a", "postgresql://host/db#a"),
        ("postgresql://me@host:5432/db#a.b-c_1", "postgresql://me@host:5432/db#a.b-c_1"),
        (f"postgresql://me:{SECRET}@[::1]:5432/db#a", "postgresql://me@[::1]:5432/db#a"),
        (f"postgresql://me:{SECRET}@host/db#a", "postgresql://me@host/db#a"),
        (f"postgresql://host/db?password={SECRET}&port=1#a", "postgresql://host/db?port=1#a"),
        ("postgresql:///db?host=/tmp/x&user=me#a", "postgresql:///db?host=/tmp/x&user=me#a"),
    ],
)
def test_a_location_is_shown_as_it_can_be_given(text: str, shown: str) -> None:
    location = location_of(text)
    assert str(location) == shown
    assert SECRET not in repr(location)
    assert str(location_of(str(location))) == shown


@pytest.mark.parametrize(
    "text",
    [
        f"postgresql://me:{SECRET}#x@host/db#a",
        f"postgresql://me:{SECRET}/x@host/db#a",
        f"postgresql://me:{SECRET}?x@host/db#a",
        f"postgresql://me:1/{SECRET}@host/db#a",
        f"postgresql://me:1/db#{SECRET}@host/db",
        f"postgresql://me:{SECRET}@host:99999/db#a",
        f"postgresql://me:{SECRET}@host:port/db#a",
        f"postgresql://me:{SECRET}@host#a",
        f"postgresql://me:{SECRET}@host/db/other#a",
        f"postgresql://me:{SECRET}@host/db#-a",
        f"postgresql://me:{SECRET}@host/db",
        f"postgresql://me:{SECRET}@[host/db#a",
        f"postgres://me:{SECRET}@host/db#a",
        f"mysql://me:{SECRET}@host/db#a",
    ],
)
def test_what_is_no_location_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(UserError) as caught:
        location_of(text)
    assert SECRET not in str(caught.value)
    assert "postgresql://" in str(caught.value)


def test_parts_and_arguments_name_the_place() -> None:
    shared = location_of("postgresql://host/db#a")
    assert named(Path("runs/a"), "x.json") == "runs/a/x.json"
    assert named(shared, "x.json") == "x.json of postgresql://host/db#a"
    assert argument(Path("runs/a b")) == "'runs/a b'"
    assert argument(shared) == "'postgresql://host/db#a'"


def config_location(folder: Path, more: str, out: str | None = None) -> Location:
    return load_config(write_study(folder, TINY + more)).location(out)


def test_the_command_line_comes_before_the_study_file(tmp_path: Path) -> None:
    url = "postgresql://me@host/db"
    there = f"storage: {url}\n"
    assert config_location(tmp_path, "") == Path("runs/tiny")
    assert config_location(tmp_path, there) == SharedStudy(Database.of(url), "tiny")
    assert config_location(tmp_path, there, "other") == Path("other")
    assert str(config_location(tmp_path, "", url)) == f"{url}#tiny"
    assert str(config_location(tmp_path, there, f"{url}2#b")) == f"{url}2#b"


def test_a_study_begins_with_none_of_a_database(tmp_path: Path) -> None:
    start = f"start_from: [{{study: 'postgresql://me:{SECRET}@host/db#a'}}]\n"
    with pytest.raises(UserError, match="copy a study there with 'archloom copy'") as caught:
        load_config(write_study(tmp_path, TINY + start))
    assert SECRET not in str(caught.value)


def test_storage_is_no_part_of_a_study(tmp_path: Path) -> None:
    url = f"postgresql://me:{SECRET}@host/db"
    here = load_config(write_study(tmp_path))
    there = load_config(write_study(tmp_path, f"{TINY}storage: {url}\n"))
    assert there.to_dict() == here.to_dict()
    assert SECRET not in repr(there)
    assert "storage" not in there.to_dict()


@pytest.mark.parametrize(
    "value",
    [
        "runs",
        "3",
        f"{{url: 'postgresql://me:{SECRET}@host/db'}}",
        "[]",
        f"postgresql://me:{SECRET}@host/db#a",
        f"mysql://me:{SECRET}@host/db",
    ],
)
def test_other_storage_is_a_mistake_with_its_line(tmp_path: Path, value: str) -> None:
    with pytest.raises(UserError, match=r"line 11: storage: ") as caught:
        load_config(write_study(tmp_path, f"{TINY}storage: {value}\n"))
    assert SECRET not in str(caught.value)
