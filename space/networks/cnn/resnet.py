"""Residual networks (He et al., CVPR 2016), and those after them, for 224x224 ImageNet."""

from typing import Final

from archloom.space.workload import INPUT, Builder, Network

#: channels of the 3x3 convolutions of each stage (He et al., Table 1)
_CHANNELS: Final = (64, 128, 256, 512)

#: blocks of each stage with two and with three convolutions (He et al., Table 1)
_BLOCKS_18: Final = (2, 2, 2, 2)
_BLOCKS_50: Final = (3, 4, 6, 3)


def resnet18() -> Network:
    """ResNet-18 for 224x224 ImageNet (He et al., CVPR 2016, Table 1)."""
    net = Builder((3, 224, 224))
    return _classified(net, basic_stages(net, stem(net)), "resnet18")


def resnet50() -> Network:
    """ResNet-50 (He et al., CVPR 2016, Table 1), strided in its 3x3 convolutions.

    As torchvision has it; the paper strides in the 1x1 convolutions before them.
    """
    net = Builder((3, 224, 224))
    return _classified(net, bottleneck_stages(net, stem(net))[-1], "resnet50")


def resnext50() -> Network:
    """ResNeXt-50 32x4d (Xie et al., CVPR 2017, Table 1)."""
    net = Builder((3, 224, 224))
    stages = bottleneck_stages(net, stem(net), groups=32, wider=2)
    return _classified(net, stages[-1], "resnext50")


def stem(net: Builder) -> str:
    """Add the first convolution and the pool after it."""
    x = net.conv("conv1", INPUT, 64, kernel=7, stride=2, activation="relu")
    return net.maxpool("maxpool", x, kernel=3, stride=2, pad=1)


def basic_stages(net: Builder, source: str) -> str:
    """Add the four stages of ResNet-18; all but the first begin with a stride of 2."""
    x = source
    for stage, (channels, blocks) in enumerate(zip(_CHANNELS, _BLOCKS_18, strict=True), start=1):
        for block in range(blocks):
            stride = 2 if stage > 1 and block == 0 else 1
            x = basic_block(net, f"stage{stage}.{block}", x, channels, stride)
    return x


def bottleneck_stages(
    net: Builder, source: str, *, groups: int = 1, wider: int = 1
) -> tuple[str, ...]:
    """Add the four stages of ResNet-50 and return the last map of each.

    The 3x3 convolutions have ``groups``, and ``wider`` times the channels.
    """
    x, stages = source, []
    for stage, (channels, blocks) in enumerate(zip(_CHANNELS, _BLOCKS_50, strict=True), start=1):
        for block in range(blocks):
            stride = 2 if stage > 1 and block == 0 else 1
            name = f"stage{stage}.{block}"
            x = bottleneck(net, name, x, wider * channels, 4 * channels, stride, groups)
        stages.append(x)
    return tuple(stages)


def basic_block(net: Builder, name: str, source: str, channels: int, stride: int) -> str:
    """Two 3x3 convolutions and a shortcut, projected where the shape changes (He et al.)."""
    x = net.conv(f"{name}.conv1", source, channels, kernel=3, stride=stride, activation="relu")
    x = net.conv(f"{name}.conv2", x, channels, kernel=3)
    return _joined(net, name, x, source, stride)


def bottleneck(
    net: Builder, name: str, source: str, inner: int, channels: int, stride: int, groups: int = 1
) -> str:
    """A 1x1, a strided 3x3 and a 1x1 convolution and a shortcut as in a basic block."""
    x = net.conv(f"{name}.conv1", source, inner, activation="relu")
    x = net.conv(
        f"{name}.conv2", x, inner, kernel=3, stride=stride, groups=groups, activation="relu"
    )
    x = net.conv(f"{name}.conv3", x, channels)
    return _joined(net, name, x, source, stride)


def _joined(net: Builder, name: str, branch: str, source: str, stride: int) -> str:
    shortcut, channels = source, net.channels(branch)
    if stride > 1 or net.channels(source) != channels:
        shortcut = net.conv(f"{name}.shortcut", source, channels, stride=stride)
    return net.add(f"{name}.add", branch, shortcut, activation="relu")


def _classified(net: Builder, source: str, name: str) -> Network:
    net.gemm("fc", net.global_avgpool("avgpool", source), 1000)
    return net.network(name)


def resnet50v2() -> Network:
    """ResNet-50 v2, with batch norm and ReLU before convolutions (He et al., ECCV 2016).

    As Keras has it, after the authors of TF-slim: the last block of a stage is the strided one, its
    shortcut a max pool of 1x1; convolutions that no batch norm follows have a bias.
    """
    net = Builder((3, 224, 224))
    x = net.conv("conv1", INPUT, 64, kernel=7, stride=2, batch_norm=False)
    x = net.maxpool("maxpool", x, kernel=3, stride=2, pad=1)
    for stage, (channels, blocks) in enumerate(zip(_CHANNELS, _BLOCKS_50, strict=True), start=1):
        for block in range(blocks):
            stride = 2 if stage < len(_BLOCKS_50) and block == blocks - 1 else 1
            x = _preactivated(net, f"stage{stage}.{block}", x, channels, stride)
    return _classified(net, net.norm("norm", x, activation="relu"), "resnet50v2")


def _preactivated(net: Builder, name: str, source: str, inner: int, stride: int) -> str:
    """A bottleneck whose sum has no activation; the first of a stage projects its shortcut."""
    before = net.norm(f"{name}.norm", source, activation="relu")
    shortcut, channels = source, 4 * inner
    if net.channels(source) != channels:
        shortcut = net.conv(f"{name}.shortcut", before, channels, batch_norm=False)
    elif stride > 1:
        shortcut = net.maxpool(f"{name}.shortcut", source, kernel=1, stride=stride)
    x = net.conv(f"{name}.conv1", before, inner, activation="relu")
    x = net.conv(f"{name}.conv2", x, inner, kernel=3, stride=stride, activation="relu")
    x = net.conv(f"{name}.conv3", x, channels, batch_norm=False)
    return net.add(f"{name}.add", x, shortcut)
