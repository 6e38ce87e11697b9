"""Gemmini's RTL beside the model: mappings are read as they were run, and bounds are bounds."""

import json
from math import prod

import pytest

from archloom.space.workload import C, K, P, Q
from archloom.studies.analysis.published_chips.simulators.gemmini_layers import (
    EXPOSED,
    LOADED,
    cost,
    gemmini,
    hardware,
    layer,
    mapping,
)
from archloom.studies.analysis.published_chips.simulators.recorded_rows import FOLDER

ROWS = json.loads((FOLDER / "gemmini.json").read_text())["rows"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_mappings_cover_their_layers(row: dict) -> None:
    made = layer(row)
    assert (made.p, made.q) == (row["rows"], row["columns"])
    assert prod(mapping(row).factors) >= made.macs
    least = made.macs / 256
    assert least <= cost(row, hardware(row)).latency_cycles <= row["cycles"]


def test_loops_are_read_from_the_outermost_inwards() -> None:
    (row,) = (r for r in ROWS if r["name"] == "BERT, 128 x 768 x 768")
    cells, sums, pad, dram = mapping(row).levels
    assert cells.temporal[P] == 32
    assert sums.order[:3] == (P, C, K)
    assert (sums.temporal[P], sums.temporal[C], sums.temporal[K]) == (4, 48, 4)
    assert (sums.spatial_y[C], pad.spatial_x[K]) == (16, 16)
    assert dram.temporal[K] == 12
    assert dram.temporal[Q] == 1


def test_an_array_that_waits_more_is_slower() -> None:
    for figure in gemmini().figures:
        assert figure.ours <= figure.switched[LOADED] <= figure.switched[EXPOSED]
