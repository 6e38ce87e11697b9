"""Residual networks (He et al., CVPR 2016)."""

from ..builder import Builder
from ..network import INPUT, Network


def basic_block(net: Builder, name: str, source: str, channels: int, stride: int) -> str:
    """Two 3x3 convolutions and a shortcut, projected where the shape changes (He et al.)."""
    shortcut = source
    x = net.conv(f"{name}.conv1", source, channels, kernel=3, stride=stride, activation="relu")
    x = net.conv(f"{name}.conv2", x, channels, kernel=3)
    if stride > 1 or net.channels(source) != channels:
        shortcut = net.conv(f"{name}.shortcut", source, channels, stride=stride)
    return net.add(f"{name}.add", x, shortcut, activation="relu")


def resnet18() -> Network:
    """ResNet-18 for 224x224 ImageNet (He et al., CVPR 2016, Table 1)."""
    net = Builder((3, 224, 224))
    x = net.conv("conv1", INPUT, 64, kernel=7, stride=2, activation="relu")
    x = net.maxpool("maxpool", x, kernel=3, stride=2, pad=1)
    for stage, channels in enumerate((64, 128, 256, 512), start=1):
        for block in range(2):
            stride = 2 if stage > 1 and block == 0 else 1
            x = basic_block(net, f"stage{stage}.{block}", x, channels, stride)
    net.gemm("fc", net.global_avgpool("avgpool", x), 1000)
    return net.network("resnet18")
