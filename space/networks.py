"""The catalogue of networks.

Batch normalisation is folded into its convolution: two learned values for each output channel
that no loop touches. Activations cost nothing (they are applied as a value leaves the array)
and are recorded. Maps are (channels, rows, columns).
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from .builder import Builder
from .efficientnet import SCALES, efficientnet
from .network import INPUT, Network
from .suggest import did_you_mean


def _basic_block(net: Builder, name: str, source: str, channels: int, stride: int) -> str:
    """Two 3x3 convolutions and a shortcut, projected where the shape changes (He et al.)."""
    shortcut = source
    x = net.conv(f"{name}.conv1", source, channels, kernel=3, stride=stride, activation="relu")
    x = net.conv(f"{name}.conv2", x, channels, kernel=3)
    if stride > 1 or net.channels(source) != channels:
        shortcut = net.conv(f"{name}.shortcut", source, channels, stride=stride)
    return net.add(f"{name}.add", x, shortcut, activation="relu")


def _inverted_residual(
    net: Builder, name: str, source: str, channels: int, stride: int, expansion: int
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
    net = Builder((3, 224, 224))
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
    net = Builder((3, 224, 224))
    x = net.conv("conv1", INPUT, 32, kernel=3, stride=2, activation="relu6")
    for stage, (expansion, channels, blocks, first) in enumerate(_MOBILENETV2_STAGES, start=1):
        for block in range(blocks):
            stride = first if block == 0 else 1
            x = _inverted_residual(net, f"stage{stage}.{block}", x, channels, stride, expansion)
    x = net.conv("conv_last", x, 1280, activation="relu6")
    net.gemm("fc", net.global_avgpool("avgpool", x), 1000)
    return net.network("mobilenetv2")


def alexnet_original() -> Network:
    """AlexNet as it was trained, in two towers (Krizhevsky et al., NeurIPS 2012, section 3.5).

    The input is 227x227, from which the sizes that the paper states follow. Its two local
    response normalisations are left out (they have no parameters; Eyeriss counts none either).
    """
    net = Builder((3, 227, 227))
    conv = partial(net.conv, batch_norm=False, activation="relu")
    x = conv("conv1", INPUT, 96, kernel=11, stride=4, padding=0)
    x = net.maxpool("pool1", x, kernel=3, stride=2)
    x = conv("conv2", x, 256, kernel=5, groups=2)
    x = net.maxpool("pool2", x, kernel=3, stride=2)
    x = conv("conv3", x, 384, kernel=3)
    x = conv("conv4", x, 384, kernel=3, groups=2)
    x = conv("conv5", x, 256, kernel=3, groups=2)
    x = net.maxpool("pool5", x, kernel=3, stride=2)
    x = net.flatten("fc6", x, 4096, activation="relu")
    x = net.gemm("fc7", x, 4096, activation="relu")
    net.gemm("fc8", x, 1000)
    return net.network("alexnet_original")


def tiny_cnn() -> Network:
    """A small network for trying things: convolutions, a residual block, pools, a classifier."""
    net = Builder((3, 16, 16))
    x = net.conv("conv1", INPUT, 8, kernel=3, activation="relu")
    x = _basic_block(net, "block", x, 8, stride=1)
    x = net.maxpool("maxpool", x, kernel=2, stride=2)
    net.gemm("fc", net.global_avgpool("avgpool", x), 10)
    return net.network("tiny_cnn")


def tiny_mobile() -> Network:
    """A small network for trying things: strided and residual depthwise blocks."""
    net = Builder((8, 16, 16))
    x = _inverted_residual(net, "block1", INPUT, 12, stride=2, expansion=2)
    x = _inverted_residual(net, "block2", x, 12, stride=1, expansion=2)
    net.gemm("fc", net.global_avgpool("avgpool", x), 10)
    return net.network("tiny_mobile")


def tiny_mlp() -> Network:
    """A small network for trying things: three matrix products over sixteen rows."""
    net = Builder((64, 16, 1))
    x = net.gemm("fc1", INPUT, 128, activation="relu")
    x = net.gemm("fc2", x, 64, activation="relu")
    net.gemm("fc3", x, 10)
    return net.network("tiny_mlp")


NETWORKS: Final[dict[str, Callable[[], Network]]] = {
    "resnet18": resnet18,
    "mobilenetv2": mobilenetv2,
    "alexnet_original": alexnet_original,
    **{f"efficientnet_b{i}": partial(efficientnet, i) for i in range(len(SCALES))},
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
