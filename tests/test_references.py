"""Pages of keys are what the schemas give."""

import re
from importlib import import_module
from types import ModuleType

import pytest

from .source_tree import ROOT


@pytest.fixture
def drawing(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT))
    return import_module("docs.draw_references")


@pytest.mark.parametrize("kind", ["template", "study"])
def test_the_page_is_current(kind: str, drawing: ModuleType) -> None:
    text = drawing.PAGES[kind].read_text("utf-8")
    assert text == drawing.page(kind), "run `python -m docs.draw_references`"


def test_every_key_with_a_meaning_has_a_row_with_unit_default_and_example(
    drawing: ModuleType,
) -> None:
    page = drawing.page("template")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", page, re.MULTILINE))
    assert rows["width_words"].startswith("words per access")
    assert rows["width_words"].split(" | ")[1:] == ["number > 0 or expression", "words", "`1`"]
    assert rows["bandwidth_words"].split(" | ")[2:] == ["words/cycle", "required"]
    assert "E.g. `4`" in rows["bandwidth_words"].split(" | ")[0]
    study = drawing.page("study").partition("\n### ")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", study, re.MULTILINE))
    assert rows["batch_size"].endswith("E.g. `8` | whole number >= 1, <= 10000 |  | `8`")
    limits = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", drawing.page("study"), re.MULTILINE))
    assert limits["latency_s"].split(" | ")[2] == "s"
    assert rows["trials"].split(" | ")[3] == "required"
