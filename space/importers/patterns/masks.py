"""Causal masks of scores: products, softmax and products behind it that can leave pairs out.

Front ends mark what a constant mask is added to, or fills, by an operator ``mask``. Where it stands
between a product of two feature maps and a softmax over its columns, both get the mask, and so do
products of the softmax's result, which sum over the keys.
"""

from dataclasses import replace
from typing import Final, Literal

from ..graph import Causal, Graph, Op, Tensor

#: operators through which scores, or shares of them, keep their queries and keys
_STEPS: Final = ("identity", "mask", "mul", "div", "add", "sub", "reshape", "expand")
_FAR: Final = 16


def with_masks(graph: Graph) -> Graph:
    """Return the graph with causal masks as attributes of the operators that they are for."""
    masks = [op for op in graph.ops if op.kind == "mask"]
    if not masks:
        return graph
    search = _Search(graph)
    for op in masks:
        search.mark(op)
    ops = tuple(
        replace(op, attributes={**op.attributes, "causal": search.found[op.outputs[0]]})
        if op.outputs[0] in search.found
        else op
        for op in graph.ops
    )
    return replace(graph, ops=ops)


class _Search:
    """Operators that masks are for.

    Attributes:
        found: their masks, by what they make.
    """

    def __init__(self, graph: Graph) -> None:
        self.found: dict[str, Causal] = {}
        self._graph = graph
        self._makers = {name: op for op in graph.ops for name in op.outputs}
        self._readers: dict[str, list[Op]] = {}
        for op in graph.ops:
            for name in op.inputs:
                self._readers.setdefault(name, []).append(op)

    def mark(self, op: Op) -> None:
        """Note what a mask is for, if it stands between a product and a softmax."""
        product, softmax = self._before(op), self._behind(op)
        if product is None or softmax is None:
            return
        queries, window = self._tensor(op.outputs[0]).shape[-2], op.attributes["window"]

        def note(made: Op, keys: Literal["k", "c"]) -> None:
            # with two masks one after the other, pairs that the first leaves are worked on
            causal = Causal(-2, queries, 1, keys, window, sure=False)
            self.found.setdefault(made.outputs[0], causal)

        note(product, "k")
        note(softmax, "k")
        for reader in self._products(softmax):
            note(reader, "c")

    def _tensor(self, name: str) -> Tensor:
        return self._graph.tensors[name]

    def _before(self, op: Op) -> Op | None:
        """Return the product whose result, scaled, a mask takes; nothing else may read it."""
        name = op.inputs[0]
        for _ in range(_FAR):
            made = self._makers.get(name)
            if made is None or len(self._readers[name]) > 1 or name in self._graph.outputs:
                return None
            if made.kind == "matmul":
                return made if self._is_of_maps(made) else None
            before = self._step(made)
            if before is None:
                return None
            name = before
        return None

    def _is_of_maps(self, product: Op) -> bool:
        return not any(self._tensor(name).constant for name in product.inputs)

    def _step(self, op: Op) -> str | None:
        """Return what an operator takes that keeps the places of queries and keys."""
        if op.kind not in _STEPS:
            return None
        maps = [name for name in op.inputs if not self._tensor(name).constant]
        if len(maps) != 1:
            return None
        both = (self._tensor(maps[0]).shape, self._tensor(op.outputs[0]).shape)
        return maps[0] if both[0][-2:] == both[1][-2:] and len(both[0]) > 1 else None

    def _behind(self, op: Op) -> Op | None:
        """Return the softmax over the keys that alone reads what a mask leaves."""
        name = op.outputs[0]
        for _ in range(_FAR):
            readers = self._readers.get(name, [])
            if len(readers) != 1 or name in self._graph.outputs:
                return None
            (reader,) = readers
            if reader.kind == "softmax":
                last = len(self._tensor(name).shape) - 1
                return reader if reader.attributes["axis"] == last else None
            if self._step(reader) != name:
                return None
            name = reader.outputs[0]
        return None

    def _products(self, softmax: Op) -> list[Op]:
        """Return the products that sum over keys, weighted by the softmax's result."""
        found, waiting = [], list(softmax.outputs)
        for _ in range(_FAR):
            if not waiting:
                break
            name = waiting.pop()
            for reader in self._readers.get(name, []):
                if reader.kind == "matmul":
                    if reader.inputs[0] == name and self._is_of_maps(reader):
                        found.append(reader)
                elif self._step(reader) == name:
                    waiting += reader.outputs
        return found
