"""ONNX files as operators of the graph that all front ends make."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper
from onnx.defs import onnx_opset_version
from onnx.inliner import inline_local_functions
from onnx.reference import ReferenceEvaluator

from archloom.space.importers.graph import Op

from ....cases.onnx_models import SEEDS, graph_of, kinds, model, node, numbers, residual, weight

MAP = (1, 4, 6, 6)


def only(
    tmp_path: Path, made: Any, inputs: dict[str, Any], opset: int = 21, **constants: Any
) -> Op:
    """The one operator that a node becomes."""
    proto = model([made], inputs, made.output[0], constants, opset=opset)
    (op,) = graph_of(proto, tmp_path).ops
    return op


@pytest.mark.parametrize("seed", SEEDS.values(), ids=list(SEEDS))
def test_results_have_the_shapes_that_the_reference_computes(
    tmp_path: Path, seed: Callable[[], ModelProto]
) -> None:
    proto = seed()
    graph = graph_of(proto, tmp_path)
    rng = np.random.default_rng(1)
    feeds = {}
    for entry in proto.graph.input:
        shape = [d.dim_value for d in entry.type.tensor_type.shape.dim]
        ids = entry.type.tensor_type.elem_type == TensorProto.INT64
        feeds[entry.name] = rng.integers(0, 5, shape) if ids else rng.random(shape, np.float32)
    results = ReferenceEvaluator(inline_local_functions(proto)).run(None, feeds)
    assert [graph.tensors[o].shape for o in graph.outputs] == [np.shape(r) for r in results]


@pytest.mark.parametrize("seed", SEEDS.values(), ids=list(SEEDS))
def test_graphs_are_in_order_and_complete(tmp_path: Path, seed: Callable[[], ModelProto]) -> None:
    graph = graph_of(seed(), tmp_path)
    known = {*graph.inputs, *(n for n, t in graph.tensors.items() if t.constant)}
    for op in graph.ops:
        assert {name for name in op.inputs if name} <= known
        known.update(op.outputs)
    assert set(graph.outputs) <= known == set(graph.tensors)
    assert len({op.name for op in graph.ops}) == len(graph.ops)
    assert {n for t in graph.tensors.values() for n in t.learned} == set(graph.learned)


def test_a_residual_network_becomes_its_operators(tmp_path: Path) -> None:
    graph = graph_of(residual(), tmp_path)
    assert graph.name == "net"
    assert kinds(graph) == [
        *("conv", "batch_norm", "activation", "pool", "conv", "activation", "add", "pool"),
        *("mean", "reshape", "linear", "softmax"),
    ]
    first, norm, relu, pool, second, clip = graph.ops[:6]
    assert first.inputs == ("x", "w1", "")
    assert first.attributes == {
        "stride": (2, 2),
        "start": (1, 1),
        "end": (1, 1),
        "dilation": (1, 1),
        "groups": 1,
    }
    assert norm.inputs[1:] == ("s1", "t1")
    assert relu.attributes["function"] == "relu"
    assert pool.attributes["kernel"] == (2, 2)
    assert second.attributes["groups"] == 2
    assert second.attributes["start"] == second.attributes["end"] == (1, 1)
    assert clip.attributes["function"] == "relu6"
    # all but the running statistics of the batch norm
    assert sum(graph.learned.values()) == 216 + 16 + 288 + 8 + 40 + 5
    assert {"m1", "v1"} & set(graph.learned) == set()


@pytest.mark.parametrize("opset", range(7, onnx_opset_version() + 1))
def test_every_opset_is_read(tmp_path: Path, opset: int) -> None:
    proto = residual()
    proto.opset_import[0].version = opset
    if opset < 11:
        # limits of Clip were attributes then; pools had no ceil_mode before 10
        for made in proto.graph.node:
            if made.op_type == "Clip":
                del made.input[1:]
                made.attribute.extend([helper.make_attribute("max", 6.0)])
                made.attribute.extend([helper.make_attribute("min", 0.0)])
            elif made.op_type == "MaxPool":
                kept = [a for a in made.attribute if a.name != "ceil_mode"]
                del made.attribute[:]
                made.attribute.extend(kept)
    assert len(graph_of(proto, tmp_path).ops) == 12


def test_same_padding_is_worked_out(tmp_path: Path) -> None:
    for where, start, end in (("UPPER", (0, 1), (1, 2)), ("LOWER", (1, 2), (0, 1))):
        made = node("Conv", "x w", "y", auto_pad=f"SAME_{where}", strides=[2, 1], dilations=[1, 3])
        op = only(tmp_path, made, {"x": MAP}, w=weight(2, 4, 3, 2))
        padded = op.attributes["start"], op.attributes["end"]
        assert padded == ((0, 1), (1, 2)) if where == "UPPER" else ((1, 2), (0, 1))
        assert start != end


def test_pools_have_no_window_behind_the_map(tmp_path: Path) -> None:
    pools = [
        (node("MaxPool", "x", "y", kernel_shape=[2], strides=[3], ceil_mode=1), 9),
        (node("AveragePool", "x", "y", kernel_shape=[3], strides=[3], pads=[1, 1], ceil_mode=1), 8),
        (node("MaxPool", "x", "y", kernel_shape=[3], strides=[2], ceil_mode=1), 6),
    ]
    for made, size in pools:
        graph = graph_of(model([made], {"x": (1, 4, size)}, "y"), tmp_path)
        # PyTorch: 3 windows each
        assert graph.tensors[graph.outputs[0]].shape == (1, 4, 3), size


def test_transposed_convolutions_keep_what_is_cut_off(tmp_path: Path) -> None:
    made = node("ConvTranspose", "x w", "y", strides=[2, 2], output_shape=[11, 12])
    op = only(tmp_path, made, {"x": MAP}, w=weight(4, 3, 3, 3))
    # 2 * 5 + 3 = 13 are made; what is cut off is more at the start
    assert (op.attributes["start"], op.attributes["end"]) == ((1, 1), (1, 0))


@pytest.mark.parametrize(
    ("operator", "attributes", "function"),
    [
        *((name, {}, name.lower()) for name in ("Relu", "Elu", "Sigmoid", "Tanh", "Softplus")),
        *((name, {}, name.lower()) for name in ("HardSwish", "HardSigmoid", "Mish", "Gelu")),
        *((name, {}, name.lower()) for name in ("Exp", "Sqrt")),
        ("LeakyRelu", {"alpha": 0.1}, "leaky_relu"),
        ("Selu", {}, "elu"),
    ],
)
def test_activations(
    tmp_path: Path, operator: str, attributes: dict[str, Any], function: str
) -> None:
    op = only(tmp_path, node(operator, "x", "y", **attributes), {"x": MAP})
    assert (op.kind, op.attributes) == ("activation", {"function": function})


@pytest.mark.parametrize(
    ("operator", "function"), [("Erf", "erf"), ("Reciprocal", "reciprocal"), ("Neg", "neg")]
)
def test_functions_of_one_value(tmp_path: Path, operator: str, function: str) -> None:
    op = only(tmp_path, node(operator, "x", "y"), {"x": MAP})
    assert (op.kind, op.attributes) == ("unary", {"function": function})


def test_powers_know_their_exponent(tmp_path: Path) -> None:
    op = only(tmp_path, node("Pow", "x e", "y"), {"x": MAP}, e=np.float32(2))
    assert op.attributes == {"function": "pow", "exponent": 2.0}


def test_sums_of_many_are_sums_of_two(tmp_path: Path) -> None:
    inputs = dict.fromkeys("abc", MAP)
    graph = graph_of(model([node("Sum", "a b c", "y")], inputs, "y"), tmp_path)
    assert kinds(graph) == ["add", "add"]
    assert graph.ops[1].inputs == (graph.ops[0].outputs[0], "c")


@pytest.mark.parametrize(
    ("made", "kind", "attributes"),
    [
        (
            node("Gather", "x i", "y", axis=2),
            "slice",
            {"axis": 2, "start": 2, "stop": 5, "step": 1},
        ),
        (node("Gather", "x odd", "y", axis=2), "copy", {}),
        (node("Split", "x", "y z", axis=1, num_outputs=2), "slice", {"axis": 1, "start": 0}),
        (node("Tile", "x t", "y"), "copy", {}),
        (node("Resize", "x _ f", "y", mode="linear"), "resize", {"mode": "linear"}),
        (node("Pad", "x p", "y"), "pad", {"start": (0, 0, 1, 0), "end": (0, 0, 0, 2)}),
        (node("Pad", "x p", "y", mode="reflect"), "copy", {}),
        (node("SpaceToDepth", "x", "y", blocksize=2), "copy", {}),
        (node("DepthToSpace", "x", "y", blocksize=2), "depth_to_space", {"order": "DCR"}),
        (node("ReduceMax", "x a", "y"), "max", {"axes": (2, 3)}),
        (node("ReduceSum", "x a", "y", keepdims=0), "mean", {"axes": (2, 3)}),
        (node("GlobalMaxPool", "x", "y"), "max", {"axes": (2, 3)}),
        (node("LogSoftmax", "x", "y"), "softmax", {"axis": 3}),
        (node("Transpose", "x", "y"), "transpose", {"order": (3, 2, 1, 0)}),
        (node("Flatten", "x", "y"), "reshape", {}),
    ],
    ids=lambda c: getattr(c, "name", ""),
)
def test_moves(tmp_path: Path, made: Any, kind: str, attributes: dict[str, Any]) -> None:
    constants = {
        "i": numbers(2, 3, -2),
        "odd": numbers(0, 3),
        "t": numbers(1, 2, 1, 1),
        "f": np.array([1, 1, 2, 2], np.float32),
        "p": numbers(0, 0, 1, 0, 0, 0, 0, 2),
        "a": numbers(-1, 2),
    }
    used = {n: constants[n] for n in made.input if n in constants}
    op = only(tmp_path, made, {"x": MAP}, **used)
    assert op.kind == kind
    assert {key: op.attributes[key] for key in attributes} == attributes


@pytest.mark.parametrize(
    "made",
    [
        node("Identity", "x", "y"),
        node("Dropout", "x", "y"),
        node("Cast", "x", "y", to=TensorProto.FLOAT16),
        node("Reshape", "x s", "y"),
        node("Expand", "x s", "y"),
        node("Slice", "x zero four one", "y"),
        node("Clip", "x", "y"),
        node("Where", "m x low", "y"),
    ],
    ids=lambda made: made.op_type,
)
def test_what_changes_nothing_is_no_operator(tmp_path: Path, made: Any) -> None:
    constants = {
        "s": numbers(*MAP),
        "zero": numbers(0),
        "four": numbers(4),
        "one": numbers(1),
        "m": np.ones((6, 6), bool),
        "low": np.float32(-1e9),
    }
    used = {n: constants[n] for n in made.input if n in constants}
    nodes = [made, node("Relu", "y", "z")]
    graph = graph_of(model(nodes, {"x": MAP}, "z", used), tmp_path)
    assert kinds(graph) == ["activation"]
    assert graph.ops[0].inputs == ("x",)


def test_sequences_are_unpacked(tmp_path: Path) -> None:
    nodes = [
        node("SplitToSequence", "x two", "s", axis=1),
        *(node("SequenceAt", f"s {i}", f"p{i}") for i in ("zero", "last")),
        node("SequenceConstruct", "pzero plast", "t"),
        node("ConcatFromSequence", "t", "y", axis=-1, new_axis=1),
    ]
    constants = {"two": np.int64(2), "zero": np.int64(0), "last": np.int64(-1)}
    graph = graph_of(model(nodes, {"x": (1, 4, 6)}, "y", constants), tmp_path)
    assert kinds(graph) == ["slice", "slice", "reshape", "reshape", "concat"]
    assert [op.attributes["start"] for op in graph.ops[:2]] == [0, 2]
    assert graph.tensors[graph.outputs[0]].shape == (1, 2, 6, 2)


def test_a_softplus_with_a_threshold_is_one(tmp_path: Path) -> None:
    """As PyTorch's exporter writes it."""
    nodes = [
        node("Mul", "x beta", "a"),
        node("Softplus", "a", "b"),
        node("Div", "b beta", "c"),
        node("Greater", "a limit", "d"),
        node("Where", "d x c", "y"),
    ]
    constants = {"beta": np.float32(1), "limit": np.float32(20)}
    graph = graph_of(model(nodes, {"x": MAP}, "y", constants), tmp_path)
    assert kinds(graph) == ["mul", "activation"]
    assert graph.outputs == graph.ops[1].outputs


def test_softmax_of_old_opsets_takes_all_from_the_axis_on(tmp_path: Path) -> None:
    proto = model([node("Softmax", "x", "y")], {"x": MAP}, "y", opset=11)
    graph = graph_of(proto, tmp_path)
    assert kinds(graph) == ["reshape", "softmax", "reshape"]
    assert graph.tensors[graph.ops[0].outputs[0]].shape == (1, 144)


def test_products_with_weights_are_linear(tmp_path: Path) -> None:
    nodes = [node("MatMul", "x w", "a"), node("MatMul", "a a", "b"), node("MatMul", "w2 b", "y")]
    proto = model(nodes, {"x": (1, 5, 3)}, "y", {"w": weight(3, 5), "w2": weight(4, 5)})
    graph = graph_of(proto, tmp_path)
    assert kinds(graph) == ["linear", "matmul", "matmul"]
    assert graph.tensors[graph.ops[0].inputs[1]].shape == (5, 3)
    assert graph.learned == {"w": 15, "w2": 20}


@pytest.mark.parametrize(
    ("equation", "x", "y", "found"),
    [
        ("bid,bjd->bij", (2, 3, 4), (2, 5, 4), ["transpose", "matmul"]),
        ("bhid, bhdj -> bihj", (2, 3, 4, 5), (2, 3, 5, 6), ["matmul", "transpose"]),
        ("ij,jk", (3, 4), (4, 5), ["matmul"]),
        ("bi,ci->bc", (2, 3), (4, 3), ["transpose", "matmul"]),
        ("bijc,ic->bij", (2, 3, 4, 5), (3, 5), None),
        ("ab,b->ab", (2, 3), (3,), ["reshape", "mul"]),
    ],
)
def test_products_by_equation(
    tmp_path: Path, equation: str, x: Any, y: Any, found: list[str] | None
) -> None:
    nodes = [node("Einsum", "x y", "z", equation=equation)]
    proto = model(nodes, {"x": x, "y": y}, "z")
    graph = graph_of(proto, tmp_path)
    wanted = np.einsum(equation.replace(" ", ""), np.ones(x), np.ones(y)).shape
    assert graph.tensors[graph.outputs[0]].shape == wanted
    if found is not None:
        assert kinds(graph) == found


def test_equations_with_weights_are_linear(tmp_path: Path) -> None:
    made = node("Einsum", "x w", "y", equation="btc,chd->bthd")
    graph = graph_of(model([made], {"x": (1, 5, 6)}, "y", {"w": weight(6, 2, 4)}), tmp_path)
    assert kinds(graph) == ["reshape", "linear", "reshape"]
    assert graph.tensors[graph.ops[1].inputs[1]].shape == (8, 6)
    assert graph.learned == {"w": 48}


def test_functions_and_branches_are_put_in_place(tmp_path: Path) -> None:
    graph = graph_of(SEEDS["functions"](), tmp_path)
    assert kinds(graph) == ["linear", "activation", "mul", "softmax", "activation"]
    assert graph.ops[3].attributes == {"axis": 1}
    assert graph.ops[4].attributes == {"function": "relu"}


def test_caches_are_joined_and_leave_the_network(tmp_path: Path) -> None:
    graph = graph_of(SEEDS["decoder"](), tmp_path)
    attention = next(op for op in graph.ops if op.kind == "attention")
    joined = [op for op in graph.ops if op.kind == "concat"]
    assert [op.inputs[0] for op in joined] == ["pk", "pv"]
    assert attention.inputs[1:3] == tuple(op.outputs[0] for op in joined) == graph.outputs[1:]
    assert [graph.tensors[n].shape for n in attention.inputs[:2]] == [(1, 4, 1, 4), (1, 2, 8, 4)]


def test_dead_nodes_are_no_operators_and_no_problems(tmp_path: Path) -> None:
    nodes = [node("Relu", "x", "y"), node("Tanh", "x", "z"), node("NonZero", "x", "n")]
    assert kinds(graph_of(model(nodes, {"x": MAP}, "y"), tmp_path)) == ["activation"]


def test_names_that_repeat_are_told_apart(tmp_path: Path) -> None:
    nodes = [node("Relu", "x", "a", name="input"), node("Tanh", "a", "y", name="input")]
    graph = graph_of(model(nodes, {"x": MAP}, "y"), tmp_path)
    assert [op.name for op in graph.ops] == ["op_input", "op_input_2"]
