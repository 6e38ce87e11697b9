"""A model as a traced graph of torch, written layer by layer.

Parameters have the names that published weights have; what has no parameters has no module. Every
layer is initialised as it is made: convolutions as He et al. (ICCV 2015, equation 14) for ReLUs.
"""

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from torch import nn
    from torch.fx import GraphModule, Node

#: channels of a scaled model come in steps of so many, and are no fewer (Sandler et al., CVPR 2018:
#: the reference implementation's rounding)
STEP: Final = 8

#: convolutions of small images see no less than so many rows: on a map of 1x1 eight of nine weights
#: of a 3x3 window would meet padding alone, and look as if pruning them were free
LEAST_SIDE: Final = 2

Shape = tuple[int, int, int]


def scaled(channels: int, width: float) -> int:
    """Return channels times ``width``, rounded to the step, and not below nine tenths of it."""
    if width == 1.0:
        return channels
    wanted = channels * width
    rounded = max(STEP, int(wanted + STEP / 2) // STEP * STEP)
    return rounded + STEP if rounded < 0.9 * wanted else rounded


class ModelBuilder:
    """Builds one model.

    Args:
        shape: channels, rows and columns of an image.
        width: factor of all channels but those of the image and the classes.
        seed: of the first weights.
    """

    def __init__(self, shape: Shape, width: float, seed: int) -> None:
        import torch

        self._torch, self._nn = torch, torch.nn
        self._root: nn.Module = torch.nn.Module()
        self._graph = torch.fx.Graph()
        self._generator = torch.Generator().manual_seed(seed)
        self._width = width
        self.image = self._graph.placeholder("image")
        self._shapes: dict[Node, Shape] = {self.image: shape}

    def shape(self, source: "Node") -> Shape:
        """Channels, rows and columns of a map."""
        return self._shapes[source]

    def wide(self, channels: int) -> int:
        """Channels of the scaled model for those of the model as published."""
        return scaled(channels, self._width)

    def conv(
        self,
        name: str,
        source: "Node",
        channels: int,
        kernel: int = 1,
        stride: int = 1,
        groups: int = 1,
        bias: bool = False,
    ) -> "Node":
        """Add a convolution with ``channels`` of the scaled model, padded to keep the map's size.

        A stride is left out where the map is small already.
        """
        before, rows, columns = self._shapes[source]
        stride = self._stride(source, stride)
        layer = self._nn.Conv2d(
            before, channels, kernel, stride, kernel // 2, groups=groups, bias=bias
        )
        fan_out = channels * kernel * kernel // groups
        with self._torch.no_grad():
            layer.weight.normal_(0.0, (2.0 / fan_out) ** 0.5, generator=self._generator)
            if layer.bias is not None:
                layer.bias.zero_()
        return self._module(
            name, layer, source, (channels, -(-rows // stride), -(-columns // stride))
        )

    def depthwise(self, name: str, source: "Node", kernel: int = 3, stride: int = 1) -> "Node":
        """Add a convolution that reads each channel alone."""
        channels = self._shapes[source][0]
        return self.conv(name, source, channels, kernel, stride, groups=channels)

    def norm(self, name: str, source: "Node", eps: float = 1e-5) -> "Node":
        """Add a batch norm."""
        shape = self._shapes[source]
        return self._module(name, self._nn.BatchNorm2d(shape[0], eps=eps), source, shape)

    def activation(self, source: "Node", kind: str) -> "Node":
        """Add an activation: ``relu``, ``relu6``, ``silu`` or ``sigmoid``."""
        import torch

        functional = torch.nn.functional
        known = {
            "relu": functional.relu,
            "relu6": functional.relu6,
            "silu": functional.silu,
            "sigmoid": torch.sigmoid,
        }
        return self._function(known[kind], (source,), self._shapes[source])

    def max_pool(self, source: "Node", kernel: int, stride: int, pad: int = 0) -> "Node":
        """Add a max pool; where the map is small already, none."""
        import torch

        if self._stride(source, stride) == 1:
            return source
        channels, *sides = self._shapes[source]
        rows, columns = ((side + 2 * pad - kernel) // stride + 1 for side in sides)
        pool = torch.nn.functional.max_pool2d
        return self._function(pool, (source, kernel, stride, pad), (channels, rows, columns))

    def average_pool(self, source: "Node", kernel: int) -> "Node":
        """Add an average pool of windows that do not overlap; where the map is small, none."""
        import torch

        if self._stride(source, kernel) == 1:
            return source
        channels, rows, columns = self._shapes[source]
        pool = torch.nn.functional.avg_pool2d
        return self._function(pool, (source, kernel), (channels, rows // kernel, columns // kernel))

    def global_max(self, source: "Node") -> "Node":
        """Add a max pool over the whole map."""
        import torch

        channels, *sides = self._shapes[source]
        pool = torch.nn.functional.max_pool2d
        return self._function(pool, (source, tuple(sides)), (channels, 1, 1))

    def global_average(self, source: "Node") -> "Node":
        """Add an average over the whole map."""
        import torch

        shape = (self._shapes[source][0], 1, 1)
        return self._function(torch.nn.functional.adaptive_avg_pool2d, (source, 1), shape)

    def add(self, first: "Node", second: "Node") -> "Node":
        """Add the sum of two maps."""
        return self._function(operator.add, (first, second), self._shapes[first])

    def scale(self, source: "Node", factors: "Node") -> "Node":
        """Add a product with one factor for each channel."""
        return self._function(operator.mul, (source, factors), self._shapes[source])

    def concat(self, sources: "Sequence[Node]") -> "Node":
        """Lay maps side by side; a single one stays as it is."""
        import torch

        if len(sources) == 1:
            return sources[0]
        channels = sum(self._shapes[source][0] for source in sources)
        shape = (channels, *self._shapes[sources[0]][1:])
        return self._function(torch.cat, (list(sources), 1), shape)

    def classified(self, name: str, source: "Node", classes: int) -> "GraphModule":
        """End with one layer over a map of 1x1, and return the model."""
        import torch

        channels = self._shapes[source][0]
        flat = self._function(torch.flatten, (source, 1), self._shapes[source])
        layer = self._nn.Linear(channels, classes)
        with self._torch.no_grad():
            layer.weight.normal_(0.0, 0.01, generator=self._generator)
            layer.bias.zero_()
        self._graph.output(self._module(name, layer, flat, (classes, 1, 1)))
        return torch.fx.GraphModule(self._root, self._graph)

    def _stride(self, source: "Node", stride: int) -> int:
        _, rows, columns = self._shapes[source]
        return 1 if min(rows, columns) < LEAST_SIDE * stride else stride

    def _module(self, name: str, layer: "nn.Module", source: "Node", shape: Shape) -> "Node":
        *path, last = name.split(".")
        parent = self._root
        for part in path:
            if not hasattr(parent, part):
                parent.add_module(part, self._nn.Module())
            parent = parent.get_submodule(part)
        parent.add_module(last, layer)
        node = self._graph.call_module(name, (source,))
        self._shapes[node] = shape
        return node

    def _function(self, function: object, arguments: tuple[object, ...], shape: Shape) -> "Node":
        node = self._graph.call_function(function, arguments)  # type: ignore[arg-type]
        self._shapes[node] = shape
        return node
