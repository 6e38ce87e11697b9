"""``archloom report``: the view of a study, its plots, and a page that stands alone."""

import json
import re
from dataclasses import replace
from math import log10, prod
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from click.testing import CliRunner

from archloom.search.budget.protocol import Curve
from archloom.search.objectives import AREA, EDP, TDP, Limit, Objective, ObjectiveSet
from archloom.search.pareto import hypervolume, non_dominated
from archloom.studies.analysis.study_view import Design, StudyView, hypervolume_reference, load_view
from archloom.studies.commands.cli import app
from archloom.studies.errors import UserError
from archloom.studies.rendering.html import number, table
from archloom.studies.rendering.pictures import plots
from archloom.studies.rendering.report.material import Gatherer, Material
from archloom.studies.rendering.report.page import page_values, study_page
from archloom.studies.rendering.report.report import write_report
from archloom.studies.storage.records import read_trials
from archloom.studies.storage.trial import BASELINE, Crash, Trial

from ....cases.pages import Page, everything

EVIL = "<script>alert('x')</script>"


@pytest.fixture(scope="module")
def view(finished_study: Path) -> StudyView:
    return load_view(finished_study)


@pytest.fixture(scope="module")
def page(finished_study: Path) -> Page:
    return Page(study_page(page_values(Gatherer(finished_study).gather())))


def rendered(view: StudyView) -> str:
    return study_page(page_values(Material(view)))


CURVE = Curve((1, 10), (9.0, 4.0))


def trial(number: int, edp: float, area: float, tdp: float, **fields: Any) -> Trial:
    """A trial whose every text is hostile."""
    known = {"batch": 0, "state": "complete", "rounds": 1, "hardware": EVIL, "point": None}
    figures = {"edp_js": edp, "area_mm2": area, "tdp_w": tdp}
    return Trial(number=number, **known | figures | fields)


LOSS = replace(
    trial(4, 1.0, 1.0, 1.0, state="failed", point={EVIL: EVIL}, crash=Crash(EVIL, EVIL, EVIL)),
    edp_js=None,
)


def by_hand(**changes: object) -> StudyView:
    """A view whose every text is hostile."""
    points = [(4.0, 1.0, 1.0), (2.0, 2.0, 1.0), (1.0, 3.0, 2.0), (5.0, 5.0, 5.0)]
    front = non_dominated(points)
    designs = tuple(
        Design(
            trial(i, *point, point={EVIL: i, "same": EVIL}, evaluations=10, curve=CURVE), bool(on)
        )
        for i, (point, on) in enumerate(zip(points, front, strict=True))
    )
    view = StudyView(
        name=EVIL,
        facts=(("networks", EVIL),),
        designs=designs,
        losses=(LOSS,),
        baseline=Design(trial(BASELINE, 3.0, 3.0, 3.0)),
        picked=1,
        reference=(6.0, 6.0, 6.0),
        hypervolume=((10, 0.1), (20, 0.2), (30, 0.3), (40, 0.3)),
    )
    return replace(view, **changes)  # type: ignore[arg-type]


def test_the_view_is_what_the_store_holds(view: StudyView, finished_study: Path) -> None:
    records = read_trials(finished_study)
    assert [design.label for design in view.designs] == [str(r.number) for r in records]
    values = [design.costs(view.objective_set.objectives) for design in view.designs]
    assert [design.on_front for design in view.designs] == list(non_dominated(values))
    assert view.picked is not None
    assert view.designs[view.picked].on_front
    assert view.baseline is not None
    assert view.baseline.label == "eyeriss"
    assert view.designs[0].parameters == records[0].point


def test_hypervolume_grows_to_that_of_all_designs(view: StudyView) -> None:
    volumes = [volume for _, volume in view.hypervolume]
    assert volumes == sorted(volumes)
    assert view.reference is not None
    assert view.reference[1:] == (20, 2)  # the study's caps
    values = [design.costs(view.objective_set.objectives) for design in view.designs]
    ideal = [min(column) for column in zip(*values, strict=True)]
    box = prod(log10(r / best) for r, best in zip(view.reference, ideal, strict=True))
    assert volumes[-1] == pytest.approx(100 * hypervolume(values, view.reference) / box)
    assert 0 < volumes[-1] <= 100
    assert view.hypervolume[-1][0] == sum(design.trial.evaluations for design in view.designs)


def test_without_caps_the_reference_is_beyond_the_worst() -> None:
    caps = {"area_mm2": None, "tdp_w": 7.0}
    costs = [(1.0, 20.0, 3.0), (10.0, 2.0, 3.0)]
    assert hypervolume_reference(costs, ObjectiveSet(), caps) == pytest.approx((11.0, 22.0, 7.0))
    limited = ObjectiveSet(limits=(Limit(EDP, 9.0),))
    assert hypervolume_reference(costs, limited, caps) == pytest.approx((9.0, 22.0, 7.0))
    shares = ObjectiveSet((Objective("utilisation"),), (Limit(Objective("utilisation"), 0.25),))
    assert hypervolume_reference([(2.0,)], shares, caps) == (4.0,)


def test_the_page_needs_nothing_from_elsewhere(page: Page) -> None:
    assert {load for load in page.loads if not load.startswith("a #")} == set()
    assert page.open == []
    targets = {load.removeprefix("a #") for load in page.loads}
    assert targets == set(re.findall(r'<h2 id="([\w-]+)"', page.html))


def test_the_page_says_what_was_studied_and_how_it_is_priced(page: Page, view: StudyView) -> None:
    assert "tiny_cnn" in page.text
    assert "cacti_45nm" in page.text
    assert "lpddr4 at 8 pJ/bit" in page.text
    assert view.picked is not None
    assert f"trial {view.designs[view.picked].label}" in page.text
    for word in ("unfused", "less than eyeriss", "Hypervolume", "reference point"):
        assert word in page.text
    for word in ("block.conv2", "spad"):
        assert word in everything(page.html)


def test_the_same_study_gives_the_same_page(finished_study: Path, tmp_path: Path) -> None:
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        copytree(finished_study, folder)
        _, picture = write_report(folder)
        assert picture.read_bytes().startswith(b"\x89PNG\r\n")
    assert (folders[0] / "report.html").read_bytes() == (folders[1] / "report.html").read_bytes()


def test_the_command_says_what_it_wrote(finished_study: Path, tmp_path: Path) -> None:
    copytree(finished_study, tmp_path / "study")
    done = CliRunner().invoke(app, ["report", str(tmp_path / "study")])
    assert done.stdout.split() == [
        str(tmp_path / "study" / n) for n in ("report.html", "report.png")
    ]
    assert all(Path(line).exists() for line in done.stdout.split())


def test_a_study_without_trials_has_no_report(finished_study: Path, tmp_path: Path) -> None:
    copytree(finished_study, tmp_path / "study")
    (tmp_path / "study" / "trials.jsonl").write_text("")
    with pytest.raises(UserError, match="no finished trial yet"):
        write_report(tmp_path / "study")


def test_texts_of_users_are_never_markup() -> None:
    page, harmless = Page(rendered(by_hand())), Page(rendered(by_hand(name="n", losses=())))
    assert EVIL not in page.html
    assert page.scripts == harmless.scripts
    assert page.text.count(EVIL) > 5
    # plots read markup; all else that is packed becomes text in the browser
    traces = [trace for plot in page.data["plots"].values() for trace in plot["data"]]
    shown = [trace.get(key, "") for trace in traces for key in ("name", "hovertemplate")]
    layouts = [plot["layout"] for plot in page.data["plots"].values()]
    axes = [axis["label"] for trace in traces for axis in trace.get("dimensions", ())]
    assert EVIL not in json.dumps([shown, layouts, axes, list(page.data["hover"].values())])


def test_a_study_of_failures_alone_still_has_a_page() -> None:
    view = by_hand(designs=(), picked=None, reference=None, hypervolume=(), baseline=None)
    text = Page(rendered(view)).text
    assert "0 designs" in text
    assert "Trials without an EDP" in text


def test_the_front_stands_out_with_pick_and_baseline() -> None:
    view = by_hand()
    figure = plots.objectives(view, EDP, AREA, TDP)
    traces = {trace.name: trace for trace in figure.data if trace.name}
    assert list(traces["Pareto front"].x) == [3.0, 2.0, 1.0]  # by EDP
    assert list(traces["Pareto front"].marker.color) == [2.0, 1.0, 1.0]  # TDP
    assert list(traces["dominated"].x) == [5.0]
    assert (traces["selected design"].x[0], traces["selected design"].y[0]) == (2.0, 2.0)
    assert sum(name.startswith("baseline") for name in traces) == 1
    assert "same: &lt;script" in traces["Pareto front"].hovertext[0]


def test_stopped_trials_are_faded_and_named_once() -> None:
    designs = [
        replace(d, trial=replace(d.trial, state="stopped"), on_front=False)
        for d in by_hand().designs[:2]
    ]
    figure = plots.curves(by_hand(designs=(*designs, by_hand().designs[2])))
    assert [trace.name for trace in figure.data] == ["stopped", "stopped", "Pareto front"]
    assert [trace.showlegend for trace in figure.data] == [True, False, True]
    assert {trace.line.color for trace in figure.data[:2]} == {plots.FADED}


def test_parameters_that_do_not_vary_have_no_axis() -> None:
    (trace,) = plots.parallel_coordinates(by_hand()).data
    assert [axis.label for axis in trace.dimensions] == [
        "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;",
        "area (mm2)",
        "TDP (W)",
    ]
    assert list(trace.dimensions[0]["values"]) == [2, 1, 0]


def test_numbers_are_for_people() -> None:
    assert [number(v) for v in (0, 12345, 12345.6, 3.14159, 2.5e-7)] == [
        "0",
        "12,345",
        "12,345.6",
        "3.142",
        "2.500e-07",
    ]


def test_columns_of_numbers_are_aligned_right() -> None:
    html = table(["name", "size"], [["a", 1], ["b", None]], marked=1)
    assert html.count('class="number"') == 3
    assert html.index("picked") > html.index(">a<")


def test_a_trial_that_crashed_after_it_had_a_price_is_shown_as_both(
    finished_study: Path, tmp_path: Path
) -> None:
    copytree(finished_study, tmp_path / "study")
    records = [trial.to_dict() for trial in read_trials(finished_study)]
    crash = {"error": "KeyError", "message": "later", "traceback": "KeyError: later"}
    records[1] |= {"state": "failed", "crash": crash}
    lines = "".join(json.dumps(record) + "\n" for record in records)
    (tmp_path / "study" / "trials.jsonl").write_text(lines)
    view = load_view(tmp_path / "study")
    assert records[1]["edp_js"] in [design.figure(EDP) for design in view.designs]
    assert ("1", Crash(**crash)) in [(trial.label, trial.crash) for trial in view.losses]
