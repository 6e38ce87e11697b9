"""Tables of streams: rows, sets, settings, and figures by hand."""

from dataclasses import replace

import numpy as np
import pytest

from archloom.search import WEAVERS
from archloom.studies.engine.progress import SILENT
from archloom.studies.errors import UserError
from archloom.studies.solve.papers import (
    Results,
    beside,
    measured,
    own_tables,
    read_results,
    read_table,
    results_text,
)
from archloom.studies.solve.papers.streams.stream_table import Published

from ....cases.woven_pairs import pair

SMALL = """\
title: Small
chips:
  - {npu: memory_centric, batch: 1}
  - {npu: compute_centric, batch: 16}
networks: [[mobilenetv2, resnet50], [bert_base, xlnet_large]]
schedulers: [{name: ai_mt, sweep: together}, {name: layerweaver}]
"""


def table(tmp_path, text=SMALL):
    path = tmp_path / "small.yaml"
    path.write_text(text)
    return read_table(path)


def refusal(tmp_path, text):
    with pytest.raises(UserError) as caught:
        table(tmp_path, text)
    return str(caught.value)


def test_rows_are_means_of_the_streams_of_all_sets(tmp_path):
    asked = table(tmp_path)
    rows = list(measured(asked, SILENT))
    assert [row.scheduler for row in rows] == ["ai_mt, one setting", "layerweaver"] * 2
    names = [("mobilenetv2", "bert_base"), ("mobilenetv2", "xlnet_large")]
    names += [("resnet50", "bert_base"), ("resnet50", "xlnet_large")]
    greedy = rows[3]
    assert [one.networks for one in greedy.sets] == names == asked.sets
    streams = [WEAVERS["layerweaver"]().stream(pair(both, "compute_centric")) for both in names]
    stp = [stream.metrics.stp for stream in streams]
    assert [one.stp for one in greedy.sets] == stp
    figures = greedy.figures
    assert figures["stp_gain_percent"] == pytest.approx(100 * (np.mean(stp) - 1))
    assert figures["most_gain_percent"] == pytest.approx(100 * (max(stp) - 1))
    assert figures["antt"] == pytest.approx(np.mean([s.metrics.antt for s in streams]))
    over = np.array(stp) / [one.stp for one in rows[2].sets]
    assert figures["over_ai_mt_percent"] == pytest.approx(100 * (np.exp(np.log(over).mean()) - 1))
    # one setting for all, not the best of each
    rules = {one.rule for one in rows[2].sets}
    assert len(rules) == 1
    each = [WEAVERS["ai_mt"]().stream(pair(both, "compute_centric")) for both in names]
    assert all(
        one.stp <= best.metrics.stp * (1 + 1e-3)
        for one, best in zip(rows[2].sets, each, strict=True)
    )


def test_known_rows_are_not_measured_again_and_a_file_keeps_all(tmp_path):
    asked = table(tmp_path)
    rows = tuple(measured(asked, SILENT, sets=1))
    assert all(len(row.sets) == 1 for row in rows)
    marked = replace(rows[0], starved=99)
    again = tuple(measured(asked, SILENT, known=[marked], sets=1))
    assert again[0].starved == 99
    assert again[1:] == rows[1:]
    results = Results("1.2", asked, 1, rows)
    path = tmp_path / "small.json"
    path.write_text(results_text(results))
    assert read_results(path) == results
    path.write_text('{"format": "other"}')
    with pytest.raises(UserError, match="holds no results of format"):
        read_results(path)
    path.write_text('{"format": "archloom paper table 1"}')
    with pytest.raises(UserError, match="is damaged"):
        read_results(path)


def test_maps_that_do_not_fit_are_said_and_in_dram_they_cross_the_pins(tmp_path):
    text = SMALL.replace("resnet50], [bert_base, xlnet_large", "resnet50], [bert_base")
    text = text.replace("schedulers: [{name: ai_mt, sweep: together}, ", "schedulers: [")
    fit = list(measured(table(tmp_path, text + "maps: fit\n"), SILENT))
    grown, dram = (
        list(measured(table(tmp_path, text + f"maps: {maps}\n"), SILENT))
        for maps in ("unlimited", "dram")
    )
    assert not fit[1].figures
    assert any("resnet50, layer stage1.0.shortcut" in why for why in fit[1].infeasible)
    # with one image all maps fit on the large buffer
    assert fit[0].figures == grown[0].figures == dram[0].figures
    # with sixteen, the CNN waits for DRAM as well
    assert grown[1].figures["bound_gain_percent"] > 50
    assert dram[1].figures["bound_gain_percent"] < 0.1


def test_a_published_figure_finds_its_row(tmp_path):
    rows = list(measured(table(tmp_path), SILENT, sets=1))
    where = {"npu": "compute_centric", "batch": 16, "scheduler": "layerweaver", "source": "here"}
    theirs = Published(metric="antt", value=1.0, **where)
    assert beside(rows, theirs) == rows[3].figures["antt"]
    assert beside(rows, replace(theirs, batch=4)) is None


def test_layouts_decide_when_dram_rests():
    """What docs/validation/layerweaver.md says of active shares: groups or taps in turn make layers
    that outlast the buffer."""
    asked = read_table(own_tables()["layerweaver_layouts"])
    resnext = replace(asked, networks=(("resnext50",), ("bert_base",)), published=())
    shares = {
        (row.npu, row.layout): row.figures["dram_active_percent"]
        for row in measured(resnext, SILENT)
        if row.scheduler == "layerweaver"
    }
    assert shares["memory_centric", "taps_in_rows"] == pytest.approx(100, abs=0.1)
    assert shares["compute_centric", "taps_in_rows"] == pytest.approx(100, abs=0.1)
    assert shares["compute_centric", "taps_in_turn"] < 80
    assert shares["memory_centric", "taps_in_turn"] < 45


def test_everything_that_is_wrong_in_a_file_is_said_at_once(tmp_path):
    text = (
        SMALL.replace("memory_centric, batch: 1", "memory_centrik, batch: 0")
        .replace("xlnet_large", "xlnet_lage")
        .replace("{name: layerweaver}", "{name: layerweaver, sweep: both}")
        + "maps: some\nlengths: [3]\n"
    )
    said = refusal(tmp_path, text)
    for part in (
        "did you mean memory_centric?",
        "chips[0].batch: 0 must be greater than or equal to 1",
        "networks[1][1]: network 'xlnet_lage' is unknown; did you mean xlnet_large",
        "schedulers[1].sweep: 'both' is unknown",
        "maps: 'some' is unknown",
        "lengths: is an unknown key",
    ):
        assert part in said
    assert "line 3" in said


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("[bert_base, xlnet_large]", "[resnet50]", "a set would have one network twice"),
        (", [bert_base, xlnet_large]", "", "a set has one network"),
        ("sweep: together}, {name: layerweaver}", "sweep: together}", ""),
        ("title: Small", "title: Small\nof_each: 3", "a list of 2 has no 3"),
        ("schedulers: [", "schedulers: [{name: layerweaver}, ", "occurs twice"),
        ("schedulers: [{name: ai_mt, sweep: together}, {name: layerweaver}]", "schedulers: []",
         "schedulers: needs at least one entry"),
        (
            "title: Small",
            "title: Small\npublished: [{metric: antt, value: 1, npu: memory_centric, batch: 2, "
            "scheduler: strings, source: x}]",
            "published[0]: no chip is memory_centric with batch 2",
        ),
    ],
)  # fmt: skip
def test_contradictions_are_named(tmp_path, old, new, part):
    assert old in SMALL
    if part:
        assert part in refusal(tmp_path, SMALL.replace(old, new))
    else:
        table(tmp_path, SMALL.replace(old, new))


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(UserError, match="cannot be read"):
        read_table(tmp_path / "none.yaml")
    assert "must be a list" in refusal(tmp_path, SMALL.replace("[bert_base, xlnet_large]", "ncf"))
