"""Call of an ONNX operator that is translated, and the graph that is built of all of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Final

from archloom.space.workload import is_input

from ..graph import Op, Tensor
from .node import Attribute, Result
from .value import BOOL, MOST_READ, Array, OnnxError, Value

#: Numbers of the longest list that says how a feature map is cut or turned (assumption: a list has
#: one for each dimension, group or piece).
MOST_NUMBERS: Final = 4096
#: Feature maps that a layer can read (limit of :mod:`archloom.space.workload.layer_validation`).
_MOST_PIECES: Final = 1024
#: Kinds of operators whose results may be pieces of several feature maps.
_VIEWS: Final = frozenset({"concat", "slice", "reshape", "transpose", "expand", "identity"})


class GraphBuilder:
    """Takes up operators and tensors, with names that are unique.

    Attributes:
        ops: in the order in which they were made.
        tensors: by name; those that operators read or make.
        sizes: how many values each learned tensor has.
        steps: of recurrent cells so far.
    """

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self.tensors: dict[str, Tensor] = {}
        self.sizes: dict[str, int] = {}
        self.steps = 0
        self._made: set[str] = set()
        self._counts: dict[str, int] = {}
        self._pieces: dict[str, int] = {}
        self._makers: dict[str, Op] = {}

    def maker_of(self, value: Value, kind: str) -> Op | None:
        """Return the operator that makes a value, if it is of a kind."""
        found = self._makers.get(value.name)
        return found if found is not None and found.kind == kind else None

    def makes(self, value: Value) -> bool:
        """Whether an operator makes a value; others are inputs, or constants."""
        return value.name in self._makers

    def add(self, op: Op) -> None:
        """Take up an operator.

        Raises:
            OnnxError: what it lays side by side consists of too many pieces.
        """
        pieces = [self._pieces.get(name, 1) for name in op.inputs] if op.kind in _VIEWS else [1]
        if sum(pieces) > _MOST_PIECES:
            raise OnnxError(
                f"{sum(pieces)} feature maps are concatenated, at most {_MOST_PIECES} are supported"
            )
        self._pieces.update(dict.fromkeys(op.outputs, sum(pieces)))
        self.ops.append(op)
        self._makers.update(dict.fromkeys(op.outputs, op))

    def value(self, name: str) -> Value:
        """Return what is known of a tensor that was taken up."""
        tensor = self.tensors[name]
        return Value(name, tensor.shape, 1, tensor.constant, tensor.learned)

    def use(self, value: Value) -> str:
        """Return the name of the tensor of a value, which is taken up if it is new.

        Raises:
            OnnxError: a truth value that is computed at run time, which is no tensor.
        """
        if not value.name:
            raise OnnxError("it reads booleans that are computed at run time")
        if value.name not in self.tensors:
            scalar = None if value.learned else value.scalar
            self.tensors[value.name] = Tensor(
                value.name, value.shape, value.constant, value.learned, scalar
            )
        return value.name

    def unique(self, name: str) -> str:
        """Return a name that nothing else has."""
        base = f"op_{name}" if is_input(name) else name
        found = base
        while found in self._made or found in self.tensors:
            self._counts[base] = self._counts.get(base, 1) + 1
            found = f"{base}_{self._counts[base]}"
        self._made.add(found)
        return found


@dataclass(frozen=True, slots=True)
class Call:
    """A node with what is known of its inputs and results.

    Attributes:
        name: as the user knows it.
        operator: its type.
        version: of ONNX's own operators.
        inputs: None where an optional one is left out.
        outputs: names in the file; empty where an optional one is left out.
        results: what follows of them by shape inference.
        attributes: with the defaults of the schema.
        maker: takes up what is made.
    """

    name: str
    operator: str
    version: int
    inputs: tuple[Value | None, ...]
    outputs: tuple[str, ...]
    results: Mapping[str, Result]
    attributes: Mapping[str, Attribute]
    maker: GraphBuilder = field(compare=False)

    def has(self, index: int) -> bool:
        """Whether an input is there."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def x(self, index: int = 0) -> Value:
        """Return an input that must be there."""
        value = self.inputs[index] if index < len(self.inputs) else None
        if value is None:
            raise OnnxError(f"input {index + 1} is missing")
        return value

    def optional(self, index: int) -> Value | None:
        """Return an input, None if it is left out."""
        return self.inputs[index] if index < len(self.inputs) else None

    def shape(self, index: int = 0) -> tuple[int, ...]:
        """Return the shape of a result.

        Raises:
            OnnxError: it does not follow from what the file says.
        """
        found = self.results.get(self.outputs[index]) if index < len(self.outputs) else None
        if found is None or found.shape is None:
            raise OnnxError(self._why_unknown())
        return found.shape

    def _why_unknown(self) -> str:
        for i, value in enumerate(self.inputs):
            if value is not None and value.constant and value.read() is None:
                return (
                    f"the values of input {i + 1}, a constant, are unknown, because it is computed "
                    f"from more than {MOST_READ} elements"
                )
        return "the shape of its result depends on data; export the model with fixed shapes"

    def number(self, name: str, default: int = 0) -> int:
        """Return a whole number among the attributes."""
        found = self.attributes.get(name, default)
        return found if isinstance(found, int) else default

    def decimal(self, name: str, default: float) -> float:
        """Return a number among the attributes."""
        found = self.attributes.get(name, default)
        return float(found) if isinstance(found, int | float) else default

    def text(self, name: str, default: str = "") -> str:
        """Return a text among the attributes."""
        found = self.attributes.get(name, default)
        return found if isinstance(found, str) else default

    def numbers(self, name: str) -> tuple[int, ...] | None:
        """Return a list of whole numbers among the attributes, None if it is not there."""
        found = self.attributes.get(name)
        return found if isinstance(found, tuple) else None

    def array(self, index: int) -> Array:
        """Return the elements of a constant input.

        Raises:
            OnnxError: they are not known.
        """
        found = self.x(index).read() if self.x(index).constant else None
        if found is None:
            raise OnnxError(f"input {index + 1} must be a constant of at most 2**20 elements")
        return found

    def known_numbers(self, index: int) -> tuple[int, ...]:
        """Return the elements of a constant input of whole numbers in one dimension."""
        found = self.array(index)
        if found.dtype.kind not in "iu" or found.size > MOST_NUMBERS:
            raise OnnxError(f"input {index + 1} must be at most {MOST_NUMBERS} whole numbers")
        return tuple(int(v) for v in found.ravel())

    def list_of(self, name: str, index: int) -> tuple[int, ...] | None:
        """Return a list that is an attribute in old opsets and an input in new ones."""
        listed = self.numbers(name)
        if listed is None and self.has(index):
            return self.known_numbers(index)
        return listed

    def axis(self, default: int, rank: int | None = None) -> int:
        """Return the attribute ``axis``, counted from 0."""
        rank = len(self.x().shape) if rank is None else rank
        return wrap(self.number("axis", default), rank)

    def op(
        self, kind: str, inputs: Sequence[Value | None], shape: Sequence[int], **attributes: object
    ) -> Value:
        """Make an operator of one result, and return that."""
        return self.ops(kind, inputs, [shape], **attributes)[0]

    def ops(
        self,
        kind: str,
        inputs: Sequence[Value | None],
        shapes: Sequence[Sequence[int]],
        **attributes: object,
    ) -> tuple[Value, ...]:
        """Make an operator of several results, and return those.

        Raises:
            OnnxError: a result without elements, or an input that is no tensor.
        """
        if any(0 in shape for shape in shapes):
            raise OnnxError("its result has no elements; every dimension must be at least 1")
        read = tuple("" if value is None else self.maker.use(value) for value in inputs)
        name = self.maker.unique(self.name)
        made = []
        for i, shape in enumerate(shapes):
            tensor = self.maker.unique(name + f".{i}") if i else name
            made.append(Value(tensor, tuple(shape), 1))
            self.maker.tensors[tensor] = Tensor(tensor, tuple(shape))
        self.maker.add(Op(name, kind, read, tuple(v.name for v in made), attributes))
        return tuple(made)

    def learned(self, index: int) -> Value | None:
        """Return an optional input that is a weight.

        Raises:
            OnnxError: it is computed at run time, or an input.
        """
        value = self.optional(index)
        if value is not None and not value.constant:
            if self.maker.makes(value):
                raise OnnxError(f"input {index + 1}, its weight, is computed at run time")
            hint = "export the model with its parameters"
            raise OnnxError(f"its weight {value.name} is an input of the model; {hint}")
        return value

    def part(self, value: Value, shape: Sequence[int]) -> Value:
        """Return a constant in another shape, or a part of it."""
        if tuple(shape) == value.shape:
            return value
        name = self.maker.unique(f"{value.name}.as")
        return Value(name, tuple(shape), value.dtype, True, value.learned)

    def piece(self, value: Value, index: int, shape: Sequence[int]) -> Value:
        """Return one of several pieces of a constant, which is learned by itself."""
        name = f"{value.name}[{index}]"
        if not value.learned:
            return Value(name, tuple(shape), value.dtype, True)
        self.maker.sizes[name] = prod(shape)
        return Value(name, tuple(shape), value.dtype, True, frozenset({name}))

    def forget(self, value: Value) -> Value:
        """Return an operand without what it learned, if it is a number, a mask or a turn."""
        if not value.learned or not (value.size == 1 or value.is_mask or value.is_angles):
            return value
        return replace(value, name=f"{value.name}.unlearned", learned=frozenset())


def wrap(axis: int, rank: int) -> int:
    """Return an axis counted from 0.

    Raises:
        OnnxError: there is no such axis.
    """
    if not -rank <= axis < max(rank, 1):
        raise OnnxError(f"axis {axis} of {rank} dimensions")
    return axis % rank if rank else 0


def truth(value: Value) -> bool:
    """Whether a value is a truth value that is computed at run time."""
    return not value.constant and value.dtype == BOOL
