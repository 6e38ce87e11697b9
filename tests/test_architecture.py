"""docs/explanation/architecture.md shows the packages and imports that there are."""

from importlib import import_module

import pytest

from .source_tree import ROOT, module_name, packages, sources, targets


def test_the_page_is_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    drawing = import_module("docs.draw_architecture")
    text = drawing.PAGE.read_text()
    assert text == drawing.page(text), "run `make architecture`"


def test_the_picture_shows_all_imports_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    drawing = import_module("docs.draw_architecture")
    drawn = drawing.reduced(drawing.arrows())
    found = {box: drawing.reachable(drawn, box) for box in drawn}
    for path in sources():
        here = drawing.entry(module_name(path))
        there = {drawing.entry(target) for target in targets(path, True)}
        assert there - {here} <= found[here]
    assert all(box not in found[box] for box in drawn)
    assert {folder.name for folder in packages() if folder.parent.parent == ROOT} <= {
        box.rpartition("/")[2] for box in drawn
    }


def test_only_arrows_that_others_imply_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    drawing = import_module("docs.draw_architecture")
    graph = {"a": {"b", "c", "d"}, "b": {"c"}, "c": {"d"}, "d": set()}
    assert drawing.reduced(graph) == {"a": {"b"}, "b": {"c"}, "c": {"d"}, "d": set()}
    diamond = {"a": {"b", "c"}, "b": {"d"}, "c": {"d"}, "d": set()}
    assert drawing.reduced(diamond) == diamond
