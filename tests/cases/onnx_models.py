"""Small ONNX models, built here: what the tests of the reader read, and what is mutated."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx import FunctionProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from archloom.space.importers.graph import Graph
from archloom.space.importers.onnx.reader import read_graph

Shape = Sequence[int | str | None]


def node(operator: str, inputs: str, outputs: str, **attributes: Any) -> NodeProto:
    """A node; inputs and outputs are names between spaces, ``_`` where one is left out."""
    name = attributes.pop("name", f"{operator.lower()}_{outputs.split()[0]}")
    read, made = (["" if n == "_" else n for n in text.split()] for text in (inputs, outputs))
    return helper.make_node(operator, read, made, name=name, **attributes)


def weight(*shape: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Values of a learned tensor, of which no two are equal."""
    return np.arange(1, 1 + int(np.prod(shape)), dtype=np.float32).reshape(shape) / 8


def numbers(*values: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """A list of whole numbers."""
    return np.array(values, np.int64)


def model(
    nodes: Sequence[NodeProto],
    inputs: Mapping[str, Shape],
    outputs: str,
    constants: Mapping[str, Any] | None = None,
    *,
    opset: int = 21,
    types: Mapping[str, int] | None = None,
    functions: Sequence[FunctionProto] = (),
) -> ModelProto:
    """A model; inputs are floats unless ``types`` says otherwise."""
    kinds = dict.fromkeys(inputs, TensorProto.FLOAT) | dict(types or {})
    given = [helper.make_tensor_value_info(n, kinds[n], s) for n, s in inputs.items()]
    made = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs.split()]
    held = [numpy_helper.from_array(np.asarray(a), n) for n, a in (constants or {}).items()]
    graph = helper.make_graph(nodes, "net", given, made, held)
    domains = {f.domain for f in functions}
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in domains)]
    return helper.make_model(graph, opset_imports=imports, functions=functions, ir_version=10)


def saved(proto: ModelProto, folder: Path, name: str = "net.onnx") -> Path:
    """The file of a model."""
    path = folder / name
    path.write_bytes(proto.SerializeToString())
    return path


def graph_of(proto: ModelProto, folder: Path, **dimensions: int) -> Graph:
    """What the reader makes of a model."""
    return read_graph(saved(proto, folder), dimensions)


def kinds(graph: Graph) -> list[str]:
    """Kinds of the operators of a graph, in their order."""
    return [op.kind for op in graph.ops]


def residual() -> ModelProto:
    """Convolutions, batch norms, pools, a residual, a classifier."""
    nodes = [
        node("Conv", "x w1 _", "a", pads=[1, 1, 1, 1], strides=[2, 2], kernel_shape=[3, 3]),
        node("BatchNormalization", "a s1 t1 m1 v1", "b"),
        node("Relu", "b", "c"),
        node("MaxPool", "c", "d", kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1),
        node("Conv", "d w2 b2", "e", auto_pad="SAME_UPPER", group=2),
        node("Clip", "e low high", "f"),
        node("Add", "d f", "g"),
        node("AveragePool", "g", "h", kernel_shape=[2, 2], auto_pad="VALID"),
        node("GlobalAveragePool", "h", "i"),
        node("Flatten", "i", "j"),
        node("Gemm", "j w3 b3", "k", transB=1),
        node("Softmax", "k", "y"),
    ]
    constants = {
        "w1": weight(8, 3, 3, 3),
        "w2": weight(8, 4, 3, 3),
        "b2": weight(8),
        "s1": weight(8),
        "t1": weight(8),
        "m1": weight(8),
        "v1": weight(8),
        "w3": weight(5, 8),
        "b3": weight(5),
        "low": np.float32(0),
        "high": np.float32(6),
    }
    return model(nodes, {"x": (1, 3, 16, 16)}, "y", constants, opset=17)


def attention() -> ModelProto:
    """An embedding, a decomposed attention with a mask, norms, shapes that are computed."""
    nodes = [
        node("Gather", "table ids", "e"),
        node("Gather", "places range", "p"),
        node("Add", "e p", "x"),
        node("LayerNormalization", "x gamma beta", "n", axis=-1),
        node("MatMul", "n qkv", "q0"),
        node("Add", "q0 bias", "q1"),
        node("Split", "q1", "q k v", axis=2, num_outputs=3),
        node("Shape", "x", "s"),
        node("Slice", "s zero two", "lead"),
        node("Concat", "lead heads", "shape", axis=0),
        *(node("Reshape", f"{m} shape", f"{m}h") for m in "qkv"),
        node("Transpose", "qh", "qt", perm=[0, 2, 1, 3]),
        node("Transpose", "kh", "kt", perm=[0, 2, 3, 1]),
        node("Transpose", "vh", "vt", perm=[0, 2, 1, 3]),
        node("MatMul", "qt kt", "a"),
        node("Div", "a root", "b"),
        node("Trilu", "ones k1", "upper", upper=1),
        node("Mul", "upper low", "mask"),
        node("Add", "b mask", "c"),
        node("Softmax", "c", "w", axis=-1),
        node("MatMul", "w vt", "o"),
        node("Transpose", "o", "ot", perm=[0, 2, 1, 3]),
        node("Reshape", "ot flat", "of"),
        node("Gemm", "ofl wo bo", "og"),
        node("Reshape", "og back", "r"),
        node("Add", "x r", "y"),
    ]
    nodes.insert(-3, node("Reshape", "of rows", "ofl"))
    constants = {
        "table": weight(20, 8),
        "places": weight(6, 8),
        "range": numbers(*range(6)),
        "gamma": weight(8),
        "beta": weight(8),
        "qkv": weight(8, 24),
        "bias": weight(24),
        "zero": numbers(0),
        "two": numbers(2),
        "heads": numbers(2, 4),
        "root": np.float32(2),
        "ones": np.ones((6, 6), np.float32),
        "k1": np.int64(1),
        "low": np.float32(-1e9),
        "flat": numbers(0, 0, -1),
        "rows": numbers(-1, 8),
        "back": numbers(1, 6, 8),
        "wo": weight(8, 8),
        "bo": weight(8),
    }
    return model(nodes, {"ids": (1, 6)}, "y", constants, types={"ids": TensorProto.INT64})


def upsampling() -> ModelProto:
    """Transposed convolution, resizes, pixel shuffle, padding, concatenation, group norm."""
    nodes = [
        node("Pad", "x pads", "a", mode="constant"),
        node("Conv", "a w", "b"),
        node("PRelu", "b slope", "c"),
        node("InstanceNormalization", "c scale shift", "d"),
        node("ConvTranspose", "d wt bt", "e", strides=[2, 2], output_padding=[1, 1], pads=[1] * 4),
        node("Resize", "d _ factors", "f", mode="nearest"),
        node("Concat", "e f", "g", axis=1),
        node("DepthToSpace", "g", "h", blocksize=2, mode="CRD"),
        node("GroupNormalization", "h gs gt", "i", num_groups=1),
        node("HardSwish", "i", "j"),
        node("Slice", "j starts ends axes steps", "k"),
        node("ReduceMean", "k", "y", keepdims=0),
    ]
    constants = {
        "pads": numbers(0, 0, 1, 1, 0, 0, 1, 1),
        "w": weight(4, 2, 3, 3),
        "slope": weight(4, 1, 1),
        "scale": weight(4),
        "shift": weight(4),
        "wt": weight(4, 4, 3, 3),
        "bt": weight(4),
        "gs": weight(2),
        "gt": weight(2),
        "factors": np.array([1, 1, 2, 2], np.float32),
        "starts": numbers(0, -1),
        "ends": numbers(2**62, -(2**62)),
        "axes": numbers(2, 3),
        "steps": numbers(2, -1),
    }
    return model(nodes, {"x": (1, 2, 6, 6)}, "y", constants)


def recurrent() -> ModelProto:
    """An LSTM of two directions, its last step, and a classifier."""
    nodes = [
        node("Transpose", "x", "t", perm=[1, 0, 2]),
        node("LSTM", "t w r b", "s h _", hidden_size=3, direction="bidirectional"),
        node("Transpose", "s", "u", perm=[0, 2, 1, 3]),
        node("Reshape", "u shape", "v"),
        node("Gather", "v last", "l", axis=0),
        node("Gemm", "l wf", "g"),
        node("Tanh", "g", "y"),
    ]
    constants = {
        "w": weight(2, 12, 4),
        "r": weight(2, 12, 3),
        "b": weight(2, 24),
        "shape": numbers(0, 0, -1),
        "last": np.int64(-1),
        "wf": weight(6, 5),
    }
    return model(nodes, {"x": (1, 5, 4)}, "y h", constants)


def gated() -> ModelProto:
    """A GRU of two directions, one that resets before its product, and a plain cell in reverse."""
    nodes = [
        node("Transpose", "x", "t", perm=[1, 0, 2]),
        node(
            "GRU", "t w r b", "s h", hidden_size=3, direction="bidirectional", linear_before_reset=1
        ),
        node("Transpose", "s", "u", perm=[0, 2, 1, 3]),
        node("Reshape", "u shape", "v"),
        node("GRU", "v w2 r2", "q _", hidden_size=2),
        node("Squeeze", "q one", "p"),
        node("RNN", "p w3 r3 b3", "y k", hidden_size=2, direction="reverse"),
    ]
    constants = {
        "w": weight(2, 9, 4),
        "r": weight(2, 9, 3),
        "b": weight(2, 18),
        "w2": weight(1, 6, 6),
        "r2": weight(1, 6, 2),
        "w3": weight(1, 2, 2),
        "r3": weight(1, 2, 2),
        "b3": weight(1, 4),
        "shape": numbers(0, 0, -1),
        "one": numbers(1),
    }
    return model(nodes, {"x": (1, 5, 4)}, "y h k", constants)


def functions() -> ModelProto:
    """Functions in functions, and branches with constant conditions."""
    helper_nodes = [
        helper.make_node("Sigmoid", ["x"], ["s"], name="gate"),
        helper.make_node("Mul", ["x", "s"], ["y"], name="product"),
    ]
    inner = helper.make_function("own", "Silu", ["x"], ["y"], helper_nodes, _opset(21))
    softmax = helper.make_node("Softmax", ["t"], ["y"], name="soft")
    reference = softmax.attribute.add()
    reference.name, reference.ref_attr_name, reference.type = "axis", "axis", 2
    calls = [helper.make_node("Silu", ["x"], ["t"], domain="own", name="silu"), softmax]
    imports = [*_opset(21), helper.make_opsetid("own", 1)]
    outer = helper.make_function("own", "Both", ["x"], ["y"], calls, imports, ["axis"])
    then = helper.make_graph([helper.make_node("Relu", ["a"], ["p"])], "then", [], [_value("p")])
    other = helper.make_graph([helper.make_node("Tanh", ["a"], ["q"])], "else", [], [_value("q")])
    nodes = [
        node("MatMul", "x w", "m"),
        node("Both", "m", "a", domain="own", axis=1),
        node("Shape", "a", "s"),
        node("Size", "s", "n"),
        node("Equal", "n two", "flat"),
        node("If", "flat", "y", then_branch=then, else_branch=other),
    ]
    constants = {"w": weight(4, 4), "two": np.int64(2)}
    return model(nodes, {"x": (3, 4)}, "y", constants, functions=[inner, outer])


def _opset(version: int) -> list[Any]:
    return [helper.make_opsetid("", version)]


def _value(name: str) -> Any:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, None)


def quantized() -> ModelProto:
    """Quantized weights, and values that are quantized between layers."""
    nodes = [
        node("QuantizeLinear", "x s z", "q"),
        node("DequantizeLinear", "q s z", "d"),
        node("DequantizeLinear", "wq ws wz", "w", axis=0),
        node("Conv", "d w", "c"),
        node("QuantizeLinear", "c s z", "cq"),
        node("QLinearConv", "cq s z w2 s z2 s z", "e"),
        node("DequantizeLinear", "e s z", "y"),
    ]
    constants = {
        "s": np.float32(0.5),
        "z": np.uint8(0),
        "z2": np.int8(0),
        "wq": np.ones((4, 2, 1, 1), np.int8),
        "ws": weight(4),
        "wz": np.zeros(4, np.int8),
        "w2": np.ones((3, 4, 3, 3), np.int8),
    }
    return model(nodes, {"x": (1, 2, 5, 5)}, "y", constants)


def decoder() -> ModelProto:
    """Attention as one operator with a cache, rotary embedding, RMS norm."""
    nodes = [
        node("RMSNormalization", "x g", "n"),
        node("MatMul", "n wq", "q"),
        node("MatMul", "n wk", "k"),
        node("MatMul", "n wv", "v"),
        node("RotaryEmbedding", "q cos sin", "qr", num_heads=4),
        node(
            *("Attention", "qr k v _ pk pv", "o nk nv"),
            q_num_heads=4,
            kv_num_heads=2,
            is_causal=1,
        ),
        node("Add", "x o", "y"),
    ]
    constants = {
        "g": weight(16),
        "wq": weight(16, 16),
        "wk": weight(16, 8),
        "wv": weight(16, 8),
        "cos": weight(1, 1, 2),
        "sin": weight(1, 1, 2),
    }
    cache = (1, 2, 7, 4)
    inputs = {"x": (1, 1, 16), "pk": cache, "pv": cache}
    return model(nodes, inputs, "y nk nv", constants, opset=23)


SEEDS = {
    seed.__name__: seed
    for seed in (residual, attention, upsampling, recurrent, gated, functions, quantized, decoder)
}
"""What is mutated."""
