"""What no plan can leave out, followed back through operators with maps of their own."""

from dataclasses import replace

import numpy as np
import pytest

from archloom.evaluators.bounds.needed_outputs import needed, touched
from archloom.space.workload.layer import Layer
from archloom.space.workload.layer_builders import (
    activation,
    conv2d,
    conv_transpose2d,
    linear,
    lstm_cell,
    matmul,
    max_pool2d,
    mul,
)
from archloom.space.workload.network import Network
from archloom.space.workload.slice import Slice


def chain(*layers):
    names = ("input", *(layer.name for layer in layers[:-1]))
    return Network("chain", layers, tuple((name,) for name in names))


@pytest.mark.parametrize(
    ("reader", "patches", "inputs"),
    [
        # the map has 8 of the 10 rows in 5 patches of 2; two taps of inputs for each patch
        (max_pool2d("read", 2, 8, 1, 1), 5, 4),
        # rows 0 to 2 are rows 1 to 3 of the patches: 0 and 1, which read inputs -1 to 1
        (Layer("read", "maxpool", g=2, p=3, q=3, input_size=(8, 8)), 2, 2),
        # row 0 is in the first patch
        (Layer("read", "maxpool", g=2, input_size=(8, 8)), 1, 1),
        # rows 0, 4: the first patch and the third, which reads inputs 1 and 2
        (Layer("read", "maxpool", g=2, p=2, q=2, stride=(4, 4), input_size=(8, 8)), 2, 3),
    ],
)
def test_patches_that_nobody_reads_are_left_out(reader, patches, inputs):
    net = chain(conv_transpose2d("up", 3, 2, 4, 4, 2, 1), reader)
    least = needed(net)
    assert least.outputs == (patches**2, reader.p * reader.q)
    assert least.input_words == 3 * inputs**2


def test_only_rows_that_are_read_of_a_products_first_map():
    layers = (
        linear("query", 3, 4, 5),
        linear("key", 3, 4, 5),
        matmul("scores", 1, 5, 4, 5),
        Layer("last", "conv", k=1, c=5, p=2, input_size=(5, 1)),
    )
    reads = (("input",), ("input",), ("query", "key"), ("scores",))
    assert needed(Network("self", layers, reads)).outputs == (2, 5, 2, 2)


def test_several_inputs_add_up_and_readers_of_one_share_it():
    a, b = activation("a", "relu", 4, 3), conv2d("b", 4, 2, 3, 1, 2)
    scale = mul("scale", 4, 3, broadcast=True)
    net = Network("two", (a, b, scale), (("input",), ("input",), ("a", "input:factors")))
    assert needed(net).input_words == 4 * 9 + 4


def test_an_lstm_state_reads_three_of_four_gates():
    _, state, output = lstm_cell("lstm", 3, 5)
    net = Network("state", (state,), (("input:gates", "input:state"),))
    assert needed(net).input_words == state.read_words == 3 * 5 + 5
    reads = (("input:gates", "input:state"), ("input:gates", "lstm.state"))
    assert needed(Network("both", (state, output), reads)).input_words == 3 * 5 + 5


def test_of_an_input_that_is_read_in_another_shape_only_what_windows_read():
    """Every other one of 36 values, whatever shape the map has; and all of it by one that has."""
    box = Slice((0, 0, 0), (1, 6, 6), (1, 6, 6))
    every_other = replace(max_pool2d("every_other", 1, (36, 1), 1, 2), slices=(box,))
    net = Network("viewed", (every_other,), (("input",),)).with_batch(2)
    assert needed(net).input_words == 2 * 18
    both = Network("both", (every_other, activation("a", "relu", 1, 6)), (("input",), ("input",)))
    assert needed(both).input_words == 36


@pytest.mark.parametrize("seed", range(40))
def test_rows_and_columns_that_windows_touch(seed):
    rng = np.random.default_rng(seed)
    taps, stride, dilation = (tuple(map(int, rng.integers(1, 5, 2))) for _ in range(3))
    spread = [(t - 1) * d + 1 for t, d in zip(taps, dilation, strict=True)]
    padding = tuple(int(rng.integers(0, s)) for s in spread)
    size = tuple(int(rng.integers(s, s + 8)) for s in spread)
    layer = conv2d("layer", 2, 2, size, taps, stride, padding, dilation, groups=2)
    found = []
    for axis, made in enumerate((layer.p, layer.q)):
        read = [
            i * stride[axis] - padding[axis] + tap * dilation[axis]
            for i in range(made)
            for tap in range(taps[axis])
        ]
        found.append(len({at for at in read if 0 <= at < size[axis]}))
    assert touched(layer) == tuple(found)
