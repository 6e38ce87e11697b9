"""Damaged ONNX models: bytes that are changed or lost, and edits of what the bytes mean."""

from collections.abc import Callable
from random import Random
from typing import Any, Final

import numpy as np
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, defs, numpy_helper

#: Numbers at the ends of ranges, and some that fit here and there.
NUMBERS: Final = (
    *(0, 1, -1, 2, 3, 4, 7, 8, 16, 255, 10**5, 10**6, 2**31 - 1, 2**31, -(2**31)),
    *(2**62, 2**63 - 1, -(2**63)),
)
VERSIONS: Final = (-1, 0, 1, 6, *range(7, 27), 99, 2**62)
TEXTS: Final = (b"", b"VALID", b"SAME_LOWER", b"linear", b"cubic", b"reverse", b"CRD", b"\xff\xfe")
SCHEMAS: Final = {s.name: s for s in sorted(defs.get_all_schemas(), key=str) if not s.domain}
OPERATORS: Final = sorted(SCHEMAS)

TYPES: Final = sorted(AttributeProto.AttributeType.values())

Edit = Callable[[Random, ModelProto, NodeProto], Any]


def mutated(random: Random, seeds: list[bytes]) -> bytes:
    """One of the models, damaged."""
    data = random.choice(seeds)
    chance = random.random()
    if chance < 0.15:
        changed = bytearray(data)
        for _ in range(random.randint(1, 8)):
            changed[random.randrange(len(changed))] = random.randrange(256)
        return bytes(changed)
    at = random.randrange(len(data))
    if chance < 0.2:
        return data[:at]
    if chance < 0.25:
        piece = data[at : at + random.randint(1, 40)]
        return data[:at] + piece * random.choice((0, 2, 5)) + data[at + len(piece) :]
    model = ModelProto.FromString(data)
    for _ in range(random.randint(1, 2)):
        if model.graph.node:
            random.choice(EDITS)(random, model, random.choice(model.graph.node))
    return model.SerializeToString()


def _names(model: ModelProto) -> list[str]:
    nodes = model.graph.node
    return ["", "nil", *(name for node in nodes for name in (*node.input, *node.output))]


def _change_attribute(random: Random, _: ModelProto, node: NodeProto) -> None:
    if not node.attribute:
        return
    entry = random.choice(node.attribute)
    if entry.type == AttributeProto.INTS:
        change = random.randrange(3)
        if change and entry.ints:
            entry.ints[random.randrange(len(entry.ints))] = random.choice(NUMBERS)
        elif entry.ints:
            entry.ints.pop()
        else:
            entry.ints.append(random.choice(NUMBERS))
    elif entry.type == AttributeProto.INT:
        entry.i = random.choice(NUMBERS)
    elif entry.type == AttributeProto.STRING:
        entry.s = random.choice(TEXTS)
    elif entry.type == AttributeProto.TENSOR:
        _change_tensor(random, entry.t)


def _drop_attribute(random: Random, _: ModelProto, node: NodeProto) -> None:
    if node.attribute:
        node.attribute.pop(random.randrange(len(node.attribute)))


def _retype_attribute(random: Random, _: ModelProto, node: NodeProto) -> None:
    if node.attribute:
        random.choice(node.attribute).type = random.choice(TYPES)


def _invent_attribute(random: Random, model: ModelProto, node: NodeProto) -> None:
    known = list(SCHEMAS[node.op_type].attributes.values()) if node.op_type in SCHEMAS else []
    if not known:
        return
    wanted = random.choice(sorted(known, key=lambda each: each.name))
    entry = node.attribute.add()
    entry.name = wanted.name
    entry.type = AttributeProto.AttributeType.Value(str(wanted.type).removeprefix("AttrType."))
    entry.i = random.choice(NUMBERS)
    entry.s = random.choice(TEXTS)
    entry.ints.extend(random.choice(NUMBERS) for _ in range(random.randint(0, 4)))
    entry.t.CopyFrom(numpy_helper.from_array(np.ones(2, np.float32)))
    copy = random.choice(model.graph.node).SerializeToString()
    entry.g.node.add().ParseFromString(copy)


def _rename_operator(random: Random, _: ModelProto, node: NodeProto) -> None:
    node.op_type = random.choice(OPERATORS)


def _change_domain(random: Random, _: ModelProto, node: NodeProto) -> None:
    node.domain = random.choice(("own", "com.microsoft", "ai.onnx"))


def _rewire(random: Random, model: ModelProto, node: NodeProto) -> None:
    if node.input:
        node.input[random.randrange(len(node.input))] = random.choice(_names(model))


def _lose_input(random: Random, _: ModelProto, node: NodeProto) -> None:
    if node.input:
        node.input.pop(random.randrange(len(node.input)))


def _add_input(random: Random, model: ModelProto, node: NodeProto) -> None:
    node.input.append(random.choice(_names(model)))


def _rename_output(random: Random, model: ModelProto, node: NodeProto) -> None:
    node.output[random.randrange(len(node.output))] = random.choice(_names(model))


def _swap(random: Random, model: ModelProto, node: NodeProto) -> None:
    other = random.choice(model.graph.node)
    first, second = node.SerializeToString(), other.SerializeToString()
    node.ParseFromString(second)
    other.ParseFromString(first)


def _drop_node(_: Random, model: ModelProto, node: NodeProto) -> None:
    model.graph.node.remove(node)


def _repeat_node(_: Random, model: ModelProto, node: NodeProto) -> None:
    model.graph.node.append(node)


def _drop_constant(random: Random, model: ModelProto, _: NodeProto) -> None:
    if model.graph.initializer:
        model.graph.initializer.pop(random.randrange(len(model.graph.initializer)))


def _change_constant(random: Random, model: ModelProto, _: NodeProto) -> None:
    if model.graph.initializer:
        _change_tensor(random, random.choice(model.graph.initializer))


def _change_tensor(random: Random, tensor: TensorProto) -> None:
    change = random.randrange(6)
    if change == 0 and tensor.dims:
        tensor.dims[random.randrange(len(tensor.dims))] = random.choice(NUMBERS)
    elif change == 1:
        tensor.dims.append(random.choice(NUMBERS))
    elif change == 2:
        tensor.data_type = random.randrange(30)
    elif change == 3:
        tensor.ClearField("raw_data")
    elif tensor.data_type == TensorProto.INT64 and len(tensor.raw_data) >= 8:
        # another number: a shape, an index, a number of repeats
        values = np.frombuffer(tensor.raw_data[: len(tensor.raw_data) // 8 * 8], np.int64).copy()
        values[random.randrange(len(values))] = random.choice(NUMBERS)
        tensor.raw_data = values.tobytes()


def _change_input(random: Random, model: ModelProto, _: NodeProto) -> None:
    kind = random.choice(model.graph.input).type.tensor_type
    change = random.randrange(4)
    if change == 0:
        kind.elem_type = random.randrange(30)
    elif change == 1:
        kind.shape.dim.add().dim_value = random.choice(NUMBERS)
    elif change == 2 and kind.shape.dim:
        kind.shape.dim.pop()
    elif kind.shape.dim:
        random.choice(kind.shape.dim).dim_value = random.choice(NUMBERS)


def _change_opset(random: Random, model: ModelProto, _: NodeProto) -> None:
    random.choice(model.opset_import).version = random.choice(VERSIONS)


EDITS: Final[tuple[Edit, ...]] = (
    *(_change_attribute, _drop_attribute, _retype_attribute, _invent_attribute),
    *(_rename_operator, _change_domain, _rewire, _lose_input, _add_input, _rename_output),
    *(_swap, _drop_node, _repeat_node, _drop_constant, _change_constant, _change_input),
    *(_change_opset, _change_attribute, _change_constant, _change_input),
)
"""What else is done to models; the most telling edits twice."""
