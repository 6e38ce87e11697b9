"""Builder of a network layer by layer, which knows the shape of every feature map."""

from dataclasses import dataclass, replace

from .layer import Interleave, Layer
from .layer_builders import (
    add,
    avg_pool2d,
    conv2d,
    conv_transpose2d,
    global_pool,
    linear,
    max_pool2d,
    mul,
    with_last_windows,
)
from .network import INPUT, Network
from .slice import Shape, Slice
from .vector_layer_builders import copy, scale_shift
from .window import Size, pair


@dataclass(frozen=True, slots=True)
class Cut:
    """A box of a feature map, for a layer that reads no more of it."""

    name: str
    box: Slice


#: A feature map, or a box of one.
Piece = str | Cut

#: What a layer reads: one piece, or several laid side by side, channels after channels.
Source = Piece | tuple[Piece, ...]


class Builder:
    """Adds layers one by one; methods return the names of the feature maps that they make.

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

    def append(self, layer: Layer, *sources: Piece) -> str:
        """Add a layer that reads ``sources``."""
        boxes = tuple(None if isinstance(source, str) else source.box for source in sources)
        if any(boxes):
            layer = replace(layer, slices=boxes)
        self._layers.append(layer)
        self._reads.append(tuple(s if isinstance(s, str) else s.name for s in sources))
        self._shapes[layer.name] = layer.map_shape
        return layer.name

    def shape(self, source: Source) -> Shape:
        """Channels, rows and columns of what a layer reads."""
        if isinstance(source, str):
            return self._shapes[source]
        if isinstance(source, Cut):
            return source.box.size
        shapes = [self.shape(piece) for piece in source]
        return sum(channels for channels, _, _ in shapes), *shapes[0][1:]

    def channels(self, source: Source) -> int:
        """Channels of what a layer reads."""
        return self.shape(source)[0]

    def crop(self, name: str, rows: int, columns: int) -> Cut:
        """Return the middle of a feature map; nothing is copied, its readers read a box."""
        channels, height, width = of = self._shapes[name]
        start = (0, (height - rows) // 2, (width - columns) // 2)
        return Cut(name, Slice(start, (channels, rows, columns), of))

    def conv(
        self,
        name: str,
        source: Source,
        channels: int,
        *,
        kernel: Size = 1,
        stride: Size = 1,
        groups: int = 1,
        padding: Size | None = None,
        batch_norm: bool = True,
        bias: bool | None = None,
        activation: str = "",
        shuffle: int = 1,
        weights_of: str = "",
    ) -> str:
        """Add a convolution with folded batch norm, or else with a bias, unless ``bias`` differs.

        It is padded to keep rows / stride, unless ``padding`` says otherwise. Slopes of a PReLU
        are learned, one for each channel (He et al., ICCV 2015). With ``shuffle`` channels become
        patches of so many rows and columns, before the activation (Shi et al., CVPR 2016). With
        ``weights_of`` all that is learned is that of an earlier layer.
        """
        before, rows, columns = self.shape(source)
        r, s = pair(kernel)
        layer = conv2d(
            name,
            before,
            channels,
            (rows, columns),
            kernel,
            stride,
            ((r - 1) // 2, (s - 1) // 2) if padding is None else padding,
            groups=groups,
            bias=not batch_norm if bias is None else bias,
            batch_norm=batch_norm,
            activation=activation,
        )
        if shuffle > 1:
            layer = replace(layer, interleave=Interleave(shuffle, shuffle))
        if activation == "prelu":
            layer = replace(layer, extra_params=layer.extra_params + layer.map_shape[0])
        if weights_of:
            layer = replace(layer, extra_params=0, weights_of=weights_of)
        return self._read_beside(layer, source)

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

    def up_conv(self, name: str, source: str, channels: int, *, kernel: int, stride: int) -> str:
        """Add a transposed convolution with bias."""
        before, rows, columns = self.shape(source)
        layer = conv_transpose2d(name, before, channels, (rows, columns), kernel, stride)
        return self.append(layer, source)

    def maxpool(
        self,
        name: str,
        source: Source,
        *,
        kernel: int,
        stride: int,
        pad: int = 0,
        ceil: bool = False,
    ) -> str:
        """Add a square max pool; with ``ceil`` windows may reach beyond the feature map."""
        channels, rows, columns = self.shape(source)
        layer = max_pool2d(name, channels, (rows, columns), kernel, stride, pad)
        return self._read_beside(with_last_windows(layer) if ceil else layer, source)

    def avgpool(self, name: str, source: Source, *, kernel: int, stride: int, pad: int = 0) -> str:
        """Add a square average pool; zeros of the padding count as values."""
        channels, rows, columns = self.shape(source)
        layer = avg_pool2d(name, channels, (rows, columns), kernel, stride, pad)
        return self._read_beside(layer, source)

    def global_avgpool(self, name: str, source: Source) -> str:
        """Add the mean over each whole feature map."""
        channels, rows, columns = self.shape(source)
        return self._read_beside(global_pool(name, channels, (rows, columns)), source)

    def norm(self, name: str, source: Source, *, activation: str = "") -> str:
        """Add a batch norm that no convolution before it can take up."""
        channels, rows, columns = self.shape(source)
        layer = scale_shift(name, channels, (rows, columns), activation=activation)
        return self._read_beside(layer, source)

    def upsample(self, name: str, source: str, factor: int) -> str:
        """Add a copy of a feature map with each value ``factor`` times along rows and columns."""
        channels, rows, columns = self.shape(source)
        larger = (channels, rows * factor, columns * factor)
        return self.append(copy(name, larger, (channels * rows * columns,)), source)

    def add(self, name: str, first: str, second: str, *, activation: str = "") -> str:
        """Add the sum of two feature maps."""
        channels, rows, columns = self.shape(first)
        return self.append(
            add(name, channels, (rows, columns), activation=activation), first, second
        )

    def scale(self, name: str, source: str, factors: str) -> str:
        """Add the product of a feature map with one factor for each channel."""
        channels, rows, columns = self.shape(source)
        return self.append(mul(name, channels, (rows, columns), broadcast=True), source, factors)

    def gemm(self, name: str, source: str, features: int, *, activation: str = "") -> str:
        """Add a fully connected layer with bias over the channels of every position."""
        before, rows, columns = self.shape(source)
        if columns > 1:
            raise ValueError(f"layer {name}: positions of a matrix product must be rows")
        return self.append(linear(name, before, features, rows, activation=activation), source)

    def flatten(self, name: str, source: str, features: int, *, activation: str = "") -> str:
        """Add a fully connected layer with bias over all values of a feature map."""
        before, rows, columns = self.shape(source)
        layer = linear(name, before * rows * columns, features, activation=activation)
        return self.append(layer, source)

    def _read_beside(self, layer: Layer, source: Source) -> str:
        """Add a layer with one input, in as many parts as ``source`` has pieces."""
        pieces = source if isinstance(source, tuple) else (source,)
        if len(pieces) > 1:
            parts = tuple(self.channels(piece) for piece in pieces)
            layer = replace(layer, parts=parts, operands=len(parts))
        return self.append(layer, *pieces)
