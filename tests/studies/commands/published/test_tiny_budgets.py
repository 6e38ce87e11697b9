"""Every table that comes with archloom, measured at its tiny budget by the command itself: rows,
files, and relations that hold whatever the figures are."""

from math import inf

import pytest
from click.testing import CliRunner

from archloom.evaluators.host import samples
from archloom.evaluators.host.worker import session
from archloom.studies.analysis.stack import OBSERVATIONS
from archloom.studies.commands.cli import app
from archloom.studies.solve.papers import own_tables, read_results, read_table_file
from archloom.studies.solve.papers.searches.search_studies import study_of

TABLES = own_tables()


def run(*words):
    return CliRunner().invoke(app, ["reproduce", *map(str, words)])


def plan_rows(table, rows):
    wanted = [
        (design.label, effort.name, planner.label)
        for design in table.designs
        for effort in table.mappings
        for planner in table.planners
    ]
    assert [tuple(row.labels.values()) for row in rows] == wanted
    for row in rows:
        assert [one.network for one in row.sets] == list(table.networks)
        if row.planner == "none":
            assert (row.figures["energy_percent"], row.figures["speedup"]) == (0, 1)
            assert row.figures["layers_fused"] == 0
        for one in row.sets:
            if " for " not in row.planner:
                # layer by layer is among the plans
                assert one.plan.edp_js <= one.unfused.edp_js
            assert 0 < one.busy_cycles <= one.plan.latency_cycles
    # the last effort has the most evaluations: it maps no layer worse
    least = {(row.design, row.mappings): row.sets for row in rows}
    for (design, _), sets in least.items():
        best = least[design, table.mappings[-1].name]
        for one, other in zip(sets, best, strict=True):
            assert other.unfused.edp_js <= one.unfused.edp_js * (1 + 1e-9)


def stream_rows(table, rows):
    sizes = (table.chips, table.sequence_lengths, table.weight_buffers_mib, table.schedulers)
    count = 1
    for some in sizes:
        count *= len(some)
    assert len(rows) == len({row.key for row in rows}) == count
    assert {row.scheduler for row in rows} == {one.label for one in table.schedulers}
    for row in rows:
        assert len(row.sets) == len(table.sets) or row.infeasible
        for one in row.sets:
            assert 0 < one.stp <= one.bound * (1 + 1e-9)
            assert 0 < one.array_active <= 1 + 1e-9
            assert 0 < one.dram_active <= 1 + 1e-9


def search_rows(table, rows):
    wanted = []
    for case in table.cases:
        for method in table.methods:
            config = study_of(table.study, table.changes, case, method, table.seeds[0])
            held_out = [workload.label for workload in config.validation.workloads]
            wanted += [(case.name, name, method.name) for name in ("searched", *held_out)]
    means = [mean.name for mean in table.means]
    wanted += [(mean, "searched", one.name) for mean in means for one in table.methods]
    assert [tuple(row.labels.values()) for row in rows] == wanted
    for row in rows:
        if row.case in means:
            assert not row.seeds
            assert min(row.figures.values()) > 0
            continue
        assert [one.seed for one in row.seeds] == list(table.seeds)
        assert not row.infeasible
        if row.method == table.methods[0].name and len(table.seeds) == 1:
            assert row.figures["edp_over_first"] == 1
        for one in row.seeds:
            assert min(one.area_mm2, one.tdp_w, one.energy_mj, one.latency_ms, one.plans) > 0


def stack_rows(table, rows):
    assert len(table.sets) == 2
    assert list(dict.fromkeys(row.observation.split(".")[0] for row in rows)) == [
        one.number for one in OBSERVATIONS
    ]
    for row in rows:
        assert bool(row.figures) is not bool(row.infeasible)
        if row.share is not None:
            assert 0 <= row.share <= 1
        if row.verdict != "inconclusive":
            assert row.figures


CHECKS = {
    "PlanTable": plan_rows,
    "StreamTable": stream_rows,
    "SearchTable": search_rows,
    "StackTable": stack_rows,
}


#: of searches that others make too: with CASCO's edge space, and with FAST's
LIKE_OTHERS = ("casco_codesign", "casco_fixed", "fast_ablation", "fast_convergence")


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_all_budgets_and_says_what_they_cost(name):
    file = read_table_file(TABLES[name])
    assert list(file.tables) == ["tiny", "small", "full"]
    # of the full budget it is known once that was measured
    assert list(file.cost) == ["tiny", "small", "full"][: len(file.cost)]
    assert len(file.cost) >= 2
    assert sorted(file.cost.values()) == list(file.cost.values())
    assert file.full.paper


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.exhaustive) if name in LIKE_OTHERS else name
        for name in TABLES
    ],
)
def test_a_table_comes_out_whole_at_its_tiny_budget(name, tmp_path, monkeypatch):
    # times of a busy machine count: what is tested is what becomes of them
    monkeypatch.setattr(samples, "MOST_NOISE", inf)
    monkeypatch.setattr(session, "MOST_MOVED", inf)
    file = read_table_file(TABLES[name])
    done = run(name, "--budget", "tiny", "--out", tmp_path)
    assert done.exit_code == 0, done.output
    results = read_results(tmp_path / f"{name}.tiny.json")
    assert (results.budget, results.table) == ("tiny", file.tables["tiny"])
    assert results.measurement.cpu_s > 0
    CHECKS[type(file.full).__name__](file.tables["tiny"], results.rows)
    for row in results.rows:
        assert row.figures or row.infeasible
        assert set(row.figures) <= set(results.table.metrics)
    endings = {one.suffix for one in tmp_path.glob(f"{name}.tiny.*")}
    assert endings == {".json", ".md", ".png", ".html"}
    assert f"[{name}.tiny]({name}.tiny.md)" in (tmp_path / "papers.md").read_text()
