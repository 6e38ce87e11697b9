"""Small ONNX files that would take all memory or time, or end the process."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

from archloom.space.importers.errors import ImportProblem
from archloom.space.importers.onnx.reader import read_graph

from ....cases.limits import work_limit
from ....cases.onnx_models import SEEDS, graph_of, model, node, numbers

MAP = (1, 4, 6, 6)
ONE = helper.make_tensor("one", TensorProto.INT64, [1], [1])


def refusal(proto: ModelProto, folder: Path) -> str:
    with pytest.raises(ImportProblem) as caught:
        graph_of(proto, folder)
    return "\n".join(caught.value.problems)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (
            node("Split", "x", "y z u", axis=1, num_outputs=1),
            r"split_y \(Split\): num_outputs is 1, it has 3 outputs",
        ),
        (
            node("GatherND", "x i", "y", batch_dims=-2),
            r"gathernd_y \(GatherND\): attribute batch_dims is -2, must be from 0",
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
            "values of input 2, a constant, are unknown, because it is computed from "
            "more than 1048576",
        ),
        (
            [node("ConstantOfShape", "half", "c", value=ONE), node("Reshape", "x c", "y")],
            "a shape of 1073741824 dimensions, at most 16 are supported",
        ),
        (
            [node("ConstantOfShape", "half", "c", value=ONE), node("Expand", "x c", "y")],
            "a shape of 1073741824 dimensions, at most 16 are supported",
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
    assert "more than 100000 nodes, those of its functions included" in text
    assert "nested more than 32 levels deep" in refusal(laughing(40, 1), tmp_path)


def test_a_function_that_calls_itself_is_refused(tmp_path: Path) -> None:
    imports = [helper.make_opsetid("own", 1)]
    body = [helper.make_node("f", ["x"], ["y"], domain="own")]
    own = helper.make_function("own", "f", ["x"], ["y"], body, imports)
    proto = model([node("f", "x", "y", domain="own")], {"x": MAP}, "y", functions=[own])
    assert "nested more than 32 levels deep" in refusal(proto, tmp_path)


def test_concatenations_that_double_are_refused(tmp_path: Path) -> None:
    nodes = [node("Concat", f"x{i} x{i}", f"x{i + 1}", axis=1) for i in range(30)]
    proto = model([*nodes, node("Relu", "x30", "y")], {"x0": MAP}, "y")
    assert "concat_x11 (Concat): 2048 feature maps are concatenated, at most 1024" in refusal(
        proto, tmp_path
    )


def test_names_of_many_operators_of_one_node_are_found_at_once(tmp_path: Path) -> None:
    """Counting from the first each time would take a minute."""
    proto = model([node("Sum", " ".join(["x"] * 30_000), "y")], {"x": MAP}, "y")
    with work_limit(20):
        names = [op.name for op in graph_of(proto, tmp_path).ops]
    assert names[::29_998] == ["sum_y", "sum_y_29999"]


def test_recurrent_cells_without_end_are_refused(tmp_path: Path) -> None:
    proto = SEEDS["recurrent"]()
    proto.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 5000
    assert "5000 positions; at most 8192 steps of recurrent cells" in refusal(proto, tmp_path)


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
    with pytest.raises(ImportProblem, match="not an ONNX model, or only a part of one"):
        read_graph(path)
