"""Matcher that looks back through a graph for patterns of operators."""

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Final

from ..graph import Graph, Op, Tensor

#: how far a pattern looks back through operators that change little
_FAR: Final = 16


class Matcher:
    """A graph while operators of it are rewritten, from first to last."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._makers: dict[str, Op] = {}
        self._readers: dict[str, int] = dict.fromkeys(graph.outputs, 1)
        for op in graph.ops:
            for name in op.inputs:
                self._readers[name] = self._readers.get(name, 0) + 1

    def add(self, op: Op) -> None:
        """Let later operators see this one."""
        self._makers.update(dict.fromkeys(op.outputs, op))

    def tensor(self, name: str) -> Tensor:
        """Return what is known of a tensor."""
        return self.graph.tensors[name]

    def alone(self, name: str) -> bool:
        """Whether a tensor has a single reader."""
        return self._readers.get(name, 0) == 1

    def maker(self, name: str, *kinds: str) -> Op | None:
        """Return the operator of one of ``kinds`` that makes a tensor, behind identities."""
        op = self._makers.get(name)
        while op is not None and op.kind == "identity":
            op = self._makers.get(op.inputs[0])
        return op if op is not None and op.kind in kinds else None

    def function(self, name: str, *functions: str) -> Op | None:
        """Return the activation or unary operator of one of ``functions`` that makes a tensor."""
        op = self.maker(name, "activation", "unary")
        return op if op is not None and op.attributes["function"] in functions else None

    def is_scalar(self, name: str) -> bool:
        """Whether a tensor is a constant of one value that is not learned."""
        tensor = self.graph.tensors.get(name)
        return bool(tensor and tensor.constant and not tensor.learned and prod(tensor.shape) == 1)

    def value(self, name: str) -> float | None:
        """Return the value of such a constant, if it is known."""
        return self.tensor(name).value if self.is_scalar(name) else None

    def learned(self, name: str) -> Tensor | None:
        """Return a learned tensor."""
        tensor = self.graph.tensors.get(name)
        return tensor if tensor and tensor.constant and tensor.learned else None

    def with_scalar(self, name: str, *kinds: str) -> tuple[str, float | None] | None:
        """Return what is combined with a scalar to make a tensor, and the scalar's value."""
        op = self.maker(name, *kinds)
        return self.with_scalar_of(op) if op is not None else None

    def with_scalar_of(self, op: Op) -> tuple[str, float | None] | None:
        """Return what an operator combines with a scalar, and the scalar's value."""
        first, second = op.inputs
        if self.is_scalar(second):
            return first, self.value(second)
        if self.is_scalar(first) and op.kind in ("add", "mul"):
            return second, self.value(first)
        return None

    def plain(self, name: str) -> str:
        """Return a tensor without the identities, signs and scalar factors that made it."""
        for _ in range(_FAR):
            op = self.maker(name, "mul", "div", "unary")
            if op is None:
                made = self._makers.get(name)
                if made is None or made.kind != "identity":
                    return name
                name = made.inputs[0]
                continue
            if op.kind == "unary":
                if op.attributes["function"] != "neg":
                    return name
                name = op.inputs[0]
                continue
            scaled = self.with_scalar_of(op)
            if scaled is None:
                return name
            name = scaled[0]
        return name

    def same(self, name: str, other: str) -> bool:
        """Whether two tensors are one, but for identities and scalar factors."""
        return self.plain(name) == self.plain(other)

    def is_polynomial(self, name: str, of: str) -> bool:
        """Whether a tensor is made of another, and constants, by sums, products and powers."""
        target = self.plain(of)
        seen = 0
        waiting = [name]
        found = False
        while waiting and seen < _FAR:
            seen += 1
            now = self.plain(waiting.pop())
            if now == target:
                found = True
            elif not self.is_scalar(now):
                op = self.maker(now, "add", "sub", "mul", "unary")
                if op is None or (op.kind == "unary" and op.attributes["function"] != "pow"):
                    return False
                waiting += op.inputs
        return found and not waiting


Pattern = Callable[[Matcher, Op], Op | None]


def rewrite(graph: Graph, patterns: dict[str, tuple[Pattern, ...]]) -> Graph:
    """Return the graph with operators that end a pattern rewritten; by kind of that operator."""
    matcher = Matcher(graph)
    ops = []
    for op in graph.ops:
        kind = op.kind
        for pattern in patterns.get(kind, ()):
            op = pattern(matcher, op) or op
            if op.kind != kind:
                break
        matcher.add(op)
        ops.append(op)
    return live(replace(graph, ops=tuple(ops)))


def live(graph: Graph) -> Graph:
    """Return the graph without operators that no output depends on."""
    wanted = set(graph.outputs)
    kept = []
    for op in reversed(graph.ops):
        if wanted.intersection(op.outputs):
            kept.append(op)
            wanted.update(op.inputs)
    return replace(graph, ops=tuple(reversed(kept)))
