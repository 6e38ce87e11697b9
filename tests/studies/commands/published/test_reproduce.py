"""``archloom reproduce``, and what docs/papers/ keeps of it."""

import json
from dataclasses import replace
from importlib.metadata import version

import pytest
from click.testing import CliRunner

from archloom.studies.commands.cli import app
from archloom.studies.commands.published.searching import studies_of
from archloom.studies.commands.published.tables import markdown
from archloom.studies.config.study_config import ExecutorChoice
from archloom.studies.engine.progress import SILENT, Unwatched
from archloom.studies.errors import UserError
from archloom.studies.solve.papers import measured, own_tables, read_table
from archloom.studies.solve.papers.results import read_results
from archloom.studies.solve.papers.searches.search_studies import figures_of, study_of

from ....source_tree import ROOT

KEPT = ROOT / "docs" / "papers"
TABLES = own_tables()
STREAMS = [name for name in TABLES if name.startswith("layerweaver_")]
PLANS = [
    *("deepfrack", "fast_assumptions", "fast_designs", "fast_small_assumptions"),
    "fast_sub_batches",
]
SEARCHES = [
    name
    for name, path in TABLES.items()
    if "kind: searches" in path.read_text() and (KEPT / f"{name}.json").is_file()
]

SMALL = """\
title: Small
chips: [{npu: memory_centric, batch: 1}]
networks: [[mobilenetv2, resnet50], [bert_base]]
weight_buffers_mib: [8, 16, 48]
schedulers: [{name: layerweaver}]
published:
  - {metric: antt, value: 1.27, npu: memory_centric, batch: 1, scheduler: layerweaver, source: Fig}
"""

PLANNED = """\
kind: plans
title: Fused
designs: [{hardware: eyeriss}]
networks: [tiny_cnn]
mappings: [{name: few, search: local, evaluations: 1000}]
planners: [{fusion: none}, {fusion: deepfrack}]
figures: [edp_gain]
published:
  - metric: edp_gain
    value: 2
    design: eyeriss
    mapping: few
    planner: deepfrack
    source: Fig
"""


def run(*words):
    return CliRunner().invoke(app, ["reproduce", *map(str, words)])


@pytest.mark.parametrize("name", STREAMS)
def test_kept_results_are_those_of_the_file_and_a_sample_comes_out_again(name):
    kept = read_results(KEPT / f"{name}.json")
    assert kept.version == version("archloom")
    assert kept.table == read_table(TABLES[name])
    assert kept.sets is None
    assert (KEPT / f"{name}.md").read_text() == markdown(name, kept)
    # the first chip, length and buffer, one set of networks
    asked = replace(
        kept.table,
        chips=kept.table.chips[:1],
        networks=tuple(names[: kept.table.of_each] for names in kept.table.networks),
        sequence_lengths=kept.table.sequence_lengths[:1],
        weight_buffers_mib=kept.table.weight_buffers_mib[:1],
        schedulers=tuple(s for s in kept.table.schedulers if s.sweep == "each"),
        published=(),
    )
    rows = list(measured(asked, SILENT))
    assert rows
    for row in rows:
        old = next(one for one in kept.rows if one.key == row.key)
        again, before = row.sets[0], old.sets[0]
        assert (again.networks, again.rule) == (before.networks, before.rule)
        assert again.stp == pytest.approx(before.stp, rel=1e-9)
        assert again.bound == pytest.approx(before.bound, rel=1e-9)
        starves = before.antt is None
        assert again.antt == (None if starves else pytest.approx(before.antt, rel=1e-9))
        assert again.dram_active == pytest.approx(before.dram_active, rel=1e-9)


@pytest.mark.parametrize("name", PLANS)
def test_kept_plans_are_those_of_the_file_and_a_sample_comes_out_again(name):
    kept = read_results(KEPT / f"{name}.json")
    assert kept.version == version("archloom")
    assert kept.table == read_table(TABLES[name])
    assert kept.sets is None
    assert (KEPT / f"{name}.md").read_text() == markdown(name, kept)
    # the last design, the first network and effort
    asked = replace(
        kept.table,
        designs=kept.table.designs[-1:],
        networks=kept.table.networks[:1],
        mappings=kept.table.mappings[:1],
        planners=kept.table.planners[:1],
        published=(),
    )
    (row,) = measured(asked, SILENT)
    old = next(one for one in kept.rows if one.labels == row.labels)
    assert row.sets[0] == old.sets[0]
    assert (row.area_mm2, row.tdp_w) == (old.area_mm2, old.tdp_w)


@pytest.mark.parametrize("name", SEARCHES)
def test_kept_searches_are_those_of_the_file_and_a_first_batch_comes_out_again(name, tmp_path):
    kept, table = read_results(KEPT / f"{name}.json"), read_table(TABLES[name])
    assert kept.version == version("archloom")
    assert kept.table == table
    assert kept.sets is None
    assert (KEPT / f"{name}.md").read_text() == markdown(name, kept)
    # the search that took the fewest plans: what its optimizer learns depends on the processor's
    # rounding, the designs before that do not
    searches = [row for row in kept.rows if row.seeds and row.network == "searched"]
    row = min(searches, key=lambda row: (row.seeds[0].plans, row.seeds[0].energy_mj))
    case = next(one for one in table.cases if one.name == row.case)
    method = next(one for one in table.methods if one.name == row.method)
    whole = study_of(table.study, table.changes, case, method, row.seeds[0].seed)
    config = replace(whole, trials=whole.batch_size, executor=ExecutorChoice(name="inline"))
    with studies_of("sample", tmp_path, Unwatched(), float) as studies:
        studies.run(config, tmp_path / "study")
    found = figures_of(table.together, tmp_path / "study", row.seeds[0].seed)
    assert found["searched"].steps[0] == row.seeds[0].steps[0]


def test_plans_of_a_file_of_ones_own_are_printed_written_and_drawn(tmp_path):
    path, out = tmp_path / "plans.yaml", tmp_path / "out"
    path.write_text(PLANNED)
    done = run(path, "--out", out)
    assert done.exit_code == 0, done.output
    assert {one.name for one in out.iterdir()} == {
        "plans.json", "plans.md", "plans.png", "plans.html", "papers.md", "index.html",
    }  # fmt: skip
    text = (out / "plans.md").read_text()
    assert text.startswith("# Fused\n\n`archloom reproduce plans`, version ")
    assert "| design | planner | EDP gain |" in text
    assert "| EDP gain, eyeriss, few mappings, deepfrack | 2.00 | 1." in text
    assert "Energy, DRAM traffic, speedup and EDP gain are relative to layer by layer" in text
    # results that are there are used again
    kept = json.loads((out / "plans.json").read_text())
    kept["rows"][0]["figures"]["edp_gain"] = 99
    (out / "plans.json").write_text(json.dumps(kept))
    assert "99.00" in run(path, "--out", out).output


def test_without_a_table_all_are_listed():
    listed = run()
    assert listed.exit_code == 0
    for name in TABLES:
        assert f" {name} " in listed.output
    about = json.loads(run("--json").output)["layerweaver_pairs"]
    assert about["title"].startswith("Streams of 16 pairs")


def test_a_file_of_ones_own_is_measured_written_drawn_and_not_again(tmp_path):
    path, out = tmp_path / "small.yaml", tmp_path / "out"
    path.write_text(SMALL)
    done = run(path, "--out", out)
    assert done.exit_code == 0, done.output
    assert "Published figures" in done.output
    assert {one.name for one in out.iterdir()} == {
        "small.json", "small.md", "small.png", "small.html", "papers.md", "index.html",
    }  # fmt: skip
    text = (out / "small.md").read_text()
    assert text.startswith("# Small\n\n`archloom reproduce small`, version ")
    assert "| ANTT, memory_centric, batch 1, layerweaver | 1.27 | " in text
    rows = read_results(out / "small.json").rows
    assert [row.weight_buffer_mib for row in rows] == [8, 16, 48]
    # a killed run goes on: what is there is believed
    file = out / "small.json"
    file.write_text(file.read_text().replace('"antt":', '"antt":1', 1))
    assert run(path, "--out", out).exit_code == 0
    assert read_results(file).rows[0].figures["antt"] > 10
    # another question is another table
    assert run(path, "--out", out, "--sets", 1).exit_code == 0
    first = read_results(file)
    assert (first.sets, len(first.rows[0].sets)) == (1, 1)
    assert first.rows[0].figures["antt"] < 10


def test_json_has_all_figures(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    found = json.loads(run(path, "--sets", 1, "--json").stdout)
    assert found["small"]["rows"][0]["sets"][0]["networks"] == ["mobilenetv2", "bert_base"]


@pytest.mark.parametrize(
    ("word", "part"),
    [
        ("layerweawer", "no such table, paper or file; did you mean layerweaver or"),
        ("layerweaver_pear", "did you mean layerweaver_pairs or"),
    ],
)
def test_an_unknown_table_is_named(word, part):
    done = run(word)
    assert isinstance(done.exception, UserError)
    assert part in str(done.exception)
