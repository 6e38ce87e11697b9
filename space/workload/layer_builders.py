"""Builders of layers from the shapes that frameworks use.

A feature map has channels, rows and columns; one number stands for a square. Sequences lie along
rows:
positions of a matrix product, samples of a one-dimensional convolution. Layers have batch 1;
:meth:`archloom.space.workload.layer.Layer.with_batch` changes it. Every function raises ValueError,
with the name of the layer, for a number that is no size and for shapes that do not go together.
"""

from dataclasses import replace
from typing import Any

from ..errors import did_you_mean
from .layer import Interleave, Layer, Operator
from .vector_ops import ACTIVATIONS, Function
from .window import Size, check_groups, check_numbers, check_sizes, pair, transposed_axis, window


def conv2d(
    name: str,
    in_channels: int,
    out_channels: int,
    size: Size,
    kernel: Size,
    stride: Size = 1,
    padding: Size = 0,
    dilation: Size = 1,
    groups: int = 1,
    *,
    bias: bool = True,
    batch_norm: bool = False,
    activation: str = "",
) -> Layer:
    """Return a convolution; it is depthwise if every channel is a group.

    Args:
        name: of the layer.
        in_channels, out_channels: over all groups.
        size: rows and columns of the input.
        kernel, stride, dilation: of the window.
        padding: zeros on each side.
        groups: parts that channels are split into.
        bias: learn one value for each output channel.
        batch_norm: fold in a batch norm, which learns two.
        activation: function applied to values as they leave the array.
    """
    check_groups(name, groups, in_channels=in_channels, out_channels=out_channels)
    return Layer(
        name,
        "conv",
        g=groups,
        k=out_channels // groups,
        c=in_channels // groups,
        extra_params=(bias + 2 * batch_norm) * out_channels,
        activation=activation,
        **window(name, size, kernel, stride, padding, dilation),
    )


def conv1d(
    name: str,
    in_channels: int,
    out_channels: int,
    length: int,
    kernel: int,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    groups: int = 1,
    *,
    bias: bool = True,
    activation: str = "",
) -> Layer:
    """Return a convolution along a sequence of ``length``, whose samples are rows."""
    sizes = {"length": length, "kernel": kernel, "stride": stride, "dilation": dilation}
    check_numbers(name, sizes)
    check_numbers(name, {"padding": padding}, least=0)
    return conv2d(
        name,
        in_channels,
        out_channels,
        (length, 1),
        (kernel, 1),
        (stride, 1),
        (padding, 0),
        (dilation, 1),
        groups,
        bias=bias,
        activation=activation,
    )


def conv_transpose2d(
    name: str,
    in_channels: int,
    out_channels: int,
    size: Size,
    kernel: Size,
    stride: Size = 1,
    padding: Size = 0,
    output_padding: Size = 0,
    groups: int = 1,
    dilation: Size = 1,
    *,
    bias: bool = True,
    activation: str = "",
) -> Layer:
    """Return a transposed convolution as the convolution of stride 1 that does its work.

    For strides (a, b) that one has a x b times the output channels, and an interleave makes the
    rows and columns of them (Shi et al., arXiv:1609.07009). Its kernels have ceil(kernel / stride)
    rows, filled up with zeros. ``macs`` are what it executes; ``useful_macs`` leave out those
    zeros and the results that ``padding`` cuts off. Both agree if the stride divides kernel and
    padding and ``output_padding`` is 0.

    Args are as for :func:`conv2d`; ``padding`` cuts off rows and columns on each side of the
    result and ``output_padding`` adds some at the bottom and right, as in PyTorch. Where an axis
    has both a stride and a dilation, the zeros between the taps of the kernel are weights, too.
    """
    check_groups(name, groups, in_channels=in_channels, out_channels=out_channels)
    check_sizes(name, {"size": size, "kernel": kernel, "stride": stride, "dilation": dilation})
    check_sizes(name, {"padding": padding, "output_padding": output_padding}, least=0)
    numbers = (size, kernel, stride, padding, output_padding, dilation)
    sides = zip(*map(pair, numbers), strict=True)
    y, x = (transposed_axis(name, *side) for side in sides)
    (rows, columns), pairs = pair(stride), in_channels * out_channels // groups
    (r, s), patch = pair(kernel), rows * columns
    executed = pairs * patch * y.outputs * y.taps * x.outputs * x.taps
    spread = Interleave(
        rows,
        columns,
        (y.start, x.start),
        (y.end, x.end),
        zero_weights=pairs * (patch * y.taps * x.taps - r * s),
        idle_macs=executed - pairs * y.useful_taps * x.useful_taps,
    )
    return Layer(
        name,
        "conv",
        g=groups,
        k=patch * out_channels // groups,
        c=in_channels // groups,
        p=y.outputs,
        q=x.outputs,
        r=y.taps,
        s=x.taps,
        dilation=(y.dilation, x.dilation),
        padding=(y.padding, x.padding),
        input_size=pair(size),
        extra_params=bias * out_channels,
        activation=activation,
        interleave=spread if patch > 1 else None,
    )


def linear(
    name: str,
    in_features: int,
    out_features: int,
    positions: int = 1,
    *,
    bias: bool = True,
    activation: str = "",
) -> Layer:
    """Return a matrix product with learned weights, the same for each of ``positions`` rows."""
    check_numbers(
        name,
        {"in_features": in_features, "out_features": out_features, "positions": positions},
    )
    return Layer(
        name,
        "gemm",
        k=out_features,
        c=in_features,
        p=positions,
        input_size=(positions, 1),
        extra_params=bias * out_features,
        activation=activation,
    )


def matmul(
    name: str, batch_heads: int, m: int, k: int, n: int, *, second: tuple[int, ...] = ()
) -> Layer:
    """Return ``batch_heads`` products of an (m, k) and a (k, n) matrix, both of them feature maps.

    The first map that it reads has ``batch_heads * k`` channels and m rows, its result
    ``batch_heads * n`` channels and m rows. The second has ``batch_heads * k * n`` words; however
    they lie, turning them is free (assumption: the buffer is read in any order). ``second`` are
    the words of its pieces, if it comes in several (a cache and what is new).
    """
    check_numbers(name, {"batch_heads": batch_heads, "m": m, "k": k, "n": n})
    return Layer(
        name,
        "matmul",
        g=batch_heads,
        k=n,
        c=k,
        p=m,
        input_size=(m, 1),
        operands=1 + max(1, len(second)),
        whole_parts=second,
    )


def max_pool2d(
    name: str,
    channels: int,
    size: Size,
    kernel: Size,
    stride: Size | None = None,
    padding: Size = 0,
) -> Layer:
    """Return a max pool; the stride is the kernel if it is not given."""
    return _pool("maxpool", name, channels, size, kernel, stride, padding)


def avg_pool2d(
    name: str,
    channels: int,
    size: Size,
    kernel: Size,
    stride: Size | None = None,
    padding: Size = 0,
) -> Layer:
    """Return an average pool; the stride is the kernel if it is not given."""
    return _pool("avgpool", name, channels, size, kernel, stride, padding)


def with_last_windows(pool: Layer) -> Layer:
    """Return a pool that also has the windows that begin in the feature map and reach beyond it."""
    sides = zip(pool.input_size, (pool.r, pool.s), pool.stride, pool.padding, strict=True)
    p, q = (
        min(-((kernel - size - 2 * pad) // step), (size + pad - 1) // step) + 1
        for size, kernel, step, pad in sides
    )
    return replace(pool, p=p, q=q)


def global_pool(name: str, channels: int, size: Size) -> Layer:
    """Return the mean over each whole feature map."""
    return _pool("avgpool", name, channels, size, size, 1, 0)


def _pool(
    operator: Operator,
    name: str,
    channels: int,
    size: Size,
    kernel: Size,
    stride: Size | None,
    padding: Size,
) -> Layer:
    check_numbers(name, {"channels": channels})
    stride = kernel if stride is None else stride
    return Layer(name, operator, g=channels, **window(name, size, kernel, stride, padding))


def add(
    name: str,
    channels: int,
    size: Size = 1,
    operands: int = 2,
    *,
    broadcast: bool = False,
    activation: str = "",
) -> Layer:
    """Return a sum of feature maps; with ``broadcast`` of a map and one value for each channel."""
    fields = {"operands": operands, "broadcast": broadcast, "activation": activation}
    return elementwise("add", name, channels, size, **fields)


def mul(
    name: str,
    channels: int,
    size: Size = 1,
    operands: int = 2,
    *,
    broadcast: bool = False,
    activation: str = "",
) -> Layer:
    """Return a product of feature maps, value by value; ``broadcast`` as for :func:`add`.

    Squeeze-and-excite (Hu et al., CVPR 2018) scales channels by such a product.
    """
    fields = {"operands": operands, "broadcast": broadcast, "activation": activation}
    return elementwise("mul", name, channels, size, **fields)


def activation(name: str, function: Function, channels: int, size: Size = 1) -> Layer:
    """Return an activation that is a layer of its own, not folded into the one before it.

    ``function`` is one of :data:`archloom.space.workload.vector_ops.ACTIVATIONS`.
    """
    if function not in ACTIVATIONS:
        near = did_you_mean(str(function), ACTIVATIONS)
        raise ValueError(f"layer {name}: activation {function!r} is not known; {near}")
    return elementwise(function, name, channels, size)


def elementwise(operator: Operator, name: str, channels: int, size: Size, **fields: Any) -> Layer:
    """Return an operator that makes each value of its result from the values at its place."""
    check_numbers(name, {"channels": channels})
    check_sizes(name, {"size": size})
    rows, columns = pair(size)
    return Layer(
        name, operator, g=channels, p=rows, q=columns, input_size=(rows, columns), **fields
    )


def rnn_cell(
    name: str, inputs: int, hidden: int, activation: Function = "tanh", *, biases: int = 2
) -> Layer:
    """Return one step of a plain recurrent layer (Elman 1990): a product of [x, h], activated.

    ``biases`` are vectors of ``hidden`` words that it learns, as for :func:`lstm_cell`.
    """
    return replace(_gates(name, inputs, hidden, 1, biases), activation=activation)


def lstm_cell(
    name: str, inputs: int, hidden: int, *, biases: int = 2, projected: int = 0
) -> tuple[Layer, ...]:
    """Return one step of an LSTM: ``NAME.gates``, ``NAME.state`` and ``NAME.output``.

    The gates are a matrix product over the input and the last output side by side; they make
    4 x ``hidden`` channels. The state reads them and the last state and makes the next one. The
    output reads the gates and the next state. ``biases`` is 2 for the two vectors that cuDNN and
    PyTorch learn, 1 for the one of the equations. With ``projected`` features a matrix product
    behind it, ``NAME.projection``, makes the output that the next step reads (Sak, Senior and
    Beaufays, arXiv:1402.1128, section 2.1).
    """
    check_numbers(name, {"projected": projected}, least=0)
    cell = (
        _gates(f"{name}.gates", inputs, hidden, 4, biases, projected),
        Layer(f"{name}.state", "lstm_state", g=hidden, operands=2),
        Layer(f"{name}.output", "lstm_output", g=hidden, operands=2),
    )
    if not projected:
        return cell
    return *cell, Layer(f"{name}.projection", "gemm", k=projected, c=hidden)


def gru_cell(
    name: str, inputs: int, hidden: int, *, biases: int = 2, reset_after: bool = True
) -> tuple[Layer, ...]:
    """Return one step of a GRU, its output last.

    ``NAME.gates`` is a matrix product over the input and the last output side by side, with
    2 x ``hidden`` channels: reset and update. With ``reset_after``, as in cuDNN and PyTorch, the
    candidate is made of a product with the input, ``NAME.fresh``, and of one with the last output,
    ``NAME.kept``, which the reset gate scales; ``NAME.output`` reads gates, both products and the
    last output. Without it, as Cho et al. published it (arXiv:1406.1078, equations 5 to 8),
    ``NAME.reset`` scales the last output, ``NAME.fresh`` is a product of the input and of that,
    and ``NAME.output`` reads gates, that product and the last output. Multiply-accumulates and
    parameters of both are the same, but for one bias vector if ``biases`` is 2.
    """
    gates = _gates(f"{name}.gates", inputs, hidden, 2, biases)
    if not reset_after:
        reset = Layer(f"{name}.reset", "gru_reset", g=hidden, operands=2)
        fresh = _gates(f"{name}.fresh", inputs, hidden, 1, biases)
        return gates, reset, fresh, Layer(f"{name}.output", "gru_output", g=hidden, operands=3)
    each = (min(biases, 1) * hidden, max(biases - 1, 0) * hidden)
    fresh, kept = (
        Layer(f"{name}.{part}", "gemm", k=hidden, c=words, extra_params=learned)
        for part, words, learned in zip(("fresh", "kept"), (inputs, hidden), each, strict=True)
    )
    output = Layer(f"{name}.output", "gru_output_reset_after", g=hidden, operands=4)
    return gates, fresh, kept, output


def _gates(
    name: str, inputs: int, hidden: int, gates: int, biases: int, projected: int = 0
) -> Layer:
    """Return a matrix product over an input and the last output, which lie side by side."""
    check_numbers(name, {"inputs": inputs, "hidden": hidden})
    check_numbers(name, {"biases": biases}, least=0)
    parts, k = (inputs, projected or hidden), gates * hidden
    extra = k * biases
    return Layer(name, "gemm", k=k, c=sum(parts), operands=2, parts=parts, extra_params=extra)
