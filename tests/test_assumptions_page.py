"""docs/validation/assumptions.md has what `archloom hardware --sensitivity` finds."""

from importlib import import_module
from typing import Any

import pytest

from archloom.space.design_space import PRESETS

from .source_tree import ROOT


@pytest.fixture
def drawing(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT))
    return import_module("docs.draw_assumptions")


def test_the_line_of_a_preset_is_what_is_found(drawing: Any) -> None:
    """One preset stands for all, which take a minute."""
    found = drawing.of_preset("eyeriss_v2")
    lines = drawing.PAGE.read_text("utf-8").splitlines()
    assert drawing.row(found) in lines, "run `python -m docs.draw_assumptions`"


def test_the_page_has_all_presets_and_counts_their_assumptions(drawing: Any) -> None:
    lines = drawing.PAGE.read_text("utf-8").splitlines()
    for name in PRESETS:
        (line,) = [line for line in lines if line.startswith(f"| `{name}` |")]
        marks = drawing.HardwareVariants(drawing.find_hardware(name, [], None, None)).assumed
        assert int(line.split("|")[2]) == len(marks)
        for key in [part for part in line.split("`")[3::2] if part]:
            assert key in {one.mark.key for one in marks}


def test_the_table_of_fixed_mappings_is_up_to_date(drawing: Any) -> None:
    assert "\n".join(drawing.fixed_mappings()) in drawing.PAGE.read_text("utf-8")
