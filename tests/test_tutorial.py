"""docs/tutorial.md: its files are written and its commands run, in order, and print what it shows."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from .source_tree import ROOT


@pytest.fixture
def tutorial(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT))
    return import_module("docs.run_tutorial")


def test_every_step_prints_what_the_page_shows(tutorial: Any, tmp_path: Path) -> None:
    steps = list(tutorial.steps(tutorial.PAGE.read_text("utf-8")))
    assert sum(isinstance(step, tutorial.File) for step in steps) >= 4
    for step in steps:
        if isinstance(step, tutorial.File):
            tutorial.write(step, tmp_path)
            continue
        printed = tutorial.run(step, tmp_path)
        wrong = tutorial.missing(step.excerpts(), printed)
        shown = ["\n".join(piece) for piece in wrong]
        assert not wrong, "\n".join([f"{step.line} prints", *printed, "", "and not", *shown])
    assert (tmp_path / "runs" / "my_proof" / "certificate.json").is_file()


def test_an_excerpt_must_stand_in_the_output_in_order(tutorial: Any) -> None:
    command = tutorial.Command("x", ("...", "b", "c", "...", "e"))
    assert command.excerpts() == [["b", "c"], ["e"]]
    assert tutorial.missing(command.excerpts(), ["a", "b", "c", "d", "e"]) == []
    assert tutorial.missing(command.excerpts(), ["a", "b", "d", "c", "e"]) == [["b", "c"]]
    assert tutorial.missing(command.excerpts(), ["e", "b", "c"]) == [["e"]]


def test_no_block_is_left_untried(tutorial: Any) -> None:
    assert list(tutorial.steps('```py title="a/b.py"\nx = 1\n```\n')) == [
        tutorial.File("a/b.py", "x = 1\n")
    ]
    with pytest.raises(ValueError, match="is never run"):
        list(tutorial.steps("```sh\nrm x\n```\n"))
