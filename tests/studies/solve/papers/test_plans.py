"""Tables of plans: rows against plans that are searched one by one, means by hand, files."""

from dataclasses import replace
from pathlib import Path
from statistics import fmean, geometric_mean

import pytest

from archloom.evaluators import hardware_cost
from archloom.search.software import SoftwareSettings
from archloom.space.design_space import HardwareSpace, preset, preset_file
from archloom.space.fusion import fold
from archloom.space.hardware import Hardware
from archloom.space.networks import network
from archloom.studies.engine.progress import SILENT
from archloom.studies.errors import UserError
from archloom.studies.rendering.papers.plan_bars import plan_bars
from archloom.studies.solve.fusion import FusionEffort, Schedule, search_plan
from archloom.studies.solve.papers import (
    PlanRow,
    Results,
    beside,
    measured,
    own_tables,
    read_results,
    read_table,
    results_text,
)

SMALL = """\
kind: plans
title: Small
designs: [{hardware: eyeriss}, {hardware: simba, name: weights too, keeps_weights: true}]
networks: [tiny_cnn, tiny_mobile]
batch: 2
mappings: [{name: short, evaluations: 2000, search: local}]
planners: [{fusion: none}, {fusion: deepfrack}, {fusion: deepfrack, objective: energy}]
figures: [energy_percent, speedup, images_per_s, tdp_over_first, perf_per_tdp_over_first]
published:
  - {metric: speedup, value: 1.5, design: eyeriss, mapping: short, planner: deepfrack,
     source: Fig}
"""


def table(folder: Path, text: str = SMALL):
    path = folder / "small.yaml"
    path.write_text(text)
    return read_table(path)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], PlanRow]:
    found = measured(table(tmp_path_factory.mktemp("plans")), SILENT)
    return {(row.design, row.planner): row for row in found}


def test_costs_are_those_of_a_search_of_each_network(rows):
    row = rows["eyeriss", "deepfrack"]
    settings = SoftwareSettings(fusion="deepfrack", mapping="local", mapping_evaluations=2000)
    assert [one.network for one in row.sets] == ["tiny_cnn", "tiny_mobile"]
    for one in row.sets:
        net = network(one.network).with_batch(2)
        alone = search_plan(net, preset("eyeriss"), FusionEffort(settings, 60))
        assert isinstance(alone, Schedule)
        for ours, theirs in ((one.plan, alone.cost), (one.unfused, alone.unfused)):
            assert ours.edp_js == theirs.edp_js
            assert ours.energy_pj == theirs.energy_pj
            assert ours.dram_bytes == theirs.dram_bytes
        assert (one.batch, one.flops) == (2, 2 * net.macs)


def test_search_times_are_there_where_asked_and_do_not_make_rows_differ(tmp_path):
    one = SMALL.replace("[tiny_cnn, tiny_mobile]", "[tiny_cnn]").split("published")[0]
    timed = one.replace("figures: [", "figures: [search_cpu_s, ")
    rows = [list(measured(table(tmp_path, text), SILENT)) for text in (one, timed)]
    assert [row.sets for row in rows[0]] == [row.sets for row in rows[1]]
    for plain, row in zip(*rows, strict=True):
        spent = row.figures["search_cpu_s"]
        assert row.figures == {**plain.figures, "search_cpu_s": spent}
        assert spent == sum(one.search_cpu_s for one in row.sets)
    # layer by layer a second time is what the first row of a design had searched
    again = timed.replace(
        "{fusion: none}, {fusion: deepfrack}", "{fusion: deepfrack}, {fusion: none}"
    )
    edp, none = (
        row.figures["search_cpu_s"] for row in list(measured(table(tmp_path, again), SILENT))[:2]
    )
    assert 0 <= none < edp / 10


def test_folded_layers_move_less_before_anything_is_fused(tmp_path, rows):
    text = SMALL.replace("deepfrack, objective: energy", "fast_printed").replace(
        "deepfrack", "fast"
    )
    text = text.replace("batch: 2", "batch: 2\nfold: true")
    found = measured(table(tmp_path, text), SILENT)
    folded = {(row.design, row.planner): row for row in found}
    settings = SoftwareSettings(fusion="fast", mapping="local", mapping_evaluations=2000)
    for one, plain in zip(
        folded["eyeriss", "fast"].sets, rows["eyeriss", "none"].sets, strict=True
    ):
        net = fold(network(one.network)).with_batch(2)
        alone = search_plan(net, preset("eyeriss"), FusionEffort(settings, 60))
        assert isinstance(alone, Schedule)
        assert (one.plan.edp_js, one.unfused.edp_js) == (alone.cost.edp_js, alone.unfused.edp_js)
        assert one.unfused.dram_bytes < plain.unfused.dram_bytes
        assert one.flops == plain.flops
    assert folded["eyeriss", "none"].figures["layers_fused"] == 0
    with pytest.raises(UserError, match="deepfrack cannot plan folded layers"):
        table(tmp_path, SMALL.replace("batch: 2", "fold: true"))


def test_nothing_fused_changes_nothing_and_each_objective_gets_its_least(rows):
    unfused = rows["eyeriss", "none"]
    assert unfused.figures["energy_percent"] == 0
    assert unfused.figures["speedup"] == 1
    assert unfused.figures["layers_fused"] == 0
    for design in ("eyeriss", "weights too"):
        by_edp, by_energy = (rows[design, f"deepfrack{what}"] for what in ("", " for energy"))
        for one, other in zip(by_edp.sets, by_energy.sets, strict=True):
            assert one.plan.edp_js <= one.unfused.edp_js
            assert one.unfused == other.unfused
    assert any(one.plan.layers_fused for row in rows.values() for one in row.sets)


def test_figures_of_a_row_are_means_over_its_networks(rows):
    row, first = rows["weights too", "deepfrack"], rows["eyeriss", "deepfrack"]
    percent = [100 * (one.plan.energy_pj / one.unfused.energy_pj - 1) for one in row.sets]
    assert row.figures["energy_percent"] == pytest.approx(fmean(percent))
    faster = [one.unfused.latency_cycles / one.plan.latency_cycles for one in row.sets]
    assert row.figures["speedup"] == pytest.approx(geometric_mean(faster))
    mhz = preset("simba").frequency_mhz
    rate = geometric_mean(2e6 * mhz / one.plan.latency_cycles for one in row.sets)
    assert row.figures["images_per_s"] == pytest.approx(rate)
    watts = hardware_cost(preset("eyeriss")).tdp_w
    assert first.tdp_w == watts
    assert row.figures["tdp_over_first"] == pytest.approx(row.tdp_w / watts)
    ratio = rate / first.figures["images_per_s"] / row.figures["tdp_over_first"]
    assert row.figures["perf_per_tdp_over_first"] == pytest.approx(ratio)
    assert first.figures["perf_per_tdp_over_first"] == pytest.approx(1)
    least = [one.flops / 2 / preset("simba").macs / one.plan.latency_cycles for one in row.sets]
    assert row.figures["macs_busy_percent"] == pytest.approx(100 * fmean(least))


def test_where_nothing_is_fused_bars_are_over_the_first_design(rows):
    unfused = [row for (_, planner), row in rows.items() if planner == "none"]
    energy, time = plan_bars("Unfused", unfused).axes[2:]
    assert [energy.get_ylabel(), time.get_ylabel()] == [
        "energy over first design", "time over first design",
    ]  # fmt: skip
    clocks = [preset(name).frequency_mhz for name in ("eyeriss", "simba")]
    for at, (one, other) in enumerate(zip(*(row.sets for row in unfused), strict=True)):
        ratio = other.plan.energy_pj / one.plan.energy_pj
        assert energy.patches[at].get_height() == pytest.approx(ratio)
        ratio = other.plan.latency_cycles / clocks[1] / (one.plan.latency_cycles / clocks[0])
        assert time.patches[at].get_height() == pytest.approx(ratio)


def test_a_file_keeps_rows_and_known_ones_are_not_measured_again(tmp_path, rows):
    asked = table(tmp_path)
    results = Results("1.2", asked, None, tuple(rows.values()))
    path = tmp_path / "small.json"
    path.write_text(results_text(results))
    assert read_results(path) == results
    marked = [replace(row, area_mm2=-1.0) for row in results.rows]
    assert list(measured(asked, SILENT, marked)) == marked
    assert beside(results.rows, asked.published[0]) == results.rows[1].figures["speedup"]


def test_what_cannot_run_is_said(tmp_path):
    template = preset_file("eyeriss").read_text("utf-8")
    assert '"= 12 * word_bytes"' in template
    (tmp_path / "own.yaml").write_text(template.replace('"= 12 * word_bytes"', "1"))
    text = SMALL[: SMALL.index("published")].replace("hardware: eyeriss", "hardware: own.yaml")
    asked = table(tmp_path, text.replace("tiny_cnn, tiny_mobile", "tiny_cnn"))
    row = next(iter(measured(asked, SILENT)))
    assert (row.design, row.sets, row.figures) == ("own", (), {})
    assert "tiny_cnn on own: " in row.infeasible[0]
    assert row.missing("speedup") == "infeasible"


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("kind: plans", "kind: plan", "kind: 'plan' is unknown; did you mean plans"),
        ("hardware: eyeriss", "hardware: eyeris", "did you mean eyeriss"),
        ("keeps_weights: true", "keeps_weights: 1", "designs[1].keeps_weights: 1 must be true or"),
        (
            "name: weights too",
            "parameters: [1]",
            "designs[1].parameters: [1] must be names of",
        ),
        ("search: local", "search: loca", "mapping search 'loca' is unknown; did you mean local"),
        ("{fusion: none}", "{fusion: nome}", "fusion search 'nome' is unknown"),
        ("{fusion: none}", "{fusion: none, objective: energy}", "none minimises EDP only"),
        ("name: weights too", "name: eyeriss", "designs: 'eyeriss' occurs twice"),
        ("tiny_cnn, tiny_mobile", "tiny_cnn, tiny_cnn", "networks: 'tiny_cnn' occurs twice"),
        ("mapping: short", "mapping: shirt", "published[0].mapping: 'shirt' is unknown"),
        ("metric: speedup", "metric: tdp_w", "published[0].metric: tdp_w is none of the figures"),
        ("[{name: short,", "[{name: 'a,b',", "must be a name without commas"),
    ],
)
def test_mistakes_are_named(tmp_path, old, new, part):
    assert old in SMALL
    with pytest.raises(UserError) as caught:
        table(tmp_path, SMALL.replace(old, new, 1))
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("name", "asking"), [("large", "fast_assumptions"), ("small", "fast_small_assumptions")]
)
def test_a_template_of_a_paper_is_the_preset_and_what_its_parameters_change(name, asking):
    tables = own_tables()["deepfrack"].parent
    asked = read_table(own_tables()[asking])
    same, file = preset(f"fast_{name}"), str(tables / "designs" / f"fast_{name}_open.yaml")
    space = HardwareSpace.load(file)
    for design in asked.designs[1:]:
        # the same in results, wherever archloom is installed
        assert (design.hardware, design.source) == (f"designs/fast_{name}_open.yaml", file)
        built, parts = space.build(design.parameters), design.parameters
        assert isinstance(built, Hardware)
        latch, l1, buffer, dram = built.levels
        assert built.vector_lanes == parts["lanes"] * same.vector_lanes
        for level, old, factor in zip(
            (latch, l1, buffer, dram),
            same.levels,
            (1, parts["l1_ports"], parts["buffer_ports"], 1),
            strict=True,
        ):
            assert level.bandwidth_words == factor * old.bandwidth_words
            assert replace(level, bandwidth_words=old.bandwidth_words) == old
        less = replace(built, levels=same.levels, vector_lanes=same.vector_lanes, name=same.name)
        assert less == same


def test_a_template_is_beside_its_table_wherever_the_command_runs(tmp_path, monkeypatch):
    text = SMALL[: SMALL.index("published")].replace("hardware: eyeriss", "hardware: own.yaml")
    table_file, folder = tmp_path / "tables" / "small.yaml", tmp_path / "tables"
    folder.mkdir()
    table_file.write_text(text)
    (folder / "own.yaml").write_text(preset_file("eyeriss").read_text("utf-8"))
    monkeypatch.chdir(folder)
    asked = read_table(Path("small.yaml"))
    monkeypatch.chdir(tmp_path)
    assert asked == read_table(Path("tables/small.yaml")) == read_table(table_file)
    row = next(iter(measured(asked, SILENT)))
    assert (row.design, row.infeasible) == ("own", ())


def test_parameters_that_a_template_has_not_are_named(tmp_path):
    text = SMALL[: SMALL.index("published")]
    own = "hardware: OPEN, name: open, parameters: {lanes: 3, l1_prots: 1, buffer_ports: 1}"
    path = own_tables()["deepfrack"].parent / "designs" / "fast_large_open.yaml"
    text = text.replace("hardware: eyeriss", own.replace("OPEN", str(path)))
    with pytest.raises(UserError) as caught:
        next(iter(measured(table(tmp_path, text), SILENT)))
    for part in (
        "is not one of its values; the nearest is 1",
        "'l1_prots' is no parameter; did you mean l1_ports",
    ):
        assert part in str(caught.value)


def test_tables_that_come_along_are_read():
    kinds = {name: type(read_table(path)).__name__ for name, path in own_tables().items()}
    assert {kinds["deepfrack"], kinds["fast_designs"]} == {"PlanTable"}
    assert kinds["layerweaver_pairs"] == "StreamTable"
