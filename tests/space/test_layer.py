from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archloom.space.layer import Layer

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
        ({"operator": "softmux"}, "operator 'softmux' is not known"),
        ({"k": 0}, "must be a whole number, at least 1"),
        ({"stride": (0, 1)}, "must be a whole number, at least 1"),
        ({"operands": 0}, "must be a whole number, at least 1"),
        ({"padding": (3, 1)}, r"padding 3 must be in \[0, 3\)"),
        ({"padding": (1, -1)}, r"padding -1 must be in \[0, 3\)"),
        ({"stride": (2, 1)}, "output 6 starts its last window at 9, outside an input of 6"),
    ],
)
def test_impossible_layers_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=f"layer conv: .*{message}"):
        replace(CONV, **change)  # type: ignore[arg-type]


def test_dilation_widens_the_window() -> None:
    wide = replace(CONV, dilation=(2, 2), padding=(4, 4))
    assert wide.padding == (4, 4)
    with pytest.raises(ValueError, match=r"padding 5 must be in \[0, 5\)"):
        replace(CONV, dilation=(2, 2), padding=(5, 4))
