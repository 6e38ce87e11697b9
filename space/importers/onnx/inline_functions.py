"""Inlining of functions and branches of ONNX models where they are called."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from .value import OnnxError

if TYPE_CHECKING:
    from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto

Names = Callable[[str], str]
#: Domain, name and overload of a function.
Key = tuple[str, str, str]

#: Calls of functions in functions (assumption: exporters nest modules less deeply).
MOST_NESTED: Final = 32


def called(node: "NodeProto") -> Key:
    """Return what a node would call if it is the call of a function."""
    return (node.domain, node.op_type, node.overload)


def body_size(
    key: Key, functions: "Mapping[Key, FunctionProto]", known: dict[Key, int], depth: int = 0
) -> int:
    """Return how many nodes a function is once those that it calls stand in their places.

    Args:
        key: of the function.
        functions: of the model.
        known: sizes that were found before; takes up new ones.
        depth: calls that this one stands in.

    Raises:
        OnnxError: calls nested too deeply, or without end.
    """
    if depth > MOST_NESTED:
        raise OnnxError(f"function calls are nested more than {MOST_NESTED} levels deep")
    if key not in known:
        inner = [called(node) for node in functions[key].node]
        calls = (body_size(k, functions, known, depth + 1) for k in inner if k in functions)
        known[key] = len(inner) + sum(calls)
    return known[key]


def function_body(
    node: "NodeProto", function: "FunctionProto", prefix: str
) -> "Iterator[NodeProto]":
    """Return the nodes of a function as they run for one call.

    Args:
        node: the call.
        function: what it calls.
        prefix: makes names that stand in the function alone unique.

    Raises:
        OnnxError: the call has more inputs or outputs than the function, or lacks an attribute.
    """
    if len(node.input) > len(function.input) or len(node.output) > len(function.output):
        raise OnnxError(f"function {node.op_type} has fewer inputs or outputs than its call")
    # what the call leaves out is left out inside
    names = dict.fromkeys(function.input, "")
    names |= dict(zip(function.input, node.input, strict=False))
    names |= {o: n for o, n in zip(function.output, node.output, strict=False) if n}
    given = {entry.name: entry for entry in function.attribute_proto}
    given |= {entry.name: entry for entry in node.attribute}
    optional = set(function.attribute) - set(given)
    for inner in function.node:
        yield renamed(inner, lambda n: names[n] if n in names else prefix + n, given, optional)


def branch_body(graph: "GraphProto", prefix: str) -> tuple["list[NodeProto]", Names]:
    """Return the nodes of a branch, and what its own names become.

    Names that it takes from around it stay.
    """
    own = {tensor.name for tensor in graph.initializer}
    own |= {name for node in graph.node for name in node.output}

    def name_of(name: str) -> str:
        return prefix + name if name in own else name

    return [renamed(node, name_of, {}, set()) for node in graph.node], name_of


def renamed(
    node: "NodeProto", name_of: Names, given: "Mapping[str, AttributeProto]", optional: set[str]
) -> "NodeProto":
    """Return a node with other names of values, and with the attributes that a call gives.

    Raises:
        OnnxError: it wants an attribute that the function does not have.
    """
    from onnx import NodeProto

    copy = NodeProto()
    copy.CopyFrom(node)
    _rename(copy, name_of, given, optional)
    return copy


def _rename(
    node: "NodeProto", name_of: Names, given: "Mapping[str, AttributeProto]", optional: set[str]
) -> None:
    node.input[:] = [name_of(n) if n else n for n in node.input]
    node.output[:] = [name_of(n) if n else n for n in node.output]
    kept = []
    for entry in node.attribute:
        if entry.ref_attr_name:
            if entry.ref_attr_name not in given:
                if entry.ref_attr_name in optional:
                    continue
                raise OnnxError(f"attribute {entry.ref_attr_name} of its function is missing")
            name = entry.name
            entry.CopyFrom(given[entry.ref_attr_name])
            entry.name = name
        for graph in (entry.g, *entry.graphs) if entry.type in (5, 10) else ():
            _rename_graph(graph, name_of, given, optional)
        kept.append(entry)
    if len(kept) < len(node.attribute):
        copies = [type(entry).FromString(entry.SerializeToString()) for entry in kept]
        del node.attribute[:]
        node.attribute.extend(copies)


def _rename_graph(
    graph: "GraphProto", name_of: Names, given: "Mapping[str, AttributeProto]", optional: set[str]
) -> None:
    for tensor in graph.initializer:
        tensor.name = name_of(tensor.name)
    for entry in (*graph.input, *graph.output):
        entry.name = name_of(entry.name)
    for node in graph.node:
        _rename(node, name_of, given, optional)


def _names_read(node: "NodeProto") -> Iterator[str]:
    """Return the names that a node reads, those inside its branches with them."""
    yield from node.input
    for entry in node.attribute:
        for graph in (entry.g, *entry.graphs) if entry.type in (5, 10) else ():
            for inner in graph.node:
                yield from _names_read(inner)
            yield from (output.name for output in graph.output)


def needed(graph: "GraphProto") -> "list[NodeProto]":
    """Return the nodes that the outputs of a graph depend on, in the order of the file."""
    makers: dict[str, list[int]] = {}
    for i, node in enumerate(graph.node):
        for name in node.output:
            makers.setdefault(name, []).append(i)
    wanted = [output.name for output in graph.output]
    kept: set[int] = set()
    while wanted:
        for i in makers.pop(wanted.pop(), ()):
            if i not in kept:
                kept.add(i)
                wanted.extend(filter(None, _names_read(graph.node[i])))
    return [graph.node[i] for i in sorted(kept)]
