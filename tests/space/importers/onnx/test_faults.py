"""What is wrong with an ONNX file is told in one message, everything at once."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

from archloom.space.importers.errors import ImportProblem
from archloom.space.importers.onnx.reader import read_graph
from archloom.space.importers.onnx.value import OnnxError, _outside

from ....cases.onnx_models import SEEDS, graph_of, model, node, numbers, residual, saved

MAP = (1, 4, 6, 6)


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
        (b"import torch\nprint('no model')\n", "not an ONNX model"),
        (b"PK\x03\x04" + b"\xff" * 99, "export the model to ONNX"),
        (b"\x08\x0a", "it has no graph"),
        (residual().SerializeToString()[:-40], "not an ONNX model, or only a part of one"),
        (os.urandom(0) + bytes(range(256)), "not an ONNX model"),
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
    assert "dimensions batch, b.0 of 2 of 2 inputs have no size: a (batch, 3), b (b.0, 3)" in text
    assert "{file: net.onnx, dimensions: {batch: 1, b.0: 1}}" in text
    assert "archloom networks net.onnx --set batch=1 --set b.0=1" in text


def test_open_dimensions_that_are_given(tmp_path: Path) -> None:
    proto = model([node("Add", "a b", "y")], {"a": ("batch", 3), "b": (None, 3)}, "y")
    graph = graph_of(proto, tmp_path, **{"batch": 4, "b.0": 4})
    assert graph.tensors["b"].shape == (4, 3)


def test_weights_that_are_inputs(tmp_path: Path) -> None:
    """As in files that are exported without parameters."""
    shapes = {"x": (1, 3, 8, 8), "w": (4, 3, 1, 1)}
    text = refusal(model([node("Conv", "x w", "y")], shapes, "y"), tmp_path)
    assert "its weight w is an input of the model; export the model with its parameters" in text
    computed = [node("Relu", "w", "v"), node("Conv", "x v", "y")]
    text = refusal(model(computed, shapes, "y"), tmp_path)
    assert "input 2, its weight, is computed at run time" in text


def test_dimensions_that_no_input_has(tmp_path: Path) -> None:
    proto = model([node("Relu", "x", "y")], {"x": ("batch", 3)}, "y")
    text = refusal(proto, tmp_path, bach=2, batch="2")
    assert "dimension 'bach' is not a dimension of its inputs; did you mean batch?" in text
    assert "dimension batch is '2', must be a whole number" in text
    assert "not known" not in text


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((0, 3), r"dimensions x\.0 of the input have no size"),
        ((-1, 3), r"dimensions x\.0 of the input have no size"),
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
    assert "input x: it must be a tensor of known rank" in refusal(proto, tmp_path)


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
        node("TopK", "f k", "u j", name="again"),
        node("RandomNormalLike", "x", "n", name="noise"),
        node("Sum", "v u n", "y"),
    ]
    constants = {"k": numbers(1)}
    text = refusal(model(nodes, {"x": (1, 4, 4)}, "y", constants), tmp_path)
    assert text == (
        "operators that are not supported: TopK (nodes best, again); "
        "com.microsoft.FusedMatMul (node fused); RandomNormalLike (node noise)"
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
    assert "If with a computed condition (node fork); Loop (node loop)" in text


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
        "output nil: no node computes it",
    ),
    "opset 6": (
        lambda m: setattr(m.opset_import[0], "version", 6),
        "opset 6 is not supported; supported: 7",
    ),
    "a new opset": (
        lambda m: setattr(m.opset_import[0], "version", 999),
        "opset 999 is not supported",
    ),
    "an unknown operator": (
        lambda m: setattr(m.graph.node[2], "op_type", "Rely"),
        r"operators that are not supported: Rely \(node relu_c\)",
    ),
    "a constant that is gone": (
        lambda m: m.graph.initializer.pop(0),
        r"node conv_a \(Conv\): it reads 'w1'; no node computes it",
    ),
    "another order": (
        lambda m: m.graph.node.insert(0, m.graph.node.pop(2)),
        r"relu_c \(Relu\): it reads 'b'; a later node computes it",
    ),
    "a cycle": (
        lambda m: m.graph.node[1].input.__setitem__(0, "d"),
        r"batchnormalization_b \(BatchNormalization\): it reads 'd'; a later node",
    ),
    "a result made twice": (
        lambda m: m.graph.node.append(m.graph.node[2]),
        r"relu_c \(Relu\): 'c' is also the result of another node",
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
        "attribute strides is 0, must be from 1",
    ),
    "a stride too many": (
        lambda m: attribute(m, 0, "strides").ints.append(2),
        r"conv_a \(Conv\): its inputs and attributes do not fit together",
    ),
    "channels that groups do not divide": (
        lambda m: setattr(attribute(m, 4, "group"), "i", 3),
        r"conv_e \(Conv\): weight \(8, 4, 3, 3\) and 3 groups do not fit",
    ),
    "a kernel of another size than its weights": (
        lambda m: attribute(m, 0, "kernel_shape").ints.__setitem__(0, 1),
        r"conv_a \(Conv\): kernel_shape is \(1, 3\), its weights have \(3, 3\)",
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
        "not UTF-8",
    ),
}


@pytest.mark.parametrize(("change", "message"), EDITS.values(), ids=list(EDITS))
def test_damage(tmp_path: Path, change: Callable[[ModelProto], Any], message: str) -> None:
    with pytest.raises(ImportProblem, match=message):
        graph_of(edited(change), tmp_path)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"location": "no.bin"}, r"data file no\.bin is missing from the folder of the model"),
        ({"location": "../up.bin"}, r"'\.\./up\.bin' is not in the folder of the model"),
        ({"location": "/etc/passwd"}, "'/etc/passwd' is not in the folder of the model"),
        ({}, "'' is not in the folder of the model"),
        ({"location": "is.bin", "offset": "-1"}, "offset of its data file is '-1'"),
        ({"location": "is.bin", "offset": "9" * 99}, "must be a whole number"),
        (
            {"location": "is.bin", "length": "3"},
            "864 bytes from offset 0 are needed, 3 are declared",
        ),
        ({"location": "is.bin", "offset": "200"}, "864 bytes from offset 200 are needed"),
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


def test_data_outside_of_the_models_folder_is_not_read_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"\0" * 64)
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "inside.bin").write_bytes(b"\0" * 64)
    (folder / "link.bin").symlink_to(tmp_path / "secret")
    (folder / "other.bin").symlink_to(folder / "inside.bin")
    (folder / "up").symlink_to(tmp_path)
    read = {"other.bin": True, "link.bin": False, "up/secret": False, "up/model/inside.bin": True}
    for location, allowed in read.items():
        tensor = TensorProto(dims=[2], data_type=TensorProto.FLOAT)
        tensor.data_location = TensorProto.EXTERNAL
        entry = tensor.external_data.add()
        entry.key, entry.value = "location", location
        if allowed:
            assert _outside(tensor, folder, 8) is not None
        else:
            with pytest.raises(
                OnnxError, match=r"is a link to .*secret, outside the folder of the model"
            ):
                _outside(tensor, folder, 8)
