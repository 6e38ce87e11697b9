"""docs/how_to/python_api.md: every block runs and prints what it shows, and every public name has
one."""

import doctest
import re
import warnings
from pathlib import Path

import pytest

import archloom

from .source_tree import ROOT

PAGE = ROOT / "docs" / "how_to" / "python_api.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks() -> list[tuple[str, str]]:
    """Return the language and text of every block."""
    return BLOCK.findall(PAGE.read_text())


def test_every_block_prints_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text()
    script = doctest.DocTestParser().get_doctest(text, {}, PAGE.name, str(PAGE), 0)
    assert len(script.examples) > 50
    told: list[str] = []
    with warnings.catch_warnings():
        # PyTorch 2.13 warns of its own use of its own pytrees
        warnings.filterwarnings("ignore", category=FutureWarning, message=".*treespec")
        done = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(script, out=told.append)
    assert done.failed == 0, "".join(told)


def test_all_python_of_the_page_is_run() -> None:
    """A block in another form would be shown and never tried."""
    for language, text in blocks():
        assert language == "pycon"
        assert text.startswith(">>> ")
        assert text.endswith("\n\n"), "else the end of the block counts as what is printed"


@pytest.mark.parametrize("name", archloom.__all__)
def test_every_public_name_is_on_the_page(name: str) -> None:
    prose = BLOCK.sub("", PAGE.read_text())
    assert re.search(rf"`(al\.)?{re.escape(name)}\b", prose), "is nowhere described"
    assert re.search(rf"\b{re.escape(name)}\b", "".join(text for _, text in blocks())) or (
        name in RESULTS
    ), "is in no block"


#: what no block needs to name: what functions return
RESULTS = {
    "Design", "Figures", "Front", "Group", "Hardware", "Infeasible", "Layer", "LayerCost",
    "LayerMapping", "Level", "LevelCost", "NetworkPlan", "Schedule",
}  # fmt: skip
