"""Stream beside the model: the same chains, parts and words off the chip."""

import pytest

from archloom.studies.analysis.published_chips.simulators.recorded_rows import recorded
from archloom.studies.analysis.published_chips.simulators.stream_chains import (
    EDGES,
    OFF_CHIP_WORDS,
    PARTS,
    SIDE,
    at_edges,
    chain,
    fused,
    stream,
)

ROWS = recorded("stream", "Stream", "stream-dse").rows


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['name']}, {row['parts']}")
def test_a_group_moves_maps_and_weights_once_in_as_many_tiles(row: dict) -> None:
    network, cost = chain(row), fused(row)
    (group,) = cost.groups
    assert group.tiles == row["parts"]
    assert row["found"]["parts"] == [row["parts"]] * len(row["layers"])
    size, filters = row["size"] ** 2, row["layers"][-1][1]
    assert cost.dram_writes == filters * size
    weights = sum(layer.weights for layer in network.layers)
    assert cost.dram_reads == weights + row["layers"][0][0] * size
    assert cost.latency_cycles >= network.macs / SIDE**2


def test_whole_layers_take_the_first_load_and_the_last_store() -> None:
    """Of Stream: load of inputs with their padding and weights, parts, and store of results."""
    for row in (row for row in ROWS if row["parts"] == 1):
        found = row["found"]
        channels, filters, kernel = row["layers"][0]
        padded = (row["size"] + kernel - 1) ** 2 * channels
        assert found["first_start"] == (padded + channels * filters * kernel**2) / OFF_CHIP_WORDS
        stored = row["layers"][-1][1] * row["size"] ** 2 / OFF_CHIP_WORDS
        assert found["latency_cycles"] - found["last_end"] == stored
        assert 0.85 < at_edges(row, fused(row)) / found["latency_cycles"] <= 1


def test_transfers_at_the_edges_never_make_it_faster() -> None:
    for figure in stream().figures:
        if "over" not in figure.name:
            assert figure.ours <= figure.switched[EDGES] <= figure.switched[PARTS] <= figure.theirs
            assert figure.switched[PARTS] > 0.85 * figure.theirs
