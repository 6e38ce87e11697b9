"""Wrong study files, templates and command lines: each is refused in one message, at once.

The tables are in ``tests/data``; what they say was read by somebody, and is in the messages.
"""

import shlex
from pathlib import Path
from shutil import copytree

import pytest

from archloom.studies.config.space_reference import space_text

from ...cases.studies import TINY
from ...cases.wrong_inputs import refuses

DATA = Path(__file__).parents[2] / "data"


def rows(name: str) -> list[tuple[str, str]]:
    """Return the cases of a table, each with what the message says."""
    lines = [line for line in (DATA / name).read_text().splitlines() if not line.startswith("# ")]
    cases, said = lines[::2], lines[1::2]
    assert all(line.startswith("    ") for line in said)
    return [(case, line.strip()) for case, line in zip(cases, said, strict=True)]


def changed(text: str, case: str) -> str:
    """Return a file in which something stands in the place of something, or besides."""
    old, arrow, new = case.replace("\\n", "\n").rpartition(" =>")
    if not arrow:
        return f"{text}{new}\n"
    assert old in text
    return text.replace(old, new.removeprefix(" "), 1)


@pytest.fixture(scope="module")
def place(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a study and files that are none; only the two that tests write change."""
    folder = tmp_path_factory.mktemp("place") / "place"
    copytree(finished, folder)
    (folder / "a.txt").write_text("mine")
    (folder / "bin.yaml").write_bytes(b"\xff\xfe\x00")
    (folder / "empty").touch()
    (folder / "folder").mkdir()
    (folder / "folder" / "note.txt").write_text("mine")
    for name in ("wrong.yaml", "own.yaml"):
        (folder / name).touch()
    (folder / "plan.json").write_text("{}")
    return folder


@pytest.mark.parametrize(("case", "says"), rows("wrong_study_files.txt"))
def test_study_files(place: Path, case: str, says: str) -> None:
    (place / "wrong.yaml").write_text(changed(TINY, case))
    refuses("run", "wrong.yaml", "--out", "out", cwd=place, says=says)


@pytest.mark.parametrize(("case", "says"), rows("wrong_templates.txt"))
def test_templates(place: Path, case: str, says: str) -> None:
    (place / "own.yaml").write_text(changed(space_text("casco_edge"), case))
    (place / "wrong.yaml").write_text(TINY.replace("space: casco_edge", "space: ./own.yaml"))
    refuses("run", "wrong.yaml", "--out", "out", cwd=place, says=says)


@pytest.mark.parametrize(("case", "says"), rows("wrong_command_lines.txt"))
def test_command_lines(place: Path, case: str, says: str) -> None:
    words = [word.replace("{long}", "x" * 300) for word in shlex.split(case)]
    refuses(*words, cwd=place, says=says)


def test_there_are_three_hundred_cases() -> None:
    names = ("wrong_study_files.txt", "wrong_templates.txt", "wrong_command_lines.txt")
    assert sum(len(rows(name)) for name in names) > 300


def test_what_is_checked_can_fail(place: Path) -> None:
    """The same checks on command lines that are right, or do something."""
    with pytest.raises(AssertionError):
        refuses("pareto", "run", cwd=place, says="")
    with pytest.raises(AssertionError):
        refuses("frobnicate", cwd=place, says="something else")
