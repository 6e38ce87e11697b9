"""The page of a study across the stack stands alone, shows what was refused, and trusts no text."""

from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from archloom.studies.analysis.stack import judge, read_record
from archloom.studies.errors import UserError
from archloom.studies.rendering.stack import plots, print_verdicts, verdict_rows, write_stack_report
from archloom.studies.rendering.stack.report import render

from ....cases.stack_records import NO_KERNEL, Rules, even, stack_results

EVIL = "<script>alert('x')</script>"


class Page(HTMLParser):
    """Reads a page: what it loads from elsewhere, its scripts and its text."""

    VOID = ("meta",)

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []
        self.text = ""
        self.scripts: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loads += [f"{tag} {value}" for name, value in attrs if name in ("src", "href")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        elif self.open and self.open[-1] != "style":
            self.text += data + "\n"


def rule(model: str, compression: str, algorithm: str, tuned: bool) -> float | str:
    """Tuned is faster; one row is noisy."""
    if (model, compression, algorithm, tuned) == ("small", "float16", "direct", True):
        return "noisy"
    time = even(model, compression, algorithm, tuned)
    return time if isinstance(time, str) else time * (1 if tuned else 3)


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    return stack_results(Rules(times=rule))


@pytest.fixture(scope="module")
def page(results: dict[str, Any]) -> Page:
    return Page(render(results))


def test_the_page_needs_nothing_else(page: Page) -> None:
    assert page.open == []
    assert page.loads == []


def test_it_says_what_was_run_where_and_what_was_refused(page: Page) -> None:
    for text in ("a processor", "avx2", "halide 21.0.0", "0.5 to 1.5", "digits"):
        assert text in page.text
    # 4 models, 7 compressions, 3 algorithms, 2 states; no CSR with spatial pack
    assert "151 timed" in page.text
    assert "of 168; 1 measurements refused, 16 without a kernel" in page.text
    assert "why: noisy" in page.text
    assert f"why: {NO_KERNEL}" in page.text


def test_it_has_the_verdicts_beside_the_papers(page: Page, results: dict[str, Any]) -> None:
    for row in verdict_rows(judge(results)):
        for text in row:
            assert text in page.text
    assert "small, weights 0.95: 0.10 (0.09 to 0.11)" in page.text


def test_equal_studies_are_equal_files(results: dict[str, Any], tmp_path: Path) -> None:
    for name in ("a.html", "b.html"):
        write_stack_report(results, tmp_path / name)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_a_folder_that_is_not_there_is_named(results: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none/a\.html cannot be written"):
        write_stack_report(results, tmp_path / "none" / "a.html")


def test_hostile_names_are_text(results: dict[str, Any]) -> None:
    hostile = {**results, "name": EVIL, "study": {EVIL: [EVIL, {EVIL: EVIL}]}}
    hostile["machine"] = {**results["machine"], "cpu": EVIL}
    hostile["points"] = [
        {**point, "model": EVIL + point["model"], "compression": EVIL + point["compression"]}
        for point in results["points"]
    ]
    page = Page(render(hostile))
    assert page.open == []
    assert EVIL in page.text
    # inside the scripts of plots an end tag would end them
    assert not any(EVIL in script for script in page.scripts)


def test_a_study_without_a_time_has_a_page() -> None:
    def none(model: str, compression: str, algorithm: str, tuned: bool) -> str:
        del model, compression, algorithm, tuned
        return "machine_busy"

    page = Page(render(stack_results(Rules(times=none))))
    assert "0 timed" in page.text
    assert "168 refused" in page.text


def test_curves_have_all_levels_and_ring_the_elbows() -> None:
    def falling(model: str, compression: str) -> list[float]:
        return [60.0] if (model, compression) == ("small", "weights 0.95") else [95.0]

    figure = plots.accuracy_curves(read_record(stack_results(Rules(accuracies=falling))))
    curve = next(trace for trace in figure.data if trace.name == "small")
    assert (curve.x, curve.y) == ((0.0, 0.8, 0.95), (95.0, 95.0, 60.0))
    rings = [trace for trace in figure.data if trace.marker.symbol == "circle-open"]
    weights = [trace.x for trace in rings if trace.legendgroup == "small"]
    assert weights == [(0.8,), (0.8,)]
    assert [trace.x for trace in rings if trace.legendgroup == "large"] == [(0.95,), (0.8,)]


def test_times_are_where_they_belong(results: dict[str, Any]) -> None:
    figure = plots.times(read_record(results), "small")
    found = {trace.name: trace for trace in figure.data if trace.mode == "markers"}
    assert len(found["direct, tuned"].x) == 6
    assert len(found["direct, untuned"].x) == 7
    assert len(found["spatial pack, tuned"].x) == 5
    assert found["GEMM, untuned"].y[0] == pytest.approx(3 * found["GEMM, tuned"].y[0])
    assert list(figure.layout.xaxis.ticktext)[1] == "weights 0.8"


def test_gains_are_over_the_dense_model(results: dict[str, Any]) -> None:
    figure = plots.gains(read_record(results))
    found = {trace.name: trace for trace in figure.data}
    channels = found["channel pruning, tuned"]
    assert channels.x == pytest.approx((1 / 0.3, 10) * 4)
    assert channels.y == pytest.approx(channels.x)
    assert found["float16, untuned"].y == pytest.approx([1.0] * 4)


def test_the_front_is_marked(results: dict[str, Any]) -> None:
    figure = plots.front(read_record(results))
    front = next(trace for trace in figure.data if trace.name == "Pareto front")
    assert len(front.x) == len(results["front"])
    timed = [point for point in results["points"] if point["status"] == "timed"]
    assert sum(len(trace.x) for trace in figure.data) == len(timed)


def test_verdicts_are_printed(results: dict[str, Any]) -> None:
    out = StringIO()
    print_verdicts(results, Console(file=out, width=200, color_system=None))
    lines = out.getvalue().splitlines()
    shown = [line.split()[0] for line in lines if line.strip() and line[2].isalpha()]
    assert [number for number in shown if set(number) <= set("IVX")][-1] == "XIII"
    (two,) = [line for line in lines if line.strip().startswith("II ")]
    assert "holds" in two
    assert "4 of 4 cases" in two
