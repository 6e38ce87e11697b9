"""The catalogue of networks.

Batch normalisation is folded into its convolution: two learned values for each output channel
that no loop touches. Activations cost nothing (they are applied as a value leaves the array)
and are recorded. Maps are (channels, rows, columns).
"""

from collections.abc import Callable
from typing import Final

from .layer import Layer
from .network import INPUT, Network
from .suggest import did_you_mean

Shape = tuple[int, int, int]


class _Builder:
    """Adds layers one by one and knows the shape of every map; methods return map names."""

    def __init__(self, shape: Shape) -> None:
        self._shapes: dict[str, Shape] = {INPUT: shape}
        self._layers: list[Layer] = []
        self._reads: list[tuple[str, ...]] = []

    def network(self, name: str) -> Network:
        """Return what was built."""
        return Network(name, tuple(self._layers), tuple(self._reads))

    def conv(
        self,
        name: str,
        source: str,
        channels: int,
        *,
        kernel: int = 1,
        stride: int = 1,
        groups: int = 1,
        activation: str = "",
    ) -> str:
        """Add a square convolution with folded batch norm, padded to keep rows / stride."""
        before, rows, columns = self._shapes[source]
        pad = (kernel - 1) // 2
        p, q = (_windows(size, kernel, stride, pad) for size in (rows, columns))
        layer = Layer(
            name,
            "conv",
            g=groups,
            k=channels // groups,
            c=before // groups,
            p=p,
            q=q,
            r=kernel,
            s=kernel,
            stride=(stride, stride),
            padding=(pad, pad),
            input_size=(rows, columns),
            extra_params=2 * channels,
            activation=activation,
        )
        return self._add(layer, (source,), (channels, p, q))

    def depthwise(self, name: str, source: str, *, stride: int, activation: str) -> str:
        """Add a 3x3 depthwise convolution with folded batch norm."""
        channels = self._shapes[source][0]
        return self.conv(
            name,
            source,
            channels,
            kernel=3,
            stride=stride,
            groups=channels,
            activation=activation,
        )

    def maxpool(self, name: str, source: str, *, kernel: int, stride: int, pad: int = 0) -> str:
        """Add a square max pool."""
        channels, rows, columns = self._shapes[source]
        p, q = (_windows(size, kernel, stride, pad) for size in (rows, columns))
        layer = Layer(
            name,
            "maxpool",
            g=channels,
            p=p,
            q=q,
            r=kernel,
            s=kernel,
            stride=(stride, stride),
            padding=(pad, pad),
            input_size=(rows, columns),
        )
        return self._add(layer, (source,), (channels, p, q))

    def global_avgpool(self, name: str, source: str) -> str:
        """Add the mean over each whole map."""
        channels, rows, columns = self._shapes[source]
        size = (rows, columns)
        layer = Layer(name, "avgpool", g=channels, r=rows, s=columns, input_size=size)
        return self._add(layer, (source,), (channels, 1, 1))

    def add(self, name: str, first: str, second: str, *, activation: str = "") -> str:
        """Add the sum of two maps."""
        channels, rows, columns = shape = self._shapes[first]
        layer = Layer(
            name,
            "add",
            g=channels,
            p=rows,
            q=columns,
            input_size=(rows, columns),
            operands=2,
            activation=activation,
        )
        return self._add(layer, (first, second), shape)

    def gemm(self, name: str, source: str, features: int, *, activation: str = "") -> str:
        """Add a fully connected layer with bias over the channels of every position."""
        before, rows, columns = self._shapes[source]
        layer = Layer(
            name,
            "gemm",
            k=features,
            c=before,
            p=rows,
            q=columns,
            input_size=(rows, columns),
            extra_params=features,
            activation=activation,
        )
        return self._add(layer, (source,), (features, rows, columns))

    def channels(self, name: str) -> int:
        """Channels of a map."""
        return self._shapes[name][0]

    def _add(self, layer: Layer, sources: tuple[str, ...], shape: Shape) -> str:
        self._layers.append(layer)
        self._reads.append(sources)
        self._shapes[layer.name] = shape
        return layer.name


def _windows(size: int, kernel: int, stride: int, pad: int) -> int:
    return (size + 2 * pad - kernel) // stride + 1


def _basic_block(net: _Builder, name: str, source: str, channels: int, stride: int) -> str:
    """Two 3x3 convolutions and a shortcut, projected where the shape changes (He et al.)."""
    shortcut = source
    x = net.conv(f"{name}.conv1", source, channels, kernel=3, stride=stride, activation="relu")
    x = net.conv(f"{name}.conv2", x, channels, kernel=3)
    if stride > 1 or net.channels(source) != channels:
        shortcut = net.conv(f"{name}.shortcut", source, channels, stride=stride)
    return net.add(f"{name}.add", x, shortcut, activation="relu")


def _inverted_residual(
    net: _Builder, name: str, source: str, channels: int, stride: int, expansion: int
) -> str:
    """Expand, depthwise, project; the sum only where shapes agree (Sandler et al., Table 1)."""
    x = source
    if expansion > 1:
        wide = net.channels(source) * expansion
        x = net.conv(f"{name}.expand", x, wide, activation="relu6")
    x = net.depthwise(f"{name}.depthwise", x, stride=stride, activation="relu6")
    x = net.conv(f"{name}.project", x, channels)
    if stride > 1 or net.channels(source) != channels:
        return x
    return net.add(f"{name}.add", x, source)


def resnet18() -> Network:
    """ResNet-18 for 224x224 ImageNet (He et al., CVPR 2016, Table 1)."""
    net = _Builder((3, 224, 224))
    x = net.conv("conv1", INPUT, 64, kernel=7, stride=2, activation="relu")
    x = net.maxpool("maxpool", x, kernel=3, stride=2, pad=1)
    for stage, channels in enumerate((64, 128, 256, 512), start=1):
        for block in range(2):
            stride = 2 if stage > 1 and block == 0 else 1
            x = _basic_block(net, f"stage{stage}.{block}", x, channels, stride)
    net.gemm("fc", net.global_avgpool("avgpool", x), 1000)
    return net.network("resnet18")


#: expansion, channels, blocks, first stride of each stage (Sandler et al., CVPR 2018, Table 2)
_MOBILENETV2_STAGES: Final = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


def mobilenetv2() -> Network:
    """MobileNetV2, width 1.0, for 224x224 ImageNet (Sandler et al., CVPR 2018, Table 2)."""
    net = _Builder((3, 224, 224))
    x = net.conv("conv1", INPUT, 32, kernel=3, stride=2, activation="relu6")
    for stage, (expansion, channels, blocks, first) in enumerate(_MOBILENETV2_STAGES, start=1):
        for block in range(blocks):
            stride = first if block == 0 else 1
            x = _inverted_residual(net, f"stage{stage}.{block}", x, channels, stride, expansion)
    x = net.conv("conv_last", x, 1280, activation="relu6")
    net.gemm("fc", net.global_avgpool("avgpool", x), 1000)
    return net.network("mobilenetv2")


def tiny_cnn() -> Network:
    """A small network for trying things: convolutions, a residual block, pools, a classifier."""
    net = _Builder((3, 16, 16))
    x = net.conv("conv1", INPUT, 8, kernel=3, activation="relu")
    x = _basic_block(net, "block", x, 8, stride=1)
    x = net.maxpool("maxpool", x, kernel=2, stride=2)
    net.gemm("fc", net.global_avgpool("avgpool", x), 10)
    return net.network("tiny_cnn")


def tiny_mobile() -> Network:
    """A small network for trying things: strided and residual depthwise blocks."""
    net = _Builder((8, 16, 16))
    x = _inverted_residual(net, "block1", INPUT, 12, stride=2, expansion=2)
    x = _inverted_residual(net, "block2", x, 12, stride=1, expansion=2)
    net.gemm("fc", net.global_avgpool("avgpool", x), 10)
    return net.network("tiny_mobile")


def tiny_mlp() -> Network:
    """A small network for trying things: three matrix products over sixteen rows."""
    net = _Builder((64, 16, 1))
    x = net.gemm("fc1", INPUT, 128, activation="relu")
    x = net.gemm("fc2", x, 64, activation="relu")
    net.gemm("fc3", x, 10)
    return net.network("tiny_mlp")


NETWORKS: Final[dict[str, Callable[[], Network]]] = {
    "resnet18": resnet18,
    "mobilenetv2": mobilenetv2,
    "tiny_cnn": tiny_cnn,
    "tiny_mobile": tiny_mobile,
    "tiny_mlp": tiny_mlp,
}
"""Every network of the catalogue by name; batch 1."""


def network(name: str) -> Network:
    """Return a network of the catalogue.

    Raises:
        ValueError: no network has that name; names the nearest that there are.
    """
    if name in NETWORKS:
        return NETWORKS[name]()
    raise ValueError(f"network {name!r} is not known; {did_you_mean(name, NETWORKS)}")
