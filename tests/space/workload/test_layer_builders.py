"""Constructors against PyTorch's modules, and what they refuse."""

from collections.abc import Callable
from math import inf, nan, prod
from typing import get_args

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings, strategies as st
from torch import nn

from archloom.space.workload import layer_builders as ops, vector_layer_builders as vectors
from archloom.space.workload.layer import OPERATORS, Layer
from archloom.space.workload.vector_ops import ACTIVATIONS, VECTOR_OPERATORS, VectorName
from archloom.space.workload.window import transposed_axis

META = torch.device("meta")
COUNT = st.integers(1, 6)
examples = settings(max_examples=60, deadline=None)


def check(layer: Layer, module: nn.Module, *input_shape: int) -> None:
    """Compare shape, parameters and multiply-accumulates with a module on one image."""
    made = tuple(module(torch.empty(1, *input_shape, device=META)).shape[1:])
    assert layer.map_shape == (*made, *(1,) * (3 - len(made)))
    assert layer.params == sum(p.numel() for p in module.parameters())
    assert layer.input_words == prod(input_shape)


@examples
@given(data=st.data())
def test_convolutions_are_those_of_torch(data: st.DataObject) -> None:
    groups, rows, columns = (data.draw(st.integers(1, n)) for n in (4, 12, 12))
    before, after = groups * data.draw(COUNT), groups * data.draw(COUNT)
    kernel, stride, dilation = (
        (data.draw(st.integers(1, n)), data.draw(st.integers(1, n))) for n in (4, 3, 3)
    )
    padding = tuple(
        data.draw(st.integers(0, (k - 1) * d)) for k, d in zip(kernel, dilation, strict=True)
    )
    bias = data.draw(st.booleans())
    sides = zip((rows, columns), kernel, padding, dilation, strict=True)
    assume(all((k - 1) * d + 1 <= size + 2 * p for size, k, p, d in sides))
    arguments = (kernel, stride, padding, dilation, groups)
    layer = ops.conv2d("c", before, after, (rows, columns), *arguments, bias=bias)
    check(
        layer, nn.Conv2d(before, after, *arguments, bias=bias, device=META), before, rows, columns
    )
    _, p, q = layer.map_shape
    assert layer.macs == layer.useful_macs == p * q * prod(kernel) * before * after // groups
    assert layer.depthwise == (groups == before == after > 1)


@examples
@given(data=st.data())
def test_one_dimensional_convolutions_are_those_of_torch(data: st.DataObject) -> None:
    groups, length = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 20))
    before, after = groups * data.draw(COUNT), groups * data.draw(COUNT)
    kernel, stride, dilation = (data.draw(st.integers(1, n)) for n in (5, 4, 3))
    padding = data.draw(st.integers(0, (kernel - 1) * dilation))
    assume((kernel - 1) * dilation < length + 2 * padding)
    arguments = (kernel, stride, padding, dilation, groups)
    layer = ops.conv1d("c", before, after, length, *arguments)
    check(layer, nn.Conv1d(before, after, *arguments, device=META), before, length)
    assert layer.macs == layer.map_shape[1] * kernel * before * after // groups


transposed = st.tuples(
    st.integers(1, 7), st.integers(1, 7), st.integers(1, 4), st.integers(0, 6), st.integers(0, 3)
).filter(lambda t: t[3] < t[1] and t[4] < t[2] and (t[0] - 1) * t[2] - 2 * t[3] + t[1] + t[4] > 0)


@examples
@given(y=transposed, x=transposed, groups=st.integers(1, 3), depth=st.tuples(COUNT, COUNT))
def test_transposed_convolutions_are_those_of_torch(
    y: tuple[int, ...], x: tuple[int, ...], groups: int, depth: tuple[int, int]
) -> None:
    size, kernel, stride, padding, more = zip(y, x, strict=True)
    before, after = (groups * d for d in depth)
    layer = ops.conv_transpose2d("t", before, after, size, kernel, stride, padding, more, groups)
    module = nn.ConvTranspose2d(before, after, kernel, stride, padding, more, groups, device=META)
    check(layer, module, before, *size)
    assert layer.useful_macs <= layer.macs
    if all(k % s == p % s == o == 0 for _, k, s, p, o in (y, x)):
        assert layer.useful_macs == layer.macs
    assert layer.with_batch(3).useful_macs == 3 * layer.useful_macs


@examples
@given(
    y=transposed,
    size=st.integers(1, 7),
    kernel=st.integers(2, 5),
    dilation=st.integers(2, 4),
    spread=st.integers(1, 3),
)
def test_dilated_transposed_convolutions_are_those_of_torch(
    y: tuple[int, ...], size: int, kernel: int, dilation: int, spread: int
) -> None:
    """Rows with a stride, columns with a dilation; the columns' numbers themselves."""
    padding = min(size - 1, kernel)
    more = min(padding, dilation - 1)
    sides = zip(y, (size, kernel, 1, padding, more), strict=True)
    sizes, kernels, strides, pads, extra = sides
    dilations = (spread, dilation)
    layer = ops.conv_transpose2d(
        "t", 4, 6, sizes, kernels, strides, pads, extra, dilation=dilations
    )
    options = {"padding": pads, "output_padding": extra, "dilation": dilations}
    check(layer, nn.ConvTranspose2d(4, 6, kernels, strides, device=META, **options), 4, *sizes)

    rng = np.random.default_rng(size)
    weights, inputs = rng.integers(1, 100, kernel), rng.integers(1, 100, size)
    reach = (kernel - 1) * dilation + 1
    scattered = np.zeros(size - 1 + reach + more, np.int64)
    for i, value in enumerate(inputs):
        scattered[i : i + reach : dilation] += value * weights
    axis = transposed_axis("t", size, kernel, 1, padding, more, dilation)
    padded = np.zeros(axis.padding + axis.outputs + reach, np.int64)
    padded[axis.padding : axis.padding + size] = inputs
    windows = [padded[t : t + reach : dilation] @ weights[::-1] for t in range(axis.outputs)]
    assert windows == scattered[padding : scattered.size - padding].tolist()


@given(transposed, st.integers(1, 3))
@settings(max_examples=300, deadline=None)
def test_a_transposed_convolution_is_a_convolution_and_an_interleave(
    t: tuple[int, ...], dilation: int
) -> None:
    """The numbers themselves: gather patches of a stride-1 convolution, cut, and compare."""
    size, taps_of_it, stride, padding, more = t
    dilation = 1 if stride == 1 else dilation
    kernel = (taps_of_it - 1) * dilation + 1
    rng = np.random.default_rng(sum(t))
    weights, inputs = np.zeros(kernel, np.int64), rng.integers(1, 100, size)
    weights[::dilation] = rng.integers(1, 100, taps_of_it)
    scattered = np.zeros((size - 1) * stride + kernel + more, np.int64)
    for i, value in enumerate(inputs):
        scattered[i * stride : i * stride + kernel] += value * weights
    length = (size - 1) * stride - 2 * padding + kernel + more
    expected = scattered[padding : padding + length]

    axis = transposed_axis("t", *t, dilation)
    assert axis.dilation == 1
    shift = (axis.start - padding) % stride
    # tap a of patch position f holds the kernel's j = stride * (taps - 1 - a) + f - shift
    taps = [
        [stride * (axis.taps - 1 - a) + f - shift for a in range(axis.taps)] for f in range(stride)
    ]
    values = np.array([[weights[j] if 0 <= j < kernel else 0 for j in row] for row in taps])
    used = [j for row in taps for j in row if 0 <= j < kernel]
    assert sorted(used) == list(range(kernel)), "each weight is in one place"
    padded = np.zeros(axis.padding + max(size, axis.outputs + axis.taps), np.int64)
    padded[axis.padding : axis.padding + size] = inputs
    windows = np.stack([padded[t : t + axis.taps] for t in range(axis.outputs)])
    patches = (windows @ values.T).ravel()
    assert len(patches) == axis.start + length + axis.end
    assert patches[axis.start : axis.start + length].tolist() == expected.tolist()
    used = range(0, kernel, dilation)
    useful = sum((o + padding - j) % stride == 0 for o in range(length) for j in used)
    assert axis.useful_taps == useful


@examples
@given(COUNT, COUNT, st.integers(1, 9), st.booleans())
def test_matrix_products_are_those_of_torch(c: int, k: int, rows: int, bias: bool) -> None:
    layer = ops.linear("fc", c, k, rows, bias=bias)
    module = nn.Linear(c, k, bias=bias, device=META)
    assert layer.params == sum(p.numel() for p in module.parameters())
    made = module(torch.empty(rows, c, device=META))
    assert layer.map_shape == (k, *made.shape[:1], 1)
    assert layer.macs == rows * c * k


@examples
@given(COUNT, COUNT, COUNT, COUNT, st.integers(1, 4))
def test_products_of_maps_are_those_of_torch(h: int, m: int, k: int, n: int, batch: int) -> None:
    one = ops.matmul("qk", h, m, k, n)
    layer = one.with_batch(batch)
    first, second = torch.empty(batch, h, m, k), torch.empty(batch, h, k, n)
    made = torch.matmul(first, second)
    assert layer.output_words == made.numel()
    assert layer.n * np.array(layer.map_words) == pytest.approx([first.numel(), second.numel()])
    assert layer.macs == batch * one.macs == made.numel() * k
    assert layer.params == layer.weight_words == 0
    # each image multiplies maps of its own
    assert layer.bounds == (1, batch * h, n, k, m, 1, 1, 1)
    assert layer.image_bounds == one.bounds


@examples
@given(COUNT, COUNT)
def test_vectors_and_cells_are_those_of_torch(features: int, hidden: int) -> None:
    norm = vectors.layer_norm("n", features, 5)
    assert norm.params == sum(p.numel() for p in nn.LayerNorm(features).parameters())
    assert norm.map_shape == (features, 5, 1)
    gates, state, output = ops.lstm_cell("lstm", features, hidden)
    cell = nn.LSTMCell(features, hidden, device=META)
    assert gates.params + state.params + output.params == sum(p.numel() for p in cell.parameters())
    h, c = cell(torch.empty(1, features, device=META))
    assert (output.output_words, state.output_words) == (h.numel(), c.numel())
    assert gates.macs == cell.weight_ih.numel() + cell.weight_hh.numel()
    assert gates.map_words == (features, hidden)
    assert state.map_words == output.map_words == (4 * hidden, hidden)
    # together they read each gate once
    assert state.read_words + output.read_words == 4 * hidden + 2 * hidden


@examples
@given(COUNT, COUNT, st.booleans(), st.integers(0, 2))
def test_grus_are_those_of_torch(
    features: int, hidden: int, reset_after: bool, biases: int
) -> None:
    parts = ops.gru_cell("gru", features, hidden, biases=biases, reset_after=reset_after)
    cell = nn.GRUCell(features, hidden, bias=biases > 0, device=META)
    learned = sum(p.numel() for p in cell.parameters())
    assert sum(part.params for part in parts) == learned - (biases == 1) * 3 * hidden
    assert sum(part.macs for part in parts) == cell.weight_ih.numel() + cell.weight_hh.numel()
    assert parts[-1].output_words == hidden
    # each product, the last output and both gates are read once by what makes the output
    reads = sum(part.read_words for part in parts if not part.uses_macs)
    assert reads == 5 * hidden
    assert parts[0].map_words == (features, hidden)


@examples
@given(COUNT, COUNT)
def test_plain_and_projected_cells_are_those_of_torch(features: int, hidden: int) -> None:
    plain = ops.rnn_cell("rnn", features, hidden, "relu")
    cell = nn.RNNCell(features, hidden, nonlinearity="relu", device=META)
    assert plain.params == sum(p.numel() for p in cell.parameters())
    assert (plain.activation, plain.output_words) == ("relu", hidden)
    parts = ops.lstm_cell("lstm", features, hidden + 1, projected=hidden)
    whole = nn.LSTM(features, hidden + 1, proj_size=hidden, device=META)
    assert sum(part.params for part in parts) == sum(p.numel() for p in whole.parameters())
    assert parts[0].map_words == (features, hidden)
    assert parts[-1].output_words == hidden


@examples
@given(data=st.data())
def test_pools_are_those_of_torch(data: st.DataObject) -> None:
    channels, size, kernel = (data.draw(st.integers(1, n)) for n in (5, 12, 4))
    stride = data.draw(st.one_of(st.none(), st.integers(1, 4)))
    padding = data.draw(st.integers(0, kernel // 2))
    assume(kernel <= size + 2 * padding)
    arguments = (kernel, stride, padding)
    check(
        ops.max_pool2d("p", channels, size, *arguments),
        nn.MaxPool2d(*arguments),
        channels,
        size,
        size,
    )
    check(
        ops.avg_pool2d("p", channels, size, *arguments),
        nn.AvgPool2d(*arguments),
        channels,
        size,
        size,
    )
    check(ops.global_pool("g", channels, size), nn.AdaptiveAvgPool2d(1), channels, size, size)


def test_a_broadcast_reads_one_value_for_each_channel() -> None:
    scale = ops.mul("scale", 8, (6, 5), broadcast=True)
    assert scale.map_words == (8 * 30, 8)
    assert scale.input_words == scale.read_words == 8 * 31
    assert scale.output_words == 8 * 30
    assert scale.with_batch(2).input_words == 2 * 8 * 31


def test_every_operator_has_a_row() -> None:
    names = [name for part in get_args(VectorName) for name in get_args(part)]
    assert list(VECTOR_OPERATORS) == names
    assert set(ACTIVATIONS) < set(VECTOR_OPERATORS)
    assert set(OPERATORS) == {"conv", "gemm", "matmul", *names}
    assert all(row.operations > 0 for row in VECTOR_OPERATORS.values())


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: ops.conv2d("c", 10, 12, 8, 3, groups=7),
            "layer c: groups is 7, must divide in_channels 10 and out_channels 12; nearest: 2",
        ),
        (
            lambda: ops.conv2d("c", 4, 4, 2, 3),
            "layer c: kernel 3 with dilation 1 spans 3, more than a side of 2 with padding 0",
        ),
        (
            lambda: ops.conv1d("c", 4, 4, 9, 3, stride=0),
            "layer c: stride is 0, must be a whole number, at least 1",
        ),
        (
            lambda: ops.conv2d("c", 4, 4, (8, 8, 8), 3),
            r"layer c: size is \(8, 8, 8\), must be a whole number, at least 1",
        ),
        (
            lambda: ops.conv2d("c", 4, 4, 8, 3, activation="zzz"),
            "layer c: activation 'zzz' is not known; known: relu, relu6, leaky_relu, prelu",
        ),
        (
            lambda: ops.matmul("qk", 0, 1.5, 2, 3),  # type: ignore[arg-type]
            "layer qk: batch_heads is 0, must be .*; m is 1.5, must be",
        ),
        (
            lambda: ops.activation("a", "siluu", 4),  # type: ignore[arg-type]
            "layer a: activation 'siluu' is not known; did you mean silu",
        ),
        (
            lambda: ops.conv_transpose2d("t", 4, 4, 8, 3, 2, padding=3),
            "layer t: padding 3 must be below the kernel, 3",
        ),
        (
            lambda: ops.conv_transpose2d("t", 4, 4, 8, 3, 2, output_padding=2),
            "layer t: output_padding 2 must be below the stride, 2",
        ),
        (
            lambda: ops.conv_transpose2d("t", 4, 4, 1, 3, 1, padding=2),
            "layer t: padding 2 on both ends leaves nothing of the 3 positions",
        ),
    ],
)
def test_impossible_shapes_are_refused(build: Callable[[], Layer], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()


ANYTHING = st.one_of(
    st.integers(-2, 9),
    st.sampled_from([10**12, 10**30, 0.5, 2.0, nan, inf, None, "3", (3, 3), (0, 1), (1, 2, 3)]),
)
SHAPES = {
    ops.conv2d: 8,
    ops.conv1d: 8,
    ops.conv_transpose2d: 8,
    ops.linear: 3,
    ops.matmul: 4,
    ops.max_pool2d: 5,
    ops.global_pool: 2,
    ops.mul: 3,
    vectors.softmax: 3,
    vectors.layer_norm: 2,
    ops.lstm_cell: 2,
    ops.gru_cell: 2,
    ops.rnn_cell: 2,
}


@settings(max_examples=700, deadline=None)
@given(build=st.sampled_from(list(SHAPES)), data=st.data())
def test_malformed_shapes_are_refused_or_have_counts(
    build: Callable[..., Layer | tuple[Layer, ...]], data: st.DataObject
) -> None:
    arguments = [data.draw(ANYTHING) for _ in range(SHAPES[build])]
    try:
        made = build("x", *arguments)
    except ValueError as error:
        message = str(error)
    else:
        message = ""
    if message:
        assert message.startswith("layer x")
        return
    for layer in made if isinstance(made, tuple) else (made,):
        work = layer.macs + layer.vector_ops
        assert work > 0
        assert min(layer.map_shape) > 0 < layer.input_words
        assert 0 < layer.read_words <= layer.input_words
        assert 0 <= layer.useful_macs <= layer.macs
        assert layer.params >= 0
