"""The report in a real browser: nothing wrong is said, nothing is empty, covered or too wide."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from threading import Thread

import pytest

from archloom.studies.rendering.report.live import LiveReport, address_of, live_server
from archloom.studies.rendering.report.material import Gatherer, Material
from archloom.studies.rendering.report.page import page_values, study_page

from ....cases.browser import Browser, chromium

#: markup that would tell if a text became markup
EVIL = "<img src=x onerror='window.harmed=1'>"

#: plots without a mark in them; those in 3-D and of parallel coordinates are on canvases
EMPTY = """
[...document.querySelectorAll('.plot')].filter((place) => {
  const marks = place.querySelectorAll('.point, .js-line, .scatterlayer path, .barlayer path');
  const canvas = [...place.querySelectorAll('canvas')].some((one) => one.width > 0);
  return place.offsetWidth === 0 || !(marks.length || canvas);
}).map((place) => place.id || place.parentElement.textContent.slice(0, 40))
"""

#: elements that stick out of the page, but for what scrolls by itself
WIDE = """
[...document.querySelectorAll('main *')].filter((one) => !one.closest('.scroll, .tall, svg, .nests')
  && one.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .map((one) => one.outerHTML.slice(0, 80))
"""


#: right edge of the widest plot
WIDEST = (
    "Math.max(...[...document.querySelectorAll('svg.main-svg')]"
    ".map((drawn) => drawn.getBoundingClientRect().right))"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if chromium() is None:
        why = "there is no Chromium; on Debian and Ubuntu: apt-get install chromium"
        if os.environ.get("CI") == "true":
            pytest.fail(why)
        pytest.skip(why)
    with Browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def material(finished_study: Path) -> Material:
    return Gatherer(finished_study).gather()


@pytest.fixture(scope="module")
def page(browser: Browser, material: Material, tmp_path_factory: pytest.TempPathFactory) -> Browser:
    """The report of a study whose name and facts are hostile, opened once: that takes seconds."""
    view = replace(material.view, name=EVIL, facts=(*material.view.facts, ("networks", EVIL)))
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(study_page(page_values(replace(material, view=view))))
    browser.open(path.as_uri(), 700)
    return browser


@pytest.mark.parametrize("width", [700, 1100, 2000])
def test_all_is_drawn_and_nothing_is_too_wide(page: Browser, width: int, tmp_path: Path) -> None:
    page.resize(width)
    page.wait(f"{WIDEST} <= {width}")
    assert page.errors == []
    assert page.value(EMPTY) == []
    assert page.value("document.documentElement.scrollWidth") == width
    assert page.value(WIDE) == []
    assert page.value("document.querySelectorAll('.plot').length") > 10
    assert page.value("window.harmed ?? 0") == 0
    page.screenshot(tmp_path / "page.png", whole=False)
    assert (tmp_path / "page.png").stat().st_size > 20_000


def test_a_design_selected_in_one_plot_is_highlighted_in_all(
    page: Browser, material: Material
) -> None:
    label = material.view.front[-1].label
    front = [design.label for design in material.view.front]
    page.value(
        "document.getElementById('front-0').emit('plotly_selected',"
        f" {{points: [{{customdata: '{label}', data: {{}}}}]}})"
    )
    rows = "[...document.querySelectorAll('tr[data-design].selected')].map((r) => r.dataset.design)"
    assert set(page.value(rows)) == {label}
    points = page.value("document.getElementById('front-1').data.map((t) => t.selectedpoints)")
    assert [front.index(label)] in points
    opacity = page.value("document.getElementById('curves').data.map((t) => t.opacity)")
    assert sorted(opacity) == [*[0.12] * (len(material.view.designs) - 1), 1]
    lines = page.value("document.getElementById('parallel').data[0].line.color")
    assert lines.count(min(lines)) == len(lines) - 1
    page.value("document.getElementById('clear').click()")
    assert page.value(rows) == []


def test_any_design_opens_and_two_stand_side_by_side(page: Browser, material: Material) -> None:
    for design in material.view.designs[:2]:
        page.value(f"openDesign('{design.label}')")
        heading = "document.querySelector('#opened h3')?.textContent"
        page.wait(f"{heading}?.startsWith('trial {design.label}:')")
        assert page.value(EMPTY) == []
    picked = page.value("document.querySelectorAll('svg.graph .node').length")
    assert picked >= 7
    third = "document.querySelectorAll('svg.graph .node')[2]"
    page.value(f"{third}.dispatchEvent(new Event('click'))")
    chosen = "document.querySelector('#opened select').selectedOptions[0].textContent"
    node = "document.querySelector('svg.graph .node.chosen text').textContent"
    assert page.value(node) == page.value(chosen)
    heads = page.value("[...document.querySelectorAll('#beside th')].map((h) => h.textContent)")
    assert "baseline eyeriss" in heads
    assert page.errors == []


def test_tables_sort_and_become_csv(page: Browser) -> None:
    column = (
        "[...document.querySelectorAll('#all-designs tbody tr')].map((r) => "
        "Number(r.cells[2].dataset.value))"
    )
    bare = "[...document.querySelectorAll('table.data')].filter((t) => t.tBodies[0].rows.length"
    bare += " && !t.parentElement.previousElementSibling?.matches('button.tools'))"
    assert page.value(f"{bare}.length") == 0
    head = "document.querySelectorAll('#all-designs th')[2]"
    page.value(f"{head}.click()")
    once = page.value(column)
    page.value(f"{head}.click()")
    assert once == sorted(once)
    assert page.value(column) == once[::-1]
    csv = page.value("csvOf(document.querySelector('#all-designs table'))")
    first, *lines = csv.splitlines()
    assert first.startswith("trial,EDP (J s),area (mm2)")
    assert float(lines[0].split(",")[2]) == once[-1]


def test_a_live_page_shows_what_is_new_and_keeps_what_was_chosen(
    browser: Browser, finished_study: Path, tmp_path: Path
) -> None:
    folder = copytree(finished_study, tmp_path / "study")
    lines = (folder / "trials.jsonl").read_text().splitlines(keepends=True)
    (folder / "trials.jsonl").write_text("".join(lines[:3]))
    with live_server(LiveReport(folder), "127.0.0.1", 0) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        browser.open(address_of(server))
        browser.wait("document.getElementById('live').textContent.includes('3 of 6 trials')")
        browser.value("selectDesigns(['1'])")
        (folder / "trials.jsonl").write_text("".join(lines))
        browser.wait("Object.keys(study.rows).length === 7")
        browser.wait("document.querySelectorAll('#all-designs tr.selected').length === 1")
        assert browser.errors == []
        browser.screenshot(tmp_path / "live.png", whole=False)
        server.shutdown()
