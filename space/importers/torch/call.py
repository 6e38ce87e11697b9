"""Call of an operator in an exported program, and the result of its translation rule."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graph import Op, Tensor

Result = Tensor | tuple[Tensor, ...]


class Unsupported(Exception):  # noqa: N818 - told to the user with the operator's name
    """What of a known operator cannot be taken."""


class TakeApart(Exception):  # noqa: N818 - no error: PyTorch knows how
    """What of a known operator only its decomposition can be taken of."""


class Known(NamedTuple):
    """What is known of a program so far.

    Attributes:
        tensors: by name.
        read: returns the values of a constant that nothing learned; None if they are not known.
    """

    tensors: dict[str, Tensor]
    read: Callable[[Tensor], NDArray[Any] | None]


class Call:
    """A call, as the rules of :mod:`archloom.space.importers.torch.operators` see it.

    Attributes:
        name: of the operator, for people.
        target: the operator, such as ``aten.conv2d``.
        arguments: by the names of the operator's schema; tensors are :class:`Tensor`.
        shapes: of the results.
        ops: what the rule made of it so far.
    """

    def __init__(
        self,
        name: str,
        target: str,
        arguments: dict[str, Any],
        shapes: Sequence[tuple[int, ...]],
        known: "Known",
    ) -> None:
        self.name = name
        self.target = target
        self.arguments = arguments
        self.shapes = shapes
        self.ops: list[Op] = []
        self._tensors = known.tensors
        self._read = known.read

    def __getitem__(self, argument: str) -> Any:
        """One argument; None if the operator has none of that name."""
        return self.arguments.get(argument)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the result, or of the first."""
        return self.shapes[0]

    @property
    def constant(self) -> bool:
        """Whether it depends on constants alone."""
        return all(tensor.constant for tensor in _tensors(list(self.arguments.values())))

    def values(self, of: Tensor | float | None) -> NDArray[Any] | None:
        """Values of a number, or of a constant that nothing learned; None if they are not known."""
        return self._read(of) if isinstance(of, Tensor) else None if of is None else np.asarray(of)

    def masked(self, scores: Tensor, window: int | None) -> Tensor:
        """Scores of which a constant mask drops pairs, if it is a causal one of some window."""
        if window is None or scores.shape != self.shape:
            return self.emit("identity", [scores])
        return self.emit("mask", [scores], window=window)

    def folded(self, result: int) -> Tensor:
        """A result that depends on constants alone."""
        read = list(_tensors(list(self.arguments.values())))
        learned = frozenset[str]().union(*(tensor.learned for tensor in read))
        fill = self["fill_value"] if isinstance(self["fill_value"], int | float) else None
        return Tensor(f"{self.name}:{result}", self.shapes[result], True, learned, fill)

    def emit(
        self,
        kind: str,
        inputs: Sequence[Tensor | float | None],
        shape: tuple[int, ...] | None = None,
        **attributes: Any,
    ) -> Tensor:
        """Add an operator and return its result, of the call's shape if none is given."""
        return self.emit_several(
            kind, inputs, [self.shape if shape is None else shape], attributes
        )[0]

    def emit_several(
        self,
        kind: str,
        inputs: Sequence[Tensor | float | None],
        shapes: Sequence[tuple[int, ...]],
        attributes: dict[str, Any],
    ) -> tuple[Tensor, ...]:
        """Add an operator with several results."""
        read = [self._operand(value) for value in inputs]
        if all(tensor.constant for tensor in read if tensor is not None):
            learned = frozenset[str]().union(*(t.learned for t in read if t is not None))
            return tuple(self._new(shape, True, learned) for shape in shapes)
        results = tuple(self._new(shape) for shape in shapes)
        name = self.name if not self.ops else f"{self.name}.{len(self.ops)}"
        names = tuple(tensor.name if tensor is not None else "" for tensor in read)
        self.ops.append(Op(name, kind, names, tuple(t.name for t in results), attributes))
        return results

    def _operand(self, value: Tensor | float | None) -> Tensor | None:
        if value is None or isinstance(value, Tensor):
            return value
        tensor = Tensor(f"{self.name}={value}", (), True, value=float(value))
        return self._tensors.setdefault(tensor.name, tensor)

    def _new(
        self, shape: tuple[int, ...], constant: bool = False, learned: frozenset[str] = frozenset()
    ) -> Tensor:
        number = 0
        while (name := f"{self.name}:{number}") in self._tensors:
            number += 1
        tensor = Tensor(name, tuple(shape), constant, learned)
        self._tensors[name] = tensor
        return tensor


def _tensors(value: object) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _tensors(each)
