"""Graphs drawn at random become networks with the right work, or a named problem."""

from __future__ import annotations

from math import prod

from hypothesis import given, strategies as st

from archloom.space.importers.errors import ImportProblem
from archloom.space.importers.lowering.lower_graph import lower
from archloom.space.importers.patterns.rewrite import simplify

from ...cases.graph_maker import GraphMaker

KINDS = (
    *("reshape", "transpose", "slice", "concat", "expand", "copy"),
    *("act", "two", "scalar", "norm", "mean", "softmax", "layer_norm", "group_norm"),
    *("linear", "matmul", "conv", "pool", "masked"),
)
MOST = 600


class Drawn(GraphMaker):
    """A graph drawn operator by operator."""

    def __init__(self, draw: st.DrawFn) -> None:
        batch = draw(st.sampled_from([1, 1, 2, 3]))
        rest = draw(st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=1, max_size=4))
        super().__init__(x=(batch, *rest))
        self.draw = draw
        self.macs = 0
        self.names = ["x"]

    def pick(self) -> str:
        return self.draw(st.sampled_from(self.names))

    def step(self) -> None:
        """Add an operator, if there is room for its result."""
        kind = self.draw(st.sampled_from(KINDS))
        x = self.pick()
        shape = self.shape(x)
        made = getattr(self, f"make_{kind}")(x, shape)
        if made:
            self.names.append(made)

    def make_reshape(self, x: str, shape: tuple[int, ...]) -> str:
        left, new = prod(shape), []
        for _ in range(self.draw(st.integers(0, 3))):
            new.append(self.draw(st.sampled_from([d for d in range(1, left + 1) if left % d == 0])))
            left //= new[-1]
        return self.reshape(x, *new, left)

    def make_transpose(self, x: str, shape: tuple[int, ...]) -> str:
        return self.transpose(x, *self.draw(st.permutations(range(len(shape)))))

    def make_slice(self, x: str, shape: tuple[int, ...]) -> str:
        axis = self.draw(st.integers(0, len(shape) - 1))
        start = self.draw(st.integers(0, shape[axis] - 1))
        stop = self.draw(st.integers(start + 1, shape[axis]))
        return self.cut(x, axis, start, stop, self.draw(st.integers(1, 2)))

    def make_concat(self, x: str, shape: tuple[int, ...]) -> str:
        axis = self.draw(st.integers(0, len(shape) - 1))

        def sides(name: str) -> zip[tuple[int, int]]:
            return zip(self.shape(name), shape, strict=True)

        fit = [
            name
            for name in self.names
            if len(self.shape(name)) == len(shape)
            and all(a == b or i == axis for i, (a, b) in enumerate(sides(name)))
            and prod(self.shape(name)) + prod(shape) <= MOST
        ]
        return self.concat(axis, x, self.draw(st.sampled_from(fit))) if fit else ""

    def make_expand(self, x: str, shape: tuple[int, ...]) -> str:
        wide = tuple(2 if n == 1 else n for n in shape)
        return self.op("expand", [x], wide) if prod(wide) <= MOST and len(wide) < 5 else ""

    def make_copy(self, x: str, shape: tuple[int, ...]) -> str:
        return self.op("copy", [x], shape)

    def make_act(self, x: str, shape: tuple[int, ...]) -> str:
        return self.op("activation", [x], shape, function="relu")

    def make_two(self, x: str, shape: tuple[int, ...]) -> str:
        y = self.pick()
        pairs = zip(reversed(shape), reversed(self.shape(y)), strict=False)
        if any(a != b and 1 not in (a, b) for a, b in pairs):
            return ""
        made = self.two(self.draw(st.sampled_from(["add", "sub", "mul", "div"])), x, y)
        if prod(self.shape(made)) > MOST or len(self.shape(made)) > 5:
            self.ops.pop()
            return ""
        return made

    def make_scalar(self, x: str, shape: tuple[int, ...]) -> str:
        other = self.draw(st.sampled_from([(), (1,), (shape[-1],), shape]))
        constant = self.weight if self.draw(st.booleans()) else self.constant
        return self.two(self.draw(st.sampled_from(["add", "mul"])), x, constant(*other))

    def make_norm(self, x: str, shape: tuple[int, ...]) -> str:
        return self.norm(x) if len(shape) > 1 else ""

    def make_mean(self, x: str, shape: tuple[int, ...]) -> str:
        axes = tuple(sorted(self.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1))))
        kept = tuple(n for i, n in enumerate(shape) if i not in axes) or (1,)
        kind = self.draw(st.sampled_from(["mean", "max"]))
        return self.op(kind, [x], kept, axes=axes)

    def make_softmax(self, x: str, shape: tuple[int, ...]) -> str:
        return self.op("softmax", [x], shape, axis=self.draw(st.integers(0, len(shape) - 1)))

    def make_masked(self, x: str, shape: tuple[int, ...]) -> str:
        """Attention of a map to itself, in which a query sees its own key and those before it."""
        if len(shape) < 2 or prod(shape[:-1]) * shape[-2] > MOST or shape[-2] == 1:
            return ""
        *lead, rows, features = shape
        order = (*range(len(lead)), len(lead) + 1, len(lead))
        scores = self.op("matmul", [x, self.transpose(x, *order)], (*lead, rows, rows))
        masked = self.op("mask", [scores], (*lead, rows, rows), window=0)
        shares = self.op("softmax", [masked], (*lead, rows, rows), axis=len(lead) + 1)
        self.macs += 2 * prod(lead) * rows * rows * features
        return self.op("matmul", [shares, x], shape)

    def make_layer_norm(self, x: str, shape: tuple[int, ...]) -> str:
        last = self.draw(st.integers(1, len(shape)))
        inputs = [x, self.weight(*shape[-last:]), self.weight(*shape[-last:])]
        return self.op("layer_norm", inputs, shape, dimensions=last)

    def make_group_norm(self, x: str, shape: tuple[int, ...]) -> str:
        inputs = [x, self.weight(*shape[1:2]), ""]
        return self.op("group_norm", inputs, shape, groups=shape[1]) if len(shape) > 1 else ""

    def make_linear(self, x: str, shape: tuple[int, ...]) -> str:
        if prod(shape[:-1]) * 4 > MOST:
            return ""
        self.macs += prod(shape) * 4
        return self.linear(x, 4)

    def make_matmul(self, x: str, shape: tuple[int, ...]) -> str:
        y = self.pick()
        if len(shape) < 2 or len(self.shape(y)) < 2:
            return ""
        *one, m, k = shape
        *two, k2, n = self.shape(y)
        if k2 != k:
            order = (*range(len(two)), len(two) + 1, len(two))
            y, k2, n = self.transpose(y, *order), n, k2
        rank = max(len(one), len(two))
        pairs = list(zip([1] * (rank - len(one)) + one, [1] * (rank - len(two)) + two, strict=True))
        if k2 != k or any(a != b and 1 not in (a, b) for a, b in pairs):
            return ""
        batch = tuple(map(max, pairs))
        if prod(batch) * m * n > MOST:
            return ""
        self.macs += prod(batch) * m * n * k
        return self.op("matmul", [x, y], (*batch, m, n))

    def make_conv(self, x: str, shape: tuple[int, ...]) -> str:
        if not 3 <= len(shape) <= 5 or prod(shape[2:]) * shape[0] * 4 > MOST:
            return ""
        made = self.conv(x, 4, 3, self.draw(st.integers(1, 2)), padding=1)
        self.macs += prod(self.shape(made)) * shape[1] * 3 ** (len(shape) - 2)
        return made

    def make_pool(self, x: str, shape: tuple[int, ...]) -> str:
        if not 3 <= len(shape) <= 5:
            return ""
        return self.pool(x, "max", 3, self.draw(st.integers(1, 2)), 1)


@given(st.data())
def test_random_graphs(data: st.DataObject) -> None:
    @st.composite
    def graphs(draw: st.DrawFn) -> Drawn:
        g = Drawn(draw)
        for _ in range(draw(st.integers(1, 8))):
            g.step()
        g.make_linear(g.names[-1], g.shape(g.names[-1]))
        return g

    g = data.draw(graphs())
    read = {name for op in g.ops for name in op.inputs}
    ends = [name for op in g.ops for name in op.outputs if name not in read]
    graph = g.graph(*ends) if ends else g.graph("x")
    try:
        network = lower(simplify(graph))
    except ImportProblem:
        return
    # a slice may leave a piece of a concatenation out, and all that made it
    if {"concat", "slice"} <= {op.kind for op in g.ops}:
        assert network.macs <= g.macs
    else:
        assert network.macs == g.macs
