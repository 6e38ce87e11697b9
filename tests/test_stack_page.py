"""docs/validation/stack.md shows what the results that it keeps give."""

import json
from importlib import import_module
from typing import Any

import pytest

from archloom.studies.analysis.stack import judge

from .source_tree import ROOT


@pytest.fixture
def drawing(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT))
    return import_module("docs.draw_stack")


def test_the_page_is_up_to_date(drawing: Any) -> None:
    text = drawing.PAGE.read_text()
    assert text == drawing.page(text, drawing.kept()), "run `python -m docs.draw_stack`"


def test_other_results_are_another_page(drawing: Any) -> None:
    text, results = drawing.PAGE.read_text(), drawing.kept()
    for point in results["points"]:
        point["time_us"] = 1.0
    changed = drawing.page(text, results)
    assert changed != text
    assert len(changed.splitlines()) == len(text.splitlines())


def test_results_are_kept_as_the_same_bytes(
    drawing: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = drawing.kept()
    before = drawing.KEPT.read_bytes()
    monkeypatch.setattr(drawing, "KEPT", tmp_path / "kept.json.gz")
    drawing.keep(results)
    assert drawing.KEPT.read_bytes() == before
    assert [each.verdict for each in judge(drawing.kept())] == [
        each.verdict for each in judge(results)
    ]
    assert json.loads(json.dumps(results)) == drawing.kept()
