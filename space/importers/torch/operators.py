"""Translation of PyTorch's operators to the computation graph.

Rules take a :class:`Call` and return its result. Names and arguments are those of ATen's schemas
(``native_functions.yaml`` of PyTorch).
"""

from collections.abc import Callable
from typing import Final

from ..graph import Tensor
from .call import Call, Result, Unsupported
from .data_movement import SHAPE_RULES
from .einsum import einsum
from .masks import added_mask, attention, masked_fill, masked_sum, where
from .pools import adaptive, first, pairs, pool
from .recurrent import RECURRENT

Rule = Callable[[Call], Result]


def _conv(call: Call) -> Result:
    weight: Tensor = call["weight"]
    dims = len(weight.shape) - 2
    stride, dilation = (pairs(call[a] or 1, dims) for a in ("stride", "dilation"))
    padding = call["padding"]
    if isinstance(padding, str):
        reach = [(k - 1) * d for k, d in zip(weight.shape[2:], dilation, strict=True)]
        start = tuple(r // 2 if padding == "same" else 0 for r in reach)
        end = tuple(r - r // 2 if padding == "same" else 0 for r in reach)
    else:
        start = end = pairs(padding, dims)
    window = {"stride": stride, "start": start, "end": end, "dilation": dilation}
    inputs = [call["input"], weight, call["bias"]]
    if call["transposed"] or call.target.startswith("aten.conv_transpose"):
        more = pairs(call["output_padding"] or 0, dims)
        return call.emit(
            "conv_transpose", inputs, output_padding=more, groups=call["groups"], **window
        )
    return call.emit("conv", inputs, groups=call["groups"], **window)


def _linear(call: Call) -> Result:
    return call.emit("linear", [call["input"], call["weight"], call["bias"]])


def _matmul(call: Call) -> Result:
    first, second = (call[a] for a in ("self", "other" if call["mat2"] is None else "mat2"))
    return call.emit("matmul", [first, second])


def _addmm(call: Call) -> Result:
    """A product and what is added to it, which may be a layer's bias."""
    bias: Tensor = call["self"]
    first, second = (
        call[a] if call[a] is not None else call[b]
        for a, b in (("mat1", "batch1"), ("mat2", "batch2"))
    )
    if second.constant and bias.constant and bias.shape == second.shape[1:]:
        turned = call.emit("transpose", [second], second.shape[::-1], order=(1, 0))
        return call.emit("linear", [first, turned, bias])
    product = call.emit("matmul", [first, second])
    return added_mask(call, product, bias) or call.emit("add", [product, bias])


def _batch_norm(call: Call) -> Result:
    if call["training"] or call["use_input_stats"]:
        raise Unsupported(
            "normalises with statistics of the batch; export the model after model.eval()"
        )
    result = call.emit("batch_norm", [call["input"], call["weight"], call["bias"]])
    return first(call, result)


def _layer_norm(call: Call) -> Result:
    dims = len(call["normalized_shape"])
    result = call.emit("layer_norm", [call["input"], call["weight"], call["bias"]], dimensions=dims)
    return first(call, result)


def _rms_norm(call: Call) -> Result:
    dims = len(call["normalized_shape"])
    return first(call, call.emit("rms_norm", [call["input"], call["weight"]], dimensions=dims))


def _group_norm(call: Call) -> Result:
    groups = call["num_groups"] or call["group"]
    inputs = [call["input"], call["weight"], call["bias"]]
    return first(call, call.emit("group_norm", inputs, groups=groups))


def _instance_norm(call: Call) -> Result:
    if not call["use_input_stats"]:
        return call.emit("batch_norm", [call["input"], call["weight"], call["bias"]])
    inputs = [call["input"], call["weight"], call["bias"]]
    return call.emit("group_norm", inputs, groups=call["input"].shape[1])


def _reduce(kind: str) -> Rule:
    def rule(call: Call) -> Result:
        source: Tensor = call["self"]
        rank = len(source.shape)
        axes = call["dim"] if call["dim"] not in (None, []) else list(range(rank))
        axes = [axes] if isinstance(axes, int) else axes
        return call.emit(kind, [source], axes=tuple(sorted(a % rank for a in axes)))

    return rule


def _activation(function: str, source: str = "self") -> Rule:
    def rule(call: Call) -> Result:
        return call.emit("activation", [call[source]], function=function)

    return rule


def _clamp(call: Call) -> Result:
    least = call["min"] if call["min"] is not None else call["min_val"]
    most = call["max"] if call["max"] is not None else call["max_val"]
    if least == 0 and most in (None, 6):
        return call.emit("activation", [call["self"]], function="relu6" if most else "relu")
    if isinstance(least, Tensor) or isinstance(most, Tensor):
        raise Unsupported("limits must be numbers")
    # any other pair of limits costs as much as these: two comparisons
    return call.emit("activation", [call["self"]], function="relu6")


def _prelu(call: Call) -> Result:
    return call.emit("activation", [call["self"], call["weight"]], function="prelu")


def _unary(function: str) -> Rule:
    def rule(call: Call) -> Result:
        return call.emit("unary", [call["self"]], function=function)

    return rule


def _power(call: Call) -> Result:
    if isinstance(call["exponent"], Tensor):
        raise Unsupported("the exponent must be a number")
    return call.emit("unary", [call["self"]], function="pow", exponent=float(call["exponent"]))


def _binary(kind: str) -> Rule:
    def rule(call: Call) -> Result:
        if call["rounding_mode"] is not None:
            raise Unsupported("a rounded quotient is not supported")
        return masked_sum(call, kind) or call.emit(kind, [call["self"], call["other"]])

    return rule


def _reversed_sub(call: Call) -> Result:
    return call.emit("sub", [call["other"], call["self"]])


def _softmax(call: Call) -> Result:
    return call.emit("softmax", [call["self"]], axis=call["dim"] % len(call.shape))


def _embedding(call: Call) -> Result:
    return call.emit("embedding", [call["weight"], call["indices"]])


def _is_infinite(call: Call) -> Result:
    """Values of feature maps are finite; only a mask makes others, and masks are constants here."""
    if call["other"] not in (float("inf"), float("-inf")):
        raise Unsupported("a comparison is not supported")
    return call.folded(0)


def _filled(call: Call) -> Result:
    """As large as a feature map, and known before it is."""
    return call.folded(0)


_ACTIVATIONS: Final = {
    **{f"aten.{name}": name for name in ("relu", "relu6", "leaky_relu", "elu", "sigmoid", "silu")},
    **{f"aten.{name}": name for name in ("hardsigmoid", "hardswish", "softplus", "mish", "gelu")},
    **{f"aten.{name}": name for name in ("tanh", "exp", "sqrt")},
}

OPERATORS: Final[dict[str, Rule]] = {
    **SHAPE_RULES,
    **{name: _activation(function) for name, function in _ACTIVATIONS.items()},
    **{
        f"aten.{name}": _conv
        for name in (
            "conv1d",
            "conv2d",
            "conv3d",
            "convolution",
            "conv_transpose1d",
            "conv_transpose2d",
            "conv_transpose3d",
        )
    },
    "aten.linear": _linear,
    "aten.matmul": _matmul,
    "aten.mm": _matmul,
    "aten.bmm": _matmul,
    "aten.addmm": _addmm,
    "aten.baddbmm": _addmm,
    "aten.scaled_dot_product_attention": attention,
    "aten.batch_norm": _batch_norm,
    "aten.native_batch_norm": _batch_norm,
    "aten._native_batch_norm_legit_no_training": _batch_norm,
    "aten.layer_norm": _layer_norm,
    "aten.native_layer_norm": _layer_norm,
    "aten.rms_norm": _rms_norm,
    "aten._fused_rms_norm": _rms_norm,
    "aten.group_norm": _group_norm,
    "aten.native_group_norm": _group_norm,
    "aten.instance_norm": _instance_norm,
    **{f"aten.{mode}_pool{d}d": pool(mode) for mode in ("max", "avg") for d in (1, 2, 3)},
    "aten.max_pool2d_with_indices": pool("max"),
    "aten.max_pool3d_with_indices": pool("max"),
    **{f"aten.adaptive_{m}_pool{d}d": adaptive(m) for m in ("max", "avg") for d in (1, 2, 3)},
    "aten._adaptive_avg_pool2d": adaptive("avg"),
    "aten._adaptive_avg_pool3d": adaptive("avg"),
    # a sum is a mean but for a factor, a least value costs what a largest one does
    **dict.fromkeys(("aten.mean", "aten.sum"), _reduce("mean")),
    **dict.fromkeys(("aten.amax", "aten.amin"), _reduce("max")),
    "aten.hardtanh": _clamp,
    "aten.clamp": _clamp,
    "aten.clamp_min": _clamp,
    "aten.prelu": _prelu,
    "aten._prelu_kernel": _prelu,
    **{
        f"aten.{name}": _unary(name) for name in ("erf", "rsqrt", "reciprocal", "neg", "abs", "log")
    },
    "aten.pow": _power,
    **{f"aten.{kind}": _binary(kind) for kind in ("add", "sub", "mul", "div")},
    "aten.rsub": _reversed_sub,
    "aten.softmax": _softmax,
    "aten._softmax": _softmax,
    "aten.log_softmax": _softmax,
    "aten._log_softmax": _softmax,
    "aten.embedding": _embedding,
    "aten.masked_fill": masked_fill,
    "aten.where": where,
    "aten.eq": _is_infinite,
    **{f"aten.{name}_like": _filled for name in ("full", "zeros", "ones")},
    **{f"aten.new_{name}": _filled for name in ("full", "zeros", "ones")},
    **RECURRENT,
    "aten.einsum": einsum,
}
"""Every operator that there is a rule for."""
