"""Graph of einsums while it is built: tensors with one image in front, and operators on them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from ..graph import Causal, Graph, Op, Tensor


@dataclass(frozen=True, slots=True)
class Value:
    """What an expression comes to.

    Attributes:
        tensor: of the graph, whose first dimension is one image; of a weight its name.
        ranks: of the other dimensions.
        learned: it is a weight as it stands in the file.
    """

    tensor: str
    ranks: tuple[str, ...]
    learned: bool = False


class GraphBuilder:
    """Adds operators one by one.

    Args:
        sizes: of ranks.
    """

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self.sizes = sizes
        self._tensors: dict[str, Tensor] = {}
        self._ops: list[Op] = []
        self._inputs: dict[str, None] = {}
        self._learned: dict[str, int] = {}
        #: operators that have a causal mask
        self.masks = 0

    def graph(self, name: str, outputs: Sequence[str]) -> Graph:
        """Return what was built."""
        return Graph(
            name,
            self._tensors,
            tuple(self._ops),
            tuple(self._inputs),
            tuple(outputs),
            self._learned,
        )

    def masked(self, causal: Causal) -> dict[str, Causal]:
        """Return the attribute of an operator with a causal mask."""
        self.masks += 1
        return {"causal": causal}

    def count(self, ranks: Sequence[str]) -> int:
        """Return how many values ranks have together."""
        return prod(self.sizes[rank] for rank in ranks)

    def input(self, name: str, sizes: Sequence[int]) -> str:
        """Return a tensor from outside."""
        self._inputs[name] = None
        return self._add(name, (1, *sizes))

    def op(
        self, node: str, kind: str, inputs: Sequence[str], shape: Sequence[int], **named: Any
    ) -> str:
        """Add an operator; returns the tensor that it makes."""
        made = self._add(f"{node}#{len(self._ops)}", tuple(shape))
        self._ops.append(Op(node, kind, tuple(inputs), (made,), named))
        return made

    def weight(self, name: str, words: int, shape: Sequence[int]) -> str:
        """Return a learned tensor of ``words`` values, in the shape that an operator takes."""
        self._learned[name] = words
        known = self._tensors.get(name)
        again = known is not None and known.shape != tuple(shape)
        found = f"{name}:{'x'.join(map(str, shape))}" if again else name
        return self._add(found, tuple(shape), learned=frozenset([name]))

    def laid(self, node: str, value: Value, ranks: Sequence[str], shape: Sequence[int] = ()) -> str:
        """Return the tensor of a value with its ranks in another order, and in another shape.

        What it lacks of ``ranks`` gets dimensions of 1; of a weight it is a constant.
        """
        have = [rank for rank in ranks if rank in value.ranks]
        wide = (1, *(self.sizes[rank] if rank in value.ranks else 1 for rank in ranks))
        shape = tuple(shape) or wide
        if value.learned:
            return self.weight(value.tensor, self.count(value.ranks), shape)
        tensor = value.tensor
        order = (0, *(value.ranks.index(rank) + 1 for rank in have))
        if order != tuple(range(len(order))):
            turned = (1, *(self.sizes[rank] for rank in have))
            tensor = self.op(node, "transpose", [tensor], turned, order=order)
        if self._tensors[tensor].shape != shape:
            tensor = self.op(node, "reshape", [tensor], shape)
        return tensor

    def value(self, node: str, tensor: str, ranks: Sequence[str]) -> Value:
        """Return a tensor, in whatever shape, as a value of these ranks in this order."""
        shape = (1, *(self.sizes[rank] for rank in ranks))
        if self._tensors[tensor].shape != shape:
            tensor = self.op(node, "reshape", [tensor], shape)
        return Value(tensor, tuple(ranks))

    def _add(self, name: str, shape: tuple[int, ...], learned: frozenset[str] = frozenset()) -> str:
        self._tensors.setdefault(name, Tensor(name, shape, bool(learned), learned))
        return name
