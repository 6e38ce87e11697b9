from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from archloom.space.workload.layer import Interleave, Layer

CONV = Layer(
    "conv",
    "conv",
    k=8,
    c=4,
    p=6,
    q=5,
    r=3,
    s=3,
    padding=(1, 1),
    input_size=(6, 5),
    extra_params=16,
)
POOL = Layer("pool", "maxpool", g=8, p=3, q=3, r=2, s=2, stride=(2, 2), input_size=(6, 6))


def test_counts_of_a_convolution() -> None:
    assert CONV.macs == 8 * 4 * 6 * 5 * 9
    assert CONV.vector_ops == 0
    assert CONV.weight_words == 8 * 4 * 9
    assert CONV.params == 8 * 4 * 9 + 16
    assert CONV.input_words == 4 * 6 * 5
    assert CONV.output_words == 8 * 6 * 5
    assert not CONV.depthwise


def test_counts_of_vector_operators() -> None:
    assert POOL.macs == POOL.weight_words == 0
    assert POOL.vector_ops == 8 * 3 * 3 * 4
    add = Layer("add", "add", g=8, p=6, q=6, input_size=(6, 6), operands=2)
    assert add.vector_ops == add.input_words == 2 * add.output_words == 2 * 8 * 36


def test_depthwise_reads_one_channel_for_each_output() -> None:
    depthwise = replace(CONV, g=4, k=1, c=1)
    assert depthwise.depthwise
    assert depthwise.input_channels == depthwise.output_channels == 4
    assert not replace(depthwise, operator="maxpool").depthwise


@given(st.integers(1, 64))
def test_batch_scales_work_and_maps_but_no_weights(n: int) -> None:
    batched = CONV.with_batch(n)
    assert batched.macs == n * CONV.macs
    assert batched.input_words == n * CONV.input_words
    assert batched.output_words == n * CONV.output_words
    assert batched.params == CONV.params


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"operator": "softmux"}, "operator 'softmux' is not known; did you mean softmax?"),
        ({"operator": None}, "operator None is not known"),
        ({"activation": "rely"}, "activation 'rely' is not known; did you mean relu"),
        ({"c": 1.5}, "c is 1.5, must be a whole number, at least 1"),
        ({"k": 0, "q": float("nan")}, "k is 0, must be .*; q is nan, must be"),
        ({"extra_params": -1}, "extra_params is -1, must be a whole number, at least 0"),
        ({"padding": (1, 0.5)}, "padding is 0.5, must be a whole number"),
        ({"k": 2**50}, "macs is [0-9]*, must be at most 9007199254740992 to be counted"),
        ({"operands": 2}, "operands is 2, conv reads 1"),
        ({"operands": 10**12}, "operands is 1000000000000, must be at most 1024"),
        ({"operands": 2, "parts": (1, 2)}, r"parts \(1, 2\) must be the channels of 2 maps, 4"),
        ({"broadcast": True}, "broadcast is for an add or mul of 2 maps, not for conv of 1"),
        ({"operator": "maxpool"}, "k and c are 8 and 4, for maxpool both must be 1: channels are"),
        ({"operator": "softmax"}, "softmax has no windows.*k and c are 8 and 4, for softmax both"),
        ({"operator": "matmul"}, "matmul has no windows.*operands is 1, matmul reads 2"),
        ({"operator": "lstm_state", "parts": (1, 3)}, "parts are for operators with one input"),
        ({"interleave": Interleave(3, 1)}, "patches of 3x1 must divide 8 channels"),
        ({"interleave": Interleave(0, 1)}, "patches of 0x1 must divide 8 channels"),
        ({"interleave": Interleave(2, 2, (6, 0), (6, 0))}, "must leave some of the map"),
        ({"interleave": Interleave(2, 2, (-1, 0))}, "must leave some of the map"),
        ({"k": 0}, "must be a whole number, at least 1"),
        ({"stride": (0, 1)}, "must be a whole number, at least 1"),
        ({"operands": 0}, "must be a whole number, at least 1"),
        ({"padding": (3, 1)}, r"padding 3 must be at least 0 and below the window, 3"),
        ({"padding": (1, -1)}, r"padding -1 must be at least 0 and below the window, 3"),
        ({"stride": (2, 1)}, "output 6 starts its last window at 9, outside the input of 6"),
    ],
)
def test_impossible_layers_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=f"layer conv: .*{message}"):
        replace(CONV, **change)  # type: ignore[arg-type]


def test_dilation_widens_the_window() -> None:
    wide = replace(CONV, dilation=(2, 2), padding=(4, 4))
    assert wide.padding == (4, 4)
    with pytest.raises(ValueError, match=r"padding 5 must be at least 0 and below the window, 5"):
        replace(CONV, dilation=(2, 2), padding=(5, 4))


def test_an_interleave_shows_another_map_than_is_made() -> None:
    spread = replace(CONV, interleave=Interleave(2, 2, (1, 0), (0, 3), zero_weights=9, idle_macs=5))
    assert spread.map_shape == (2, 11, 7)
    assert spread.output_words == CONV.output_words
    assert spread.params == CONV.params - 9
    assert spread.with_batch(3).useful_macs == 3 * (CONV.macs - 5)


def test_concatenated_maps_are_read_like_one() -> None:
    both = replace(CONV, parts=(3, 1), operands=2)
    assert both.map_words == (90, 30)
    assert (both.input_words, both.read_words, both.macs) == (120, 120, CONV.macs)
    pool = replace(POOL, parts=(2, 6), operands=2)
    assert (pool.vector_ops, pool.input_words) == (POOL.vector_ops, POOL.input_words)
