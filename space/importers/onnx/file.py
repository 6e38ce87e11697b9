"""Loading of ONNX files: bytes, inputs and constants, before any operator is looked at."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ...errors import did_you_mean
from ..errors import ImportProblem
from .value import OnnxError, Value, check_shape, from_tensor

if TYPE_CHECKING:
    from onnx import (
        AttributeProto,
        GraphProto,
        ModelProto,
        NodeProto,
        TensorShapeProto,
        ValueInfoProto,
    )

#: Bytes of the largest file: what protobuf can hold.
_MOST_BYTES: Final = 2**31 - 1
#: Nodes of the largest graph (assumption: the largest exported language models have 10,000).
MOST_NODES: Final = 100_000
#: Operators of earlier opsets broadcast by attributes, which is not read.
_LEAST_OPSET: Final = 7
#: Tensors that are named with a fault that they share.
_NAMED: Final = 3
#: Names of the operators' own domain.
ONNX_DOMAINS: Final = ("", "ai.onnx")


def load(path: Path) -> "ModelProto":
    """Return the model in a file; data in other files is not read.

    Raises:
        ImportProblem: no such file, nothing in it, or no ONNX model with a graph in it.
    """
    from google.protobuf.message import DecodeError
    from onnx import ModelProto

    data = _bytes(path)
    try:
        model: ModelProto = ModelProto.FromString(data)
    except DecodeError as error:
        hint = "it is a zip archive, such as torch.save writes; export the model to ONNX"
        why = hint if data[:2] == b"PK" else f"not an ONNX model, or only a part of one ({error})"
        raise ImportProblem(str(path), [why]) from None
    if not (model.HasField("graph") and model.opset_import):
        raise ImportProblem(str(path), ["not an ONNX model: it has no graph or no opset"])
    problems = list(_wrong_graph(model.graph))
    if not all(isinstance(text, str) for text in _texts(model)):
        problems = ["a name in it is not UTF-8; the file is damaged"]
    if problems:
        raise ImportProblem(str(path), problems)
    return model


def _bytes(path: Path) -> bytes:
    try:
        if path.is_dir():
            raise ImportProblem(str(path), ["it is a directory, must be an ONNX file"])
        size = path.stat().st_size
        if size > _MOST_BYTES:
            raise ImportProblem(
                str(path),
                [f"{size} bytes, at most 2**31 - 1 can be read; save its weights as external data"],
            )
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        if isinstance(error, ImportProblem):
            raise
        why = getattr(error, "strerror", None) or str(error)
        raise ImportProblem(str(path), [f"it cannot be read: {why}"]) from None
    if not data:
        raise ImportProblem(str(path), ["the file is empty"])
    return data


def _wrong_graph(graph: "GraphProto") -> Iterator[str]:
    if not graph.node:
        yield "the graph has no nodes"
    if len(graph.node) > MOST_NODES:
        yield f"{len(graph.node)} nodes, at most {MOST_NODES} are supported"
    if not graph.output:
        yield "the graph has no outputs"
    if graph.sparse_initializer:
        yield "sparse tensors are not supported; save them as dense ones"
    yield from _repeated("inputs", (x.name for x in graph.input))
    yield from _repeated("initializers", (x.name for x in graph.initializer))


def _texts(model: "ModelProto") -> Iterator[object]:
    """Return every name in a model; protobuf gives bytes for what is not UTF-8."""
    for opset in (*model.opset_import, *(o for f in model.functions for o in f.opset_import)):
        yield opset.domain
    yield from _texts_in(model.graph)
    for function in model.functions:
        yield from (function.domain, function.name, function.overload)
        yield from (*function.input, *function.output, *function.attribute)
        yield from _texts_of(function.attribute_proto)
        yield from _texts_at(function.node)


def _texts_in(graph: "GraphProto") -> Iterator[object]:
    for tensor in graph.initializer:
        yield tensor.name
        yield from (t for entry in tensor.external_data for t in (entry.key, entry.value))
    for entry in (*graph.input, *graph.output, *graph.value_info):
        yield entry.name
        yield from (dim.dim_param for dim in entry.type.tensor_type.shape.dim)
    yield from _texts_at(graph.node)


def _texts_at(nodes: "Iterable[NodeProto]") -> Iterator[object]:
    for node in nodes:
        yield from (node.name, node.op_type, node.domain, node.overload)
        yield from node.input
        yield from node.output
        yield from _texts_of(node.attribute)


def _texts_of(attributes: "Iterable[AttributeProto]") -> Iterator[object]:
    for entry in attributes:
        yield from (entry.name, entry.ref_attr_name)
        for tensor in (entry.t, *entry.tensors):
            yield from (t for each in tensor.external_data for t in (each.key, each.value))
        for graph in (entry.g, *entry.graphs) if entry.type in (5, 10) else ():
            yield from _texts_in(graph)


def _repeated(what: str, names: Iterable[str]) -> Iterator[str]:
    seen: set[str] = set()
    for name in names:
        if not name or name in seen:
            yield f"{what}: the name {name!r} " + ("repeats" if name else "is empty")
        seen.add(name)


def opsets(model: "ModelProto") -> dict[str, int]:
    """Return the version of each domain of operators.

    Raises:
        OnnxError: a version of ONNX's own that is not read.
    """
    from onnx.defs import onnx_opset_version

    versions = {
        "" if entry.domain in ONNX_DOMAINS else entry.domain: entry.version
        for entry in model.opset_import
    }
    latest = onnx_opset_version()
    if not _LEAST_OPSET <= versions.get("", latest) <= latest:
        raise OnnxError(
            f"opset {versions['']} is not supported; supported: {_LEAST_OPSET} to {latest}"
        )
    return versions


def constants(graph: "GraphProto", folder: Path) -> tuple[dict[str, Value], list[str]]:
    """Return the constants of a graph by name, and what is wrong with others."""
    buffers = {entry.name for entry in graph.value_info if _is_buffer(entry)}
    values: dict[str, Value] = {}
    wrong: dict[str, list[str]] = {}
    for tensor in graph.initializer:
        try:
            value = from_tensor(tensor, tensor.name, folder)
            kept = frozenset() if tensor.name in buffers else value.learned
            values[tensor.name] = replace(value, learned=kept)
        except OnnxError as fault:
            wrong.setdefault(str(fault), []).append(tensor.name)
    return values, [f"{_tensors(names)}: {fault}" for fault, names in wrong.items()]


def _tensors(names: list[str]) -> str:
    """Return the tensors that one fault has: a data file that is missing is that of all."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"tensor{'s' if len(names) > 1 else ''} {', '.join(names[:_NAMED])}{more}"


def _is_buffer(entry: "ValueInfoProto") -> bool:
    """Whether PyTorch's exporter says that a tensor is no parameter (torch.onnx, metadata)."""
    kind = "pkg.torch.export.graph_signature.InputSpec.kind"
    return any(prop.key == kind and prop.value == "BUFFER" for prop in entry.metadata_props)


@dataclass(frozen=True, slots=True)
class _Axis:
    name: str
    place: str
    size: int | None


def inputs(
    graph: "GraphProto", dimensions: Mapping[str, int], file: str
) -> tuple[list[Value], list[str]]:
    """Return the inputs of a graph, and what is wrong with others.

    Args:
        graph: of the model.
        dimensions: sizes by the name of a dimension, or by ``INPUT.AXIS``.
        file: name of the file, for messages.
    """
    known = {tensor.name for tensor in graph.initializer}
    # sizes that are none are told by themselves
    given = {key: size if _is_size(size) else 1 for key, size in dimensions.items()}
    asked = [entry for entry in graph.input if entry.name not in known]
    problems = [] if asked else ["the graph has no inputs"]
    values, unknown, names = [], [], set()
    for entry in asked:
        axes = _axes(entry)
        if axes is None:
            problems.append(f"input {entry.name}: it must be a tensor of known rank")
            continue
        names |= {axis.place for axis in axes} | {axis.name for axis in axes if axis.name}
        sizes = [given.get(a.place, given.get(a.name, a.size)) for a in axes]
        if None in sizes:
            unknown.append(_open(entry.name, axes, sizes))
        try:
            shape = tuple(1 if size is None else size for size in sizes)
            check_shape(shape, least=1)
            values.append(Value(entry.name, shape, entry.type.tensor_type.elem_type))
        except OnnxError as fault:
            problems.append(f"input {entry.name}: {fault}")
    if unknown:
        problems.append(_say(unknown, asked, file))
    return values, problems + list(_wrong_dimensions(dimensions, names))


def _axes(entry: "ValueInfoProto") -> list[_Axis] | None:
    tensor = entry.type.tensor_type
    if not (entry.type.HasField("tensor_type") and tensor.HasField("shape")):
        return None
    return [_axis(entry.name, i, d) for i, d in enumerate(tensor.shape.dim)]


def _axis(name: str, index: int, dim: "TensorShapeProto.Dimension") -> _Axis:
    # sizes below 1 stand for unknown ones in files of some exporters
    size = dim.dim_value if dim.HasField("dim_value") and dim.dim_value > 0 else None
    return _Axis(dim.dim_param, f"{name}.{index}", size)


def _open(name: str, axes: list[_Axis], sizes: list[int | None]) -> tuple[str, list[str]]:
    words = [
        str(size) if size is not None else axis.name or axis.place
        for axis, size in zip(axes, sizes, strict=True)
    ]
    missing = [word for word, size in zip(words, sizes, strict=True) if size is None]
    return f"{name} ({', '.join(words)})", missing


def _say(unknown: list[tuple[str, list[str]]], asked: list["ValueInfoProto"], file: str) -> str:
    names = list(dict.fromkeys(name for _, missing in unknown for name in missing))
    study = ", ".join(f"{name}: 1" for name in names)
    line = " ".join(f"--set {name}=1" for name in names)
    inputs = ", ".join(text for text, _ in unknown)
    count = f"{len(unknown)} of {len(asked)} inputs" if len(asked) > 1 else "the input"
    return (
        f"dimensions {', '.join(names)} of {count} have no size: {inputs}; say how large they "
        f"are, in a study file {{file: {file}, dimensions: {{{study}}}}}, "
        f"on the command line archloom networks {file} {line}"
    )


def _wrong_dimensions(dimensions: Mapping[str, int], names: set[str]) -> Iterator[str]:
    for key, size in dimensions.items():
        if key not in names:
            yield (
                f"dimension {key!r} is not a dimension of its inputs; "
                f"{did_you_mean(key, sorted(names))}"
            )
        elif not _is_size(size):
            yield f"dimension {key} is {size!r}, must be a whole number from 1 to 2**31 - 1"


def _is_size(size: object) -> bool:
    return type(size) is int and 1 <= size < 2**31
