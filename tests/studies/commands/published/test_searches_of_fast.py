"""Tables of searches for throughput per TDP: gains, means of cases, curves, fronts, and spaces."""

from dataclasses import replace
from pathlib import Path
from random import Random
from statistics import geometric_mean, median

import pytest
from click.testing import CliRunner
from matplotlib.figure import Figure

from archloom.space.design_space import HardwareSpace, preset, with_technology
from archloom.studies.analysis import read_front
from archloom.studies.commands.cli import app
from archloom.studies.errors import UserError
from archloom.studies.rendering.papers.logarithmic import label_plainly
from archloom.studies.rendering.papers.picture import draw_table
from archloom.studies.rendering.papers.search_curves import search_curves
from archloom.studies.rendering.papers.search_front import search_front
from archloom.studies.solve.papers import read_results, read_table
from archloom.studies.solve.papers.searches.progress import Progress
from archloom.studies.solve.papers.searches.source_file import own_studies
from archloom.studies.storage import read_baseline, read_trials

STUDY = """\
workloads: [tiny_mlp]
space: casco_edge
objectives: [throughput, tdp]
optimizer: {name: random}
halving: {name: none}
trials: 3
batch_size: 3
software: {fusion: none, mapping: random, mapping_evaluations: 30}
executor: {name: inline}
baseline: eyeriss
"""

TABLE = """\
kind: searches
title: Throughput and TDP
study: mine.yaml
cases: [{name: mlp}, {name: cnn, changes: {workloads: [tiny_cnn]}}]
means: [{name: both, cases: [mlp, cnn]}]
methods:
  - name: fixed
    changes: {space: shidiannao, trials: 1, batch_size: 1}
  - {name: found}
seeds: 2
picture: curves
figures: [images_per_s, throughput_gain, perf_per_tdp_gain, throughput_over_first]
published:
  - {metric: throughput_gain, value: 2, case: both, method: found, source: Fig}
"""

SPACES = own_studies()["fast_search"].parent / "spaces"


def written(folder: Path, text: str = TABLE) -> Path:
    (folder / "mine.yaml").write_text(STUDY)
    path = folder / "table.yaml"
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("searches")
    done = CliRunner().invoke(
        app, ["reproduce", str(written(folder)), "--out", str(folder / "out")]
    )
    assert done.exit_code == 0, done.output
    assert "throughput gain, both, found, searched" in done.output
    return folder / "out"


@pytest.fixture(scope="module")
def results(out):
    return read_results(out / "table.json")


@pytest.fixture(scope="module")
def rows(results):
    return {(row.case, row.method): row for row in results.rows}


def test_rates_are_over_those_of_the_baseline_and_of_the_first_method(out, rows):
    assert list(rows) == [(case, method) for case in ("mlp", "cnn", "both")
                          for method in ("fixed", "found")]  # fmt: skip
    rates, gains, cheaper = [], [], []
    for seed in (0, 1):
        folder = out / "table-studies" / f"cnn-found-{seed}"
        picked, theirs = read_front(folder).picked, read_baseline(folder)
        rate, base = (
            one.networks["tiny_cnn"].batch / one.networks["tiny_cnn"].latency_s
            for one in (picked, theirs)
        )
        rates.append(rate)
        gains.append(rate / base)
        cheaper.append(rate / base * theirs.tdp_w / picked.tdp_w)
    figures = rows["cnn", "found"].figures
    assert figures["images_per_s"] == pytest.approx(median(rates))
    assert figures["throughput_gain"] == pytest.approx(median(gains))
    assert figures["perf_per_tdp_gain"] == pytest.approx(median(cheaper))
    first = rows["cnn", "fixed"].figures["images_per_s"]
    assert figures["throughput_over_first"] == pytest.approx(median(rates) / first)
    fixed = rows["cnn", "fixed"].seeds[0]
    assert fixed.tdp_w != pytest.approx(fixed.baseline_tdp_w)


def test_a_mean_stands_for_its_cases(rows):
    parts = [rows[case, "found"].figures["throughput_gain"] for case in ("mlp", "cnn")]
    assert rows["both", "found"].figures["throughput_gain"] == pytest.approx(geometric_mean(parts))
    assert "images_per_s" not in rows["both", "found"].figures


def test_progress_is_the_best_of_the_trials_in_their_order(out, rows):
    folder = out / "table-studies" / "cnn-found-1"
    best, found = rows["cnn", "found"].seeds[1].progress.best, 0.0
    trials = sorted(read_trials(folder), key=lambda trial: trial.number)
    for trial, figure in zip(trials, best, strict=True):
        found = max(found, trial.values.get("throughput_per_s", 0.0))
        assert (figure or 0.0) == pytest.approx(found)


def test_half_of_the_trials_and_trials_to_an_aim():
    rising = Progress(("x",), True, (None, 4.0, 8.0, 10.0), ())
    assert rising.values == {"best_at_half_percent": pytest.approx(40)}
    assert [rising.trials_to(aim) for aim in (4.2, 10.5, 11)] == [2, 4, float("inf")]
    falling = Progress(("x",), False, (4.0, 2.0), ())
    assert falling.values == {"best_at_half_percent": pytest.approx(50)}
    assert falling.trials_to(1.95) == 2
    assert Progress(("x",), True, (None, None, 3.0), ()).values == {}


def test_pictures_have_a_curve_or_a_front_of_each_method(out, results, tmp_path):
    assert (out / "table.png").stat().st_size > 1000
    searched = [row for row in results.rows if row.seeds]
    curves = search_curves(results.table, searched)
    assert [axes.get_title(loc="left") for axes in curves.axes] == ["mlp", "cnn"]
    assert [len(axes.lines) for axes in curves.axes] == [2, 2]
    front = replace(results, table=replace(results.table, picture="front"))
    drawn = search_front(front.table, searched).axes[1]
    designs = sum(len(one.progress.front) for row in searched[2:] for one in row.seeds)
    points = [len(dots.get_offsets()) for dots in drawn.collections]
    assert sum(points[:-1]) == designs
    baselines = {one.progress.baseline for row in searched[2:] for one in row.seeds}
    assert points[-1] == len(baselines)
    draw_table(front, tmp_path / "front.png")
    assert (tmp_path / "front.png").read_bytes() != (out / "table.png").read_bytes()


@pytest.mark.parametrize(
    ("limits", "labels"),
    [((4, 60), ["5", "10", "20", "50"]), ((0.03, 900), ["0.1", "1", "10", "100"])],
)
def test_logarithmic_axes_have_plain_numbers(limits, labels):
    figure = Figure()
    axes = figure.subplots()
    axes.set_yscale("log")
    axes.set_ylim(*limits)
    label_plainly(axes.yaxis)
    figure.draw_without_rendering()
    ticks = [*axes.yaxis.get_major_ticks(), *axes.yaxis.get_minor_ticks()]
    ticks = [one for one in ticks if limits[0] <= one.get_loc() <= limits[1]]
    said = {one.get_loc(): text for one in ticks if (text := one.label1.get_text())}
    assert [said[at] for at in sorted(said)] == labels


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("cases: [mlp, cnn]}]", "cases: [mlp, cnm]}]", "means[0].cases[1]: 'cnm' is unknown"),
        ("{name: both,", "{name: mlp,", "means[0].name: 'mlp' is the name of another row"),
        ("picture: curves", "picture: curve", "picture: 'curve'"),
        ("space: shidiannao", "space: shidianao", "did you mean shidiannao"),
    ],
)
def test_mistakes_are_named(tmp_path, old, new, part):
    with pytest.raises(UserError) as caught:
        read_table(written(tmp_path, TABLE.replace(old, new, 1)))
    assert part in str(caught.value)


def test_spaces_of_the_tables_differ_from_ours_in_what_they_say():
    mine = HardwareSpace.load(SPACES / "tpu_v3_n7.yaml").build({})
    theirs = with_technology(preset("tpu_v3"), "n7")
    assert replace(mine, name=theirs.name) == theirs
    fast = HardwareSpace.load("fast")
    copy, spread = (HardwareSpace.load(SPACES / f"fast_n7{end}.yaml") for end in ("", "_depthwise"))
    assert copy.parameters == spread.parameters == fast.parameters
    random = Random(0)
    for _ in range(20):
        point = {p.name: random.choice(p.values) for p in fast.parameters}
        ours = with_technology(fast.build(point), "n7")
        assert replace(copy.build(point), name=ours.name) == ours
        other = replace(spread.build(point), name=ours.name)
        changed = [(old, new) for old, new in zip(ours.levels, other.levels, strict=True)
                   if old != new]  # fmt: skip
        assert replace(other, levels=ours.levels) == ours
        for old, new in changed:
            assert set(new.spatial_x) - set(old.spatial_x) == {"Q"}
            assert set(new.spatial_y) - set(old.spatial_y) == {"G"}
        assert len(changed) == 1
