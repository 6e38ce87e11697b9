"""NVDLA: its sizes are those of the table, and passes fit its buffer and cover the layers."""

from dataclasses import replace

import pytest

from archloom.space.networks import network
from archloom.studies.analysis.published_chips.nvdla_networks import (
    IN_TURN,
    RESIDUALS,
    SIZES,
    STRIPE,
    best,
    nests,
    nvdla,
)

LAYERS = [layer for layer in network("resnet50").layers if layer.uses_macs]


def test_sizes_have_the_macs_of_the_table() -> None:
    assert [size.macs for size in SIZES] == [2048, 1024, 512, 256, 128, 64, 32]
    rates = [size.frames_per_s for size in SIZES]
    assert rates == sorted(rates, reverse=True)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: size.macs)
def test_layers_run_in_stripes_and_move_each_result_once(size) -> None:
    for layer in LAYERS[::9]:
        for nest in nests(layer, size):
            sums = nest.levels[1]
            assert sums.temporal[4] * sums.temporal[5] <= STRIPE
        cost = best(replace(layer, name="layer"), size)
        assert cost.words[-1, 2] == layer.output_words
        assert cost.latency_cycles >= layer.macs / size.macs


def test_more_macs_are_faster_and_switches_slower() -> None:
    figures = nvdla().figures
    ours = [f.ours for f in figures]
    assert ours == sorted(ours, reverse=True)
    for figure in figures:
        assert figure.switched[IN_TURN] < figure.switched[RESIDUALS] < figure.ours


def test_what_the_page_says_of_transfers_that_do_not_overlap() -> None:
    """Published figures lie between the two for 128 MACs and more, and 8 to 9% below for less."""
    for size, figure in zip(SIZES, nvdla().figures, strict=True):
        in_turn = figure.switched[IN_TURN] / figure.theirs
        if size.macs >= 128:
            assert in_turn < 1 < figure.ratio
        else:
            assert 1.075 < in_turn < 1.095
