"""Budgets of table files, and all tables in one command: mistakes, files, failures, a stop."""

import json

import pytest
from click.testing import CliRunner

from archloom.studies.commands.cli import app
from archloom.studies.commands.published import files, listing, measuring
from archloom.studies.commands.published.overview import overview, results_in
from archloom.studies.errors import UserError
from archloom.studies.solve.papers import read_results, read_table, read_table_file
from archloom.studies.solve.papers.searches.search_studies import study_of

from ....source_tree import ROOT

KEPT = ROOT / "docs" / "papers"

STREAMS = """\
title: Woven
paper: Layerweaver
source: Fig. 1
chips: [{npu: memory_centric, batch: 1}]
networks: [[mobilenetv2, resnet50], [bert_base]]
schedulers: [{name: layerweaver}, {name: strings}]
published:
  - {metric: antt, value: 0.1, npu: memory_centric, batch: 1, scheduler: strings, source: A, why: B}
  - {metric: antt, value: 1.4, npu: memory_centric, batch: 1, scheduler: layerweaver, source: A}
  - {metric: share_percent, value: 1, npu: memory_centric, batch: 1, scheduler: layerweaver,
     source: A}
cost: {tiny: 1, full: 7200}
budgets:
  tiny: {networks: [[resnet50], [bert_base]]}
  small: {networks: [[resnet50], [bert_base]], schedulers: [{name: strings}]}
"""

BROKEN = """\
kind: plans
title: Broken
designs: [{hardware: free.yaml}]
networks: [tiny_cnn]
mappings: [{name: few, search: local, evaluations: 10}]
planners: [{fusion: none}]
"""

IMPOSSIBLE = """\
title: Impossible
chips: [{npu: compute_centric, batch: 16}]
networks: [[resnet50], [bert_base]]
maps: fit
schedulers: [{name: strings}]
"""


def run(*words):
    return CliRunner().invoke(app, ["reproduce", *map(str, words)])


def file(folder, text=STREAMS, name="woven"):
    path = folder / f"{name}.yaml"
    path.write_text(text)
    return path


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """Let these tables be all that there are."""
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "free.yaml").write_text("name: free\n")
    texts = {"broken": BROKEN, "impossible": IMPOSSIBLE, "other": STREAMS, "woven": STREAMS}
    paths = {name: file(folder, text, name) for name, text in texts.items()}
    for module in (files, listing):
        monkeypatch.setattr(module, "own_tables", lambda: paths)
    return paths


def test_all_mistakes_of_budgets_are_named_at_once_with_their_places(tmp_path):
    text = STREAMS.replace(
        "tiny: {networks: [[resnet50], [bert_base]]}",
        "tiny: {networks: [[resnet5], [bert_base]], netwoks: 1, maps: fitt}",
    ).replace("schedulers: [{name: strings}]}", "chips: []}")
    text = text.replace("cost: {tiny: 1,", "cost: {tini: 1, small: -1,")
    with pytest.raises(UserError) as caught:
        read_table(file(tmp_path, text))
    said = str(caught.value)
    for part in (
        "budgets.tiny.networks[0][0]: network 'resnet5' is unknown",
        "budgets.tiny.netwoks: is an unknown key; did you mean networks",
        "budgets.tiny.maps: 'fitt' is unknown; did you mean fit",
        "budgets.small.chips: needs at least one entry",
        "cost.tini: is an unknown key; did you mean tiny",
        "cost.small: -1 must be greater than 0",
        "line 15",
    ):
        assert part in said


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("tiny: {networks", "tiny: {paper: X, networks", "budgets.tiny: paper cannot differ"),
        ("  small: {networks: [[resnet50], [bert_base]], schedulers: [{name: strings}]}",
         "  smal: {}", "budgets.smal: is an unknown key; did you mean small"),
        ("small: {networks", "small: [{networks", "must be a mapping of keys of the table"),
        ("scheduler: strings", "scheduler: exact", "published[0]: exact is none of the schedulers"),
    ],
)  # fmt: skip
def test_mistakes_are_named(tmp_path, old, new, part):
    assert old in STREAMS
    text = STREAMS.replace(old, new, 1)
    text = text.replace("[{name: strings}]}", "[{name: strings}]}]") if "small: [{" in new else text
    with pytest.raises(UserError) as caught:
        read_table(file(tmp_path, text))
    assert str(caught.value).count(part) == 1


def test_a_mistake_of_the_table_is_said_once_for_all_budgets(tmp_path):
    text = STREAMS.replace("batch: 1}]", "batch: 1}, {npu: memory_centric, batch: 1}]", 1)
    with pytest.raises(UserError) as caught:
        read_table(file(tmp_path, text))
    assert str(caught.value).count("chips: has an entry that occurs twice") == 1


def test_a_budget_that_a_file_has_not_and_one_that_there_is_not_are_refused(tmp_path):
    path = file(tmp_path, STREAMS[: STREAMS.index("budgets")])
    assert list(read_table_file(path).tables) == ["full"]
    for word, part in (("tiny", "has no budget tiny; it has full"), ("tin", "did you mean tiny")):
        done = run(path, "--budget", word)
        assert isinstance(done.exception, UserError)
        assert part in str(done.exception)


def test_changes_of_a_budget_reach_all_studies_and_mistakes_in_them_are_placed(tmp_path):
    (tmp_path / "mine.yaml").write_text(
        "workloads: [tiny_cnn]\nspace: casco_edge\ntrials: 9\nbaseline: eyeriss\n"
        "optimizer: {name: mobo, initial: 8}\n"
    )
    text = """\
kind: searches
title: Searches
study: mine.yaml
changes: {batch_size: 3}
cases: [{name: one}, {name: two, changes: {trials: 7}}]
methods: [{name: plain}]
budgets:
  tiny: {changes: {trials: 5, optimizer: {initial: 2}}}
"""
    tables = read_table_file(file(tmp_path, text)).tables
    for budget, trials, initial in (("full", [9, 7], 8), ("tiny", [5, 7], 2)):
        table = tables[budget]
        configs = [
            study_of(table.study, table.changes, case, table.methods[0], 0) for case in table.cases
        ]
        assert [config.trials for config in configs] == trials
        assert {config.batch_size for config in configs} == {3}
        assert {config.optimizer.options["initial"] for config in configs} == {initial}
    with pytest.raises(UserError, match=r"budgets\.tiny\.changes\.trials: -5"):
        read_table(file(tmp_path, text.replace("trials: 5", "trials: -5")))


def test_each_budget_has_its_own_files_and_says_what_it_compares(tmp_path):
    path, out = file(tmp_path), tmp_path / "out"
    assert run(path, "--out", out).exit_code == 0
    full = (out / "woven.json").read_bytes()
    small = run(path, "--budget", "small", "--out", out)
    assert small.exit_code == 0
    assert (out / "woven.json").read_bytes() == full
    assert json.loads((out / "woven.small.json").read_text())["budget"] == "small"
    assert "Published figures without a comparison at this budget: 2." in small.output
    text = (out / "woven.small.md").read_text()
    assert text.startswith("# Woven\n\n`archloom reproduce woven --budget small`, version ")
    assert "| figure | paper | archloom | ratio | source | remark |" in text
    assert text.count("| ANTT, ") == 1
    page = (out / "papers.md").read_text()
    # those of the largest budget
    assert (
        "Of 3 published figures, 1 are within 20% of the paper's, 1 deviate more and have a "
        "remark, 1 deviate more and are not explained."
    ) in page
    assert "| [woven.small](woven.small.md) | Fig. 1 | Woven | small | ANTT, " in page
    assert page == overview(results_in(out))
    html = (out / "index.html").read_text()
    assert '<a href="woven.small.html">' in html
    assert "data:image/png;base64," in (out / "woven.small.html").read_text()
    # other words about the same rows measure nothing
    before = read_results(out / "woven.small.json")
    renamed = file(tmp_path, STREAMS.replace("title: Woven", "title: Renamed"))
    assert run(renamed, "--budget", "small", "--out", out).exit_code == 0
    after = read_results(out / "woven.small.json")
    assert (after.table.title, after.rows) == ("Renamed", before.rows)
    assert after.measurement == before.measurement


@pytest.mark.usefixtures("tables")
def test_a_table_that_fails_stops_no_other(tmp_path):
    out = tmp_path / "out"
    done = run("all", "--out", out)
    assert done.exit_code == 2
    assert "broken: " in done.output
    assert "table 4 of 4: woven" in done.output
    assert "impossible: nothing in this table can run" in done.output
    assert {path.name for path in out.glob("*.json")} == {
        "impossible.json", "other.json", "woven.json",
    }  # fmt: skip
    assert run("impossible").exit_code == 1
    alone = run("broken")
    assert isinstance(alone.exception, UserError)


def test_a_fault_of_ours_in_a_table_is_shown_and_stops_no_other(
    tables, tmp_path, monkeypatch, capfd
):
    for name in ("broken", "impossible"):
        del tables[name]
    drawn = measuring.draw_table

    def faulty(results, path):
        if path.stem == "other.tiny":
            raise ZeroDivisionError("in a picture")
        drawn(results, path)

    monkeypatch.setattr(measuring, "draw_table", faulty)
    out = tmp_path / "out"
    done = run("all", "--budget", "tiny", "--out", out)
    assert done.exit_code == 70
    assert "other.tiny: stopped by a bug, told above" in done.output
    assert (out / "woven.tiny.png").is_file()
    alone = run("other", "--budget", "tiny", "--out", tmp_path / "alone")
    assert alone.exit_code == 70
    for one in (done, alone):
        said = one.output + capfd.readouterr().err
        assert 'raise ZeroDivisionError("in a picture")' in said
        assert "this is a bug in archloom; please report it with the lines above" in said


def test_all_that_was_stopped_goes_on_and_ends_the_same(tables, tmp_path, monkeypatch):
    for name in ("broken", "impossible"):
        del tables[name]
    right, seen = measuring.results_text, []

    def killed(results):
        seen.append(results)
        if len(seen) == 4:
            raise KeyboardInterrupt
        return right(results)

    out, whole = tmp_path / "out", tmp_path / "whole"
    with monkeypatch.context() as patched:
        patched.setattr(measuring, "results_text", killed)
        assert run("all", "--budget", "tiny", "--out", out).exit_code == 130
    first = read_results(out / "other.tiny.json")
    assert run("all", "--budget", "tiny", "--out", out).exit_code == 0
    assert run("all", "--budget", "tiny", "--out", whole).exit_code == 0
    assert read_results(out / "other.tiny.json") == first
    for name in ("other.tiny", "woven.tiny"):
        assert read_results(out / f"{name}.json").rows == read_results(whole / f"{name}.json").rows


def test_the_list_says_paper_figure_and_costs(tables):
    tables.pop("broken")
    listed = run().output
    assert "Layerweaver  Fig. 1" in listed
    assert "1 s         2.0 h" in listed
    assert json.loads(run("--json").output)["woven"] == {
        "paper": "Layerweaver", "source": "Fig. 1", "title": "Woven",
        "cpu_s": {"tiny": 1, "full": 7200},
    }  # fmt: skip


def test_the_overview_in_docs_is_that_of_the_kept_results():
    assert (KEPT / "papers.md").read_text() == overview(results_in(KEPT))


def test_the_table_in_the_readme_has_kept_figures():
    from archloom.studies.commands.published.tables import published_cells

    lines = (ROOT / "README.md").read_text().splitlines()
    rows = [line for line in lines if line.startswith("| [") and "](docs/papers/" in line]
    assert len(rows) == 5
    for row in rows:
        name = row[3 : row.index("]")]
        heads, cells = published_cells(read_results(KEPT / f"{name}.json"))
        assert heads == ["figure", "paper", "archloom", "ratio", "source", "remark"]
        shown = [" | ".join(cell[:4] + cell[5:]) for cell in cells]
        assert row.split("| ", 2)[2].removesuffix(" |") in shown
