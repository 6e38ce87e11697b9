"""Builds a network layer by layer; knows the shape of every map."""

from .layer import Layer
from .network import INPUT, Network, Shape
from .operators import add, conv2d, global_pool, linear, max_pool2d, mul


class Builder:
    """Adds layers one by one; methods return the names of the maps that they make.

    Args:
        shape: channels, rows and columns of the network's input.
    """

    def __init__(self, shape: Shape) -> None:
        self._shapes: dict[str, Shape] = {INPUT: shape}
        self._layers: list[Layer] = []
        self._reads: list[tuple[str, ...]] = []

    def network(self, name: str) -> Network:
        """Return what was built."""
        return Network(name, tuple(self._layers), tuple(self._reads))

    def append(self, layer: Layer, *sources: str) -> str:
        """Add a layer that reads ``sources``."""
        self._layers.append(layer)
        self._reads.append(sources)
        self._shapes[layer.name] = layer.map_shape
        return layer.name

    def channels(self, name: str) -> int:
        """Channels of a map."""
        return self._shapes[name][0]

    def conv(
        self,
        name: str,
        source: str,
        channels: int,
        *,
        kernel: int = 1,
        stride: int = 1,
        groups: int = 1,
        padding: int | None = None,
        batch_norm: bool = True,
        activation: str = "",
    ) -> str:
        """Add a square convolution with folded batch norm, or else with a bias.

        It is padded to keep rows / stride, unless ``padding`` says otherwise.
        """
        before, rows, columns = self._shapes[source]
        layer = conv2d(
            name,
            before,
            channels,
            (rows, columns),
            kernel,
            stride,
            (kernel - 1) // 2 if padding is None else padding,
            groups=groups,
            bias=not batch_norm,
            batch_norm=batch_norm,
            activation=activation,
        )
        return self.append(layer, source)

    def depthwise(
        self, name: str, source: str, *, stride: int, activation: str, kernel: int = 3
    ) -> str:
        """Add a depthwise convolution with folded batch norm."""
        channels = self.channels(source)
        return self.conv(
            name,
            source,
            channels,
            kernel=kernel,
            stride=stride,
            groups=channels,
            activation=activation,
        )

    def maxpool(self, name: str, source: str, *, kernel: int, stride: int, pad: int = 0) -> str:
        """Add a square max pool."""
        channels, rows, columns = self._shapes[source]
        return self.append(max_pool2d(name, channels, (rows, columns), kernel, stride, pad), source)

    def global_avgpool(self, name: str, source: str) -> str:
        """Add the mean over each whole map."""
        channels, rows, columns = self._shapes[source]
        return self.append(global_pool(name, channels, (rows, columns)), source)

    def add(self, name: str, first: str, second: str, *, activation: str = "") -> str:
        """Add the sum of two maps."""
        channels, rows, columns = self._shapes[first]
        return self.append(
            add(name, channels, (rows, columns), activation=activation), first, second
        )

    def scale(self, name: str, source: str, factors: str) -> str:
        """Add the product of a map with one factor for each channel."""
        channels, rows, columns = self._shapes[source]
        return self.append(mul(name, channels, (rows, columns), broadcast=True), source, factors)

    def gemm(self, name: str, source: str, features: int, *, activation: str = "") -> str:
        """Add a fully connected layer with bias over the channels of every position."""
        before, rows, columns = self._shapes[source]
        if columns > 1:
            raise ValueError(f"layer {name}: positions of a matrix product must be rows")
        return self.append(linear(name, before, features, rows, activation=activation), source)

    def flatten(self, name: str, source: str, features: int, *, activation: str = "") -> str:
        """Add a fully connected layer with bias over all values of a map."""
        before, rows, columns = self._shapes[source]
        layer = linear(name, before * rows * columns, features, activation=activation)
        return self.append(layer, source)
