"""What is wrong with an ONNX file is told in one message, everything at once."""

import os
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

from archloom.space.importers.errors import ImportProblem
from archloom.space.importers.onnx_reader import read_graph

from .limits import work_limit
from .onnx_models import SEEDS, graph_of, model, node, numbers, residual, saved, weight

MAP = (1, 4, 6, 6)
ONE = helper.make_tensor("one", TensorProto.INT64, [1], [1])


def refusal(proto: ModelProto, folder: Path, **dimensions: Any) -> str:
    path = saved(proto, folder)
    with pytest.raises(ImportProblem) as caught:
        read_graph(path, dimensions)
    assert caught.value.source == str(path)
    return "\n".join(caught.value.problems)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"import torch\nprint('no model')\n", "no ONNX model"),
        (b"PK\x03\x04" + b"\xff" * 99, "export the model to ONNX"),
        (b"\x08\x0a", "it has no graph"),
        (residual().SerializeToString()[:-40], "no ONNX model, or a part of one"),
        (os.urandom(0) + bytes(range(256)), "no ONNX model"),
    ],
)
def test_files_that_hold_no_model(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(content)
    with pytest.raises(ImportProblem, match=message):
        read_graph(path)


@pytest.mark.parametrize(
    ("name", "message"),
    [("", "it is a directory"), ("no.onnx", "No such file"), ("a\0b", "cannot be read")],
)
def test_what_is_no_file(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(ImportProblem, match=message):
        read_graph(tmp_path / name)


def test_open_dimensions_are_named_with_what_to_write(tmp_path: Path) -> None:
    proto = model([node("Add", "a b", "y")], {"a": ("batch", 3), "b": (None, 3)}, "y")
    text = refusal(proto, tmp_path)
    assert "dimensions batch, b.0 of 2 of 2 inputs are not known: a (batch, 3), b (b.0, 3)" in text
    assert "{file: net.onnx, dimensions: {batch: 1, b.0: 1}}" in text
    assert "archloom networks net.onnx --set batch=1 --set b.0=1" in text


def test_open_dimensions_that_are_given(tmp_path: Path) -> None:
    proto = model([node("Add", "a b", "y")], {"a": ("batch", 3), "b": (None, 3)}, "y")
    graph = graph_of(proto, tmp_path, **{"batch": 4, "b.0": 4})
    assert graph.tensors["b"].shape == (4, 3)


def test_dimensions_that_no_input_has(tmp_path: Path) -> None:
    proto = model([node("Relu", "x", "y")], {"x": ("batch", 3)}, "y")
    text = refusal(proto, tmp_path, bach=2, batch="2")
    assert "dimension 'bach' is none of its inputs'; did you mean batch?" in text
    assert "dimension batch is '2', it must be a whole number" in text


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((0, 3), r"dimensions x\.0 of the input are not known"),
        ((-1, 3), r"dimensions x\.0 of the input are not known"),
        ((2**62, 3), r"has more than 2\*\*53 elements"),
        ((2**40, 2**40), r"has more than 2\*\*53 elements"),
        ((1,) * 17, "17 dimensions, at most 16"),
    ],
)
def test_shapes_that_no_input_has(tmp_path: Path, shape: Any, message: str) -> None:
    proto = model([node("Relu", "x", "y")], {"x": shape}, "y")
    with pytest.raises(ImportProblem, match=message):
        graph_of(proto, tmp_path)


def test_inputs_without_a_rank(tmp_path: Path) -> None:
    proto = model([node("Relu", "x", "y")], {"x": (1,)}, "y")
    proto.graph.input[0].type.tensor_type.ClearField("shape")
    assert "input x: it is no tensor whose rank is known" in refusal(proto, tmp_path)


def test_sizes_that_a_file_was_not_exported_for(tmp_path: Path) -> None:
    nodes = [node("Reshape", "x s", "y")]
    proto = model(nodes, {"x": ("batch", 12)}, "y", {"s": numbers(3, 2, 6)})
    assert len(graph_of(proto, tmp_path, batch=3).ops) == 1
    text = refusal(proto, tmp_path, batch=2)
    assert "reshape_y (Reshape): (2, 12) has 24 elements, (3, 2, 6) has 36" in text


def test_unsupported_operators_are_listed_once_with_their_nodes(tmp_path: Path) -> None:
    nodes = [
        node("TopK", "x k", "v i", name="best"),
        node("FusedMatMul", "x x", "f", domain="com.microsoft", name="fused"),
        node("GRU", "x w r", "g _", hidden_size=2, name="cell"),
        node("TopK", "f k", "u j", name="again"),
        node("RandomNormalLike", "x", "n", name="noise"),
        node("Relu", "g", "h"),
        node("Sum", "v u h n", "y"),
    ]
    constants = {"k": numbers(1), "w": weight(1, 6, 4), "r": weight(1, 6, 2)}
    text = refusal(model(nodes, {"x": (1, 4, 4)}, "y", constants), tmp_path)
    assert text == (
        "operators that are not read: TopK (nodes best, again); "
        "com.microsoft.FusedMatMul (node fused); GRU (node cell); RandomNormalLike (node noise)"
    )


def test_loops_and_computed_conditions_are_not_read(tmp_path: Path) -> None:
    body = helper.make_graph([node("Relu", "x", "p")], "then", [], [])
    body.output.append(helper.make_tensor_value_info("p", TensorProto.FLOAT, None))
    nodes = [
        node("Greater", "x zero", "c"),
        node("If", "c", "a", then_branch=body, else_branch=body, name="fork"),
        node("Loop", "two _ x", "y", body=body, name="loop"),
        node("Add", "a y", "z"),
    ]
    constants = {"zero": np.float32(0), "two": np.int64(2)}
    text = refusal(model(nodes, {"x": ()}, "z", constants), tmp_path)
    assert "If with a condition that is computed (node fork); Loop (node loop)" in text


def edited(change: Callable[[ModelProto], Any], seed: str = "residual") -> ModelProto:
    proto = SEEDS[seed]()
    change(proto)
    return proto


def attribute(proto: ModelProto, place: int, name: str) -> Any:
    return next(a for a in proto.graph.node[place].attribute if a.name == name)


EDITS: dict[str, tuple[Callable[[ModelProto], Any], str]] = {
    "no nodes": (lambda m: m.graph.ClearField("node"), "the graph has no nodes"),
    "no inputs": (lambda m: m.graph.ClearField("input"), "the graph has no inputs"),
    "no outputs": (lambda m: m.graph.ClearField("output"), "the graph has no outputs"),
    "an output that nothing makes": (
        lambda m: setattr(m.graph.output[0], "name", "nil"),
        "output nil: no node makes it",
    ),
    "opset 6": (lambda m: setattr(m.opset_import[0], "version", 6), "opset 6 is not read, only 7"),
    "a new opset": (lambda m: setattr(m.opset_import[0], "version", 999), "opset 999 is not read"),
    "an unknown operator": (
        lambda m: setattr(m.graph.node[2], "op_type", "Rely"),
        r"operators that are not read: Rely \(node relu_c\)",
    ),
    "a constant that is gone": (
        lambda m: m.graph.initializer.pop(0),
        r"node conv_a \(Conv\): it reads 'w1'; no node makes it",
    ),
    "another order": (
        lambda m: m.graph.node.insert(0, m.graph.node.pop(2)),
        r"relu_c \(Relu\): it reads 'b'; a node after it makes it",
    ),
    "a cycle": (
        lambda m: m.graph.node[1].input.__setitem__(0, "d"),
        r"batchnormalization_b \(BatchNormalization\): it reads 'd'; a node after it",
    ),
    "a result made twice": (
        lambda m: m.graph.node.append(m.graph.node[2]),
        r"relu_c \(Relu\): another node makes 'c' too",
    ),
    "two constants of a name": (
        lambda m: m.graph.initializer.append(m.graph.initializer[0]),
        "initializers: the name 'w1' repeats",
    ),
    "an unknown attribute": (
        lambda m: setattr(attribute(m, 0, "strides"), "name", "stride"),
        "attribute 'stride' is not known; did you mean strides",
    ),
    "an attribute of another type": (
        lambda m: setattr(attribute(m, 0, "strides"), "type", 2),
        "attribute strides must be of type INTS",
    ),
    "stride 0": (
        lambda m: attribute(m, 0, "strides").ints.__setitem__(0, 0),
        "attribute strides is 0, it must be from 1",
    ),
    "a stride too many": (
        lambda m: attribute(m, 0, "strides").ints.append(2),
        r"conv_a \(Conv\): its inputs and attributes do not go together",
    ),
    "channels that groups do not divide": (
        lambda m: setattr(attribute(m, 4, "group"), "i", 3),
        r"conv_e \(Conv\): weight \(8, 4, 3, 3\) and 3 groups do not fit",
    ),
    "an input too many": (
        lambda m: m.graph.node[2].input.append("a"),
        "it has 2 inputs, Relu has 1 to 1",
    ),
    "data that does not fit": (
        lambda m: m.graph.initializer[0].dims.__setitem__(0, 9),
        "tensor w1: 864 bytes of data, shape 9 x 3 x 3 x 3 needs 972",
    ),
    "data that is not there": (
        lambda m: m.graph.initializer[0].ClearField("raw_data"),
        "tensor w1: 0 values of data, shape 8 x 3 x 3 x 3 needs 216",
    ),
    "a negative dimension": (
        lambda m: m.graph.initializer[0].dims.__setitem__(0, -8),
        "tensor w1: shape -8 x 3 x 3 x 3: dimensions must be at least 0",
    ),
    "a huge tensor": (
        lambda m: m.graph.initializer[0].dims.__setitem__(0, 2**62),
        r"tensor w1: shape .* has more than 2\*\*53 elements",
    ),
    "a tensor of texts": (
        lambda m: setattr(m.graph.initializer[0], "data_type", 8),
        "tensor w1: element type 8",
    ),
    "a name that is no text": (
        lambda m: m.MergeFromString(b"\x3a\x06\x0a\x04\x1a\x02\xff\xfe"),
        "no text in UTF-8",
    ),
}


@pytest.mark.parametrize(("change", "message"), EDITS.values(), ids=list(EDITS))
def test_damage(tmp_path: Path, change: Callable[[ModelProto], Any], message: str) -> None:
    with pytest.raises(ImportProblem, match=message):
        graph_of(edited(change), tmp_path)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (
            node("Split", "x", "y z u", axis=1, num_outputs=1),
            r"split_y \(Split\): num_outputs is 1, it has 3 outputs",
        ),
        (
            node("GatherND", "x i", "y", batch_dims=-2),
            r"gathernd_y \(GatherND\): attribute batch_dims is -2, it must be from 0",
        ),
    ],
    ids=["split", "gather"],
)
def test_nodes_that_end_the_process_in_shape_inference(
    tmp_path: Path, made: Any, message: str
) -> None:
    used = {"i": numbers(1)} if "i" in made.input else {}
    proto = model([made], {"x": MAP}, " ".join(made.output), used)
    with pytest.raises(ImportProblem, match=message):
        graph_of(proto, tmp_path)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"location": "no.bin"}, r"data file no\.bin is missing in the model's folder"),
        ({"location": "../up.bin"}, r"'\.\./up\.bin' does not lie in the model's folder"),
        ({"location": "/etc/passwd"}, "'/etc/passwd' does not lie in the model's folder"),
        ({}, "'' does not lie in the model's folder"),
        ({"location": "is.bin", "offset": "-1"}, "offset of its data file is '-1'"),
        ({"location": "is.bin", "offset": "9" * 99}, "must be a whole number"),
        ({"location": "is.bin", "length": "3"}, "864 bytes from 0 are needed, 3 are declared"),
        ({"location": "is.bin", "offset": "200"}, "864 bytes from 200 are needed"),
    ],
)
def test_data_files(tmp_path: Path, entries: dict[str, str], message: str) -> None:
    (tmp_path / "is.bin").write_bytes(bytes(1000))
    proto = residual()
    tensor = proto.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in entries.items():
        entry = tensor.external_data.add()
        entry.key, entry.value = key, value
    with pytest.raises(ImportProblem, match=message):
        graph_of(proto, tmp_path)


def test_everything_is_told_at_once(tmp_path: Path) -> None:
    proto = residual()
    attribute(proto, 0, "strides").ints[0] = 0
    attribute(proto, 4, "group").i = 0
    proto.graph.node[9].op_type = "Flat"
    text = refusal(proto, tmp_path)
    assert "Flat (node flatten_j)" in text
    # what is not known because of the first fault is no fault of its own
    assert text.count("\n") == 1
    assert "conv_a (Conv): attribute strides is 0" in text


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([node("ConstantOfShape", "big", "c"), node("Add", "x c", "y")], r"more than 2\*\*53"),
        ([node("Expand", "x big", "y")], r"more than 2\*\*53"),
        ([node("Tile", "x big", "y")], r"more than 2\*\*53"),
        (
            [
                node("Range", "zero end one", "c"),
                node("ReduceMax", "c", "m", keepdims=1),
                node("Reshape", "x m", "y"),
            ],
            "values of input 2, a constant, are not known: it is made of more than 1048576",
        ),
        (
            [node("ConstantOfShape", "half", "c", value=ONE), node("Reshape", "x c", "y")],
            "a shape of 1073741824 dimensions, at most 16 are read",
        ),
        (
            [node("ConstantOfShape", "half", "c", value=ONE), node("Expand", "x c", "y")],
            "a shape of 1073741824 dimensions, at most 16 are read",
        ),
    ],
    ids=["fill", "expand", "tile", "range", "shape", "rank"],
)
def test_bombs(tmp_path: Path, nodes: list[Any], message: str) -> None:
    """Small files that ask for giant tensors."""
    constants = {
        "big": numbers(*[2**30] * 4),
        "zero": np.int64(0),
        "end": np.int64(2**40),
        "one": np.int64(1),
        "half": numbers(2**30),
    }
    used = {n: constants[n] for made in nodes for n in made.input if n in constants}
    with pytest.raises(ImportProblem, match=message):
        graph_of(model(nodes, {"x": (1, 1, 1, 1)}, "y", used), tmp_path)


def laughing(levels: int, calls: int) -> ModelProto:
    """Functions that each call the one before several times."""
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)]
    functions = []
    for level in range(levels):
        inner = f"f{level - 1}" if level else "Relu"
        names = ["x", *(f"t{i}" for i in range(calls - 1)), "y"]
        domain = "own" if level else ""
        body = [helper.make_node(inner, [a], [b], domain=domain) for a, b in pairwise(names)]
        functions.append(helper.make_function("own", f"f{level}", ["x"], ["y"], body, imports))
    call = node(f"f{levels - 1}", "x", "y", domain="own")
    return model([call], {"x": MAP}, "y", functions=functions)


def test_functions_that_grow_without_end_are_refused(tmp_path: Path) -> None:
    assert len(graph_of(laughing(3, 4), tmp_path).ops) == 64
    text = refusal(laughing(6, 100), tmp_path)
    assert "more than 100000 nodes, with those of its functions" in text
    assert "nested more than 32 deep" in refusal(laughing(40, 1), tmp_path)


def test_a_function_that_calls_itself_is_refused(tmp_path: Path) -> None:
    imports = [helper.make_opsetid("own", 1)]
    body = [helper.make_node("f", ["x"], ["y"], domain="own")]
    own = helper.make_function("own", "f", ["x"], ["y"], body, imports)
    proto = model([node("f", "x", "y", domain="own")], {"x": MAP}, "y", functions=[own])
    assert "nested more than 32 deep" in refusal(proto, tmp_path)


def test_concatenations_that_double_are_refused(tmp_path: Path) -> None:
    nodes = [node("Concat", f"x{i} x{i}", f"x{i + 1}", axis=1) for i in range(30)]
    proto = model([*nodes, node("Relu", "x30", "y")], {"x0": MAP}, "y")
    assert "concat_x11 (Concat): 2048 maps side by side, at most 1024" in refusal(proto, tmp_path)


def test_names_of_many_operators_of_one_node_are_found_at_once(tmp_path: Path) -> None:
    """Counting from the first each time would take a minute."""
    proto = model([node("Sum", " ".join(["x"] * 30_000), "y")], {"x": MAP}, "y")
    with work_limit(20):
        names = [op.name for op in graph_of(proto, tmp_path).ops]
    assert names[::29_998] == ["sum_y", "sum_y_29999"]


def test_recurrent_cells_without_end_are_refused(tmp_path: Path) -> None:
    proto = SEEDS["recurrent"]()
    proto.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 5000
    assert "5000 positions; 8192 steps of recurrent cells are read" in refusal(proto, tmp_path)


def nested(depth: int) -> bytes:
    """Branches in branches, written byte by byte: protobuf would not take them in Python."""
    inner = node("Relu", "x", "p0").SerializeToString()
    for level in range(1, depth + 1):
        # GraphProto: node = 1, output = 12; AttributeProto: name = 1, g = 6, type = 20
        end = field(12, field(1, f"p{level - 1}".encode()))
        branch = field(6, field(1, inner) + end) + b"\xa0\x01\x05"
        plain = field(6, field(12, field(1, b"x"))) + b"\xa0\x01\x05"
        # NodeProto: input = 1, output = 2, op_type = 4, attribute = 5
        inner = field(1, b"yes") + field(2, f"p{level}".encode()) + field(4, b"If")
        inner += field(5, field(1, b"then_branch") + branch)
        inner += field(5, field(1, b"else_branch") + plain)
    proto = model([], {"x": MAP}, f"p{depth}", {"yes": np.bool_(True)})
    return proto.SerializeToString() + field(7, field(1, inner))


def field(number: int, content: bytes) -> bytes:
    """A field of bytes as protobuf writes it."""
    size, length = len(content), b""
    while size > 127:
        length += bytes([size % 128 + 128])
        size //= 128
    return bytes([number * 8 + 2]) + length + bytes([size]) + content


def test_branches_nested_as_deep_as_a_file_can_hold(tmp_path: Path) -> None:
    """Protobuf ends at 100 messages in each other, and three of them make a branch."""
    path = tmp_path / "net.onnx"
    path.write_bytes(nested(30))
    assert [op.kind for op in read_graph(path).ops] == ["activation"]
    path.write_bytes(nested(40))
    with pytest.raises(ImportProblem, match="no ONNX model, or a part of one"):
        read_graph(path)
