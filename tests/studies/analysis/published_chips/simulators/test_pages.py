"""Simulators beside the model: ranges hold, pages are what is computed, and switches explain."""

import json
import re
from collections.abc import Callable

import pytest
from click.testing import CliRunner

from archloom.studies.analysis.published_chips.catalogue import built_in
from archloom.studies.analysis.published_chips.figures import Chapter
from archloom.studies.analysis.published_chips.simulators.recorded_rows import FOLDER, recorded
from archloom.studies.commands.cli import app

from .....source_tree import ROOT

DOCS = ROOT / "docs" / "validation"
NAMES = ("scale_sim", "zigzag", "stream", "gemmini", "nvdla")

Get = Callable[[str], Chapter]


@pytest.fixture(scope="module")
def get() -> Get:
    """Return what computes a chapter, once."""
    known, made = built_in(), dict[str, Chapter]()

    def chapter(name: str) -> Chapter:
        if name not in made:
            made[name] = known[name](lambda *_: None)
        return made[name]

    return chapter


@pytest.mark.parametrize("name", NAMES)
def test_ranges_hold_and_every_figure_is_explained(name: str, get: Get) -> None:
    chapter = get(name)
    assert [f.name for f in chapter.figures if not f.holds] == []
    assert all(f.source and f.reason for f in chapter.figures)
    # others than those of the columns stand in the reason
    for f in chapter.figures:
        assert set(f.switched) >= set(chapter.switches)
        assert all(name in f.reason for name in set(f.switched) - set(chapter.switches))
    names = [f.name for f in chapter.figures]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", NAMES)
def test_the_page_is_what_the_command_writes(name: str) -> None:
    done = CliRunner().invoke(app, ["validate", name, "--markdown"])
    assert done.exit_code == 0
    assert (DOCS / f"{name}.md").read_text() == done.stdout


def test_json_has_the_same_figures(get: Get) -> None:
    (found,) = json.loads(CliRunner().invoke(app, ["validate", "gemmini", "--json"]).stdout)
    assert [f["ours"] for f in found["figures"]] == [f.ours for f in get("gemmini").figures]


def test_what_the_overview_says(get: Get) -> None:
    """Numbers of figures, and the ratios that the table names."""
    text = (DOCS / "simulators.md").read_text()
    for name in NAMES:
        assert re.search(rf"\]\({name}\.md\) \|[^|]*\| {len(get(name).figures)} \|", text)
    energies = [f for f in get("zigzag").figures if "energy" in f.name]
    ratios = [f.ratio for f in energies]
    assert f"energies {min(ratios):.2f} to {max(ratios):.2f} times" in text
    changed = [f.switched["both"] / f.theirs for f in energies]
    assert f"{min(changed):.2f} to {max(changed):.2f} times with ZigZag's two" in text
    cycles = [f.ratio for f in get("stream").figures if "over" not in f.name]
    assert f"cycles {min(cycles):.2f} to {max(cycles):.2f} times, because Stream" in text
    saved = [f.ratio for f in get("stream").figures if "over" in f.name]
    assert all(0.85 < ratio < 1.15 for ratio in saved)
    bound = [f.ratio for f in get("gemmini").figures]
    assert f"{min(bound):.2f} to {max(bound):.2f} times the RTL's cycles" in text
    assert "columns are 1.41, 1.38, 1.99, 1.19 times away" in " ".join(get("gemmini").text.split())
    assert "1.41 times away from the model on average" in text
    said = " ".join(get("gemmini").text.split())
    assert "the model and the two are 1.41, 1.21, 1.11 times away" in said
    assert "software runs them it is 1.21 times, and 1.11 times if" in " ".join(text.split())
    frames = [f.ratio for f in get("nvdla").figures if f.band]
    assert f"{min(frames):.2f} to {max(frames):.2f} times for 128 MACs and more" in text


@pytest.mark.parametrize(
    ("name", "package"),
    [("scale_sim", "scalesim"), ("zigzag", "zigzag-dse"), ("stream", "stream-dse")],
)
def test_recorded_files_say_who_ran_what_and_when(name: str, package: str) -> None:
    found = json.loads((FOLDER / f"{name}.json").read_text())
    assert found["recorded by"] == "us, with benchmarks/agreement/record_simulators.py"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", found["date"])
    assert {"python", package, "numpy"} <= set(found["versions"])
    source = recorded(name, "Tool", package).source
    assert found["versions"][package] in source
    assert found["date"] in source
