"""Makes graphs by hand, as a front end would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

from archloom.space.importers.graph import Graph, Op, Tensor
from archloom.space.workload.layer import Layer
from archloom.space.workload.network import Network, is_input


class GraphMaker:
    """Adds operators one by one; methods return names of tensors."""

    def __init__(self, **inputs: tuple[int, ...]) -> None:
        self.tensors = {name: Tensor(name, shape) for name, shape in inputs.items()}
        self.ops: list[Op] = []
        self.inputs = tuple(inputs)
        self.learned: dict[str, int] = {}

    def graph(self, *outputs: str, name: str = "net") -> Graph:
        """Return what was made."""
        return Graph(
            name,
            self.tensors,
            tuple(self.ops),
            self.inputs,
            outputs or (self.ops[-1].outputs[0],),
            self.learned,
        )

    def op(
        self, kind: str, inputs: Sequence[str], shape: tuple[int, ...], name: str = "", **named: Any
    ) -> str:
        """Add an operator with one result."""
        return self.ops_of(kind, inputs, (shape,), name, **named)[0]

    def ops_of(
        self,
        kind: str,
        inputs: Sequence[str],
        shapes: Sequence[tuple[int, ...]],
        name: str = "",
        **named: Any,
    ) -> list[str]:
        """Add an operator with several results."""
        name = name or f"{kind}{len(self.ops)}"
        made = [f"{name}:{i}" for i in range(len(shapes))]
        for result, shape in zip(made, shapes, strict=True):
            self.tensors[result] = Tensor(result, shape)
        self.ops.append(Op(name, kind, tuple(inputs), tuple(made), named))
        return made

    def weight(self, *shape: int, name: str = "", whole: int = 0) -> str:
        """Add a learned tensor, or part of one with ``whole`` values."""
        name = name or f"weight{len(self.tensors)}"
        self.tensors[name] = Tensor(name, shape, constant=True, learned=frozenset({name}))
        self.learned[name] = whole or prod(shape)
        return name

    def part(self, of: str, *shape: int) -> str:
        """Add a constant that is made of, or part of, a learned tensor."""
        name = f"part{len(self.tensors)}"
        self.tensors[name] = Tensor(name, shape, constant=True, learned=frozenset({of}))
        return name

    def constant(self, *shape: int, value: float | None = None) -> str:
        """Add a constant that is not learned."""
        name = f"constant{len(self.tensors)}"
        self.tensors[name] = Tensor(name, shape, constant=True, value=value)
        return name

    def shape(self, name: str) -> tuple[int, ...]:
        return self.tensors[name].shape

    def conv(
        self,
        x: str,
        channels: int,
        kernel: int = 1,
        stride: int = 1,
        padding: int = 0,
        groups: int = 1,
        *,
        bias: bool = True,
        end: int | None = None,
        dilation: int = 1,
        name: str = "",
    ) -> str:
        """Add a square convolution."""
        n, before, *sides = self.shape(x)
        dims = len(sides)
        end = padding if end is None else end
        reach = (kernel - 1) * dilation + 1
        made = [(side + padding + end - reach) // stride + 1 for side in sides]
        inputs = [x, self.weight(channels, before // groups, *[kernel] * dims)]
        if bias:
            inputs.append(self.weight(channels))
        return self.op(
            "conv",
            inputs,
            (n, channels, *made),
            name,
            stride=(stride,) * dims,
            start=(padding,) * dims,
            end=(end,) * dims,
            dilation=(dilation,) * dims,
            groups=groups,
        )

    def pool(self, x: str, mode: str, kernel: int, stride: int, padding: int = 0) -> str:
        """Add a square pool."""
        n, channels, *sides = self.shape(x)
        dims = len(sides)
        made = [(side + 2 * padding - kernel) // stride + 1 for side in sides]
        return self.op(
            "pool",
            [x],
            (n, channels, *made),
            mode=mode,
            kernel=(kernel,) * dims,
            stride=(stride,) * dims,
            start=(padding,) * dims,
            dilation=(1,) * dims,
        )

    def norm(self, x: str) -> str:
        """Add a batch norm."""
        channels = self.shape(x)[1]
        inputs = [x, self.weight(channels), self.weight(channels)]
        return self.op("batch_norm", inputs, self.shape(x))

    def act(self, x: str, function: str = "relu", *slope: str) -> str:
        """Add an activation."""
        return self.op("activation", [x, *slope], self.shape(x), function=function)

    def two(self, kind: str, x: str, y: str) -> str:
        """Add a sum, product, ... with broadcasting."""
        shapes = [self.shape(name) for name in (x, y)]
        rank = max(map(len, shapes))
        long = [(1,) * (rank - len(shape)) + shape for shape in shapes]
        shape = tuple(max(a, b) for a, b in zip(*long, strict=True))
        return self.op(kind, [x, y], shape)

    def linear(self, x: str, features: int, *, bias: bool = True, name: str = "") -> str:
        """Add a matrix product with learned weights."""
        *rest, before = self.shape(x)
        inputs = [x, self.weight(features, before)]
        if bias:
            inputs.append(self.weight(features))
        return self.op("linear", inputs, (*rest, features), name)

    def reshape(self, x: str, *shape: int) -> str:
        """Add a reshape."""
        assert prod(shape) == prod(self.shape(x))
        return self.op("reshape", [x], shape)

    def transpose(self, x: str, *order: int) -> str:
        """Add a permutation."""
        shape = self.shape(x)
        return self.op("transpose", [x], tuple(shape[i] for i in order), order=order)

    def cut(self, x: str, axis: int, start: int, stop: int, step: int = 1) -> str:
        """Add a slice."""
        shape = list(self.shape(x))
        shape[axis] = len(range(start, stop, step))
        named = {"axis": axis, "start": start, "stop": stop, "step": step}
        return self.op("slice", [x], tuple(shape), **named)

    def concat(self, axis: int, *xs: str) -> str:
        """Add a concatenation."""
        shape = list(self.shape(xs[0]))
        shape[axis] = sum(self.shape(x)[axis] for x in xs)
        return self.op("concat", xs, tuple(shape), axis=axis)

    def matmul(self, x: str, y: str) -> str:
        """Add a product of matrices."""
        *one, m, _ = self.shape(x)
        *other, _, n = self.shape(y)
        batch = one if len(one) >= len(other) else other
        return self.op("matmul", [x, y], (*batch, m, n))


def plain(network: Network) -> list[tuple[Layer, tuple[str, ...]]]:
    """Return a network's structure: layers without names, and positions of what they read."""
    place = {layer.name: str(i) for i, layer in enumerate(network.layers)}
    return [
        (
            replace(layer, name="", weights_of=place.get(layer.weights_of, "")),
            tuple("input" if is_input(source) else place[source] for source in sources),
        )
        for layer, sources in zip(network.layers, network.reads, strict=True)
    ]
