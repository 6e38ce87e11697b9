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
    width = "number > 0 or expression | words | `1` | `8` | words per access"
    assert rows["width_words"].startswith(width)
    assert rows["bandwidth_words"].split(" | ")[1:4] == ["words/cycle", "required", "`4`"]
    study = drawing.page("study").partition("\n### ")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", study, re.MULTILINE))
    assert rows["batch_size"].split(" | ")[2:4] == ["`8`", "`8`"]
    limits = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", drawing.page("study"), re.MULTILINE))
    assert limits["latency_s"].split(" | ")[1] == "s"
    assert rows["trials"].split(" | ")[2] == "required"
