"""Random networks of every operator that reads or makes maps in a way of its own."""

from dataclasses import replace

import numpy as np

from archloom.space.workload.layer import Layer
from archloom.space.workload.layer_builders import (
    activation,
    add,
    conv2d,
    conv_transpose2d,
    global_pool,
    linear,
    matmul,
    max_pool2d,
    mul,
)
from archloom.space.workload.network import Network
from archloom.space.workload.slice import Slice
from archloom.space.workload.vector_layer_builders import copy

KINDS = (
    "conv",
    "transposed",
    "transposed",
    "scale",
    "product",
    "product",
    "softmax",
    "layer_norm",
    "gelu",
    "concat",
    "pool",
    "sum",
    "flat",
    "copied",
    "pieces",
)


class Drawing:
    """A network that grows by one random operator at a time."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.layers: list[Layer] = []
        self.reads: list[tuple[str, ...]] = []
        self.box: tuple[str, Slice] | None = None
        self.maps = {"input": (2 * self.number(1, 3), self.number(3, 9), self.number(3, 9))}

    def number(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high))

    def append(self, layer: Layer, *sources: str) -> str:
        if self.box is not None and self.box[0] in sources:
            boxed, box = self.box
            layer = replace(layer, slices=tuple(box if s == boxed else None for s in sources))
        self.layers.append(layer)
        self.reads.append(sources)
        self.maps[layer.name] = layer.map_shape
        return layer.name

    def grow(self) -> None:
        """Add an operator over one of the newest maps, if it can read that."""
        source = str(self.rng.choice(list(self.maps)[-2:]))
        name = f"l{len(self.layers)}"
        kind = KINDS[self.number(0, len(KINDS))]
        shape = self.maps[source]
        self.box = None
        if self.rng.random() < 0.3:
            start = tuple(self.number(0, side) for side in shape)
            size = tuple(self.number(1, n - a + 1) for a, n in zip(start, shape, strict=True))
            self.box, shape = (source, Slice(start, size, shape)), size
        try:
            getattr(self, kind)(name, source, *shape)
        except ValueError:
            return  # a window that the map cannot hold, or another operand of that map

    def conv(self, name, source, channels, rows, columns):
        kernel, stride = self.number(1, 4), self.number(1, 3)
        padding, dilation = self.number(0, kernel), self.number(1, 3)
        layer = conv2d(
            name, channels, 2, (rows, columns), kernel, stride, padding, dilation, bias=False
        )
        self.append(layer, source)

    def transposed(self, name, source, channels, rows, columns):
        if rows * columns > 100:
            return
        kernel, stride = self.number(1, 5), self.number(1, 4)
        padding = self.number(0, kernel)
        more = self.number(0, stride)
        size = (rows, columns)
        self.append(
            conv_transpose2d(name, channels, 2, size, kernel, stride, padding, more), source
        )

    def scale(self, name, source, channels, rows, columns):
        mean = self.append(global_pool(f"{name}.mean", channels, (rows, columns)), source)
        layer = mul(name, channels, (rows, columns), broadcast=True)
        self.append(layer, source, mean)

    def product(self, name, source, channels, rows, columns):
        heads = 2 if channels % 2 == 0 else 1
        seconds = [m for m, shape in self.maps.items() if np.prod(shape) % channels == 0]
        second = str(self.rng.choice(seconds))
        layer = Layer(
            name,
            "matmul",
            g=heads,
            c=channels // heads,
            k=int(np.prod(self.maps[second])) // channels,
            p=rows,
            q=columns,
            input_size=(rows, columns),
            operands=2,
        )
        if layer.output_channels <= 200:
            self.append(layer, source, second)

    def vectors(self, operator, heads, name, source, channels, rows, columns):
        length = channels // heads
        window = {"p": rows, "q": columns, "input_size": (rows, columns)}
        self.append(Layer(name, operator, g=heads, k=length, c=length, **window), source)

    def softmax(self, name, source, channels, rows, columns):
        heads = 2 if channels % 2 == 0 else 1
        self.vectors("softmax", heads, name, source, channels, rows, columns)

    def layer_norm(self, name, source, channels, rows, columns):
        self.vectors("layer_norm", 1, name, source, channels, rows, columns)

    def gelu(self, name, source, channels, rows, columns):
        self.append(activation(name, "gelu", channels, (rows, columns)), source)

    def concat(self, name, source, channels, rows, columns):
        others = [m for m, shape in self.maps.items() if shape[1:] == (rows, columns)]
        other = str(self.rng.choice(others))
        parts = (channels, self.maps[other][0])
        layer = conv2d(name, sum(parts), 2, (rows, columns), 3, 1, 1)
        self.append(replace(layer, parts=parts, operands=2), source, other)

    def pool(self, name, source, channels, rows, columns):
        self.append(max_pool2d(name, channels, (rows, columns), 2, 1), source)

    def sum(self, name, source, channels, rows, columns):
        self.append(add(name, channels, (rows, columns)), source, source)

    def copied(self, name, source, channels, rows, columns):
        """Lay a map and another one behind each other, whatever their shapes."""
        other = str(self.rng.choice(list(self.maps)))
        words = (channels * rows * columns, int(np.prod(self.maps[other])))
        if sum(words) <= 400:
            self.append(copy(name, (1, sum(words), 1), words), source, other)

    def pieces(self, name, source, channels, rows, columns):
        """Multiply a map by one that comes in two pieces."""
        whole = [m for m, shape in self.maps.items() if np.prod(shape) % channels == 0]
        pair = [str(m) for m in self.rng.choice(whole, 2)]
        words = tuple(int(np.prod(self.maps[m])) for m in pair)
        if columns == 1 and sum(words) // channels <= 200:
            layer = matmul(name, 1, rows, channels, sum(words) // channels, second=words)
            self.append(layer, source, *pair)

    def flat(self, name, source, channels, rows, columns):
        self.append(linear(name, channels * rows * columns, 2), source)


def random_operators(rng: np.random.Generator):
    """Return (network, members): a random DAG, some of whose maps are read after the members."""
    drawing = Drawing(rng)
    count = int(rng.integers(1, 6))
    while len(drawing.layers) < count:
        drawing.grow()
    members = tuple(range(len(drawing.layers)))
    drawing.box = None
    for name in list(drawing.maps)[1:]:
        if rng.random() < 0.25:
            channels, *size = drawing.maps[name]
            drawing.append(activation(f"out_{name}", "relu", channels, tuple(size)), name)
    leaving = tuple(layer.name for layer in drawing.layers if rng.random() < 0.15)
    try:
        network = Network("operators", tuple(drawing.layers), tuple(drawing.reads), leaving)
    except ValueError:
        # the first reader of the network's input flattens it, and another one reads a box of it
        return random_operators(rng)
    return network, members
