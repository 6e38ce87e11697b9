"""Nodes of an ONNX graph by themselves: schema, attributes, shapes of their results."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from ...errors import did_you_mean
from .value import MOST_DIMENSIONS, OnnxError, Value, check_shape

if TYPE_CHECKING:
    from onnx import AttributeProto, NodeProto, TensorProto, TypeProto
    from onnx.defs import OpSchema

#: What an attribute may be; tensors and graphs stay as they are in the file.
Attribute = object

#: Attributes whose numbers must be at least 1; several operators divide by them.
_POSITIVE: Final = frozenset(
    {"strides", "dilations", "kernel_shape", "group", "blocksize", "num_groups", "hidden_size"}
    | {"q_num_heads", "kv_num_heads", "num_heads", "num_outputs"}
)
#: Attributes whose numbers must be at least 0; shape inference of onnx 1.23 reads beside a list
#: and ends the process for others.
COUNTS: Final = frozenset({"batch_dims"})
#: Attributes that may hold any number (the end of a slice, a constant).
_ANY_NUMBER: Final = frozenset({"starts", "ends", "value_int", "value_ints"})
#: Products of two operands whose indices are letters.
_EQUATION: Final = re.compile(r" *[A-Za-z ]+,[A-Za-z ]+(->[A-Za-z ]*)?")
#: Elements of the largest constant that shape inference is told (assumption: shapes, indices and
#: scales have fewer).
_MOST_TOLD: Final = 1024
#: Which input of operators says the shape of the result; shape inference makes room for as many
#: dimensions as it says, even if it does not know them.
SHAPES: Final = {"ConstantOfShape": 0, "Reshape": 1, "Expand": 1, "Tile": 1}
#: Operators whose results have the shape of their first input, though ONNX does not infer it or
#: does not know them (runtimes write the last two into ONNX's domain).
SAME_SHAPE: Final = frozenset(
    {"GroupNormalization", "MeanVarianceNormalization", "SimplifiedLayerNormalization"}
)
#: Operators that leave out windows behind the feature map.
_POOLS: Final = frozenset({"AveragePool", "MaxPool"})


@dataclass(frozen=True, slots=True)
class Result:
    """What is known of a result: element type (0: unknown), and shape if it follows."""

    dtype: int
    shape: tuple[int, ...] | None


@lru_cache(maxsize=1024)
def schema(operator: str, version: int) -> "OpSchema | None":
    """Return the schema of one of ONNX's own operators in an opset, None if it has none."""
    from onnx import defs

    try:
        found = defs.get_schema(operator, version, "")
    except defs.SchemaError:
        return None
    return None if found.deprecated else found


def attributes(node: "NodeProto", known: "OpSchema | None") -> dict[str, Attribute]:
    """Return the attributes of a node by name, with the defaults of its schema.

    Raises:
        OnnxError: an attribute that repeats, that the operator does not have, of another type or
            out of range; one that is missing; too few or too many inputs or outputs.
    """
    found: dict[str, Attribute] = {}
    for entry in node.attribute:
        if entry.name in found:
            raise OnnxError(f"attribute {entry.name} is given twice")
        if known is not None:
            _check_type(entry, known)
        found[entry.name] = _value(entry)
        _check_range(entry.name, found[entry.name])
    if known is None:
        return found
    for what, have, least, most in (
        ("inputs", len(node.input), known.min_input, known.max_input),
        ("outputs", len(node.output), known.min_output, known.max_output),
    ):
        if not least <= have <= most:
            raise OnnxError(f"it has {have} {what}, {node.op_type} has {least} to {most}")
    for name, entry in known.attributes.items():
        if entry.required and name not in found:
            raise OnnxError(f"attribute {name} is missing")
        if name not in found and entry.default_value.type:
            found[name] = _value(entry.default_value)
    # shape inference of onnx 1.23 ends the process where they differ
    if found.get("num_outputs", len(node.output)) != len(node.output):
        raise OnnxError(f"num_outputs is {found['num_outputs']}, it has {len(node.output)} outputs")
    return found


def _check_type(entry: "AttributeProto", known: "OpSchema") -> None:
    from onnx import AttributeProto

    wanted = known.attributes.get(entry.name)
    if wanted is None:
        raise OnnxError(
            f"attribute {entry.name!r} is not known; {did_you_mean(entry.name, known.attributes)}"
            if known.attributes
            else f"attribute {entry.name!r} is not known; the operator has none"
        )
    name = str(wanted.type).removeprefix("AttrType.")
    if AttributeProto.AttributeType.Name(entry.type) != name:
        raise OnnxError(f"attribute {entry.name} must be of type {name}")


def _value(entry: "AttributeProto") -> Attribute:
    # numbers of the types: onnx.proto, AttributeProto.AttributeType
    match entry.type:
        case 1:
            return entry.f
        case 2:
            return entry.i
        case 3:
            return entry.s.decode("utf-8", "replace")
        case 4:
            return entry.t
        case 5:
            return entry.g
        case 6:
            return tuple(entry.floats)
        case 7:
            return tuple(entry.ints)
        case 8:
            return tuple(s.decode("utf-8", "replace") for s in entry.strings)
    raise OnnxError(f"attribute {entry.name}: type {entry.type} is not supported")


def _check_range(name: str, value: Attribute) -> None:
    if name == "equation" and not _EQUATION.fullmatch(str(value)):
        raise OnnxError(
            f"equation {value!r} is not supported; supported are equations such as 'bij,bjk->bik'"
        )
    numbers = value if isinstance(value, tuple) else (value,)
    for number in numbers:
        if not isinstance(number, int) or name in _ANY_NUMBER:
            continue
        least = 1 if name in _POSITIVE else 0 if name in COUNTS else 1 - 2**31
        if not least <= number < 2**31:
            raise OnnxError(f"attribute {name} is {number}, must be from {least} to 2**31 - 1")


def results(
    node: "NodeProto", known: "OpSchema | None", inputs: Sequence[Value | None], version: int
) -> dict[str, Result]:
    """Return what follows of the results of a node, by their names.

    Args:
        node: with the names of the file; inputs of the same name are the same value.
        known: its schema; only ``SAME_SHAPE`` operators may have none.
        inputs: of the node; None where an optional one is left out.
        version: of ONNX's own operators.

    Raises:
        OnnxError: inputs that do not go together, or a shape that no tensor can have.
    """
    _check_rank(node.op_type, inputs)
    first = next((value for value in inputs if value is not None), None)
    if node.op_type in SAME_SHAPE and first is not None:
        return {node.output[0]: Result(first.dtype, first.shape)}
    if known is None:
        return {}
    found = {name: _result(name, of) for name, of in _infer(node, known, inputs, version).items()}
    if node.op_type in _POOLS and first is not None:
        return {name: _on_the_map(node, of, first.shape) for name, of in found.items()}
    return found


def _on_the_map(node: "NodeProto", found: Result, shape: Sequence[int]) -> Result:
    """Return a pool's result without windows that would start behind its input of ``shape``.

    With ``ceil_mode`` they are left out (onnx's MaxPool), as in PyTorch; inference counts them.
    """
    named = {entry.name: list(entry.ints) or entry.i for entry in node.attribute}
    if named.get("ceil_mode") != 1 or found.shape is None:
        return found
    axes = len(shape) - 2
    strides, pads = (named.get(name) or [n] * axes for name, n in (("strides", 1), ("pads", 0)))
    if not (isinstance(strides, list) and isinstance(pads, list)):
        return found
    sides = zip(found.shape[2:], strides, pads, shape[2:], strict=False)
    kept = (n - (n > 1 and (n - 1) * s >= start + size) for n, s, start, size in sides)
    return Result(found.dtype, (*found.shape[:2], *kept))


def _check_rank(operator: str, inputs: Sequence[Value | None]) -> None:
    place = SHAPES.get(operator, len(inputs))
    shape = inputs[place] if place < len(inputs) else None
    if shape is not None and shape.size > MOST_DIMENSIONS:
        raise OnnxError(
            f"a shape of {shape.size} dimensions, at most {MOST_DIMENSIONS} are supported"
        )


def _infer(
    node: "NodeProto", known: "OpSchema", inputs: Sequence[Value | None], version: int
) -> "Mapping[str, TypeProto]":
    from onnx import helper, shape_inference
    from onnx.checker import ValidationError

    named = {n: v for n, v in zip(node.input, inputs, strict=True) if v is not None}
    types = {n: helper.make_tensor_type_proto(v.dtype, v.shape) for n, v in named.items()}
    told = {n: t for n, v in named.items() if (t := _told(n, v)) is not None}
    opsets = [helper.make_opsetid("", version)]
    try:
        return shape_inference.infer_node_outputs(known, node, types, told, opset_imports=opsets)
    except (
        *(shape_inference.InferenceError, ValidationError),
        *(RuntimeError, ValueError, IndexError, MemoryError),
    ) as error:
        said = str(error).strip().removeprefix("[ShapeInferenceError] ")
        raise OnnxError(f"its inputs and attributes do not fit together: {said[:300]}") from None


def _told(name: str, value: Value) -> "TensorProto | None":
    from onnx import numpy_helper

    if not value.constant or value.size > _MOST_TOLD:
        return None
    array = value.read()
    if array is None or array.dtype.kind not in "biuf":
        return None
    return numpy_helper.from_array(array, name)


def _result(name: str, of: "TypeProto") -> Result:
    if not of.HasField("tensor_type"):
        return Result(0, None)
    tensor = of.tensor_type
    dims = list(tensor.shape.dim)
    if not tensor.HasField("shape") or not all(d.HasField("dim_value") for d in dims):
        return Result(tensor.elem_type, None)
    shape = tuple(d.dim_value for d in dims)
    try:
        check_shape(shape)
    except OnnxError as fault:
        raise OnnxError(f"result {name}: {fault}") from None
    return Result(tensor.elem_type, shape)
