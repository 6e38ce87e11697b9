"""Translation of the nodes of an ONNX model: constants are folded, other nodes become operators."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .arithmetic import ARITHMETIC, Translator
from .attention_and_recurrent import SEQUENCES
from .call import Call, GraphBuilder
from .constant_folding import FOLDS, Folder, shape_of
from .data_movement import MOVES
from .einsum import einsum
from .file import MOST_NODES, ONNX_DOMAINS
from .inline_functions import MOST_NESTED, Key, body_size, branch_body, called, function_body
from .layers import LAYERS
from .node import SAME_SHAPE, Attribute, attributes, results, schema
from .sequence_type import LISTS, Items
from .value import FLOATS, INT64, OnnxError, Value, from_array, from_tensor

if TYPE_CHECKING:
    from onnx import FunctionProto, NodeProto
    from onnx.defs import OpSchema

OPERATORS: Final[Mapping[str, Translator]] = {
    **ARITHMETIC,
    **MOVES,
    **LAYERS,
    **SEQUENCES,
    "Einsum": einsum,
}
"""How each operator is translated that works on what the network computes."""

#: Nodes that a message names for each operator.
_NAMED: Final = 8


class _TooManyNodesError(OnnxError):
    """More nodes than are read, once functions stand where they are called."""


@dataclass(frozen=True, slots=True)
class _Step:
    node: "NodeProto"
    versions: Mapping[str, int]
    depth: int = 0


def _label(node: "NodeProto") -> str:
    return node.name or next(filter(None, node.output), "") or node.op_type


class GraphTranslation:
    """Goes through nodes in their order.

    Attributes:
        maker: takes up what is translated.
        values: by the names of the file.
        problems: what is wrong with nodes.
        unsupported: nodes that are not read, by operator.
    """

    def __init__(
        self,
        values: Mapping[str, Value],
        functions: "Mapping[Key, FunctionProto]",
        folder: Path,
    ) -> None:
        self.maker = GraphBuilder()
        self.values: dict[str, Value] = {}
        self.problems: list[str] = []
        self.unsupported: dict[str, list[str]] = {}
        self._functions = functions
        self._folder = folder
        self._folder_of_constants = Folder()
        self._items: dict[str, Items] = {}
        # results that are not there, and why; empty if that is told already
        self._lost: dict[str, str] = {}
        self._nodes = 0
        self._sizes: dict[Key, int] = {}
        self._prefixes = 0
        for name, value in values.items():
            self._bind(name, value)

    def run(self, nodes: "Sequence[NodeProto]", versions: Mapping[str, int]) -> None:
        """Walk over nodes; their functions and branches are walked where they are called.

        Raises:
            _TooManyNodesError: there are more than ``MOST_NODES`` with them.
        """
        later = {name for node in nodes for name in node.output}
        stack = [_Step(node, versions) for node in reversed(nodes)]
        while stack:
            step = stack.pop()
            try:
                stack.extend(reversed(self._step(step, later)))
            except _TooManyNodesError:
                raise
            except OnnxError as fault:
                self.problems.append(f"node {_label(step.node)} ({step.node.op_type}): {fault}")
                self._lose(step.node)

    def reports(self) -> list[str]:
        """Return everything that is wrong, with unsupported operators in one text."""
        if not self.unsupported:
            return self.problems
        listed = []
        for operator, nodes in self.unsupported.items():
            more = f" and {len(nodes) - _NAMED} more" if len(nodes) > _NAMED else ""
            plural = "s" if len(nodes) > 1 else ""
            listed.append(f"{operator} (node{plural} {', '.join(nodes[:_NAMED])}{more})")
        return [f"operators that are not supported: {'; '.join(listed)}", *self.problems]

    def lost(self, name: str) -> str | None:
        """Return why a result is not there, None if no node computes it."""
        return self._lost.get(name)

    def _step(self, step: _Step, later: set[str]) -> list[_Step]:
        node = step.node
        self._nodes += 1
        if self._nodes > MOST_NODES:
            raise _TooManyNodesError(
                f"more than {MOST_NODES} nodes, those of its functions included"
            )
        self._check_results(node)
        function = self._functions.get(called(node))
        if function is not None:
            return self._called(step, function)
        own = node.domain in ONNX_DOMAINS
        version = step.versions.get("", 0)
        known = schema(node.op_type, version) if own else None
        operator = node.op_type if own else f"{node.domain}.{node.op_type}"
        readable = own and (known is not None or node.op_type in SAME_SHAPE)
        whole = self._check_inputs(node, later)
        if not readable or not _is_read(node.op_type):
            self._refuse(operator, node)
            return self._lose(node)
        if not whole:
            return self._lose(node)
        given = attributes(node, known)
        if node.op_type == "If":
            return self._chosen(step, given)
        if any(entry.type in (5, 10) for entry in node.attribute):
            self._refuse(operator, node)
            return self._lose(node)
        self._translate(node, version, known, given)
        return []

    def _check_results(self, node: "NodeProto") -> None:
        for name in filter(None, node.output):
            if name in self.values or name in self._items or name in self._lost:
                raise OnnxError(
                    f"{name!r} is also the result of another node, an input or a constant"
                )

    def _check_inputs(self, node: "NodeProto", later: set[str]) -> bool:
        """Return whether all inputs are there; says so if it is not said yet."""
        whole = True
        for name in filter(None, node.input):
            if name in self.values or (name in self._items and node.op_type in LISTS):
                continue
            if name in self._items:
                raise OnnxError(f"it reads {name!r}, which is a sequence of tensors")
            whole = False
            if name not in self._lost:
                why = "a later node computes it; nodes must be in topological order"
                raise OnnxError(
                    f"it reads {name!r}; {why if name in later else 'no node computes it'}"
                )
            if self._lost[name]:
                raise OnnxError(self._lost[name])
        return whole

    def _refuse(self, operator: str, node: "NodeProto") -> None:
        self.unsupported.setdefault(operator, []).append(_label(node))

    def _lose(self, node: "NodeProto") -> list[_Step]:
        for name in filter(None, node.output):
            self._lost.setdefault(name, "")
        return []

    def _bind(self, name: str, value: Value) -> None:
        self.values[name] = value
        if value.learned == {value.name}:
            self.maker.sizes[value.name] = value.size

    def _translate(
        self,
        node: "NodeProto",
        version: int,
        known: "OpSchema | None",
        given: Mapping[str, Attribute],
    ) -> None:
        inputs = tuple(self.values.get(name) if name else None for name in node.input)
        if node.op_type == "Constant":
            self._bind(node.output[0], _constant(node.output[0], given, self._folder))
            return
        listed = node.op_type in LISTS
        found = {} if listed else results(node, known, inputs, version)
        outputs = tuple(node.output)
        call = Call(_label(node), node.op_type, version, inputs, outputs, found, given, self.maker)
        if listed:
            self._unpack(call, self._items.get(node.input[0], ()))
            return
        constant = all(value is None or value.constant for value in inputs)
        if node.op_type in ("Shape", "Size"):
            self._bind(outputs[0], shape_of(call))
        elif constant:
            for value in self._folder_of_constants.fold(call):
                self._bind(value.name, value)
        elif node.op_type in OPERATORS:
            made = OPERATORS[node.op_type](call)
            self._bind_all(call, (made,) if isinstance(made, Value) else made)
        else:
            self._refuse(node.op_type, node)
            self._lose(node)

    def _unpack(self, call: Call, items: Items) -> None:
        made = LISTS[call.operator](call, items)
        if isinstance(made, Value):
            self._bind(call.outputs[0], made)
        else:
            self._items[call.outputs[0]] = made

    def _bind_all(self, call: Call, made: Iterable[Value | None]) -> None:
        values = dict(zip(call.outputs, made, strict=False))
        for i, name in enumerate(call.outputs):
            value, result = values.get(name), call.results.get(name)
            if not name:
                continue
            if value is None:
                self._lost[name] = (
                    f"result {i + 1} of {call.name} ({call.operator}) is not supported"
                )
                continue
            if result is not None and result.shape not in (None, value.shape):
                raise OnnxError(
                    f"its result is declared with shape {result.shape}, but its inputs "
                    f"give {value.shape}"
                )
            dtype = result.dtype if result is not None and result.dtype else value.dtype
            self._bind(name, replace(value, dtype=dtype))

    def _called(self, step: _Step, function: "FunctionProto") -> list[_Step]:
        if step.depth >= MOST_NESTED:
            raise OnnxError(f"function calls are nested more than {MOST_NESTED} deep")
        versions = {
            "" if entry.domain in ONNX_DOMAINS else entry.domain: entry.version
            for entry in function.opset_import
        }
        if not step.depth:
            self._count(body_size(called(step.node), self._functions, self._sizes))
        body = function_body(step.node, function, self._prefix(step.node))
        return [_Step(n, {**step.versions, **versions}, step.depth + 1) for n in body]

    def _chosen(self, step: _Step, given: Mapping[str, Attribute]) -> list[_Step]:
        """Return the branch that a constant condition takes."""
        from onnx import GraphProto, NodeProto

        node = step.node
        condition = self.values[node.input[0]].scalar if node.input and node.input[0] else None
        if condition is None:
            self._refuse("If with a computed condition", node)
            return self._lose(node)
        graph = given["then_branch" if condition else "else_branch"]
        if not isinstance(graph, GraphProto) or len(graph.output) != len(node.output):
            raise OnnxError("its branch has another number of results")
        self._count(len(graph.node))
        prefix = self._prefix(node)
        body, name_of = branch_body(graph, prefix)
        for tensor in graph.initializer:
            name = prefix + tensor.name
            self._bind(name, from_tensor(tensor, name, self._folder))
        ends = [
            NodeProto(op_type="Identity", name=node.name, input=[name_of(o.name)], output=[n])
            for o, n in zip(graph.output, node.output, strict=True)
            if n
        ]
        return [_Step(n, step.versions, step.depth) for n in (*body, *ends)]

    def _count(self, nodes: int) -> None:
        if self._nodes + nodes > MOST_NODES:
            raise _TooManyNodesError(
                f"more than {MOST_NODES} nodes, those of its functions included"
            )

    def _prefix(self, node: "NodeProto") -> str:
        self._prefixes += 1
        return f"{_label(node)[:40]}#{self._prefixes}/"


def _is_read(operator: str) -> bool:
    others = ("If", "Constant", "Shape", "Size")
    return operator in others or any(operator in table for table in (OPERATORS, FOLDS, LISTS))


def _constant(name: str, given: Mapping[str, Attribute], folder: Path) -> Value:
    """Return what a ``Constant`` node holds.

    Raises:
        OnnxError: a text, a sparse tensor, or nothing.
    """
    import numpy as np
    from onnx import TensorProto

    kinds = [kind for kind in given if kind.startswith("value")]
    found = given[kinds[0]] if len(kinds) == 1 else None
    if isinstance(found, TensorProto):
        return from_tensor(found, name, folder)
    if kinds in (["value_float"], ["value_floats"]):
        array = np.array(found, np.float32)
        learned = frozenset({name}) if array.size > 1 else frozenset()
        return from_array(name, array, min(FLOATS), learned)
    if kinds in (["value_int"], ["value_ints"]):
        return from_array(name, np.array(found, np.int64), INT64, frozenset())
    raise OnnxError("it must hold one dense tensor of numbers")
