"""Gemmini's software: what a call loads, counted pixel by pixel, and products one by one."""

import json
from math import ceil
from typing import Any

import pytest
from hypothesis import given, strategies as st

from archloom.space.workload import C, K, P, Q, R, S
from archloom.studies.analysis.published_chips.simulators.gemmini_layers import (
    DRIVEN,
    DRIVEN_IN_TURN,
    gemmini,
    mapping,
)
from archloom.studies.analysis.published_chips.simulators.gemmini_software import (
    IN_ARRAY,
    IN_FLIGHT,
    SIDE,
    cycles_of_weights,
    driven,
    is_product,
    product_starts,
)
from archloom.studies.analysis.published_chips.simulators.recorded_rows import FOLDER

ROWS = json.loads((FOLDER / "gemmini.json").read_text())["rows"]
CONVOLUTIONS = [row for row in ROWS if not is_product(row)]


def words_by_calls(row: dict[str, Any]) -> int:
    """Count the bytes of all calls as the loops of tiled_conv do, one call after another."""
    found = mapping(row)
    outer = found.levels[-1].temporal
    tile = {d: found.factors[d] // outer[d] for d in (P, Q, C, K, R, S)}
    (r, s), stride = row["kernel"], row["stride"]
    words = row["rows"] * row["columns"] * row["kernels"]
    for column in range(0, row["rows"], tile[P]):
        for line in range(0, row["columns"], tile[Q]):
            for tap in range(0, r, tile[R]):
                for tap_down in range(0, s, tile[S]):
                    wide = range(
                        column * stride + tap - r // 2,
                        (column + tile[P]) * stride + tap + tile[R] - 1 - r // 2,
                    )
                    high = range(
                        line * stride + tap_down - s // 2,
                        (line + tile[Q]) * stride + tap_down + tile[S] - 1 - s // 2,
                    )
                    pixels = sum(0 <= x < row["rows"] * stride for x in wide)
                    pixels *= sum(0 <= y < row["columns"] * stride for y in high)
                    weights = tile[R] * tile[S] * tile[K]
                    words += outer[K] * outer[C] * tile[C] * (pixels + weights)
    return words


def test_what_is_a_convolution() -> None:
    assert len(CONVOLUTIONS) == 23
    assert {row["name"] for row in ROWS if is_product(row)} == {
        row["name"] for row in ROWS if "BERT" in row["name"] or "classifier" in row["name"]
    }


@pytest.mark.parametrize("row", CONVOLUTIONS, ids=lambda row: row["name"])
def test_transfers_are_those_of_the_calls(row: dict[str, Any]) -> None:
    run = driven(row, mapping(row))
    assert run.transfers == ceil(words_by_calls(row) / SIDE)
    macs = row["channels"] * row["kernels"] * row["rows"] * row["columns"] * row["kernel"][0] ** 2
    assert run.array >= macs / SIDE**2
    assert run.overlapped == max(run.array, run.transfers)
    assert run.in_turn == run.array + run.transfers


def test_a_stride_over_single_pixels_loads_all_of_them() -> None:
    (row,) = (r for r in ROWS if "1024 to 2048" in r["name"])
    # 2 x 32 calls, each with 14 x 14 pixels of 512 channels and 512 x 64 weights
    inputs, weights = 64 * 14 * 14 * 512, 64 * 512 * 64
    assert driven(row, mapping(row)).transfers == (inputs + weights + 49 * 2048) / SIDE
    skipped = row | {"stride": 1}
    loaded = driven(skipped, mapping(skipped)).transfers
    assert driven(row, mapping(row)).transfers - loaded == 0.75 * inputs / SIDE


def test_long_products_follow_each_other() -> None:
    assert cycles_of_weights(32, 10) == 20 * SIDE
    assert cycles_of_weights(SIDE, 1) == SIDE
    # what is left over of a row after whole products takes a product of its own
    assert cycles_of_weights(SIDE + 9, 10) == 10 * (SIDE + 9)


def test_short_products_wait_for_a_place_in_the_array() -> None:
    each = (cycles_of_weights(4, 400) - cycles_of_weights(4, 200)) / 200
    assert each == pytest.approx((4 + IN_ARRAY) / IN_FLIGHT)
    # fewer than four pixels take four cycles
    assert cycles_of_weights(1, 50) == cycles_of_weights(4, 50)


@given(st.lists(st.integers(4, SIDE), min_size=1, max_size=60))
def test_no_more_products_are_in_the_array_than_there_are_places(cycles: list[int]) -> None:
    starts = product_starts(cycles)
    assert all(b - a >= each for a, b, each in zip(starts, starts[1:], cycles, strict=False))
    left = [start + each + IN_ARRAY for start, each in zip(starts, cycles, strict=False)]
    for n, start in enumerate(starts):
        assert sum(end > start for end in left[:n]) <= IN_FLIGHT - 1
    # nothing waits without need
    for n in range(1, len(starts)):
        waits = [starts[n - 1] + cycles[n - 1]]
        waits += [left[n - IN_FLIGHT]] if n >= IN_FLIGHT else []
        assert starts[n] == max(waits)


def test_the_two_bounds_hold_the_rtl_better_than_the_model() -> None:
    figures = [f for f in gemmini().figures if DRIVEN in f.switched]
    assert len(figures) == len(CONVOLUTIONS)
    for f in figures:
        # the array alone is never slower than the RTL
        assert f.switched[DRIVEN] <= f.theirs
        assert f.switched[DRIVEN] >= 0.999 * f.ours
    inside = sum(f.theirs <= f.switched[DRIVEN_IN_TURN] for f in figures)
    text = " ".join(gemmini().text.split())
    assert f"Between these two lie {inside} of 23 layers." in text
