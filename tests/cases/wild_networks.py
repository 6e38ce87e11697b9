"""Random networks in which layers read all that layers can read, in every way.

Every operand may be a box of its map, also one cut from patches or one that others read boxes of;
maps come from several inputs; layers share weights, and results leave although they are read.
"""

from dataclasses import replace

import numpy as np

from archloom.space.workload import layer_builders as ops, vector_layer_builders as vectors
from archloom.space.workload.layer import Interleave, Layer
from archloom.space.workload.network import INPUT, Network
from archloom.space.workload.slice import Shape, Slice

#: a map, the box of it that is read, and the shape of what is read
Piece = tuple[str, Slice | None, Shape]

#: most words of a map
LARGEST = 300


def words(piece: Piece) -> int:
    return int(np.prod(piece[2]))


class Wild:
    """A network that grows by one random operator at a time."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.layers: list[Layer] = []
        self.reads: list[tuple[str, ...]] = []
        self.maps: dict[str, Shape] = {}
        for name in (INPUT, f"{INPUT}:a", f"{INPUT}:b")[: self.number(1, 4)]:
            self.maps[name] = (2 * self.number(1, 4), self.number(1, 8), self.number(1, 8))

    def number(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high))

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def piece(self, boxed: float = 0.35) -> Piece:
        """Draw a map, more often a new one, or a box of one."""
        names = list(self.maps)
        if self.chance(0.6):
            names = names[-3:]
        return self.box_of(names[self.number(0, len(names))], boxed)

    def box_of(self, name: str, boxed: float) -> Piece:
        shape = self.maps[name]
        if not self.chance(boxed):
            return name, None, shape
        cut = [self.chance(0.6) for _ in shape]
        start = tuple(self.number(0, n) if c else 0 for n, c in zip(shape, cut, strict=True))
        size = tuple(
            self.number(1, n - a + 1) if c else n for a, n, c in zip(start, shape, cut, strict=True)
        )
        return name, Slice(start, size, shape), size

    def beside(self, piece: Piece, axes: tuple[int, ...]) -> Piece:
        """Draw a piece as long as another one along ``axes``."""
        want = piece[2]
        large = [n for n, shape in self.maps.items() if all(shape[a] >= want[a] for a in axes)]
        if not large:
            raise ValueError("nothing is as large")
        name = large[self.number(0, len(large))]
        shape = self.maps[name]
        size = tuple(want[a] if a in axes else self.number(1, shape[a] + 1) for a in range(3))
        start = tuple(self.number(0, n - m + 1) for n, m in zip(shape, size, strict=True))
        return name, Slice(start, size, shape), size

    def whole(self, divisor: int) -> Piece:
        """Draw a piece whose words ``divisor`` divides."""
        for _ in range(12):
            piece = self.piece(0.7)
            if words(piece) % divisor == 0:
                return piece
        raise ValueError("nothing to multiply by")

    def put(self, layer: Layer, *pieces: Piece) -> None:
        if any(box for _, box, _ in pieces):
            layer = replace(layer, slices=tuple(box for _, box, _ in pieces))
        same = [la.name for la in self.layers if 0 < layer.weight_words == la.weight_words]
        if same and not layer.weights_of and self.chance(0.5):
            layer = replace(layer, weights_of=same[self.number(0, len(same))], extra_params=0)
        if np.prod(layer.map_shape) > LARGEST:
            raise ValueError("too large")
        self.layers.append(layer)
        self.reads.append(tuple(name for name, _, _ in pieces))
        self.maps[layer.name] = layer.map_shape

    def grow(self) -> None:
        """Add an operator, if there is something that it can read."""
        kinds = (self.windows, self.views, self.joins, self.products, self.vectors, self.copies)
        kind = (*kinds, self.steps, self.again, self.twice)[self.number(0, 9)]
        try:
            kind(f"l{len(self.layers)}")
        except ValueError:
            return  # a window that the map cannot hold, a map that is too large, no second map

    def windows(self, name: str) -> None:
        piece = self.piece()
        channels, *size = piece[2]
        kernel, stride = ((self.number(1, 4), self.number(1, 4)) for _ in range(2))
        if self.chance(0.3):
            return self.put(ops.max_pool2d(name, channels, tuple(size), kernel, stride), piece)
        if self.chance(0.4):
            padding, more = self.number(0, kernel[0]), self.number(0, stride[0])
            window = (kernel[0], stride[0], padding, more)
            return self.put(ops.conv_transpose2d(name, channels, 2, tuple(size), *window), piece)
        groups = channels if self.chance(0.3) else 1
        padding = (self.number(0, kernel[0]), self.number(0, kernel[1]))
        window = (kernel, stride, padding, self.number(1, 3), groups)
        layer = ops.conv2d(name, channels, 2 * groups, tuple(size), *window, bias=False)
        if self.chance(0.2):
            layer = replace(layer, interleave=Interleave(2, 1, (self.number(0, 2), 0)))
        return self.put(layer, piece)

    def views(self, name: str) -> None:
        """Read a map in another shape."""
        piece = self.piece()
        rows = self.factor(words(piece))
        columns = self.factor(words(piece) // rows)
        channels, size = words(piece) // rows // columns, (rows, columns)
        if self.chance(0.3):
            return self.put(ops.linear(name, words(piece), self.number(1, 9), bias=False), piece)
        if self.chance(0.5):
            return self.put(ops.max_pool2d(name, channels, size, 1, self.number(1, 4)), piece)
        stride = self.number(1, 4)
        return self.put(ops.conv2d(name, channels, 2, size, 1, stride, bias=False), piece)

    def factor(self, number: int) -> int:
        return int(self.rng.choice([d for d in range(1, number + 1) if number % d == 0]))

    def joins(self, name: str) -> None:
        """Lay maps side by side, or take them value by value."""
        piece = self.piece()
        channels, *size = piece[2]
        rows, columns = size
        if self.chance(0.5):
            layer = (ops.add, ops.mul, vectors.div)[self.number(0, 3)](
                name, channels, (rows, columns)
            )
            return self.put(layer, piece, self.beside(piece, (0, 1, 2)))
        if self.chance(0.2):
            layer = ops.mul(name, channels, (rows, columns), broadcast=True)
            factors = self.whole(channels)
            return self.put(layer, piece, factors) if words(factors) == channels else None
        pieces = [piece, *(self.beside(piece, (1, 2)) for _ in range(self.number(1, 3)))]
        parts = tuple(p[2][0] for p in pieces)
        layer = (
            ops.conv2d(name, sum(parts), 2, (rows, columns), 1, (self.number(1, 3), 1), bias=False),
            vectors.scale_shift(name, sum(parts), (rows, columns)),
            ops.max_pool2d(name, sum(parts), (rows, columns), 1, 2),
        )[self.number(0, 3)]
        return self.put(replace(layer, parts=parts, operands=len(parts)), *pieces)

    def products(self, name: str) -> None:
        piece = self.piece()
        channels, rows, columns = piece[2]
        heads = 2 if channels % 2 == 0 else 1
        seconds = [self.whole(channels) for _ in range(self.number(1, 3))]
        each = tuple(map(words, seconds))
        layer = Layer(
            name,
            "matmul",
            g=heads,
            c=channels // heads,
            k=sum(each) // channels,
            p=rows,
            q=columns,
            input_size=(rows, columns),
            operands=1 + len(each),
            whole_parts=each if len(each) > 1 else (),
        )
        self.put(layer, piece, *seconds)

    def vectors(self, name: str) -> None:
        piece = self.piece()
        channels, rows, columns = piece[2]
        size = (rows, columns)
        function = ("gelu", "prelu", "hardswish")[self.number(0, 3)]
        norm = ("softmax", "layer_norm", "rms_norm")[self.number(0, 3)]
        window = {"p": rows, "q": columns, "input_size": size}
        layer = (
            ops.activation(name, function, channels, size),
            Layer(name, norm, k=channels, c=channels, **window),
            Layer(name, "rotary", g=channels, **window),
            vectors.group_norm(name, channels, size, 2 - channels % 2),
            vectors.scale_shift(name, channels, size),
            ops.global_pool(name, channels, size),
        )[self.number(0, 6)]
        self.put(layer, piece)

    def copies(self, name: str) -> None:
        pieces = [self.piece() for _ in range(self.number(1, 4))]
        channels, rows, columns = pieces[0][2]
        larger = (channels, 2 * rows, 2 * columns)
        if self.chance(0.3):
            return self.put(vectors.bilinear(name, larger, words(pieces[0])), pieces[0])
        each = [words(piece) for piece in pieces]
        shapes: tuple[Shape, ...] = ((1, sum(each), 1), larger, (2, 3, 4))
        return self.put(vectors.copy(name, shapes[self.number(0, 3)], each), *pieces)

    def steps(self, name: str) -> None:
        """Add a step of an LSTM with two hidden values."""
        x, old, state = self.whole(1), self.whole(2), self.whole(2)
        if (words(x) > 12) + (words(old) != 2) + (words(state) != 2):
            raise ValueError("no state")
        gates, new, output = ops.lstm_cell(name, words(x), 2)
        self.put(gates, x, old)
        self.put(new, (gates.name, None, gates.map_shape), state)
        made = ((la.name, None, la.map_shape) for la in (gates, new))
        self.put(output, *made)

    def again(self, name: str) -> None:
        """Read another box of a map that is read already."""
        read = [source for sources in self.reads for source in sources]
        piece = self.box_of(read[self.number(0, len(read))], 0.9) if read else self.piece()
        channels, *size = piece[2]
        self.put(ops.activation(name, "relu", channels, tuple(size)), piece)

    def twice(self, name: str) -> None:
        """Run a layer again, with the same weights, over another map that is as large."""
        weighty = [la for la in self.layers if la.weight_words and la.operands == 1]
        if weighty:
            layer = weighty[self.number(0, len(weighty))]
            shape = (layer.map_channels[0], *layer.input_size)
            again = replace(layer, name=name, slices=(), weights_of=layer.name, extra_params=0)
            self.put(again, self.beside(("", None, shape), (0, 1, 2)))


def wild_network(rng: np.random.Generator) -> Network:
    """Return one of up to seven layers and some more for each step of an LSTM."""
    while True:
        wild, count = Wild(rng), int(rng.integers(1, 8))
        while len(wild.layers) < count:
            wild.grow()
        leaving = tuple(layer.name for layer in wild.layers if rng.random() < 0.15)
        try:
            return Network("wild", tuple(wild.layers), tuple(wild.reads), leaving)
        except ValueError:
            continue  # an input whose first reader saw it in another shape than a later one


def wild_group(rng: np.random.Generator) -> tuple[Network, tuple[int, ...]]:
    """Return a network, and all or some of its layers."""
    network = wild_network(rng)
    members = np.arange(len(network.layers))
    if rng.random() < 0.5:
        members = np.sort(rng.choice(members, int(rng.integers(1, len(members) + 1)), False))
    return network, tuple(map(int, members))
