"""Translation of ONNX's convolutions, matrix products, pools and norms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Final

from .arithmetic import Translator, binary
from .call import Call
from .data_movement import reshaped, transposed
from .value import INT32, OnnxError, Value


@dataclass(frozen=True, slots=True)
class _Window:
    """Window of a convolution or pool, by axis."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    start: tuple[int, ...]
    end: tuple[int, ...]


def _sides(call: Call, name: str, axes: int, default: int) -> tuple[int, ...]:
    found = call.numbers(name) or (default,) * axes
    if len(found) != axes:
        raise OnnxError(f"{name} are {found}, must be {axes}")
    return found


def _spatial(value: Value) -> tuple[int, ...]:
    """Return depth, rows and columns of a feature map, or the last ones of them."""
    sides = value.shape[2:]
    if len(sides) not in (1, 2, 3):
        raise OnnxError(f"{len(sides)} spatial dimensions; one to three are supported")
    return sides


def _window(call: Call, kernel: tuple[int, ...], size: tuple[int, ...]) -> _Window:
    """Return the window over a feature map of ``size``, with automatic padding worked out."""
    axes = len(size)
    if len(kernel) != axes:
        raise OnnxError(f"kernel {kernel} for a map of {axes} axes")
    stride, dilation = (_sides(call, name, axes, 1) for name in ("strides", "dilations"))
    pads = _sides(call, "pads", 2 * axes, 0)
    start, end = pads[:axes], pads[axes:]
    automatic = call.text("auto_pad", "NOTSET")
    if automatic in ("SAME_UPPER", "SAME_LOWER"):
        # as much as ceil(size / stride) results need (onnx's Conv, attribute auto_pad)
        needed = [
            max(0, (-(-n // s) - 1) * s + (k - 1) * d + 1 - n)
            for n, k, s, d in zip(size, kernel, stride, dilation, strict=True)
        ]
        less, more = tuple(n // 2 for n in needed), tuple(n - n // 2 for n in needed)
        start, end = (less, more) if automatic == "SAME_UPPER" else (more, less)
    elif automatic == "VALID":
        start = end = (0,) * axes
    elif automatic != "NOTSET":
        raise OnnxError(f"auto_pad {automatic!r} is not an auto_pad of ONNX")
    if min(start + end) < 0:
        raise OnnxError(f"pads are {pads}, must be at least 0")
    return _Window(kernel, stride, dilation, start, end)


def _conv(call: Call, weight: int = 1, bias: int = 2) -> Value:
    x, w = call.x(), call.x(weight)
    size, groups = _spatial(x), call.number("group", 1)
    if len(w.shape) != len(x.shape) or w.shape[1] * groups != x.shape[1] or w.shape[0] % groups:
        raise OnnxError(
            f"weight {w.shape} and {groups} groups do not fit a feature map of {x.shape}"
        )
    _check_kernel(call, w)
    window = _window(call, w.shape[2:], size)
    return call.op(
        "conv",
        [x, call.learned(weight), _bias(call, bias, w.shape[0])],
        call.shape(),
        stride=window.stride,
        start=window.start,
        end=window.end,
        dilation=window.dilation,
        groups=groups,
    )


def _check_kernel(call: Call, weight: Value) -> None:
    """Refuse a kernel that is another than that of the weights."""
    kernel = call.numbers("kernel_shape")
    if kernel and kernel != weight.shape[2:]:
        raise OnnxError(f"kernel_shape is {kernel}, its weights have {weight.shape[2:]}")


def _bias(call: Call, index: int, channels: int) -> Value | None:
    bias = call.learned(index)
    if bias is not None and not bias.learned and _is_plain(bias, 0):
        # of a layer without one; PyTorch's exporter of graphs gives 3-D ones zeros in a wrong shape
        return None
    if bias is not None and bias.shape != (channels,):
        raise OnnxError(f"bias {bias.shape} for {channels} channels")
    if bias is not None and bias.dtype == INT32:
        # of quantized convolutions; other integers of this type are places, and not learned
        call.maker.sizes[bias.name] = bias.size
        return replace(bias, learned=frozenset({bias.name}))
    return bias


def _conv_transpose(call: Call) -> Value:
    x, w = call.x(0), call.x(1)
    size, groups = _spatial(x), call.number("group", 1)
    if len(w.shape) != len(x.shape) or w.shape[0] != x.shape[1] or w.shape[0] % groups:
        raise OnnxError(
            f"weight {w.shape} and {groups} groups do not fit a feature map of {x.shape}"
        )
    _check_kernel(call, w)
    axes = len(size)
    stride, dilation = (_sides(call, name, axes, 1) for name in ("strides", "dilations"))
    extra = _sides(call, "output_padding", axes, 0)
    pads = _sides(call, "pads", 2 * axes, 0)
    start, end = pads[:axes], pads[axes:]
    shape = call.shape()
    if len(shape) != len(x.shape):
        raise OnnxError(f"output_shape must have {axes} numbers, but the result would be {shape}")
    if call.numbers("output_shape") or call.text("auto_pad", "NOTSET") != "NOTSET":
        # what is more than the result is cut off (onnx's ConvTranspose, attribute output_shape)
        cut = [
            max(0, s * (n - 1) + e + (k - 1) * d + 1 - wanted)
            for s, n, e, k, d, wanted in zip(
                stride, size, extra, w.shape[2:], dilation, shape[2:], strict=True
            )
        ]
        less, more = tuple(n // 2 for n in cut), tuple(n - n // 2 for n in cut)
        start, end = (less, more) if call.text("auto_pad") == "SAME_UPPER" else (more, less)
    if min(start + end + extra) < 0:
        raise OnnxError("pads and output_padding must be at least 0")
    inputs = [x, call.learned(1), _bias(call, 2, w.shape[1] * groups)]
    window = {"stride": stride, "start": start, "end": end, "dilation": dilation}
    return call.op("conv_transpose", inputs, shape, **window, groups=groups, output_padding=extra)


def _pool(mode: str, call: Call) -> tuple[Value | None, ...]:
    size = _spatial(call.x())
    window = _window(call, call.numbers("kernel_shape") or (), size)
    made = call.op(
        "pool",
        [call.x()],
        call.shape(),
        mode=mode,
        kernel=window.kernel,
        stride=window.stride,
        start=window.start,
        dilation=window.dilation,
    )
    # where the largest values stood is not followed
    return made, None


def _gemm(call: Call) -> Value:
    x, y = call.x(0), call.x(1)
    if call.number("transA"):
        x = transposed(call, x, (1, 0))
    inner, features = reversed(y.shape) if call.number("transB") else y.shape
    if len(x.shape) != 2 or x.shape[1] != inner:
        raise OnnxError(f"shapes {x.shape} and {inner} x {features} cannot be multiplied")
    addend = call.optional(2)
    if y.constant:
        fits = addend is not None and addend.constant and _is_bias(addend, features)
        bias = call.part(addend, (features,)) if addend is not None and fits else None
        found = _linear(call, x, y, bias, (*x.shape[:-1], features))
        return found if addend is None or fits else binary("add", call, found, addend)
    y = transposed(call, y, (1, 0)) if call.number("transB") else y
    found = call.op("matmul", [x, y], (x.shape[0], features))
    return found if addend is None else binary("add", call, found, addend)


def _is_bias(value: Value, features: int) -> bool:
    return value.size == features and (not value.shape or value.shape[-1] == features)


def _linear(call: Call, x: Value, weight: Value, bias: Value | None, shape: Sequence[int]) -> Value:
    features, inner = shape[-1], x.shape[-1]
    return call.op("linear", [x, call.part(weight, (features, inner)), bias], shape)


def _matmul(call: Call, second: int = 1) -> Value:
    x, y, shape = call.x(0), call.x(second), call.shape()
    if len(y.shape) == 2 and y.constant and len(x.shape) > 1:
        if x.shape[-1] != y.shape[0]:
            raise OnnxError(f"shapes {x.shape} and {y.shape} cannot be multiplied")
        return _linear(call, x, y, None, shape)
    return call.op("matmul", [x, y], shape)


def _batch_norm(call: Call) -> tuple[Value | None, ...]:
    channels = call.x().shape[1] if len(call.x().shape) > 1 else 1
    inputs = [call.x(), _vector(call, 1, channels), _vector(call, 2, channels)]
    made = call.op("batch_norm", inputs, call.x().shape)
    # statistics of a batch are those of training
    return (made, *[None] * (len(call.outputs) - 1))


def _vector(call: Call, index: int, words: int) -> Value | None:
    value = call.learned(index)
    if value is not None and value.size != words:
        raise OnnxError(f"input {index + 1} has shape {value.shape}, must have {words} elements")
    return value


def _layer_norm(kind: str, call: Call) -> tuple[Value | None, ...]:
    shape = call.x().shape
    dimensions = len(shape) - call.axis(-1)
    words = prod(shape[len(shape) - dimensions :])
    learned = [_vector(call, i, words) for i in range(1, len(call.inputs))]
    made = call.op(kind, [call.x(), *learned[:2]], shape, dimensions=dimensions)
    return (made, *[None] * (len(call.outputs) - 1))


def _group_norm(call: Call) -> Value:
    x = call.x()
    channels = x.shape[1] if len(x.shape) > 1 else 0
    groups = call.number("num_groups", channels)
    if not channels or channels % groups:
        raise OnnxError(f"{groups} groups must divide the {channels} channels")
    # before opset 21 a group, and not a channel, has one scale
    words = groups if call.version < 21 and "num_groups" in call.attributes else channels
    scale, shift = _vector(call, 1, words), _vector(call, 2, words)
    apart = call.maker.maker_of(x, "reshape")
    if apart is not None and _is_plain(scale, 1) and _is_plain(shift, 0):
        # a group norm as exporters write it: groups laid out as channels, learned values after it
        before = call.maker.value(apart.inputs[0])
        if before.shape[0] == x.shape[0] and before.shape[1] % groups == 0:
            made = call.op("group_norm", [before, None, None], before.shape, groups=groups)
            return call.op("reshape", [made], x.shape)
    return call.op("group_norm", [x, scale, shift], x.shape, groups=groups)


def _is_plain(value: Value | None, number: float) -> bool:
    array = value.read() if value is not None else None
    return array is not None and bool((array == number).all())


def _softmax(call: Call) -> Value:
    x = call.x()
    # before opset 13 everything from the axis on is one vector
    old = call.version < 13
    axis = call.axis(1 if old else -1)
    flat = (prod(x.shape[:axis]), prod(x.shape[axis:]))
    if old and flat[1] != x.shape[axis]:
        made = call.op("softmax", [reshaped(call, x, flat)], flat, axis=1)
        return reshaped(call, made, x.shape)
    return call.op("softmax", [x], x.shape, axis=axis)


LAYERS: Final[Mapping[str, Translator]] = {
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "Gemm": _gemm,
    "MatMul": _matmul,
    # with zero points and scales between the inputs
    "QLinearConv": lambda call: _conv(call, weight=3, bias=8),
    "ConvInteger": lambda call: _conv(call, bias=9),
    "QLinearMatMul": lambda call: _matmul(call, second=3),
    "MatMulInteger": _matmul,
    "MaxPool": partial(_pool, "max"),
    "AveragePool": partial(_pool, "avg"),
    "BatchNormalization": _batch_norm,
    "LayerNormalization": partial(_layer_norm, "layer_norm"),
    "RMSNormalization": partial(_layer_norm, "rms_norm"),
    "SimplifiedLayerNormalization": partial(_layer_norm, "rms_norm"),
    **dict.fromkeys(("GroupNormalization", "InstanceNormalization"), _group_norm),
    **dict.fromkeys(("Softmax", "LogSoftmax"), _softmax),
}
"""How each of them is translated."""
