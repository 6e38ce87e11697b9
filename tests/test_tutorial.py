"""Pages whose files are written and whose commands are run, in order, and print what they show."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from .source_tree import ROOT

TUTORIAL = ROOT / "docs" / "tutorial.md"
HOW_TO = ["own_hardware", "own_network", "constraints", "assumptions"]
"""Pages that also show fragments of files, and commands that take long."""


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT))
    return import_module("docs.run_page")


def follow(pages: Any, steps: list[Any], folder: Path) -> None:
    """Do what a page says, and compare."""
    for step in steps:
        if isinstance(step, pages.File):
            pages.write(step, folder)
            continue
        printed = pages.run(step, folder)
        wrong = pages.missing(step.excerpts(), printed)
        shown = ["\n".join(piece) for piece in wrong]
        assert not wrong, "\n".join([f"{step.line} prints", *printed, "", "and not", *shown])


def test_every_step_of_the_tutorial_prints_what_it_shows(pages: Any, tmp_path: Path) -> None:
    steps = list(pages.steps(TUTORIAL.read_text("utf-8")))
    assert sum(isinstance(step, pages.File) for step in steps) >= 4
    follow(pages, steps, tmp_path)
    assert (tmp_path / "runs" / "my_proof" / "certificate.json").is_file()


@pytest.mark.parametrize("name", HOW_TO)
def test_commands_of_how_to_pages_work(name: str, pages: Any, tmp_path: Path) -> None:
    text = (ROOT / "docs" / "how_to" / f"{name}.md").read_text("utf-8")
    steps = list(pages.steps(text, every_block=False))
    assert any(isinstance(step, pages.Command) for step in steps)
    follow(pages, steps, tmp_path)


def test_the_page_on_certificates_explains_the_tutorial_s() -> None:
    page = (ROOT / "docs" / "how_to" / "certificates.md").read_text("utf-8")
    told = re.findall(r"\* \((?:the other )?(\d+)(?: of (\d+))?\)|\*at least ([\d.]+%)\*", page)
    numbers = [number for found in told for number in found if number]
    statements = r"^Certified at this budget: .*?^For any budget: .*?\.$"
    (said,) = re.findall(statements, TUTORIAL.read_text("utf-8"), re.M | re.S)
    assert len(numbers) == 9
    assert all(re.search(rf"(?<![\d.]){re.escape(number)}", said) for number in numbers)


def test_an_excerpt_must_stand_in_the_output_in_order(pages: Any) -> None:
    command = pages.Command("x", ("...", "b", "c", "...", "e"))
    assert command.excerpts() == [["b", "c"], ["e"]]
    assert pages.missing(command.excerpts(), ["a", "b", "c", "d", "e"]) == []
    assert pages.missing(command.excerpts(), ["a", "b", "d", "c", "e"]) == [["b", "c"]]
    assert pages.missing(command.excerpts(), ["e", "b", "c"]) == [["e"]]


def test_no_block_is_left_untried(pages: Any) -> None:
    assert list(pages.steps('```py title="a/b.py"\nx = 1\n```\n')) == [
        pages.File("a/b.py", "x = 1\n")
    ]
    with pytest.raises(ValueError, match="is never run"):
        list(pages.steps("```sh\nrm x\n```\n"))
