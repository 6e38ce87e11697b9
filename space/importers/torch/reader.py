"""Networks from exported PyTorch programs.

::

    program = torch.export.export(model.eval(), (torch.randn(1, 3, 224, 224),))
    network = network_of(program, "mine")

Parameters are learned, buffers (running statistics, masks, tables of angles) are constants.
"""

import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from archloom.space.workload import Network

from ..errors import ImportProblem
from ..graph import Graph, Op, Tensor
from .call import Call, Known, Result, TakeApart, Unsupported
from .constants import Constants
from .data_movement import SHAPE_RULES
from .operators import OPERATORS

if TYPE_CHECKING:
    from torch.export import ExportedProgram
    from torch.fx import Node


def network_of(program: "ExportedProgram", name: str = "network") -> Network:
    """Return the network that an exported program computes.

    Operators that are no layers of ours are taken apart by PyTorch's own decompositions first.

    Args:
        program: of a model in evaluation mode, exported with fixed sizes.
        name: of the network.

    Raises:
        ImportProblem: no exported program, dynamic sizes, or operators that cannot be taken; names
            all of them.
    """
    from archloom.space.importers.lowering import lower
    from archloom.space.importers.patterns import simplify

    return lower(simplify(graph_of(program, name)))


def graph_of(program: "ExportedProgram", name: str) -> Graph:
    """Return what the program computes as front ends hand it over.

    Raises:
        ImportProblem: as :func:`network_of`.
    """
    if not hasattr(program, "graph_signature"):
        hint = "take torch.export.export(model.eval(), (example,))"
        raise ImportProblem(
            name, [f"a {type(program).__name__} is not an exported program; {hint}"]
        )
    reading = _Reading(program, name)
    if reading.unknown:
        reading = _Reading(_decomposed(program, reading.unknown), name)
    problems = [*reading.problems, *reading.unknown.values()]
    if problems:
        raise ImportProblem(name, problems)
    return reading.graph()


def _decomposed(program: "ExportedProgram", unknown: Collection[str]) -> "ExportedProgram":
    """Take apart what is not known, and leave what is known as it is."""
    from torch.export import default_decompositions

    table = default_decompositions()
    for operator in list(table):
        if _packet(operator) in OPERATORS and _packet(operator) not in unknown:
            del table[operator]
    with warnings.catch_warnings():
        # PyTorch 2.13 warns of its own use of its own pytrees
        warnings.filterwarnings("ignore", category=FutureWarning, message=".*treespec")
        taken_apart: ExportedProgram = program.run_decompositions(table)
    return taken_apart


class _Reading:
    """One walk over a program's graph.

    Attributes:
        problems: what is wrong with sizes and modes.
        unknown: what is wrong with operators that there is no rule for, by operator.
    """

    def __init__(self, program: "ExportedProgram", name: str) -> None:
        self.name = name
        self.problems: list[str] = []
        self.unknown: dict[str, str] = {}
        self._tensors: dict[str, Tensor] = {}
        self._ops: list[Op] = []
        self._results: dict[str, Result] = {}
        self._inputs: list[str] = []
        self._outputs: list[str] = []
        self._names: set[str] = set()
        self._constants = Constants(program)
        self._makers: dict[str, tuple[Node, int | None]] = {}
        self._known = Known(self._tensors, self._read_constant)
        signature = program.graph_signature
        self._learned = dict(signature.inputs_to_parameters)
        self._fixed = {**signature.inputs_to_buffers, **signature.inputs_to_lifted_tensor_constants}
        self._work = Counter(map(_module, filter(_computes, program.graph.nodes)))
        for node in program.graph.nodes:
            self._read(node)

    def graph(self) -> Graph:
        """What was read."""
        learned = {
            name: _count(self._tensors[holder].shape) for holder, name in self._learned.items()
        }
        return Graph(
            self.name,
            self._tensors,
            tuple(self._ops),
            tuple(self._inputs),
            tuple(self._outputs),
            learned,
        )

    def _read(self, node: "Node") -> None:
        if node.op == "placeholder":
            self._placeholder(node)
        elif node.op == "output":
            named = [getattr(n, "name", "") for n in _nodes(node.args)]
            # a parameter or buffer that is handed out is no result
            results = [self._results.get(n) for n in named]
            self._outputs = [t.name for t in results if isinstance(t, Tensor) and not t.constant]
        elif node.op == "call_function":
            self._call(node)

    def _placeholder(self, node: "Node") -> None:
        shape = self._shape(node, node.meta.get("val"))
        if shape is None:
            return
        learned = frozenset(filter(None, [self._learned.get(node.name)]))
        constant = bool(learned) or node.name in self._fixed
        if not constant:
            self._inputs.append(node.name)
        self._bind(node, Tensor(node.name, shape, constant, learned))

    def _bind(self, node: "Node", result: Result) -> None:
        self._results[node.name] = result
        several = isinstance(result, tuple)
        for i, tensor in enumerate(result if isinstance(result, tuple) else (result,)):
            self._tensors.setdefault(tensor.name, tensor)
            self._makers.setdefault(tensor.name, (node, i if several else None))

    def _read_constant(self, tensor: Tensor) -> NDArray[Any] | None:
        """Return the values of a constant that nothing learned; None if they are not known."""
        made = self._makers.get(tensor.name)
        if made is None or not tensor.constant or tensor.learned:
            return None
        found = self._constants.read(*made)
        return found if found is not None and found.shape == tensor.shape else None

    def _shape(self, node: "Node", value: object) -> tuple[int, ...] | None:
        sides = getattr(value, "shape", None)
        if sides is None:
            return None
        open_sides = [f"{i} ({side})" for i, side in enumerate(sides) if type(side) is not int]
        if open_sides:
            # what is open although all that it is made of is fixed follows from values
            inner = node.op == "call_function"
            why = "it depends on the data" if inner else "export without dynamic_shapes"
            self.problems.append(
                f"{node.name}: dimension {', '.join(open_sides)} has no fixed size; {why}"
            )
            return None
        return tuple(sides)

    def _call(self, node: "Node") -> None:
        packet = _packet(node.target)
        if packet == "_operator.getitem":
            self._item(node)
            return
        if any(n.name not in self._results for n in node.all_input_nodes):
            return  # it depends on what is reported already, or holds no tensor
        values = node.meta.get("val")
        several = isinstance(values, tuple | list)
        each = list(values) if isinstance(values, tuple | list) else [values]
        shapes = [self._shape(node, value) for value in each]
        known = [shape if shape is not None else () for shape in shapes]
        if values is None and not node.users:
            return  # an assertion
        call = Call(self._named(node), packet, _arguments(node, self._results), known, self._known)
        self._take(node, call, several)

    def _take(self, node: "Node", call: Call, several: bool) -> None:
        if call.constant:
            results = [call.folded(i) for i in range(len(call.shapes))]
            self._bind(node, tuple(results) if several else results[0])
            return
        rule = OPERATORS.get(call.target)
        try:
            if rule is None:
                raise TakeApart
            self._bind(node, rule(call))
        except TakeApart:
            at = self.unknown.get(call.target, f"{call.target} is not supported, at")
            self.unknown[call.target] = f"{at}{',' if at[-1] != 't' else ''} {call.name}"
            # so that what follows is looked at, too
            made = tuple(Tensor(f"{call.name}:{i}", s) for i, s in enumerate(call.shapes))
            self._bind(node, made if several else made[0])
            return
        except Unsupported as why:
            self.problems.append(f"{call.name}: {call.target}: {why}")
            return
        self._ops += call.ops

    def _item(self, node: "Node") -> None:
        source, index = node.args
        found = self._results.get(getattr(source, "name", ""))
        if isinstance(found, tuple) and isinstance(index, int):
            self._results[node.name] = found[index]

    def _named(self, node: "Node") -> str:
        """Path of the module, and the node beside it where the module does several things."""
        path = _module(node)
        alone = path and self._work[path] == 1 and _computes(node)
        name = path if alone else ".".join(filter(None, [path, node.name]))
        unique, more = name, 1
        while unique in self._names:
            more += 1
            unique = f"{name}_{more}"
        self._names.add(unique)
        return unique


def _module(node: "Node") -> str:
    """Path of the innermost module that the node is from."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    return str(stack[-1][0]) if stack else ""


def _computes(node: "Node") -> bool:
    return node.op == "call_function" and _packet(node.target) not in SHAPE_RULES


def _count(shape: Sequence[int]) -> int:
    total = 1
    for side in shape:
        total *= side
    return total


def _packet(target: object) -> str:
    """Name of an operator without its overload, and without the mark of one in place."""
    overload = getattr(target, "overloadpacket", None)
    if overload is None:
        module = getattr(target, "__module__", "")
        return f"{module}.{getattr(target, '__name__', target)}"
    return str(overload).removesuffix("_")


def _nodes(value: object) -> Iterator[object]:
    if isinstance(value, list | tuple):
        for each in value:
            yield from _nodes(each)
    elif isinstance(value, dict):
        yield from _nodes(list(value.values()))
    elif hasattr(value, "all_input_nodes"):
        yield value


def _arguments(node: "Node", results: Mapping[str, Result]) -> dict[str, Any]:
    """Arguments by name, defaults included; nodes are replaced by what they stand for."""
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return {str(i): _resolved(a, results) for i, a in enumerate(node.args)}
    found = {a.name: a.default_value for a in schema.arguments if a.has_default_value()}
    for argument, value in zip(schema.arguments, node.args, strict=False):
        found[argument.name] = value
    return {name: _resolved(value, results) for name, value in {**found, **node.kwargs}.items()}


def _resolved(value: object, results: Mapping[str, Result]) -> object:
    if isinstance(value, list | tuple):
        return [_resolved(v, results) for v in value]
    is_node = hasattr(value, "all_input_nodes")
    return results.get(getattr(value, "name", ""), value) if is_node else value
