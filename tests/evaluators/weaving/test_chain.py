import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from archloom.evaluators.weaving import Chain, Npu, repeated, ticked

COLUMNS: dict[str, Any] = {
    "name": "net",
    "weight_bytes": [5, 100],
    "cycles": [3, 7],
    "map_bytes": [0, 7],
    "footprint_bytes": [4, 6],
    "live_bytes": [2, 0],
    "layers": ("a", "b"),
}
NPU = Npu("npu", 225 * 10**9, 700 * 10**6, 48, 10)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"layers": ()}, "it has no layers; a chain needs at least one"),
        ({"cycles": [1]}, "cycles has 1 values for 2 layers"),
        ({"cycles": [[1, 2]]}, "cycles has 2 values for 2 layers in 2 dimensions"),
        ({"weight_bytes": [1, -1]}, "weight_bytes of layer b must be a whole number from 0 up to"),
        ({"map_bytes": [2**51, 0]}, "map_bytes of layer a must be .* got 2251799813685248"),
        ({"cycles": [1.5, 2]}, "cycles must be whole numbers, got 1.5"),
        ({"cycles": ["x", "y"]}, "cycles must be whole numbers, got 'x'"),
        ({"cycles": [np.nan, 1]}, "cycles must be whole numbers, got nan"),
        ({"live_bytes": [0, 3]}, "live_bytes of the last layer, b, must be 0, got 3"),
        (
            {"weight_bytes": [0, 0], "cycles": [0, 0]},
            "none of its 2 layers has weights or cycles; a network without MACs",
        ),
    ],
)
def test_what_is_no_chain_is_named(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape("chain net: ") + message):
        Chain(**(COLUMNS | wrong))


def test_whole_floats_are_taken_and_columns_do_not_change() -> None:
    chain = Chain(**(COLUMNS | {"cycles": [3.0, 7.0]}))
    assert chain.cycles.tolist() == [3, 7]
    assert len(chain) == 2
    with pytest.raises(ValueError, match="read-only"):
        chain.cycles[0] = 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"dram_bytes_per_s": 0}, "dram_bytes_per_s must be"),
        ({"dram_bytes_per_s": 1.5}, "dram_bytes_per_s must be a whole number or a Fraction"),
        ({"dram_bytes_per_s": Fraction(-1, 2)}, "dram_bytes_per_s must be"),
        ({"clock_hz": 0}, "clock_hz must be a whole number from 1 up to"),
        ({"weight_buffer_bytes": 0}, "weight_buffer_bytes must be a whole number from 1 up to"),
        ({"map_buffer_bytes": -1}, "map_buffer_bytes must be a whole number from 0 up to"),
    ],
)
def test_what_is_no_npu_is_named(wrong: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {
        "name": "npu",
        "dram_bytes_per_s": 1,
        "clock_hz": 1,
        "weight_buffer_bytes": 1,
        "map_buffer_bytes": 0,
    }
    with pytest.raises(ValueError, match=f"NPU npu: {message}"):
        Npu(**(given | wrong))


def test_ticks_are_rounded_up_and_large_layers_come_in_parts() -> None:
    work = ticked([Chain(**COLUMNS)], NPU)
    # 225 GB/s at 700 MHz: 2250 / 7 bytes a cycle; 100 bytes in a buffer of 48 are 3 parts
    assert work.fetch.tolist() == [5, 33, 33, 34]
    assert work.compute.tolist() == [965, 750, 750, 750]
    assert work.maps.tolist() == [0, 2, 2, 3]
    assert work.footprint.tolist() == [4, 6, 6, 6]
    # between parts all maps of the layer are kept
    assert work.live.tolist() == [2, 6, 6, 0]
    assert work.layer.tolist() == [0, 1, 1, 1]
    assert (work.first.tolist(), work.buffer, work.map_buffer) == ([0, 4], 48, 10)


def test_a_rate_of_a_fraction_is_exact() -> None:
    chain = Chain(**(COLUMNS | {"cycles": [3 * 10**9, 1]}))
    work = ticked([chain], Npu("n", Fraction(1, 3), 1, 200, 0))
    assert work.compute.tolist() == [10**9, 1]


def test_chains_that_are_repeated() -> None:
    other = Chain(**(COLUMNS | {"name": "other", "weight_bytes": [1, 2]}))
    work = ticked([Chain(**COLUMNS), other, other], Npu("n", 1, 1, 200, 0))
    again = repeated(work, [1, 0, 2])
    assert again.first.tolist() == [0, 2, 6]
    assert again.fetch.tolist() == [5, 100, 1, 2, 1, 2]
    assert again.buffer == 200


def test_amounts_that_cannot_be_exact_are_refused() -> None:
    with pytest.raises(ValueError, match="there are no networks to schedule"):
        ticked([], NPU)
    large = Chain(**(COLUMNS | {"cycles": [2**50, 0]}))
    with pytest.raises(ValueError, match=r"chain net: a layer takes .* at most 2\*\*50"):
        ticked([large], NPU)
    many = Chain(**(COLUMNS | {"cycles": [2**49, 2**49]}))
    with pytest.raises(ValueError, match=r"net on NPU n: .* add up to"):
        ticked([many], Npu("n", 1, 1, 200, 0))


def test_a_buffer_that_cuts_layers_into_millions_of_parts_is_refused() -> None:
    # a million parts of 30 bytes, and one more
    chain = Chain("net", [30 * 10**6, 1], [1, 1], [0, 0], [0, 0], [0, 0], ("a", "b"))
    assert len(ticked([chain], Npu("n", 1, 1, 31, 0)).fetch) < 10**6
    with pytest.raises(ValueError, match=r"buffer of 30 bytes .* 1,000,001 parts, at most 1,000,"):
        ticked([chain], Npu("n", 1, 1, 30, 0))
