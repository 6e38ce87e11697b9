"""What counts as learned in an ONNX file."""

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto

from archloom.space.importers.errors import ImportProblem
from archloom.space.importers.onnx.reader import read_graph

from ....cases.onnx_models import SEEDS, graph_of, model, node, numbers, residual, saved, weight

MAP = (1, 4, 6, 6)


def test_what_counts_as_learned(tmp_path: Path) -> None:
    mask = np.triu(np.full((4, 4), -np.inf, np.float32), 1)
    nodes = [
        node("Mul", "x scale", "a"),
        node("Add", "a table", "b"),
        node("Add", "b mask", "c"),
        node("Add", "c none", "d"),
        node("Div", "d root", "y"),
    ]
    constants = {
        "scale": weight(4),
        "table": np.zeros((4, 4), np.float32),
        "mask": mask,
        "none": np.zeros((1, 1, 1, 4), np.float32),
        "root": np.array([3], np.float32),
    }
    graph = graph_of(model(nodes, {"x": (1, 1, 4, 4)}, "y", constants), tmp_path)
    assert graph.learned == {"scale": 4, "table": 16}
    root = graph.tensors[graph.ops[-1].inputs[1]]
    assert (root.constant, root.learned, root.value) == (True, frozenset(), 3.0)


@pytest.mark.filterwarnings("error")
def test_what_is_no_number_is_no_mask_and_warns_of_nothing(tmp_path: Path) -> None:
    """A signalling NaN in half precision, which numpy warns of when it is made longer."""
    odd = np.array([0x7D01, 0, 0, 0], np.uint16).view(np.float16)
    empty = np.zeros((0, 4), np.float16)
    nodes = [node("Add", "x odd", "a"), node("Concat", "a none", "y", axis=0)]
    types = {"x": TensorProto.FLOAT16}
    constants = {"odd": odd, "none": empty}
    proto = model(nodes, {"x": (2, 4)}, "y", constants, types=types)
    assert graph_of(proto, tmp_path).learned == {"odd": 4}


def test_tables_of_angles_are_not_learned(tmp_path: Path) -> None:
    angles = np.arange(6)[:, None] * np.array([1, 0.1])
    tables = {"cos": np.cos(angles, dtype=np.float32), "sin": np.sin(angles, dtype=np.float32)}
    nodes = [node("Mul", "x cos", "a"), node("Mul", "a sin", "b"), node("Mul", "b w", "y")]
    proto = model(nodes, {"x": (1, 6, 2)}, "y", tables | {"w": weight(6, 2)})
    assert graph_of(proto, tmp_path).learned == {"w": 12}


def test_what_the_exporter_calls_a_buffer_is_not_learned(tmp_path: Path) -> None:
    nodes = [node("Mul", "x mean", "a"), node("Mul", "a gain", "y")]
    constants = {"mean": weight(6), "gain": weight(6)}
    proto = model(nodes, {"x": (1, 6)}, "y", constants)
    for name, kind in (("mean", "BUFFER"), ("gain", "PARAMETER")):
        info = proto.graph.value_info.add()
        info.name, prop = name, info.metadata_props.add()
        prop.key = "pkg.torch.export.graph_signature.InputSpec.kind"
        prop.value = kind
    assert graph_of(proto, tmp_path).learned == {"gain": 6}


@pytest.mark.parametrize("operands", ["b bias", "bias b"])
def test_slopes_and_biases_of_one_value_are_learned(tmp_path: Path, operands: str) -> None:
    nodes = [
        node("PRelu", "x slope", "a"),
        node("MatMul", "a w", "b"),
        node("Add", operands, "y"),
    ]
    one = np.ones(1, np.float32)
    constants = {"slope": one, "w": weight(3, 1), "bias": one}
    graph = graph_of(model(nodes, {"x": (1, 5, 3)}, "y", constants), tmp_path)
    assert graph.learned == {"slope": 1, "w": 3, "bias": 1}


def test_a_group_norm_in_pieces_is_one(tmp_path: Path) -> None:
    """As PyTorch's exporter writes it."""
    nodes = [
        node("Reshape", "x apart", "a"),
        node("InstanceNormalization", "a ones zeros", "b"),
        node("Shape", "x", "s"),
        node("Reshape", "b s", "c"),
        node("Mul", "c scale", "d"),
        node("Add", "d shift", "y"),
    ]
    constants = {
        "apart": numbers(0, 2, -1),
        "ones": np.ones(2, np.float32),
        "zeros": np.zeros(2, np.float32),
        "scale": weight(4, 1, 1),
        "shift": weight(4, 1, 1),
    }
    graph = graph_of(model(nodes, {"x": MAP}, "y", constants), tmp_path)
    (norm,) = graph.ops
    assert (norm.kind, norm.inputs[0], norm.attributes) == ("group_norm", "x", {"groups": 2})
    assert graph.learned == {"scale": 4, "shift": 4}


def test_weights_of_an_lstm_come_by_direction(tmp_path: Path) -> None:
    graph = graph_of(SEEDS["recurrent"](), tmp_path)
    lstm = next(op for op in graph.ops if op.kind == "lstm")
    shapes = [graph.tensors[n].shape for n in lstm.inputs[1:]]
    assert shapes == [(12, 4), (12, 3), (12,), (12,)] * 2
    assert [graph.learned[n] for n in lstm.inputs[1:]] == [48, 36, 12, 12] * 2
    assert [graph.tensors[n].shape for n in lstm.outputs] == [(5, 1, 6), (2, 1, 3), (2, 1, 3)]


def test_weights_in_a_file_of_their_own_are_not_needed(tmp_path: Path) -> None:
    proto = residual()
    for tensor in proto.graph.initializer:
        raw = tensor.raw_data
        (tmp_path / f"{tensor.name}.bin").write_bytes(b"\0" * 8 + raw)
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        entries = {"location": f"{tensor.name}.bin", "offset": "8", "length": str(len(raw))}
        for key, value in entries.items():
            entry = tensor.external_data.add()
            entry.key, entry.value = key, value
    inside, outside = graph_of(residual(), tmp_path), read_graph(saved(proto, tmp_path))
    assert inside == outside
    (tmp_path / "w2.bin").write_bytes(b"short")
    with pytest.raises(
        ImportProblem, match=r"tensor w2: data file w2\.bin: 1152 bytes from offset 8"
    ):
        read_graph(tmp_path / "net.onnx")


def test_biases_of_quantized_files_are_learned(tmp_path: Path) -> None:
    """They are whole numbers of 32 bits, as places are."""
    nodes = [
        node("DequantizeLinear", "b scale", "bias"),
        node("Conv", "x w bias", "a"),
        node("QuantizeLinear", "a scale zero", "q"),
        node("QLinearConv", "q scale zero w8 scale zero scale zero b8", "r"),
        node("DequantizeLinear", "r scale zero", "y"),
    ]
    constants = {
        "b": np.arange(5, dtype=np.int32),
        "scale": np.float32(0.1),
        "zero": np.int8(0),
        "w": weight(5, 4, 1, 1),
        "w8": np.ones((2, 5, 1, 1), np.int8),
        "b8": np.arange(2, dtype=np.int32),
    }
    graph = graph_of(model(nodes, {"x": MAP}, "y", constants), tmp_path)
    assert graph.learned == {"w": 20, "bias": 5, "w8": 10, "b8": 2}


def test_a_data_file_that_is_missing_is_told_once(tmp_path: Path) -> None:
    proto = residual()
    for tensor in proto.graph.initializer:
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        entry = tensor.external_data.add()
        entry.key, entry.value = "location", "net.onnx.data"
    with pytest.raises(ImportProblem) as caught:
        read_graph(saved(proto, tmp_path))
    (problem,) = caught.value.problems
    first = ", ".join(tensor.name for tensor in proto.graph.initializer[:3])
    rest = len(proto.graph.initializer) - 3
    missing = "data file net.onnx.data is missing from the folder of the model"
    assert problem == f"tensors {first} and {rest} more: {missing}"
