"""Tables of searches: a small one run, resumed, killed and run again; files and their mistakes."""

import json
from dataclasses import replace
from math import prod
from shutil import copytree
from statistics import median

import pytest
from click.testing import CliRunner

from archloom.search import hypervolume, non_dominated
from archloom.studies.analysis import read_front
from archloom.studies.commands.cli import app
from archloom.studies.commands.published import searching
from archloom.studies.commands.study.run import carry_out
from archloom.studies.config import kind_of, load_config
from archloom.studies.engine.executors.ray_session import RaySession
from archloom.studies.engine.interrupt import Stopped
from archloom.studies.errors import UserError
from archloom.studies.rendering.papers.search_bars import search_bars
from archloom.studies.rendering.pictures import SERIES
from archloom.studies.solve.papers import own_tables, read_results, read_table
from archloom.studies.solve.papers.budgets import merged
from archloom.studies.solve.papers.searches import search_studies
from archloom.studies.solve.papers.searches.source_file import own_studies
from archloom.studies.solve.stack import load_stack
from archloom.studies.storage import read_baseline, read_trials

STUDY = """\
workloads: [tiny_cnn]
validation: [tiny_mobile]
space: casco_edge
optimizer: {name: random}
halving: {name: msh, rounds: 2, first_budget: 2}
trials: 4
batch_size: 4
software: {fusion: casco, population: 4, mapping: random, mapping_evaluations: 40}
executor: {name: inline}
baseline: eyeriss
"""

TABLE = """\
kind: searches
title: Searches
study: mine.yaml
cases: [{name: one}, {name: both, changes: {workloads: [tiny_cnn, tiny_mobile], validation: []}}]
methods:
  - {name: msh}
  - {name: plain, changes: {halving: {name: none, evaluations: 3}}}
  - {name: least, picked_from: msh, pick: lexicographic}
seeds: 2
figures: [edp_gain, plans, edp_over_first]
published:
  - {metric: edp_gain, value: 1.5, case: one, method: plain, network: tiny_mobile, source: Fig}
"""


def written(folder, text=TABLE, study=STUDY):
    (folder / "mine.yaml").write_text(study)
    path = folder / "small.yaml"
    path.write_text(text)
    return path


def run(*words):
    return CliRunner().invoke(app, ["reproduce", *map(str, words)])


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("searches")
    done = run(written(folder), "--out", folder / "out")
    assert done.exit_code == 0, done.output
    return folder / "out"


def test_rows_have_the_medians_of_what_ordinary_studies_picked(out):
    rows = {tuple(row.labels.values()): row for row in read_results(out / "small.json").rows}
    assert list(rows) == [
        ("one", "searched", "msh"),
        ("one", "tiny_mobile", "msh"),
        ("one", "searched", "plain"),
        ("one", "tiny_mobile", "plain"),
        ("one", "searched", "least"),
        ("one", "tiny_mobile", "least"),
        ("both", "searched", "msh"),
        ("both", "searched", "plain"),
        ("both", "searched", "least"),
    ]
    edp, gain, plans = {}, [], []
    for method in ("msh", "plain"):
        for seed in (0, 1):
            folder = out / "small-studies" / f"one-{method}-{seed}"
            picked, theirs = read_front(folder).picked, read_baseline(folder)
            ours, base = picked.networks["tiny_cnn"], theirs.networks["tiny_cnn"]
            pair = [(n.energy_pj * 1e-9 / n.batch, n.latency_s * 1e3) for n in (ours, base)]
            edp.setdefault(method, []).append(prod(pair[0]))
            if method == "plain":
                gain.append(prod(pair[1]) / prod(pair[0]))
                plans.append(sum(trial.evaluations for trial in read_trials(folder)))
    figures, row = rows["one", "searched", "plain"].figures, rows["one", "searched", "plain"]
    assert figures["edp_gain"] == pytest.approx(median(gain))
    assert row.spread("edp_gain") == pytest.approx((min(gain), max(gain)))
    assert figures["plans"] == median(plans) == 12
    ratio = median(edp["plain"]) / median(edp["msh"])
    assert figures["edp_over_first"] == pytest.approx(ratio)
    assert rows["both", "searched", "msh"].figures["edp_over_first"] == pytest.approx(1)


def test_hypervolumes_are_those_of_the_fronts_below_one_corner(out):
    rows = {row.method: row for row in read_results(out / "small.json").rows if row.case == "both"}
    fronts = {}
    for folder in (out / "small-studies").glob("both-*"):
        front = read_front(folder)
        fronts[folder.name] = [trial.costs(front.objective_set) for trial in front.members]
    every = [costs for front in fronts.values() for costs in front]
    known = [costs for costs, stays in zip(every, non_dominated(every), strict=True) if stays]
    corner = [1.1 * max(column) for column in zip(*known, strict=True)]
    shares = {
        name: hypervolume(front, corner) / hypervolume(known, corner)
        for name, front in fronts.items()
    }
    for method in ("msh", "plain"):
        mine = [shares[f"both-{method}-{seed}"] for seed in (0, 1)]
        assert rows[method].figures["hypervolume"] == pytest.approx(median(mine))
        assert rows[method].spread("hypervolume") == pytest.approx((min(mine), max(mine)))
    assert 0 < max(shares.values()) <= 1 + 1e-9
    # the same searches, of which another design is picked
    assert {p.name for p in (out / "small-studies").iterdir()}.isdisjoint({"both-least-0"})
    for metric in ("hypervolume", "plans", "plans_to_90_percent"):
        assert rows["least"].figures[metric] == rows["msh"].figures[metric]
    for seed in (0, 1):
        least = read_front(out / "small-studies" / f"both-msh-{seed}", "lexicographic").picked
        assert rows["least"].seeds[seed].area_mm2 == least.area_mm2


def test_what_is_written_can_be_read_by_people(out):
    assert {p.name for p in out.iterdir()} == {
        "small.json", "small.md", "small.png", "small.html", "small-studies",
        "papers.md", "index.html",
    }  # fmt: skip
    text = (out / "small.md").read_text()
    assert "| case | network | method | EDP gain | plans evaluated | EDP over first |" in text
    assert "| EDP gain, one, plain, tiny_mobile | 1.50 | " in text
    assert " to " in text
    assert "| both | searched | plain |" in text


def test_a_run_that_was_stopped_goes_on_and_ends_the_same(out, tmp_path, monkeypatch):
    path, again = written(tmp_path), tmp_path / "again"
    right, count = search_studies.figures_of, 0

    def killed(*args):
        nonlocal count
        count += 1
        if count == 2:
            raise KeyboardInterrupt
        return right(*args)

    monkeypatch.setattr("archloom.studies.solve.papers.searches.search_rows.figures_of", killed)
    assert run(path, "--sets", 1, "--out", again).exit_code == 130
    journal = again / "small-studies" / "one-msh-0" / "trials.jsonl"
    kept = journal.read_bytes(), journal.stat().st_mtime_ns
    assert run(path, "--sets", 1, "--out", again).exit_code == 0
    assert (journal.read_bytes(), journal.stat().st_mtime_ns) == kept
    rows, all_rows = (read_results(folder / "small.json").rows for folder in (again, out))
    assert rows == all_rows[: len(rows)]
    assert len(rows) == 6


def test_fewer_seeds_are_the_first_and_their_studies_are_not_run_again(out, tmp_path):
    copytree(out, tmp_path / "out")
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("trials.jsonl")}
    done = run(written(tmp_path), "--seeds", 1, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("trials.jsonl")} == kept
    before, after = (read_results(folder / "small.json").rows for folder in (out, tmp_path / "out"))
    assert [row.labels for row in after] == [row.labels for row in before]
    first = [[one.seed for one in row.seeds] for row in after]
    assert first == [[0]] * len(before)
    assert all(not row.ranges for row in after)


def test_bars_of_more_methods_than_colours_are_told_apart(out):
    results = read_results(out / "small.json")
    row = next(row for row in results.rows if row.case == "both")
    names = [f"method_with_a_long_name_{k}" for k in range(len(SERIES) + 2)]
    picture = search_bars(results.table, [replace(row, method=name) for name in names])
    hatched = [bool(bar.get_hatch()) for bar in picture.axes[0].patches]
    assert hatched == [False] * len(SERIES) + [True] * 2


def test_whole_results_are_written_anew_without_their_studies(out, tmp_path):
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "small.json").write_bytes((out / "small.json").read_bytes())
    assert run(written(tmp_path), "--out", kept).exit_code == 0
    assert not (kept / "small-studies").exists()
    assert (kept / "small.md").read_bytes() == (out / "small.md").read_bytes()


def test_more_seeds_are_more_searches(tmp_path):
    path = written(tmp_path, TABLE.replace("seeds: 2", "seeds: [7]"))
    found = run(path, "--sets", 1, "--seeds", 2, "--json")
    rows = json.loads(found.stdout)["small"]["rows"]
    assert {tuple(one["seed"] for one in row["seeds"]) for row in rows} == {(0, 1)}


def test_studies_share_what_ray_started_and_it_ends_with_them(tmp_path, monkeypatch):
    sessions, closed = [], []

    def carried_out(*args, session):
        sessions.append(session)
        if len(sessions) == 2:
            raise Stopped
        return carry_out(*args, session=session)

    monkeypatch.setattr(searching, "carry_out", carried_out)
    monkeypatch.setattr(RaySession, "close", lambda self: closed.append(self))
    assert run(written(tmp_path), "--sets", 1).exit_code == 130
    assert sessions[0] is sessions[1]
    assert closed == sessions[:1]


def test_without_a_folder_nothing_stays(tmp_path):
    found = run(written(tmp_path, TABLE.replace("seeds: 2", "seeds: 1")), "--sets", 1, "--json")
    assert found.exit_code == 0, found.output
    assert {row["case"] for row in json.loads(found.stdout)["small"]["rows"]} == {"one"}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine.yaml", "small.yaml"]


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("study: mine.yaml", "study: yours.yaml", "study: 'yours.yaml' is no study file beside"),
        ("name: none,", "name: nonne,", "methods[1].changes.halving"),
        ("[tiny_cnn, tiny_mobile]", "[tiny_cnm]", "cases[1].changes.workloads[0]"),
        ("{name: msh}", "{name: msh, method: hasko}", "method 'hasko' is unknown"),
        ("{name: plain,", "{name: plain, method: casco,", "changes.halving: method casco decides"),
        ("{name: plain,", "{name: msh,", "methods: 'msh' occurs twice"),
        ("_from: msh", "_from: mhs", "methods[2].picked_from: 'mhs' does not search; did you mean"),
        ("_from: msh", "_from: least", "methods[2].picked_from: 'least' does not search"),
        ("_from: msh", "_from: msh, method: casco", "methods[2].method: the searches are those of"),
        ("_from: msh", "_from: msh, changes: {trials: 3}", "methods[2].changes: the searches are"),
        ("pick: lexic", "pick: lexik", "methods[2].pick: pick rule 'lexikographic' is unknown"),
        ("changes: {halving", "changes: {objectives: [edp], halving", "changes.objectives: all"),
        ("seeds: 2", "seeds: [1, 1]", "seeds: '1' occurs twice"),
        ("case: one", "case: ome", "published[0].case: 'ome' is unknown; did you mean one"),
        ("metric: edp_gain", "metric: tdp_w", "published[0].metric: tdp_w is none of the figures"),
        ("name: both", "name: a/b", "must have letters, digits"),
    ],
)
def test_mistakes_are_named(tmp_path, old, new, part):
    assert old in TABLE
    with pytest.raises(UserError) as caught:
        read_table(written(tmp_path, TABLE.replace(old, new, 1)))
    assert part in str(caught.value)
    assert "small.yaml" in str(caught.value)


def test_changes_are_merged_but_another_component_has_its_own_options():
    keys = {"optimizer": {"name": "mobo", "initial": 8}, "trials": 3}
    assert merged(keys, {"optimizer": {"update_filter": "none"}})["optimizer"] == {
        "name": "mobo", "initial": 8, "update_filter": "none",
    }  # fmt: skip
    assert merged(keys, {"optimizer": {"name": "random"}}) == {
        "optimizer": {"name": "random"}, "trials": 3,
    }  # fmt: skip


def test_studies_and_tables_that_come_along_are_read():
    for path in own_studies().values():
        read = load_stack if kind_of(path) == "stack" else load_config
        assert read(path).name == path.stem
    table = read_table(own_tables()["casco_generalisation"])
    assert [row.labels["network"] for row in table.published][:2] == ["searched", "mobilenetv2"]
